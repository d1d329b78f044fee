//! The names of things: tenants, sessions, nodes, messages, and the time they carry.
//!
//! Every id is its own type, so that a depth is never taken for an ordinal. Hashes are BLAKE3 cut to 128 bits, each
//! with a leading tag so that a node can never equal a session.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Whose conversations these are. Nothing is ever visible across tenants.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tenant(Arc<str>);

impl Tenant {
    /// The tenant of a machine with a single user.
    pub fn local() -> Self {
        Self::new("local")
    }

    /// A tenant by name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The name as given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// 128 bits of BLAKE3, the shape of every content-derived id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Hash128(pub [u8; 16]);

impl Hash128 {
    /// The hash of `parts` under a `tag` that keeps kinds of ids apart; each part is delimited by its length.
    pub fn of(tag: &str, parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(tag.as_bytes());
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self::finish(&hasher)
    }

    pub(crate) fn finish(hasher: &blake3::Hasher) -> Self {
        let mut out = [0; 16];
        out.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(out)
    }

    /// The hash written in a row to detect damage: the first eight bytes as an integer.
    pub(crate) fn seal(self) -> i64 {
        let mut first = [0; 8];
        first.copy_from_slice(&self.0[..8]);
        i64::from_le_bytes(first)
    }
}

impl fmt::Display for Hash128 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash128 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hash128 {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || Error::Invalid(format!("“{text}” is not an id: 32 hexadecimal digits are expected"));
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(bad());
        }
        let mut out = [0; 16];
        for (i, byte) in out.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).map_err(|_| bad())?;
        }
        Ok(Self(out))
    }
}

impl Serialize for Hash128 {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash128 {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// One conversation, computed from what the client declares or from its first message, never drawn at random: any
/// process that sees the same request arrives at the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionId(pub Hash128);

impl SessionId {
    /// The session a client names.
    pub fn declared(tenant: &Tenant, name: &str) -> Self {
        Self(Hash128::of("declared", &[tenant.as_str().as_bytes(), name.as_bytes()]))
    }

    /// The session of a client that names none: it is known by how it begins.
    pub fn opening(tenant: &Tenant, first: Fingerprint) -> Self {
        Self(Hash128::of("opening", &[tenant.as_str().as_bytes(), &first.0.0]))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A session together with its owner: the only way to address one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    /// Who owns it.
    pub tenant: Tenant,
    /// Which one.
    pub id: SessionId,
}

/// What a message says, apart from how its JSON happens to be written. See [`crate::message::Message::strong`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub Hash128);

/// A message at its place in a conversation: the hash of its parent node and its fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NodeId(pub Hash128);

impl NodeId {
    /// The node above the first message of a session.
    pub fn root(session: SessionId) -> Self {
        Self(Hash128::of("root", &[&session.0.0]))
    }

    /// The node of a message that follows `self`.
    #[must_use]
    pub fn then(self, message: Fingerprint) -> Self {
        Self(Hash128::of("node", &[&self.0.0, &message.0.0]))
    }
}

/// A message's number within its session, in order of arrival; written `m42` wherever a model or a person reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub u32);

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "m{}", self.0)
    }
}

impl FromStr for MessageId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let digits = text.strip_prefix('m').unwrap_or(text);
        let number = digits.parse().ok().filter(|_| !digits.starts_with('+'));
        number.map(Self).ok_or_else(|| Error::Invalid(format!("“{text}” is not a message id such as m42")))
    }
}

impl Serialize for MessageId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MessageId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// How many messages precede a message on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default)]
pub struct Depth(pub u32);

impl Depth {
    /// The depth `by` messages further on.
    #[must_use]
    pub fn plus(self, by: usize) -> Self {
        Self(self.0 + u32::try_from(by).expect("a path has fewer than 2^32 messages"))
    }
}

/// A branch's number within its session; 0 is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BranchId(pub u32);

/// Stands behind a time that has no year of four digits.
const BEYOND: &str = " µs";

/// A moment, in microseconds since 1970 UTC. The library never reads a clock: callers say what time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct At(pub i64);

impl At {
    /// Seconds since 1970, as most exports write them.
    #[expect(clippy::cast_possible_truncation, reason = "microseconds of any real date fit i64; `as` saturates beyond")]
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e6) as i64)
    }

    /// An RFC 3339 time such as `2026-11-15T09:30:00Z`; beyond the years that has, as it is displayed.
    pub fn parse(text: &str) -> Option<Self> {
        let beyond = || text.strip_suffix(BEYOND)?.parse().ok().map(Self);
        text.parse::<jiff::Timestamp>().ok().map(|time| Self(time.as_microsecond())).or_else(beyond)
    }

    /// Its day, `2026-11-15`.
    pub fn day(self) -> String {
        self.to_string().chars().take_while(|c| *c != 'T').collect()
    }

    /// Whole minutes since 1970: how finely stores order sessions.
    pub fn minute(self) -> i64 {
        self.0 / 60_000_000
    }
}

/// Written as people and other programs read it: RFC 3339.
impl Serialize for At {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for At {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("“{text}” is no time")))
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(time) => time.fmt(f),
            Err(_) => write!(f, "{}{BEYOND}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_back_what_they_write() {
        let hash = Hash128::of("node", &[b"a", b"b"]);
        assert_eq!(hash.to_string().parse::<Hash128>().unwrap(), hash);
        assert_eq!(MessageId(42).to_string().parse::<MessageId>().unwrap(), MessageId(42));
        assert!("m-1".parse::<MessageId>().is_err() && "m+1".parse::<MessageId>().is_err());
        assert!("zz".parse::<Hash128>().is_err());
        assert!("+f".repeat(16).parse::<Hash128>().is_err());
    }

    #[test]
    fn parts_are_delimited() {
        assert_ne!(Hash128::of("t", &[b"ab", b"c"]), Hash128::of("t", &[b"a", b"bc"]));
    }

    #[test]
    fn times_round_trip() {
        let at = At::parse("2026-11-15T09:30:00Z").unwrap();
        assert_eq!(at.to_string(), "2026-11-15T09:30:00Z");
        assert_eq!(At::from_seconds(1.5), At(1_500_000));
        for at in [At(i64::MAX), At(i64::MIN), At(-1)] {
            assert_eq!(At::parse(&at.to_string()), Some(at));
        }
    }
}
