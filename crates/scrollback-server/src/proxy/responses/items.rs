//! Where the items of conversations stand in the log, by their ids: what was looked through once is not read again, so
//! that a request costs what it names and what is new, however long its conversation is.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use scrollback::ids::Hash128;
use scrollback::store::{Beside, Place, Span, Store, Stored};
use scrollback::{MessageId, Result, SessionKey};

use super::referred::Named;

/// So many conversations are in mind at once.
const MOST_SESSIONS: usize = 64;
/// How many messages are looked through at once.
const AT_ONCE: usize = 512;

/// Of conversations that were asked about lately, the newest last.
#[derive(Default)]
pub(in crate::proxy) struct Items {
    known: Mutex<VecDeque<(SessionKey, Places)>>,
}

/// The places of a conversation's items.
struct Places {
    of: HashMap<Hash128, MessageId>,
    /// What was not looked through yet.
    from: MessageId,
}

impl Items {
    /// Items of a session by their ids, as far as its log has them; of two with one id, the newest.
    pub(super) async fn of(
        &self,
        store: &dyn Store,
        session: &SessionKey,
        ids: &[Cow<'_, str>],
    ) -> Result<Vec<Stored>> {
        loop {
            let (places, is_fresh) = self.looked_through(store, session).await?;
            let wanted: Vec<MessageId> = ids.iter().filter_map(|id| places.of.get(&hash(id)).copied()).collect();
            let count = wanted.len();
            let mut found = store.read(session, Span::Ids(wanted)).await?;
            found.retain(|stored| name(stored).is_some_and(|name| ids.contains(&name)));
            // Where something else stands, the session was erased and begun again.
            if found.len() == count || is_fresh {
                self.keep(session, places);
                return Ok(found);
            }
        }
    }

    /// What is in mind of a session, with what came since; whether nothing was.
    async fn looked_through(&self, store: &dyn Store, session: &SessionKey) -> Result<(Places, bool)> {
        let known = self.take(session);
        let is_fresh = known.is_none();
        let mut places = known.unwrap_or(Places { of: HashMap::new(), from: MessageId(0) });
        loop {
            let next = store.read(session, Span::Arrival { from: places.from, limit: AT_ONCE }).await?;
            let names = next.iter().filter_map(|stored| Some((hash(&name(stored)?), stored.id)));
            places.of.extend(names);
            if let Some(last) = next.last() {
                places.from = MessageId(last.id.0 + 1);
            }
            if next.len() < AT_ONCE {
                return Ok((places, is_fresh));
            }
        }
    }

    fn take(&self, session: &SessionKey) -> Option<Places> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.iter().position(|(key, _)| key == session)?;
        known.remove(place).map(|(_, places)| places)
    }

    fn keep(&self, session: &SessionKey, places: Places) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(key, _)| key != session);
        known.push_back((session.clone(), places));
        let over = known.len().saturating_sub(MOST_SESSIONS);
        known.drain(..over);
    }
}

fn hash(id: &str) -> Hash128 {
    Hash128::of("item", &[id.as_bytes()])
}

/// The id of a message, if it is an item that was said.
pub(super) fn name(stored: &Stored) -> Option<Cow<'_, str>> {
    let is_said = matches!(stored.place, Place::Path(_) | Place::Beside(Beside::Aside));
    Named::read(&stored.raw).says().filter(|_| is_said)
}
