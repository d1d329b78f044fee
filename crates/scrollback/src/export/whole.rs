//! A session on its way out: everything in it, as far as it can be read, and which of its messages make up which
//! branch.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::beside::{joined, owners};
use crate::control::Controls;
use crate::engine::control;
use crate::error::Result;
use crate::ids::{Depth, MessageId, SessionKey};
use crate::store::{Branch, Lineage, Position, Session, Span, Store, Stored};

/// How much text is made at a time, in bytes.
const PIECE: usize = 64 << 10;

/// A session with everything in it. It is written with the branches that it lists.
pub struct Whole {
    pub(super) session: Session,
    /// In order of arrival.
    pub(super) all: Vec<Stored>,
    pub(super) owners: Vec<Option<MessageId>>,
    pub(super) controls: Arc<Controls>,
}

impl Whole {
    /// Reads a session.
    pub fn read<'a>(store: &'a dyn Store, key: &'a SessionKey, session: Session) -> BoxFuture<'a, Result<Self>> {
        Box::pin(async move {
            let all = store.read(key, Span::Arrival { from: MessageId(0), limit: usize::MAX >> 1 }).await?;
            let all = all.into_iter().map(Stored::sound).collect::<Result<_>>()?;
            let controls = control::controlled(store, key).await?.controls;
            Ok(Self::of(session, all, controls))
        })
    }

    /// A damaged session: the messages that can be read, and what a person decided, if that can.
    pub fn rest<'a>(
        store: &'a dyn Store,
        key: &'a SessionKey,
        session: Session,
        messages: Vec<Stored>,
    ) -> BoxFuture<'a, Self> {
        Box::pin(async move {
            let controls = control::controlled(store, key).await.unwrap_or_default().controls;
            Self::of(session, messages, controls)
        })
    }

    fn of(session: Session, all: Vec<Stored>, controls: Arc<Controls>) -> Self {
        let owners = owners(&all);
        Self { session, all, owners, controls }
    }

    /// The branch that was written to last.
    pub(super) fn newest(&self) -> Option<&Branch> {
        self.session.branches.iter().max_by_key(|branch| branch.head.id)
    }

    /// The path of a branch, oldest first.
    pub(super) fn path(&self, branch: &Branch) -> Vec<&Stored> {
        let mut path: Vec<&Stored> =
            std::iter::successors(self.nearest(branch.head), |stored| self.before(stored)).collect();
        path.reverse();
        path
    }

    /// The same, with what stands beside it.
    pub(super) fn full_path(&self, branch: &Branch) -> Vec<Stored> {
        joined(self.path(branch).into_iter().cloned().collect(), &self.all, &self.owners)
    }

    /// Every message on the paths of the branches.
    pub(super) fn on_paths(&self) -> HashSet<MessageId> {
        let mut known = HashSet::new();
        for branch in &self.session.branches {
            let path = std::iter::successors(self.nearest(branch.head), |stored| self.before(stored));
            // What is known was gone through down to the beginning.
            path.take_while(|stored| known.insert(stored.id)).for_each(drop);
        }
        known
    }

    pub(super) fn find(&self, id: MessageId) -> Option<&Stored> {
        self.all.binary_search_by_key(&id, |stored| stored.id).ok().map(|at| &self.all[at])
    }

    /// The message before one on its path.
    pub(super) fn before(&self, stored: &Stored) -> Option<&Stored> {
        let parent = stored.parent?;
        self.find(parent).or_else(|| {
            let position = stored.position()?;
            self.below(position, |depth| depth < position.depth)
        })
    }

    /// The message at a place, or, if it is lost, the one before it that is not.
    fn nearest(&self, position: Position) -> Option<&Stored> {
        self.find(position.id).or_else(|| self.below(position, |depth| depth <= position.depth))
    }

    /// The deepest message on the path of a place whose depth is wanted.
    fn below(&self, position: Position, is_wanted: impl Fn(Depth) -> bool) -> Option<&Stored> {
        let lineage = Lineage::of(position, &self.session.branches);
        let here = self.all.iter().rev().filter(|stored| lineage.holds(&stored.place));
        let mut here = here.filter(|stored| stored.position().is_some_and(|position| is_wanted(position.depth)));
        here.next()
    }
}

/// Pieces of text, joined until each is worth writing.
pub(super) fn in_pieces(mut pieces: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    std::iter::from_fn(move || {
        let mut text = pieces.next()?;
        while text.len() < PIECE
            && let Some(more) = pieces.next()
        {
            text += &more;
        }
        Some(text)
    })
}
