//! What stands beside open messages, read from the store: the reasoning that led to them, and what replies are bound
//! to.
//!
//! Reasoning has the numbers just before its message, so that it is found without going through the session.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::Engine;
use crate::error::Result;
use crate::ids::{Hash128, MessageId, SessionKey};
use crate::store::{Beside, Kind, Origin, Place, Scope, Span, Stored};
use crate::strategy::Leaf;
use crate::view::View;

/// A message before which reasoning may stand.
struct Sought {
    owner: MessageId,
    parent: MessageId,
    /// The number that is looked at next.
    at: MessageId,
}

impl Sought {
    /// A message that does not come right after its parent in the order of arrival.
    fn before(stored: &Stored) -> Option<Self> {
        let (owner, parent) = (stored.id, stored.parent?);
        Self { owner, parent, at: owner }.further()
    }

    fn further(self) -> Option<Self> {
        let at = MessageId(self.at.0.checked_sub(1)?);
        (at > self.parent).then_some(Self { at, ..self })
    }

    fn is(&self, stored: &Stored) -> bool {
        stored.place == Place::Beside(Beside::Aside) && stored.parent == Some(self.parent)
    }
}

impl Engine {
    /// The messages of a path with the reasoning that led to them.
    pub(super) async fn leaves(&self, session: &SessionKey, path: Vec<Stored>) -> Result<Vec<Arc<Leaf>>> {
        let mut asides = self.asides(session, &path).await?;
        let mut leaves: Vec<Arc<Leaf>> = Vec::with_capacity(path.len());
        for stored in path {
            let own = asides.remove(&stored.id).unwrap_or_default();
            let leaf = Leaf::new(Arc::new(stored), &leaves, &self.settings.strategies.holds);
            leaves.push(Arc::new(leaf.with_asides(own.into())));
        }
        Ok(leaves)
    }

    /// The reasoning that led to messages of a path: what came just before each, as long as it is reasoning.
    async fn asides(&self, session: &SessionKey, path: &[Stored]) -> Result<HashMap<MessageId, VecDeque<Arc<Stored>>>> {
        let mut found: HashMap<MessageId, VecDeque<Arc<Stored>>> = HashMap::new();
        let mut sought: Vec<Sought> = path.iter().filter_map(Sought::before).collect();
        while !sought.is_empty() {
            let ids = sought.iter().map(|sought| sought.at).collect();
            let read = self.store().read(session, Span::Ids(ids)).await?;
            let mut read: HashMap<MessageId, Stored> = read.into_iter().map(|stored| (stored.id, stored)).collect();
            let mut further = Vec::new();
            for sought in sought {
                if let Some(aside) = read.remove(&sought.at).filter(|stored| sought.is(stored)) {
                    found.entry(sought.owner).or_default().push_front(Arc::new(aside));
                    further.extend(sought.further());
                }
            }
            sought = further;
        }
        Ok(found)
    }

    /// What open replies with reasoning inside are bound to, as their views tell.
    pub(super) async fn bounds(&self, session: &SessionKey, open: &[Arc<Leaf>]) -> Result<HashMap<MessageId, Hash128>> {
        let mut bounds = HashMap::new();
        let replies = open.iter().map(|leaf| &leaf.stored).filter(|stored| stored.origin == Origin::Reply);
        for stored in replies.filter(|stored| stored.raw.get().contains("thinking")) {
            let bound = self.bound(session, stored).await?;
            bounds.extend(bound.map(|bound| (stored.id, bound)));
        }
        Ok(bounds)
    }

    /// What a reply is bound to: the view it was finished with is of the message it answers, and as old as itself.
    async fn bound(&self, session: &SessionKey, reply: &Stored) -> Result<Option<Hash128>> {
        let Some(parent) = reply.parent else { return Ok(None) };
        let (scope, key) = (Scope::Session(session.clone()), View::key(parent, reply.at));
        let record = self.store().record(scope, Kind::View, key).await?;
        let view = record.and_then(|record| serde_json::from_str::<View>(record.body.get()).ok());
        Ok(view.and_then(|view| view.bound))
    }
}
