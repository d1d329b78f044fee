//! What a topic is shown: its messages, in a text that only grows at its end so that a provider's cache has its
//! beginning; then its name, and what the person said last. Each message is written the same for ever, and the fence
//! comes from the first of them. What follows them is paid for with every reading of every topic, so it is short: the
//! last reply is shown only where the person's words mean nothing without it.

use std::sync::Arc;

use super::super::digest::said;
use super::super::prompt::fence_from;
use super::super::sentences::{ends, shortened};
use super::NAME_CHARS;
use super::sheet::speaker;
use crate::message::Role;
use crate::store::Stored;

/// How much of the beginning of a message is shown.
const HEAD_BYTES: usize = 12_000;
/// How much of its end is.
const TAIL_BYTES: usize = 4_000;
/// How much is shown of what the person said before.
const EARLIER_CHARS: usize = 600;
/// How much of the last reply is shown.
const REPLY_CHARS: usize = 400;
/// With fewer letters than this, the person's words mean little without the reply before them.
const FEW_LETTERS: usize = 14;

/// The text, and how many bytes of it are the topic's own: they stay while the topic does.
pub(super) fn growing(messages: &[Arc<Stored>], open: &[Arc<Stored>], name: &str) -> (String, usize) {
    let own: Vec<String> = messages.iter().map(|stored| whole(stored)).collect();
    let asking = asking(open);
    let reply = replied(open);
    let name = shortened(name, 2 * NAME_CHARS);
    let seed = messages.first().or(open.first()).map_or("", |stored| stored.raw.get());
    let is_inside =
        |suffix: &str| own.iter().chain(&asking).chain(&reply).chain([&name]).any(|text| text.contains(suffix));
    let fence = fence_from(seed.as_bytes(), is_inside);
    let part = |tag: &str, pieces: &[String]| format!("<{tag}-{fence}>\n{}\n</{tag}-{fence}>", pieces.join("\n\n"));
    let reply = reply.map(|reply| part("reply", &[reply]));
    let topic = part("topic", &own);
    let stable = topic.len();
    let parts = [topic, part("name", &[name]), part("open", &asking)].into_iter().chain(reply);
    (parts.collect::<Vec<_>>().join("\n\n"), stable)
}

fn whole(stored: &Stored) -> String {
    format!("{}\n{}", heading(stored), ends(&said(&stored.message()), HEAD_BYTES, TAIL_BYTES))
}

/// What the person said last; where that means little by itself, what they said before as well.
fn asking(open: &[Arc<Stored>]) -> Vec<String> {
    let mut person = open.iter().rev().filter(|stored| stored.begins_turn());
    let Some(newest) = person.next() else { return Vec::new() };
    let before = person.next().filter(|_| says_little(newest)).map(|stored| words(stored, EARLIER_CHARS));
    before.into_iter().chain([ends(&said(&newest.message()), HEAD_BYTES, TAIL_BYTES).into_owned()]).collect()
}

/// How the reply begins that the person answers, if they say little themselves.
fn replied(open: &[Arc<Stored>]) -> Option<String> {
    let newest = open.iter().rposition(|stored| stored.begins_turn())?;
    let reply = open[..newest].iter().rev().find(|stored| stored.role == Role::Assistant)?;
    says_little(&open[newest]).then(|| words(reply, REPLY_CHARS))
}

fn says_little(stored: &Stored) -> bool {
    said(&stored.message()).chars().filter(|c| c.is_alphanumeric()).count() < FEW_LETTERS
}

fn words(stored: &Stored, most_chars: usize) -> String {
    shortened(&said(&stored.message()), most_chars)
}

/// Which message, who says it, and on which day.
fn heading(stored: &Stored) -> String {
    let day: String = stored.at.to_string().chars().take("2026-11-15".len()).collect();
    let day = if stored.at.0 > 0 { format!(" {day}") } else { String::new() };
    let name = speaker(stored).map(|name| format!(" {}", name.split_whitespace().collect::<Vec<_>>().join(" ")));
    format!("[{} {}{}{day}]", stored.id, stored.role, name.unwrap_or_default())
}
