//! Sessions and their branches, as listed, and what is on the path of a head.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::{Place, Position};
use crate::error::{Error, Result};
use crate::ids::{At, BranchId, Depth, SessionId};

/// A session as listed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// What the client calls it.
    pub declared: Option<String>,
    /// Its title, if one came with it.
    pub title: Option<String>,
    /// When its first message was said.
    pub born: At,
    /// When its newest message was said.
    pub last: At,
    /// How many messages it has.
    pub messages: u32,
    /// Its branches, the first first.
    pub branches: Vec<Branch>,
    /// Where it stands among all.
    #[serde(skip)]
    pub mark: Mark,
}

/// Where a session stands in the order of all: by the minute in which something was said in it last, then by when it
/// came. Pages that go on after a mark leave nothing out, whatever was erased meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    pub(super) minute: i64,
    pub(super) number: i64,
}

impl Mark {
    /// Before all.
    pub(super) const START: Self = Self { minute: i64::MAX, number: i64::MAX };
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.minute, self.number)
    }
}

impl FromStr for Mark {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |part: &str| part.parse::<u64>().ok().and_then(|number| i64::try_from(number).ok());
        let read = |(minute, count): (&str, &str)| Some(Self { minute: number(minute)?, number: number(count)? });
        let bad = || Error::Invalid("this is not where a page of sessions ends".into());
        text.split_once('-').and_then(read).ok_or_else(bad)
    }
}

impl Session {
    /// Whether its id, declared name or title begins with `text`.
    pub(crate) fn is_named(&self, text: &str) -> bool {
        let begins = |name: &str| name.to_ascii_lowercase().starts_with(&text.to_ascii_lowercase());
        begins(&self.id.to_string()) || [&self.declared, &self.title].into_iter().flatten().any(|name| begins(name))
    }

    /// The same, or whether its title has `text` anywhere.
    pub(crate) fn is_titled(&self, text: &str) -> bool {
        let has = |title: &String| title.to_ascii_lowercase().contains(&text.to_ascii_lowercase());
        self.is_named(text) || self.title.as_ref().is_some_and(has)
    }
}

/// What people look a session up by, as lists show it: the beginning of its id, and its name or title.
pub(super) fn called(id: SessionId, declared: Option<&str>, title: Option<&str>) -> String {
    let id = &id.to_string()[..12];
    let name = declared.or(title).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    if name.is_empty() { id.to_owned() } else { format!("{id} ({name})") }
}

/// A branch of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Branch {
    /// Its number.
    pub id: BranchId,
    /// The message it leaves another branch at; `None` if it begins at the root.
    pub fork: Option<Position>,
    /// Its last message.
    pub head: Position,
}

/// The path of a head as stretches of branches: a message is on it if its branch is listed and it is not beyond the
/// depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage(pub(crate) Vec<(BranchId, Depth)>);

impl Lineage {
    /// The lineage of a head among its session's branches.
    pub fn of(head: Position, branches: &[Branch]) -> Self {
        let mut stretches = vec![(head.branch, head.depth)];
        let mut at = head.branch;
        while let Some(fork) = branches.iter().find(|branch| branch.id == at).and_then(|branch| branch.fork) {
            stretches.push((fork.branch, fork.depth));
            at = fork.branch;
        }
        Self(stretches)
    }

    /// The branches that the head's own comes from, the nearest first, each with the last depth that is on the path.
    pub(crate) fn left(&self) -> impl Iterator<Item = (BranchId, Depth)> {
        self.0.iter().skip(1).copied()
    }

    /// Whether a place is on the path.
    pub fn holds(&self, place: &Place) -> bool {
        match place {
            Place::Path(position) => {
                self.0.iter().any(|&(branch, depth)| branch == position.branch && position.depth <= depth)
            }
            Place::Beside(_) => false,
        }
    }
}
