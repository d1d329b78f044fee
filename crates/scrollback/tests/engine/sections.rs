//! What a search shows of sections that were made from very many messages, and what that takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use scrollback::ids::{Depth, NodeId};
use scrollback::recall::{RecallCall, RecallTool};
use scrollback::search::Probe;
use scrollback::store::{Batch, Committed, Keys, Kind, Known, Matches, Record, Scope, Session, Span, Stored, Which};
use scrollback::strategy::StrategyName;
use scrollback::task::{Model, Question, Said, TaskSettings, Tasks};
use scrollback::{At, Error, Forget, MemoryStore, MessageId, Result, SessionKey, Store, Tenant};

use super::desk::{Desk, contents, run, settings};
use super::kit::{assistant, user};

/// A store that remembers how many messages were ever asked for by their numbers at once, and how many records were
/// read. It can be told to refuse folds, as if somebody else had folded meanwhile, to erase nothing, to write without
/// being able to say so, as a database does whose connection breaks, and to give no records.
#[derive(Default)]
pub struct Watched {
    store: MemoryStore,
    pub most: AtomicUsize,
    pub records: AtomicUsize,
    pub refuses_folds: AtomicBool,
    pub erases_nothing: AtomicBool,
    pub loses_answers: AtomicBool,
    pub gives_nothing: AtomicBool,
}

#[async_trait]
impl Store for Watched {
    async fn commit(&self, batch: Batch) -> Result<Committed> {
        let folds = || batch.records.iter().any(|put| put.key.starts_with("fold/"));
        if self.refuses_folds.load(Ordering::Relaxed) && folds() {
            return Err(Error::Conflict("somebody else has folded".into()));
        }
        let committed = self.store.commit(batch).await?;
        if self.loses_answers.load(Ordering::Relaxed) {
            return Err(Error::Store { what: "it may have been made or not".into(), source: None });
        }
        Ok(committed)
    }

    async fn prefix(&self, session: &SessionKey, from: Depth, chain: Vec<NodeId>) -> Result<Option<Known>> {
        self.store.prefix(session, from, chain).await
    }

    async fn read(&self, session: &SessionKey, span: Span) -> Result<Vec<Stored>> {
        if let Span::Ids(ids) = &span {
            self.most.fetch_max(ids.len(), Ordering::Relaxed);
        }
        self.store.read(session, span).await
    }

    async fn matching(&self, tenant: &Tenant, probe: Probe) -> Result<Matches> {
        self.store.matching(tenant, probe).await
    }

    async fn records(&self, scope: &Scope, kind: Kind, keys: Keys) -> Result<Vec<Record>> {
        if self.gives_nothing.load(Ordering::Relaxed) {
            return Err(Error::Store { what: "it is away".into(), source: None });
        }
        let records = self.store.records(scope, kind, keys).await?;
        self.records.fetch_add(records.len(), Ordering::Relaxed);
        Ok(records)
    }

    async fn sessions(&self, tenant: &Tenant, which: Which) -> Result<Vec<Session>> {
        self.store.sessions(tenant, which).await
    }
}

#[async_trait]
impl Forget for Watched {
    async fn forget(&self, session: &SessionKey) -> Result<u32> {
        self.store.forget(session).await
    }

    async fn forget_results(&self, session: &SessionKey, results: &[MessageId], at: At) -> Result<u32> {
        if self.erases_nothing.load(Ordering::Relaxed) {
            return Err(Error::Conflict("it was cut short".into()));
        }
        self.store.forget_results(session, results, at).await
    }
}

/// A helper that works everything into one document with one section.
struct Gatherer;

#[async_trait]
impl Model for Gatherer {
    async fn ask(&self, question: &Question) -> Result<Said> {
        if question.task == "artifact_decide" {
            return Ok(Said { text: "a0".into(), input_tokens: 10, output_tokens: 10, ..Said::default() });
        }
        let text = "# Boats\n\nBoats.\n\n## Boats <!-- sources: m0-m999 -->\nBoats.\n".to_owned();
        Ok(Said { text, input_tokens: 10, output_tokens: 10, ..Said::default() })
    }
}

#[test]
fn a_section_of_many_sources_is_read_as_far_as_there_is_room() {
    run(async {
        let store = Arc::new(Watched::default());
        let tasks = Tasks::new(Arc::new(Gatherer), TaskSettings::default());
        let mut desk = Desk::with_tasks(store.clone(), settings(StrategyName::Artifacts), 12_000, tasks);
        let mut history = Vec::new();
        for i in 0..80 {
            desk.turn(&mut history, user(&format!("Hull {i}?")), assistant(&format!("Hull {i} it is."))).await;
        }
        history.push(user("Which boats?"));
        let mut turn = desk.begin(&history).await.unwrap();
        let shown = contents(turn.window()).unwrap();
        assert!(shown.contains("## Boats <!-- sources: m0–m"), "{shown}");
        store.most.store(0, Ordering::Relaxed);
        let call = RecallCall::read(RecallTool::Search, "boats");
        let told = desk.engine.recall(&mut turn, &[call]).await.remove(0);
        assert!(
            told.contains("Sources of “Boats”") && told.contains("Hull 0 it is.") && told.contains("Hull 20"),
            "{told}"
        );
        let most = store.most.load(Ordering::Relaxed);
        assert!((1..=32).contains(&most), "{most} at once");
    });
}
