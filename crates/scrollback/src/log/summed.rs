//! Recognising a history that begins anew with a summary: agents ask their model to sum up, and go on with its words in
//! the place of all that was said. What tells is that these words were a reply in the same declared session, a moment
//! ago.

use std::collections::HashSet;

use super::align::{Finding, Link};
use super::rewrite::{Change, Rewrite};
use crate::error::Result;
use crate::ids::{At, MessageId, SessionId, SessionKey};
use crate::message::{Message, Part, Role};
use crate::store::{Keys, Kind, Origin, Position, Put, Record, Scope, Span, Store, Stored};

/// The summary is among so many messages that came last.
const RECENT: u32 = 32;
/// It stands among so many messages at the head of the new history.
const AT_THE_HEAD: usize = 64;
/// Shorter lines are said by chance.
const TELLING_CHARS: usize = 24;
/// So many characters of a reply must stand in a message, and so much of it, in hundredths.
const EVIDENCE_CHARS: usize = 200;
const EVIDENCE_PERCENT: usize = 60;
/// Or so much of the reply's end alone, if that is a third of it at least: what a model thinks before it sums up is left
/// behind.
const EVIDENCE_PART: usize = 3;
/// Where it is noted which messages asked for such summaries.
const PROMPTS: &str = "prompt/";

/// What was answered lately.
struct Reply {
    text: String,
    at: Position,
    /// The message it answers.
    to: Option<MessageId>,
}

impl Finding<'_> {
    /// The reply that the history begins anew with, if it does.
    pub(super) async fn summed(&self) -> Result<Option<(SessionId, Rewrite)>> {
        if !self.declared || self.shared {
            return Ok(None);
        }
        let first = self.base.map_or(0, |base| base.depth.0 + 1);
        let replies = self.replies().await?;
        let later = replies.iter().filter(|reply| reply.at.depth.0 >= first);
        let begins = self.base.is_none();
        let mut held = later.filter_map(|reply| Some((holding(&reply.text, &self.rest, begins)?, reply)));
        // Who sums up leaves out what was said. Where nothing is left out, the reply stands in its own place, behind
        // words that somebody changed: then those count. A single message must leave out more than what it quotes.
        let least = |index: usize| if index + 1 == self.rest.len() { 2 } else { 0 };
        let found = held.find(|(index, reply)| index + least(*index) < (reply.at.depth.0 - first) as usize);
        Ok(found.map(|(index, Reply { text, at, to })| {
            // The message with the summary may say more than that: then it is shown like all that follows. If it is the
            // reply, that stands there.
            let count = index + usize::from(is_reply(&self.rest[index], text));
            let replaced = (0..index).map(|index| (index, None)).collect();
            (self.session, Rewrite { change: Change::Compacted, count, at: *at, replaced, prompt: *to })
        }))
    }

    /// What was answered lately in the session, the newest first.
    async fn replies(&self) -> Result<Vec<Reply>> {
        let key = self.key();
        let Some(last) = self.store.read(&key, Span::Last).await?.pop() else { return Ok(Vec::new()) };
        let span = Span::Arrival { from: MessageId(last.id.0.saturating_sub(RECENT)), limit: 2 * RECENT as usize };
        let lately = self.store.read(&key, span).await?;
        let reply = |stored: &Stored| {
            let spoken = stored.origin == Origin::Reply && stored.role == Role::Assistant;
            let at = stored.position().filter(|_| spoken)?;
            Some(Reply { text: spoken_words(&stored.message()), at, to: stored.parent })
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
    texts(message).join("\n")
}

/// The same piece by piece.
fn texts(message: &Message) -> Vec<&str> {
    let words = message.parts().iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Image(_)
        | Part::File(_)
        | Part::Call { .. }
        | Part::Result { .. }
        | Part::Thinking(_)
        | Part::Other(_) => None,
    });
    words.collect()
}

/// The last message at the head of a history that holds most of a text. Only of a history that begins anew it may be the
/// last of all.
fn holding(text: &str, history: &[Link], begins: bool) -> Option<usize> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| line.chars().count() >= TELLING_CHARS).collect();
    if lines.iter().map(|line| line.chars().count()).sum::<usize>() < EVIDENCE_CHARS {
        return None;
    }
    // Something is said after a summary; a message that ends with a long quotation is just that.
    let (last, before) = history.split_last()?;
    let head = &before[..before.len().min(AT_THE_HEAD)];
    let may = |link: &Link| match link.message.role() {
        Role::Tool => false,
        // A longer reply is what came of the two after one another.
        Role::Assistant => is_reply(link, text),
        Role::User | Role::System | Role::Other(_) => true,
    };
    let found = head.iter().rposition(|link| may(link) && tells(&link.message.to_text(), &lines));
    // Some clients say all that follows in the same message.
    let is_last = || begins && head.len() == before.len() && goes_on(last, &lines);
    found.or_else(|| is_last().then_some(before.len()))
}

/// Whether a text tells these lines of a reply: most of all, or of a good part that ends with the last that it tells.
fn tells(said: &str, lines: &[&str]) -> bool {
    let all: usize = lines.iter().map(|line| line.chars().count()).sum();
    let (mut found, mut of) = (0, 0);
    lines.iter().rev().any(|line| {
        let (chars, is_told) = (line.chars().count(), said.contains(*line));
        found += if is_told { chars } else { 0 };
        of += if found > 0 { chars } else { 0 };
        found >= EVIDENCE_CHARS && found * 100 >= of * EVIDENCE_PERCENT && of * EVIDENCE_PART >= all
    })
}

/// Whether a person's message tells these lines in a piece that says little else, and says more in a later one.
fn goes_on(link: &Link, lines: &[&str]) -> bool {
    let pieces: Vec<&str> = texts(&link.message).into_iter().filter(|text| !text.trim().is_empty()).collect();
    let earlier = pieces.split_last().map_or(&[][..], |(_, earlier)| earlier);
    let told =
        |text: &str| lines.iter().filter(|line| text.contains(**line)).map(|line| line.chars().count()).sum::<usize>();
    let is_it = |text: &&str| tells(text, lines) && told(text) * 2 >= text.chars().count();
    *link.message.role() == Role::User && earlier.iter().any(is_it)
}

/// The note that a message asked for a summary which its client has gone on with: it is the client's own.
pub(super) fn noted(session: &SessionKey, prompt: MessageId, at: At) -> Put {
    Put::new(session, Kind::Note, format!("{PROMPTS}{:010}", prompt.0), at, &prompt)
}

/// The messages of a session that asked for such summaries.
pub(crate) async fn prompts(store: &dyn Store, session: &SessionKey) -> Result<HashSet<MessageId>> {
    let (scope, keys) = (Scope::Session(session.clone()), Keys::Under(PROMPTS.to_owned()));
    store.records(&scope, Kind::Note, keys).await?.iter().map(Record::read).collect()
}
