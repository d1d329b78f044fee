//! What can wait until the reply is on its way: digests of held results, and of pages that will be folded soon.
//!
//! Nothing here is needed for the next turn to happen: what is not done by then is answered offline. What is lost in a crash
//! is found undone and done at the next chance, so no job has to be remembered.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Engine;
use super::lanes::Lane;
use super::turn::{Turn, turn_number};
use crate::error::Result;
use crate::ids::{At, MessageId, SessionKey};
use crate::note::{Covers, Fold, Note};
use crate::store::{Batch, Keys, Kind, Position, Put, Scope};
use crate::strategy::{self, Scene, Stretch, turns};
use crate::task::{self, Digest, PageDigest};
use crate::window::Budget;

/// Pages are digested ahead of need once the window is this full, in hundredths of the budget, or more are open than a fold
/// would keep.
const AHEAD_OVER: u32 = 30;

/// How often a page was recalled.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Count {
    recalls: u32,
    turn: u32,
}

/// What is to be tidied after a turn.
#[derive(Clone, Debug)]
pub struct Chores {
    session: SessionKey,
    head: Position,
    layout: Arc<str>,
    budget: Budget,
}

impl Turn {
    /// What is to be tidied once its reply is kept.
    pub fn chores(&self) -> Chores {
        let (session, layout) = (self.received.session.clone(), self.lane.layout.clone());
        Chores { session, head: self.head, layout, budget: self.window.budget() }
    }
}

impl Chores {
    /// The same once the reply is at `head`.
    #[must_use]
    pub fn at(self, head: Position) -> Self {
        Self { head, ..self }
    }
}

impl Engine {
    /// Does what can wait. Errors are for a log book: the next turn does not depend on it.
    pub async fn tidy(&self, chores: Chores, at: At) -> Result<()> {
        let Some(lane) = self.lanes.find(chores.session.id, chores.head, &chores.layout) else { return Ok(()) };
        let mut asked = self.digest_holds(&chores.session, &lane).await?;
        if self.sorts() {
            asked.extend(self.tidy_topics(&chores.session, &lane, (chores.budget, at)).await?);
        } else if self.tasks.has_helper() {
            asked.extend(self.digest_pages(&chores, &lane, at).await?);
        }
        let put = |(i, asked): (usize, &task::Asked)| {
            Put::new(&chores.session, Kind::Ledger, format!("{:016x}-{i:03}", at.0), at, asked)
        };
        let puts = asked.iter().enumerate().map(put);
        let batch = Batch::of_records(chores.session.clone(), puts.collect());
        if !batch.is_empty() {
            self.store().commit(batch).await?;
        }
        Ok(())
    }

    /// Digests pages that will be folded before long, all but the current one.
    async fn digest_pages(&self, chores: &Chores, lane: &Lane, at: At) -> Result<Vec<task::Asked>> {
        let tokens: u32 = lane.open.iter().map(|leaf| leaf.tokens()).sum();
        let mut asked = Vec::new();
        let settings = &self.settings.strategies.pages;
        let pages = turns::pages(&lane.open, chores.budget.share(settings.page_share));
        if tokens < chores.budget.share(AHEAD_OVER) && pages.len() <= settings.keep_pages {
            return Ok(asked);
        }
        for page in pages.iter().rev().skip(1) {
            let Some(covers) = turns::covers(&lane.open, page) else { continue };
            if self.kept_digest(&chores.session, &covers).await?.is_some() {
                break;
            }
            let messages = strategy::messages(&lane.open[page.clone()]);
            let answered = self.tasks.run(&PageDigest { messages: &messages }).await;
            asked.extend(answered.calls);
            let put = Put::new(&chores.session, Kind::Note, digest_key(&covers), at, &answered.answer);
            self.store().commit(Batch::of_records(chores.session.clone(), vec![put])).await?;
        }
        Ok(asked)
    }

    /// A note for each stretch: with the digest that was made ahead of need, or the offline one.
    pub(super) async fn digested(
        &self,
        session: &SessionKey,
        scene: &Scene<'_>,
        stretches: &[Stretch],
    ) -> Result<Vec<Note>> {
        let mut notes = Vec::with_capacity(stretches.len());
        for stretch in stretches {
            let ahead = stretch.listed && self.tasks.has_helper();
            let kept = if ahead { self.kept_digest(session, &stretch.covers).await? } else { None };
            notes.push(stretch.note(kept.unwrap_or_else(|| strategy::offline(scene, stretch))));
        }
        Ok(notes)
    }

    async fn kept_digest(&self, session: &SessionKey, covers: &Covers) -> Result<Option<Digest>> {
        let (scope, key) = (Scope::Session(session.clone()), Keys::One(digest_key(covers)));
        let record = self.store().records(&scope, Kind::Note, key).await?.pop();
        Ok(record.and_then(|record| serde_json::from_str(record.body.get()).ok()))
    }

    /// A fold whose notes know how often they were recalled.
    pub(super) async fn counted(&self, session: &SessionKey, fold: &Fold) -> Result<Fold> {
        let mut fold = fold.clone();
        if !fold.listed.is_empty() {
            let counts = self.counts(session).await?;
            for note in &mut fold.listed {
                if let Some(count) = counts.get(&note.covers.first) {
                    (note.recalls, note.recalled) = (count.recalls, Some(count.turn));
                }
            }
        }
        Ok(fold)
    }

    /// The records that count what was recalled in a turn.
    pub(super) async fn recalled(&self, turn: &Turn, at: At) -> Result<Vec<Put>> {
        if turn.pages.is_empty() {
            return Ok(Vec::new());
        }
        let (counts, now) = (self.counts(&turn.received.session).await?, turn_number(&turn.lane));
        let put = |page: &MessageId| {
            let count = Count { recalls: counts.get(page).map_or(0, |count| count.recalls) + 1, turn: now };
            Put::new(&turn.received.session, Kind::Note, recalled_key(*page), at, &count)
        };
        Ok(turn.pages.iter().map(put).collect())
    }

    async fn counts(&self, session: &SessionKey) -> Result<HashMap<MessageId, Count>> {
        let keys = Keys::After(RECALLED.to_owned(), usize::MAX >> 1);
        let records = self.store().records(&Scope::Session(session.clone()), Kind::Note, keys).await?;
        let ours = records.iter().map_while(|record| Some((record.key.strip_prefix(RECALLED)?, record)));
        let count = |(page, record): (&str, &crate::store::Record)| {
            Some((MessageId(page.parse().ok()?), serde_json::from_str(record.body.get()).ok()?))
        };
        Ok(ours.filter_map(count).collect())
    }
}

const RECALLED: &str = "recalled/";

fn recalled_key(page: MessageId) -> String {
    format!("{RECALLED}{:010}", page.0)
}

fn digest_key(covers: &Covers) -> String {
    format!("digest/{:010}-{:010}", covers.first.0, covers.last.0)
}
