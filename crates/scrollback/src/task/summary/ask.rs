//! The task that sums up a segment of a conversation together with what was summed up before it.
//!
//! There are two of them: the full question, and a short one for helpers that cannot cope with it. Both show and hear
//! the same.

use super::super::prompt::render;
use super::super::sentences::excerpt;
use super::super::{Question, Task};
use super::offline;
use super::reading::{self, Wanted};
use super::talk;
use crate::store::Stored;

const GENERAL: &str = include_str!("../../../prompts/summary_general.md");
const TECHNICAL: &str = include_str!("../../../prompts/summary_technical.md");
const NEXT: &str = include_str!("../../../prompts/summary_next.md");
const FORM: &str = include_str!("../../../prompts/summary_form.md");
const SHORT: &str = include_str!("../../../prompts/summary_short.md");
/// How long a person's own instructions may be.
const OWN_CHARS: usize = 8_000;
/// How long a placeholder in them may be.
const PLACEHOLDER_BYTES: usize = 40;
/// Originals of fewer characters may be summed up in next to nothing.
const TINY_CHARS: usize = 80;

/// How a summary is to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style<'a> {
    /// As talk is told.
    #[default]
    General,
    /// As work is handed over, under fixed headings.
    Technical,
    /// As a person wants it, in their own words.
    Own(&'a str),
}

/// Asks for the summary of a conversation's beginning.
#[derive(Clone, Copy, Debug)]
pub struct Summarise<'a> {
    /// The summary so far, if there is one.
    pub before: Option<&'a str>,
    /// How many messages it covers.
    pub before_count: u32,
    /// The messages that follow it.
    pub messages: &'a [Stored],
    /// How it is to be written.
    pub style: Style<'a>,
    /// How many tokens it may have.
    pub most_tokens: u32,
    /// What an earlier attempt left out.
    pub missing: &'a [String],
}

/// Asks for the same with few words.
#[derive(Clone, Copy, Debug)]
pub struct SummariseShort<'a>(pub Summarise<'a>);

impl Task for Summarise<'_> {
    type Answer = String;

    const NAME: &'static str = "summary";

    fn question(&self) -> Question {
        // Beyond the summary there may be an analysis, and tags.
        let most_tokens = self.most_tokens.saturating_mul(2).saturating_add(500);
        Question {
            task: Self::NAME,
            instructions: self.instructions(),
            text: self.sheet(),
            most_tokens,
            ..Question::default()
        }
    }

    fn read(&self, reply: &str) -> Result<String, String> {
        reading::read(reply, &self.wanted(&self.instructions()))
    }

    fn offline(&self) -> String {
        offline::digest(self.before, self.messages, self.most_tokens)
    }
}

impl Task for SummariseShort<'_> {
    type Answer = String;

    const NAME: &'static str = "summary_short";

    fn question(&self) -> Question {
        let most_tokens = self.0.most_tokens.saturating_mul(2).saturating_add(100);
        Question {
            task: Self::NAME,
            instructions: self.0.filled(SHORT),
            text: self.0.sheet(),
            most_tokens,
            ..Question::default()
        }
    }

    fn read(&self, reply: &str) -> Result<String, String> {
        reading::read(reply, &self.0.wanted(&self.0.filled(SHORT)))
    }

    fn offline(&self) -> String {
        self.0.offline()
    }
}

impl Summarise<'_> {
    fn instructions(&self) -> String {
        let style = match self.style {
            Style::General => GENERAL.to_owned(),
            Style::Technical => TECHNICAL.to_owned(),
            Style::Own(text) => without_placeholders(&excerpt(text, OWN_CHARS)),
        };
        let next = self.before.map(|_| NEXT);
        let pieces = [Some(style.as_str()), next, Some(&self.filled(FORM))];
        pieces.into_iter().flatten().map(str::trim_end).collect::<Vec<_>>().join("\n\n")
    }

    /// A prompt that tells how long the summary may be.
    fn filled(&self, prompt: &str) -> String {
        let tokens = usize::try_from(self.most_tokens).unwrap_or(usize::MAX);
        render(prompt, &[("tokens", tokens), ("words", tokens / 4 * 3), ("characters", tokens)])
    }

    fn sheet(&self) -> String {
        talk::sheet(self.before.map(|text| (text, self.before_count)), self.messages, self.missing)
    }

    fn wanted<'b>(&self, instructions: &'b str) -> Wanted<'b> {
        let said = self.messages.iter().map(|stored| stored.raw.get().len()).sum::<usize>();
        let last = self.messages.iter().map(|stored| stored.id).max();
        let is_tiny = said + self.before.map_or(0, str::len) < TINY_CHARS;
        Wanted { last, most_tokens: self.most_tokens, is_tiny, instructions }
    }
}

/// Instructions that say where the conversation is to be put, told that it is shown beside them: `{{CONVERSATION}}`.
fn without_placeholders(text: &str) -> String {
    let mut pieces = text.split("{{");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let is_name =
            |name: &str| name.len() <= PLACEHOLDER_BYTES && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        match piece.split_once("}}") {
            Some((name, rest)) if is_name(name.trim()) => out.extend(["(given below)", rest]),
            Some(_) | None => out.extend(["{{", piece]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::testing::{mangled, said, scraps};
    use super::*;
    use crate::window::tokens_of;
    use proptest::prelude::*;

    const GOOD: &str = "<analysis>Two matters: gauge and harbour.</analysis>\n<summary>\n## Gauge\n\nThe gauge on port 3 \
                        failed at noon [m11]; Ann mends it on Friday [m12, m99].\n</summary>";

    fn talk() -> Vec<Stored> {
        said(&[
            ("user", "The gauge on port 3 failed at noon, and the harbour is blind since then. Who mends it?"),
            ("assistant", "Ann does, on Friday. Until then the tide is read by hand."),
        ])
    }

    fn ask(messages: &[Stored]) -> Summarise<'_> {
        Summarise { before: None, before_count: 0, messages, style: Style::General, most_tokens: 200, missing: &[] }
    }

    #[test]
    fn questions_are_made_of_the_prompts_that_fit() {
        let messages = talk();
        let first = ask(&messages).question();
        assert!(
            first.instructions.contains("memory of a long conversation") && first.instructions.contains("200 tokens")
        );
        assert!(!first.instructions.contains("{{") && !first.instructions.contains("what came before"));
        let next = Summarise { before: Some("Ann is away."), style: Style::Technical, ..ask(&messages) }.question();
        assert!(next.instructions.contains("## Last actions") && next.instructions.contains("what came before"));
        assert!(next.text.starts_with("<before-") && next.text.contains("Ann is away."));
        let own = "Sum up as a poem.\n{{CONVERSATION}}\n{{ PREV_SUMMARY }} {{a b}} {{";
        let own = Summarise { style: Style::Own(own), ..ask(&messages) }.question().instructions;
        assert!(own.starts_with("Sum up as a poem.\n(given below)\n(given below) {{a b}} {{\n\nHowever"), "{own}");
        let missing = ["port 3".to_owned()];
        let short = SummariseShort(Summarise { missing: &missing, ..ask(&messages) }).question();
        assert!(short.task == "summary_short" && short.text.contains("- port 3\n</left-out-"));
        assert!(!short.instructions.contains("{{") && short.instructions.len() < first.instructions.len() / 2);
    }

    #[test]
    fn a_good_reply_is_read_and_an_invented_id_dropped() {
        let messages = talk();
        let read = ask(&messages).read(GOOD).unwrap();
        assert_eq!(read, "## Gauge\n\nThe gauge on port 3 failed at noon [m11]; Ann mends it on Friday [m12].");
        assert_eq!(SummariseShort(ask(&messages)).read(&read).unwrap(), read);
    }

    #[test]
    fn the_question_is_not_an_answer() {
        let messages = talk();
        for style in [Style::General, Style::Technical] {
            let task = Summarise { style, most_tokens: 3_000, ..ask(&messages) };
            let question = task.question();
            assert!(task.read(&question.text).unwrap_err().contains("repeats"), "{style:?}");
            assert!(task.read(&question.instructions).is_err(), "{style:?}");
        }
        let short = SummariseShort(Summarise { most_tokens: 3_000, ..ask(&messages) });
        assert!(short.read(&short.question().instructions).is_err());
    }

    proptest! {
        #[test]
        fn whatever_is_read_keeps_to_what_is_wanted(reply in mangled(GOOD)) {
            let messages = talk();
            if let Ok(text) = ask(&messages).read(&reply) {
                prop_assert!(tokens_of(&text) <= 400 && text.trim() == text && text.chars().count() > 9);
                let invents = text.contains("[m999]") || text.contains("[m99]");
                prop_assert!(!invents || text.contains('`'), "{}", text);
            }
        }

        #[test]
        fn nothing_panics(reply in scraps(), own in scraps(), before in scraps()) {
            let messages = said(&[("user", &before), ("assistant", &own)]);
            let task = Summarise { before: Some(&before), style: Style::Own(&own), ..ask(&messages) };
            let _ = (task.read(&reply), task.question(), SummariseShort(task).read(&reply));
            prop_assert!(tokens_of(&task.offline()) <= 200);
        }
    }
}
