//! Finding messages by their words, in every language.
//!
//! Stores keep an index from terms to messages and answer a [`Probe`] with candidates; ranking them is the same code
//! for every store. `words` makes terms, `rank` orders candidates, `relate` tells what has to do with a text, `gather`
//! what should stand beside a question, `snippet` shows where the words are.

mod begun;
pub mod gather;
mod rank;
mod relate;
mod snippet;
mod stem;
mod words;

pub use begun::begun_with;
pub(crate) use rank::query_terms;
pub use rank::{Found, Query, find};
pub use relate::{Related, related};
pub use snippet::Snippet;
pub use words::{each_term, folded, is_chinese, is_unspaced, terms};
pub(crate) use words::{is_grammar, is_term_char};

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;

use crate::ids::{At, MessageId, SessionId};
use crate::message::Message;
use crate::store::{Lineage, Stored};

/// So many of its messages a session begins with.
const BEGINNING: u32 = 64;

/// A term to look up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// The term, folded.
    pub text: String,
    /// Whether longer terms that begin with it count too.
    pub prefix: bool,
    /// Terms that count as it: other forms of the word.
    pub forms: Vec<String>,
}

impl Term {
    /// Exactly this term.
    pub fn exact(text: impl Into<String>) -> Self {
        Self { text: text.into(), prefix: false, forms: Vec::new() }
    }

    /// Every form of a word that has this stem.
    pub fn stem(stem: &str) -> Self {
        Self { forms: stem::forms(stem), ..Self::exact(stem) }
    }

    fn accepts(&self, term: &str) -> bool {
        if self.prefix { term.starts_with(&self.text) } else { term == self.text }
    }

    /// How it and all its forms begin, so that one look at terms in order is enough.
    fn beginning(&self) -> &str {
        let common = self.forms.iter().fold(self.text.len(), |least, form| least.min(shared(&self.text, form)));
        &self.text[..common]
    }

    /// What some terms lead to that count as it.
    pub(crate) fn among<'t, T>(&self, terms: &'t BTreeMap<String, T>) -> impl Iterator<Item = &'t T> {
        let beginning = self.beginning();
        let from = terms.range::<str, _>((Bound::Included(beginning), Bound::Unbounded));
        let near = from.take_while(move |(term, _)| term.starts_with(beginning));
        near.filter(|(term, _)| self.accepts(term) || self.forms.contains(term)).map(|(_, led)| led)
    }

    /// Whether it, which begins so, occurs among terms in order.
    fn is_among(&self, beginning: &str, terms: &[String]) -> bool {
        let from = terms.partition_point(|term| term.as_str() < beginning);
        let near = terms[from..].iter().take_while(|term| term.starts_with(beginning));
        near.into_iter().any(|term| self.accepts(term) || self.forms.contains(term))
    }
}

/// How many bytes two words have in common at their beginning.
fn shared(one: &str, other: &str) -> usize {
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b);
    same.map(|(c, _)| c.len_utf8()).sum()
}

/// How many of a probe's terms a message must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Every one.
    All,
    /// At least one.
    Any,
}

/// A question to a store's index.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The terms.
    pub terms: Vec<Term>,
    /// How many of them.
    pub need: Need,
    /// Where to look.
    pub reach: Reach,
    /// Only what these roles said, at most so many messages of each, those of one after those of the other.
    pub roles: Vec<(String, usize)>,
    /// Only what such a speaker said, as [`Stored::is_said_by`] tells.
    pub speaker: Option<String>,
    /// Only what was said at this time or later.
    pub since: Option<At>,
    /// Only what was said before this time.
    pub until: Option<At>,
    /// At most so many messages.
    pub limit: usize,
    /// What each term weighs. With weights, the messages whose terms weigh most are taken; without, the newest.
    pub weights: Option<Vec<f64>>,
}

/// Where a probe looks.
#[derive(Clone, Debug)]
pub enum Reach {
    /// In every session of the tenant.
    Everywhere,
    /// In the first messages of every session of the tenant.
    Beginnings,
    /// In sessions whose client never named them.
    Undeclared,
    /// In one session.
    Session(SessionId),
    /// In one session, among what was said up to a message.
    Upto(SessionId, MessageId),
    /// On one path of a session: what a conversation itself may see.
    Path(SessionId, Lineage),
}

impl Reach {
    /// The last message of a session that is within reach.
    pub(crate) fn last(&self) -> MessageId {
        match self {
            Self::Upto(_, last) => *last,
            Self::Beginnings => MessageId(BEGINNING - 1),
            Self::Everywhere | Self::Undeclared | Self::Session(_) | Self::Path(..) => MessageId(u32::MAX),
        }
    }
}

impl Probe {
    /// A probe without filters.
    pub fn new(terms: Vec<Term>, need: Need, reach: Reach, limit: usize) -> Self {
        let (roles, speaker, since, until, weights) = (Vec::new(), None, None, None, None);
        Self { terms, need, reach, roles, speaker, since, until, limit, weights }
    }

    /// A probe for each role it asks for, or itself.
    pub(crate) fn by_role(&self) -> Vec<Self> {
        let of_role = |(role, most): &(String, usize)| {
            let limit = self.limit.min(*most);
            Self { roles: vec![(role.clone(), limit)], limit, ..self.clone() }
        };
        if self.roles.is_empty() { vec![self.clone()] } else { self.roles.iter().map(of_role).collect() }
    }

    /// Whether it asks for what a role said, or for what a speaker may have said in that role.
    pub(crate) fn admits_role(&self, role: &str) -> bool {
        let by_speaker = self.speaker.as_deref().is_none_or(|speaker| roles_of(speaker).contains(&role));
        by_speaker && (self.roles.is_empty() || self.roles.iter().any(|(wanted, _)| wanted == role))
    }

    /// Whether a message is by the speaker it asks for, if it asks for one.
    pub(crate) fn hears(&self, message: &Stored) -> bool {
        self.speaker.as_deref().is_none_or(|speaker| message.is_said_by(speaker))
    }

    /// Keeps the rarest terms, as many as can be looked at together: what is said everywhere would crowd out what
    /// tells.
    pub(crate) fn keep_rare(&mut self, frequencies: &[u32], most: usize) {
        let mut terms: Vec<(u32, Term)> = frequencies.iter().copied().zip(std::mem::take(&mut self.terms)).collect();
        terms.sort_by_key(|(frequency, _)| *frequency);
        let mut room = most;
        let fitting = terms.into_iter().take_while(|(frequency, _)| {
            let fits = room.checked_sub(*frequency as usize);
            room = fits.unwrap_or(0);
            fits.is_some()
        });
        self.terms = fitting.map(|(_, term)| term).collect();
    }

    /// Whether a message passes every filter but the terms.
    pub(crate) fn admits(&self, message: &Stored) -> bool {
        self.admits_role(message.role.as_str())
            && self.hears(message)
            && self.since.is_none_or(|since| message.at >= since)
            && self.until.is_none_or(|until| message.at < until)
            && match &self.reach {
                Reach::Path(_, lineage) => lineage.holds(&message.place),
                Reach::Everywhere | Reach::Beginnings | Reach::Undeclared | Reach::Session(_) | Reach::Upto(..) => {
                    message.id <= self.reach.last()
                }
            }
    }

    /// Tells which of its terms occur among terms in order, those of one message after another.
    pub(crate) fn hits(&self) -> impl Fn(&[String]) -> Vec<bool> {
        let wanted: Vec<(&Term, &str)> = self.terms.iter().map(|term| (term, term.beginning())).collect();
        move |terms| wanted.iter().map(|(term, beginning)| term.is_among(beginning, terms)).collect()
    }

    /// What the terms weigh that were hit.
    pub(crate) fn weight(&self, hits: &[bool]) -> f64 {
        let weights = self.weights.as_deref().unwrap_or_default();
        weights.iter().zip(hits).filter(|(_, hit)| **hit).map(|(weight, _)| weight).sum()
    }

    /// Whether enough terms were hit.
    pub(crate) fn suffices(&self, hits: &[bool]) -> bool {
        match self.need {
            Need::All => hits.iter().all(|hit| *hit),
            Need::Any => hits.iter().any(|hit| *hit),
        }
    }
}

/// The roles in which a speaker may have said something.
pub(crate) fn roles_of(speaker: &str) -> Vec<&str> {
    if speaker == "tool" { vec!["tool", "user"] } else { vec![speaker] }
}

/// Anchors begin with a character nobody types, so that no word of a person is one.
pub(crate) const ANCHOR: char = '\u{E000}';

/// The terms a message is indexed under, in order: its words, the name of who speaks, and anchors that find it again in
/// a rewritten history.
pub(crate) fn index_terms(message: &Message) -> Vec<String> {
    // A long text says most of its words again and again.
    let mut seen: HashSet<String> = anchors(message).into_iter().collect();
    for piece in message.words().chain(message.name().map(Cow::from)) {
        each_term(&piece, |term| {
            if !seen.contains(term) {
                seen.insert(term.to_owned());
            }
        });
    }
    let mut all: Vec<String> = seen.into_iter().collect();
    all.sort_unstable();
    all
}

/// Terms by which a message is recognised wherever it stands: its calls, and its words as a whole.
pub(crate) fn anchors(message: &Message) -> Vec<String> {
    let calls = message.call_ids().map(|id| format!("{ANCHOR}c{}", crate::ids::Hash128::of("call", &[id.as_bytes()])));
    calls.chain([format!("{ANCHOR}w{}", message.weak().0)]).collect()
}
