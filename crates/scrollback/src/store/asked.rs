//! What a store is asked for: which messages, which sessions, and what matched.

use std::collections::BTreeSet;

use super::{Mark, Position, Stored};
use crate::ids::{BranchId, Depth, MessageId, SessionId};

/// How many messages that follow one message are read. A thousand chats may begin alike; the newest matter.
pub const CHILDREN: usize = 64;

/// Where counting the messages that hold a term stops: beyond, a term is common, how common hardly matters, and it
/// tells the newest alone.
pub(super) const FREQUENCY_CAP: u32 = 4_096;
/// The size a store is taken to have when all of it is searched; ranking needs only the order of magnitude.
pub(super) const STORE_MESSAGES: u64 = 1_000_000;

/// Which messages to read.
#[derive(Clone, Debug, PartialEq)]
pub enum Span {
    /// These, in the order given; unknown ids are left out.
    Ids(Vec<MessageId>),
    /// A stretch of the path that ends in `head`, oldest first.
    Path {
        /// The end of the path.
        head: Position,
        /// The first depth wanted.
        from: Depth,
        /// The last depth wanted.
        to: Depth,
    },
    /// The messages at some depths of the path that ends in `head`, oldest first.
    Depths {
        /// The end of the path.
        head: Position,
        /// The depths wanted.
        depths: BTreeSet<Depth>,
    },
    /// The newest messages that directly follow one, or begin a conversation, oldest first; at most [`CHILDREN`].
    After(Option<Position>),
    /// Everything in order of arrival, from a number on.
    Arrival {
        /// The first number wanted.
        from: MessageId,
        /// How many at most.
        limit: usize,
    },
    /// The last message of the path that was written to last.
    Last,
    /// The last message of a branch.
    End(BranchId),
    /// The messages that the path of a branch leaves others at, the nearest first.
    Forks(BranchId),
}

impl Span {
    /// The path that ends in `head`, from a depth on.
    pub fn path(head: Position, from: Depth) -> Self {
        Self::Path { head, from, to: head.depth }
    }
}

/// Which sessions to list.
#[derive(Clone, Debug, PartialEq)]
pub enum Which {
    /// One, by its id.
    Id(SessionId),
    /// A page of those whose id, declared name or title begins with a text, whatever its case, in the order of all.
    Named {
        /// The text.
        name: String,
        /// How many to pass over.
        skip: usize,
        /// How many to list.
        limit: usize,
    },
    /// The same, and those whose title has the text anywhere: for people who look for one, not for naming one. Every
    /// session has the empty text.
    Titled {
        /// The text.
        text: String,
        /// The mark of the last one of the page before, which may be gone by now.
        after: Option<Mark>,
        /// How many to list.
        limit: usize,
    },
    /// A page of all: those in which something was said last come first, to the minute, then the youngest.
    Page {
        /// How many to pass over.
        skip: usize,
        /// How many to list.
        limit: usize,
    },
}

/// Messages that match a probe.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    /// The messages, newest first, with their sessions.
    pub messages: Vec<(SessionId, Stored)>,
    /// For each term of the probe, in how many messages of the probe's reach it occurs, counted up to a cap.
    pub frequencies: Vec<u32>,
    /// How many messages the probe's reach holds, roughly.
    pub total: u64,
}
