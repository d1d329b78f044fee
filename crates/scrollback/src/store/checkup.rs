//! What a check of a whole store found, and how a session's messages are checked one after the other.

use std::collections::HashMap;

use super::{Origin, Place, Stored};
use crate::ids::{MessageId, NodeId, SessionId};

/// How many problems are listed; a badly damaged store has thousands alike.
const PROBLEMS_LISTED: usize = 100;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Checkup {
    /// Sessions looked at.
    pub sessions: u64,
    /// Messages looked at.
    pub messages: u64,
    /// Derived records looked at.
    pub records: u64,
    /// What is wrong, in words.
    pub problems: Vec<String>,
    /// How many problems there are in all.
    pub problem_count: u64,
    /// What is to be done although nothing is wrong, in words.
    pub remarks: Vec<String>,
}

impl Checkup {
    pub(super) fn problem(&mut self, what: String) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_LISTED {
            self.problems.push(what);
        }
    }
}

/// A session being read in order of arrival: the nodes of its messages, to check each against its parent.
#[derive(Default)]
pub(super) struct Walk {
    nodes: HashMap<MessageId, NodeId>,
    next: u32,
}

impl Walk {
    /// Notes that a message is next; the one that is missing before it, if its number is not.
    pub(super) fn reach(&mut self, id: MessageId) -> Option<MessageId> {
        let expected = MessageId(self.next);
        self.next = id.0 + 1;
        (id != expected).then_some(expected)
    }

    /// How many numbers there were.
    #[cfg(feature = "postgres")]
    pub(super) fn reached(&self) -> u32 {
        self.next
    }

    /// A message on a path must have the node that its parent's node and its own words give.
    pub(super) fn place(&mut self, message: &Stored, session: SessionId, checkup: &mut Checkup) {
        let Place::Path(position) = message.place else { return };
        let parent = match message.parent {
            None => Some(NodeId::root(session)),
            Some(id) => self.nodes.get(&id).copied(),
        };
        let id = message.id;
        match parent {
            None => checkup.problem(format!("message {id} of session {session} follows one that is not there")),
            // Who had its words erased keeps its place: others follow it.
            Some(_) if message.origin == Origin::Erased => {}
            Some(parent) if parent.then(message.message().strong()) != position.node => {
                checkup.problem(format!("message {id} of session {session} is not where its words put it"));
            }
            Some(_) => {}
        }
        self.nodes.insert(id, position.node);
    }
}
