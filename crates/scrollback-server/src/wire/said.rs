//! What a model said in one round, piece by piece, whatever the dialect.

use serde_json::Value;

/// A reply, or as much of it as has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    /// The provider's id of the response.
    pub(crate) id: Option<String>,
    /// Its pieces, in order.
    pub(crate) pieces: Vec<Piece>,
    /// Why it ended; `None` if it has not.
    pub(crate) end: Option<End>,
    /// What it cost, as reported.
    pub(crate) usage: Option<Value>,
    /// Where its provider ran programs for it: what they left there is found by this name.
    pub(crate) container: Option<String>,
    /// Whether an error came in the place of its end.
    pub(crate) failed: bool,
}

/// A piece of a reply: a block, an item, or the fields of a message, as the dialect has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    /// Words. The text counts; where it differs from what the value says, the dialect writes it into the value.
    Words {
        /// The words.
        text: String,
        /// The piece as it stands.
        value: Value,
    },
    /// A call of a tool.
    Call(Called),
    /// Anything else, such as reasoning.
    Other(Value),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Called {
    /// What its result refers to.
    pub(crate) id: String,
    /// The tool.
    pub(crate) name: String,
    /// The arguments, as text.
    pub(crate) arguments: String,
    /// The call as it stands.
    pub(crate) value: Value,
}

/// Why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// All is said, or tools are called.
    Whole,
    /// It was cut off: too long, refused, paused.
    Cut,
}

impl Said {
    /// Its calls, in order.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Called> {
        self.pieces.iter().filter_map(Piece::call)
    }

    /// Its words.
    pub(crate) fn text(&self) -> String {
        let words = |piece: &Piece| match piece {
            Piece::Words { text, .. } => Some(text.clone()),
            Piece::Call(_) | Piece::Other(_) => None,
        };
        self.pieces.iter().filter_map(words).collect()
    }

    /// Whether its provider ran tools on the way: then its input is counted once for every time the model was asked.
    pub(crate) fn ran_tools(&self) -> bool {
        let signs = ["_tool_use", "_tool_result", "_call"];
        let ran =
            |value: &Value| value["type"].as_str().is_some_and(|kind| signs.iter().any(|sign| kind.ends_with(sign)));
        self.pieces.iter().any(|piece| matches!(piece, Piece::Other(value) if ran(value)))
    }

    /// Whether nothing was said.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// What a client is shown of it: no calls that are not its own, and these words in place of its words, all in the
    /// first piece that has some. Reasoning that led to nothing else is not shown: no provider takes it back without
    /// what came of it.
    pub(crate) fn shown(&self, words: &str, is_ours: impl Fn(&Called) -> bool) -> Self {
        let is_same = words == self.text();
        let first = self.pieces.iter().position(|piece| matches!(piece, Piece::Words { .. }));
        // Whether what follows is shown and no reasoning; whether something is gone instead.
        let (mut pieces, mut leads, mut is_lost) = (Vec::new(), false, false);
        for (place, piece) in self.pieces.iter().enumerate().rev() {
            let thinks = matches!(piece, Piece::Other(value) if value["type"] == "reasoning");
            let shown = match piece {
                Piece::Words { value, .. } if !is_same => {
                    (first == Some(place)).then(|| Piece::Words { text: words.to_owned(), value: value.clone() })
                }
                Piece::Call(call) if is_ours(call) => None,
                Piece::Words { .. } | Piece::Call(_) | Piece::Other(_) => Some(piece.clone()),
            };
            let shown = shown.filter(|_| !thinks || !is_lost);
            let is_mute = |piece: &Piece| matches!(piece, Piece::Words { text, .. } if !is_same && text.is_empty());
            match shown.as_ref().filter(|piece| !is_mute(piece)) {
                Some(_) => (leads, is_lost) = (!thinks, false),
                None => is_lost = !leads,
            }
            pieces.extend(shown);
        }
        pieces.reverse();
        Self { pieces, ..self.clone() }
    }

    /// What counts of it where it was stopped: its words, if there are any. Half a call or half a thought is of no use
    /// to anybody.
    pub(crate) fn stopped(mut self) -> Self {
        self.pieces.retain(Piece::has_words);
        self.end = (!self.pieces.is_empty()).then_some(End::Cut);
        self.failed = false;
        self
    }

    /// The same after what was said in earlier rounds.
    pub(crate) fn after(mut self, earlier: Vec<Piece>) -> Self {
        self.pieces.splice(0..0, earlier);
        self
    }
}

impl Piece {
    /// Whether it says anything, be it in a list of parts.
    fn has_words(&self) -> bool {
        let Self::Words { text, value } = self else { return false };
        let mut parts = value["content"].as_array().into_iter().flatten();
        !text.trim().is_empty() || parts.any(|part| part["type"] == "text")
    }

    /// The call it is, if it is one.
    pub(crate) fn call(&self) -> Option<&Called> {
        match self {
            Self::Call(call) => Some(call),
            Self::Words { .. } | Self::Other(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_goes_with_what_it_led_to() {
        let thought = |id: &str| Piece::Other(serde_json::json!({"type": "reasoning", "id": id}));
        let found = || Piece::Other(serde_json::json!({"type": "web_search_call"}));
        let call = |name: &str| {
            Piece::Call(Called { id: String::new(), name: name.into(), arguments: String::new(), value: Value::Null })
        };
        let words = |text: &str| Piece::Words { text: text.into(), value: Value::Null };
        let check = |pieces: &[Piece], text: &str, left: &[Piece]| {
            let said = Said { pieces: pieces.to_vec(), ..Said::default() };
            assert_eq!(said.shown(text, |call| call.name == "ours").pieces, left);
        };
        check(&[thought("a"), call("ours"), call("ours")], "", &[]);
        check(&[thought("a"), found(), thought("b"), call("ours")], "", &[thought("a"), found()]);
        check(&[thought("a"), call("look"), thought("b"), call("ours")], "", &[thought("a"), call("look")]);
        check(&[thought("a"), call("ours"), call("look")], "", &[thought("a"), call("look")]);
        check(&[thought("a"), call("ours"), thought("b"), call("look")], "", &[thought("b"), call("look")]);
        check(&[thought("a"), thought("b"), call("look")], "", &[thought("a"), thought("b"), call("look")]);
        check(&[thought("a")], "", &[thought("a")]);
        check(&[call("ours"), thought("a")], "", &[thought("a")]);
        check(&[thought("a"), words("b")], "b", &[thought("a"), words("b")]);
        check(&[thought("a"), words("[b]")], "", &[words("")]);
        check(&[thought("a"), words("b"), thought("c"), words("[d]")], "b", &[thought("a"), words("b")]);
    }

    #[test]
    fn of_a_stopped_reply_its_words_count() {
        let words = |text: &str| Piece::Words { text: text.into(), value: Value::Null };
        let (id, name, arguments) = (String::new(), String::new(), String::new());
        let call = Piece::Call(Called { id, name, arguments, value: Value::Null });
        let said =
            Said { pieces: vec![Piece::Other(Value::Null), words("It begins"), words(" "), call], ..Said::default() };
        let stopped = said.stopped();
        assert_eq!((stopped.text().as_str(), stopped.pieces.len(), stopped.end), ("It begins", 1, Some(End::Cut)));
        assert_eq!(Said::default().stopped().end, None, "nothing was said");
    }
}
