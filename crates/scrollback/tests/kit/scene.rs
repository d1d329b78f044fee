//! Scenes: conversations as plain text, so that anyone can add one to `fixtures/scenes`.
//!
//! ```text
//! # budget 2000            what the window may cost; also: strategy, keep (pages, or messages), hold (results over so many characters)
//! system: You are brief.
//! user: Why does the build fail?
//! call read_file {"path": "Cargo.toml"}
//! result x40: [features]   the same text forty times, on lines of their own
//! assistant: A feature is missing.
//! recall 2                 in this turn the model recalls page #2
//! ```
//!
//! Calls on lines next to each other are made at once; results answer them in order. The window of the last request is drawn.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use scrollback::engine::{Ask, EngineSettings, Finish, Turn};
use scrollback::log::{Arrival, History};
use scrollback::recall::RecallCall;
use scrollback::sketch::sketch;
use scrollback::task::Tasks;
use scrollback::window::Budget;
use scrollback::{At, Engine, Error, MemoryStore, Message, Tenant};
use serde_json::Value;

/// A line of a scene.
enum Line {
    Says(Value),
    Calls(Vec<Value>),
    Recalls(u32),
}

/// A conversation, and what it is shown with.
pub struct Scene {
    settings: HashMap<String, String>,
    lines: Vec<Line>,
}

impl Scene {
    /// Reads a scene; a line that is not understood is an error.
    pub fn read(text: &str) -> Self {
        let (mut settings, mut lines) = (HashMap::new(), Vec::new());
        let (mut called, mut waiting) = (0, VecDeque::new());
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let (head, rest) = line.split_once(' ').unwrap_or((line, ""));
            if head == "#" {
                let (name, value) = rest.split_once(' ').expect("a setting and its value");
                settings.insert(name.to_owned(), value.trim().to_owned());
            } else if head == "recall" {
                lines.push(Line::Recalls(rest.trim().parse().expect("the number of a page")));
            } else if head == "call" {
                let (name, arguments) = rest.split_once(' ').unwrap_or((rest, "{}"));
                called += 1;
                let id = format!("call-{called:04}-scene");
                let arguments = serde_json::from_str(arguments).expect("arguments are JSON");
                let call = super::tool_call(&id, name, &arguments);
                waiting.push_back(id);
                match lines.last_mut() {
                    Some(Line::Calls(calls)) => calls.push(call),
                    _ => lines.push(Line::Calls(vec![call])),
                }
            } else {
                let said = said(line, &mut waiting);
                lines.push(Line::Says(said.unwrap_or_else(|| panic!("line {} says nothing: {line}", number + 1))));
            }
        }
        Self { settings, lines }
    }

    fn setting<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.settings.get(name).map(|value| value.parse().ok().unwrap_or_else(|| panic!("{name} {value}")))
    }

    fn engine(&self) -> Engine {
        let mut settings = EngineSettings::default();
        settings.strategy = self.setting("strategy").unwrap_or(settings.strategy);
        let (pages, holds) = (&mut settings.strategies.pages, &mut settings.strategies.holds);
        pages.keep_pages = self.setting("keep").unwrap_or(pages.keep_pages);
        let topics = &mut settings.strategies.topics;
        topics.keep_messages = self.setting("keep").unwrap_or(topics.keep_messages);
        let summary = &mut settings.strategies.summary;
        summary.keep_recent = self.setting("keep").unwrap_or(summary.keep_recent);
        summary.minimum = self.setting("minimum").unwrap_or(summary.minimum);
        let artifacts = &mut settings.strategies.artifacts;
        artifacts.keep = self.setting("keep").unwrap_or(artifacts.keep);
        artifacts.archive_at = self.setting("archive").unwrap_or(artifacts.archive_at);
        holds.over_chars = self.setting("hold").unwrap_or(holds.over_chars);
        Engine::new(Arc::new(MemoryStore::default()), Tasks::offline(), settings)
    }

    /// Plays it, and draws the last window or tells why there is none.
    pub async fn play(&self) -> String {
        let (engine, mut history, mut recalls) = (self.engine(), Vec::new(), Vec::new());
        for line in &self.lines {
            let reply = match line {
                Line::Recalls(page) => {
                    recalls.push(*page);
                    continue;
                }
                Line::Says(message) if message["role"] != "assistant" => {
                    history.push(message.clone());
                    continue;
                }
                Line::Says(reply) => reply.clone(),
                Line::Calls(calls) => super::calls(calls),
            };
            if let Ok(turn) = self.begin(&engine, &history, &std::mem::take(&mut recalls)).await {
                let message = Message::from_json(&reply.to_string()).expect("a message");
                let at = At(2 * i64::try_from(history.len()).expect("few messages"));
                let finish = Finish::of(message, "gpt-5", at);
                engine.finish(turn, finish).await.expect("kept");
            }
            history.push(reply);
        }
        match self.begin(&engine, &history, &recalls).await {
            Ok(turn) => sketch(turn.window()),
            Err(error) => error.to_string(),
        }
    }

    async fn begin(&self, engine: &Engine, history: &[Value], recalls: &[u32]) -> Result<Turn, Error> {
        let text = Value::Array(history.to_vec()).to_string();
        let (history, tenant) = (History::parse(&text)?, Tenant::local());
        let arrival = Arrival::new(&tenant, Some("scene"), "gpt-5", At(0));
        let budget = Budget { tokens: self.setting("budget").unwrap_or(8_000) };
        let ask = Ask::new(arrival, &history, budget, 10_000);
        let mut turn = engine.begin(ask).await?;
        for &number in recalls {
            let told = engine.recall(&mut turn, &[Ok(RecallCall::Page { number, from: None })]).await;
            let call = super::call("ours", "recall_page", &serde_json::json!({"index": number}));
            let round = [call, super::result("ours", &told.concat())];
            turn.push_round(round.iter().map(|raw| serde_json::value::to_raw_value(raw).expect("JSON")).collect());
        }
        Ok(turn)
    }
}

/// `user: words`, or `user x3: words` for the same three times over.
fn said(line: &str, waiting: &mut VecDeque<String>) -> Option<Value> {
    let (head, text) = line.split_once(':')?;
    let (speaker, times) = head.split_once(" x").unwrap_or((head, "1"));
    let text = vec![text.trim(); times.trim().parse().ok()?].join("\n");
    match speaker {
        "system" => Some(super::system(&text)),
        "user" => Some(super::user(&text)),
        "assistant" => Some(super::assistant(&text)),
        "result" => Some(super::result(&waiting.pop_front()?, &text)),
        _ => None,
    }
}
