//! What each way of laying out windows costs.

use std::sync::Arc;

use scrollback::engine::{Ask, EngineSettings, Finish};
use scrollback::ids::Hash128;
use scrollback::ledger::{CacheModel, Cost, Link, Prices, Sent};
use scrollback::log::{Arrival, History};
use scrollback::search::{Reach, related};
use scrollback::strategy::{Layout, StrategyName};
use scrollback::task::{Question, TaskSettings, Tasks};
use scrollback::tokens::Vocabulary;
use scrollback::window::{Budget, Reason};
use scrollback::{At, Engine, MemoryStore, Message, Tenant};
use serde_json::{Value, json};

use super::model::Knowing;
use super::talk::{self, Step};

const WINDOW: u32 = 16_000;
const STEP_MICROSECONDS: i64 = 20_000_000;
/// A main model and a helper of the same house.
const HOUSES: [(&str, &str); 2] = [("gpt-5.5", "gpt-5-nano"), ("claude-sonnet-5", "claude-haiku-5-5")];
/// What retrieval brings in its usual form: so many tokens, before the last messages.
const RETRIEVED_TOKENS: u32 = 4_000;
const LAST_MESSAGES: usize = 20;

enum Way {
    Everything,
    Retrieval,
    Pages,
    Topics(Layout, Helped),
}

#[derive(Clone, Copy, PartialEq)]
enum Helped {
    No,
    Yes,
}

/// One call as a cache sees it.
struct Call {
    chain: Vec<Link>,
    at: At,
}

pub(crate) fn run() {
    let subjects = talk::subjects();
    let script = talk::script(&subjects);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    println!(
        "| layout | main tokens | {0} cached · cost | {1} cached · cost | helper calls · tokens | {2} cached · cost | {3} cached · cost | total |",
        HOUSES[0].0, HOUSES[1].0, HOUSES[0].1, HOUSES[1].1
    );
    println!("|---|---|---|---|---|---|---|---|");
    let ways = [
        ("everything", Way::Everything),
        ("retrieval in front", Way::Retrieval),
        ("pages, no helper", Way::Pages),
        ("topics, no helper", Way::Topics(Layout::Tail, Helped::No)),
        ("topics", Way::Topics(Layout::Tail, Helped::Yes)),
        ("topics, layout head", Way::Topics(Layout::Head, Helped::Yes)),
    ];
    let mut first = None;
    for (name, way) in ways {
        let helper = Arc::new(Knowing::new(subjects.clone(), script.clone()));
        let main = runtime.block_on(play(&way, &script, &helper));
        let asked: Vec<Call> =
            helper.asked.lock().unwrap().iter().enumerate().map(|(i, question)| asked(i, question)).collect();
        let (mut cells, mut totals) = (Vec::new(), [Cost(0); 2]);
        for (calls, models) in [(&main, HOUSES.map(|house| house.0)), (&asked, HOUSES.map(|house| house.1))] {
            let tokens: u64 = calls.iter().flat_map(|call| &call.chain).map(|link| u64::from(link.tokens)).sum();
            cells.push(if calls.len() == script.len() {
                tokens.to_string()
            } else {
                format!("{} · {tokens}", calls.len())
            });
            for (i, model) in models.iter().enumerate() {
                let (read, cost) = charged(calls, model);
                totals[i] = totals[i].plus(cost);
                cells.push(format!("{:.1} % · {cost}", read as f64 * 100.0 / tokens.max(1) as f64));
            }
        }
        let base = *first.get_or_insert(totals);
        let share = |i: usize| totals[i].dollars() / base[i].dollars();
        println!("| {name} | {} | {:.2}× · {:.2}× |", cells.join(" | "), share(0), share(1));
    }
}

fn charged(calls: &[Call], model: &str) -> (u64, Cost) {
    let (mut cache, prices) = (CacheModel::default(), Prices::shipped());
    let price = prices.of(model).unwrap();
    let (mut read, mut cost) = (0, Cost(0));
    for call in calls {
        let scope = Hash128::of("model", &[model.as_bytes()]);
        let hit = cache.predict(&Sent { scope, rule: price.rule.unwrap(), chain: &call.chain, at: call.at });
        read += u64::from(hit.read);
        cost = cost.plus(price.cost(hit, 0));
    }
    (read, cost)
}

/// A question to the helper as a cache sees it; one that reads a topic marks the end of its messages.
fn asked(number: usize, question: &Question) -> Call {
    let pieces = std::iter::once(question.instructions.as_str()).chain(question.text.split_inclusive("\n\n"));
    let link = |text: &str| {
        let link =
            Link::new(Hash128::of("piece", &[text.as_bytes()]), u32::try_from(Vocabulary::O200k.count(text)).unwrap());
        if text.contains("</topic-") { link.marked() } else { link }
    };
    Call { chain: pieces.map(link).collect(), at: At(i64::try_from(number).unwrap() * 2_000_000) }
}

async fn play(way: &Way, script: &[Step], helper: &Arc<Knowing>) -> Vec<Call> {
    let mut settings = EngineSettings::default();
    let mut tasks = Tasks::offline();
    settings.strategy = match way {
        Way::Everything | Way::Retrieval => StrategyName::Passthrough,
        Way::Pages => StrategyName::Pages,
        Way::Topics(layout, helped) => {
            settings.strategies.topics.layout = *layout;
            if *helped == Helped::Yes {
                tasks = Tasks::new(helper.clone(), TaskSettings::default());
            }
            StrategyName::Topics
        }
    };
    let engine = Engine::new(Arc::new(MemoryStore::default()), tasks, settings);
    let mut history = vec![json!({"role": "system", "content": "You are a friend."})];
    let mut calls = Vec::new();
    for (number, step) in script.iter().enumerate() {
        let at = At(i64::try_from(number + 1).unwrap() * STEP_MICROSECONDS);
        history.push(json!({"role": "user", "content": step.user}));
        let reply = json!({"role": "assistant", "content": step.reply});
        let mut chain = turn(&engine, &history, &reply, at).await;
        if matches!(way, Way::Retrieval) {
            chain = retrieved(&engine, &history, step).await;
        }
        calls.push(Call { chain, at });
        history.push(reply);
    }
    calls
}

async fn turn(engine: &Engine, history: &[Value], reply: &Value, at: At) -> Vec<Link> {
    let text = Value::Array(history.to_vec()).to_string();
    let (parsed, tenant) = (History::parse(&text).unwrap(), Tenant::local());
    let arrival = Arrival::new(&tenant, Some("twelve"), "gpt-5", at);
    let ask = Ask::new(arrival, &parsed, Budget { tokens: WINDOW }, WINDOW);
    let turn = engine.begin(ask).await.unwrap();
    let (chain, chores) = (chain(turn.window().blocks()), turn.chores());
    let message = Message::from_json(&reply.to_string()).unwrap();
    let finish = Finish::of(message, "gpt-5", at);
    let head = engine.finish(turn, finish).await.unwrap().unwrap().position().unwrap();
    engine.tidy(chores.at(head), at).await.unwrap();
    engine.work_through(&Tenant::local(), at).await.unwrap();
    chain
}

/// A window as a cache sees it. Where marks are needed, one stands before what is not there the next time.
fn chain(blocks: &[scrollback::window::Block]) -> Vec<Link> {
    let passing = blocks.iter().position(|block| block.reason == Reason::Relevant).unwrap_or(blocks.len());
    let link = |(i, block): (usize, &scrollback::window::Block)| {
        let link = Link::new(block.hash(), block.tokens);
        if i + 1 == passing { link.marked() } else { link }
    };
    blocks.iter().enumerate().map(link).collect()
}

/// What retrieval usually sends: instructions, what is most like the question, the last messages.
async fn retrieved(engine: &Engine, history: &[Value], step: &Step) -> Vec<Link> {
    let tenant = Tenant::local();
    let session = scrollback::SessionId::declared(&tenant, "twelve");
    let found = related(&**engine.log().store(), &tenant, (&[&step.user], 1), (Reach::Session(session), usize::MAX))
        .await
        .unwrap()
        .remove(0);
    let mut room = RETRIEVED_TOKENS;
    let fits = |tokens: u32| {
        let rest = room.checked_sub(tokens);
        room = rest.unwrap_or(0);
        rest.is_some()
    };
    let mut fits = fits;
    let best = found.iter().filter(|found| fits(found.message.measure.tokens)).map(|found| {
        Link::new(Hash128::of("found", &[found.message.raw.get().as_bytes()]), found.message.measure.tokens)
    });
    let told = |message: &Value| {
        let text = message.to_string();
        Link::new(Hash128::of("told", &[text.as_bytes()]), u32::try_from(Vocabulary::O200k.count(&text)).unwrap())
    };
    let last = &history[history.len().saturating_sub(LAST_MESSAGES).max(1)..];
    std::iter::once(told(&history[0])).chain(best.collect::<Vec<_>>()).chain(last.iter().map(told)).collect()
}
