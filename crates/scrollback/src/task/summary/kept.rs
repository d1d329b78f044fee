//! What a summary keeps word for word: code blocks, and the questions the person asked.

use serde::{Deserialize, Serialize};

use super::blocks::{Piece, pieces};
use crate::message::{Part, Role};
use crate::store::Stored;
use crate::summary::Quote;

/// Code that is longer is not quoted; it stays in its message.
const CODE_CHARS: usize = 2_000;
/// A question that is longer is not quoted either.
const QUESTION_CHARS: usize = 600;
/// How many quotes one part of a message may give: a pasted book has many questions that nobody asked.
const QUOTES: usize = 24;
/// What may stand before a question without belonging to it.
const MARKS: [char; 6] = ['-', '*', '>', '#', '+', '•'];
/// What may stand after a question mark and before the next sentence.
const CLOSING: [char; 10] = ['"', '\'', '”', '’', '」', '』', ')', '）', '*', '_'];

/// What is kept word for word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keeping {
    /// Fenced code, whoever wrote it.
    pub code: bool,
    /// What the person asks.
    pub questions: bool,
}

impl Default for Keeping {
    fn default() -> Self {
        Self { code: true, questions: true }
    }
}

/// The quotes of messages, in their order, each as it stands in its message.
pub fn kept(messages: &[Stored], settings: Keeping) -> Vec<Quote> {
    let mut quotes: Vec<Quote> = Vec::new();
    for stored in messages {
        let message = stored.message();
        let asks = settings.questions && stored.role == Role::User;
        for part in message.parts() {
            if let Part::Text(text) = part {
                let found = quoted(text, settings.code, asks);
                quotes.extend(found.into_iter().map(|text| Quote { message: stored.id, text: text.to_owned() }));
            }
        }
    }
    quotes
}

fn quoted(text: &str, code: bool, questions: bool) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for piece in pieces(text) {
        match piece {
            Piece::Code(block) if code && has_code(block) => found.push(block.trim_end()),
            Piece::Prose(prose) if questions => found.extend(prose.lines().flat_map(asked)),
            Piece::Code(_) | Piece::Prose(_) => {}
        }
        if found.len() >= QUOTES {
            break;
        }
    }
    let mut seen = std::collections::HashSet::new();
    found.retain(|quote| seen.insert(*quote));
    found.truncate(QUOTES);
    found
}

/// Whether a block has anything between its fences, and not too much.
fn has_code(block: &str) -> bool {
    let inside = block.lines().skip(1).any(|line| line.chars().any(char::is_alphanumeric));
    inside && block.trim_end().chars().count() <= CODE_CHARS
}

/// The questions of a line.
fn asked(line: &str) -> Vec<&str> {
    let ends = ends(line);
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let sentences = starts.zip(&ends).map(|(start, end)| line[start..*end].trim());
    let bare = sentences.map(|sentence| sentence.trim_start_matches(|c: char| MARKS.contains(&c) || c.is_whitespace()));
    bare.filter(|sentence| is_question(sentence)).collect()
}

fn is_question(sentence: &str) -> bool {
    let words = sentence.chars().any(char::is_alphanumeric);
    let end = sentence.trim_end_matches(CLOSING).trim_end_matches(['!', '！']);
    words && end.ends_with(['?', '？']) && sentence.chars().count() <= QUESTION_CHARS
}

/// Where the sentences of a line end; marks inside `code` end nothing.
fn ends(line: &str) -> Vec<usize> {
    let (mut ends, mut in_code) = (Vec::new(), false);
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        in_code ^= c == '`';
        let stop = matches!(c, '。' | '！' | '？' | '；') || matches!(c, '.' | '!' | '?');
        if in_code || !stop {
            continue;
        }
        let mut end = at + c.len_utf8();
        while let Some((next, mark)) =
            chars.next_if(|(_, c)| CLOSING.contains(c) || matches!(c, '?' | '!' | '？' | '！'))
        {
            end = next + mark.len_utf8();
        }
        let next = chars.peek().map(|(_, c)| *c);
        if !c.is_ascii() || next.is_none_or(|next| next.is_whitespace() || !next.is_ascii()) {
            ends.push(end);
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::super::testing::{said, scraps, stored};
    use super::*;
    use proptest::prelude::*;

    const ALL: Keeping = Keeping { code: true, questions: true };

    fn texts(messages: &[Stored], settings: Keeping) -> Vec<String> {
        kept(messages, settings).into_iter().map(|quote| quote.text).collect()
    }

    #[test]
    fn code_and_questions_are_quoted() {
        let messages = said(&[
            (
                "user",
                "Hello. Why does  it fail?! I run:\n\n```sh\ncargo test # why?\n```\n- Is `a ? b : c` fine? See https://x.org/?a=b.\n为什么？谢谢。",
            ),
            ("assistant", "Which one do you mean?\n~~~\nlet x = 1;\n~~~"),
        ]);
        let code = ["```sh\ncargo test # why?\n```", "~~~\nlet x = 1;\n~~~"];
        let questions = ["Why does  it fail?!", "Is `a ? b : c` fine?", "为什么？"];
        let expected = [questions[0], code[0], questions[1], questions[2], code[1]];
        assert_eq!(texts(&messages, ALL), expected);
        assert_eq!(texts(&messages, Keeping { questions: false, ..ALL }), code);
        assert_eq!(texts(&messages, Keeping { code: false, ..ALL }), questions);
        assert!(texts(&messages, Keeping { code: false, questions: false }).is_empty());
        assert_eq!(kept(&messages, ALL)[4].message.to_string(), "m12");
    }

    #[test]
    fn long_code_empty_code_and_results_are_not_quoted() {
        let long = format!("```\n{}\n```", "let x = 1;\n".repeat(200));
        let value = |content: &str| serde_json::json!({"role": "user", "content": content});
        let result = serde_json::json!({"role": "tool", "tool_call_id": "c", "content": "```\nlet x = 1;\n```\nWhy?"});
        let messages = stored(&[value(&long), value("```\n```\n??"), result]);
        assert_eq!(texts(&messages, ALL), Vec::<String>::new());
        let many = (0..500).map(|i| format!("What about {i}? ")).collect::<Vec<_>>().concat();
        assert_eq!(texts(&said(&[("user", &many)]), ALL).len(), QUOTES);
    }

    proptest! {
        #[test]
        fn every_quote_stands_in_its_message(texts in prop::collection::vec(scraps(), 1..4)) {
            let all: Vec<(&str, &str)> = texts.iter().map(|text| ("user", text.as_str())).collect();
            for quote in kept(&said(&all), ALL) {
                let at = usize::try_from(quote.message.0).unwrap() - 11;
                prop_assert!(texts[at].contains(&quote.text) && quote.text.trim_end() == quote.text);
            }
        }
    }
}
