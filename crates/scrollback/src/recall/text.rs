//! Recall for models without tools: `[NEED_CONTEXT: words]` in a reply, or a reply that is an ATTP text.
//!
//! A [`Sieve`] reads a reply as it streams and lets through what the person may see. It keeps back only what could
//! still turn out to be a call, so how a reply is cut into pieces never changes what is shown. Recalled text is never
//! read here.

use super::attp::{self, Opening};
use super::{CALLS_MAX, RecallCall, RecallTool};

const MARKER: &str = "[NEED_CONTEXT";
/// A marker's words end here even if its bracket does not close.
const WORDS_MAX_CHARS: usize = 400;
/// So many spaces may stand before its colon.
const SPACES_MAX: usize = 8;

/// What a model without tools is told.
pub fn instructions() -> &'static str {
    include_str!("../../prompts/recall_text.md").trim_ascii_end()
}

/// The calls of a complete reply, at most [`CALLS_MAX`]; none if it makes no call.
pub fn calls_in(reply: &str) -> Option<Vec<Result<RecallCall, String>>> {
    let mut sieve = Sieve::default();
    sieve.push(reply);
    sieve.finish().calls
}

/// Lets the text of a streamed reply through and keeps its calls back.
#[derive(Debug, Default)]
pub struct Sieve {
    stage: Stage,
    held: String,
    calls: Vec<Result<RecallCall, String>>,
}

/// What is left when a reply has ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Finished {
    /// Text that was kept back and is no call. If there are calls it is what the model wrote after the first: show it
    /// only if they are not carried out.
    pub text: String,
    /// The calls, if it made any.
    pub calls: Option<Vec<Result<RecallCall, String>>>,
}

#[derive(Debug, Default, Clone, Copy)]
enum Stage {
    /// Too little has been seen to tell.
    #[default]
    Beginning,
    /// The reply is an ATTP text; all of it is kept back.
    Attp,
    /// The reply is prose; text goes through up to the first marker.
    Prose,
    /// A marker was seen; the rest is kept back.
    Asked,
}

impl Sieve {
    /// Takes a piece of the reply and returns the text that may be shown now.
    pub fn push(&mut self, delta: &str) -> String {
        self.held.push_str(delta);
        if matches!(self.stage, Stage::Beginning) {
            self.stage = match attp::opening(&self.held) {
                Opening::Unknown => Stage::Beginning,
                Opening::Call => Stage::Attp,
                Opening::Prose => Stage::Prose,
            };
        }
        match self.stage {
            Stage::Beginning | Stage::Attp | Stage::Asked => String::new(),
            Stage::Prose => self.prose(),
        }
    }

    /// Says what is left when the reply has ended.
    pub fn finish(mut self) -> Finished {
        if let (Stage::Attp, Some(calls)) = (self.stage, attp::calls(&self.held)) {
            return Finished { text: String::new(), calls: Some(calls) };
        }
        let mut text = String::new();
        while !self.held.is_empty() {
            text.push_str(&self.prose());
            self.close(&mut text);
        }
        self.calls.truncate(CALLS_MAX);
        Finished { text, calls: (!self.calls.is_empty()).then_some(self.calls) }
    }

    /// The text before the next marker, or before what may become one.
    fn prose(&mut self) -> String {
        let mut from = 0;
        while let Some(at) = self.held[from..].find('[').map(|at| from + at) {
            match marker(&self.held[at..]) {
                Marker::No => from = at + 1,
                Marker::Begun | Marker::Open(_) => return self.shown(at),
                Marker::Whole { bytes, words } => {
                    self.calls.push(search(&words));
                    self.stage = Stage::Asked;
                    let shown = self.shown(at);
                    self.held.drain(..bytes);
                    return shown;
                }
            }
        }
        self.shown(self.held.len())
    }

    fn shown(&mut self, bytes: usize) -> String {
        self.held.drain(..bytes).collect()
    }

    /// The reply has ended inside what looked like a marker: one with a colon is a call, anything less is text.
    fn close(&mut self, text: &mut String) {
        match marker(&self.held) {
            Marker::Open(words) => {
                self.calls.push(search(&words));
                self.held.clear();
            }
            Marker::Begun => text.push_str(&std::mem::take(&mut self.held)),
            Marker::No | Marker::Whole { .. } => {}
        }
    }
}

fn search(words: &str) -> Result<RecallCall, String> {
    RecallCall::read(RecallTool::Search, &serde_json::json!({"words": words}).to_string())
}

enum Marker {
    /// It is none, whatever follows.
    No,
    /// It may become one.
    Begun,
    /// It is one and has not ended.
    Open(String),
    /// It is one.
    Whole { bytes: usize, words: String },
}

/// Judges a text by its beginning.
fn marker(text: &str) -> Marker {
    let seen = text.len().min(MARKER.len());
    if !text.is_char_boundary(seen) || !text[..seen].eq_ignore_ascii_case(&MARKER[..seen]) || text.is_empty() {
        return Marker::No;
    }
    let rest = &text[seen..];
    let inside = rest.trim_start_matches(' ');
    let head = text.len() - inside.len();
    match inside.chars().next() {
        _ if rest.len() - inside.len() > SPACES_MAX => Marker::No,
        None => Marker::Begun,
        Some(']') => Marker::Whole { bytes: head + 1, words: String::new() },
        Some(colon @ (':' | '：')) => words(&inside[colon.len_utf8()..], head + colon.len_utf8()),
        Some(_) => Marker::No,
    }
}

/// The words of a marker whose colon has been seen, up to its bracket, the end of the line or the limit.
fn words(inside: &str, head: usize) -> Marker {
    let mut depth = 0;
    for (count, (at, c)) in inside.char_indices().enumerate() {
        let whole = |bytes| Marker::Whole { bytes, words: inside[..at].trim().to_owned() };
        match c {
            ']' if depth == 0 => return whole(head + at + 1),
            '\n' => return whole(head + at),
            _ if count == WORDS_MAX_CHARS => return whole(head + at),
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
    }
    Marker::Open(inside.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sieved(pieces: &[&str]) -> (String, Finished) {
        let mut sieve = Sieve::default();
        let shown = pieces.iter().map(|piece| sieve.push(piece)).collect();
        (shown, sieve.finish())
    }

    fn check(reply: &str, shown: &str, words: &[&str]) {
        let (before, finished) = sieved(&[reply]);
        assert_eq!(before + &finished.text, shown, "{reply}");
        let calls: Vec<_> = words.iter().map(|words| search(words)).collect();
        assert_eq!(finished.calls.unwrap_or_default(), calls, "{reply}");
    }

    const REPLIES: [&str; 20] = [
        "Plain words.",
        "A list: [a], [NEED], [NEED_CONTEX] and [[brackets]].",
        "Let me look. [NEED_CONTEXT: tide gauge] One moment.",
        "[NEED_CONTEXT: 潮位计]",
        "[need_context：潮位计 a[3]] x [NEED_CONTEXT : second] y [NEED_CONTEXT",
        "It ends early [NEED_CONTEXT: tide",
        "It ends earlier [NEED_CONT",
        "Over the line [NEED_CONTEXT: tide\nand on.",
        "Empty [NEED_CONTEXT: ] and [NEED_CONTEXT].",
        "[[NEED_CONTEXT: nested]]",
        "  \n thought = 'x'\n[tool_call]\ncode = 'recall_page(3)'\ntail",
        "thought = is what I had\n[NEED_CONTEXT: tide] z",
        "thoughtful answer",
        "```toml\n[tool_call]\ncode = '''recall_page(3)'''\n```",
        "```toml\n[tool_call]\ncode = '''recall_page(3)'''\n```\nis an example",
        "```rust\nlet x = [0];\n```",
        "[tool_call",
        "",
        "```toml \n[tool_call]\ncode = 'recall_page(3)'",
        "```toml\r\n[tool_call]\r\ncode = 'recall_page(3)'\r\n```\r\n",
    ];

    #[test]
    fn markers_are_cut_out_and_become_searches() {
        check(REPLIES[0], "Plain words.", &[]);
        check(REPLIES[1], REPLIES[1], &[]);
        check(REPLIES[2], "Let me look.  One moment.", &["tide gauge"]);
        check(REPLIES[3], "", &["潮位计"]);
        check(REPLIES[4], " x  y [NEED_CONTEXT", &["潮位计 a[3]", "second"]);
        check(REPLIES[5], "It ends early ", &["tide"]);
        check(REPLIES[6], REPLIES[6], &[]);
        check(REPLIES[7], "Over the line \nand on.", &["tide"]);
        check(REPLIES[8], "Empty  and .", &["", ""]);
        check(REPLIES[9], "[]", &["nested"]);
        check(REPLIES[11], "thought = is what I had\n z", &["tide"]);
        check(REPLIES[14], REPLIES[14], &[]);
        assert_eq!(calls_in(REPLIES[13]), Some(vec![Ok(RecallCall::Page { number: 3, from: None })]));
        assert_eq!(calls_in(REPLIES[12]), None);
    }

    #[test]
    fn how_a_reply_is_cut_changes_nothing() {
        for reply in REPLIES {
            let (shown, whole) = sieved(&[reply]);
            let ends: Vec<usize> = reply.char_indices().map(|(at, _)| at).chain([reply.len()]).collect();
            for (i, &first) in ends.iter().enumerate() {
                for &second in &ends[i..] {
                    let (before, finished) = sieved(&[&reply[..first], &reply[first..second], &reply[second..]]);
                    assert_eq!((&before, &finished), (&shown, &whole), "{reply:?} at {first} and {second}");
                }
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn no_marker_is_ever_shown(pieces in proptest::collection::vec("(\\[NEED_CONTEXT|: ?|\\]|\\[|tool_call\\]|thought =|```|[a-z潮\n ]{1,3}){0,4}", 0..8)) {
            let reply = pieces.concat();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let (shown, finished) = sieved(&pieces);
            let (whole, at_once) = sieved(&[&reply]);
            assert_eq!((&shown, &finished), (&whole, &at_once));
            assert!(!shown.contains("[NEED_CONTEXT:") && !shown.contains("[NEED_CONTEXT]"));
        }
    }

    #[test]
    fn plain_text_is_not_delayed() {
        let mut sieve = Sieve::default();
        assert_eq!(sieve.push("The"), "The");
        assert_eq!(sieve.push(" list [a"), " list [a");
        assert_eq!(sieve.push(" and [NE"), " and ");
        assert_eq!(sieve.push("W] one"), "[NEW] one");
    }

    #[test]
    fn the_instructions_are_themselves_understood() {
        let shown = instructions();
        assert!(matches!(calls_in(shown).as_deref(), Some([Ok(RecallCall::Search { .. })])));
        let block = &shown[shown.find("thought =").unwrap()..];
        let calls = calls_in(block).unwrap();
        assert!(calls.len() == 3 && calls.iter().all(Result::is_ok), "{calls:?}");
    }

    #[test]
    fn endless_markers_end() {
        let reply = format!("[NEED_CONTEXT: {}", "x".repeat(5_000));
        assert_eq!(calls_in(&reply).unwrap().len(), 1);
        assert_eq!(calls_in(&"[NEED_CONTEXT: a]".repeat(1_000)).unwrap().len(), CALLS_MAX);
    }
}
