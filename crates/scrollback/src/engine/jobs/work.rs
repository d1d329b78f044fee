//! Does queued work: what a turn left for later, and messages nobody has looked through for rules.

use futures_util::future::BoxFuture;

use super::super::Engine;
use super::job::{Claimed, Job, JobKind};
use crate::engine::control::Folding;
use crate::engine::tidy::Upkeep;
use crate::error::Result;
use crate::ids::{At, SessionKey, Tenant};
use crate::store::Position;
use crate::window::Budget;

impl Engine {
    /// Does work that was claimed; for a session that was erased there is nothing to do. An error means that it may be
    /// tried again.
    pub fn work<'a>(&'a self, claimed: &'a Claimed, at: At) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let (session, job) = (claimed.session(), &claimed.job);
            // The end of the path that it is for, as it is now.
            let Some(head) = self.store().end_of(&session, job.head.branch).await? else { return Ok(()) };
            match job.kind {
                JobKind::Tidy => self.tidy_now(&session, job, head, at).await,
                JobKind::Rules => self.look_through_gaps(&session, head, at).await,
                JobKind::Embed => self.embed_session(&session, at).await,
                JobKind::Tell => self.tell_unread(folding(&session, job, head), at).await,
            }
        })
    }

    /// Does all the work that is due, one piece after another; for programs that have no runner of their own.
    pub fn work_through<'a>(&'a self, tenant: &'a Tenant, at: At) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            while let Some(claimed) = self.claim(tenant, at).await? {
                match self.work(&claimed, at).await {
                    Ok(()) => self.done(claimed, at).await?,
                    Err(error) => self.failed(claimed, &error.to_string(), at).await?,
                }
            }
            Ok(())
        })
    }

    async fn tidy_now(&self, session: &SessionKey, job: &Job, head: Position, at: At) -> Result<()> {
        let folding = folding(session, job, head);
        let lane = match self.in_mind(session, head, &folding.layout.into()).await? {
            Some(mut lane) => {
                // The person may have decided otherwise since.
                self.decide(session, &mut lane).await?;
                lane
            }
            None => self.lane_at(folding, at).await?,
        };
        self.tidy_lane(&Upkeep { session, lane: &lane, budget: folding.budget, at }).await
    }
}

/// Where some work folds.
fn folding<'a>(session: &'a SessionKey, job: &'a Job, head: Position) -> Folding<'a> {
    let (layout, model, budget) = (&*job.layout, &*job.model, Budget { tokens: job.budget });
    Folding { session, head, layout, model, budget, recalls: job.recalls }
}
