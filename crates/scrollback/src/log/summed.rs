//! Recognising a history that begins anew with a summary: agents ask their model to sum up, and go on with its words in
//! the place of all that was said. What tells is that these words were a reply in the same declared session, a moment
//! ago.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::align::{Aligned, Finding, Link};
use super::rewrite::{Change, Rewrite};
use crate::error::Result;
use crate::ids::{At, Depth, Fingerprint, Hash128, MessageId, SessionId, SessionKey};
use crate::message::{Message, Part, Role};
use crate::store::{Keys, Kind, Origin, Position, Put, Scope, Span, Store, Stored};

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
/// Where it is noted which messages asked for such summaries, and which texts tell them.
const PROMPTS: &str = "prompt/";

/// What was answered lately.
struct Reply {
    text: String,
    at: Position,
    /// The message that it answers.
    to: Option<MessageId>,
}

/// A summary that a history begins anew with.
#[derive(Clone, Debug)]
pub(super) struct Summed {
    /// The message that asked for it.
    prompt: Option<MessageId>,
    /// Where on the path the message stands that tells it.
    pub(super) begins: Depth,
    /// The links before it that hold from there on: who begins anew gives the instructions again.
    pub(super) again: Vec<usize>,
}

/// A text in which a client tells what a model said: that of its message's texts, and what all of those say.
#[derive(Clone, Debug)]
pub(super) struct Told {
    said: Fingerprint,
    text: usize,
}

impl Finding<'_> {
    /// The reply that the history begins anew with, if it does.
    pub(super) async fn summed(&mut self) -> Result<Option<(SessionId, Rewrite)>> {
        if !self.declared || self.shared {
            return Ok(None);
        }
        let first = self.base.map_or(0, |base| base.depth.0 + 1);
        let replies = self.replies().await?;
        let begins = self.base.is_none();
        let later = replies.iter().filter(|reply| reply.at.depth.0 >= first);
        let mut held = later.filter_map(|reply| Some((holding(&reply.text, &self.rest, begins)?, reply)));
        // Who sums up leaves out what was said. Where nothing is left out, the reply stands in its own place, behind
        // words that somebody changed: then those count. A single message must leave out more than what it quotes.
        let least = |index: usize| if index + 1 == self.rest.len() { 2 } else { 0 };
        let found = held.find(|(index, reply)| index + least(*index) < (reply.at.depth.0 - first) as usize);
        let rewrite = found.map(|(index, reply)| reply.summing_up(index, &self.rest));
        // A summary too short to be one beyond doubt is no word of the person's either.
        if begins || rewrite.is_some() {
            self.told = retold(&self.rest, &replies);
        }
        Ok(rewrite.map(|rewrite| (self.session, rewrite)))
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

impl Reply {
    /// How a history is rewritten that begins anew with this reply in one of its links.
    fn summing_up(&self, index: usize, history: &[Link]) -> Rewrite {
        // The message with the summary may say more than that: then it is shown like all that follows. If it is the
        // reply, that stands there.
        let is_itself = is_reply(&history[index], &self.text);
        let (again, left): (Vec<usize>, Vec<usize>) =
            (0..index).partition(|index| history[*index].message.role().instructs());
        let begins = if is_itself { self.at.depth } else { self.at.depth.plus(1 + again.len()) };
        Rewrite {
            change: Change::Compacted,
            count: index + usize::from(is_itself),
            at: self.at,
            replaced: left.into_iter().map(|index| (index, None)).collect(),
            summed: Some(Summed { prompt: self.to, begins, again }),
        }
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
    let lines = telling(text);
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

/// The lines of a reply that nobody says by chance.
fn telling(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| line.chars().count() >= TELLING_CHARS).collect()
}

/// The texts at the head of a history in which its client tells all of a reply, or what must be its summary.
fn retold(history: &[Link], replies: &[Reply]) -> Vec<Told> {
    let replies: Vec<Vec<&str>> =
        replies.iter().map(|reply| telling(&reply.text)).filter(|lines| !lines.is_empty()).collect();
    let is_told = |text: &str| {
        let mut replies = replies.iter();
        replies.any(|lines| lines.iter().all(|line| text.contains(line)) || tells(text, lines))
    };
    let theirs = history.iter().take(AT_THE_HEAD).filter(|link| *link.message.role() == Role::User);
    let told = theirs.flat_map(|link| {
        let texts = texts(&link.message);
        let told: Vec<usize> = (0..texts.len()).filter(|text| is_told(texts[*text])).collect();
        told.into_iter().map(|text| Told { said: link.message.strong(), text })
    });
    told.collect()
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

/// What is on record of what clients say to have their past summed up, and to go on from there.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Noted {
    /// The message that asked for a summary, which its client has gone on with.
    Asked(MessageId),
    /// A text that tells a reply, as one of those of a message that says all of this.
    Told { said: Hash128, text: usize },
}

/// The notes on what of a request is its client's own.
pub(super) fn noted(session: &SessionKey, aligned: &Aligned, at: At) -> Vec<Put> {
    let note = |key: String, noted: Noted| Put::new(session, Kind::Note, format!("{PROMPTS}{key}"), at, &noted);
    let asked = aligned.summed.as_ref().and_then(|summed| summed.prompt);
    let asked = asked.map(|prompt| note(format!("{:010}", prompt.0), Noted::Asked(prompt)));
    let told = aligned
        .told
        .iter()
        .map(|Told { said, text }| note(format!("told/{}/{text}", said.0), Noted::Told { said: said.0, text: *text }));
    asked.into_iter().chain(told).collect()
}

/// What the clients of a session said to have its past summed up, and to go on from there: no words of the person's.
#[derive(Default)]
pub(crate) struct Sums {
    asked: HashSet<MessageId>,
    told: HashSet<(Hash128, usize)>,
}

impl Sums {
    /// Those of a session.
    pub(crate) async fn of(store: &dyn Store, session: &SessionKey) -> Result<Self> {
        let (scope, keys) = (Scope::Session(session.clone()), Keys::Under(PROMPTS.to_owned()));
        let mut sums = Self::default();
        for record in store.records(&scope, Kind::Note, keys).await? {
            match record.read()? {
                Noted::Asked(prompt) => drop(sums.asked.insert(prompt)),
                Noted::Told { said, text } => drop(sums.told.insert((said, text))),
            }
        }
        Ok(sums)
    }

    /// Whether a message asked for a summary.
    pub(crate) fn asked(&self, id: MessageId) -> bool {
        self.asked.contains(&id)
    }

    /// The texts of a message that are its speaker's own. What a client asks for a summary is the last of them; what a
    /// person said just before may stand in the same message, and so may what they say to a summary.
    pub(crate) fn own_texts(&self, stored: &Stored) -> Vec<String> {
        let message = stored.message();
        let (said, texts) = (message.strong().0, texts(&message));
        let own = texts.len() - usize::from(self.asked(stored.id) && !texts.is_empty());
        let of = |(text, words): (usize, &&str)| (!self.told.contains(&(said, text))).then(|| (*words).to_owned());
        texts.iter().enumerate().take(own).filter_map(of).collect()
    }
}
