//! What is to be written of a batch, once it is known what is there: pure, so that nothing is decided twice.

use std::collections::HashMap;

use tokio_postgres::Row;

use super::append::Opened;
use super::rows::hash;
use super::trouble::Fault;
use crate::error::{Error, Result};
use crate::ids::{BranchId, Depth, Hash128, MessageId, NodeId};
use crate::message::Message;
use crate::store::row::{MessageRow, depth_beside};
use crate::store::{Batch, Beside, Committed, Place, Position, Sidelong};

/// A place by its depth and node; depths beside the path are negative.
pub(super) type Spot = (i64, Hash128);

/// Places that are known, with their number and branch.
pub(super) type Known = HashMap<Spot, (MessageId, BranchId)>;

/// Reads a known place.
pub(super) fn known(row: &Row) -> Result<(Spot, (MessageId, BranchId)), Fault> {
    let number = |column: usize| row.try_get::<_, i32>(column);
    let at = (i64::from(number(2)?), hash(row, 3)?);
    Ok((at, (MessageId(number(0)?.unsigned_abs()), BranchId(number(1)?.unsigned_abs()))))
}

/// What is refused if the place to go on from is not there.
pub(super) fn nowhere() -> Error {
    Error::NotFound("the message to continue from is not in the log; send the whole history again".into())
}

/// The places of a batch's messages.
pub(super) fn places(batch: &Batch) -> impl Iterator<Item = Spot> {
    let first = batch.after.map_or(0, |after| i64::from(after.depth.0) + 1);
    let path = (first..).zip(&batch.path).map(|(depth, draft)| (depth, draft.node.0));
    path.chain(batch.beside.iter().map(|sidelong| (depth_beside(sidelong.why), sidelong.draft.node.0)))
}

/// How much of a batch's path is known.
pub(super) struct Start<'k> {
    known: &'k Known,
    /// The message before the batch.
    before: Option<Position>,
    /// The known beginning of the batch's path. Below a node that is not known nothing can be.
    path: Vec<Position>,
    /// How long the batch's path is.
    whole: usize,
}

impl<'k> Start<'k> {
    pub(super) fn of(batch: &Batch, known: &'k Known) -> Result<Self> {
        let at = |depth: Depth, node: NodeId| -> Option<Position> {
            let (id, branch) = *known.get(&(i64::from(depth.0), node.0))?;
            Some(Position { id, branch, depth, node })
        };
        let before = match batch.after {
            None => None,
            Some(after) => Some(at(after.depth, after.node).ok_or_else(nowhere)?),
        };
        let first = before.map_or(Depth(0), |before| before.depth.plus(1));
        let path = batch.path.iter().enumerate().map_while(|(i, draft)| at(first.plus(i), draft.node)).collect();
        Ok(Self { known, before, path, whole: batch.path.len() })
    }

    /// The message that the first new one follows.
    pub(super) fn fresh_after(&self) -> Option<Position> {
        self.path.last().copied().or(self.before).filter(|_| self.path.len() < self.whole)
    }

    /// What is to be written; `continues`: the first new message goes on in the branch of the one it follows.
    pub(super) fn plan(self, batch: &Batch, opened: &Opened, continues: bool) -> Plan {
        let parent = self.fresh_after();
        let branch = parent.filter(|_| continues).map_or(opened.branches, |parent| parent.branch);
        let forks = self.path.len() < self.whole && branch == opened.branches;
        let fork = forks.then_some((branch, parent.map(|parent| parent.id)));
        let (rows, known, committed) = Default::default();
        let mut plan = Plan { fork, rows, known, committed, next: opened.messages };
        let mut parent = self.before;
        let mut beside = batch.beside.iter().peekable();
        for (i, draft) in batch.path.iter().enumerate() {
            let known = self.path.get(i).copied();
            let follows = parent.filter(|_| known.is_none()).map(|parent| parent.id);
            while let Some(sidelong) = beside.next_if(|sidelong| sidelong.before <= i) {
                plan.beside(sidelong, follows, self.known);
            }
            let depth = parent.map_or(Depth(0), |parent| parent.depth.plus(1));
            let at = known.unwrap_or(Position { id: plan.next, branch, depth, node: draft.node });
            let row = MessageRow::new(at.id, parent.map(|parent| parent.id), Place::Path(at), draft);
            plan.add(row, draft.message.clone());
            plan.committed.path.push(at);
            parent = Some(at);
        }
        beside.for_each(|sidelong| plan.beside(sidelong, None, self.known));
        plan.committed.added = plan.rows.len();
        plan
    }
}

/// What is to be written.
pub(super) struct Plan {
    /// The branch that begins, and the message it leaves another at.
    pub(super) fork: Option<(BranchId, Option<MessageId>)>,
    /// New messages, in the order of their numbers.
    pub(super) rows: Vec<(MessageRow, Message)>,
    /// Those that are there, as they were written.
    pub(super) known: Vec<(MessageRow, Message)>,
    pub(super) committed: Committed,
    /// The number of the next message.
    pub(super) next: MessageId,
}

impl Plan {
    /// Adds a row, which is new if it has the next number.
    fn add(&mut self, row: MessageRow, message: Message) {
        if row.id == self.next {
            self.rows.push((row, message));
            self.next.0 += 1;
        } else {
            self.known.push((row, message));
        }
    }

    fn beside(&mut self, sidelong: &Sidelong, follows: Option<MessageId>, known: &Known) {
        let Sidelong { why, draft, .. } = sidelong;
        let depth = depth_beside(*why);
        let is_it = |(row, _): &&(MessageRow, Message)| row.depth == depth && row.node == draft.node.0;
        let before = known.get(&(depth, draft.node.0)).map(|(id, _)| *id);
        let added = self.rows.iter().find(is_it).map(|(row, _)| row.id);
        let id = before.or(added).unwrap_or(self.next);
        if added.is_none() {
            let follows = follows.filter(|_| *why == Beside::Aside);
            self.add(MessageRow::new(id, follows, Place::Beside(*why), draft), draft.message.clone());
        }
        self.committed.beside.push(id);
    }
}
