//! What the tests share: stores to run against, and messages to say.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

#[cfg(feature = "postgres")]
pub mod postgres;
pub mod scene;

use std::collections::VecDeque;
use std::sync::Arc;

use scrollback::log::{Answer, Arrival, Received};
use scrollback::store::{Span, Stored};
use scrollback::{At, Log, MemoryStore, Message, Role, SessionKey, SqliteOptions, SqliteStore, Store, Tenant};
#[cfg(feature = "postgres")]
use scrollback::{PostgresOptions, PostgresStore};
use serde_json::{Value, json};

/// How many conversations are played: `LAWS_TIMES=20` makes it twenty times as many.
pub fn cases(usual: u32) -> u32 {
    let times = std::env::var("LAWS_TIMES").ok().and_then(|times| times.parse::<u32>().ok());
    usual * times.unwrap_or(1)
}

/// A store that can also forget, with whatever must outlive it.
pub struct Bench {
    pub store: Arc<dyn Store>,
    pub forget: Arc<dyn scrollback::Forget>,
    pub log: Log,
    pub tenant: Tenant,
    /// Other nodes over the same database, each with all that it remembers.
    nodes: VecDeque<(Arc<dyn Store>, Log)>,
    _folder: Option<tempfile::TempDir>,
}

impl Bench {
    pub fn memory() -> Self {
        let store = Arc::new(MemoryStore::default());
        Self::over(store.clone(), store, None)
    }

    pub fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store =
            Arc::new(SqliteStore::open(&SqliteOptions::new(folder.path().join("log.db"))).expect("a new store"));
        Self::over(store.clone(), store, Some(folder))
    }

    #[cfg(feature = "postgres")]
    pub async fn postgres() -> Self {
        Self::nodes(1).await
    }

    /// So many nodes over one database.
    #[cfg(feature = "postgres")]
    pub async fn nodes(count: usize) -> Self {
        let options = PostgresOptions { connections: 4, ..PostgresOptions::new(postgres::fresh()) };
        let store = Arc::new(PostgresStore::open(&options).await.expect("a new store"));
        let mut bench = Self::over(store.clone(), store, None);
        for _ in 1..count {
            let store: Arc<dyn Store> = Arc::new(PostgresStore::open(&options).await.expect("a store"));
            bench.nodes.push_back((store.clone(), Log::new(store)));
        }
        bench
    }

    /// Goes on at the next node, if there are several.
    pub fn take_turns(&mut self) {
        if let Some((store, log)) = self.nodes.pop_front() {
            let before = (std::mem::replace(&mut self.store, store), std::mem::replace(&mut self.log, log));
            self.nodes.push_back(before);
        }
    }

    fn over(store: Arc<dyn Store>, forget: Arc<dyn scrollback::Forget>, folder: Option<tempfile::TempDir>) -> Self {
        let log = Log::new(store.clone());
        Self { store, forget, log, tenant: Tenant::local(), nodes: VecDeque::new(), _folder: folder }
    }

    /// Forgets what the log remembers in memory, as a restart does.
    pub fn restart(&mut self) {
        self.log = Log::new(self.store.clone());
    }

    pub async fn send(&self, declared: Option<&str>, messages: &[Value]) -> Received {
        self.send_as(&self.tenant, declared, messages).await
    }

    pub async fn send_as(&self, tenant: &Tenant, declared: Option<&str>, messages: &[Value]) -> Received {
        let text = Value::Array(messages.to_vec()).to_string();
        let (history, _) = self.log.open(tenant, &text).expect("an array");
        self.log.receive(Arrival::new(tenant, declared, "gpt-5", At(1)), &history).await.expect("received")
    }

    /// The model answers.
    pub async fn answer(&self, to: &Received, message: &Value) {
        let message = Message::from_json(&message.to_string()).expect("a message");
        let answer = Answer::of(message, "gpt-5", At(2));
        self.log.reply(to, answer).await.expect("stored");
    }

    /// The whole path that ends where `received` does.
    pub async fn path(&self, received: &Received) -> Vec<Stored> {
        let Some(head) = received.head else { return Vec::new() };
        let span = Span::path(head, scrollback::ids::Depth(0));
        self.store.read(&received.session, span).await.expect("read")
    }

    /// The texts on the path.
    pub async fn texts(&self, received: &Received) -> Vec<String> {
        self.path(received).await.iter().map(|stored| stored.message().to_text()).collect()
    }

    pub async fn all(&self, session: &SessionKey) -> Vec<Stored> {
        let span = Span::Arrival { from: scrollback::MessageId(0), limit: usize::MAX >> 1 };
        self.store.read(session, span).await.expect("read")
    }
}

pub fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

pub fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

pub fn system(text: &str) -> Value {
    json!({"role": "system", "content": text})
}

pub fn call(id: &str, tool: &str, arguments: &Value) -> Value {
    let function = json!({"name": tool, "arguments": arguments.to_string()});
    json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]})
}

/// One call among several.
pub fn tool_call(id: &str, tool: &str, arguments: &Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": tool, "arguments": arguments.to_string()}})
}

/// A message that makes several calls.
pub fn calls(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

pub fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

/// Reasoning that only its provider can read.
pub fn reasoning(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAAAA".repeat(8)})
}

/// A call that is a message of its own.
pub fn call_item(id: &str, tool: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": tool, "arguments": "{}"})
}

/// Its result.
pub fn output_item(id: &str, text: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": text})
}

/// A message that makes calls as blocks.
pub fn uses(ids: &[String], tool: &str) -> Value {
    let block = |id: &String| json!({"type": "tool_use", "id": id, "name": tool, "input": {}});
    json!({"role": "assistant", "content": ids.iter().map(block).collect::<Vec<_>>()})
}

/// A person's message that brings results, and words beside them.
pub fn results(results: &[(String, String)], words: &str) -> Value {
    let block = |(id, text): &(String, String)| json!({"type": "tool_result", "tool_use_id": id, "content": text});
    let mut blocks: Vec<Value> = results.iter().map(block).collect();
    blocks.push(json!({"type": "text", "text": words}));
    json!({"role": "user", "content": blocks})
}

/// A sentence long enough to be recognised, different for every number.
pub fn long(speaker: &str, number: usize) -> String {
    format!(
        "{speaker} speaks for the {number}th time and says enough words for anybody to know this message again: {number}."
    )
}

/// A conversation of `turns` turns.
pub fn talk(name: &str, turns: usize) -> Vec<Value> {
    (0..turns)
        .flat_map(|i| [user(&long(name, 2 * i)), assistant(&long("the model", 2 * i + 1 + name.len() * 1000))])
        .collect()
}

pub fn role(value: &Value) -> Role {
    value["role"].as_str().unwrap_or_default().into()
}
