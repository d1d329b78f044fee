//! Laying out a turn's window: fold if it is time, let topics say what matters, fit; then record the fold.

use std::sync::Arc;

use super::Engine;
use super::folds::Folds;
use super::lanes::Lane;
use super::topics::Consulted;
use super::turn::Ask;
use crate::error::{Error, Result};
use crate::ids::{At, MessageId, SessionKey};
use crate::log::Received;
use crate::note::Fold;
use crate::store::Position;
use crate::strategy::Scene;
use crate::task;
use crate::window::{Budget, Reason, Window};

/// How often folding is tried again when another request folded the same branch meanwhile.
const TRIES: usize = 4;

/// A turn laid out.
pub(super) struct Laid {
    pub(super) lane: Lane,
    pub(super) window: Window,
    pub(super) consulted: Option<Consulted>,
    pub(super) quoted: Quoted,
    pub(super) asked: Vec<task::Asked>,
}

/// What a window quotes from topics.
#[derive(Clone, Debug, Default)]
pub(super) struct Quoted {
    /// How much room there was.
    pub(super) room: u32,
    pub(super) messages: Vec<MessageId>,
}

impl Engine {
    /// Lays out a lane. If another request has folded or held something meanwhile, what counts is read from the store.
    pub(super) async fn laid(
        &self,
        mut lane: Result<Lane>,
        ask: &Ask<'_>,
        (received, head): (&Received, Position),
        found: Option<&Consulted>,
    ) -> Result<Laid> {
        for _ in 1..TRIES {
            let laid = match lane {
                Ok(lane) => self.lay_out(lane, ask, received, found).await,
                Err(error) => Err(error),
            };
            if !matches!(laid, Err(Error::Conflict(_))) {
                return laid;
            }
            self.lanes.forget(Some(received.session.id));
            lane = self.load(ask, received, head, self.layout(ask.limit_tokens)).await;
        }
        self.lay_out(lane?, ask, received, found).await
    }

    /// Folds as often as the strategy wants to, then fits. Always ends, because every fold covers more of the path.
    async fn lay_out(
        &self,
        mut lane: Lane,
        ask: &Ask<'_>,
        received: &Received,
        found: Option<&Consulted>,
    ) -> Result<Laid> {
        let session = &received.session;
        self.settle(session, &lane).await?;
        self.shelve(session, &mut lane).await?;
        let hidden: u32 = lane.hidden_now().map(|(_, hidden)| hidden.tokens()).sum();
        let lessened = Budget { tokens: ask.budget.tokens.saturating_sub(hidden) };
        let at = ask.arrival.at;
        let (mut folded, asked) = self.folded(&mut lane, session, (lessened, at)).await?;
        let known = folded.clone().unwrap_or_else(|| Fold::clone(&lane.folded.fold));
        let consulted = match found {
            Some(found) => Some(found.clone()),
            None => self.consult(session, &mut lane, &known, at).await?,
        };
        let mut fitted = self.fitted(&lane, folded.as_ref(), consulted.as_ref(), (lessened, ask.budget));
        if fitted.is_err()
            && let Some(shorter) = self.relisted(&lane, folded.as_ref(), lessened)
        {
            fitted = self.fitted(&lane, Some(&shorter), consulted.as_ref(), (lessened, ask.budget));
            folded = Some(shorter);
        }
        let (window, quoted) = fitted?;
        // Nothing is recorded before it is known that the request can be answered.
        self.keep_shown(session, &lane, &window).await?;
        if let Some(fold) = folded {
            let folds = Folds { store: self.store(), session, layout: &lane.layout };
            let covered = (fold.open().0 - lane.folded.fold.open().0) as usize;
            let folded = folds.put(lane.head, &lane.folded, fold, ask.arrival.at).await?;
            lane.fold_to(folded, covered);
        }
        Ok(Laid { lane, window, consulted, quoted, asked })
    }

    /// The window over a fold, with what the client never saw put back, and what it quotes from topics.
    fn fitted(
        &self,
        lane: &Lane,
        fold: Option<&Fold>,
        consulted: Option<&Consulted>,
        (lessened, budget): (Budget, Budget),
    ) -> Result<(Window, Quoted)> {
        let mut scene = lane.scene_after(fold, lessened);
        let room = self.strategy.excerpt_room(&scene).unwrap_or(0);
        let excerpt = consulted.and_then(|consulted| self.excerpt_within(consulted, room));
        scene.topics.excerpt = excerpt.as_ref();
        let fitted = match self.strategy.fit(&scene) {
            Ok(window) => {
                let window = window.within(budget);
                lane.hidden_now().fold(window, |window, (id, hidden)| window.with_hidden(id, hidden))
            }
            // What was recalled earlier in the turn can be recalled again; the client's own messages cannot wait.
            Err(_) if lessened != budget => self.strategy.fit(&Scene { budget, ..scene })?,
            Err(error) => return Err(error),
        };
        let is_quoted = fitted.blocks().iter().any(|block| block.reason == Reason::Relevant);
        let messages = excerpt.filter(|_| is_quoted).map(|excerpt| excerpt.quoted).unwrap_or_default();
        Ok((fitted, Quoted { room, messages }))
    }

    /// A fold that was made for a larger window, with a shorter list.
    fn relisted(&self, lane: &Lane, fold: Option<&Fold>, budget: Budget) -> Option<Fold> {
        let scene = lane.scene_after(fold, budget);
        let original_tokens = scene.fold.original_tokens;
        let shorter = Fold { original_tokens, ..self.strategy.file(&scene, Vec::new()) };
        (shorter.tokens < scene.fold.tokens).then_some(shorter)
    }

    /// What the strategy wants to fold now, all of it in one, and what the helper was asked on the way.
    async fn folded(
        &self,
        lane: &mut Lane,
        session: &SessionKey,
        (budget, at): (Budget, At),
    ) -> Result<(Option<Fold>, Vec<task::Asked>)> {
        let (mut shelf, mut asked) = (lane.shelf.clone(), Vec::new());
        let (mut fold, mut open) = (None::<Fold>, &lane.open[..]);
        loop {
            let known = fold.as_ref().unwrap_or(&lane.folded.fold);
            let scene = Scene { fold: known, open, ..lane.scene(budget) };
            let stretches = self.strategy.fold(&scene);
            let Some(last) = stretches.last() else {
                lane.shelf = shelf;
                return Ok((fold, asked));
            };
            if self.sorts() {
                let shelf = Arc::make_mut(&mut shelf);
                asked.extend(self.sort_upto(session, (lane, shelf), last.covers.to, at).await?);
            }
            let scene = Scene { topics: shelf.topical(), ..scene };
            let counted = self.counted(session, known).await?;
            let notes = self.digested(session, &scene, &stretches).await?;
            let mut folded = self.strategy.file(&Scene { fold: &counted, ..scene }, notes);
            let (covered, rest) = open.split_at((folded.open().0 - known.open().0) as usize);
            folded.original_tokens =
                covered.iter().fold(known.original_tokens, |sum, leaf| sum.saturating_add(leaf.tokens()));
            open = rest;
            fold = Some(folded);
        }
    }
}
