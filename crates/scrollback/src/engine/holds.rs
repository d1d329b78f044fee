//! Holds in the store: what a placeholder tells is settled once, and stays so.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::Engine;
use super::lanes::Lane;
use crate::error::{Error, Result};
use crate::ids::{At, MessageId, SessionKey};
use crate::store::{Batch, Expect, Keys, Kind, Put, Record, Scope, Span, Store};
use crate::strategy::{Asked, HoldSettings, Leaf, Placeholder, Told, placeholder};
use crate::task::HoldDigest;
use crate::window::{Body, Window};

/// What the keys of holds begin with.
pub(super) const PREFIX: &str = "hold/";
/// Records are read in one go unless there are so many times more messages between the first and the last than are
/// wanted.
const SCATTERED: usize = 64;
/// So many messages are looked through in one go.
const LOOKED_THROUGH: usize = 500;

/// A tool result that is kept and shown as a placeholder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Held {
    /// The message.
    pub id: MessageId,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The beginning of what it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// What its placeholder tells.
    pub told: Told,
    /// What the result costs; records of earlier versions do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// Whether its owner had it erased.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
    /// When it was said.
    #[serde(skip)]
    pub at: At,
}

impl Held {
    fn key(id: MessageId) -> String {
        format!("{PREFIX}{:010}", id.0)
    }

    fn of(leaf: &Leaf, asked: Option<&Asked>, told: Told) -> Self {
        let Asked { tool, query } = asked.cloned().unwrap_or_default();
        let (id, at, tokens) = (leaf.stored.id, leaf.stored.at, Some(leaf.stored.measure.tokens));
        Self { id, tool, query, told, tokens, erased: false, at }
    }

    /// What is left of it once it is erased.
    pub(super) fn erased(self, brief: &str) -> Self {
        let told = Told { brief: brief.to_owned(), sources: Vec::new(), ..self.told };
        Self { told, tokens: None, erased: true, ..self }
    }

    fn asked(&self) -> Asked {
        Asked { tool: self.tool.clone(), query: self.query.clone() }
    }

    /// The holds of a session, in order.
    pub fn all<'a>(store: &'a dyn Store, session: &'a SessionKey) -> BoxFuture<'a, Result<Vec<Self>>> {
        Box::pin(async move {
            let records =
                store.records(&Scope::Session(session.clone()), Kind::Note, Keys::Under(PREFIX.to_owned())).await?;
            records.iter().map(Self::read).collect()
        })
    }

    /// A page of the holds of a session: those after a message, in order.
    pub fn page<'a>(
        store: &'a dyn Store,
        session: &'a SessionKey,
        after: Option<MessageId>,
        count: usize,
    ) -> BoxFuture<'a, Result<Vec<Self>>> {
        Box::pin(async move {
            let scope = Scope::Session(session.clone());
            let from = after.map_or_else(|| PREFIX.to_owned(), Self::key);
            let records = store.records(&scope, Kind::Note, Keys::After(from, count)).await?;
            records.iter().take_while(|record| record.key.starts_with(PREFIX)).map(Self::read).collect()
        })
    }

    /// The large results of a session that nothing is on record of, in order: no window had them yet. This reads the
    /// whole session.
    pub fn unrecorded<'a>(
        store: &'a dyn Store,
        session: &'a SessionKey,
        holds: &'a HoldSettings,
        recorded: &'a [Self],
    ) -> BoxFuture<'a, Result<Vec<Self>>> {
        Box::pin(async move {
            let recorded: HashSet<MessageId> = recorded.iter().map(|held| held.id).collect();
            let (mut found, mut leaves, mut from) = (Vec::new(), Vec::new(), MessageId(0));
            loop {
                let page = store.read(session, Span::Arrival { from, limit: LOOKED_THROUGH }).await?;
                let Some(last) = page.last() else { return Ok(found) };
                from = MessageId(last.id.0 + 1);
                // The calls may stand in what was read before.
                let before = leaves.len();
                for stored in page {
                    leaves.push(Arc::new(Leaf::new(Arc::new(stored), &leaves, holds)));
                }
                let is_fresh = |leaf: &&Arc<Leaf>| {
                    leaf.large.is_some() && leaf.stored.position().is_some() && !recorded.contains(&leaf.stored.id)
                };
                let fresh = leaves[before..].iter().filter(is_fresh);
                found.extend(fresh.map(|leaf| Self::of(leaf, leaf.large.as_ref(), holds.told(&leaf.result()))));
                leaves.drain(..before);
            }
        })
    }

    fn read(record: &Record) -> Result<Self> {
        Ok(Self { at: record.at, ..record.read()? })
    }
}

impl Engine {
    /// Settles what stands for long results of a lane, where it was settled before.
    pub(super) async fn settle(&self, session: &SessionKey, lane: &Lane) -> Result<()> {
        self.settle_all(session, &lane.open).await
    }

    /// The same among some messages.
    pub(super) async fn settle_all(&self, session: &SessionKey, leaves: &[Arc<Leaf>]) -> Result<()> {
        let unread = |leaf: &&Arc<Leaf>| leaf.long.is_some() && !leaf.is_recorded();
        let leaves: Vec<&Arc<Leaf>> = leaves.iter().filter(unread).collect();
        let ids = leaves.iter().map(|leaf| leaf.stored.id);
        let (Some(first), Some(last)) = (ids.clone().min(), ids.max()) else { return Ok(()) };
        let between = (last.0 - first.0) as usize + 1;
        if between > SCATTERED * leaves.len() {
            for leaf in leaves {
                self.settle_one(session, leaf).await?;
            }
            return Ok(());
        }
        let after = first.0.checked_sub(1).map_or_else(|| PREFIX.to_owned(), |before| Held::key(MessageId(before)));
        let keys = Keys::After(after, between);
        let records = self.store().records(&Scope::Session(session.clone()), Kind::Note, keys).await?;
        let ours = records.iter().take_while(|record| record.key.starts_with(PREFIX));
        let held = ours.filter_map(|record| serde_json::from_str::<Held>(record.body.get()).ok());
        let held: HashMap<MessageId, Held> = held.map(|held| (held.id, held)).collect();
        for leaf in leaves {
            held.get(&leaf.stored.id).into_iter().for_each(|held| self.settle_as(leaf, held));
        }
        Ok(())
    }

    /// Records every placeholder of a window that is shown for the first time: from now on it stays as it is. A
    /// conflict means that another one was settled meanwhile.
    pub(super) async fn keep_shown(&self, session: &SessionKey, lane: &Lane, window: &Window) -> Result<()> {
        let held = window.blocks().iter().filter(|block| matches!(block.body, Body::Held(..)));
        let held: HashSet<MessageId> = held.filter_map(|block| Some(block.message()?.id)).collect();
        let fresh = lane.open.iter().filter(|leaf| held.contains(&leaf.stored.id) && !leaf.is_settled());
        let mut kept = Vec::new();
        for leaf in fresh {
            let told = self.settings.strategies.holds.told(&leaf.result());
            self.keep_held(session, leaf, told).await?;
            kept.push(leaf.stored.clone());
        }
        self.unquote_erased(session, lane, &kept).await
    }

    async fn keep_held(&self, session: &SessionKey, leaf: &Leaf, told: Told) -> Result<()> {
        let held = Held::of(leaf, leaf.long.as_ref(), told);
        let put = Put::new(session, Kind::Note, Held::key(held.id), held.at, &held).expecting(Expect::Absent);
        self.store().commit(Batch::of_records(session.clone(), vec![put])).await?;
        self.settle_as(leaf, &held);
        Ok(())
    }

    /// Settles what stands for a result, if it was settled before.
    pub(super) async fn settle_one(&self, session: &SessionKey, leaf: &Leaf) -> Result<()> {
        let key = Keys::One(Held::key(leaf.stored.id));
        let record = self.store().records(&Scope::Session(session.clone()), Kind::Note, key).await?.pop();
        let held = record.and_then(|record| serde_json::from_str::<Held>(record.body.get()).ok());
        if let Some(held) = held {
            self.settle_as(leaf, &held);
        }
        Ok(())
    }

    fn settle_as(&self, leaf: &Leaf, held: &Held) {
        let text = placeholder(&leaf.stored, &held.asked(), &held.told);
        leaf.settle(&Placeholder::new(text, &leaf.stored.message(), &self.settings.strategies.holds));
    }

    /// Asks for a digest of every large result that has none, and records it. What a person wants left out is not shown
    /// to the helper.
    pub(super) async fn digest_holds(
        &self,
        session: &SessionKey,
        lane: &Lane,
        asked: &mut Vec<crate::task::Asked>,
    ) -> Result<()> {
        self.settle(session, lane).await?;
        // What is shown anyway needs no digest.
        if !lane.recalls {
            return Ok(());
        }
        let untold = |leaf: &&Arc<Leaf>| !leaf.is_recorded() && !lane.excluded().contains(&leaf.stored.id);
        for leaf in lane.open.iter().filter(|leaf| leaf.large.is_some()).filter(untold) {
            let (told, calls) = self.digest_hold(leaf).await;
            asked.extend(calls);
            match self.keep_held(session, leaf, told).await {
                // It was shown while the helper thought, and stays as it was shown.
                Ok(()) | Err(Error::Conflict(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn digest_hold(&self, leaf: &Leaf) -> (Told, Vec<crate::task::Asked>) {
        let Asked { tool, query } = leaf.large.clone().unwrap_or_default();
        let text = leaf.result();
        let most_chars = self.settings.strategies.holds.digest_chars;
        let task = HoldDigest { tool: tool.as_deref(), query: query.as_deref(), text: &text, most_chars };
        let answered = self.tasks.run(&task).await;
        let told = Told { chars: text.chars().count(), brief: answered.answer.brief, sources: answered.answer.sources };
        (told, answered.calls)
    }
}
