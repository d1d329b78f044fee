//! Results that another node erases while a turn or its chores have them in hand: what was written of them since is
//! taken out again.
//!
//! Whoever erases looks through all notes once the words are gone; whoever wrote notes then looks whether what they
//! tell of is still said. Changes of a session come one after the other, so that one of both sees what the other did.

use std::collections::HashSet;
use std::sync::Arc;

use super::unquote;
use crate::engine::Engine;
use crate::engine::lanes::Lane;
use crate::error::Result;
use crate::ids::{MessageId, SessionKey};
use crate::store::{Origin, Span, Stint, Stored};

impl Lane {
    /// The open messages that bring results, as they were read.
    pub(in crate::engine) fn results(&self) -> Vec<Arc<Stored>> {
        let brings = self.open.iter().filter(|leaf| leaf.answers && leaf.stored.origin != Origin::Erased);
        brings.map(|leaf| leaf.stored.clone()).collect()
    }
}

impl Engine {
    /// Takes out of all notes what results said that were erased since a lane was read, after notes were written of it.
    pub(in crate::engine) async fn unquote_erased(
        &self,
        session: &SessionKey,
        lane: &Lane,
        read: &[Arc<Stored>],
    ) -> Result<()> {
        if read.is_empty() || lane.stint == Stint::Alone {
            return Ok(());
        }
        if self.log.stint(session, lane.head.node_ref()).await?.lasts_since(lane.stint) {
            return Ok(());
        }
        let now = self.store().read(session, Span::Ids(read.iter().map(|stored| stored.id).collect())).await?;
        let gone = now.iter().filter(|stored| stored.origin == Origin::Erased).map(|stored| stored.id);
        let gone: HashSet<MessageId> = gone.collect();
        let said = read.iter().filter(|stored| gone.contains(&stored.id)).map(|stored| Stored::clone(stored));
        let said: Vec<Stored> = said.collect();
        let results: Vec<MessageId> = said.iter().map(|stored| stored.id).collect();
        if results.is_empty() {
            return Ok(());
        }
        let outcome = unquote(self.store(), session, &results, &said).await;
        self.lanes.forget(Some(session.id));
        outcome
    }
}
