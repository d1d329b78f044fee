//! The contract of [`scrollback::Store`], as code: every test runs against every store.

#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod kit;

use std::collections::HashSet;
use std::sync::Arc;

use kit::{Bench, assistant, call, long, result, system, talk, user};
use scrollback::log::{Answer, Arrival, History};
use scrollback::search::{Need, Probe, Query, Reach, begun_with, find, related};
use scrollback::store::{Alias, Batch, Expect, Keys, Kind, Lineage, NodeRef, Put, Scope, Span, Which};
use scrollback::{At, Error, MessageId, SessionId, SessionKey, Tenant};
use serde_json::value::RawValue;

/// Runs each test against each store.
macro_rules! contract {
    ($($test:ident),+ $(,)?) => {
        mod memory { $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() { super::$test(super::Bench::memory()).await })+ }
        mod sqlite { $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() { super::$test(super::Bench::sqlite()).await })+ }
        #[cfg(feature = "postgres")]
        mod postgres { $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() { super::$test(super::Bench::postgres().await).await })+ }
    };
}

contract! {
    messages_return_byte_for_byte, spans_read_what_they_say, branches_know_their_fork_and_head, sessions_are_listed,
    sessions_where_something_was_said_last_come_first, sessions_are_found_by_words_of_their_titles,
    sessions_are_found_by_words_of_their_beginning,
    pages_of_sessions_go_on_after_what_was_erased,
    many_children_are_read_in_part,
    records_have_versions, records_are_read_in_order, a_refused_batch_changes_nothing, one_of_many_writers_wins,
    a_batch_may_be_committed_twice, nothing_follows_an_unknown_node, words_are_found_in_every_language,
    search_has_filters, a_path_sees_only_itself, snippets_show_the_words, common_words_are_ranked_too,
    a_long_message_with_every_word_comes_before_short_ones_with_some, what_was_said_up_to_a_message_is_counted, what_weighs_most_is_taken, each_role_has_places_of_its_own, what_a_filter_wants_is_found_behind_much_else, common_words_tell_of_old_messages_too, forms_of_a_word_and_names_of_speakers_are_found,
    texts_are_related_to_the_same_together_and_alone,
    forgetting_erases_one_session, nothing_is_written_about_a_session_that_is_gone, tenants_are_apart, odd_names_are_only_names, large_messages_are_kept,
    a_title_may_come_later_and_change, one_alias_among_many_is_found, erased_results_keep_their_place, results_of_every_kind_are_erased, no_limit_is_too_large,
}

fn body(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn put(scope: &Scope, kind: Kind, key: &str, text: &str, expect: Expect) -> Put {
    Put { scope: scope.clone(), kind, key: key.into(), at: At(7), body: body(text), expect }
}

async fn write(bench: &Bench, records: Vec<Put>) -> scrollback::Result<()> {
    let session = SessionKey { tenant: bench.tenant.clone(), id: SessionId::declared(&bench.tenant, "s") };
    bench.store.commit(Batch::of_records(session, records)).await.map(drop)
}

async fn texts(bench: &Bench, query: Query) -> Vec<String> {
    let found = find(&*bench.store, &bench.tenant, &query).await.unwrap();
    found.iter().map(|found| found.message.message().to_text()).collect()
}

async fn messages_return_byte_for_byte(bench: Bench) {
    let odd = [
        r#"{"role":"user","content":"tab\tand \u4f60\u597d and 你好 and \ud83d\ude00"}"#,
        r#"{ "content" : [ {"type":"text","text":"a"} , {"type":"hologram","x":1e400,"y":-0.0,"z":12345678901234567890123} ], "role":"user"}"#,
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{not json"}}],"unknown":{"b":1,"a":2,"b":3}}"#,
        r#""a bare string""#,
        "{\n\t\"role\": \"user\",\r\n\t\"content\": \"\"\n}",
    ];
    let text = format!("[{}]", odd.join(" ,\n "));
    let history = History::parse(&text).unwrap();
    let received = bench.log.receive(Arrival::new(&bench.tenant, Some("s"), "gpt-5", At(3)), &history).await.unwrap();
    let all = bench.all(&received.session).await;
    assert_eq!(all.iter().map(|stored| stored.raw.get()).collect::<Vec<_>>(), odd);
    assert!(all.iter().all(|stored| stored.at == At(3)));
}

async fn spans_read_what_they_say(bench: Bench) {
    let received = bench.send(Some("s"), &talk("ann", 3)).await;
    let head = received.head.unwrap();
    let read = |span| bench.store.read(&received.session, span);
    let ids = |stored: Vec<scrollback::store::Stored>| stored.iter().map(|stored| stored.id.0).collect::<Vec<_>>();
    let wanted = vec![MessageId(4), MessageId(0), MessageId(99)];
    assert_eq!(ids(read(Span::Ids(wanted)).await.unwrap()), [4, 0]);
    assert_eq!(ids(read(Span::Arrival { from: MessageId(2), limit: 2 }).await.unwrap()), [2, 3]);
    assert_eq!(ids(read(Span::path(head, scrollback::ids::Depth(3))).await.unwrap()), [3, 4, 5]);
    assert_eq!(ids(read(Span::After(None)).await.unwrap()), [0]);
    assert_eq!(ids(read(Span::After(Some(head))).await.unwrap()), [0; 0]);
    assert_eq!(ids(read(Span::Last).await.unwrap()), [5]);
    let nobody = SessionKey { tenant: bench.tenant.clone(), id: SessionId::declared(&bench.tenant, "nobody") };
    assert!(bench.store.read(&nobody, Span::Last).await.unwrap().is_empty());
    assert!(bench.store.read(&nobody, Span::End(head.branch)).await.unwrap().is_empty());
    assert!(bench.store.read(&nobody, Span::Forks(head.branch)).await.unwrap().is_empty());
}

/// A thousand chats may begin alike: what follows a message is read in part, the newest first.
async fn many_children_are_read_in_part(bench: Bench) {
    for i in 0..100 {
        bench.send(Some("s"), &[user("hello"), user(&format!("question {i}"))]).await;
    }
    let last = bench.send(Some("s"), &[user("hello")]).await;
    let children = bench.store.read(&last.session, Span::After(last.head)).await.unwrap();
    assert_eq!(children.len(), scrollback::store::CHILDREN);
    assert_eq!(children.last().unwrap().message().to_text(), "question 99");
}

async fn branches_know_their_fork_and_head(bench: Bench) {
    let talk = talk("ann", 4);
    let first = bench.send(Some("s"), &talk).await;
    let forked = bench.send(Some("s"), &[&talk[..4], &[user("another way"), assistant("fine")]].concat()).await;
    let again = bench.send(Some("s"), &[&talk[..4], &[user("another way"), assistant("better")]].concat()).await;
    let session = bench.store.sessions(&bench.tenant, Which::Id(first.session.id)).await.unwrap().remove(0);
    let heads: Vec<_> = session.branches.iter().map(|branch| branch.head).collect();
    assert_eq!(heads, [first.head.unwrap(), forked.head.unwrap(), again.head.unwrap()]);
    let forks: Vec<_> = session.branches.iter().map(|branch| branch.fork.map(|fork| fork.id.0)).collect();
    assert_eq!(forks, [None, Some(3), Some(8)]);
    let lineage = Lineage::of(again.head.unwrap(), &session.branches);
    let all = bench.all(&first.session).await;
    let seen: Vec<_> = all.iter().filter(|stored| lineage.holds(&stored.place)).map(|stored| stored.id.0).collect();
    assert_eq!(seen, [0, 1, 2, 3, 8, 10]);
    let path: Vec<_> = bench.path(&again).await.iter().map(|stored| stored.id.0).collect();
    assert_eq!(path, seen);
    let (head, depth) = (again.head.unwrap(), scrollback::ids::Depth);
    let depths = [1, 3, 4, 9].map(depth).into();
    let part = Span::Path { head, from: depth(2), to: depth(4) };
    for (span, expected) in [(Span::Depths { head, depths }, [1, 3, 8]), (part, [2, 3, 8])] {
        let found = bench.store.read(&first.session, span).await.unwrap();
        assert_eq!(found.iter().map(|stored| stored.id.0).collect::<Vec<_>>(), expected);
    }
    for (branch, forks) in session.branches.iter().zip([&[][..], &[3], &[8, 3]]) {
        let left = bench.store.read(&first.session, Span::Forks(branch.id)).await.unwrap();
        assert_eq!(left.iter().map(|stored| stored.id.0).collect::<Vec<_>>(), forks);
        let end = bench.store.read(&first.session, Span::End(branch.id)).await.unwrap();
        assert_eq!(end.iter().map(scrollback::store::Stored::position).collect::<Vec<_>>(), [Some(branch.head)]);
    }
    assert!(bench.store.read(&first.session, Span::End(scrollback::ids::BranchId(3))).await.unwrap().is_empty());
}

async fn sessions_where_something_was_said_last_come_first(bench: Bench) {
    for name in ["old", "young"] {
        bench.send(Some(name), &[user(name)]).await;
    }
    let listed = async || -> Vec<Option<String>> {
        let sessions = bench.store.sessions(&bench.tenant, Which::Page { skip: 0, limit: 9 }).await.unwrap();
        sessions.into_iter().map(|session| session.declared).collect()
    };
    assert_eq!(listed().await, [Some("young".into()), Some("old".into())]);
    let text = serde_json::json!([user("old"), assistant("yes"), user("again")]).to_string();
    let (history, _) = bench.log.open(&bench.tenant, &text).unwrap();
    let later = Arrival::new(&bench.tenant, Some("old"), "gpt-5", At(60_000_001));
    bench.log.receive(later, &history).await.unwrap();
    assert_eq!(listed().await, [Some("old".into()), Some("young".into())]);
    bench.send(Some("young"), &[user("young"), assistant("no"), user("at the first minute")]).await;
    assert_eq!(listed().await, [Some("old".into()), Some("young".into())]);
}

fn named(name: &str, skip: usize, limit: usize) -> Which {
    Which::Named { name: name.into(), skip, limit }
}

async fn sessions_are_listed(bench: Bench) {
    for name in ["alpha", "beta", "alphabet"] {
        bench.send(Some(name), &[user(name)]).await;
    }
    bench.send(None, &[system("Be brief."), user("nameless")]).await;
    let list = async |which| bench.store.sessions(&bench.tenant, which).await.unwrap();
    let names = |sessions: &[scrollback::store::Session]| -> Vec<Option<String>> {
        sessions.iter().map(|session| session.declared.clone()).collect()
    };
    let all = list(Which::Page { skip: 0, limit: 10 }).await;
    assert_eq!(names(&all), [None, Some("alphabet".into()), Some("beta".into()), Some("alpha".into())]);
    assert_eq!(all.iter().map(|session| session.messages).collect::<Vec<_>>(), [2, 1, 1, 1]);
    assert_eq!(names(&list(Which::Page { skip: 1, limit: 2 }).await), [Some("alphabet".into()), Some("beta".into())]);
    assert_eq!(list(named("alpha", 0, 9)).await.len(), 2);
    assert_eq!(list(named(&all[2].id.to_string()[..8], 0, 9)).await[0].id, all[2].id);
    assert_eq!(list(named("ALPHA", 0, 9)).await.len(), 2);
    assert_eq!(names(&list(named("alpha", 0, 1)).await), [Some("alphabet".into())]);
    assert_eq!(names(&list(named("alpha", 1, 9)).await), [Some("alpha".into())]);
    let long = "x".repeat(60_000);
    for pattern in ["*", "%", "_", "\\", "alpha\0", &long] {
        assert!(list(named(pattern, 0, 9)).await.is_empty(), "{pattern}");
    }
    for which in [named("alpha", usize::MAX, 9), Which::Page { skip: usize::MAX, limit: usize::MAX }] {
        assert!(list(which).await.is_empty(), "nothing is that far");
    }
    assert_eq!(list(named("", 0, usize::MAX)).await.len(), 4);
    bench.send(Some(&long), &[user("a long name")]).await;
    assert_eq!(list(named(&long.to_uppercase(), 0, 9)).await.len(), 1);
}

async fn sessions_are_found_by_words_of_their_titles(bench: Bench) {
    for (name, title) in
        [("a", Some("Oil for the Lamp")), ("b", Some("lamplight")), ("c", Some("海边的灯塔")), ("d", None)]
    {
        let text = serde_json::json!([user(name)]).to_string();
        let (history, _) = bench.log.open(&bench.tenant, &text).unwrap();
        let arrival = Arrival { title, ..Arrival::new(&bench.tenant, Some(name), "gpt-5", At(1)) };
        bench.log.receive(arrival, &history).await.unwrap();
    }
    let found = async |text: &str, limit| -> Vec<String> {
        let which = Which::Titled { text: text.into(), after: None, limit };
        let found = bench.store.sessions(&bench.tenant, which).await.unwrap();
        found.into_iter().filter_map(|session| session.declared).collect()
    };
    assert_eq!(found("lamp", 9).await, ["b", "a"]);
    assert_eq!(found("lamp", 1).await, ["b"]);
    assert_eq!(found("灯塔", 9).await, ["c"]);
    assert_eq!(found("d", 9).await, ["d"], "a name only by how it begins");
    for pattern in ["*", "%", "_", "\\", "l%p"] {
        assert!(found(pattern, 9).await.is_empty(), "{pattern}");
    }
    assert_eq!(bench.store.sessions(&bench.tenant, named("lamp", 0, 9)).await.unwrap().len(), 1, "naming is as it was");
}

async fn sessions_are_found_by_words_of_their_beginning(bench: Bench) {
    bench.send(Some("old"), &[system("Be brief."), user("Where does the spare key hang? 灯塔里")]).await;
    let much: Vec<_> = (0..300).map(|i| user(&format!("the spare key of locker {i}"))).collect();
    bench.send(Some("long"), &[&[user("Count the lockers.")], &much[..]].concat()).await;
    bench.send(Some("said"), &[user("Hello."), assistant("The spare key hangs behind the barometer.")]).await;
    let found = async |words: &str| -> Vec<String> {
        let mut names = Vec::new();
        for id in begun_with(&*bench.store, &bench.tenant, words).await.unwrap() {
            names.extend(bench.store.sessions(&bench.tenant, Which::Id(id)).await.unwrap().remove(0).declared);
        }
        names
    };
    assert_eq!(found("spare key").await, ["long", "old"]);
    assert_eq!(found("spare key han").await, ["old"], "of the last word its beginning is enough");
    assert_eq!(found("灯塔").await, ["old"]);
    assert_eq!(found("locker 200").await, [""; 0], "it was said later");
    assert_eq!((found("…").await, found("").await), (Vec::new(), Vec::new()));
}

async fn pages_of_sessions_go_on_after_what_was_erased(bench: Bench) {
    for i in 0..7 {
        let name = format!("s{i}");
        let text = serde_json::json!([user(&name)]).to_string();
        let (history, _) = bench.log.open(&bench.tenant, &text).unwrap();
        let arrival = Arrival::new(&bench.tenant, Some(&name), "gpt-5", At(60_000_001 * (i / 4)));
        bench.log.receive(arrival, &history).await.unwrap();
    }
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let which = Which::Titled { text: String::new(), after, limit: 2 };
        let page = bench.store.sessions(&bench.tenant, which).await.unwrap();
        let Some(last) = page.last() else { break };
        // Programs are given it as text.
        after = Some(last.mark.to_string().parse().unwrap());
        for session in page {
            let key = SessionKey { tenant: bench.tenant.clone(), id: session.id };
            seen.extend(session.declared);
            bench.forget.forget(&key).await.unwrap();
        }
    }
    assert_eq!(seen, ["s6", "s5", "s4", "s3", "s2", "s1", "s0"]);
    for bad in ["", "50", "-1-2", "1-", "99999999999999999999-1"] {
        assert!(bad.parse::<scrollback::store::Mark>().is_err(), "{bad}");
    }
}

async fn records_have_versions(bench: Bench) {
    let scope = Scope::Tenant(bench.tenant.clone());
    for kind in Kind::ALL {
        write(&bench, vec![put(&scope, kind, "k", r#"{"n":1}"#, Expect::Absent)]).await.unwrap();
        write(&bench, vec![put(&scope, kind, "k", r#"{ "n": 2 }"#, Expect::Version(1))]).await.unwrap();
        let stale = write(&bench, vec![put(&scope, kind, "k", "3", Expect::Version(1))]).await;
        assert!(matches!(stale, Err(Error::Conflict(_))));
        let record = bench.store.records(&scope, kind, Keys::One("k".into())).await.unwrap().remove(0);
        assert_eq!((record.version, record.body.get(), record.at), (2, r#"{ "n": 2 }"#, At(7)));
    }
}

async fn records_are_read_in_order(bench: Bench) {
    let scope = Scope::Session(bench.send(Some("s"), &[user("hello")]).await.session);
    let puts = ["b", "a", "c", "d"].map(|key| put(&scope, Kind::Event, key, "1", Expect::Any)).to_vec();
    write(&bench, puts).await.unwrap();
    write(&bench, vec![put(&scope, Kind::Note, "z", "1", Expect::Any)]).await.unwrap();
    let page = async |after: &str, limit| {
        let records = bench.store.records(&scope, Kind::Event, Keys::After(after.into(), limit)).await.unwrap();
        records.into_iter().map(|record| record.key).collect::<Vec<_>>()
    };
    assert_eq!(page("", 3).await, ["a", "b", "c"]);
    assert_eq!(page("c", 3).await, ["d"]);
    let back = async |before: &str, limit| {
        let records = bench.store.records(&scope, Kind::Event, Keys::Before(before.into(), limit)).await.unwrap();
        records.into_iter().map(|record| record.key).collect::<Vec<_>>()
    };
    assert_eq!(back("", 3).await, ["d", "c", "b"]);
    assert_eq!(back("b", 3).await, ["a"]);
    assert!(back("a", 3).await.is_empty());
    let puts = ["b/", "b/2", "b/10", "b/ü", "b0", "bb/1"].map(|key| put(&scope, Kind::Event, key, "1", Expect::Any));
    write(&bench, puts.to_vec()).await.unwrap();
    let under = async |prefix: &str| {
        let records = bench.store.records(&scope, Kind::Event, Keys::Under(prefix.into())).await.unwrap();
        records.into_iter().map(|record| record.key).collect::<Vec<_>>()
    };
    assert_eq!(under("b/").await, ["b/", "b/10", "b/2", "b/ü"]);
    assert_eq!(under("b/1").await, ["b/10"]);
    assert!(under("e").await.is_empty());
    assert_eq!(under("").await.len(), 10);
    assert!(
        bench
            .store
            .records(&Scope::Tenant(bench.tenant.clone()), Kind::Event, Keys::After(String::new(), 9))
            .await
            .unwrap()
            .is_empty()
    );
}

async fn a_refused_batch_changes_nothing(bench: Bench) {
    let scope = Scope::Tenant(bench.tenant.clone());
    let puts =
        vec![put(&scope, Kind::Note, "one", "1", Expect::Any), put(&scope, Kind::Note, "two", "1", Expect::Version(5))];
    assert!(matches!(write(&bench, puts).await, Err(Error::Conflict(_))));
    assert!(bench.store.records(&scope, Kind::Note, Keys::After(String::new(), 9)).await.unwrap().is_empty());
}

/// Leases and epochs rest on this: of many that saw the same version, exactly one may write.
async fn one_of_many_writers_wins(bench: Bench) {
    let bench = Arc::new(bench);
    let scope = Scope::Tenant(bench.tenant.clone());
    write(&bench, vec![put(&scope, Kind::Job, "job", "0", Expect::Absent)]).await.unwrap();
    let mut tasks = Vec::new();
    for _ in 0..16 {
        let (bench, put) = (bench.clone(), put(&scope, Kind::Job, "job", "1", Expect::Version(1)));
        tasks.push(tokio::spawn(async move { write(&bench, vec![put]).await.is_ok() }));
    }
    let mut winners = 0;
    for task in tasks {
        winners += usize::from(task.await.unwrap());
    }
    assert_eq!(winners, 1);
}

async fn a_batch_may_be_committed_twice(bench: Bench) {
    let bench = Arc::new(bench);
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let bench = bench.clone();
        tasks.push(tokio::spawn(async move { bench.send(Some("s"), &talk("ann", 5)).await }));
    }
    let mut added = 0;
    let mut heads = HashSet::new();
    for task in tasks {
        let received = task.await.unwrap();
        added += received.added;
        heads.insert(received.head.unwrap().id);
    }
    assert_eq!((added, heads.len()), (10, 1));
}

async fn nothing_follows_an_unknown_node(bench: Bench) {
    let received = bench.send(Some("s"), &[user("hello")]).await;
    let mut lost = received.clone();
    lost.session.id = SessionId::declared(&bench.tenant, "elsewhere");
    let message = scrollback::Message::text(&scrollback::Role::Assistant, "hi");
    let answer = Answer::of(message, "gpt-5", At(2));
    assert!(matches!(bench.log.reply(&lost, answer).await, Err(Error::NotFound(_))));
    assert!(bench.all(&lost.session).await.is_empty());
    assert_eq!(bench.store.sessions(&bench.tenant, Which::Page { skip: 0, limit: 9 }).await.unwrap().len(), 1);
}

async fn words_are_found_in_every_language(bench: Bench) {
    let said = [
        "We moved the billing database to Frankfurt.",
        "我们把账单数据库迁移到了法兰克福，索引要重建。",
        "東京都の天気は晴れです。カメラを持って行きます。",
        "청구서 데이터베이스를 옮겼습니다.",
        "Мы перенесли базу данных.",
        "ย้ายฐานข้อมูลแล้ว",
        "fn recall_page(index: PageIndex) -> Result<Page>",
        "Done 🎉 at last",
        "İstanbul'da Işık Sokağı'nda KAPI açık",
    ];
    let history: Vec<_> = said.iter().map(|text| user(text)).collect();
    bench.send(Some("s"), &history).await;
    let cases = [
        ("database", 0),
        ("FRANKFURT billing", 0),
        ("索引", 1),
        ("数据库", 1),
        ("账单", 1),
        ("库", 1),
        ("天気", 2),
        ("カメラ", 2),
        ("데이터", 3),
        ("данных", 4),
        ("ข้อมูล", 5),
        ("recall_page", 6),
        ("PageIndex", 6),
        ("recall", 6),
        ("🎉", 7),
        ("istanbul", 8),
        ("İSTANBUL", 8),
        ("ışık", 8),
        ("kapı", 8),
    ];
    for (query, expected) in cases {
        assert_eq!(texts(&bench, Query::new(query)).await.first().map(String::as_str), Some(said[expected]), "{query}");
    }
    assert!(texts(&bench, Query::new("Berlin")).await.is_empty());
    assert!(matches!(find(&*bench.store, &bench.tenant, &Query::new("…")).await, Err(Error::Invalid(_))));
}

async fn search_has_filters(bench: Bench) {
    let history = [user("apples from me"), assistant("apples from the model"), user("pears")];
    let text = serde_json::Value::Array(history.to_vec()).to_string();
    let times = [At(10), At(20), At(30)];
    let arrival = Arrival { times: Some(&times), ..Arrival::new(&bench.tenant, Some("one"), "gpt-5", At(99)) };
    let one = bench.log.receive(arrival, &History::parse(&text).unwrap()).await.unwrap();
    bench.send(Some("two"), &[user("apples elsewhere")]).await;
    let all = Query { limit: 9, ..Query::new("apples") };
    assert_eq!(texts(&bench, all.clone()).await.len(), 3);
    assert_eq!(texts(&bench, Query { reach: Reach::Session(one.session.id), ..all.clone() }).await.len(), 2);
    assert_eq!(texts(&bench, Query { role: Some("assistant".into()), ..all.clone() }).await, ["apples from the model"]);
    assert_eq!(
        texts(&bench, Query { since: Some(At(15)), until: Some(At(25)), ..all.clone() }).await,
        ["apples from the model"]
    );
    assert_eq!(texts(&bench, Query { reach: Reach::Undeclared, ..all.clone() }).await.len(), 0);
    // Anthropic's API has what tools return in the role of the person.
    let use_it = serde_json::json!({"type": "tool_use", "id": "t1", "name": "count", "input": {}});
    let answer = serde_json::json!({"type": "tool_result", "tool_use_id": "t1", "content": "apples from a tool"});
    let asked = serde_json::json!({"role": "assistant", "content": [use_it]});
    let told = serde_json::json!({"role": "user", "content": [answer]});
    bench.send(Some("three"), &[user("count them"), asked, told]).await;
    assert_eq!(texts(&bench, Query { role: Some("tool".into()), ..all.clone() }).await, ["apples from a tool"]);
    assert_eq!(texts(&bench, Query { role: Some("user".into()), ..all.clone() }).await.len(), 2);
    // However often tools say the same afterwards, and with words of a person beside it.
    let mut talk = vec![user("apples in a pie")];
    for i in 0..300 {
        let (call, seen) = (format!("p{i}"), format!("apples counted {i}"));
        let mut told = vec![serde_json::json!({"type": "tool_result", "tool_use_id": call, "content": seen})];
        if i == 150 {
            told.push(serde_json::json!({"type": "text", "text": "apples by my word"}));
        }
        let use_it = serde_json::json!({"type": "tool_use", "id": call, "name": "count", "input": {}});
        talk.push(serde_json::json!({"role": "assistant", "content": [use_it]}));
        talk.push(serde_json::json!({"role": "user", "content": told}));
    }
    bench.send(Some("four"), &talk).await;
    let by = async |role: &str| texts(&bench, Query { role: Some(role.into()), limit: 999, ..all.clone() }).await;
    let (people, tools) = (by("user").await, by("tool").await);
    assert_eq!((people.len(), people.iter().filter(|text| text.contains("by my word")).count()), (4, 1), "{people:?}");
    assert_eq!((tools.len(), tools.iter().filter(|text| text.contains("by my word")).count()), (301, 1));
}

async fn a_path_sees_only_itself(bench: Bench) {
    let talk = talk("ann", 2);
    bench.send(Some("s"), &[&talk[..], &[user("the secret is plum")]].concat()).await;
    let other = bench.send(Some("s"), &[&talk[..], &[user("no secret here")]].concat()).await;
    let session = bench.store.sessions(&bench.tenant, Which::Id(other.session.id)).await.unwrap().remove(0);
    let lineage = Lineage::of(other.head.unwrap(), &session.branches);
    let reach = Reach::Path(other.session.id, lineage);
    assert_eq!(texts(&bench, Query { reach: reach.clone(), ..Query::new("secret") }).await, ["no secret here"]);
    assert!(texts(&bench, Query { reach, ..Query::new("plum") }).await.is_empty());
    assert_eq!(texts(&bench, Query::new("plum")).await.len(), 1);
}

async fn snippets_show_the_words(bench: Bench) {
    let text = format!("{} the Needle is here {}", "hay ".repeat(200), "straw ".repeat(200));
    bench.send(Some("s"), &[user(&text)]).await;
    let found = find(&*bench.store, &bench.tenant, &Query::new("needle")).await.unwrap();
    assert!(found[0].snippet.marked("[", "]").contains("the [Needle] is here"));
    let text = format!("{} ดื่มน้ำทุกวัน", "อากาศดี ".repeat(200));
    bench.send(Some("s"), &[user(&text)]).await;
    let found = find(&*bench.store, &bench.tenant, &Query::new("น้ำ")).await.unwrap();
    assert!(found[0].snippet.marked("[", "]").contains("ดื่ม[น้ำ]ทุกวัน"));
}

async fn common_words_are_ranked_too(bench: Bench) {
    let mut history: Vec<_> = (0..300).map(|i| user(&format!("message number {i} about nothing"))).collect();
    history.insert(150, user("message about lifetimes, and lifetimes again"));
    bench.send(Some("s"), &history).await;
    assert!(texts(&bench, Query::new("message lifetimes")).await[0].contains("lifetimes"));
    assert_eq!(texts(&bench, Query { limit: 10, ..Query::new("message") }).await.len(), 10);
}

async fn a_long_message_with_every_word_comes_before_short_ones_with_some(bench: Bench) {
    let long = format!("{} the code of crate 42 is Kestrel {}", "harbour ".repeat(900), "ledger ".repeat(900));
    let asked = |i: u32| user(&format!("what is the code of crate {i}?"));
    let history: Vec<_> = [user(&long)].into_iter().chain((0..30).map(asked)).collect();
    bench.send(Some("s"), &history).await;
    assert_eq!(texts(&bench, Query::new("code crate 42")).await[0], long);
}

async fn forms_of_a_word_and_names_of_speakers_are_found(bench: Bench) {
    let ann = serde_json::json!({"role": "user", "name": "Ann", "content": "the kestrel left"});
    let said = [user("we baked bread"), user("she bakes it"), user("the bakery is shut"), ann];
    let sent = bench.send(Some("s"), &said).await;
    for (term, expected) in [("bak", vec![1, 0]), ("ann", vec![3])] {
        let terms = vec![scrollback::search::Term::stem(term)];
        let probe = Probe::new(terms, Need::Any, Reach::Session(sent.session.id), 9);
        let found = bench.store.matching(&bench.tenant, probe).await.unwrap();
        let ids: Vec<u32> = found.messages.iter().map(|(_, message)| message.id.0).collect();
        assert_eq!((ids.len(), ids), (found.frequencies[0] as usize, expected), "{term}");
    }
    assert_eq!(texts(&bench, Query::new("Ann")).await, ["the kestrel left"]);
}

async fn what_was_said_up_to_a_message_is_counted(bench: Bench) {
    let said: Vec<_> = (0..6).map(|i| user(if i % 2 == 0 { "a kestrel" } else { "a gull" })).collect();
    let sent = bench.send(Some("s"), &said).await;
    for (last, kestrels, total) in [(0, 1, 1), (3, 2, 4), (5, 3, 6)] {
        let terms = vec![scrollback::search::Term::exact("kestrel")];
        let probe = Probe::new(terms, Need::Any, Reach::Upto(sent.session.id, MessageId(last)), 9);
        let found = bench.store.matching(&bench.tenant, probe).await.unwrap();
        assert_eq!((found.frequencies[0], found.total), (kestrels, total), "up to {last}");
        assert!(found.messages.len() == kestrels as usize && found.messages.iter().all(|(_, one)| one.id.0 <= last));
    }
}

async fn what_weighs_most_is_taken(bench: Bench) {
    let told = (0..40).map(|i| user(&format!("the harbour, day {i}")));
    let history: Vec<_> = [user("the kestrel in the harbour")].into_iter().chain(told).collect();
    let sent = bench.send(Some("s"), &history).await;
    let elsewhere = bench.send(Some("other"), &[user("a kestrel, a kestrel in the harbour")]).await;
    for reach in [Reach::Session(sent.session.id), Reach::Everywhere] {
        let terms = ["kestrel", "harbour"].map(scrollback::search::Term::exact).to_vec();
        let probe = Probe { weights: Some(vec![3.0, 1.0]), ..Probe::new(terms, Need::Any, reach.clone(), 3) };
        let found = bench.store.matching(&bench.tenant, probe).await.unwrap().messages;
        let ids: Vec<(SessionId, u32)> = found.iter().map(|(session, message)| (*session, message.id.0)).collect();
        let here = sent.session.id;
        if matches!(reach, Reach::Everywhere) {
            assert_eq!(ids[..2], [(elsewhere.session.id, 0), (here, 0)]);
        } else {
            assert_eq!(ids, [(here, 0), (here, 40), (here, 39)]);
        }
    }
}

async fn common_words_tell_of_old_messages_too(bench: Bench) {
    let pairs = ["kestrel, harbour", "harbour at noon", "kestrel at noon"];
    let later = (0..2_400).map(|i| user(&format!("{} {i}", pairs[i % 3])));
    let history: Vec<_> = [user("the kestrel in the harbour at noon")].into_iter().chain(later).collect();
    let sent = bench.send(Some("s"), &history).await;
    // So many messages are indexed before anything else is written.
    bench.send(Some("other"), &[user("hello")]).await;
    let terms = ["harbour", "kestrel", "noon"].map(scrollback::search::Term::exact).to_vec();
    let reach = Reach::Session(sent.session.id);
    let probe = Probe { weights: Some(vec![1.0; 3]), ..Probe::new(terms, Need::Any, reach, 2) };
    let found = bench.store.matching(&bench.tenant, probe).await.unwrap().messages;
    let ids: Vec<u32> = found.iter().map(|(_, message)| message.id.0).collect();
    assert_eq!(ids, [0, 2_400]);
}

async fn each_role_has_places_of_its_own(bench: Bench) {
    let talk =
        (0..6).flat_map(|i| [user(&format!("harbour {i}")), assistant(&format!("the harbour, the kestrel {i}"))]);
    let history: Vec<_> = talk.chain([user("a kestrel")]).collect();
    let sent = bench.send(Some("s"), &history).await;
    for weights in [Some(vec![1.0, 3.0]), None] {
        let terms = ["harbour", "kestrel"].map(scrollback::search::Term::exact).to_vec();
        let roles = vec![("user".to_owned(), 3), ("assistant".to_owned(), 2)];
        let reach = Reach::Session(sent.session.id);
        let probe = Probe { weights, roles, ..Probe::new(terms, Need::Any, reach, usize::MAX) };
        let found = bench.store.matching(&bench.tenant, probe).await.unwrap().messages;
        let ids: Vec<u32> = found.iter().map(|(_, message)| message.id.0).collect();
        assert_eq!(ids, [12, 10, 8, 11, 9]);
    }
}

async fn what_a_filter_wants_is_found_behind_much_else(bench: Bench) {
    let others = (0..300).map(|i| assistant(&format!("the kestrel {i}")));
    let history: Vec<_> = [user("a kestrel"), user("the kestrel again")].into_iter().chain(others).collect();
    let sent = bench.send(Some("s"), &history).await;
    for weights in [Some(vec![1.0]), None] {
        let terms = vec![scrollback::search::Term::exact("kestrel")];
        let (reach, roles) = (Reach::Session(sent.session.id), vec![("user".to_owned(), 2)]);
        let probe = Probe { weights, roles, ..Probe::new(terms, Need::Any, reach, usize::MAX) };
        let found = bench.store.matching(&bench.tenant, probe).await.unwrap().messages;
        let ids: Vec<u32> = found.iter().map(|(_, message)| message.id.0).collect();
        assert_eq!(ids, [1, 0]);
    }
}

async fn texts_are_related_to_the_same_together_and_alone(bench: Bench) {
    let told = (0..30).map(|i| user(&format!("in the harbour, day {i}: {}", ["a gull", "a heron", "夜里下雨"][i % 3])));
    let birds = [user("the kestrel has a nest"), assistant("A kestrel nests on the mast."), user("白猫睡了，花猫没睡")];
    let history: Vec<_> = birds.into_iter().chain(told).collect();
    let sent = bench.send(Some("s"), &history).await;
    let near = |texts: Vec<&'static str>| {
        let (store, tenant, reach) = (bench.store.clone(), bench.tenant.clone(), Reach::Session(sent.session.id));
        async move {
            let found = related(&*store, &tenant, (&texts, 0), (reach, 4)).await.unwrap();
            let told = |hits: Vec<scrollback::search::Related>| {
                hits.iter().map(|hit| (hit.message.id.0, format!("{:.12}", hit.share))).collect::<Vec<_>>()
            };
            found.into_iter().map(told).collect::<Vec<_>>()
        }
    };
    let texts = ["Where does the kestrel nest?", "猫", "?!", "那只白猫呢", "A heron in the harbour", "白"];
    let together = near(texts.to_vec()).await;
    let ids = |place: usize| together[place].iter().map(|(id, _)| *id).collect::<Vec<_>>();
    assert_eq!((ids(0), ids(1), ids(2)), (vec![0, 1], vec![2], vec![]));
    for (text, found) in texts.into_iter().zip(&together) {
        assert_eq!(near(vec![text]).await, std::slice::from_ref(found), "{text}");
    }
}

async fn forgetting_erases_one_session(bench: Bench) {
    let gone = bench.send(Some("gone"), &[user("forget the apricot")]).await;
    let kept = bench.send(Some("kept"), &[user("keep the apricot")]).await;
    write(&bench, vec![put(&Scope::Session(gone.session.clone()), Kind::Note, "n", "1", Expect::Any)]).await.unwrap();
    let message = scrollback::Message::text(&scrollback::Role::Assistant, "as you wish");
    let answer = Answer { response: Some("resp"), ..Answer::of(message, "gpt-5", At(2)) };
    bench.log.reply(&gone, answer).await.unwrap();
    let scope = Scope::Tenant(bench.tenant.clone());
    let [lost, left] = [&gone, &kept].map(|of| format!("work/tidy/{}/0/pages@32000", of.session.id));
    let listed = format!("[\"{lost}\"]");
    let work = [lost.as_str(), left.as_str(), "open/0"];
    let work = work.map(|key| put(&scope, Kind::Job, key, &listed, Expect::Any));
    write(&bench, work.into()).await.unwrap();
    assert_eq!(bench.forget.forget(&gone.session).await.unwrap(), 2);
    assert!(bench.store.records(&scope, Kind::Response, Keys::One("resp".into())).await.unwrap().is_empty());
    let work = bench.store.records(&scope, Kind::Job, Keys::After(String::new(), 9)).await.unwrap();
    assert_eq!(work.iter().map(|record| record.key.as_str()).collect::<Vec<_>>(), ["open/0", left.as_str()]);
    assert!(bench.all(&gone.session).await.is_empty());
    assert_eq!(bench.all(&kept.session).await.len(), 1);
    assert_eq!(texts(&bench, Query::new("apricot")).await, ["keep the apricot"]);
    assert!(
        bench
            .store
            .records(&Scope::Session(gone.session.clone()), Kind::Note, Keys::One("n".into()))
            .await
            .unwrap()
            .is_empty()
    );
    assert!(matches!(bench.forget.forget(&gone.session).await, Err(Error::NotFound(_))));
    bench.forget.wipe().await.unwrap();
    assert_eq!(texts(&bench, Query::new("apricot")).await, ["keep the apricot"]);
    bench.log.forget_recent();
    assert_eq!(bench.send(Some("gone"), &[user("forget the apricot")]).await.added, 1);
    let unsaid = SessionKey { tenant: bench.tenant.clone(), id: SessionId::declared(&bench.tenant, "unsaid") };
    let scope = Scope::Session(unsaid.clone());
    write(&bench, vec![put(&scope, Kind::Setting, "k", "1", Expect::Any)]).await.unwrap();
    assert_eq!(bench.forget.forget(&unsaid).await.unwrap(), 0, "nothing was said, and all of it is gone");
    assert!(bench.store.records(&scope, Kind::Setting, Keys::One("k".into())).await.unwrap().is_empty());
    assert!(matches!(bench.forget.forget(&unsaid).await, Err(Error::NotFound(_))));
}

async fn nothing_is_written_about_a_session_that_is_gone(bench: Bench) {
    let gone = bench.send(Some("gone"), &[user("forget the apricot")]).await;
    let kept = bench.send(Some("kept"), &[user("keep the apricot")]).await;
    bench.forget.forget(&gone.session).await.unwrap();
    let of = |session: &SessionKey, key: &str| put(&Scope::Session(session.clone()), Kind::Note, key, "1", Expect::Any);
    let late = write(&bench, vec![of(&kept.session, "a"), of(&gone.session, "a")]).await;
    assert!(matches!(late, Err(Error::NotFound(_))), "{late:?}");
    let reply = scrollback::Message::text(&scrollback::Role::Assistant, "apricots, then");
    assert!(matches!(bench.log.reply(&gone, Answer::of(reply, "gpt-5", At(2))).await, Err(Error::NotFound(_))));
    for session in [&gone.session, &kept.session] {
        let scope = Scope::Session(session.clone());
        let found = bench.store.records(&scope, Kind::Note, Keys::One("a".into())).await.unwrap();
        assert!(found.is_empty(), "a batch is written whole, or not at all");
    }
    assert!(bench.store.sessions(&bench.tenant, Which::Id(gone.session.id)).await.unwrap().is_empty());
    let unborn = SessionKey { tenant: bench.tenant.clone(), id: SessionId::declared(&bench.tenant, "unborn") };
    let choice = put(&Scope::Session(unborn.clone()), Kind::Setting, "a", "1", Expect::Absent);
    write(&bench, vec![choice]).await.unwrap();
    let found = bench.store.records(&Scope::Session(unborn), Kind::Setting, Keys::One("a".into())).await.unwrap();
    assert_eq!(found.len(), 1, "a choice may be made before anything is said");
}

async fn no_limit_is_too_large(bench: Bench) {
    let sent = bench.send(Some("s"), &[user("one"), assistant("two")]).await;
    let all = Span::Arrival { from: MessageId(0), limit: usize::MAX };
    assert_eq!(bench.store.read(&sent.session, all).await.unwrap().len(), 2);
    let scope = Scope::Session(sent.session.clone());
    write(&bench, vec![put(&scope, Kind::Note, "a", "1", Expect::Any)]).await.unwrap();
    for keys in [Keys::After(String::new(), usize::MAX), Keys::Before("z".into(), usize::MAX)] {
        assert_eq!(bench.store.records(&scope, Kind::Note, keys).await.unwrap().len(), 1);
    }
    let page = Which::Page { skip: 0, limit: usize::MAX };
    assert_eq!(bench.store.sessions(&bench.tenant, page).await.unwrap().len(), 1);
}

async fn erased_results_keep_their_place(bench: Bench) {
    let parts = serde_json::json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "apricot jam"}]},
        {"type": "text", "text": "is that all?"}]});
    let read = serde_json::json!({"path": "vault"});
    let messages =
        [user("open it"), call("c1", "read", &read), result("c1", "the apricot is in the vault"), user("ah"), parts];
    let sent = bench.send(Some("s"), &messages).await;
    let (before, wanted) = (bench.all(&sent.session).await, [MessageId(0), MessageId(2), MessageId(4), MessageId(9)]);
    assert_eq!(bench.forget.forget_results(&sent.session, &wanted, At(9)).await.unwrap(), 2);
    let after = bench.all(&sent.session).await;
    let places = |all: &[scrollback::store::Stored]| all.iter().map(|stored| stored.place).collect::<Vec<_>>();
    assert_eq!(places(&after), places(&before));
    let said = |i: usize| after[i].message().to_text();
    assert!(said(2).contains("erased for good by its owner") && said(2).contains(&At(9).to_string()), "{}", said(2));
    assert!(said(4).contains("erased for good") && said(4).contains("is that all?"), "{}", said(4));
    assert_eq!((after[2].role.as_str(), after[2].message().call_ids().next()), ("tool", Some("c1")));
    assert_eq!(said(0), "open it");
    assert!(texts(&bench, Query::new("apricot")).await.is_empty());
    assert_eq!(texts(&bench, Query::new("erased owner")).await.len(), 2);
    assert_eq!(bench.forget.forget_results(&sent.session, &wanted, At(10)).await.unwrap(), 0);
    bench.log.forget_recent();
    assert_eq!(bench.send(Some("s"), &messages).await.added, 0);
    let nobody = SessionKey { tenant: Tenant::new("bob"), id: sent.session.id };
    assert!(matches!(bench.forget.forget_results(&nobody, &wanted, At(9)).await, Err(Error::NotFound(_))));
}

async fn results_of_every_kind_are_erased(bench: Bench) {
    let said = [
        r#"{"role":"user","content":"open it"}"#,
        r#"{"type":"custom_tool_call_output","call_id":"c1","output":"the apricot is in the vault"}"#,
        r#"{"type":"local_shell_call_output","id":"i2","call_id":"c2","status":"completed","output":"an apricot"}"#,
        r#"{"role":"tool","tool_call_id":"c3","content":"an apricot, cut in half \ud83d"}"#,
        r#"{"role":"function","name":"read","content":"an apricot"}"#,
    ];
    let text = format!("[{}]", said.join(","));
    let arrival = Arrival::new(&bench.tenant, Some("s"), "gpt-5", At(3));
    let sent = bench.log.receive(arrival, &History::parse(&text).unwrap()).await.unwrap();
    assert_eq!(texts(&bench, Query::new("apricot")).await.len(), 4);
    let results = [1, 2, 3, 4].map(MessageId);
    assert_eq!(bench.forget.forget_results(&sent.session, &results, At(9)).await.unwrap(), 4);
    assert!(texts(&bench, Query::new("apricot")).await.is_empty());
    let after = bench.all(&sent.session).await;
    assert!(after.iter().all(|stored| !stored.raw.get().contains("apricot")));
    for (stored, call) in after[1..].iter().zip([Some("c1"), Some("c2"), Some("c3"), None]) {
        assert_eq!((stored.message().call_ids().next(), stored.message().makes_call()), (call, false));
    }
}

async fn tenants_are_apart(bench: Bench) {
    let (ann, bob) = (Tenant::new("ann"), Tenant::new("bob"));
    let secret = bench.send_as(&ann, Some("s"), &[user("the safe is behind the painting")]).await;
    bench.send_as(&bob, Some("s"), &[user("hello")]).await;
    let as_bob = SessionKey { tenant: bob.clone(), id: secret.session.id };
    assert!(bench.all(&as_bob).await.is_empty());
    assert!(bench.store.sessions(&bob, Which::Id(secret.session.id)).await.unwrap().is_empty());
    assert!(find(&*bench.store, &bob, &Query::new("painting")).await.unwrap().is_empty());
    let reach = Reach::Session(secret.session.id);
    assert!(find(&*bench.store, &bob, &Query { reach, ..Query::new("painting") }).await.unwrap().is_empty());
    assert!(matches!(bench.forget.forget(&as_bob).await, Err(Error::NotFound(_))));
    assert_eq!(find(&*bench.store, &ann, &Query::new("painting")).await.unwrap().len(), 1);
}

async fn odd_names_are_only_names(bench: Bench) {
    for name in ["'; DROP TABLE message; --", "%_*?[]\"\\", "a\u{0}b", "../../etc/passwd", "名前", ""] {
        let received = bench
            .send(
                Some(name),
                &[user(&format!("said under {name}")), call("c'", "f\"", &name.into()), result("c'", name)],
            )
            .await;
        assert_eq!(bench.all(&received.session).await.len(), 3);
        let scope = Scope::Session(received.session);
        write(&bench, vec![put(&scope, Kind::Setting, &format!("k{name}"), "1", Expect::Absent)]).await.unwrap();
    }
    find(&*bench.store, &bench.tenant, &Query::new("\"'; DROP* NEAR(a b) AND OR NOT ^x {y}")).await.unwrap();
}

async fn large_messages_are_kept(bench: Bench) {
    let text = (0..60_000).map(|i| format!("word{i}")).collect::<Vec<_>>().join(" ");
    let received = bench.send(Some("s"), &[user(&long("ann", 1)), user(&text), user("the end")]).await;
    assert_eq!(bench.all(&received.session).await[1].message().to_text(), text);
    assert_eq!(texts(&bench, Query::new("word59999")).await.len(), 1);
}

async fn a_title_may_come_later_and_change(bench: Bench) {
    for (turns, title, expected) in [
        (1, None, None),
        (2, Some("ours"), Some("ours")),
        (3, Some("other"), Some("other")),
        (4, None, Some("other")),
        // Nothing else is new.
        (4, Some("last\0"), Some("last\0")),
        (4, Some("last\0"), Some("last\0")),
        (4, None, Some("last\0")),
    ] {
        let text = serde_json::Value::Array(talk("ann", turns)).to_string();
        let arrival = Arrival { title, ..Arrival::new(&bench.tenant, Some("s"), "gpt-5", At(1)) };
        bench.log.receive(arrival, &History::parse(&text).unwrap()).await.unwrap();
        let listed = bench.store.sessions(&bench.tenant, named("s", 0, 9)).await.unwrap();
        assert_eq!(listed[0].title.as_deref(), expected);
    }
}

/// A sliding window has the same length every turn, so its aliases all lie at one depth.
async fn one_alias_among_many_is_found(bench: Bench) {
    let received = bench.send(Some("s"), &talk("ann", 1)).await;
    let (session, to) = (received.session.id, received.head.unwrap());
    let from = |i: u32| {
        let other = SessionId::declared(&bench.tenant, &i.to_string());
        NodeRef { depth: scrollback::ids::Depth(9), node: scrollback::ids::NodeId::root(other) }
    };
    let mut batch = Batch::new(received.session.clone());
    batch.aliases =
        (0..200).map(|i| Alias { session, from: from(i), to_session: session, to: to.node_ref() }).collect();
    bench.store.commit(batch).await.unwrap();
    for i in 0..200 {
        let known = bench.store.prefix(&received.session, from(i).depth, vec![from(i).node]).await.unwrap();
        assert_eq!(known.map(|known| (known.at, known.aliased)), Some((to, true)), "alias {i}");
    }
}
