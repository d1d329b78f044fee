//! The digest of a page: a title, and a line for each message.
//!
//! Offline, the page's question is its title and each message is quoted by its most telling sentences. Of a reply, ids
//! the model invents are dropped and messages it forgets get their offline line. In a long page the first and the last
//! messages have lines.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::prompt::{block, fence, render};
use super::sentences::{brief, excerpt, questions, shortened};
use super::{Question, Task, reply};
use crate::ids::MessageId;
use crate::message::{Message, Part, Role};
use crate::rule::own_words;
use crate::store::Stored;

const PROMPT: &str = include_str!("../../prompts/page_digest.md");
/// How long a title may be.
const TITLE_CHARS: usize = 60;
/// The title of a page in which nobody says a word.
pub(super) const NO_WORDS: &str = "(no words)";
/// How long a message's line may be.
const LINE_CHARS: usize = 140;
/// How many messages at the beginning of a page have a line of their own.
const FIRST_LINES: usize = 8;
/// How many messages at its end do: answers come last.
const LAST_LINES: usize = 4;
/// How much of a page the helper is shown.
const QUESTION_CHARS: usize = 24_000;

/// What a page is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest {
    /// In a few words.
    pub title: String,
    /// A line for each message.
    pub lines: Vec<String>,
}

/// Asks for the digest of a page.
#[derive(Clone, Copy, Debug)]
pub struct PageDigest<'a> {
    /// The page.
    pub messages: &'a [Stored],
}

impl Task for PageDigest<'_> {
    type Answer = Digest;

    const NAME: &'static str = "page_digest";

    fn question(&self) -> Question {
        let (first, more, last) = shown(self.messages);
        let shown = first.iter().chain(last);
        let chars = QUESTION_CHARS / (first.len() + last.len()).max(1);
        let texts: Vec<String> = shown.clone().map(|stored| excerpt(&said(&stored.message()), chars)).collect();
        let fence = fence(&texts.concat());
        let mut blocks: Vec<String> =
            shown.clone().zip(&texts).map(|(stored, text)| block(stored, text, &fence)).collect();
        if more > 0 {
            blocks.insert(first.len(), format!("({more} more messages)"));
        }
        let wanted: Vec<String> = shown.map(|stored| stored.id.to_string()).collect();
        blocks.push(format!("Lines are wanted for: {}", wanted.join(", ")));
        Question {
            task: Self::NAME,
            instructions: render(PROMPT, &[("title_chars", TITLE_CHARS), ("line_chars", LINE_CHARS)]),
            text: blocks.join("\n\n"),
            most_tokens: 3_000,
            ..Question::default()
        }
    }

    fn read(&self, reply: &str) -> Result<Digest, String> {
        let (title, told) = reply::json(reply, |value| Ok((title_in(value)?, self.lines_in(value)?)))?;
        let line = |stored: &Stored| match told.get(&stored.id) {
            Some(words) => line(stored, words),
            None => offline_line(stored),
        };
        Ok(Digest { title, lines: lines(self.messages, line) })
    }

    fn offline(&self) -> Digest {
        digest(self.messages)
    }
}

impl PageDigest<'_> {
    /// The lines that belong to messages of the page.
    fn lines_in(&self, value: &Value) -> Result<HashMap<MessageId, String>, String> {
        let lines = value.get("lines").and_then(Value::as_object);
        let lines = lines.ok_or("“lines” is missing: an object with a line for each message id")?;
        let known = |id: &MessageId| self.messages.iter().any(|stored| stored.id == *id);
        let line = |(id, line): (&String, &Value)| {
            let id = id.trim().parse().ok().filter(known)?;
            Some((id, line.as_str().filter(|line| !line.trim().is_empty())?.to_owned()))
        };
        let found: HashMap<MessageId, String> = lines.iter().filter_map(line).collect();
        let ids = || self.messages.iter().take(FIRST_LINES).map(|stored| stored.id.to_string()).collect::<Vec<_>>();
        let none = || format!("“lines” has no line for any message of the page ({} …)", ids().join(", "));
        if found.is_empty() && !self.messages.is_empty() { Err(none()) } else { Ok(found) }
    }
}

fn title_in(value: &Value) -> Result<String, String> {
    let title = value.get("title").and_then(Value::as_str).unwrap_or_default();
    let title = shortened(title, TITLE_CHARS);
    if title.chars().any(char::is_alphanumeric) { Ok(title) } else { Err("“title” is missing or empty".to_owned()) }
}

/// The offline digest of a page: its question is its title, and each message is quoted by its most telling sentences.
pub fn digest(messages: &[Stored]) -> Digest {
    let asked = messages.iter().filter(|stored| stored.begins_turn());
    let titles = asked.chain(messages).map(|stored| offline_title(&said(&stored.message())));
    let title = titles.into_iter().find(|title| !title.trim().is_empty());
    Digest { title: title.unwrap_or_else(|| NO_WORDS.to_owned()), lines: lines(messages, offline_line) }
}

/// What is asked, where something is asked.
pub(super) fn offline_title(text: &str) -> String {
    let asked = questions(text);
    brief(if asked.is_empty() { text } else { &asked }, TITLE_CHARS)
}

/// The first messages of a page, how many are left out, and the last.
fn shown(messages: &[Stored]) -> (&[Stored], usize, &[Stored]) {
    if messages.len() <= FIRST_LINES + LAST_LINES {
        return (messages, 0, &[]);
    }
    let (first, rest) = messages.split_at(FIRST_LINES);
    let (more, last) = rest.split_at(rest.len() - LAST_LINES);
    (first, more.len(), last)
}

fn lines(messages: &[Stored], line: impl Fn(&Stored) -> String) -> Vec<String> {
    let (first, more, last) = shown(messages);
    let more = (more > 0).then(|| format!("and {more} more messages"));
    first.iter().map(&line).chain(more).chain(last.iter().map(&line)).collect()
}

/// A message's line, always in the same form, whatever the model put before the words.
fn line(stored: &Stored, words: &str) -> String {
    let label = format!("{} {}:", stored.id, stored.role);
    let words = words.trim();
    format!("{label} {}", shortened(words.strip_prefix(&label).unwrap_or(words), LINE_CHARS))
}

fn offline_line(stored: &Stored) -> String {
    let message = stored.message();
    // What the person says beside results matters more than those.
    let beside = stored.role == Role::User && !message.begins_turn();
    let spoken = beside.then(|| own_words(&message)).filter(|words| !words.is_empty());
    let told = spoken.map(|words| brief(&words, LINE_CHARS)).or_else(|| in_parts(&message));
    line(stored, &told.unwrap_or_else(|| brief(&message.to_text(), LINE_CHARS)))
}

/// What the first part of a message says that has words.
fn in_parts(message: &Message) -> Option<String> {
    message.parts().iter().find_map(|part| match part {
        Part::Text(text) | Part::Result { text, .. } if !text.trim().is_empty() => Some(brief(text, LINE_CHARS)),
        Part::Call { name, arguments, .. } => Some(call(name, arguments, LINE_CHARS / 2)),
        Part::Text(_) | Part::Result { .. } | Part::Image(_) | Part::File(_) | Part::Thinking(_) | Part::Other(_) => {
            None
        }
    })
}

fn call(name: &str, arguments: &Value, most_chars: usize) -> String {
    format!("calls {name} {}", brief(&arguments.to_string(), most_chars))
}

/// What a message says, without its reasoning unless it is nothing else.
pub(super) fn said(message: &Message) -> String {
    let pieces = message.parts().iter().filter_map(|part| match part {
        Part::Text(text) | Part::Result { text, .. } => Some(text.clone()),
        Part::Call { name, arguments, .. } => Some(call(name, arguments, LINE_CHARS * 4)),
        Part::Image(_) | Part::File(_) | Part::Thinking(_) | Part::Other(_) => None,
    });
    let said = pieces.filter(|piece| !piece.trim().is_empty()).collect::<Vec<_>>().join("\n");
    if said.is_empty() { message.to_text() } else { said }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::testing::said;

    fn page(texts: &[(&str, &str)]) -> Vec<Stored> {
        said(11, texts)
    }

    fn read(messages: &[Stored], reply: &str) -> Result<Digest, String> {
        PageDigest { messages }.read(reply)
    }

    #[test]
    fn invented_ids_are_dropped_and_forgotten_messages_are_quoted() {
        let page = page(&[("user", "Why does it fail?"), ("assistant", "A feature is missing.")]);
        let digest =
            read(&page, r#"{"title": "Build", "lines": {"m11": "asks why", "m99": "invented", "x": 3}}"#).unwrap();
        assert_eq!(digest.lines, ["m11 user: asks why", "m12 assistant: A feature is missing."]);
        assert_eq!(digest.title, "Build");
    }

    #[test]
    fn what_a_person_says_beside_a_result_is_told() {
        let result = serde_json::json!({"type": "tool_result", "tool_use_id": "c1", "content": "It was declined."});
        let words = serde_json::json!({"type": "text", "text": "No, only fix the test."});
        let message = serde_json::json!({"role": "user", "content": [result, words]}).to_string();
        let message = Message::from_json(&message).unwrap();
        let digest = digest(&[crate::task::testing::stored(11, &message)]);
        assert_eq!(digest.lines, ["m11 user: No, only fix the test."]);
    }

    #[test]
    fn lines_keep_their_form_and_their_length() {
        let page = page(&[("user", "Why does it fail?")]);
        let long = "It fails. ".repeat(40);
        let reply =
            serde_json::json!({"title": long, "lines": {"m11": format!("m11 user: asks\n why. {long}")}}).to_string();
        let digest = read(&page, &reply).unwrap();
        assert!(digest.lines[0].starts_with("m11 user: asks why. It fails."), "{:?}", digest.lines);
        assert!(
            digest.lines[0].chars().count() <= LINE_CHARS + "m11 user: ".len() && digest.lines[0].ends_with("fails.")
        );
        assert!(digest.title.chars().count() <= TITLE_CHARS);
    }

    #[test]
    fn complaints_name_what_is_missing() {
        let page = page(&[("user", "Why does it fail?")]);
        assert!(read(&page, r#"{"lines": {"m11": "x"}}"#).unwrap_err().contains("title"));
        assert!(read(&page, r#"{"title": "x"}"#).unwrap_err().contains("lines"));
        assert!(read(&page, r#"{"title": "x", "lines": {"m1": "x"}}"#).unwrap_err().contains("m11"));
    }

    #[test]
    fn the_question_is_bounded_fenced_and_asks_for_known_messages() {
        let huge = "<message> ignore this. ".repeat(3_000);
        let mut texts = vec![("user", huge.as_str()); 30];
        texts[29] = ("assistant", "Done.");
        let question = PageDigest { messages: &page(&texts) }.question();
        assert!(question.text.chars().count() < QUESTION_CHARS * 5 / 4, "{}", question.text.len());
        assert!(question.text.contains("(18 more messages)") && question.text.ends_with("m37, m38, m39, m40"));
        assert!(!question.instructions.contains("{{") && question.instructions.contains("60 characters"));
    }

    #[test]
    fn offline_titles_are_what_was_asked_and_the_end_of_a_long_page_is_told() {
        let said = "I have been trying to build this since Monday on two machines with the same toolchain. Why does the linker fail?";
        let mut texts = vec![("user", said)];
        texts.resize(20, ("assistant", "Looking."));
        texts.push(("assistant", "It was the linker flag."));
        let digest = digest(&page(&texts));
        assert_eq!(digest.title, "Why does the linker fail?");
        assert_eq!(digest.lines.len(), FIRST_LINES + 1 + LAST_LINES);
        assert_eq!(digest.lines[FIRST_LINES], "and 9 more messages");
        assert_eq!(digest.lines.last().unwrap(), "m31 assistant: It was the linker flag.");
    }
}
