//! Going on from any place of the log: at the end of a branch, in the middle, before the first message.

#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod kit;

use kit::{Bench, assistant, long, talk, user};
use scrollback::log::{After, Arrival, History, Outcome, Received};
use scrollback::store::{Origin, Which};
use scrollback::{At, Error, MessageId, SessionId, Tenant};
use serde_json::Value;

async fn put(
    bench: &Bench,
    tenant: &Tenant,
    (session, message): (SessionId, Option<MessageId>),
    said: Value,
) -> Result<Received, Error> {
    let text = Value::Array(vec![said]).to_string();
    let arrival = Arrival::new(tenant, None, "gpt-5", At(5));
    bench.log.receive_new(arrival, After::Place { session, message }, &History::parse(&text).unwrap()).await
}

async fn after(bench: &Bench, at: &Received, message: Option<MessageId>, said: &str) -> Received {
    put(bench, &bench.tenant, (at.session.id, message), user(said)).await.unwrap()
}

async fn branches(bench: &Bench, of: &Received) -> usize {
    let found = bench.store.sessions(&bench.tenant, Which::Id(of.session.id)).await.unwrap();
    found[0].branches.len()
}

fn head(received: &Received) -> Option<MessageId> {
    received.head.map(|head| head.id)
}

#[tokio::test]
async fn the_end_goes_on_and_the_middle_branches() {
    for mut bench in [Bench::memory(), Bench::sqlite()] {
        let whole = bench.send(Some("s"), &talk("ann", 3)).await;
        let more = after(&bench, &whole, head(&whole), "more").await;
        assert_eq!((more.outcome, more.added, branches(&bench, &more).await), (Outcome::Continue, 1, 1));
        bench.restart();
        let second = bench.path(&whole).await[1].id;
        let other = after(&bench, &whole, Some(second), "otherwise").await;
        assert_eq!((other.outcome, other.added, branches(&bench, &other).await), (Outcome::Branch, 1, 2));
        let begins = bench.texts(&other).await;
        assert_eq!(begins, [long("ann", 0), bench.texts(&whole).await[1].clone(), "otherwise".into()]);
        bench.answer(&other, &assistant("As you like.")).await;
        bench.restart();
        let head = bench.path(&other).await.last().unwrap().id;
        let further = after(&bench, &other, Some(MessageId(head.0 + 1)), "and further").await;
        assert_eq!((further.outcome, branches(&bench, &further).await), (Outcome::Continue, 2));
        assert_eq!(bench.texts(&further).await[2..], ["otherwise", "As you like.", "and further"]);
    }
}

/// Whoever sends only what is new means the end of the conversation, and nobody is left on a branch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_sent_at_once_goes_on_one_after_the_other() {
    #[cfg(feature = "postgres")]
    let benches = [Bench::memory(), Bench::sqlite(), Bench::postgres().await];
    #[cfg(not(feature = "postgres"))]
    let benches = [Bench::memory(), Bench::sqlite()];
    for bench in benches {
        let bench = &bench;
        let send = |i: usize| async move {
            let text = Value::Array(vec![user(&format!("line {i}"))]).to_string();
            let arrival = Arrival::new(&bench.tenant, Some("chat"), "gpt-5", At(5));
            bench.log.receive_new(arrival, After::Last("chat"), &History::parse(&text).unwrap()).await.unwrap()
        };
        let all = futures_util::future::join_all((0..8).map(send)).await;
        assert_eq!(branches(bench, &all[0]).await, 1);
        let mut said: Vec<String> =
            bench.all(&all[0].session).await.iter().map(|one| one.message().to_text()).collect();
        said.sort();
        assert_eq!(said, (0..8).map(|i| format!("line {i}")).collect::<Vec<_>>());
        // Sent once more at once, each is a message of its own, or the same.
        let same = futures_util::future::join_all([send(9), send(9)]).await;
        assert_eq!((same[0].head, branches(bench, &same[0]).await), (same[1].head, 1));
    }
}

#[tokio::test]
async fn what_is_said_while_a_reply_is_on_its_way_is_never_left_behind() {
    for replies in [["one", "two"], ["two", "one"]] {
        for bench in [Bench::memory(), Bench::sqlite()] {
            let send = async |text: &str| {
                let text = Value::Array(vec![user(text)]).to_string();
                let arrival = Arrival::new(&bench.tenant, Some("chat"), "gpt-5", At(5));
                bench.log.receive_new(arrival, After::Last("chat"), &History::parse(&text).unwrap()).await.unwrap()
            };
            let (one, two) = (send("Question one?").await, send("Question two?").await);
            for reply in replies {
                let to = if reply == "one" { &one } else { &two };
                bench.answer(to, &assistant(&format!("Answer {reply}."))).await;
            }
            let three = send("Question three?").await;
            let told = bench.texts(&three).await;
            assert_eq!(told, ["Question one?", "Question two?", "Answer two.", "Question three?"], "{replies:?}");
            assert_eq!(branches(&bench, &three).await, 2, "what was answered to the first is beside it");
        }
    }
}

#[tokio::test]
async fn of_two_answers_to_one_question_the_last_is_gone_on_from() {
    for bench in [Bench::memory(), Bench::sqlite()] {
        let send = async |text: &str| {
            let text = Value::Array(vec![user(text)]).to_string();
            let arrival = Arrival::new(&bench.tenant, Some("chat"), "gpt-5", At(5));
            bench.log.receive_new(arrival, After::Last("chat"), &History::parse(&text).unwrap()).await.unwrap()
        };
        // It is sent once more, because no answer came.
        let (asked, again) = (send("Question?").await, send("Question?").await);
        assert_eq!(asked.head, again.head);
        bench.answer(&asked, &assistant("Too late.")).await;
        bench.answer(&again, &assistant("In time.")).await;
        let next = send("Go on.").await;
        assert_eq!(bench.texts(&next).await, ["Question?", "In time.", "Go on."]);
    }
}

#[tokio::test]
async fn the_same_words_after_the_same_place_are_the_same_message() {
    let mut bench = Bench::sqlite();
    let whole = bench.send(Some("s"), &talk("ann", 2)).await;
    let first = after(&bench, &whole, head(&whole), "hello").await;
    bench.restart();
    let again = after(&bench, &whole, head(&whole), "hello").await;
    assert_eq!((again.outcome, again.added, again.head), (Outcome::Replay, 0, first.head));
    bench.answer(&first, &assistant("Hello.")).await;
    let reply = MessageId(first.head.unwrap().id.0 + 1);
    let second = after(&bench, &whole, Some(reply), "hello").await;
    assert_eq!((second.outcome, second.added), (Outcome::Continue, 1), "said twice is two messages");
}

#[tokio::test]
async fn before_the_first_message_a_branch_begins() {
    let mut bench = Bench::sqlite();
    let whole = bench.send(Some("s"), &talk("ann", 2)).await;
    for (outcome, added) in [(Outcome::Branch, 1), (Outcome::Replay, 0)] {
        let anew = after(&bench, &whole, None, "From the beginning.").await;
        assert_eq!((anew.outcome, anew.added), (outcome, added));
        assert_eq!(anew.session, whole.session);
        assert_eq!(bench.texts(&anew).await, ["From the beginning."]);
        bench.restart();
    }
    assert_eq!(branches(&bench, &whole).await, 2);
}

#[tokio::test]
async fn a_session_from_a_file_goes_on() {
    let bench = Bench::sqlite();
    let text = Value::Array(talk("ann", 2)).to_string();
    let arrival = Arrival { origin: Origin::Import, ..Arrival::new(&bench.tenant, Some("file"), "", At(1)) };
    let whole = bench.log.receive(arrival, &History::parse(&text).unwrap()).await.unwrap();
    let more = after(&bench, &whole, head(&whole), "and now?").await;
    assert_eq!((more.outcome, more.session.clone()), (Outcome::Continue, whole.session.clone()));
    assert_eq!(bench.texts(&more).await.len(), 5);
}

#[tokio::test]
async fn what_is_not_there_is_not_gone_on_from() {
    let bench = Bench::sqlite();
    let whole = bench.send(Some("s"), &talk("ann", 1)).await;
    let nowhere = SessionId::declared(&bench.tenant, "nowhere");
    let stranger = Tenant::new("stranger");
    let tried = [
        (bench.tenant.clone(), nowhere, None),
        (bench.tenant.clone(), nowhere, Some(MessageId(0))),
        (bench.tenant.clone(), whole.session.id, Some(MessageId(77))),
        (stranger.clone(), whole.session.id, None),
        (stranger, whole.session.id, head(&whole)),
    ];
    for (tenant, session, message) in tried {
        let refused = put(&bench, &tenant, (session, message), user("hello")).await;
        assert!(matches!(refused, Err(Error::NotFound(_))), "{tenant:?} {session:?} {message:?}: {refused:?}");
    }
    assert_eq!(bench.all(&whole.session).await.len(), 2);
}
