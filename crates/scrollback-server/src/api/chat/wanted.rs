//! What a person asks for: a message, and where it goes on.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use schemars::JsonSchema;
use scrollback::ids::Hash128;
use scrollback::store::{Span, Stored};
use scrollback::strategy::StrategyName;
use scrollback::{MessageId, Role, SessionId, SessionKey};
use serde::Deserialize;

use crate::api::place::{branch, message_id};
use crate::api::{Refusal, Room};
use crate::clock::now;
use crate::proxy::{Place, Proxy};

/// What stands for the place before the first message.
const START: &str = "start";
/// How names begin that are drawn for sessions nobody named, and how many digits follow.
const DRAWN: &str = "chat-";
const DRAWN_DIGITS: usize = 20;

/// A message to be answered.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ChatWanted")]
pub(in crate::api) struct Wanted {
    /// The session it goes on with; a new one if none is named.
    #[serde(default)]
    session: Option<String>,
    pub(super) message: String,
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) upstream: Option<String>,
    #[serde(default)]
    strategy: Option<String>,
    #[serde(default)]
    branch: Option<u32>,
    #[serde(default)]
    after: Option<String>,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default = "yes")]
    pub(super) stream: bool,
}

fn yes() -> bool {
    true
}

/// What was said, if anything was.
pub(super) fn said(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim()).filter(|text| !text.is_empty())
}

impl Wanted {
    /// Where it goes on.
    pub(super) async fn place(&self, room: &Room, proxy: &Proxy) -> Result<Place, Refusal> {
        if self.message.trim().is_empty() {
            return Err(Refusal::invalid("the message is empty: write something to be answered"));
        }
        let Some(name) = said(self.session.as_ref()) else {
            if self.branch.is_some() || said(self.after.as_ref()).is_some() {
                return Err(Refusal::invalid("name the session that “branch” or “after” is about"));
            }
            return Ok(Place::New(format!("{DRAWN}{}", drawn())));
        };
        let id = room.session(name).await?.0.id;
        if said(self.strategy.as_ref()).is_some() {
            let what =
                format!("the session “{name}” is laid out already: PUT /api/sessions/{name}/strategy changes that");
            return Err(Refusal::invalid(what));
        }
        proxy.settled_in(id).await;
        let (session, key) = room.session(&id.to_string()).await?;
        let message = match said(self.after.as_ref()) {
            Some(START) => None,
            Some(after) => Some(self.named(room, &key, message_id(after)?).await?),
            None => match branch(&session, self.branch)? {
                Some(branch) => self.next(room, &key, branch.head.id).await?,
                None => None,
            },
        };
        Ok(Place::After(key.id, message))
    }

    /// A message that a person names to go on from.
    async fn named(&self, room: &Room, key: &SessionKey, id: MessageId) -> Result<MessageId, Refusal> {
        let stored = read(room, key, id).await?;
        let stored = stored.filter(|stored| stored.position().is_some());
        let unknown = || Refusal::not_found(format!("the session says nothing in {id}: name another message"));
        let stored = stored.ok_or_else(unknown)?;
        if stored.message().makes_call() {
            return Err(Refusal::invalid(format!(
                "{id} calls a tool and waits for its result: go on from a later message"
            )));
        }
        Ok(stored.id)
    }

    /// The message that this one goes on from, at the end of a branch: whoever says once more what was not answered
    /// says it only once.
    async fn next(&self, room: &Room, key: &SessionKey, head: MessageId) -> Result<Option<MessageId>, Refusal> {
        let last = read(room, key, head).await?;
        Ok(last.filter(|last| self.is(last)).map_or(Some(head), |last| last.parent))
    }

    /// Whether it is kept in a session, where it is the last that was said.
    pub(super) async fn is_kept(&self, room: &Room, session: SessionId) -> Result<bool, Refusal> {
        let (session, key) = room.session(&session.to_string()).await?;
        // What follows a message further back begins a branch, which is the newest.
        let number = self.branch.filter(|_| said(self.after.as_ref()).is_none());
        let Some(end) = branch(&session, number)? else { return Ok(false) };
        Ok(read(room, &key, end.head.id).await?.is_some_and(|last| self.is(&last)))
    }

    fn is(&self, stored: &Stored) -> bool {
        stored.role == Role::User && stored.message().to_text() == self.message
    }

    /// How windows of a new session are laid out, if the person says.
    pub(super) fn strategy(&self) -> Result<Option<StrategyName>, Refusal> {
        let named = said(self.strategy.as_ref()).filter(|name| *name != "default");
        Ok(named.map(str::parse).transpose()?)
    }

    /// What a new session begins with.
    pub(super) fn instructions<'a>(&'a self, place: &Place, usual: &'a str) -> Result<Option<&'a str>, Refusal> {
        match place {
            Place::New(_) => Ok(said(self.instructions.as_ref()).or(Some(usual)).filter(|text| !text.is_empty())),
            Place::After(..) if said(self.instructions.as_ref()).is_some() => {
                Err(Refusal::invalid("instructions are for a new session: leave “session” out to begin one"))
            }
            Place::After(..) => Ok(None),
        }
    }
}

async fn read(room: &Room, key: &SessionKey, id: MessageId) -> Result<Option<Stored>, Refusal> {
    Ok(room.engine.log().store().read(key, Span::Ids(vec![id])).await?.pop())
}

/// A name that no other session has, in this process or another.
fn drawn() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let (time, process, number) = (now().0, std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    // What the standard library seeds its maps with comes from the system's own randomness.
    let seed = RandomState::new().build_hasher().finish();
    let parts: [&[u8]; 4] = [&time.to_le_bytes(), &process.to_le_bytes(), &number.to_le_bytes(), &seed.to_le_bytes()];
    Hash128::of("chat", &parts).to_string()[..DRAWN_DIGITS].to_owned()
}

/// Whether a session's name was drawn here because nobody named it: it tells people nothing.
pub(crate) fn is_drawn(name: &str) -> bool {
    let digits = name.strip_prefix(DRAWN);
    digits.is_some_and(|digits| digits.len() == DRAWN_DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_names_are_the_same() {
        let names: std::collections::BTreeSet<String> = (0..1_000).map(|_| drawn()).collect();
        assert_eq!(names.len(), 1_000);
    }
}
