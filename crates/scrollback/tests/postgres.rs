//! What only a store that many nodes share can get wrong: writers in each other's way, caches of others, a database
//! that is away, damaged or not ours.
#![cfg(feature = "postgres")]
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod kit;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kit::postgres::{Server, fresh, shared};
use kit::{assistant, long, result, talk, user};
use scrollback::ids::Depth;
use scrollback::import::{self, Format};
use scrollback::log::{Arrival, History, Received};
use scrollback::search::{Query, Reach, find};
use scrollback::store::{Batch, Expect, Keys, Kind, Moving, Origin, Put, Scope, Span, Stint, Which};
use scrollback::{At, Error, Forget, Log, MessageId, PostgresOptions, PostgresStore, Store, Tenant};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A node: a store of its own and what it remembers.
struct Node {
    store: Arc<PostgresStore>,
    log: Log,
}

impl Node {
    async fn new(url: &str) -> Self {
        Self::within(url, PostgresOptions::new(url).timeout).await
    }

    /// One whose statements may take so long.
    async fn within(url: &str, timeout: Duration) -> Self {
        let options = PostgresOptions { connections: 4, timeout, ..PostgresOptions::new(url) };
        let store = Arc::new(PostgresStore::open(&options).await.unwrap());
        Self { log: Log::new(store.clone()), store }
    }

    async fn try_send(&self, messages: &[Value]) -> Result<Received, Error> {
        let (tenant, text) = (Tenant::local(), Value::Array(messages.to_vec()).to_string());
        let (history, _) = self.log.open(&tenant, &text).unwrap();
        self.log.receive(Arrival::new(&tenant, Some("s"), "gpt-5", At(1)), &history).await
    }

    async fn send(&self, messages: &[Value]) -> Received {
        self.try_send(messages).await.unwrap()
    }
}

/// The schema in an address.
fn schema(url: &str) -> &str {
    url.rsplit("%3D").next().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_start_at_once_migrate_once() {
    let url = fresh();
    let opened = (0..8).map(|_| {
        let options = PostgresOptions { connections: 1, ..PostgresOptions::new(&url) };
        tokio::spawn(async move { PostgresStore::open(&options).await.map(drop) })
    });
    for task in opened.collect::<Vec<_>>() {
        task.await.unwrap().unwrap();
    }
    let done = shared().sql(&format!("SELECT count(*) FROM {}.scrollback_migration", schema(&url)));
    assert_eq!(done, "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_append_at_once_leave_no_gap_and_nothing_twice() {
    let url = fresh();
    let mut tasks = Vec::new();
    for node in 0..3 {
        let node = (node, Arc::new(Node::new(&url).await));
        for task in 0..4 {
            let (number, node) = node.clone();
            tasks.push(tokio::spawn(async move {
                let mut history = talk("all", 2);
                for turn in 0..6 {
                    history.push(user(&long(&format!("task {task} of node {number}"), turn)));
                    node.send(&history).await;
                }
                history
            }));
        }
    }
    let mut told = HashSet::new();
    for task in tasks {
        told.extend(task.await.unwrap().iter().map(Value::to_string));
    }
    let node = Node::new(&url).await;
    let session = node.send(&talk("all", 2)).await.session;
    let all = node.store.read(&session, Span::Arrival { from: MessageId(0), limit: 10_000 }).await.unwrap();
    let numbers: Vec<u32> = all.iter().map(|stored| stored.id.0).collect();
    assert_eq!(numbers, (0..u32::try_from(told.len()).unwrap()).collect::<Vec<_>>());
    let kept: HashSet<String> = all.iter().map(|stored| stored.raw.get().to_owned()).collect();
    assert_eq!(kept, told);
    let listed = node.store.sessions(&Tenant::local(), Which::Id(session.id)).await.unwrap().remove(0);
    assert_eq!((listed.branches.len(), listed.messages as usize), (12, told.len()));
    assert_eq!(node.store.check(|_| {}).await.unwrap().problems, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stint_lasts_until_somebody_else_writes() {
    let url = fresh();
    let (one, other) = (Node::new(&url).await, Node::new(&url).await);
    let talk = talk("ann", 4);
    let first = one.send(&talk[..1]).await.stint;
    assert!(matches!(first, Stint::Since(_)));
    assert_eq!(one.send(&talk[..3]).await.stint, first);
    assert_eq!(one.send(&talk[..3]).await.stint, first, "sent again");
    assert_eq!(other.send(&talk[..3]).await.stint, Stint::Unknown, "nothing was written");
    assert_eq!(one.send(&talk[..3]).await.stint, first, "nothing was written");
    let second = other.send(&talk[..5]).await.stint;
    assert!(second != first && matches!(second, Stint::Since(_)));
    assert_eq!(one.send(&talk[..3]).await.stint, Stint::Unknown);
    let third = one.send(&talk[..7]).await.stint;
    assert!(![first, second].contains(&third));
}

/// What a node remembers of a session that another erased is not there any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_node_erased_is_stored_anew() {
    let url = fresh();
    let (one, other) = (Node::new(&url).await, Node::new(&url).await);
    let mut history = talk("ann", 3);
    let session = one.send(&history).await.session;
    assert_eq!(other.store.forget(&session).await.unwrap(), 6);
    assert_eq!(one.send(&history).await.added, 6, "the same again");
    assert_eq!(other.store.forget(&session).await.unwrap(), 6);
    history.push(user("and on"));
    assert_eq!(one.send(&history).await.added, 7, "it goes on");
    let call = kit::call("c1", "read", &serde_json::json!({}));
    history.extend([call, result("c1", "the plum is in the vault")]);
    let end = one.send(&history).await;
    let results = [end.head.unwrap().id];
    assert_eq!(other.store.forget_results(&session, &results, At(9)).await.unwrap(), 1);
    assert_eq!(one.send(&history).await.stint, Stint::Unknown);
}

/// What a node remembers of a session is not true of one that another erased and began again under the same name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_node_erased_and_began_again_is_found_at_its_new_place() {
    let url = fresh();
    let (one, other) = (Node::new(&url).await, Node::new(&url).await);
    let mut history = talk("ann", 3);
    one.send(&[user("something else")]).await;
    let before = one.send(&history).await;
    other.store.forget(&before.session).await.unwrap();
    let now = other.send(&history).await;
    assert_ne!(now.head, before.head);
    assert_eq!(one.send(&history).await.head, now.head, "sent again");
    history.push(user("and on"));
    let on = one.send(&history).await;
    assert_eq!((on.base, on.added), (now.head, 1));
}

/// The way to a database, which breaks once when something was erased, before anybody hears of it: its address, and
/// whether it did.
async fn breaking(url: &str) -> (String, Arc<AtomicBool>) {
    let port = shared().port();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let own = listener.local_addr().unwrap().port();
    let broken = Arc::new(AtomicBool::new(false));
    let broke = broken.clone();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let broke = broke.clone();
            tokio::spawn(async move {
                let mut far = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                let (mut asked, mut told) = (vec![0; 1 << 16], vec![0; 1 << 16]);
                let mut ends = false;
                loop {
                    tokio::select! {
                        Ok(count @ 1..) = near.read(&mut asked) => {
                            let erases = asked[..count].windows(18).any(|bytes| bytes == b"DELETE FROM record");
                            ends |= erases && !broke.swap(true, Ordering::Relaxed);
                            far.write_all(&asked[..count]).await.unwrap();
                        }
                        Ok(count @ 1..) = far.read(&mut told) => {
                            if ends && told[..count].windows(7).any(|bytes| bytes == b"COMMIT\0") {
                                return;
                            }
                            near.write_all(&told[..count]).await.unwrap();
                        }
                        else => return,
                    }
                }
            });
        }
    });
    (url.replace(&format!(":{port}"), &format!(":{own}")), broken)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_erases_over_a_connection_that_breaks_hears_that_it_is_erased() {
    let url = fresh();
    let (way, broken) = breaking(&url).await;
    let (node, other) = (Node::new(&way).await, Node::new(&url).await);
    let session = node.send(&talk("ann", 3)).await.session;
    assert_eq!(node.store.forget(&session).await.unwrap(), 6);
    assert!(broken.load(Ordering::Relaxed));
    assert!(other.store.read(&session, Span::Last).await.unwrap().is_empty());
    assert!(matches!(node.store.forget(&session).await, Err(Error::NotFound(_))), "it was gone before");
}

/// A vector holds a megabyte of terms; messages may hold more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_longest_messages_are_found_by_all_their_words() {
    let node = Node::new(&fresh()).await;
    let word = |i: u32| format!("{}{i}", "n".repeat(30));
    let text = (0..15_000).map(word).collect::<Vec<_>>().join(" ");
    let sent = node.send(&[user(&text), user(&format!("{} and a kestrel", word(1)))]).await;
    let find = async |words: &str| {
        let query = Query { reach: Reach::Session(sent.session.id), ..Query::new(words) };
        let found = find(&*node.store, &Tenant::local(), &query).await.unwrap();
        found.into_iter().map(|found| found.message.id.0).collect::<Vec<_>>()
    };
    assert_eq!(find(&[word(0), word(9_999), word(14_999)].join(" ")).await[0], 0);
    assert_eq!(find(&format!("kestrel {}", word(1))).await[0], 1);
}

/// Has a database do something with every statement that writes messages; `rows` are those.
fn at_writing(url: &str, what: &str) {
    let schema = schema(url);
    shared().sql(&format!(
        "CREATE FUNCTION {schema}.at_writing() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN {what}; RETURN NULL; END$$;
         CREATE TRIGGER at_writing AFTER INSERT ON {schema}.message REFERENCING NEW TABLE AS rows
         FOR EACH STATEMENT EXECUTE FUNCTION {schema}.at_writing()"
    ));
}

/// A node whose database takes a millisecond for a message, and has a second for a statement.
async fn slow() -> Node {
    let url = fresh();
    let node = Node::within(&url, Duration::from_secs(1)).await;
    at_writing(&url, "PERFORM pg_sleep((SELECT count(*) FROM rows) / 1000.0)");
    node
}

/// It takes longer than a statement may, and longer than a database may be silent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_conversation_is_stored_at_once_however_long_it_takes() {
    let history = talk("ann", 1_800);
    let slow = slow().await;
    let sent = slow.send(&history).await;
    let all = slow.store.read(&sent.session, Span::path(sent.head.unwrap(), Depth(0))).await.unwrap();
    assert!(all.iter().map(|stored| stored.raw.get().to_owned()).eq(history.iter().map(Value::to_string)));
    assert_eq!(slow.store.check(|_| {}).await.unwrap().problems, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_conversation_is_moved_however_long_it_takes() {
    let (from, to) = (Node::new(&fresh()).await, slow().await);
    from.send(&talk("ann", 1_800)).await;
    let label = from.store.labels().await.unwrap().remove(0);
    let parcel = from.store.pack(&label).await.unwrap().unwrap();
    let digest = parcel.digest();
    to.store.unpack(parcel).await.unwrap();
    assert_eq!(to.store.pack(&label).await.unwrap().unwrap().digest(), digest);
}

/// Where there are many sessions and records, finding out which there are takes longer than a statement may.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_database_is_moved_from_however_long_it_takes() {
    let url = fresh();
    let node = Node::within(&url, Duration::from_millis(500)).await;
    node.send(&talk("ann", 3)).await;
    let schema = schema(&url);
    shared().sql(&format!(
        "ALTER TABLE {schema}.session RENAME TO kept;
         CREATE VIEW {schema}.session AS SELECT kept.* FROM {schema}.kept, pg_sleep(1)"
    ));
    let labels = node.store.labels().await.unwrap();
    assert_eq!(labels.len(), 1);
    assert_eq!(node.store.pack(&labels[0]).await.unwrap().unwrap().messages(), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_results_are_erased_however_long_it_takes() {
    let url = fresh();
    let node = Node::within(&url, Duration::from_secs(1)).await;
    let called =
        |i: usize| [kit::call(&format!("c{i}"), "read", &serde_json::json!({})), result(&format!("c{i}"), "plum")];
    let history: Vec<Value> = [user("read")].into_iter().chain((0..80).flat_map(called)).collect();
    let sent = node.send(&history).await;
    let schema = schema(&url);
    shared().sql(&format!(
        "CREATE FUNCTION {schema}.slowly() RETURNS trigger LANGUAGE plpgsql AS
         $$BEGIN PERFORM pg_sleep(0.05); RETURN NEW; END$$;
         CREATE TRIGGER slowly BEFORE UPDATE ON {schema}.message FOR EACH ROW EXECUTE FUNCTION {schema}.slowly()"
    ));
    let results: Vec<MessageId> = (0..80).map(|i| MessageId(2 + 2 * i)).collect();
    assert_eq!(node.store.forget_results(&sent.session, &results, At(9)).await.unwrap(), 80);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_stored_whole_is_not_stored_in_part() {
    let url = fresh();
    let node = Node::new(&url).await;
    at_writing(&url, "IF EXISTS (SELECT 1 FROM rows WHERE no = 1500) THEN RAISE 'enough'; END IF");
    assert!(node.try_send(&talk("ann", 1_000)).await.is_err());
    let kept = ["session", "message", "word", "branch"];
    let counts = kept.map(|table| shared().sql(&format!("SELECT count(*) FROM {}.{table}", schema(&url))));
    assert_eq!(counts, ["0"; 4]);
}

/// How many rows of the index are looked at to search for a text.
async fn looked_at(url: &str, query: &Query) -> u64 {
    let looked_at = || {
        let sql = "SELECT sum(coalesce(idx_tup_fetch, 0) + seq_tup_read) FROM pg_stat_all_tables";
        let rows = shared().sql(&format!("{sql} WHERE schemaname = '{}' AND relname = 'word'", schema(url)));
        rows.parse::<u64>().unwrap()
    };
    // Elsewhere the server sees to this itself.
    shared().sql(&format!("ANALYZE {0}.word, {0}.message", schema(url)));
    let before = looked_at();
    let (own, rest) = url.split_once('?').unwrap();
    let named = PostgresOptions::new(format!("{own}?application_name={}&{rest}", schema(url)));
    let store = PostgresStore::open_reading(&PostgresOptions { connections: 1, ..named }).await.unwrap();
    assert_eq!(find(&store, &Tenant::local(), query).await.unwrap().len(), query.limit);
    drop(store);
    // A connection reports what it did when it ends.
    let is_there = format!("SELECT count(*) FROM pg_stat_activity WHERE application_name = '{}'", schema(url));
    while shared().sql(&is_there) != "0" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    looked_at() - before
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_common_word_costs_the_same_however_long_a_session_is() {
    let url = fresh();
    let node = Node::new(&url).await;
    let history: Vec<Value> = (0..9_000).map(|i| user(&format!("boats {i}"))).collect();
    let mut costs = Vec::new();
    for length in [4_500, 9_000] {
        let session = node.send(&history[..length]).await.session.id;
        let query = Query { reach: Reach::Session(session), ..Query::new("boats") };
        costs.push(looked_at(&url, &query).await);
    }
    assert!(costs[1] < 6_000 && costs[1] <= costs[0] + 10, "{costs:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_is_noticed_and_the_index_mended() {
    let url = fresh();
    let node = Node::new(&url).await;
    let sent = node.send(&[user("the plum"), assistant("the quince"), user("the medlar")]).await;
    assert_eq!(node.store.check(|_| {}).await.unwrap().problem_count, 0);
    let schema = schema(&url);
    shared().sql(&format!("UPDATE {schema}.message SET raw = replace(raw, 'quince', 'grapes') WHERE no = 1"));
    let read = node.store.read(&sent.session, Span::Last).await;
    assert!(read.is_ok());
    let read = node.store.read(&sent.session, Span::Ids(vec![MessageId(1)])).await.unwrap();
    assert_eq!((read[0].origin, read[0].role.as_str()), (Origin::Damaged, "assistant"));
    assert!(read[0].raw.get().contains("m1 cannot be read") && !read[0].raw.get().contains("grapes"));
    shared().sql(&format!("DELETE FROM {schema}.word WHERE no = 2; DELETE FROM {schema}.message WHERE no = 0"));
    let problems = node.store.check(|_| {}).await.unwrap().problems.join("\n");
    for sign in ["m1 of session", "m0 is missing", "index misses"] {
        assert!(problems.contains(sign), "{sign}: {problems}");
    }
    let found = async || find(&*node.store, &Tenant::local(), &Query::new("medlar")).await.unwrap().len();
    assert_eq!(found().await, 0);
    node.store.reindex().await.unwrap();
    assert_eq!(found().await, 1);
    let problems = node.store.check(|_| {}).await.unwrap().problems.join("\n");
    assert!(
        problems.contains("m1 of session") && !problems.contains("index"),
        "what is damaged has no words: {problems}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_damaged_is_put_back_or_stands_in_nobodys_way() {
    let url = fresh();
    let node = Node::new(&url).await;
    let file = Value::Array(vec![user("the plum"), assistant("the quince"), user("the medlar")]).to_string();
    let import = import::read(Format::OpenAi, &file).unwrap();
    let stored = async || import::store(&node.log, &Tenant::local(), &import.conversations[0], At(1)).await.unwrap();
    let session = stored().await.session;
    let schema = schema(&url);
    shared().sql(&format!("UPDATE {schema}.message SET raw = replace(raw, 'quince', 'grapes') WHERE no = 1"));
    let again = stored().await;
    assert_eq!((again.added, again.mended, again.damaged.len()), (0, 1, 0));
    assert_eq!(find(&*node.store, &Tenant::local(), &Query::new("quince")).await.unwrap().len(), 1);

    let scope = Scope::Session(session.clone());
    let records = async |keys| node.store.records(&scope, Kind::Note, keys).await.unwrap().len();
    let write = async |key: &str| {
        let body = serde_json::value::to_raw_value(key).unwrap();
        let put =
            Put { scope: scope.clone(), kind: Kind::Note, key: key.into(), at: At(0), body, expect: Expect::Absent };
        node.store.commit(Batch::of_records(session.clone(), vec![put])).await
    };
    for key in ["a", "b", "c"] {
        write(key).await.unwrap();
    }
    let harm = format!("UPDATE {schema}.record SET seal = seal + 1 WHERE key = 'b'");
    shared().sql(&harm);
    assert_eq!((records(Keys::After("a".into(), 1)).await, records(Keys::Under(String::new())).await), (1, 2));
    assert_eq!(records(Keys::One("b".into())).await, 0);
    assert!(write("a").await.is_err());
    write("b").await.unwrap();
    assert_eq!(node.store.check(|_| {}).await.unwrap().problems, Vec::<String>::new());
    shared().sql(&harm);
    assert_eq!((node.store.drop_damaged().await.unwrap(), node.store.drop_damaged().await.unwrap()), (1, 0));
    assert_eq!(node.store.check(|_| {}).await.unwrap().problems, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn branches_that_were_lost_are_noticed() {
    let url = fresh();
    let node = Node::new(&url).await;
    node.send(&[user("the plum"), assistant("the quince")]).await;
    assert_eq!(node.store.check(|_| {}).await.unwrap().problems, Vec::<String>::new());
    let schema = schema(&url);
    shared().sql(&format!("UPDATE {schema}.branch SET no = 7"));
    let problems = node.store.check(|_| {}).await.unwrap().problems.join("\n");
    for sign in ["branch 0 is not listed", "the messages of branch 7 are missing"] {
        assert!(problems.contains(sign), "{sign}: {problems}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_with_a_database_is_told() {
    let told = async |url: &str| {
        let options = PostgresOptions { patience: Duration::from_millis(200), ..PostgresOptions::new(url) };
        PostgresStore::open(&options).await.unwrap_err().to_string()
    };
    let none = told("postgres://ann:secret@127.0.0.1:1/log").await;
    assert!(none.contains("127.0.0.1:1/log does not answer") && !none.contains("secret"), "{none}");
    let missing = told(&format!("postgres://postgres@127.0.0.1:{}/nothing", shared().port())).await;
    assert!(missing.contains("createdb"), "{missing}");
    let url = fresh();
    shared().sql(&format!("CREATE TABLE {}.message (x int)", schema(&url)));
    let foreign = told(&url).await;
    assert!(foreign.contains("tables of another program"), "{foreign}");
    let url = fresh();
    drop(Node::new(&url).await);
    shared().sql(&format!("INSERT INTO {}.scrollback_migration (number) VALUES (99)", schema(&url)));
    let newer = told(&url).await;
    assert!(newer.contains("newer Scrollback"), "{newer}");
    let reading = PostgresStore::open_reading(&PostgresOptions::new(fresh())).await.unwrap_err();
    assert!(matches!(reading, Error::NotFound(_)), "{reading}");
}

/// A restart is waited for; a database that stays away is told of at once, and taken up again when it is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_may_go_away_and_come_back() {
    let server = Arc::new(Server::start("fsync=on\n"));
    let node = Arc::new(Node::new(&server.url()).await);
    let mut history = talk("ann", 2);
    node.send(&history).await;
    let restarting = server.clone();
    let restart = tokio::task::spawn_blocking(move || {
        restarting.stop("immediate");
        restarting.launch();
    });
    for turn in 0..40 {
        history.push(user(&long("bob", turn)));
        node.send(&history).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    restart.await.unwrap();
    server.stop("fast");
    history.push(user("is anybody there?"));
    let first = node.try_send(&history).await;
    assert!(matches!(first, Err(Error::Store { .. })), "{first:?}");
    let began = Instant::now();
    assert!(node.try_send(&history).await.is_err());
    assert!(began.elapsed() < Duration::from_secs(2), "nobody waits for what is known to be away");
    server.launch();
    let back = node.send(&history).await;
    assert_eq!((back.added, back.head.unwrap().depth.0 as usize), (1, history.len() - 1));
    let text = Value::Array(history).to_string();
    let again = History::parse(&text).unwrap();
    let tenant = Tenant::local();
    let again = node.log.receive(Arrival::new(&tenant, Some("s"), "gpt-5", At(1)), &again).await.unwrap();
    assert_eq!(again.added, 0);
}

/// Lists and searches over everything are answered by a replica; without one, or if it is away, by the primary.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_answer_what_may_be_a_moment_old() {
    let primary = Server::start("");
    let replica = primary.replica("");
    let options = PostgresOptions {
        replicas: vec![replica.url()],
        patience: Duration::from_millis(300),
        ..PostgresOptions::new(primary.url())
    };
    let store = Arc::new(PostgresStore::open(&options).await.unwrap());
    let node = Node { log: Log::new(store.clone()), store };
    let sent = node.send(&[user("the kestrel"), assistant("the heron")]).await;
    let tenant = Tenant::local();
    let listed = async || node.store.sessions(&tenant, Which::Page { skip: 0, limit: 9 }).await.map(|all| all.len());
    let found = async || find(&*node.store, &tenant, &Query::new("kestrel")).await.map(|all| all.len());
    let began = Instant::now();
    while primary.sql("SELECT coalesce(replay_lsn >= pg_current_wal_lsn(), false) FROM pg_stat_replication") != "t" {
        assert!(began.elapsed() < Duration::from_secs(20), "the replica does not follow");
    }
    primary.stop("fast");
    assert_eq!((listed().await.unwrap(), found().await.unwrap()), (1, 1));
    let own = Query { reach: Reach::Session(sent.session.id), ..Query::new("kestrel") };
    assert!(find(&*node.store, &tenant, &own).await.is_err(), "what a conversation sees of itself is never old");
    primary.launch();
    replica.stop("fast");
    assert_eq!((listed().await.unwrap(), found().await.unwrap()), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_sent_is_encrypted_and_the_database_proves_who_it_is() {
    let server = Server::start(kit::postgres::FORGETFUL);
    let certificate = server.certify();
    let url = |mode: &str| format!("postgres://postgres@localhost:{}/postgres?sslmode={mode}", server.port());
    let open = async |url: String| {
        let options = PostgresOptions { patience: Duration::from_secs(2), ..PostgresOptions::new(url) };
        PostgresStore::open(&options).await
    };
    let store = open(url("require")).await.unwrap();
    let encrypted = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND application_name = 'scrollback'";
    assert_eq!(server.sql(encrypted), "1");
    drop(store);
    let stranger = open(url("verify-full")).await.unwrap_err().to_string();
    assert!(stranger.contains("localhost"), "{stranger}");
    let known = format!("{}&sslrootcert={}", url("verify-full"), certificate.display());
    open(known.clone()).await.unwrap();
    let elsewhere = known.replace("localhost", "127.0.0.1");
    assert!(open(elsewhere).await.is_err(), "the certificate is for another name");
    open(url("disable")).await.unwrap();
}
