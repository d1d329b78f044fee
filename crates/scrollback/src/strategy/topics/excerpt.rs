//! An excerpt: what of the topics matters to a turn, the most relevant first, quoted word for word.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::recall::{fence, heading, said};
use crate::strategy::{HoldSettings, Leaf};
use crate::task::shortened;
use crate::topic::{Card, Reading, TopicId};
use crate::window::tokens_of;

/// Tokens that the fence and its title cost.
const FENCE: u32 = 60;
/// With less room than this nothing is quoted.
const LEAST: u32 = 120;
/// The part of the room that is left which one topic may take, in hundredths.
const EACH: u32 = 70;
/// How much of a brief is shown beside quotes.
const BRIEF_CHARS: usize = 240;
/// A brief shorter than this says nothing.
const LEAST_BRIEF: usize = 60;

/// A topic with what was found in it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What is known of it.
    pub card: Arc<Card>,
    /// Which edition of it that is.
    pub edition: u32,
    /// What matters.
    pub reading: Reading,
    /// The messages it names.
    pub quoted: Vec<Arc<Leaf>>,
}

/// What a window shows of a topic, as its view records it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// Which.
    pub topic: TopicId,
    /// Which edition of it.
    pub edition: u32,
    /// What was read.
    #[serde(flatten)]
    pub reading: Reading,
}

/// Quotes from topics, ready to be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Excerpt {
    /// The text.
    pub text: Arc<str>,
    /// What it costs.
    pub tokens: u32,
    /// The messages that are quoted.
    pub quoted: Vec<MessageId>,
    /// How many topics they are from; none where they were found one by one.
    pub topics: usize,
}

/// Puts an excerpt together, in at most so many tokens; `remark` stands before the quotes. `None` if nothing fits.
pub fn excerpt(findings: &[Finding], remark: Option<&str>, holds: &HoldSettings, room: u32) -> Option<Excerpt> {
    let mut left = room.checked_sub(FENCE + remark.map_or(0, tokens_of))?;
    let (mut pieces, mut quoted) = (Vec::new(), Vec::new());
    let mut ranked: Vec<&Finding> = findings.iter().collect();
    ranked.sort_by(|a, b| b.reading.relevance.total_cmp(&a.reading.relevance).then(a.card.id.cmp(&b.card.id)));
    for finding in ranked {
        if left < LEAST {
            break;
        }
        let most = if pieces.is_empty() { left * EACH / 100 } else { left };
        let Some((text, shown)) = section(finding, holds, most.max(LEAST)) else { continue };
        left = left.saturating_sub(tokens_of(&text));
        pieces.push(text);
        quoted.extend(shown);
    }
    let topics = pieces.len();
    if topics == 0 {
        return None;
    }
    let body = remark.map(str::to_owned).into_iter().chain(pieces).collect::<Vec<_>>().join("\n\n");
    let text = fence("topics", "Earlier messages that matter now, word for word, by topic", &body);
    let tokens = tokens_of(&text);
    (tokens <= room).then(|| Excerpt { text: text.into(), tokens, quoted, topics })
}

/// What is shown of one topic, and which messages.
fn section(finding: &Finding, holds: &HoldSettings, room: u32) -> Option<(String, Vec<MessageId>)> {
    let Finding { card, reading, quoted, .. } = finding;
    let mut pieces = vec![head(card, reading, room)];
    let mut left = room.checked_sub(tokens_of(&pieces[0]))?;
    let summary = (!reading.summary.is_empty()).then(|| format!("In short: {}", reading.summary));
    let kept_back = summary.as_deref().map_or(0, tokens_of).min(left / 3);
    left -= kept_back;
    let mut shown = Vec::new();
    for leaf in quoted {
        let piece = quote(leaf, holds);
        let Some(rest) = left.checked_sub(tokens_of(&piece)) else { continue };
        left = rest;
        shown.push(leaf.stored.id);
        pieces.push(piece);
    }
    pieces.extend(summary.filter(|summary| tokens_of(summary) <= left + kept_back));
    (pieces.len() > 1).then(|| (pieces.join("\n"), shown))
}

/// What the topic is. Where there is little room, the quotes need it more than the brief.
fn head(card: &Card, reading: &Reading, room: u32) -> String {
    let title = format!("[{}] {} · relevance {:.2} · {}", card.id, card.name, reading.relevance, card.file());
    let chars = BRIEF_CHARS.min(room as usize / 4);
    if chars < LEAST_BRIEF || card.brief.is_empty() {
        title
    } else {
        format!("{title}\n{}", shortened(&card.brief, chars))
    }
}

/// A message as it was said. A large tool result stays held.
fn quote(leaf: &Leaf, holds: &HoldSettings) -> String {
    let text = leaf.told(holds).unwrap_or_else(|| said(leaf.stored.id, &leaf.stored.message()));
    format!("{}\n{text}", heading(leaf.stored.id, &leaf.stored.role, leaf.stored.at))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ids::At;
    use crate::message::Message;
    use crate::task::testing::stored;

    /// A topic of which one message matters, as it is quoted.
    fn quoted(message: &serde_json::Value) -> String {
        let message = Message::from_json(&message.to_string()).unwrap();
        let (parent, messages, tokens, refers) = Default::default();
        let (id, name, brief) = (TopicId(MessageId(4)), "Tides".to_owned(), String::new());
        let card = Card { id, parent, name, brief, messages, tokens, first: At(0), last: At(0), refers };
        let reading = Reading { relevance: 0.9, messages: vec![MessageId(4)], summary: String::new() };
        let holds = HoldSettings::default();
        let quoted = Leaf::all([Arc::new(stored(4, &message))], &holds);
        let finding = Finding { card: Arc::new(card), edition: 1, reading, quoted };
        excerpt(&[finding], None, &holds, 8_000).unwrap().text.to_string()
    }

    /// Only what is large by itself is held wherever it stands.
    #[test]
    fn results_that_are_long_and_not_large_are_quoted_word_for_word() {
        let result = |rows: usize| {
            let rows: Vec<String> = (0..rows).map(|row| format!("{row}: high water at {row} past nine")).collect();
            let text = rows.join("\n");
            json!({"role": "tool", "tool_call_id": "call-1", "content": text})
        };
        let long = quoted(&result(100));
        assert!(long.contains("57: high water at 57 past nine") && !long.contains("kept, not shown"), "{long}");
        assert!(quoted(&result(1_000)).contains("[Tool result h4 is kept, not shown."));
    }

    #[test]
    fn words_beside_a_held_result_are_quoted() {
        let result =
            json!({"type": "tool_result", "tool_use_id": "call-1", "content": "A row of boats. ".repeat(2_000)});
        let said = json!({"role": "user", "content": [result, {"type": "text", "text": "And mind the buoy."}]});
        let text = quoted(&said);
        assert!(text.contains("[Tool result h4 is kept") && text.contains("And mind the buoy."), "{text}");
    }
}
