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

/// So many windows are summed up unless somebody wants all; so many records are read at once.
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
    /// In dollars, with what the helper model cost.
    cost: f64,
    /// Of it, what the helper model cost.
    helper_cost: f64,
    /// Questions to the helper model at prices that are not known; they are in no cost.
    helper_unpriced: u64,
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
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "HelperTask")]
#[expect(clippy::struct_field_names, reason = "the names of the answer")]
pub(crate) struct Task {
    pub(crate) task: String,
    pub(crate) questions: u64,
    /// Of them, how many were at prices that are not known; they are in no cost.
    pub(crate) unpriced: u64,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    /// In dollars.
    cost: f64,
    /// The same to the last digit.
    #[serde(skip)]
    pub(crate) spent: Cost,
}

/// A question to the helper model, as the engine records it.
#[derive(Deserialize)]
struct Asked {
    task: String,
    input_tokens: u32,
    output_tokens: u32,
    #[serde(default)]
    cost: Option<Cost>,
}

impl Task {
    fn add(&mut self, asked: &Asked) {
        self.questions += 1;
        self.unpriced += u64::from(asked.cost.is_none());
        self.input_tokens += u64::from(asked.input_tokens);
        self.output_tokens += u64::from(asked.output_tokens);
        self.spent = self.spent.plus(asked.cost.unwrap_or_default());
        self.cost = self.spent.dollars();
    }
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
            helper_cost: totals.helper_cost.dollars(),
            helper_unpriced: totals.helper_unpriced,
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
            output: call.output(),
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
        let (sums, asked) = sums(room, &key, most).await?;
        (totals, tasks) = (Some(sums), asked);
    }
    Ok(serde_json::to_value(Page { totals, tasks, calls, next })?)
}

/// The sums of the newest windows, read bit by bit, so that they take no more room than a page; and what the helper was
/// asked since the first of them.
async fn sums(room: &Room, key: &SessionKey, most: usize) -> Result<(Sums, Vec<Task>), Refusal> {
    let (mut totals, mut windows, mut cursor, mut first) = (Totals::default(), 0, String::new(), None);
    loop {
        let views = room.engine.views_before(key, &cursor, LATELY + 1).await?;
        let more = views.len() > LATELY;
        for recorded in views.iter().take(LATELY) {
            windows += 1;
            cursor.clone_from(&recorded.key);
            first = Some(recorded.at);
            recorded.view.calls.iter().for_each(|call| totals.add(call));
        }
        if !more || windows >= most {
            let tasks = tasks(&**room.engine.log().store(), key, first.filter(|_| more), &mut totals).await?;
            return Ok((Sums::of(&totals, windows, !more), tasks));
        }
    }
}

/// What the helper model was asked since then, or ever, task by task; what it cost is added to the sums.
pub(crate) async fn tasks(
    store: &dyn Store,
    key: &SessionKey,
    since: Option<At>,
    totals: &mut Totals,
) -> scrollback::Result<Vec<Task>> {
    let (mut tasks, mut cursor) = (BTreeMap::<String, Task>::new(), String::new());
    loop {
        let keys = Keys::Before(cursor, LATELY);
        let mut records = store.records(&Scope::Session(key.clone()), Kind::Ledger, keys).await?;
        let more = records.len() == LATELY;
        records.retain(|record| since.is_none_or(|since| record.at >= since));
        for asked in records.iter().filter_map(|record| serde_json::from_str::<Asked>(record.body.get()).ok()) {
            let none = Task { task: asked.task.clone(), ..Task::default() };
            tasks.entry(asked.task.clone()).or_insert(none).add(&asked);
            totals.add_helper(asked.cost);
        }
        match records.pop() {
            Some(last) if more && records.len() + 1 == LATELY => cursor = last.key,
            Some(_) | None => return Ok(tasks.into_values().collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use scrollback::log::{Arrival, History};
    use scrollback::store::{Batch, Expect, Put};
    use scrollback::{Log, MemoryStore, Tenant};
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;

    /// A conversation with 1,200 questions to the helper, a microsecond apart. They cost 5 each, but for the first,
    /// whose price is not known, and the second, which was not heard.
    async fn helped() -> (Arc<MemoryStore>, SessionKey) {
        let (store, tenant) = (Arc::new(MemoryStore::default()), Tenant::local());
        let history = History::parse(r#"[{"role":"user","content":"Where is the key?"}]"#).unwrap();
        let arrival = Arrival::new(&tenant, Some("talk"), "gpt-5", At(1));
        let key = Log::new(store.clone()).receive(arrival, &history).await.unwrap().session;
        let put = |n: i64| {
            let body = match n {
                0 => json!({"task": "digest", "input_tokens": 2, "output_tokens": 1}),
                1 => json!({"task": "digest", "input_tokens": 0, "output_tokens": 0}),
                _ => json!({"task": "digest", "input_tokens": 2, "output_tokens": 1, "cost": 5}),
            };
            let (scope, body) = (Scope::Session(key.clone()), to_raw_value(&body).unwrap());
            Put { scope, kind: Kind::Ledger, key: format!("{n:016x}-00"), at: At(n), body, expect: Expect::Any }
        };
        store.commit(Batch::of_records(key.clone(), (0..1_200).map(put).collect())).await.unwrap();
        (store, key)
    }

    #[tokio::test]
    async fn what_the_helper_cost_is_told_by_task_and_added_up() {
        let (store, key) = helped().await;
        let mut totals = Totals::default();
        let all = tasks(&*store, &key, None, &mut totals).await.unwrap().remove(0);
        assert_eq!((all.questions, all.unpriced, all.spent), (1_200, 2, Cost(5_990)));
        assert_eq!((totals.cost, totals.helper_cost, totals.helper_unpriced), (Cost(5_990), Cost(5_990), 2));
        let told = serde_json::to_value(&all).unwrap();
        assert_eq!((&told["cost"], &told["spent"]), (&json!(Cost(5_990).dollars()), &json!(null)));
        let mut lately = Totals::default();
        let some = tasks(&*store, &key, Some(At(700)), &mut lately).await.unwrap().remove(0);
        assert_eq!((some.questions, lately.cost), (500, Cost(2_500)), "those of the windows that are summed up");
    }
}
