//! Damaged messages that a file still has: where a history that is read from one says the same at the same place, the
//! store writes the row anew.

use super::strand::Strand;
use super::{Arrival, History, Log, Received};
use crate::error::Result;
use crate::ids::{Depth, MessageId, NodeId};
use crate::message::Message;
use crate::store::{Batch, Origin, Span, Stored};

impl Log {
    /// Puts back what is damaged of the path that a whole history continued, as far as the history has it. Returns how
    /// many messages are mended, and which are not.
    pub(crate) async fn mend(
        &self,
        arrival: Arrival<'_>,
        history: &History<'_>,
        received: &Received,
    ) -> Result<(usize, Vec<MessageId>)> {
        let (Some(head), Some(_)) = (received.head, received.base) else { return Ok((0, Vec::new())) };
        let path = self.store.read(&received.session, Span::path(head, Depth(0))).await?;
        let (mut mended, mut lost) = (0, Vec::new());
        if path.iter().all(|stored| stored.origin != Origin::Damaged) {
            return Ok((mended, lost));
        }
        let all = (history.preamble..history.len()).map(|index| (index, history.message(index)));
        let links: Vec<(usize, Message)> = all.filter(|(_, message)| !message.is_aside()).collect();
        for (depth, stored) in path.iter().enumerate().filter(|(_, stored)| stored.origin == Origin::Damaged) {
            let before = depth.checked_sub(1).and_then(|before| path[before].position());
            let node = before.map_or_else(|| NodeId::root(received.session.id), |before| before.node);
            let is_it = |(_, message): &&(usize, Message)| is_at(stored, node.then(message.strong()));
            let Some((index, message)) = links.get(depth).filter(is_it) else {
                lost.push(stored.id);
                continue;
            };
            let mut strand = Strand::new(arrival, Batch::new(received.session.clone()), before);
            strand.link(arrival.time_of(*index), message.clone());
            match self.store.commit(strand.end()).await?.mended {
                0 => lost.push(stored.id),
                count => mended += count,
            }
        }
        Ok((mended, lost))
    }
}

fn is_at(stored: &Stored, node: NodeId) -> bool {
    stored.position().is_some_and(|position| position.node == node)
}
