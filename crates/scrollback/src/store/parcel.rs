//! Moving everything from one store to another, a parcel at a time: all of one session, or what is a tenant's own.
//!
//! A parcel arrives whole or not at all, and twice is the same as once, so that a move that was cut short goes on where
//! it ended. Its digest says whether it arrived as it left.

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::row::MessageRow;
use super::{Alias, Record};
use crate::error::Result;
use crate::ids::{At, Hash128, SessionId, Tenant};

/// What a parcel holds: all of a session, or a tenant's own records.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label {
    /// Whose it is.
    pub tenant: Tenant,
    /// The session; `None` for the tenant's own.
    pub session: Option<SessionId>,
}

/// A store that can be moved from, or to.
#[async_trait]
pub trait Moving: Send + Sync {
    /// Everything there is to be moved, sessions in the order they came into being.
    async fn labels(&self) -> Result<Vec<Label>>;

    /// What a parcel holds; `None` if there is nothing under this label. A message that is damaged is moved as it is and
    /// damaged where it arrives; a record that is stays behind.
    async fn pack(&self, label: &Label) -> Result<Option<Parcel>>;

    /// Writes a parcel, all of it or nothing. What is there already under its label is not touched: then it is refused
    /// as a conflict, unless only a tenant's own records are written, each over none or the same.
    async fn unpack(&self, parcel: Parcel) -> Result<()>;
}

/// All of one session, or what is a tenant's own.
pub struct Parcel {
    /// What it holds.
    pub label: Label,
    pub(super) head: Option<Head>,
    pub(super) messages: Vec<MessageRow>,
    /// The branches, and the number of the message each leaves another at.
    pub(super) branches: Vec<(u32, Option<u32>)>,
    pub(super) aliases: Vec<Alias>,
    /// Records, with their kinds.
    pub(super) records: Vec<(String, Record)>,
    /// Records that are damaged, in words.
    pub(super) left_behind: Vec<String>,
}

/// Records with their kinds, and in words those that are damaged.
pub(super) type Sorted = (Vec<(String, Record)>, Vec<String>);

/// A session's own row.
pub(super) struct Head {
    pub(super) declared: Option<String>,
    pub(super) title: Option<String>,
    pub(super) born: At,
}

impl Parcel {
    /// How many messages it holds.
    pub fn messages(&self) -> usize {
        self.messages.len()
    }

    /// How many records it holds.
    pub fn records(&self) -> usize {
        self.records.len()
    }

    /// What of it is not what was written, in words: messages, which are moved as they are, and records, which are not.
    pub fn damaged(&self) -> Vec<String> {
        let damaged = self.messages.iter().filter(|row| !row.is_sound);
        let told = |row: &MessageRow| format!("message {} is damaged there as well", row.id);
        damaged.map(told).chain(self.left_behind.iter().map(|what| format!("left behind, as it is {what}"))).collect()
    }

    /// Whether there is nothing in it to tell of.
    pub(super) fn is_empty(&self) -> bool {
        self.head.is_none() && self.records.is_empty() && self.left_behind.is_empty()
    }

    /// The session's number is none of its own, so that two stores agree on this whatever they call it.
    pub fn digest(&self) -> Hash128 {
        let mut sum = Hash128::default();
        let mut add = |tag: &str, parts: &[&[u8]]| sum = Hash128::of(tag, &[&[sum.0.as_slice()], parts].concat());
        if let Some(Head { declared, title, born }) = &self.head {
            let name =
                |name: &Option<String>| name.as_ref().map_or_else(Vec::new, |name| format!("+{name}").into_bytes());
            add("head", &[&name(declared), &name(title), &born.0.to_le_bytes()]);
        }
        for row in &self.messages {
            add("message", &[&row.seal(i64::from(row.id.0), &[]).to_le_bytes(), row.raw.as_bytes()]);
        }
        for (no, fork) in &self.branches {
            add("branch", &[&no.to_le_bytes(), &fork.map_or(-1, i64::from).to_le_bytes()]);
        }
        for alias in &self.aliases {
            let (from, to) = (alias.from, alias.to);
            let depths = [from.depth.0.to_le_bytes(), to.depth.0.to_le_bytes()].concat();
            add("alias", &[&alias.session.0.0, &from.node.0.0, &alias.to_session.0.0, &to.node.0.0, &depths]);
        }
        self.records.iter().fold(sum, |sum, (kind, record)| mark(sum, kind, record))
    }

    /// What must be found where it arrives: all of a session at once, but each of a tenant's own records, as there may
    /// be others.
    pub fn marks(&self) -> BTreeSet<Hash128> {
        if self.label.session.is_some() {
            return BTreeSet::from([self.digest()]);
        }
        self.records.iter().map(|(kind, record)| mark(Hash128::default(), kind, record)).collect()
    }

    /// In the one order that counts.
    pub(super) fn sorted(mut self) -> Self {
        self.aliases.sort_by_key(|alias| (alias.session, alias.from.depth, alias.from.node));
        self.records.sort_by(|(a, one), (b, other)| (a, &one.key).cmp(&(b, &other.key)));
        self
    }

    /// When something was last said, to the minute.
    pub(super) fn minute(&self) -> i64 {
        self.messages.iter().map(|row| At(row.at).minute()).max().unwrap_or_default()
    }
}

/// A hash with a record added to it.
fn mark(sum: Hash128, kind: &str, record: &Record) -> Hash128 {
    let numbers = [record.version.to_le_bytes(), record.at.0.to_le_bytes()].concat();
    let parts = [sum.0.as_slice(), kind.as_bytes(), record.key.as_bytes(), &numbers, record.body.get().as_bytes()];
    Hash128::of("record", &parts)
}
