//! Quotes in the engine: whether a turn calls for the past, and which of its messages have to do with it.
//!
//! The index names messages that hold the question's words, those around the best are read too, and `search::gather`
//! ranks them. How many are read does not depend on how long the conversation is.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use futures_util::future::join;

use super::Engine;
use super::lanes::Lane;
use super::topics::{Deep, asked, leans};
use crate::asking;
use crate::error::Result;
use crate::ids::{Depth, MessageId, SessionKey};
use crate::message::{Message, Part, Role};
use crate::search::gather::{self, Known, Lead, Near, Question, Said, Voice};
use crate::search::{Need, Probe, Reach, Term, folded, is_unspaced};
use crate::store::{Lineage, Position, Span, Stored};
use crate::strategy::{Leaf, QuoteNeed, StrategyName, turns};
use crate::window::Budget;

/// How many of a question's terms are looked up.
const TERMS: usize = 40;
/// Tokens that a heading costs.
const HEADING: u32 = 6;

/// What a turn asks of the past.
#[derive(Clone, Debug)]
pub(super) struct Call {
    question: Question,
    /// The question word for word.
    text: String,
    known: Known,
    /// Whether the person says that something was forgotten, or asks for the past.
    deep: bool,
    /// Whether the turn asks and tells little itself.
    leans: bool,
    /// Whether it goes on from what was just said.
    goes_on: bool,
}

/// Which messages a call may be answered from.
pub(super) struct Past<'a> {
    pub(super) lineage: &'a Lineage,
    /// Those before this depth.
    pub(super) open: Depth,
    /// Whether archived topics count, or there are no topics.
    pub(super) archived: bool,
}

impl Engine {
    /// Whether the windows of a lane quote what words alone find.
    pub(super) fn quotes(&self, lane: &Lane) -> bool {
        match lane.strategy {
            StrategyName::Topics => !self.tasks.has_helper(),
            StrategyName::Pages | StrategyName::Summary | StrategyName::Artifacts => {
                self.settings.strategies.quotes.always
            }
            StrategyName::Truncate | StrategyName::Passthrough => false,
        }
    }

    /// What the turn of a lane asks of the past; `None` if it has no words, or its windows quote nothing.
    pub(super) async fn call(&self, session: &SessionKey, lane: &Lane) -> Result<Option<Call>> {
        if !self.quotes(lane) {
            return Ok(None);
        }
        let text = asked(lane);
        let question = Question::read(&text).narrowed(TERMS);
        let terms: Vec<Term> = question.terms().iter().map(|term| Term::stem(term)).collect();
        if terms.is_empty() {
            return Ok(None);
        }
        // What is said in this turn, and elsewhere since, makes no word a common one.
        let Some(last) = before_turn(lane) else { return Ok(None) };
        let reach = Reach::Upto(session.id, last);
        let counted = self.store().matching(&session.tenant, Probe::new(terms, Need::Any, reach, 0)).await?;
        let known = Known { frequencies: counted.frequencies, total: counted.total };
        let Deep { forgotten, past } = self.deep(lane);
        let goes_on = asking::goes_on(&text);
        Ok(Some(Call { question, text, known, deep: forgotten || past, leans: leans(lane), goes_on }))
    }

    /// How much a call asks for, if the messages of its lane are open from a depth on.
    pub(super) fn need(&self, call: &Call, lane: &Lane, open: Depth, budget: Budget) -> QuoteNeed {
        let settings = &self.settings.strategies.quotes;
        let lacks = || missing(&call.question, &call.known, lane, open);
        // What is asked in words that nobody used may have been said in others.
        let is_new = self.meaning.is_some() && call.asks() && call.known.frequencies.iter().all(|count| *count == 0);
        let enough = if call.goes_on { settings.missing } else { settings.enough(budget) };
        if call.deep || is_new || call.leans && lacks() >= enough {
            QuoteNeed::All
        } else if !call.leans && lacks() >= settings.missing {
            QuoteNeed::Some
        } else {
            QuoteNeed::Little
        }
    }

    /// The messages before a depth that have to do with a call, the worthiest first, of about so many tokens at most.
    pub(super) async fn gathered(
        &self,
        session: &SessionKey,
        lane: &Lane,
        (call, past): (&Call, &Past<'_>),
        most_tokens: u32,
    ) -> Result<Vec<Arc<Leaf>>> {
        let Some(last) = past.open.0.checked_sub(1).map(Depth) else { return Ok(Vec::new()) };
        let path = Lineage(past.lineage.0.iter().map(|(branch, depth)| (*branch, last.min(*depth))).collect());
        let (found, similar) =
            join(self.holding(session, call, path.clone()), self.similar(session, &path, &call.text)).await;
        let (mut found, near) = (found?, similar.map(Near::new));
        found.extend(self.nearest(session, lane, (near.as_ref(), &found), last).await?);
        let mut leads: Vec<Lead> = found.iter().filter_map(|stored| call.lead(stored, near.as_ref())).collect();
        let beside = gather::beside(&call.question, &call.known, &leads);
        let around = self.at_places(session, lane.head, &beside, last).await?;
        leads.extend(around.iter().filter_map(|stored| call.lead(stored, near.as_ref())));
        found.extend(around);
        let mut by_place: HashMap<u64, Stored> =
            found.into_iter().filter_map(|stored| Some((place_of(&stored)?, stored))).collect();
        by_place.retain(|_, stored| !lane.excluded().contains(&stored.id));
        let (mut room, mut chosen) = (most_tokens.saturating_mul(2), Vec::new());
        for (place, _) in gather::ranked(&call.question, &call.known, leads) {
            let Some(stored) = by_place.remove(&place) else { continue };
            // What is too large to be quoted at all takes nobody's place.
            let tokens = stored.measure.without_attachments(&stored.message());
            if tokens > most_tokens {
                continue;
            }
            if !past.archived && self.is_archived(session, past.lineage, &stored).await? {
                continue;
            }
            let Some(rest) = room.checked_sub(tokens) else { break };
            room = rest;
            chosen.push(Arc::new(stored));
        }
        let leaves = Leaf::all(chosen, &self.settings.strategies.holds);
        self.settle_all(session, &leaves).await?;
        Ok(leaves)
    }

    /// The messages whose words weigh most, of people and of models: replies are long and would take every place.
    async fn holding(&self, session: &SessionKey, call: &Call, path: Lineage) -> Result<Vec<Stored>> {
        let weights = call.known.weights(&call.question);
        let looked_up = call.question.terms().iter().zip(weights).zip(&call.known.frequencies);
        let looked_up = looked_up.filter(|(_, count)| **count > 0).map(|(term, _)| term);
        let (terms, weights): (Vec<Term>, Vec<f64>) =
            looked_up.map(|(term, weight)| (Term::stem(term), weight)).unzip();
        let roles = [(Role::User, gather::PEOPLE), (Role::Assistant, gather::MODELS)];
        let roles = roles.map(|(role, most)| (role.as_str().to_owned(), most)).to_vec();
        let reach = Reach::Path(session.id, path);
        let probe = Probe { weights: Some(weights), roles, ..Probe::new(terms, Need::Any, reach, usize::MAX) };
        let matches = self.store().matching(&session.tenant, probe).await?;
        Ok(matches.messages.into_iter().map(|(_, stored)| stored).collect())
    }

    /// The messages whose meaning is nearest, as far as they were not found by their words.
    async fn nearest(
        &self,
        session: &SessionKey,
        lane: &Lane,
        (near, found): (Option<&Near>, &[Stored]),
        last: Depth,
    ) -> Result<Vec<Stored>> {
        let Some(near) = near else { return Ok(Vec::new()) };
        let known: HashSet<u64> = found.iter().filter_map(place_of).collect();
        let places: Vec<u64> = near.nearest().into_iter().filter(|place| !known.contains(place)).collect();
        self.at_places(session, lane.head, &places, last).await
    }

    /// The messages at some places of a path, up to a depth, in their order.
    pub(super) async fn at_places(
        &self,
        session: &SessionKey,
        head: Position,
        places: &[u64],
        last: Depth,
    ) -> Result<Vec<Stored>> {
        let depths = places.iter().filter_map(|place| u32::try_from(*place).ok()).map(Depth);
        let depths: BTreeSet<Depth> = depths.filter(|depth| *depth <= last).collect();
        if depths.is_empty() {
            return Ok(Vec::new());
        }
        self.store().read(session, Span::Depths { head, depths }).await
    }
}

impl Call {
    /// Whether it is a question by its form.
    fn asks(&self) -> bool {
        self.text.trim_end().ends_with(['?', '？'])
    }

    /// A message as far as the question is concerned; `None` for instructions, calls and results of tools.
    fn lead(&self, stored: &Stored, near: Option<&Near>) -> Option<Lead> {
        let message = stored.message();
        let (place, text) = (place_of(stored)?, spoken(&message)?);
        let voice = voice_of(&message);
        let tokens = stored.measure.tokens + HEADING;
        let said = Said { place, at: Some(stored.at), voice, name: message.name(), text: &text, tokens };
        Some(Lead::read(&self.question, said).with_near(near.map_or(0.0, |near| near.at(place))))
    }
}

/// What a message says; `None` for instructions, calls and results of tools.
pub(super) fn spoken(message: &Message) -> Option<String> {
    let speaks = |part: &Part| matches!(part, Part::Text(_) | Part::Thinking(_) | Part::Image(_) | Part::File(_));
    let is_talk = matches!(message.role(), Role::User | Role::Assistant) && message.parts().iter().all(speaks);
    is_talk.then(|| message.to_text())
}

/// Who said a message: whoever has a name is a person.
pub(super) fn voice_of(message: &Message) -> Voice {
    let is_person = *message.role() == Role::User || message.name().is_some();
    if is_person { Voice::Person } else { Voice::Model }
}

fn place_of(stored: &Stored) -> Option<u64> {
    stored.position().map(|at| u64::from(at.depth.0))
}

/// How much of a question the open messages before it do not speak of, by the weight of its terms that the past knows.
fn missing(question: &Question, known: &Known, lane: &Lane, open: Depth) -> f64 {
    let is_open = |stored: &Stored| stored.position().is_some_and(|at| at.depth >= open);
    let shown = |leaf: &&Arc<Leaf>| is_open(&leaf.stored) && !lane.excluded().contains(&leaf.stored.id);
    let before = lane.open[..turns::last(&lane.open)].iter().filter(shown);
    let open: Vec<String> = before.map(|leaf| folded(&told(&leaf.stored.message().to_text()))).collect();
    let weights = known.weights(question);
    let told = question.terms().iter().zip(&weights).zip(&known.frequencies).filter(|(_, count)| **count > 0);
    let (mut all, mut absent) = (0.0, 0.0);
    for ((term, weight), _) in told {
        all += weight;
        if !open.iter().any(|text| mentions(text, term)) {
            absent += weight;
        }
    }
    if all > 0.0 { absent / all } else { 0.0 }
}

/// The last message before the turn of a lane.
fn before_turn(lane: &Lane) -> Option<MessageId> {
    let open = lane.open[..turns::last(&lane.open)].last().map(|leaf| leaf.stored.id);
    open.or_else(|| lane.folded.fold.covers.map(|covers| covers.last))
}

/// A text without the sentences that ask: whoever asks for something does not have it.
fn told(text: &str) -> String {
    let sentences = text.split_inclusive(['.', '!', '?', '。', '！', '？', '\n']);
    sentences.filter(|sentence| !sentence.ends_with(['?', '？'])).collect()
}

/// Whether a folded text has a word that begins with a stem.
fn mentions(text: &str, stem: &str) -> bool {
    let begins = |at: usize| !text[..at].ends_with(char::is_alphanumeric);
    text.match_indices(stem).any(|(at, _)| stem.starts_with(is_unspaced) || begins(at))
}
