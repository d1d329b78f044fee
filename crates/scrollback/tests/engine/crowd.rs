//! Several requests at once, and conversations too long to be read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use scrollback::engine::{Ask, Turn};
use scrollback::log::{After, Arrival, History};
use scrollback::search::Probe;
use scrollback::store::{
    Batch, Committed, Keys, Kind, Known, Matches, Origin, Record, Scope, Session, Span, Stored, Which,
};
use scrollback::strategy::StrategyName;
use scrollback::window::Budget;
use scrollback::{
    At, Error, Log, MemoryStore, MessageId, Result, SessionKey, SqliteOptions, SqliteStore, Store, Tenant,
};
use serde_json::{Value, json};

use super::desk::{Desk, LIMIT, contents, raw, run, settings, texts};
use super::kit::{assistant, call, result, system, user};

/// A store that lets others go first at every step, and counts what is read.
struct Watched {
    inner: Arc<dyn Store>,
    calls: AtomicUsize,
    messages: AtomicUsize,
    listings: AtomicUsize,
    records: AtomicUsize,
    /// Whether somebody else has erased what is read.
    erased: AtomicBool,
}

#[async_trait]
impl Store for Watched {
    async fn commit(&self, batch: Batch) -> Result<Committed> {
        tokio::task::yield_now().await;
        self.inner.commit(batch).await
    }

    async fn prefix(
        &self,
        session: &SessionKey,
        from: scrollback::ids::Depth,
        chain: Vec<scrollback::ids::NodeId>,
    ) -> Result<Option<Known>> {
        tokio::task::yield_now().await;
        self.inner.prefix(session, from, chain).await
    }

    async fn read(&self, session: &SessionKey, span: Span) -> Result<Vec<Stored>> {
        tokio::task::yield_now().await;
        if self.erased.load(Ordering::Relaxed) {
            return Ok(Vec::new());
        }
        let read = self.inner.read(session, span).await?;
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.messages.fetch_add(read.len(), Ordering::Relaxed);
        Ok(read)
    }

    async fn matching(&self, tenant: &Tenant, probe: Probe) -> Result<Matches> {
        self.inner.matching(tenant, probe).await
    }

    async fn records(&self, scope: &Scope, kind: Kind, keys: Keys) -> Result<Vec<Record>> {
        tokio::task::yield_now().await;
        self.records.fetch_add(1, Ordering::Relaxed);
        self.inner.records(scope, kind, keys).await
    }

    async fn sessions(&self, tenant: &Tenant, which: Which) -> Result<Vec<Session>> {
        self.listings.fetch_add(1, Ordering::Relaxed);
        self.inner.sessions(tenant, which).await
    }
}

fn watched(budget: u32) -> (Arc<Watched>, Desk) {
    over(Arc::new(MemoryStore::default()), StrategyName::Pages, budget)
}

fn over(inner: Arc<dyn Store>, strategy: StrategyName, budget: u32) -> (Arc<Watched>, Desk) {
    let (calls, messages, listings, records, erased) = Default::default();
    let store = Arc::new(Watched { inner, calls, messages, listings, records, erased });
    (store.clone(), Desk::new(store, settings(strategy), budget))
}

fn chat(turns: usize, words: &str) -> Vec<Value> {
    let turn =
        |i: usize| [user(&format!("Question zq{i:05}x: {words}?")), assistant(&format!("Answer {i} about {words}."))];
    (0..turns).flat_map(turn).collect()
}

#[test]
fn the_same_request_many_times_at_once_folds_once() {
    run(async {
        for known in [0, 11, 30] {
            let (_, mut desk) = watched(3_000);
            let mut history = chat(30, &"boats and tides ".repeat(10));
            if known > 0 {
                let turn = desk.begin(&history[..2 * known - 1]).await.unwrap();
                desk.finish(turn, &history[2 * known - 1]).await;
            }
            history.push(user("And now?"));
            let begin = || desk.begin_at(&history, 9);
            let (a, b, c, d) = tokio::join!(begin(), begin(), begin(), begin());
            let shown: Vec<_> = [a, b, c, d].into_iter().map(|turn| texts(turn.unwrap().window())).collect();
            assert!(shown.iter().all(|texts| *texts == shown[0]) && shown[0].len() < 30, "{known}");
        }
    });
}

/// Programs play one talk again and again, with another beginning each time: what is said in several conversations
/// proves nothing of any of them.
#[test]
fn conversations_that_say_the_same_are_not_read() {
    run(async {
        let (store, _) = watched(3_000);
        let (log, tenant) = (Log::new(store.clone()), Tenant::local());
        for i in 0..20 {
            let history = [vec![user(&format!("Talk number {i}."))], chat(30, "boats and tides by the pier")].concat();
            let (text, before) = (json!(history).to_string(), store.messages.load(Ordering::Relaxed));
            let history = History::parse(&text).unwrap();
            let received = log.receive(Arrival::new(&tenant, None, "gpt-5", At(i)), &history).await.unwrap();
            let read = store.messages.load(Ordering::Relaxed) - before;
            assert!(i < 2 || read < 60, "talk {i} has {} messages, {read} were read", received.added);
        }
    });
}

#[test]
fn a_turn_in_a_session_that_is_erased_meanwhile_is_refused() {
    run(async {
        let inner: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let (_, mut first) = over(inner.clone(), StrategyName::Pages, 3_000);
        let mut history = chat(3, "boats and tides");
        let turn = first.begin(&history[..5]).await.unwrap();
        first.finish(turn, &history[5]).await;
        history.push(user("And now?"));
        let (store, second) = over(inner, StrategyName::Pages, 3_000);
        store.erased.store(true, Ordering::Relaxed);
        let refused = second.begin_at(&history, 9).await;
        assert!(matches!(refused, Err(Error::NotFound(_))), "{:?}", refused.err());
    });
}

/// Two requests of different sizes fold one branch at once: each view keeps the fold that its window began with.
#[test]
fn views_of_requests_that_fold_at_once_draw_their_own_windows() {
    run(async {
        let (_, mut desk) = watched(6_000);
        let mut history = chat(30, &"boats and tides ".repeat(10));
        let turn = desk.begin(&history[..11]).await.unwrap();
        desk.finish(turn, &history[11]).await;
        history.push(user("And now?"));
        let mut small = Desk { store: desk.store.clone(), budget: 1_500, ..Desk::memory(0) };
        desk.restart();
        small.restart();
        let (other, one) = tokio::join!(small.begin_at(&history, 9), desk.begin_at(&history, 8));
        let (one, other) = (one.unwrap(), other.unwrap());
        let shown = [texts(one.window()), texts(other.window())];
        assert_ne!(shown[0], shown[1]);
        desk.now = 20;
        desk.finish(one, &assistant("One.")).await;
        small.now = 30;
        small.finish(other, &assistant("Other.")).await;
        let views = desk.engine.views(&desk.session()).await.unwrap();
        for (recorded, shown) in views[1..].iter().zip(&shown) {
            let drawn = desk.engine.window_of(&desk.session(), &recorded.view).await.unwrap();
            assert_eq!(texts(&drawn), *shown, "{}", recorded.name);
        }
    });
}

async fn imported(desk: &Desk, history: &[Value]) {
    let arrival = Arrival { origin: Origin::Import, ..Arrival::new(&desk.tenant, desk.declared, "gpt-5", At(1)) };
    let log = Log::new(desk.store.clone());
    for stretch in history.chunks(5_000) {
        let text = Value::Array(stretch.to_vec()).to_string();
        let history = History::parse(&text).unwrap();
        log.receive_new(arrival, After::Last("talk"), &history).await.unwrap();
    }
}

#[test]
fn the_first_request_over_a_long_conversation_reads_its_end_alone() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let file = SqliteStore::open(&SqliteOptions::new(folder.path().join("log.db"))).unwrap();
        let (store, mut desk) = over(Arc::new(file), StrategyName::Pages, 4_000);
        let mut history = chat(10_000, "boats");
        imported(&desk, &history).await;
        history.push(user("Where were we?"));
        store.messages.store(0, Ordering::Relaxed);
        store.calls.store(0, Ordering::Relaxed);
        let mut turn = desk.begin(&history).await.unwrap();
        let (calls, messages) = (store.calls.load(Ordering::Relaxed), store.messages.load(Ordering::Relaxed));
        assert!(messages < 2_000 && calls < 20, "{messages} messages in {calls} reads");
        assert!(turn.window().fits() && turn.window().lost() == 0);
        let shown = texts(turn.window());
        desk.restart();
        assert_eq!(texts(desk.begin(&history).await.unwrap().window()), shown);
        let found = super::reach::recall(&desk, &mut turn, super::reach::search("zq00007x")).await;
        assert!(found.contains("m14 · page #14"), "{found}");
        let page = super::reach::recall(&desk, &mut turn, super::reach::page(14)).await;
        assert!(page.contains("Question zq00007x") && page.contains("Answer 7 about"), "{page}");
    });
}

/// Whoever edits often has many branches; only those on the path may cost anything.
#[test]
fn a_turn_looks_at_no_branch_that_it_is_not_on() {
    run(async {
        for strategy in StrategyName::ALL {
            let (store, mut desk) = over(Arc::new(MemoryStore::default()), strategy, 3_000);
            let history = chat(30, &"boats and tides ".repeat(10));
            for edited in 0..6 {
                let mut history = history[..21 + 8 * (edited % 3)].to_vec();
                *history.last_mut().unwrap() = user(&format!("Another way to put it, number {edited}."));
                if edited == 4 {
                    desk.restart();
                }
                let turn = desk.begin(&history).await.unwrap();
                desk.finish(turn, &assistant(&format!("Well, {edited}."))).await;
            }
            assert_eq!(store.listings.load(Ordering::Relaxed), 0, "{strategy:?}");
            let session = store.sessions(&desk.tenant, Which::Id(desk.session().id)).await.unwrap().remove(0);
            assert!(session.branches.len() > 3, "{}", session.branches.len());
        }
    });
}

/// Turns of a client that puts each reply in other words before it goes on: every one of them begins a branch on the
/// path.
async fn rewriting(desk: &mut Desk, history: &mut Vec<Value>, turns: usize) {
    for _ in 0..turns {
        let i = history.len() / 2;
        let about = ["boats and tides", "bread and ovens", "roses and thorns", "stars and lenses"][i / 3 % 4];
        history.push(user(&format!("Question zq{i:05}x: what of the {} this time?", format!("{about} ").repeat(8))));
        let turn = desk.begin(history).await.unwrap();
        desk.finish(turn, &assistant(&format!("Draft {i}, soon to be replaced."))).await;
        history.push(assistant(&format!(
            "The {about} of number {i} are well, said otherwise: {}",
            "so it is. ".repeat(9)
        )));
    }
}

/// A path may consist of many branches: a turn reads what it needs of it in few steps, and one that begins yet another
/// branch knows what those before it knew.
#[test]
fn a_turn_on_a_path_of_many_branches_asks_the_store_for_little() {
    run(async {
        for strategy in [StrategyName::Pages, StrategyName::Topics] {
            let folder = tempfile::tempdir().unwrap();
            let file = SqliteStore::open(&SqliteOptions::new(folder.path().join("log.db"))).unwrap();
            let (store, mut desk) = over(Arc::new(file), strategy, 3_000);
            let mut history = Vec::new();
            rewriting(&mut desk, &mut history, 60).await;
            let mut asked = Vec::new();
            for (i, replied) in ["The boats are well.", "Draft, soon to be replaced.", "Draft."].into_iter().enumerate()
            {
                history.push(user(&format!(
                    "What did we say of the tides, the ovens and the thorns, for the {i}th time?"
                )));
                let before = [&store.calls, &store.records].map(|count| count.load(Ordering::Relaxed));
                let turn = desk.begin(&history).await.unwrap();
                let after = [&store.calls, &store.records].map(|count| count.load(Ordering::Relaxed));
                asked.push((turn.received().head.unwrap().branch, after[0] - before[0], after[1] - before[1]));
                desk.finish(turn, &assistant(replied)).await;
                history.push(assistant(if i == 0 { replied } else { "The tides turn, said otherwise and at length." }));
            }
            let [_, (old, reads, records), (new, reads_anew, records_anew)] = asked[..] else { panic!() };
            assert!(old.0 >= 60 && new > old, "{strategy:?}: {asked:?}");
            assert!(reads_anew < 20 && records_anew < 500, "{strategy:?}: {asked:?}");
            assert!(reads_anew <= reads + 6 && records_anew <= records + 20, "{strategy:?}: {asked:?}");
        }
    });
}

#[test]
fn two_first_requests_at_once_over_a_long_conversation_both_work() {
    run(async {
        let (_, desk) = watched(4_000);
        let mut history = chat(600, &"boats and tides ".repeat(10));
        imported(&desk, &history).await;
        history.push(user("Where were we?"));
        let (one, other) = tokio::join!(desk.begin_at(&history, 3), desk.begin_at(&history, 3));
        assert_eq!(texts(one.unwrap().window()), texts(other.unwrap().window()));
    });
}

/// A request that goes on from a message, with instructions of its own.
async fn going_on(desk: &Desk, message: u32, instructions: &Value) -> Turn {
    let text = json!([user("Where were we?")]).to_string();
    let history = History::parse(&text).unwrap().with_heads(vec![raw(instructions)]);
    let arrival = Arrival::new(&desk.tenant, None, "gpt-5", At(9));
    let place = After::Place { session: desk.session().id, message: Some(MessageId(message)) };
    let ask = Ask::new(arrival, &history, Budget { tokens: desk.budget }, LIMIT);
    desk.engine.begin(Ask { after: Some(place), ..ask }).await.unwrap()
}

/// Whoever is slower lays out its turn once more, and still shows its model what its own request says.
#[test]
fn of_two_requests_that_fold_at_once_both_keep_their_instructions() {
    run(async {
        let (_, desk) = watched(3_000);
        imported(&desk, &chat(30, &"boats and tides ".repeat(10))).await;
        let rhyme = system("Answer in rhyme.");
        let (one, other) = tokio::join!(going_on(&desk, 59, &rhyme), going_on(&desk, 59, &rhyme));
        assert!(one.covers().is_some() && one.covers() == other.covers());
        for turn in [one, other] {
            assert_eq!(texts(turn.window())[0], rhyme.to_string());
        }
    });
}

/// A turn of a thousand calls: wherever reading begins, a result is not shown without its call.
#[test]
fn a_long_conversation_without_questions_does_not_part_calls_from_results() {
    run(async {
        for extra in 0..4 {
            let (_, mut desk) = watched(3_000);
            let mut history = vec![user("Do it all.")];
            for i in 0..400 {
                let id = format!("call-{i:04}-abcdef");
                history.extend([call(&id, "look", &json!({"row": i})), result(&id, &"row of the table ".repeat(12))]);
                if i == 390 {
                    history.extend(vec![assistant("Going on."); extra]);
                }
            }
            imported(&desk, &history[..history.len() - 1]).await;
            let turn = desk.begin(&history).await.unwrap();
            assert!(contents(turn.window()).is_some() && turn.window().lost() == 0 && turn.window().fits());
            super::laws::assert_paired(turn.window());
        }
    });
}
