//! A look at what a request would be shown, for counting: nothing is stored, folded or kept in mind.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::control::Folding;
use super::lanes::Lane;
use super::lay::Budgets;
use super::turn::Ask;
use super::{BOUNDLESS, Engine};
use crate::error::{Error, Result};
use crate::ids::SessionKey;
use crate::message::Message;
use crate::store::Position;
use crate::strategy::Leaf;
use crate::window::{Budget, Window};

/// What is known of a request, and what is new in it.
#[derive(Debug)]
pub struct Preview {
    /// The window of the place it continues, with its own instructions; `None` if nothing is known.
    pub window: Option<Window>,
    /// Its messages beyond that; all, if nothing is known.
    pub fresh: Vec<Message>,
}

impl Engine {
    /// Looks at a request as if it were to be answered; `None` if it holds no message and follows none.
    pub fn preview<'a>(&'a self, ask: &'a Ask<'a>) -> BoxFuture<'a, Result<Option<Preview>>> {
        Box::pin(async move {
            if ask.history.is_empty() && ask.after.is_none() {
                return Ok(None);
            }
            let seen = self.log.foresee(ask.arrival, ask.after, ask.history).await?;
            let Some(base) = seen.base else {
                let instructions = seen.preamble.iter().flatten().map(|stored| stored.message());
                return Ok(Some(Preview { window: None, fresh: instructions.chain(seen.fresh).collect() }));
            };
            let controls = ask.governed(self.controls(&seen.session).await?);
            let ask = self.bounded(ask, &controls);
            let layout = self.layout_with(&controls, ask.limit_tokens);
            let mut lane = self.lane_seen(&ask, &seen.session, base, &layout).await?;
            if let Some(preamble) = seen.preamble {
                lane.preamble = preamble;
            }
            if seen.fresh.iter().any(Message::begins_turn) {
                lane.hidden.clear();
            }
            let window = self.window_seen(&lane, ask.budget)?;
            Ok(Some(Preview { window: Some(window), fresh: seen.fresh }))
        })
    }

    /// The lane that ends in `base`, with all that its window needs.
    async fn lane_seen(&self, ask: &Ask<'_>, session: &SessionKey, base: Position, layout: &Arc<str>) -> Result<Lane> {
        let (model, budget, recalls) = (ask.arrival.model, ask.budget, ask.recalls);
        let folding = Folding { session, head: base, layout, model, budget, recalls };
        let mut lane = match self.in_mind(session, base, layout).await? {
            Some(lane) => lane.apart(&self.settings.strategies.holds),
            None => self.lane_unfolded(&folding).await?,
        };
        (lane.model, lane.recalls, lane.reserved) = (ask.arrival.model.into(), ask.recalls, ask.reserved);
        self.settle(session, &lane).await?;
        self.shelve(session, &mut lane).await?;
        self.decide(session, &mut lane).await?;
        Ok(lane)
    }

    /// The window over a lane as it is. What does not fit is shown all the same: it is to be counted.
    fn window_seen(&self, lane: &Lane, budget: Budget) -> Result<Window> {
        match self.fit(lane, None, None, Budgets::of(lane, budget)) {
            Ok(fitted) => Ok(fitted.window),
            Err(Error::TooLarge(_)) => {
                let boundless = Budget { tokens: BOUNDLESS };
                let budgets = Budgets { whole: boundless, shown: boundless };
                self.fit(lane, None, None, budgets).map(|fitted| fitted.window)
            }
            Err(error) => Err(error),
        }
    }
}

impl Lane {
    /// The same with open messages of its own: what is said of large results while looking is not settled.
    fn apart(mut self, holds: &crate::strategy::HoldSettings) -> Self {
        let mut open: Vec<Arc<Leaf>> = Vec::with_capacity(self.open.len());
        for leaf in &self.open {
            let own = Leaf::new(leaf.stored.clone(), &open, holds).with_asides(leaf.asides.clone());
            open.push(Arc::new(own));
        }
        self.open = open;
        self
    }
}
