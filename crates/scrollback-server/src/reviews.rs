//! The daily review while the proxy runs: asks now and then whether it is due, then reviews the conversations one by one.
//!
//! Turns never wait for it. Of several processes on one store, one does it; if that one stops on the way, another takes over.

use std::sync::Arc;
use std::time::Duration;

use scrollback::engine::{Daily, Fate, ReviewMode, ReviewReport};
use scrollback::recall::RecallTool;
use scrollback::store::{Session, Which};
use scrollback::{At, Engine, SessionKey, Tenant};

use crate::clock::now;

/// How often it is asked whether the review is due.
const EVERY: Duration = Duration::from_mins(5);
/// How many conversations are listed at once.
const PAGE: usize = 64;
const DAY_MICROSECONDS: i64 = 86_400_000_000;

/// When conversations are reviewed, and how far back.
pub(crate) struct Reviews {
    pub(crate) engine: Arc<Engine>,
    pub(crate) tenant: Tenant,
    /// The hour of the day, UTC.
    pub(crate) hour: u32,
    pub(crate) archive_days: u32,
}

impl Reviews {
    /// Reviews whenever it is due, until it is dropped. Does nothing where conversations are not sorted into topics.
    pub(crate) async fn run(self) {
        if !self.engine.tools().contains(&RecallTool::Topic) {
            return std::future::pending().await;
        }
        loop {
            if let Err(error) = self.review_if_due().await {
                tracing::error!("the daily review failed and is tried again: {error}");
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    async fn review_if_due(&self) -> scrollback::Result<()> {
        let daily: Daily<'_> = self.engine.daily_review(&self.tenant, self.hour);
        let Some(mut claim) = daily.due(now()).await? else { return Ok(()) };
        let since = claim.last.map(|last| At(last.0 - (i64::from(self.archive_days) + 2) * DAY_MICROSECONDS));
        let mut skip = 0;
        loop {
            let page = self.engine.log().store().sessions(&self.tenant, Which::Page { skip, limit: PAGE }).await?;
            for session in page.iter().filter(|session| since.is_none_or(|since| session.last >= since)) {
                self.review(session).await;
                // Somebody else has it by now.
                let Some(renewed) = daily.renewed(claim, now()).await? else { return Ok(()) };
                claim = renewed;
            }
            if page.len() < PAGE {
                break;
            }
            skip += PAGE;
        }
        daily.done(claim, now()).await
    }

    /// Reviews one conversation. What goes wrong there does not keep the others from it.
    async fn review(&self, session: &Session) {
        let Some(branch) = session.branches.iter().max_by_key(|branch| branch.head.id) else { return };
        let key = SessionKey { tenant: self.tenant.clone(), id: session.id };
        match self.engine.review(&key, branch.head, now(), ReviewMode::Do).await {
            Ok(report) if report.verdicts.is_empty() => {}
            Ok(report) => tracing::info!("reviewed {}: {}", session.id, told(&report)),
            Err(error) => tracing::warn!("{} could not be reviewed: {error}", session.id),
        }
    }
}

/// A review in a line.
fn told(report: &ReviewReport) -> String {
    let count = |is_it: fn(&Fate) -> bool| report.verdicts.iter().filter(|verdict| is_it(&verdict.fate)).count();
    let kept = count(|fate| matches!(fate, Fate::Kept));
    let merged = count(|fate| matches!(fate, Fate::Merged(_)));
    let archived = count(|fate| matches!(fate, Fate::Archived));
    let skipped = count(|fate| matches!(fate, Fate::Skipped));
    format!("{kept} kept, {merged} merged, {archived} archived, {skipped} skipped, {} left for next time", report.left)
}
