//! What a person decides: pins and exclusions, rules that hold, the strategy of a session, folds taken back and taken
//! up again, notes in the person's own words.
//!
//! A session's controls are one record, read at every turn, so that what a person decides in another process counts at
//! once.

mod edit;
mod kept;
pub(super) mod rules;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;

pub use edit::{Folding, NoteName};
pub(super) use kept::{KeptRecord, LESS_KEPT};
pub use rules::Stated;

use super::Engine;
use super::folds::Folds;
use super::lanes::Lane;
use crate::control::{Change, Controls};
use crate::error::{Error, Result};
use crate::ids::{At, Depth, MessageId, SessionKey};
use crate::note::Fold;
use crate::rule;
use crate::store::{Batch, Expect, Kind, Place, Position, Put, Scope, Span, Store, Stored};
use crate::strategy::Leaf;

const KEY: &str = "controls";
/// How often a change is tried again when somebody else changed something meanwhile.
const TRIES: usize = 8;
/// How far around a message its calls and results are looked for.
const AROUND: u32 = 64;

/// A session's controls and how often they were changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Controlled {
    pub(crate) controls: Arc<Controls>,
    pub(crate) version: u64,
}

/// What a person decided about a session, as it is on record.
pub(crate) async fn controlled(store: &dyn Store, session: &SessionKey) -> Result<Controlled> {
    let record = store.record(Scope::Session(session.clone()), Kind::Setting, KEY.to_owned()).await?;
    let Some(record) = record else { return Ok(Controlled::default()) };
    let damaged = |cause| Error::Damaged(format!("the controls of a session are unreadable: {cause}"));
    let controls = serde_json::from_str(record.body.get()).map_err(damaged)?;
    Ok(Controlled { controls: Arc::new(controls), version: record.version })
}

/// What is to be put on record of what a person decided.
pub(crate) fn put(session: &SessionKey, controls: &Controls, at: At) -> Put {
    Put::new(session, Kind::Setting, KEY.to_owned(), at, controls)
}

impl Engine {
    /// What a person decided about a session.
    pub fn controls<'a>(&'a self, session: &'a SessionKey) -> BoxFuture<'a, Result<Controls>> {
        Box::pin(async move { self.controlled(session).await.map(|controlled| Controls::clone(&controlled.controls)) })
    }

    pub(super) async fn controlled(&self, session: &SessionKey) -> Result<Controlled> {
        controlled(self.store(), session).await
    }

    /// Makes a change; it counts from the next window on. Returns what counts now.
    pub fn change<'a>(
        &'a self,
        session: &'a SessionKey,
        change: &'a Change,
        at: At,
    ) -> BoxFuture<'a, Result<Controls>> {
        Box::pin(async move {
            let unit = self.unit(session, change).await?;
            for _ in 0..TRIES {
                let Controlled { controls, version } = self.controlled(session).await?;
                let mut controls = Arc::unwrap_or_clone(controls);
                apply(&mut controls, change, &unit);
                let expect = if version == 0 { Expect::Absent } else { Expect::Version(version) };
                let put = put(session, &controls, at).expecting(expect);
                match self.store().commit(Batch::of_records(session.clone(), vec![put])).await {
                    Ok(_) => {
                        self.lanes.forget(Some(session.id));
                        return Ok(controls);
                    }
                    Err(Error::Conflict(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            Err(Error::Conflict("the controls of this session change too often; try again".into()))
        })
    }

    /// The messages that a change is about. A call is never parted from its results.
    async fn unit(&self, session: &SessionKey, change: &Change) -> Result<BTreeSet<MessageId>> {
        match change {
            Change::Pin(id) | Change::Unpin(id) => {
                self.said(session, *id).await?;
                Ok(BTreeSet::from([*id]))
            }
            Change::Exclude(id) | Change::Include(id) => {
                let (stored, position) = self.said(session, *id).await?;
                self.with_results(session, &stored, position).await
            }
            Change::DropRule(name) | Change::RestoreRule(name) => {
                self.stated(session, name).await?;
                Ok(BTreeSet::new())
            }
            Change::Strategy(_) => Ok(BTreeSet::new()),
        }
    }

    /// Sees to it that there is a rule of this name.
    async fn stated(&self, session: &SessionKey, name: &str) -> Result<()> {
        let unreadable = || Error::Invalid(format!("“{name}” is no rule: they are written r12.1"));
        let numbers = name.strip_prefix('r').and_then(|numbers| numbers.split_once('.')).ok_or_else(unreadable)?;
        let message = numbers.0.parse().map_err(|_| unreadable())?;
        let (stored, _) = self.said(session, MessageId(message)).await?;
        let unknown = || Error::NotFound(format!("{} states no rule {name}", stored.id));
        rule::rules(&stored).iter().any(|rule| rule.name() == name).then_some(()).ok_or_else(unknown)
    }

    /// A message of a path.
    async fn said(&self, session: &SessionKey, id: MessageId) -> Result<(Stored, Position)> {
        let stored = self.store().read(session, Span::Ids(vec![id])).await?.pop();
        let stored = stored.ok_or_else(|| Error::NotFound(format!("this session has no message {id}")))?;
        match stored.place {
            Place::Path(position) => Ok((stored, position)),
            Place::Beside(_) => Err(Error::Invalid(format!("{id} is no part of the talk itself"))),
        }
    }

    /// A message with the calls and results it belongs to.
    async fn with_results(&self, session: &SessionKey, stored: &Stored, at: Position) -> Result<BTreeSet<MessageId>> {
        let from = Depth(at.depth.0.saturating_sub(AROUND));
        let before = self.store().read(session, Span::path(at, from)).await?;
        let after = self.below(session, at).await?;
        let all = before.into_iter().chain(after).map(Arc::new);
        let leaves = Leaf::all(all, &self.settings.strategies.holds);
        let place = leaves.iter().position(|leaf| leaf.stored.id == stored.id).unwrap_or(0);
        let first = (0..=place).rev().find(|i| !leaves[*i].answers).unwrap_or(place);
        let unit = leaves[first..].iter().enumerate().take_while(|(i, leaf)| *i == 0 || leaf.answers);
        let ids: BTreeSet<MessageId> = unit.map(|(_, leaf)| leaf.stored.id).collect();
        Ok(if ids.contains(&stored.id) { ids } else { BTreeSet::from([stored.id]) })
    }

    /// What follows a message on its own branch.
    async fn below(&self, session: &SessionKey, at: Position) -> Result<Vec<Stored>> {
        let next = Span::Arrival { from: MessageId(at.id.0 + 1), limit: AROUND as usize };
        let follows = |stored: &Stored| stored.position().is_some_and(|position| position.branch == at.branch);
        Ok(self.store().read(session, next).await?.into_iter().filter(follows).collect())
    }

    /// Goes back to the fold before the one that counts for a path; the next fold waits until it must be.
    pub fn undo<'a>(
        &'a self,
        session: &'a SessionKey,
        head: Position,
        layout: &'a str,
        at: At,
    ) -> BoxFuture<'a, Result<Fold>> {
        Box::pin(async move {
            let folds = Folds { store: self.store(), session, layout };
            let folded = folds.undo(head, at).await;
            // Also if it failed: a database whose answer was lost may have written it.
            self.lanes.forget(Some(session.id));
            Ok(Fold::clone(&folded?.fold))
        })
    }

    /// Takes up again what was undone last.
    pub fn redo<'a>(
        &'a self,
        session: &'a SessionKey,
        head: Position,
        layout: &'a str,
        at: At,
    ) -> BoxFuture<'a, Result<Fold>> {
        Box::pin(async move {
            let folds = Folds { store: self.store(), session, layout };
            let folded = folds.redo(head, at).await;
            // Also if it failed: a database whose answer was lost may have written it.
            self.lanes.forget(Some(session.id));
            Ok(Fold::clone(&folded?.fold))
        })
    }
}

impl Lane {
    /// What the lane's person wants left out.
    pub(super) fn excluded(&self) -> &BTreeSet<MessageId> {
        &self.controlled.controls.excluded
    }

    /// Open messages that are not left out.
    pub(super) fn wanted(&self, leaves: &[Arc<Leaf>]) -> Vec<Stored> {
        let wanted = leaves.iter().filter(|leaf| !self.excluded().contains(&leaf.stored.id));
        wanted.map(|leaf| Stored::clone(&leaf.stored)).collect()
    }
}

fn apply(controls: &mut Controls, change: &Change, unit: &BTreeSet<MessageId>) {
    match change {
        Change::Pin(_) => controls.pinned.extend(unit),
        Change::Unpin(_) => controls.pinned.retain(|id| !unit.contains(id)),
        Change::Exclude(_) => controls.excluded.extend(unit),
        Change::Include(_) => controls.excluded.retain(|id| !unit.contains(id)),
        Change::DropRule(name) => drop(controls.dropped_rules.insert(name.clone())),
        Change::RestoreRule(name) => drop(controls.dropped_rules.remove(name)),
        Change::Strategy(strategy) => controls.strategy = *strategy,
    }
}
