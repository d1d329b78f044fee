//! The ledger: what the calls of a session were made of and cost, newest first, and what the helper was asked.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use scrollback::engine::Recorded;
use scrollback::ledger::{Call, Cost, Tokens, Totals};
use scrollback::store::{Keys, Kind, Scope};
use scrollback::{At, SessionKey, Store};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ask::VIEW_KEY;
use super::{Ask, Refusal, Room};

/// So many windows, and so many questions to the helper, are summed up unless somebody wants all.
const LATELY: usize = 500;

/// A page of the ledger.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LedgerPage")]
pub(super) struct Page {
    /// The sums; only the first page has them.
    totals: Option<Sums>,
    /// What the helper model was asked; only on the first page.
    tasks: Vec<Task>,
    calls: Vec<Line>,
    /// Where the next page begins.
    next: Option<String>,
}

/// The calls of the newest windows together, or of all.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LedgerTotals")]
struct Sums {
    /// How many windows are summed up.
    windows: usize,
    /// Whether the session has no others.
    whole: bool,
    calls: u64,
    /// Calls at prices that are not known; they are in no cost.
    unpriced: u64,
    input: u64,
    /// Of the input, what came from a cache.
    read: u64,
    output: u64,
    /// In dollars.
    cost: f64,
    /// Input if everything had been sent every time.
    without_input: u64,
    without_cost: f64,
    cached_percent: f64,
    saved_percent: f64,
}

/// A call of a model.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LedgerCall")]
struct Line {
    view: String,
    at: At,
    model: String,
    upstream: String,
    tokens: Made,
    input: u32,
    read: u32,
    output: u32,
    cost: Option<f64>,
    without_tokens: Option<u32>,
    without_cost: Option<f64>,
    millis: u32,
}

/// What a request was made of.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CallTokens")]
struct Made {
    instructions: u32,
    tools: u32,
    contents: u32,
    open: u32,
    current: u32,
    held: u32,
    recalled: u32,
    topics: u32,
    kept: u32,
}

/// What the helper model was asked for one task.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HelperTask")]
#[expect(clippy::struct_field_names, reason = "the names of the answer")]
pub(crate) struct Task {
    pub(crate) task: String,
    pub(crate) questions: u64,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
}

/// A question to the helper model, as the engine records it.
#[derive(Deserialize)]
struct Asked {
    task: String,
    input_tokens: u32,
    output_tokens: u32,
}

impl Sums {
    fn of(totals: &Totals, windows: usize, whole: bool) -> Self {
        Self {
            windows,
            whole,
            calls: totals.calls,
            unpriced: totals.unpriced,
            input: totals.input,
            read: totals.read,
            output: totals.output,
            cost: totals.cost.dollars(),
            without_input: totals.without_input,
            without_cost: totals.without_cost.dollars(),
            cached_percent: totals.cached_percent(),
            saved_percent: totals.saved_percent(),
        }
    }
}

impl Line {
    fn of(recorded: &Recorded, call: &Call) -> Self {
        let Tokens { instructions, tools, contents, open, current, held, recalled, topics, kept } = call.tokens;
        let hit = call.hit();
        Self {
            view: recorded.name.clone(),
            at: recorded.at,
            model: call.model.clone(),
            upstream: call.upstream.clone(),
            tokens: Made { instructions, tools, contents, open, current, held, recalled, topics, kept },
            input: hit.input(),
            read: hit.read,
            output: call.reported.map_or(0, |usage| usage.output),
            cost: call.cost.map(Cost::dollars),
            without_tokens: call.without.map(|without| without.tokens),
            without_cost: call.without.and_then(|without| without.cost).map(Cost::dollars),
            millis: call.millis,
        }
    }
}

/// Lists the calls of a session: those of so many views.
pub(super) async fn list(room: &Room, ask: &Ask, name: &str) -> Result<Value, Refusal> {
    let (_, key) = room.session(name).await?;
    let page = ask.page()?;
    let mut views = room.engine.views_before(&key, page.key(VIEW_KEY)?, page.count + 1).await?;
    let next = page.rest(&mut views, |last| last.key.clone());
    let calls =
        |recorded: &Recorded| recorded.view.calls.iter().rev().map(|call| Line::of(recorded, call)).collect::<Vec<_>>();
    let calls = views.iter().flat_map(calls).collect();
    let (mut totals, mut tasks) = (None, Vec::new());
    if page.cursor.is_empty() {
        let most = if ask.wants("totals", "true") { usize::MAX >> 1 } else { LATELY };
        totals = Some(sums(room, &key, most).await?);
        tasks = asked(&**room.engine.log().store(), &key, most).await?;
    }
    Ok(serde_json::to_value(Page { totals, tasks, calls, next })?)
}

/// The sums of the newest windows, read bit by bit, so that they take no more room than a page.
async fn sums(room: &Room, key: &SessionKey, most: usize) -> Result<Sums, Refusal> {
    let (mut totals, mut windows, mut cursor) = (Totals::default(), 0, String::new());
    loop {
        let views = room.engine.views_before(key, &cursor, LATELY + 1).await?;
        let more = views.len() > LATELY;
        for recorded in views.iter().take(LATELY) {
            windows += 1;
            cursor.clone_from(&recorded.key);
            recorded.view.calls.iter().for_each(|call| totals.add(call));
        }
        if !more || windows >= most {
            return Ok(Sums::of(&totals, windows, !more));
        }
    }
}

/// All that the helper model was asked, task by task.
pub(crate) async fn tasks(store: &dyn Store, key: &SessionKey) -> scrollback::Result<Vec<Task>> {
    asked(store, key, usize::MAX >> 1).await
}

async fn asked(store: &dyn Store, key: &SessionKey, most: usize) -> scrollback::Result<Vec<Task>> {
    let keys = Keys::Before(String::new(), most);
    let records = store.records(&Scope::Session(key.clone()), Kind::Ledger, keys).await?;
    let mut tasks: BTreeMap<String, Task> = BTreeMap::new();
    for asked in records.iter().filter_map(|record| serde_json::from_str::<Asked>(record.body.get()).ok()) {
        let none = Task { task: asked.task.clone(), questions: 0, input_tokens: 0, output_tokens: 0 };
        let task = tasks.entry(asked.task).or_insert(none);
        task.questions += 1;
        task.input_tokens += u64::from(asked.input_tokens);
        task.output_tokens += u64::from(asked.output_tokens);
    }
    Ok(tasks.into_values().collect())
}
