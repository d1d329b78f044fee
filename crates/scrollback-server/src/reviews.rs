//! The daily review while the proxy runs: asks now and then whether it is due, then reviews the conversations one by
//! one.
//!
//! Turns never wait for it. Of several processes on one store, one does it; if that one stops on the way, another takes
//! over.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use scrollback::engine::{Daily, Fate, ReviewMode, ReviewReport};
use scrollback::store::{Session, Which};
use scrollback::{At, Engine, SessionId, SessionKey, Tenant};

use crate::access::Tokens;
use crate::clock::now;

/// How often it is asked whether the review is due.
const EVERY: Duration = Duration::from_mins(5);
/// How many conversations are listed at once.
const PAGE: usize = 64;
const DAY_MICROSECONDS: i64 = 86_400_000_000;

/// When conversations are reviewed, and how far back.
pub(crate) struct Reviews {
    pub(crate) engine: Arc<Engine>,
    /// Whoever has a token, and the person at this machine.
    pub(crate) tokens: Arc<Tokens>,
    /// The hour of the day, UTC.
    pub(crate) hour: u32,
    pub(crate) archive_days: u32,
}

impl Reviews {
    /// Reviews whenever it is due, until it is dropped. Any conversation may be sorted into topics, whatever the settings
    /// say of others; where one is not, there is nothing to do.
    pub(crate) async fn run(self) {
        loop {
            for tenant in self.tokens.tenants() {
                if let Err(error) = self.review_if_due(&tenant).await {
                    tracing::error!("the daily review failed and is tried again: {error}");
                }
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    async fn review_if_due(&self, tenant: &Tenant) -> scrollback::Result<()> {
        let daily: Daily<'_> = self.engine.daily_review(tenant, self.hour);
        let Some(mut claim) = daily.due(now()).await? else { return Ok(()) };
        let since = claim.last.map(|last| At(last.0 - (i64::from(self.archive_days) + 2) * DAY_MICROSECONDS));
        for session in self.listed(tenant, since).await? {
            if let Some(session) = self.engine.log().store().sessions(tenant, Which::Id(session)).await?.pop() {
                self.review(tenant, &session).await;
            }
            // Somebody else has it by now.
            let Some(renewed) = daily.renewed(claim, now()).await? else { return Ok(()) };
            claim = renewed;
        }
        daily.done(claim, now()).await
    }

    /// The conversations in which something was said since, which are listed before all others. All are listed before
    /// the first is reviewed: what is said meanwhile changes their order.
    async fn listed(&self, tenant: &Tenant, since: Option<At>) -> scrollback::Result<BTreeSet<SessionId>> {
        let mut listed = BTreeSet::new();
        for skip in (0..).step_by(PAGE) {
            let page = self.engine.log().store().sessions(tenant, Which::Page { skip, limit: PAGE }).await?;
            let mut recent = page.iter().filter(|session| since.is_none_or(|since| session.last >= since)).peekable();
            let is_last = page.len() < PAGE || recent.peek().is_none();
            listed.extend(recent.map(|session| session.id));
            if is_last {
                break;
            }
        }
        Ok(listed)
    }

    /// Reviews one conversation. What goes wrong there does not keep the others from it.
    async fn review(&self, tenant: &Tenant, session: &Session) {
        let Some(branch) = session.branches.iter().max_by_key(|branch| branch.head.id) else { return };
        let key = SessionKey { tenant: tenant.clone(), id: session.id };
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use scrollback::engine::EngineSettings;
    use scrollback::ids::{Depth, NodeId};
    use scrollback::log::{Arrival, History, Log};
    use scrollback::search::Probe;
    use scrollback::store::{Batch, Committed, Keys, Kind, Known, Matches, Record, Scope, Span, Stored};
    use scrollback::task::Tasks;
    use scrollback::{MemoryStore, Result, Store};

    use super::*;

    /// A store in which something is said in the oldest conversation as soon as the first is reviewed.
    struct Lively {
        store: Arc<MemoryStore>,
        reviewed: Mutex<BTreeSet<SessionId>>,
        pages: Mutex<usize>,
    }

    async fn say(store: Arc<MemoryStore>, name: &str, at: At) {
        let text = format!(r#"[{{"role":"user","content":"{name} {}"}}]"#, at.0);
        let history = History::parse(&text).unwrap();
        let tenant = Tenant::local();
        Log::new(store).receive(Arrival::new(&tenant, Some(name), "gpt-5", at), &history).await.unwrap();
    }

    #[async_trait]
    impl Store for Lively {
        async fn commit(&self, batch: Batch) -> Result<Committed> {
            self.store.commit(batch).await
        }

        async fn prefix(&self, session: &SessionKey, from: Depth, chain: Vec<NodeId>) -> Result<Option<Known>> {
            self.store.prefix(session, from, chain).await
        }

        async fn read(&self, session: &SessionKey, span: Span) -> Result<Vec<Stored>> {
            self.store.read(session, span).await
        }

        async fn matching(&self, tenant: &Tenant, probe: Probe) -> Result<Matches> {
            self.store.matching(tenant, probe).await
        }

        async fn records(&self, scope: &Scope, kind: Kind, keys: Keys) -> Result<Vec<Record>> {
            self.store.records(scope, kind, keys).await
        }

        async fn sessions(&self, tenant: &Tenant, which: Which) -> Result<Vec<Session>> {
            if let Which::Id(id) = which {
                let is_first = self.reviewed.lock().unwrap().is_empty();
                self.reviewed.lock().unwrap().insert(id);
                if is_first {
                    say(self.store.clone(), "talk 0", At(9_000_000_000)).await;
                }
            } else {
                *self.pages.lock().unwrap() += 1;
            }
            self.store.sessions(tenant, which).await
        }
    }

    /// Reviews of so many conversations, of which one began each minute.
    async fn lively(count: usize) -> (Arc<Lively>, Reviews) {
        let memory = Arc::new(MemoryStore::default());
        for i in 0..count {
            say(memory.clone(), &format!("talk {i}"), At(i64::try_from(i).unwrap() * 60_000_000)).await;
        }
        let store = Arc::new(Lively { store: memory, reviewed: Mutex::default(), pages: Mutex::default() });
        let engine = Arc::new(Engine::new(store.clone(), Tasks::offline(), EngineSettings::default()));
        let tokens = Arc::new(Tokens::new(store.clone(), 0));
        (store, Reviews { engine, tokens, hour: 3, archive_days: 30 })
    }

    #[tokio::test]
    async fn conversations_that_nobody_went_on_with_are_not_looked_through_every_day() {
        let (count, tenant) = (PAGE * 5, Tenant::local());
        let (store, reviews) = lively(count).await;
        let since = At(i64::try_from(count - PAGE - 6).unwrap() * 60_000_000);
        assert_eq!(reviews.listed(&tenant, Some(since)).await.unwrap().len(), PAGE + 6);
        assert_eq!(*store.pages.lock().unwrap(), 3, "the recent ones, and a page of others");
    }

    #[tokio::test]
    async fn conversations_are_reviewed_where_others_are_not_sorted() {
        let (store, reviews) = lively(1).await;
        assert!(
            !reviews.engine.tools().contains(&scrollback::recall::RecallTool::Topic),
            "they may be switched to topics"
        );
        assert!(reviews.engine.daily_review(&Tenant::local(), 3).due(At(0)).await.unwrap().is_none());
        let seen = async {
            while store.reviewed.lock().unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        let both = futures_util::future::select(Box::pin(reviews.run()), Box::pin(seen));
        tokio::time::timeout(Duration::from_mins(1), both).await.expect("it is due");
    }

    #[tokio::test]
    async fn what_is_said_meanwhile_keeps_no_conversation_from_its_review() {
        let (count, tenant) = (PAGE + 6, Tenant::local());
        let (store, reviews) = lively(count).await;
        // The first time it is only said when it will be due.
        assert!(reviews.engine.daily_review(&tenant, 3).due(At(0)).await.unwrap().is_none());
        reviews.review_if_due(&tenant).await.unwrap();
        assert_eq!(store.reviewed.lock().unwrap().len(), count);
    }
}
