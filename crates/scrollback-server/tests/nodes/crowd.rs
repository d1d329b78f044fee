//! Clients that talk on whatever happens, remember what was acknowledged, and know in the end whether all of it is
//! there.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use scrollback::engine::EngineSettings;
use scrollback::store::{Span, Which};
use scrollback::task::Tasks;
use scrollback::{Engine, MessageId, PostgresOptions, PostgresStore, SessionId, SessionKey, Store, Tenant};
use serde_json::{Value, json};

use crate::scene::{Said, Upstream, reply, says, try_send, user};
use crate::talk::Dice;

/// Settings under which short conversations fold.
pub(crate) const SETTINGS: &str = "[window]\ntokens = 3000\nreply_tokens = 300\n";
/// How much everybody says at least: on a slow machine, too, windows fold and histories are edited.
const LEAST: usize = 12;
/// How long nobody may be answered.
const PATIENCE: Duration = Duration::from_secs(90);

/// A model that answers everybody by the name they are called.
pub(crate) fn model() -> Upstream {
    Upstream::new(|_, said| {
        let messages = said.json()["messages"].as_array().cloned().unwrap_or_default();
        let asked = messages.iter().rev().find(|message| message["role"] == "user");
        let words = asked.and_then(|message| message["content"].as_str()).unwrap_or_default().to_owned();
        let name = words.split_whitespace().next().unwrap_or("nobody").to_owned();
        let number = words.split_whitespace().nth(1).unwrap_or("0").to_owned();
        reply(&says(&format!("{name} heard {number}: the tide turns at noon and the ferry waits for it.")))
    })
}

/// What became of a client's requests.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) answered: usize,
    pub(crate) refused: usize,
    pub(crate) unreachable: usize,
    pub(crate) edits: usize,
}

/// A client and all that was acknowledged to it.
pub(crate) struct Client {
    name: String,
    history: Vec<Value>,
    asked: usize,
    /// Every message that was acknowledged, as it was sent.
    acknowledged: Vec<String>,
    pub(crate) tally: Tally,
    dice: Dice,
}

impl Client {
    pub(crate) fn new(number: usize) -> Self {
        let name = format!("client{number:03}x");
        let dice = Dice(number as u64 * 7919 + 1);
        Self { name, history: Vec::new(), asked: 0, acknowledged: Vec::new(), tally: Tally::default(), dice }
    }

    /// Talks until it is told to stop and has said enough, then says goodbye, so that the last reply is sent back.
    pub(crate) fn talk(mut self, ports: &[u16], over: &AtomicBool) -> Self {
        while !over.load(Ordering::Relaxed) || self.asked < LEAST {
            if self.history.len() > 4 && self.dice.below(8) == 0 {
                // Rewrites an earlier question and goes on from there.
                let at = 2 * usize::try_from(self.dice.below(self.history.len() as u64 / 2)).unwrap();
                self.history.truncate(at);
                self.tally.edits += 1;
            }
            self.ask(ports);
        }
        self.ask(ports);
        self
    }

    fn ask(&mut self, ports: &[u16]) {
        self.asked += 1;
        let filler = "we walked along the harbour and talked about boats, gulls and the price of fish; ".repeat(20);
        self.history.push(user(&format!("{} {} {filler}", self.name, self.asked)));
        let body = json!({"model": "gpt-4o", "messages": self.history}).to_string();
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < PATIENCE, "{} is not answered", self.name);
            let port = ports[usize::try_from(self.dice.below(ports.len() as u64)).unwrap()];
            let headers = format!("x-scrollback-session: {}\r\n", self.name);
            match try_send(port, "POST /v1/chat/completions", &headers, &body) {
                Some(said) if said.status() == 200 => return self.hear(&said),
                Some(said) => {
                    assert_eq!(said.status(), 503, "neither answered nor refused: {} {}", said.head, said.text());
                    assert!(said.header("retry-after").is_some(), "{}", said.head);
                    self.tally.refused += 1;
                }
                None => self.tally.unreachable += 1,
            }
            std::thread::sleep(Duration::from_millis(50 + self.dice.below(200)));
        }
    }

    fn hear(&mut self, said: &Said) {
        assert_eq!(said.header("x-scrollback-trouble"), None, "{}", said.head);
        let message = said.json()["choices"][0]["message"].clone();
        let expected = format!("{} heard {}:", self.name, self.asked);
        assert!(message["content"].as_str().unwrap_or_default().starts_with(&expected), "mixed up: {message}");
        self.acknowledged.push(self.history.last().unwrap().to_string());
        self.acknowledged.push(message.to_string());
        self.history.push(message);
        self.tally.answered += 1;
    }

    /// All that was acknowledged is in the log, once; nothing of anybody else is; and every window can be drawn again.
    async fn check(&self, store: &Arc<PostgresStore>) -> usize {
        let tenant = Tenant::local();
        let session = SessionKey { id: SessionId::declared(&tenant, &self.name), tenant: tenant.clone() };
        let all = store.read(&session, Span::Arrival { from: MessageId(0), limit: 1 << 20 }).await.unwrap();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for stored in &all {
            *counts.entry(stored.raw.get()).or_default() += 1;
            assert!(stored.raw.get().contains(&self.name), "{} has {}", self.name, stored.raw);
        }
        // The last reply need not be sent back; all others were, as often as their client liked.
        for raw in &self.acknowledged[..self.acknowledged.len() - 1] {
            let count = counts.get(raw.as_str()).copied().unwrap_or(0);
            assert_eq!(count, 1, "{}: {count} times {raw}", self.name);
        }
        let listed = store.sessions(&tenant, Which::Id(session.id)).await.unwrap().remove(0);
        assert_eq!(listed.messages as usize, all.len());
        let engine = Engine::new(store.clone(), Tasks::offline(), EngineSettings::default());
        let views = engine.views(&session).await.unwrap();
        for recorded in views.iter().rev().take(4) {
            let window = engine.window_of(&session, &recorded.view).await.unwrap();
            assert_eq!(window.tokens(), recorded.view.tokens() - recorded.view.recalled_tokens, "{}", recorded.name);
        }
        views.iter().filter(|recorded| recorded.view.fold.is_some()).count()
    }
}

/// Lets clients talk while `trouble` is made, then checks everything. Returns what they say of it.
pub(crate) fn talk(clients: usize, ports: &[u16], url: &str, trouble: impl FnOnce()) -> Tally {
    let over = AtomicBool::new(false);
    let clients: Vec<Client> = std::thread::scope(|scope| {
        let over = &over;
        let talking: Vec<_> =
            (0..clients).map(|number| scope.spawn(move || Client::new(number).talk(ports, over))).collect();
        trouble();
        over.store(true, Ordering::Relaxed);
        talking.into_iter().map(|talk| talk.join().unwrap()).collect()
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let folds = runtime.block_on(async {
        let store = Arc::new(PostgresStore::open(&PostgresOptions::new(url)).await.unwrap());
        let mut folds = 0;
        for client in &clients {
            folds += client.check(&store).await;
        }
        let checkup = store.check(|_| {}).await.unwrap();
        assert_eq!(checkup.problems, Vec::<String>::new());
        folds
    });
    let mut all = Tally::default();
    for Client { tally, .. } in &clients {
        all.answered += tally.answered;
        all.refused += tally.refused;
        all.unreachable += tally.unreachable;
        all.edits += tally.edits;
    }
    assert!(folds > 0 && all.edits > 0, "nothing was folded or edited: {all:?}, {folds} folded windows");
    // For whoever runs it longer and looks at the output.
    let _ = writeln!(std::io::stderr(), "{all:?}, {folds} folded windows");
    all
}
