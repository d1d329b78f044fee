//! What a request would be in the log, with nothing stored.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::after::Told;
use super::align::{self, Asker};
use super::strand::draft;
use super::{After, Arrival, History, Log, Outcome};
use crate::error::Result;
use crate::ids::SessionKey;
use crate::message::Message;
use crate::store::{Beside, Position, Stored, node_beside};

/// A request that was looked at.
pub(crate) struct Foreseen {
    pub(crate) session: SessionKey,
    /// The last message that is known.
    pub(crate) base: Option<Position>,
    /// What comes after it, reasoning included.
    pub(crate) fresh: Vec<Message>,
    /// Its instructions; `None` if those of the turn before go on.
    pub(crate) preamble: Option<Vec<Arc<Stored>>>,
}

impl Log {
    /// Whether a whole history goes on from what is in the log, with nothing changed or left out; not if nobody can
    /// tell.
    pub fn continues<'a>(&'a self, arrival: Arrival<'a>, history: &'a History<'a>) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let aligned = align::align(&*self.store, &self.recent, Asker::of(&arrival), history).await;
            aligned.is_ok_and(|aligned| matches!(aligned.outcome, Outcome::Replay | Outcome::Continue))
        })
    }

    /// Looks where a request belongs.
    pub(crate) async fn foresee(
        &self,
        arrival: Arrival<'_>,
        after: Option<After<'_>>,
        history: &History<'_>,
    ) -> Result<Foreseen> {
        match after {
            None => self.foresee_whole(arrival, history).await,
            Some(after) => self.foresee_new(arrival, after, history).await,
        }
    }

    async fn foresee_whole(&self, arrival: Arrival<'_>, history: &History<'_>) -> Result<Foreseen> {
        let asker = Asker::of(&arrival);
        let aligned = align::align(&*self.store, &self.recent, asker, history).await?;
        let mut links: Vec<_> = aligned.fresh.into_iter().chain(aligned.asides).collect();
        links.sort_by_key(|link| link.index);
        let instructions = (0..history.preamble).map(|index| history.message(index)).collect();
        Ok(Foreseen {
            session: SessionKey { tenant: arrival.tenant.clone(), id: aligned.session },
            base: aligned.base,
            fresh: links.into_iter().map(|link| link.message).collect(),
            preamble: Some(unplaced(arrival, instructions)),
        })
    }

    async fn foresee_new(&self, arrival: Arrival<'_>, after: After<'_>, history: &History<'_>) -> Result<Foreseen> {
        let (session, base) = self.resolve(arrival.tenant, after).await?;
        let told = Told::read(&history.whole()?, base.is_some());
        let replays = self.replays(after, &session, base, &told.messages).await?;
        let messages = |told: Vec<(usize, Message)>| told.into_iter().map(|(_, message)| message);
        let own = history.heads().is_some() || !told.preamble.is_empty();
        Ok(Foreseen {
            session,
            base,
            fresh: messages(told.messages).filter(|_| !replays).collect(),
            preamble: own.then(|| unplaced(arrival, messages(told.preamble).collect())),
        })
    }
}

/// Instructions as they would be stored.
fn unplaced(arrival: Arrival<'_>, messages: Vec<Message>) -> Vec<Arc<Stored>> {
    let stored = |message: Message| {
        let node = node_beside(Beside::Preamble, &message);
        Arc::new(draft(arrival, arrival.at, node, message).unplaced())
    };
    messages.into_iter().map(stored).collect()
}
