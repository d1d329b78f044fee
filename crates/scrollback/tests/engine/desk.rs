//! A desk: an engine over a store, with a clock of its own, to talk to.

use std::collections::VecDeque;
use std::sync::Arc;

use scrollback::engine::{Around, Ask, EngineSettings, Finish, Turn};
use scrollback::log::{Arrival, History};
use scrollback::strategy::{
    ArtifactSettings, HoldSettings, PageSettings, StrategyName, StrategySettings, SummarySettings, TopicSettings,
};
use scrollback::task::Tasks;
use scrollback::window::{Body, Budget, Reason, Window};
use scrollback::{At, Engine, Error, MemoryStore, Message, SessionKey, Store, Tenant};
use serde_json::Value;
use serde_json::value::RawValue;

pub const LIMIT: u32 = 32_000;
pub const HELD_OVER: usize = 1_500;

/// Settings under which short conversations fold and hold.
pub fn settings(strategy: StrategyName) -> EngineSettings {
    let pages = PageSettings { keep_pages: 3, ..PageSettings::default() };
    let topics = TopicSettings { keep_messages: 6, ..TopicSettings::default() };
    let holds = HoldSettings { over_chars: HELD_OVER, ..HoldSettings::default() };
    let summary = SummarySettings { keep_recent: 6, minimum: 8, ..SummarySettings::default() };
    let artifacts = ArtifactSettings { archive_at: 14, keep: 6, ..ArtifactSettings::default() };
    let strategies = StrategySettings { pages, topics, summary, artifacts, holds, ..StrategySettings::default() };
    EngineSettings { strategy, strategies, across_sessions: false }
}

/// An engine over a store, to talk to.
pub struct Desk {
    pub store: Arc<dyn Store>,
    pub engine: Engine,
    pub settings: EngineSettings,
    pub tenant: Tenant,
    pub declared: Option<&'static str>,
    pub budget: u32,
    pub limit: u32,
    pub now: i64,
    /// Engines of other nodes, each with a store of its own over the same database; they take turns.
    pub nodes: VecDeque<(Arc<dyn Store>, Engine)>,
}

impl Desk {
    pub fn new(store: Arc<dyn Store>, settings: EngineSettings, budget: u32) -> Self {
        Self::with_tasks(store, settings, budget, Tasks::offline())
    }

    pub fn with_tasks(store: Arc<dyn Store>, settings: EngineSettings, budget: u32, tasks: Tasks) -> Self {
        let engine = Engine::new(store.clone(), tasks, settings.clone());
        let (tenant, declared, nodes) = (Tenant::local(), Some("talk"), VecDeque::new());
        Self { store, engine, settings, tenant, declared, budget, limit: LIMIT, now: 0, nodes }
    }

    /// The same with more nodes.
    #[cfg(feature = "postgres")]
    pub fn beside(mut self, stores: impl IntoIterator<Item = Arc<dyn Store>>) -> Self {
        let engine = |store: &Arc<dyn Store>| Engine::new(store.clone(), Tasks::offline(), self.settings.clone());
        self.nodes = stores.into_iter().map(|store| (store.clone(), engine(&store))).collect();
        self
    }

    pub fn memory(budget: u32) -> Self {
        Self::new(Arc::new(MemoryStore::default()), settings(StrategyName::Pages), budget)
    }

    /// A new engine over the same store; where there are several nodes, the next one, with all that it has in mind.
    pub fn restart(&mut self) {
        if let Some((store, engine)) = self.nodes.pop_front() {
            let before = (std::mem::replace(&mut self.store, store), std::mem::replace(&mut self.engine, engine));
            self.nodes.push_back(before);
            return;
        }
        self.engine = Engine::new(self.store.clone(), Tasks::offline(), self.settings.clone());
    }

    pub async fn begin(&mut self, history: &[Value]) -> Result<Turn, Error> {
        self.now += 1;
        self.begin_at(history, self.now).await
    }

    pub async fn begin_at(&self, history: &[Value], now: i64) -> Result<Turn, Error> {
        let text = Value::Array(history.to_vec()).to_string();
        let history = History::parse(&text)?;
        let arrival = Arrival::new(&self.tenant, self.declared, "gpt-5", At(now));
        let budget = Budget { tokens: self.budget };
        self.engine.begin(Ask::new(arrival, &history, budget, self.limit)).await
    }

    /// Ends a turn, then does what can wait.
    pub async fn finish(&mut self, turn: Turn, reply: &Value) {
        self.finish_whole(turn, reply, None).await;
    }

    pub async fn finish_whole(&mut self, turn: Turn, reply: &Value, whole: Option<Whole>) {
        let around = whole.map(|(whole, after)| Around { index: 0, before: Vec::new(), whole: Some(whole), after });
        self.finish_around(turn, std::slice::from_ref(reply), around.into_iter().collect()).await;
    }

    /// Ends a turn with a reply of several messages.
    pub async fn finish_around(&mut self, turn: Turn, replies: &[Value], around: Vec<Around>) {
        self.now += 1;
        let at = At(self.now);
        let chores = turn.chores();
        let messages: Vec<Message> =
            replies.iter().map(|reply| Message::from_json(&reply.to_string()).unwrap()).collect();
        let last = messages.iter().rev().find(|message| !message.is_aside()).unwrap().to_text();
        let finish = Finish { messages, around, ..Finish::nothing("gpt-5", at) };
        let stored = self.engine.finish(turn, finish).await.unwrap().unwrap();
        assert_eq!(stored.message().to_text(), last);
        self.engine.tidy(chores, at).await.unwrap();
        self.engine.work_through(&self.tenant, at).await.unwrap();
    }

    /// Asks and answers.
    pub async fn turn(&mut self, history: &mut Vec<Value>, question: Value, reply: Value) -> Window {
        history.push(question);
        let turn = self.begin(history).await.unwrap();
        let window = turn.window().clone();
        self.finish(turn, &reply).await;
        history.push(reply);
        window
    }

    pub fn session(&self) -> SessionKey {
        let id = scrollback::SessionId::declared(&self.tenant, self.declared.unwrap());
        SessionKey { tenant: self.tenant.clone(), id }
    }

    pub async fn undo(&mut self, turn: &Turn) -> Result<scrollback::note::Fold, Error> {
        self.now += 1;
        let (head, layout) = (turn.received().head.unwrap(), self.engine.layout(self.limit));
        self.engine.undo(&turn.received().session, head, &layout, At(self.now)).await
    }
}

/// A reply as the model made it, and the results of our calls in it.
pub type Whole = (Box<RawValue>, Vec<Box<RawValue>>);

pub fn raw(value: &Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap()
}

/// What is sent, block by block.
pub fn texts(window: &Window) -> Vec<String> {
    window.blocks().iter().map(|block| block.text().to_owned()).collect()
}

/// The text that stands for what was folded.
pub fn contents(window: &Window) -> Option<String> {
    window.blocks().iter().find_map(|block| match &block.body {
        Body::Note(ours) if block.reason == Reason::Covers => Some(ours.text.to_string()),
        Body::Note(_) | Body::Nothing(_) | Body::Original(_) | Body::Held(..) | Body::Whole(..) | Body::Round(_) => {
            None
        }
    })
}

/// How many blocks come before the turn that is being answered: they may not change until the next fold.
pub fn settled(window: &Window) -> usize {
    let volatile = |reason| matches!(reason, Reason::CurrentTurn | Reason::Recalled | Reason::Relevant);
    let last = window
        .blocks()
        .iter()
        .rposition(|block| block.message().is_some_and(|stored| stored.role == scrollback::Role::User));
    let open = window.blocks().iter().position(|block| volatile(block.reason)).unwrap_or(usize::MAX);
    open.min(last.unwrap_or(0))
}

pub fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
