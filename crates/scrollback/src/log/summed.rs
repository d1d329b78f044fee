//! Recognising a history that begins anew with a summary: agents ask their model to sum up, and go on with its words in
//! the place of all that was said. What tells is that these words were a reply in the same declared session, a moment
//! ago.

use super::align::{Finding, Link};
use super::rewrite::{Change, Rewrite};
use crate::error::Result;
use crate::ids::{MessageId, SessionId};
use crate::message::{Message, Part, Role};
use crate::store::{Origin, Position, Span, Stored};

/// The summary is among so many messages that came last.
const RECENT: u32 = 32;
/// It stands among so many messages at the head of the new history.
const AT_THE_HEAD: usize = 64;
/// Shorter lines are said by chance.
const TELLING_CHARS: usize = 24;
/// So many characters of a reply must stand in a message, and so much of it, in hundredths.
const EVIDENCE_CHARS: usize = 200;
const EVIDENCE_PERCENT: usize = 60;

impl Finding<'_> {
    /// The reply that the history begins anew with, if it does.
    pub(super) async fn summed(&self) -> Result<Option<(SessionId, Rewrite)>> {
        if !self.declared || self.shared {
            return Ok(None);
        }
        let first = self.base.map_or(0, |base| base.depth.0 + 1);
        let replies = self.replies().await?;
        let later = replies.iter().filter(|(_, at)| at.depth.0 >= first);
        let mut held = later.filter_map(|(text, at)| Some((holding(text, &self.rest)?, text, *at)));
        // Who sums up leaves out what was said. Where nothing is left out, the reply stands in its own place, behind
        // words that somebody changed: then those count.
        let found = held.find(|(index, _, at)| *index < (at.depth.0 - first) as usize);
        Ok(found.map(|(index, text, at)| {
            // The message with the summary may say more than that: then it is shown like all that follows. If it is the
            // reply, that stands there.
            let count = index + usize::from(is_reply(&self.rest[index], text));
            let replaced = (0..index).map(|index| (index, None)).collect();
            (self.session, Rewrite { change: Change::Compacted, count, at, replaced })
        }))
    }

    /// What was answered lately in the session, the newest first.
    async fn replies(&self) -> Result<Vec<(String, Position)>> {
        let key = self.key();
        let Some(last) = self.store.read(&key, Span::Last).await?.pop() else { return Ok(Vec::new()) };
        let span = Span::Arrival { from: MessageId(last.id.0.saturating_sub(RECENT)), limit: 2 * RECENT as usize };
        let lately = self.store.read(&key, span).await?;
        let reply = |stored: &Stored| {
            let spoken = stored.origin == Origin::Reply && stored.role == Role::Assistant;
            Some((spoken_words(&stored.message()), stored.position().filter(|_| spoken)?))
        };
        Ok(lately.iter().rev().filter_map(reply).collect())
    }
}

/// Whether a message is the model's own and says what a reply says.
fn is_reply(link: &Link, text: &str) -> bool {
    *link.message.role() == Role::Assistant && spoken_words(&link.message) == text
}

/// What a message says, without what it has tools do.
fn spoken_words(message: &Message) -> String {
    let words = message.parts().iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Image(_)
        | Part::File(_)
        | Part::Call { .. }
        | Part::Result { .. }
        | Part::Thinking(_)
        | Part::Other(_) => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

/// The last message at the head of a history that holds most of a text.
fn holding(text: &str, history: &[Link]) -> Option<usize> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| line.chars().count() >= TELLING_CHARS).collect();
    let all: usize = lines.iter().map(|line| line.chars().count()).sum();
    if all < EVIDENCE_CHARS {
        return None;
    }
    let holds = |link: &Link| {
        let said = link.message.to_text();
        let found: usize = lines.iter().filter(|line| said.contains(**line)).map(|line| line.chars().count()).sum();
        found >= EVIDENCE_CHARS && found * 100 >= all * EVIDENCE_PERCENT
    };
    // Something is said after a summary; a message that ends with a long quotation is just that.
    let head = &history[..history.len().saturating_sub(1).min(AT_THE_HEAD)];
    let may = |link: &Link| match link.message.role() {
        Role::Tool => false,
        // A longer reply is what came of the two after one another.
        Role::Assistant => is_reply(link, text),
        Role::User | Role::System | Role::Other(_) => true,
    };
    head.iter().rposition(|link| may(link) && holds(link))
}
