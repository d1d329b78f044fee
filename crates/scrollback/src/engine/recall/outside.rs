//! Recall by a model whose window is not at hand: because its client sends what we lay out, or because it is not in the
//! conversation at all, such as a client of MCP. What a person wants left out stays out.

use futures_util::future::BoxFuture;

use super::{ROOM, Sight};
use crate::engine::Engine;
use crate::engine::folds::Folds;
use crate::error::Result;
use crate::ids::{Depth, MessageId, SessionKey};
use crate::note::{Covers, Fold};
use crate::recall::RecallCall;
use crate::store::Position;

/// The room of a recall by a model elsewhere, in tokens: what clients pass on whole.
const OUTSIDE: u32 = 20_000;

impl Engine {
    /// What a model at the end of a path is told, whoever passes on its call.
    pub fn recall_for_model<'a>(
        &'a self,
        session: &'a SessionKey,
        head: Position,
        fold: &'a Fold,
        call: &'a RecallCall,
    ) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let excluded = &self.controls(session).await?.excluded;
            let sight = Sight { session, head, fold, window: None, excluded, is_person: false, sorted: true };
            self.looked_up(&sight, call, ROOM, &mut Vec::new()).await.map(|answered| answered.text)
        })
    }

    /// Whether a summary of this name (`s60` is named after m60) was ever shown in windows of a session. A model is told
    /// what one would cover all the same; a person had better know that there was none.
    pub fn had_summary<'a>(&'a self, session: &'a SessionKey, last: MessageId) -> BoxFuture<'a, Result<bool>> {
        Box::pin(Folds::had_summary(self.store(), session, last))
    }

    /// What a model elsewhere is told of the path that ends in `head`. It has no window of it, so that every page is as
    /// far away as a folded one.
    pub fn recall_from_outside<'a>(
        &'a self,
        session: &'a SessionKey,
        head: Position,
        fold: &'a Fold,
        call: &'a RecallCall,
    ) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let excluded = self.controls(session).await?.excluded;
            let fold = behind(fold, head);
            let sight =
                Sight { session, head, fold: &fold, window: None, excluded: &excluded, is_person: false, sorted: true };
            self.looked_up(&sight, call, OUTSIDE, &mut Vec::new()).await.map(|answered| answered.text)
        })
    }
}

/// The same notes, with all of the path behind the reader.
fn behind(fold: &Fold, head: Position) -> Fold {
    let whole = Covers { first: MessageId(0), from: Depth(0), last: head.id, to: head.depth };
    Fold { covers: Some(whole), ..fold.clone() }
}
