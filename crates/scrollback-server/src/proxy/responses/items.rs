//! Where the items of conversations stand in the log, by their ids: what was looked through once is not read again, so
//! that a request costs what it names and what is new, however long its conversation is.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, VecDeque};
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
#[derive(Default)]
struct Places {
    of: HashMap<Hash128, MessageId>,
    /// The message that was looked through last, and what it says: where something else stands now, the session was
    /// erased and begun again.
    last: Option<(MessageId, Hash128)>,
}

impl Items {
    /// Items of a session by their ids, as far as its log has them; of two with one id, the newest.
    pub(super) async fn of(
        &self,
        store: &dyn Store,
        session: &SessionKey,
        ids: &[Cow<'_, str>],
    ) -> Result<Vec<Stored>> {
        let known = self.take(session).unwrap_or_default();
        let known = if still_holds(store, session, &known).await? { known } else { Places::default() };
        let places = looked_through(store, session, known).await?;
        let wanted: BTreeSet<MessageId> = ids.iter().filter_map(|id| places.of.get(&hash(id)).copied()).collect();
        let found = store.read(session, Span::Ids(Vec::from_iter(wanted))).await?;
        self.keep(session, places);
        Ok(found)
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

/// What is in mind of a session, with what came since.
async fn looked_through(store: &dyn Store, session: &SessionKey, mut places: Places) -> Result<Places> {
    loop {
        let from = places.last.map_or(MessageId(0), |(last, _)| MessageId(last.0 + 1));
        let next = store.read(session, Span::Arrival { from, limit: AT_ONCE }).await?;
        places.of.extend(next.iter().filter_map(|stored| Some((hash(&name(stored)?), stored.id))));
        places.last = next.last().map(|last| (last.id, hash(last.raw.get()))).or(places.last);
        if next.len() < AT_ONCE {
            return Ok(places);
        }
    }
}

async fn still_holds(store: &dyn Store, session: &SessionKey, known: &Places) -> Result<bool> {
    let Some((last, said)) = known.last else { return Ok(true) };
    let now = store.read(session, Span::Ids(vec![last])).await?.pop();
    Ok(now.is_some_and(|now| hash(now.raw.get()) == said))
}

fn hash(text: &str) -> Hash128 {
    Hash128::of("item", &[text.as_bytes()])
}

/// The id of a message, if it is an item that was said.
pub(super) fn name(stored: &Stored) -> Option<Cow<'_, str>> {
    let is_said = matches!(stored.place, Place::Path(_) | Place::Beside(Beside::Aside));
    Named::read(&stored.raw).says().filter(|_| is_said)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use scrollback::log::{Arrival, History};
    use scrollback::{At, Forget, Log, MemoryStore, Tenant};

    use super::*;

    /// A conversation in which these were said, and what is found of it.
    async fn check(log: &Log, store: &MemoryStore, items: &Items, (said, asked): (&[&str], &[&str]), found: &[&str]) {
        let item = |id: &&str| format!(r#"{{"type":"message","role":"assistant","id":"{id}","content":"{id} it is"}}"#);
        let said: Vec<String> = said.iter().map(item).collect();
        let text = format!(r#"[{{"role":"user","content":"Look."}},{}]"#, said.join(","));
        let (tenant, history) = (Tenant::local(), History::parse(&text).unwrap());
        let received = log.receive(Arrival::new(&tenant, Some("a"), "gpt-5", At(0)), &history).await.unwrap();
        let ids: Vec<_> = asked.iter().map(|id| Cow::Borrowed(*id)).collect();
        let stored = items.of(store, &received.session, &ids).await.unwrap();
        let names: Vec<_> = stored.iter().filter_map(name).collect();
        assert_eq!(names, found, "{asked:?}");
    }

    #[tokio::test]
    async fn items_are_found_as_they_come_and_after_their_session_began_again() {
        let (store, items) = (Arc::new(MemoryStore::default()), Items::default());
        let log = Log::new(store.clone());
        check(&log, &store, &items, (&["one"], &["one", "one", "two"]), &["one"]).await;
        check(&log, &store, &items, (&["one", "two"], &["two", "one"]), &["one", "two"]).await;
        let key = items.known.lock().unwrap()[0].0.clone();
        let last = items.known.lock().unwrap()[0].1.last.unwrap();
        assert_eq!(last.0, MessageId(2), "what was looked through is not read again");
        for said in [&["three"][..], &["four", "five", "six"]] {
            store.forget(&key).await.unwrap();
            check(&Log::new(store.clone()), &store, &items, (said, &["one", said[0]]), &said[..1]).await;
        }
    }
}
