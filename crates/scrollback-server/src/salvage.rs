//! What can be read of a store that is damaged: everything but what is not as it was written, and which messages those
//! are.
//!
//! For people who save or look at what is there. A window has a sentence in the place of each instead: a model must not
//! miss what nobody left out.

use scrollback::store::{Lineage, Origin, Position, Session, Span, Stored, Which};
use scrollback::{Error, MessageId, Result, SessionKey, Store, Tenant};

/// So many sessions in a row that cannot be read are taken for a list that cannot.
const GIVE_UP: usize = 100;

/// The messages of a session, as far as they can be read.
pub(crate) struct Salvage {
    /// Those that can, in order of arrival.
    pub(crate) messages: Vec<Stored>,
    /// Those that cannot.
    pub(crate) lost: Vec<MessageId>,
}

impl Salvage {
    /// The messages on the path of a head.
    pub(crate) fn path(&self, session: &Session, head: Position) -> Vec<Stored> {
        let lineage = Lineage::of(head, &session.branches);
        self.messages.iter().filter(|stored| lineage.holds(&stored.place)).cloned().collect()
    }
}

/// The first `count` messages of a session: all at once, and only where that fails in smaller and smaller parts.
pub(crate) async fn messages(store: &dyn Store, key: &SessionKey, count: u32) -> Result<Salvage> {
    let mut messages: Vec<Stored> = Vec::new();
    let mut waiting = vec![(0, count)];
    while let Some((from, beyond)) = waiting.pop() {
        let span = Span::Arrival { from: MessageId(from), limit: (beyond - from) as usize };
        match store.read(key, span).await {
            // Where a row is missing, one from behind the part comes in its place.
            Ok(read) => messages.extend(read.into_iter().filter(|stored| stored.id.0 < beyond && is_sound(stored))),
            Err(Error::Damaged(_)) if beyond - from > 1 => {
                let middle = u32::midpoint(from, beyond);
                waiting.extend([(middle, beyond), (from, middle)]);
            }
            Err(Error::Damaged(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let is_lost = |id: &MessageId| messages.binary_search_by_key(id, |stored| stored.id).is_err();
    let lost = (0..count).map(MessageId).filter(is_lost).collect();
    Ok(Salvage { messages, lost })
}

/// Whether a message is what was written.
pub(crate) fn is_sound(stored: &Stored) -> bool {
    stored.origin != Origin::Damaged
}

/// All sessions of a tenant, newest first, and what is wrong with those that cannot be listed.
pub(crate) async fn sessions(store: &dyn Store, tenant: &Tenant) -> Result<(Vec<Session>, Vec<String>)> {
    page(store, tenant, (0, usize::MAX >> 1)).await
}

/// The same of a page of them: how many are passed over, and how many it has.
pub(crate) async fn page(
    store: &dyn Store,
    tenant: &Tenant,
    (skip, limit): (usize, usize),
) -> Result<(Vec<Session>, Vec<String>)> {
    match store.sessions(tenant, Which::Page { skip, limit }).await {
        Err(Error::Damaged(_)) => one_by_one(store, tenant, (skip, limit)).await,
        listed => Ok((listed?, Vec::new())),
    }
}

async fn one_by_one(
    store: &dyn Store,
    tenant: &Tenant,
    (skip, limit): (usize, usize),
) -> Result<(Vec<Session>, Vec<String>)> {
    let (mut sessions, mut damaged, mut in_a_row) = (Vec::new(), Vec::new(), 0);
    for skip in (skip..).take(limit) {
        match store.sessions(tenant, Which::Page { skip, limit: 1 }).await {
            Ok(page) if page.is_empty() => break,
            Ok(page) => {
                sessions.extend(page);
                in_a_row = 0;
            }
            Err(Error::Damaged(what)) if in_a_row < GIVE_UP => {
                damaged.push(what);
                in_a_row += 1;
            }
            Err(error) => return Err(error),
        }
    }
    Ok((sessions, damaged))
}
