//! Random conversations: whatever becomes of a window, its provider accepts it.
//!
//! Each request goes through the engine and the dialect as in the proxy, and is judged as a strict provider would:
//! calls and results, reasoning after what it was made after, marks, what stays the same from one request to the next.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use proptest::prelude::*;
use scrollback::engine::{Around, Ask, Engine, EngineSettings, Finish, Turn};
use scrollback::log::Arrival;
use scrollback::store::MemoryStore;
use scrollback::strategy::StrategyName;
use scrollback::task::Tasks;
use scrollback::window::Budget;
use scrollback::{At, Message, Tenant};
use serde_json::{Value, json};

use super::Anthropic;
use super::tests::read;
use crate::config::RecallBy;
use crate::wire::edit::raw;
use crate::wire::offer::Offer;
use crate::wire::{Dress, Reasoning, Wire};

const LIMIT: u32 = 9_000;

/// A turn of the conversation.
#[derive(Clone, Debug)]
struct Plot {
    words: usize,
    as_text: bool,
    /// Whether a system message stands behind the question.
    instructs: bool,
    steps: Vec<Step>,
}

/// A reply that calls tools.
#[derive(Clone, Debug)]
struct Step {
    thinks: bool,
    /// How long each result is.
    results: Vec<usize>,
    /// Whether a call of ours stands among them.
    mixed: bool,
}

/// How the client writes its requests.
#[derive(Clone, Copy, Debug)]
struct Manner {
    strategy: StrategyName,
    binds: bool,
    system: u8,
    marks: u8,
}

fn step() -> impl Strategy<Value = Step> {
    let length = prop_oneof![3 => 1..60_usize, 1 => 11_000..14_000_usize];
    (any::<bool>(), prop::collection::vec(length, 1..4), any::<bool>()).prop_map(|(thinks, results, mixed)| Step {
        thinks,
        results,
        mixed,
    })
}

fn plot() -> impl Strategy<Value = Plot> {
    let instructs = prop::bool::weighted(0.2);
    (1..500_usize, any::<bool>(), instructs, prop::collection::vec(step(), 0..3))
        .prop_map(|(words, as_text, instructs, steps)| Plot { words, as_text, instructs, steps })
}

fn manner() -> impl Strategy<Value = Manner> {
    let strategies = [StrategyName::Pages, StrategyName::Topics, StrategyName::Summary, StrategyName::Artifacts];
    let manner = (prop::sample::select(strategies.to_vec()), any::<bool>(), 0..3_u8, 0..4_u8);
    manner.prop_map(|(strategy, binds, system, marks)| Manner { strategy, binds, system, marks })
}

/// A conversation under way.
struct Talk {
    engine: Engine,
    manner: Manner,
    history: Vec<Value>,
    /// What stood before each thought when it was made, and the thought.
    made: HashMap<String, (Vec<Value>, Value)>,
    /// What was sent last.
    sent: Vec<Value>,
    number: usize,
}

impl Talk {
    fn new(manner: Manner) -> Self {
        let settings = EngineSettings { strategy: manner.strategy, ..EngineSettings::default() };
        let engine = Engine::new(Arc::new(MemoryStore::default()), Tasks::offline(), settings);
        Self { engine, manner, history: Vec::new(), made: HashMap::new(), sent: Vec::new(), number: 0 }
    }

    fn now(&self) -> At {
        At(1_700_000_000_000_000 + i64::try_from(self.number).unwrap())
    }

    fn body(&self) -> Value {
        let mark =
            |kind: u8| if kind == 3 { json!({"type": "ephemeral", "ttl": "1h"}) } else { json!({"type": "ephemeral"}) };
        let mut messages = self.history.clone();
        if self.manner.marks > 0
            && let Some(block) = messages.last_mut().and_then(|last| last["content"].as_array_mut()?.last_mut())
        {
            block["cache_control"] = mark(self.manner.marks);
        }
        let mut body = json!({"model": "claude", "max_tokens": 500, "thinking": {"type": "adaptive"}, "messages": messages,
                              "tools": [{"name": "look", "input_schema": {"type": "object"}}]});
        match self.manner.system {
            0 => {}
            1 => body["system"] = json!("Be brief."),
            _ => {
                let marked = json!({"type": "text", "text": "Be kind.", "cache_control": mark(self.manner.marks)});
                body["system"] = json!([{"type": "text", "text": "Be brief."}, marked.clone(), marked]);
            }
        }
        body
    }

    /// Sends the history; `None` if it cannot be made to fit.
    async fn send(&mut self) -> Option<(Turn, scrollback::ids::Hash128)> {
        let request = read(&self.body().to_string());
        let mut opened = Anthropic.opened(&request, &axum::http::HeaderMap::new());
        let (tenant, messages) = (Tenant::local(), request.raw("messages").unwrap().to_owned());
        let history = self.engine.log().open(&tenant, &messages).unwrap().0.with_heads(opened.heads.take().unwrap());
        let arrival = Arrival::new(&tenant, None, "claude", self.now());
        let turn = self.engine.begin(Ask::new(arrival, &history, Budget { tokens: LIMIT - 500 }, LIMIT)).await.ok()?;
        assert!(turn.window().fits(), "I14");
        let offer = Offer::new(RecallBy::Tools, turn.tools(), &opened, &Anthropic);
        let tools = offer.tools(request.tools());
        let touched = !(turn.received().as_sent && turn.window().is_untouched());
        let dress = Dress {
            turn: &turn,
            request: &request,
            tools: tools.as_deref(),
            touched,
            instruction: None,
            handle: None,
            reasoning: if self.manner.binds { Reasoning::Bound } else { Reasoning::Usual },
            mixed: false,
        };
        let rendered = Anthropic.render(&dress);
        let changes: Vec<_> = rendered.changes.iter().map(|(name, value)| (*name, value.as_deref())).collect();
        let body: Value = serde_json::from_slice(&request.write(&changes)).unwrap();
        self.judge(&body, touched);
        let bound = rendered.bound.expect("it thinks");
        Some((turn, bound))
    }

    fn judge(&mut self, body: &Value, touched: bool) {
        let messages: Vec<Value> = body["messages"].as_array().unwrap().iter().map(plain).collect();
        calls_have_results(&messages);
        instructions_stand_before_replies(&messages);
        self.thoughts_are_right(&messages);
        marks_are_few(body, touched);
        let last = plain(self.history.last().unwrap());
        // Instructions from under a fold may have no other place than behind it.
        let newest = messages.iter().rposition(|message| message["role"] == last["role"]).unwrap();
        assert!(
            messages[newest + 1..].iter().all(|message| message["role"] == "system"),
            "nothing else stands behind it"
        );
        let ends = blocks(&messages[newest]);
        let shown = |block: &Value| ends.contains(block) || block["type"] == "tool_result";
        assert!(blocks(&last).iter().all(shown), "I14: what is new is shown word for word, or held");
        let kept = stable(&self.sent, &messages);
        let now = &messages[..kept.min(messages.len())];
        // Here a fold is known by its contents page; the engine's own laws judge all strategies.
        let pages = self.manner.strategy == StrategyName::Pages;
        if pages && folded(&self.sent) == folded(&messages) && held(&self.sent[..kept]) == held(now) {
            assert_eq!(&self.sent[..kept], now, "I13");
        }
        self.sent = messages;
    }

    /// I4 and I5.
    fn thoughts_are_right(&self, messages: &[Value]) {
        let current = messages.iter().rposition(begins_turn).unwrap_or(0);
        for (i, message) in messages.iter().enumerate().filter(|(_, message)| message["role"] == "assistant") {
            let thoughts: Vec<&Value> = blocks(message).iter().filter(|block| block["type"] == "thinking").collect();
            for thought in &thoughts {
                let (before, made) = &self.made[thought["thinking"].as_str().unwrap()];
                assert_eq!(*thought, made, "I4: never edited");
                let open = i > current && !self.manner.binds;
                assert!(open || *before == messages[..i], "I5: {thought} stands after something else");
            }
            let call = blocks(message).iter().find_map(|block| block["id"].as_str());
            let thought = call.and_then(|call| self.made.get(&format!("thought of {call}")));
            let must = i > current && !self.manner.binds && thought.is_some();
            assert!(!must || !thoughts.is_empty(), "I4: an open loop keeps its reasoning");
        }
    }

    /// The model's reply is kept, and shown to the client.
    async fn reply(
        &mut self,
        (turn, bound): (Turn, scrollback::ids::Hash128),
        shown: &[Value],
        whole: Option<&[Value]>,
        own: Option<Value>,
    ) {
        let message = |blocks: &[Value]| json!({"role": "assistant", "content": blocks});
        for block in shown.iter().filter(|block| block["type"] == "thinking") {
            self.made.insert(block["thinking"].as_str().unwrap().to_owned(), (self.sent.clone(), block.clone()));
        }
        let results = own.map(|own| raw(&json!({"role": "user", "content": [own]})));
        let around = whole.map(|whole| Around {
            index: 0,
            before: Vec::new(),
            whole: Some(raw(&message(whole))),
            after: results.into_iter().collect(),
        });
        let mut finish = Finish::of(Message::new(raw(&message(shown))), "claude", self.now());
        finish.around = around.into_iter().collect();
        finish.bound = Some(bound);
        self.engine.finish(turn, finish).await.unwrap();
        self.history.push(message(shown));
    }

    async fn step(&mut self, step: &Step) -> Option<()> {
        let begun = self.send().await?;
        let number = self.number;
        let ids: Vec<String> = (0..step.results.len()).map(|i| format!("c{number}_{i}")).collect();
        let call = |id: &str, name: &str| json!({"type": "tool_use", "id": id, "name": name, "input": {"n": number}});
        let thought = json!({"type": "thinking", "thinking": format!("thought of {}", ids[0]), "signature": format!("s{number}")});
        let mut shown: Vec<Value> = step.thinks.then_some(thought).into_iter().collect();
        shown.extend(ids.iter().map(|id| call(id, "look")));
        let mut whole = shown.clone();
        whole.insert(usize::from(step.thinks) + number % 2, call(&format!("own{number}"), "search_history"));
        let own = json!({"type": "tool_result", "tool_use_id": format!("own{number}"), "content": "nothing found"});
        let (whole, own) = if step.mixed { (Some(whole.as_slice()), Some(own)) } else { (None, None) };
        self.reply(begun, &shown, whole, own).await;
        let result = |(id, length): (&String, &usize)| json!({"type": "tool_result", "tool_use_id": id, "content": "tide ".repeat(length / 5 + 1)});
        let results: Vec<Value> = ids.iter().zip(&step.results).map(result).collect();
        self.history.push(json!({"role": "user", "content": results}));
        self.number += 1;
        Some(())
    }

    async fn turn(&mut self, plot: &Plot) -> Option<()> {
        let words = format!("Question {} on {}", self.number, "the harbour and its boats ".repeat(plot.words / 5 + 1));
        let content = if plot.as_text { json!(words) } else { json!([{"type": "text", "text": words}]) };
        self.history.push(json!({"role": "user", "content": content}));
        if plot.instructs {
            self.history.push(json!({"role": "system", "content": format!("Rule {}.", self.number)}));
        }
        for step in &plot.steps {
            self.step(step).await?;
        }
        let begun = self.send().await?;
        let thought = json!({"type": "thinking", "thinking": format!("thought {}", self.number), "signature": "s"});
        self.reply(begun, &[thought, json!({"type": "text", "text": format!("Answer {}.", self.number)})], None, None)
            .await;
        self.number += 1;
        Some(())
    }
}

/// A message as a provider compares it: blocks, and no marks.
fn plain(message: &Value) -> Value {
    let mut message = message.clone();
    if let Value::String(text) = &message["content"] {
        message["content"] = json!([{"type": "text", "text": text}]);
    }
    for block in message["content"].as_array_mut().unwrap() {
        block.as_object_mut().unwrap().shift_remove("cache_control");
    }
    message
}

fn blocks(message: &Value) -> &[Value] {
    message["content"].as_array().unwrap()
}

fn begins_turn(message: &Value) -> bool {
    let text = blocks(message)[0]["text"].as_str().unwrap_or_default();
    message["role"] == "user" && text.starts_with("Question ")
}

/// The note of the fold, if there is one.
fn folded(messages: &[Value]) -> Option<String> {
    let text = blocks(messages.first()?)[0]["text"].as_str()?;
    text.starts_with("<contents-").then(|| text.to_owned())
}

/// How many results are held: where a turn would not fit otherwise, its own are.
fn held(messages: &[Value]) -> usize {
    let results = messages.iter().flat_map(blocks).filter_map(|block| block["content"].as_str());
    results.filter(|text| text.starts_with("[Tool result h")).count()
}

/// How much of what was sent last has to be there again: all of it in the same turn, else what was before the last
/// turn.
fn stable(before: &[Value], now: &[Value]) -> usize {
    let turn = |messages: &[Value]| messages.iter().rposition(begins_turn).unwrap_or(0);
    if before.is_empty() || before[turn(before)] == now[turn(now)] { before.len() } else { turn(before) }
}

/// I1, I2 and I3.
fn calls_have_results(messages: &[Value]) {
    let mut known = HashSet::new();
    for (i, message) in messages.iter().enumerate() {
        assert!(!blocks(message).is_empty(), "nothing is empty");
        let ids = |of: &Value, kind: &str, field: &str| -> Vec<String> {
            let found = blocks(of).iter().filter(|block| block["type"] == kind);
            found.map(|block| block[field].as_str().unwrap().to_owned()).collect()
        };
        let calls = ids(message, "tool_use", "id");
        assert!(calls.iter().all(|id| known.insert(id.clone())), "I1: {calls:?} twice");
        let next = messages.get(i + 1).filter(|_| message["role"] == "assistant");
        let results = next.map(|next| ids(next, "tool_result", "tool_use_id")).unwrap_or_default();
        assert_eq!(calls, results, "I1, I2: at {i}");
        let kinds: Vec<bool> = blocks(message).iter().map(|block| block["type"] == "tool_result").collect();
        assert!(kinds.is_sorted_by(|a, b| a >= b), "I2: results come first");
        let orphans = kinds[0] && (i == 0 || messages[i - 1]["role"] != "assistant");
        assert!(!orphans, "I3: results without their calls at {i}");
    }
}

/// Behind a person's message, and before a reply or at the end.
fn instructions_stand_before_replies(messages: &[Value]) {
    let role = |i: usize| messages.get(i).and_then(|message| message["role"].as_str());
    for i in (0..messages.len()).filter(|i| role(*i) == Some("system")) {
        assert!(i > 0 && role(i - 1) == Some("user"), "a system message at {i} stands behind no person's");
        assert!(matches!(role(i + 1), None | Some("assistant")), "a system message at {i} stands before no reply");
    }
}

/// I12.
fn marks_are_few(body: &Value, touched: bool) {
    let system = body["system"].as_array().into_iter().flatten();
    let said =
        body["messages"].as_array().unwrap().iter().filter_map(|message| message["content"].as_array()).flatten();
    let marked: Vec<&Value> = system.chain(said).filter(|block| block["cache_control"].is_object()).collect();
    assert!(marked.len() <= 4, "I12: {}", marked.len());
    assert!(marked.iter().all(|block| block["type"] != "thinking"));
    let long: Vec<bool> = marked.iter().map(|block| block["cache_control"]["ttl"] == "1h").collect();
    assert!(!touched || long.is_sorted_by(|a, b| a >= b), "I12: an hour behind five minutes");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_window_is_one_that_its_provider_accepts(plots in prop::collection::vec(plot(), 4..24), manner in manner()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut talk = Talk::new(manner);
            for plot in &plots {
                if talk.turn(plot).await.is_none() {
                    return;
                }
            }
        });
    }
}
