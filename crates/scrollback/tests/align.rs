//! Law 6: a client that resends its history adds nothing; an edit makes a branch; a truncation is a shorter view.
//!
//! Each test is a thing that real clients do.

mod kit;

use kit::{Bench, assistant, call, long, result, system, talk, user};
use proptest::prelude::*;
use scrollback::log::{After, Arrival, History, Outcome, Received};
use scrollback::store::{Beside, Place, Which};
use scrollback::{At, Tenant};
use serde_json::{Value, json};

fn with(mut history: Vec<Value>, more: &[Value]) -> Vec<Value> {
    history.extend_from_slice(more);
    history
}

#[tokio::test]
async fn a_conversation_grows_turn_by_turn() {
    let bench = Bench::sqlite();
    let first = bench.send(None, &[user("Why does the build fail?")]).await;
    assert_eq!((first.outcome, first.added), (Outcome::New, 1));
    bench.answer(&first, &json!({"role": "assistant", "content": "A feature is missing.", "refusal": null})).await;
    let history = [user("Why does the build fail?"), assistant("A feature is missing."), user("Which?")];
    let second = bench.send(None, &history).await;
    assert_eq!((second.outcome, second.added), (Outcome::Continue, 1));
    assert_eq!(bench.texts(&second).await, ["Why does the build fail?", "A feature is missing.", "Which?"]);
}

#[tokio::test]
async fn sending_again_adds_nothing_even_after_a_restart() {
    let mut bench = Bench::sqlite();
    let history = with(vec![system("Be brief.")], &talk("ann", 5));
    let first = bench.send(Some("s"), &history).await;
    assert_eq!(first.added, 11);
    for _ in 0..3 {
        let again = bench.send(Some("s"), &history).await;
        assert_eq!((again.outcome, again.added, again.head), (Outcome::Replay, 0, first.head));
        bench.restart();
    }
}

#[tokio::test]
async fn cache_markers_spacing_and_ids_do_not_make_messages_new() {
    let bench = Bench::sqlite();
    let first = bench.send(None, &talk("ann", 2)).await;
    let text = r#"[ {"content":[{"type":"text","text":"X","cache_control":{"type":"ephemeral"}}], "role":"user"} ]"#;
    let moved = text.replace('X', &long("ann", 0));
    let history = History::parse(&moved).unwrap();
    let again = bench.log.receive(Arrival::new(&bench.tenant, None, "gpt-5", At(9)), &history).await.unwrap();
    assert_eq!((again.outcome, again.added), (Outcome::Replay, 0));
    assert_eq!(again.session, first.session);
}

#[tokio::test]
async fn a_changed_system_prompt_is_kept_and_changes_nothing_else() {
    let bench = Bench::sqlite();
    bench.send(Some("s"), &with(vec![system("It is Monday.")], &talk("ann", 2))).await;
    let second = bench.send(Some("s"), &with(vec![system("It is Tuesday.")], &talk("ann", 2))).await;
    assert_eq!((second.outcome, second.added), (Outcome::Replay, 1));
    let all = bench.all(&second.session).await;
    let prompts: Vec<_> = all.iter().filter(|m| m.place == Place::Beside(Beside::Preamble)).collect();
    assert_eq!(prompts.len(), 2);
}

#[tokio::test]
async fn an_edited_question_is_a_branch() {
    let bench = Bench::sqlite();
    let old = bench.send(None, &talk("ann", 4)).await;
    let edited = with(talk("ann", 4)[..4].to_vec(), &[user("Let me put that differently.")]);
    let new = bench.send(None, &edited).await;
    assert_eq!((new.outcome, new.added), (Outcome::Branch, 1));
    assert_eq!(bench.texts(&new).await.len(), 5);
    assert_eq!(bench.texts(&old).await.len(), 8);
}

#[tokio::test]
async fn a_regenerated_reply_is_a_sibling() {
    let bench = Bench::sqlite();
    let asked = bench.send(None, &[user("Tell me a joke.")]).await;
    bench.answer(&asked, &assistant("The first joke.")).await;
    let again = bench.send(None, &[user("Tell me a joke.")]).await;
    assert_eq!((again.outcome, again.added), (Outcome::Replay, 0));
    bench.answer(&again, &assistant("The second joke.")).await;
    let history = [user("Tell me a joke."), assistant("The second joke."), user("Ha.")];
    let next = bench.send(None, &history).await;
    assert_eq!((next.outcome, next.added), (Outcome::Continue, 1));
    assert_eq!(bench.texts(&next).await, ["Tell me a joke.", "The second joke.", "Ha."]);
    assert_eq!(bench.all(&next.session).await.len(), 4);
}

#[tokio::test]
async fn a_sound_that_comes_back_by_its_id_is_the_reply_it_was() {
    let bench = Bench::sqlite();
    let question = user("Tell me a joke.");
    for id in ["audio_a", "audio_b"] {
        let asked = bench.send(None, std::slice::from_ref(&question)).await;
        let sound = json!({"id": id, "data": "AAAA", "expires_at": 7, "transcript": format!("The joke of {id}.")});
        bench.answer(&asked, &json!({"role": "assistant", "content": null, "audio": sound})).await;
    }
    let echo = json!({"role": "assistant", "audio": {"id": "audio_b"}});
    let next = bench.send(None, &[question, echo, user("Ha.")]).await;
    assert_eq!((next.outcome, next.added), (Outcome::Continue, 1));
    assert!(bench.path(&next).await[1].raw.get().contains("The joke of audio_b."));
}

#[tokio::test]
async fn an_echo_that_lost_its_spacing_is_still_the_reply() {
    let mut bench = Bench::sqlite();
    let asked = bench.send(None, &[user("Show me code.")]).await;
    bench.answer(&asked, &assistant("Here:\n\n  let x = 1;  \n")).await;
    let history = [user("Show me code."), assistant("Here: let x = 1;"), user("Thanks.")];
    let next = bench.send(None, &history).await;
    assert_eq!((next.outcome, next.added), (Outcome::Continue, 1));
    bench.restart();
    let again = bench.send(None, &with(history.to_vec(), &[assistant("Welcome.")])).await;
    assert_eq!((again.outcome, again.added), (Outcome::Continue, 1));
    assert_eq!(bench.texts(&again).await.len(), 4);
}

#[tokio::test]
async fn cleared_tool_results_stand_beside_the_originals() {
    let mut bench = Bench::sqlite();
    let before = vec![
        user("List the files."),
        call("call_8fK2mQx7Lr", "ls", &json!({"path": "/"})),
        result("call_8fK2mQx7Lr", &"a very long listing ".repeat(50)),
        assistant("There are many."),
    ];
    let first = bench.send(None, &before).await;
    let mut after = before.clone();
    after[2] = result("call_8fK2mQx7Lr", "[cleared]");
    after.push(user("And now?"));
    for (outcome, added) in [(Outcome::Edited, 2), (Outcome::Replay, 0), (Outcome::Replay, 0)] {
        let next = bench.send(None, &after).await;
        assert_eq!((next.outcome, next.added, &next.session), (outcome, added, &first.session));
        let texts = bench.texts(&next).await;
        assert_eq!(texts.len(), 5);
        assert!(texts[2].contains("a very long listing"));
        bench.restart();
    }
    let more = with(after.clone(), &[assistant("Now: nothing."), user("Good.")]);
    let next = bench.send(None, &more).await;
    assert_eq!((next.outcome, next.added), (Outcome::Continue, 2));
    let all = bench.all(&next.session).await;
    let overlay = all.iter().find(|m| matches!(m.place, Place::Beside(Beside::Overlay(_)))).unwrap();
    assert_eq!(overlay.place, Place::Beside(Beside::Overlay(scrollback::MessageId(2))));
}

#[tokio::test]
async fn a_sliding_window_is_a_shorter_view() {
    for declared in [Some("s"), None] {
        let mut bench = Bench::sqlite();
        let whole = talk("ann", 10);
        let first = bench.send(declared, &whole).await;
        let mut window = whole[6..].to_vec();
        for turn in 0..3 {
            window.push(user(&long("ann", 100 + turn)));
            let next = bench.send(declared, &window).await;
            assert_eq!((next.outcome, next.added), (Outcome::Truncated, 1), "{declared:?} turn {turn}");
            assert_eq!(next.session, first.session);
            assert_eq!(bench.texts(&next).await.len(), 21 + 2 * turn);
            bench.answer(&next, &assistant(&long("the model", 200 + turn))).await;
            window.push(assistant(&long("the model", 200 + turn)));
            window.drain(..2);
            bench.restart();
        }
    }
}

/// What is said to a voice assistant: most of it is short, some of that again and again, and at least one reply in five
/// is long.
fn short_talk(short: &[bool]) -> Vec<Value> {
    let words = |i: usize, short: bool| match (i % 10, short) {
        (1, _) | (_, false) => format!("{}{}", long("ann", i), "\nAnd more.".repeat(10)),
        (5 | 8, true) => "ok".to_owned(),
        (_, true) => format!("lamp {i} on"),
    };
    let message = |(i, short): (usize, &bool)| [user, assistant][i % 2](&words(i, *short));
    short.iter().enumerate().map(message).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_window_over_short_and_long_messages_adds_what_is_new(
        short in prop::collection::vec(prop::bool::weighted(0.8), 50),
        (window, keeps_first) in (19..30_usize, any::<bool>()),
        declared in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let (bench, said, declared) = (Bench::memory(), short_talk(&short), declared.then_some("s"));
            let mut session = None;
            for turn in (0..said.len()).step_by(2) {
                let from = (turn + 1).saturating_sub(window);
                let first = if keeps_first && from > 0 { &said[..1] } else { &[] };
                let next = bench.send(declared, &[first, &said[from..=turn]].concat()).await;
                let session = session.get_or_insert_with(|| next.session.clone());
                assert_eq!((next.added, &next.session), (1, &*session), "turn {turn}: {:?}", next.outcome);
                assert_eq!(bench.path(&next).await.len(), turn + 1);
                bench.answer(&next, &said[turn + 1]).await;
            }
            assert_eq!(bench.all(session.as_ref().expect("a session")).await.len(), said.len());
        });
    }
}

#[tokio::test]
async fn a_client_that_summarised_its_past_continues() {
    for declared in [Some("s"), None] {
        let bench = Bench::sqlite();
        let whole = talk("ann", 10);
        let first = bench.send(declared, &whole).await;
        let summary = user("Summary of what was said so far: much.");
        let compacted = with(vec![summary], &[&whole[14..], &[user("Go on.")]].concat());
        let next = bench.send(declared, &compacted).await;
        assert_eq!((next.outcome, next.added, &next.session), (Outcome::Compacted, 2, &first.session), "{declared:?}");
        assert_eq!(bench.texts(&next).await.len(), 21);
        assert!(bench.all(&next.session).await.iter().any(|m| m.place == Place::Beside(Beside::Insert)));
        let again = bench.send(declared, &compacted).await;
        assert_eq!((again.outcome, again.added, again.head), (Outcome::Replay, 0, next.head));
    }
}

#[tokio::test]
async fn a_compaction_that_keeps_nothing_links_to_nothing() {
    let bench = Bench::sqlite();
    bench.send(Some("s"), &talk("ann", 10)).await;
    let next = bench.send(Some("s"), &[user("Summary: we spoke of many things."), user("Go on.")]).await;
    assert_eq!((next.outcome, next.added), (Outcome::New, 2));
    assert_eq!(bench.texts(&next).await.len(), 2);
}

#[tokio::test]
async fn agents_that_share_an_id_do_not_mix() {
    let bench = Bench::sqlite();
    let main = bench.send(Some("cc"), &with(vec![system("You are an agent.")], &talk("the main agent", 3))).await;
    let title = bench.send(Some("cc"), &[system("Make a title."), user("Title for: the main agent…")]).await;
    let sub = bench.send(Some("cc"), &with(vec![system("You search.")], &talk("the sub-agent", 2))).await;
    assert_eq!([main.outcome, title.outcome, sub.outcome], [Outcome::New; 3]);
    let history = with(talk("the main agent", 3), &[user("go on")]);
    let main = bench.send(Some("cc"), &history).await;
    assert_eq!((main.outcome, main.added), (Outcome::Continue, 1));
    for text in bench.texts(&main).await {
        assert!(!text.contains("sub-agent") && !text.contains("Title"), "{text}");
    }
    for text in bench.texts(&sub).await {
        assert!(!text.contains("main agent"), "{text}");
    }
}

#[tokio::test]
async fn a_title_call_with_the_same_question_shares_it_and_nothing_else() {
    let bench = Bench::sqlite();
    let title = bench.send(Some("oc"), &[system("Make a title."), user("How do lifetimes work?")]).await;
    bench.answer(&title, &assistant("Lifetimes in Rust")).await;
    let chat = bench.send(Some("oc"), &[system("Help."), user("How do lifetimes work?")]).await;
    bench.answer(&chat, &assistant("They name regions.")).await;
    let history = [system("Help."), user("How do lifetimes work?"), assistant("They name regions."), user("More.")];
    let next = bench.send(Some("oc"), &history).await;
    assert_eq!(bench.texts(&next).await, ["How do lifetimes work?", "They name regions.", "More."]);
}

#[tokio::test]
async fn two_chats_that_begin_alike_share_their_beginning_and_nothing_else() {
    let bench = Bench::sqlite();
    let one = bench.send(None, &[user("hello"), assistant("hi"), user("my cat is ill")]).await;
    let two = bench.send(None, &[user("hello"), assistant("hi"), user("my code is slow")]).await;
    assert_eq!(two.outcome, Outcome::Branch);
    assert_eq!(bench.texts(&one).await, ["hello", "hi", "my cat is ill"]);
    assert_eq!(bench.texts(&two).await, ["hello", "hi", "my code is slow"]);
}

#[tokio::test]
async fn tenants_never_meet() {
    let bench = Bench::sqlite();
    let (a, b) = (Tenant::new("a"), Tenant::new("b"));
    let of_a = bench.send_as(&a, Some("s"), &talk("ann", 10)).await;
    let of_b = bench.send_as(&b, Some("s"), &talk("ann", 10)).await;
    assert_eq!((of_b.outcome, of_b.added), (Outcome::New, 20));
    assert_ne!(of_a.session.id, of_b.session.id);
    let slid = bench.send_as(&b, None, &with(talk("ann", 10)[6..].to_vec(), &[user("more")])).await;
    assert_eq!(slid.outcome, Outcome::New);
    let foreign = scrollback::SessionKey { tenant: b, id: of_a.session.id };
    assert!(bench.all(&foreign).await.is_empty());
}

#[tokio::test]
async fn a_history_without_ids_is_not_taken_for_a_declared_session() {
    let bench = Bench::sqlite();
    bench.send(Some("private"), &talk("ann", 10)).await;
    let slid = bench.send(None, &with(talk("ann", 10)[6..].to_vec(), &[user("more")])).await;
    assert_eq!(slid.outcome, Outcome::New);
}

#[tokio::test]
async fn clients_may_send_only_what_is_new() {
    let bench = Bench::sqlite();
    let arrival = |declared| Arrival::new(&bench.tenant, declared, "gpt-5", At(1));
    let one = r#"[{"role":"user","content":"one"}]"#;
    let two = r#"[{"role":"user","content":"two"}]"#;
    let say = |text: &'static str| History::parse(text).unwrap();
    let first = bench.log.receive_new(arrival(Some("s")), After::Last("s"), &say(one)).await.unwrap();
    let retry = bench.log.receive_new(arrival(Some("s")), After::Last("s"), &say(one)).await.unwrap();
    assert_eq!((retry.outcome, retry.added, retry.head), (Outcome::Replay, 0, first.head));
    let message = scrollback::Message::from_json(&assistant("yes").to_string()).unwrap();
    let answer =
        scrollback::log::Answer { response: Some("resp_1"), ..scrollback::log::Answer::of(message, "gpt-5", At(2)) };
    bench.log.reply(&first, answer).await.unwrap();
    let second = bench.log.receive_new(arrival(None), After::Response("resp_1"), &say(two)).await.unwrap();
    assert_eq!(bench.texts(&second).await, ["one", "yes", "two"]);
    let third = bench.log.receive_new(arrival(Some("s")), After::Last("s"), &say(one)).await.unwrap();
    assert_eq!(bench.texts(&third).await, ["one", "yes", "two", "one"]);
    let unknown = bench.log.receive_new(arrival(None), After::Response("resp_2"), &say(two)).await;
    assert!(matches!(unknown, Err(scrollback::Error::NotFound(_))));
}

/// Ollama draws ids of responses from a million.
#[tokio::test]
async fn a_response_whose_id_another_conversation_was_given_lately_is_not_followed() {
    const DAY: i64 = 24 * 3_600 * 1_000_000;
    let bench = Bench::sqlite();
    let answered = async |name: &str, at: i64| {
        let (said, at) = (serde_json::to_string(&[user(&format!("said to {name} at {at}"))]).unwrap(), At(at));
        let (arrival, history) = (Arrival::new(&bench.tenant, Some(name), "gpt-5", at), History::parse(&said).unwrap());
        let asked = bench.log.receive_new(arrival, After::Last(name), &history).await.unwrap();
        let message = scrollback::Message::from_json(&assistant("yes").to_string()).unwrap();
        let answer = scrollback::log::Answer::of(message, "gpt-5", at);
        bench.log.reply(&asked, scrollback::log::Answer { response: Some("resp_7"), ..answer }).await.unwrap();
        let (arrival, more) = (Arrival::new(&bench.tenant, None, "gpt-5", at), r#"[{"role":"user","content":"on"}]"#);
        let next = bench.log.receive_new(arrival, After::Response("resp_7"), &History::parse(more).unwrap()).await;
        next.map(|next| next.session == asked.session)
    };
    assert!(answered("ann", DAY).await.unwrap());
    assert!(answered("ann", 2 * DAY).await.unwrap(), "the newest of one conversation");
    let contested = answered("bob", 3 * DAY).await;
    assert!(matches!(contested, Err(scrollback::Error::Invalid(_))), "{contested:?}");
    assert!(answered("ann", 4 * DAY).await.is_err(), "nobody knows whose it is");
    assert!(answered("bob", 40 * DAY).await.unwrap(), "nobody follows what is so old");
}

#[tokio::test]
async fn what_is_new_after_what_has_been_followed_is_a_branch() {
    let bench = Bench::sqlite();
    let arrival = |title| Arrival { title, ..Arrival::new(&bench.tenant, Some("s"), "gpt-5", At(1)) };
    let say = |text: &str| serde_json::to_string(&[user(text)]).unwrap();
    let (one, two, three) = (say("one"), say("two"), say("three"));
    let first = bench.log.receive_new(arrival(None), After::Last("s"), &History::parse(&one).unwrap()).await.unwrap();
    assert_eq!(first.outcome, Outcome::New);
    let message = scrollback::Message::from_json(&assistant("yes").to_string()).unwrap();
    let answer =
        scrollback::log::Answer { response: Some("resp_1"), ..scrollback::log::Answer::of(message, "gpt-5", At(2)) };
    bench.log.reply(&first, answer).await.unwrap();
    for (text, outcome) in [(&two, Outcome::Continue), (&three, Outcome::Branch)] {
        let history = History::parse(text).unwrap();
        let next = bench.log.receive_new(arrival(Some("A talk")), After::Response("resp_1"), &history).await.unwrap();
        assert_eq!((next.outcome, next.added), (outcome, 1));
    }
    let found = bench.store.sessions(&bench.tenant, Which::Id(first.session.id)).await.unwrap();
    assert_eq!(found[0].title.as_deref(), Some("A talk"));
}

#[tokio::test]
async fn reasoning_that_comes_and_goes_changes_no_path() {
    let mut bench = Bench::sqlite();
    let reasoning = json!({"type": "reasoning", "encrypted_content": "gAAAA", "summary": []});
    let full = [user("Think."), reasoning, assistant("Done thinking.")];
    let first = bench.send(None, &full).await;
    assert_eq!((first.outcome, first.added), (Outcome::New, 3));
    let dropped = [user("Think."), assistant("Done thinking."), user("And?")];
    let next = bench.send(None, &dropped).await;
    assert_eq!((next.outcome, next.added), (Outcome::Continue, 1));
    bench.restart();
    assert_eq!(bench.send(None, &full).await.added, 0);
}

#[tokio::test]
async fn two_requests_at_once_become_siblings() {
    let bench = std::sync::Arc::new(Bench::sqlite());
    let base = talk("ann", 3);
    bench.send(Some("s"), &base).await;
    let mut tasks = Vec::new();
    for i in 0..16 {
        let (bench, history) = (bench.clone(), with(base.clone(), &[user(&format!("question {}", i % 8))]));
        tasks.push(tokio::spawn(async move { bench.send(Some("s"), &history).await }));
    }
    let mut heads = std::collections::HashSet::new();
    for task in tasks {
        let received = task.await.unwrap();
        assert_eq!(bench.texts(&received).await.len(), 7);
        heads.insert(received.head.unwrap().id);
    }
    assert_eq!(heads.len(), 8);
}

/// Applications fill one template for many users: what the texts have in common must not join them.
#[tokio::test]
async fn a_filled_template_is_not_the_same_conversation() {
    let boilerplate =
        assistant(&"I have read the document carefully and I am ready for your instructions now. ".repeat(4));
    let instruction =
        user(&"Please extract every name, date and amount, and explain each of them in one sentence. ".repeat(4));
    let filled = |start: &[Value], name: &str| {
        with(start.to_vec(), &[user(&format!("The document of {name}.")), boilerplate.clone(), instruction.clone()])
    };
    let shots = talk("an example", 2);
    for (declared, start) in [(None, vec![]), (Some("app"), vec![]), (None, shots.clone()), (Some("app"), shots)] {
        let bench = Bench::sqlite();
        let ann = bench.send(declared, &filled(&start, "Ann")).await;
        bench.answer(&ann, &assistant("Ann owes 12 euros.")).await;
        let bob = bench.send(declared, &filled(&start, "Bob")).await;
        let texts = bench.texts(&bob).await.join(" ");
        assert!(texts.contains("Bob") && !texts.contains("Ann"), "{declared:?}: {:?} {texts}", bob.outcome);
    }
}

#[tokio::test]
async fn a_long_question_blacked_out_in_the_middle_was_cleared_and_a_short_one_edited() {
    for (times, outcome, shown) in [(10, Outcome::Edited, "ann speaks"), (1, Outcome::Branch, "[removed]")] {
        let bench = Bench::sqlite();
        let mut history = talk("ann", 6);
        history[4] = user(&long("ann", 4).repeat(times));
        let first = bench.send(None, &history).await;
        history[4] = user("[removed]");
        history.push(user("And then?"));
        let next = bench.send(None, &history).await;
        assert_eq!((next.outcome, &next.session), (outcome, &first.session));
        assert!(bench.texts(&next).await[4].contains(shown), "{shown}");
    }
}

#[tokio::test]
async fn what_is_changed_or_put_in_the_middle_counts_from_then_on() {
    type Edit = fn(&mut Vec<Value>, String);
    let told = |text: &str| format!("{text}, and so on until all of it is told from the beginning to the end of it");
    let edits: [(&str, Edit); 3] = [
        ("another question", |history, text| history[4] = user(&text)),
        ("another reply", |history, text| history[5] = assistant(&text)),
        ("one more", |history, text| drop(history.splice(4..4, [user(&text), assistant("I see.")]))),
    ];
    for (what, edit) in edits {
        let bench = Bench::sqlite();
        let mut history = talk("ann", 6);
        let first = bench.send(None, &history).await;
        edit(&mut history, told(what));
        history.push(user("And then?"));
        let next = bench.send(None, &history).await;
        assert_eq!((next.outcome, &next.session), (Outcome::Branch, &first.session), "{what}");
        let texts = bench.texts(&next).await;
        assert!(texts.len() == history.len() && texts.contains(&told(what)), "{what}: {texts:?}");
        assert_eq!(bench.send(None, &history).await.added, 0, "{what}");
    }
}

/// Where a person approves what a model wants to do, clients change the arguments and keep the id of the call.
#[tokio::test]
async fn a_reply_that_came_back_changed_is_kept_beside_the_original() {
    let bench = Bench::sqlite();
    let asked = bench.send(None, &[user("Clean up.")]).await;
    bench.answer(&asked, &call("call_8fK2mQx7Lr", "rm", &json!({"path": "/"}))).await;
    let changed = call("call_8fK2mQx7Lr", "rm", &json!({"path": "/tmp/cache"}));
    let history = [user("Clean up."), changed.clone(), result("call_8fK2mQx7Lr", "done")];
    let next = bench.send(None, &history).await;
    assert_eq!((next.outcome, next.added), (Outcome::Continue, 2));
    let all = bench.all(&next.session).await;
    let overlay = all.iter().find(|m| m.place == Place::Beside(Beside::Overlay(scrollback::MessageId(1)))).unwrap();
    assert_eq!(overlay.raw.get(), changed.to_string());
    assert_eq!(bench.send(None, &history).await.added, 0);
}

#[tokio::test]
async fn new_messages_sent_again_are_not_doubled() {
    let results = vec![result("call_aaaaaaaaaaaa", "1"), result("call_bbbbbbbbbbbb", "2")];
    for sent in [vec![system("Be brief."), user("one")], results] {
        let bench = Bench::sqlite();
        let text = Value::Array(sent).to_string();
        let history = History::parse(&text).unwrap();
        let arrival = Arrival::new(&bench.tenant, Some("s"), "gpt-5", At(1));
        let begun = History::parse(r#"[{"role":"assistant","content":"begun"}]"#).unwrap();
        for before in [0, 1] {
            let first = bench.log.receive_new(arrival, After::Last("s"), &history).await.unwrap();
            let again = bench.log.receive_new(arrival, After::Last("s"), &history).await.unwrap();
            assert_eq!((again.outcome, again.added, again.head), (Outcome::Replay, 0, first.head), "{before} {text}");
            bench.log.receive_new(arrival, After::Last("s"), &begun).await.unwrap();
        }
    }
}

/// “continue” is said in every conversation: finding it hundreds of times must not hide what is said only here.
#[tokio::test]
async fn what_everybody_says_does_not_hide_a_conversation() {
    let mut bench = Bench::memory();
    let mut whole = talk("ann", 10);
    whole[18] = user("continue");
    let first = bench.send(None, &whole).await;
    for i in 0..300 {
        bench.send(None, &[user(&format!("opening {i}")), assistant("Shall I?"), user("continue")]).await;
    }
    bench.restart();
    let window = with(whole[10..].to_vec(), &[user("And now?")]);
    let next = bench.send(None, &window).await;
    assert_eq!((next.outcome, next.added, next.session), (Outcome::Truncated, 1, first.session));
}

#[tokio::test]
async fn a_text_cut_inside_an_emoji_is_still_a_message() {
    let bench = Bench::sqlite();
    let history = |marker: &str, more: &str| {
        let block = r#"{"type":"tool_result","tool_use_id":"toolu_01","content":"cut: \ud83d"MARKER}"#
            .replace("MARKER", marker);
        format!(r#"[{{"role":"user","content":"List."}},{{"role":"user","content":[{block}]}}{more}]"#)
    };
    let (first, then) = (
        history(r#","cache_control":{"type":"ephemeral"}"#, ""),
        history("", r#",{"role":"user","content":"Go on."}"#),
    );
    let arrival = Arrival::new(&bench.tenant, Some("s"), "claude", At(1));
    let first = bench.log.receive(arrival, &History::parse(&first).unwrap()).await.unwrap();
    assert_eq!(bench.path(&first).await[1].role.as_str(), "user");
    let then = bench.log.receive(arrival, &History::parse(&then).unwrap()).await.unwrap();
    assert_eq!((then.outcome, then.added), (Outcome::Continue, 1));
}

#[tokio::test]
async fn reasoning_keeps_its_own_time() {
    let bench = Bench::sqlite();
    let reasoning = json!({"type": "reasoning", "encrypted_content": "gAAAA", "summary": []});
    let text = Value::Array(vec![user("Think."), reasoning, assistant("Done.")]).to_string();
    let times = [At(10), At(20), At(30)];
    let arrival = Arrival { times: Some(&times), ..Arrival::new(&bench.tenant, None, "gpt-5", At(1)) };
    let received = bench.log.receive(arrival, &History::parse(&text).unwrap()).await.unwrap();
    let all = bench.all(&received.session).await;
    assert_eq!(all.iter().find(|m| m.place == Place::Beside(Beside::Aside)).unwrap().at, At(20));
}

fn heads(texts: &[&str]) -> Vec<Box<serde_json::value::RawValue>> {
    texts.iter().map(|text| serde_json::value::to_raw_value(&system(text)).expect("JSON")).collect()
}

fn instructed(received: &Received) -> Option<Vec<String>> {
    let preamble = received.preamble.as_ref()?;
    Some(preamble.iter().map(|stored| stored.message().to_text()).collect())
}

#[tokio::test]
async fn instructions_outside_of_the_array_come_before_those_in_it() {
    let mut bench = Bench::sqlite();
    let tenant = bench.tenant.clone();
    let arrival = Arrival::new(&tenant, Some("s"), "gpt-5", At(1));
    let text = Value::Array(vec![system("inner"), user("one")]).to_string();
    for (i, outer) in [["a", "b"], ["a", "b"], ["a", "c"]].iter().enumerate() {
        let history = History::parse(&text).unwrap().with_heads(heads(outer));
        assert_eq!(history.len(), 4);
        let received = bench.log.receive(arrival, &history).await.unwrap();
        assert_eq!(instructed(&received).unwrap(), [outer[0], outer[1], "inner"], "{i}");
        assert_eq!(bench.texts(&received).await, ["one"]);
        assert_eq!(received.added, [4, 0, 1][i]);
        bench.restart();
    }
    // A beginning that is passed over changes nothing.
    let more = Value::Array(vec![system("inner"), user("one"), assistant("yes"), user("two")]).to_string();
    for added in [2, 0] {
        let (history, _) = bench.log.open(&bench.tenant, &more).unwrap();
        let history = history.with_heads(heads(&["a", "c"]));
        assert_eq!((history.len(), history.last().unwrap().to_text()), (6, "two".to_owned()));
        let received = bench.log.receive(arrival, &history).await.unwrap();
        assert_eq!((received.added, bench.texts(&received).await.len()), (added, 3));
    }
}

#[tokio::test]
async fn where_instructions_have_their_own_place_those_among_new_messages_are_links() {
    let bench = Bench::sqlite();
    let arrival = Arrival::new(&bench.tenant, Some("s"), "gpt-5", At(1));
    let say = |messages: &[Value]| Value::Array(messages.to_vec()).to_string();
    let tools = json!({"type": "additional_tools", "tools": []});
    let first = say(&[system("leading"), tools.clone(), user("one"), system("in passing")]);
    let told = History::parse(&first).unwrap().with_heads(heads(&["head"]));
    let received = bench.log.receive_new(arrival, After::Last("s"), &told).await.unwrap();
    assert_eq!(instructed(&received).unwrap().len(), 3);
    assert_eq!(bench.texts(&received).await, ["one", "in passing"]);
    let second = say(&[system("links"), tools, user("two")]);
    let told = History::parse(&second).unwrap().with_heads(heads(&["other"]));
    let received = bench.log.receive_new(arrival, After::Last("s"), &told).await.unwrap();
    assert_eq!(instructed(&received).unwrap(), ["other"]);
    assert_eq!(bench.texts(&received).await.len(), 5);
    let again = bench.log.receive_new(arrival, After::Last("s"), &told).await.unwrap();
    assert_eq!(
        (again.outcome, again.added, instructed(&again).unwrap()),
        (Outcome::Replay, 0, vec!["other".to_owned()])
    );
    // None at all are none, and not those of the turn before.
    let third = say(&[user("three")]);
    let none = History::parse(&third).unwrap().with_heads(Vec::new());
    let received = bench.log.receive_new(arrival, After::Last("s"), &none).await.unwrap();
    assert_eq!(instructed(&received), Some(Vec::new()));
    // Without a place of their own they are instructions wherever they stand, as ever.
    let fourth = say(&[user("four"), system("as ever")]);
    let received = bench.log.receive_new(arrival, After::Last("s"), &History::parse(&fourth).unwrap()).await.unwrap();
    assert_eq!(instructed(&received).unwrap(), ["as ever"]);
    assert_eq!(bench.texts(&received).await.last().unwrap(), "four");
}

#[tokio::test]
async fn a_reply_of_several_items_is_followed_by_its_response() {
    for bench in [Bench::memory(), Bench::sqlite()] {
        let received = bench.send(Some("s"), &[user("Look.")]).await;
        let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": []});
        let items = [reasoning, assistant("I will."), json!({"type": "function_call", "call_id": "c", "name": "f"})];
        let messages = items.iter().map(|item| scrollback::Message::from_json(&item.to_string()).unwrap()).collect();
        let one = scrollback::Message::text(&scrollback::Role::Assistant, "");
        let answer = scrollback::log::Answer {
            messages,
            response: Some("resp_1"),
            ..scrollback::log::Answer::of(one, "gpt-5", At(2))
        };
        let last = bench.log.reply(&received, answer).await.unwrap();
        let all = bench.all(&received.session).await;
        assert_eq!((last.id, all.len()), (all[3].id, 4));
        // Reasoning stands next to the message it led to, and after the one that follows.
        assert_eq!((all[1].place, all[1].parent), (Place::Beside(Beside::Aside), Some(all[0].id)));
        let output = r#"[{"type":"function_call_output","call_id":"c","output":"found"}]"#;
        let arrival = Arrival::new(&bench.tenant, None, "gpt-5", At(3));
        let output = History::parse(output).unwrap();
        let next = bench.log.receive_new(arrival, After::Response("resp_1"), &output).await.unwrap();
        assert_eq!(next.base.unwrap().id, last.id);
    }
}

/// A summary as agents ask their model for it.
const SUMMED: &str = "1. The harbour office wants the lamp on the north mole repaired before the first storm of October.\n\
                      2. Larsen offered to do it for 4,200 crowns; the board has not answered him yet.\n\
                      3. The spare glass lies in shed seven, behind the old buoys, wrapped in sailcloth.";

/// Agents ask their model to sum up, and go on with its words in the place of all that was said.
#[tokio::test]
async fn a_history_that_begins_anew_with_a_summary_continues_the_conversation_it_sums_up() {
    for repeats in [false, true] {
        let mut bench = Bench::sqlite();
        let told = talk("ann", 6);
        bench.send(Some("s"), &told).await;
        let asked = bench.send(Some("s"), &with(told.clone(), &[user("Sum up all of this.")])).await;
        let reply = format!("<analysis>Let me think.</analysis>\n<summary>\n{SUMMED}\n</summary>");
        bench.answer(&asked, &assistant(&reply)).await;
        bench.restart();
        // Some repeat what the person said before the summary, and the instructions that hold from there on.
        let said: Vec<Value> = told.iter().filter(|message| message["role"] == "user").cloned().collect();
        let begun = user(&format!("This goes on from an earlier conversation. Summary:\n{SUMMED}\n"));
        let holds = system("Answer in one line.");
        let mut history = if repeats { with(said, &[holds, begun]) } else { vec![begun] };
        history.push(user("And the glass?"));
        let first = bench.send(Some("s"), &history).await;
        let texts = bench.texts(&first).await;
        assert_eq!(first.outcome, Outcome::Compacted, "{texts:?}");
        assert!(texts[0] == long("ann", 0) && texts.contains(&reply), "all that was said is on its path: {texts:?}");
        assert!(texts[texts.len() - 2].contains("Summary:") && texts.last().unwrap() == "And the glass?", "{texts:?}");
        assert_eq!(texts[texts.len() - 3] == "Answer in one line.", repeats, "{texts:?}");
        assert!(!first.as_sent);
        bench.answer(&first, &assistant("In shed seven.")).await;
        history.extend([assistant("In shed seven."), user("Thanks.")]);
        let second = bench.send(Some("s"), &history).await;
        assert_eq!((second.outcome, second.added), (Outcome::Continue, 1));
        assert_eq!(bench.texts(&second).await.len(), texts.len() + 2);
        // A last question that is said anew goes on from what is known.
        bench.restart();
        let anew = with(history[..history.len() - 3].to_vec(), &[user("And the lamp?")]);
        let third = bench.send(Some("s"), &anew).await;
        assert_eq!((third.added, bench.texts(&third).await.len()), (1, texts.len()));
    }
}

/// Some clients join what stands side by side in the person's role: the summary and what is said after it are one
/// message.
#[tokio::test]
async fn a_summary_and_the_next_question_may_be_one_message() {
    let bench = Bench::sqlite();
    let told = talk("ann", 6);
    let asked = bench.send(Some("s"), &with(told.clone(), &[user("Sum up all of this.")])).await;
    bench.answer(&asked, &assistant(SUMMED)).await;
    let text = |text: &str| json!({"type": "text", "text": text});
    let reminder = text("<system-reminder>\nThe tide is in.\n</system-reminder>");
    let begun = brought(&[reminder, text(&format!("Summary:\n{SUMMED}")), text("And the glass?")]);
    let mut history = vec![begun];
    let first = bench.send(Some("s"), &history).await;
    let texts = bench.texts(&first).await;
    assert_eq!((first.outcome, texts.len()), (Outcome::Compacted, told.len() + 3), "{texts:?}");
    assert!(texts[0] == long("ann", 0) && texts.last().unwrap().ends_with("And the glass?"), "{texts:?}");
    bench.answer(&first, &assistant("In shed seven.")).await;
    history.extend([assistant("In shed seven."), user("Thanks.")]);
    let second = bench.send(Some("s"), &history).await;
    assert_eq!((second.outcome, second.added), (Outcome::Continue, 1));
}

/// What a model thinks before it sums up is left behind, however long it is.
#[tokio::test]
async fn a_summary_without_the_thoughts_before_it_is_still_that_reply() {
    let bench = Bench::sqlite();
    let told = talk("ann", 3);
    let asked = bench.send(Some("s"), &with(told.clone(), &[user("Sum up all of this.")])).await;
    let thought = |i: usize| format!("Message {i} tells of the harbour, which matters for what comes.");
    let thoughts: Vec<String> = (0..6).map(thought).collect();
    let reply = format!("<analysis>\n{}\n</analysis>\n<summary>\n{SUMMED}\n</summary>", thoughts.join("\n"));
    bench.answer(&asked, &assistant(&reply)).await;
    let history = [user(&format!("This goes on. Summary:\n{SUMMED}")), user("And the glass?")];
    let first = bench.send(Some("s"), &history).await;
    let texts = bench.texts(&first).await;
    assert_eq!((first.outcome, texts.len()), (Outcome::Compacted, told.len() + 4), "{texts:?}");
}

/// What quotes a reply is no new beginning of the conversation it is from: nor in another session, nor as the last
/// word.
#[tokio::test]
async fn a_quotation_is_no_summary() {
    let bench = Bench::sqlite();
    let asked = bench.send(Some("s"), &[user("Sum up all of this.")]).await;
    bench.answer(&asked, &assistant(SUMMED)).await;
    let quoted = user(&format!("Write a title for this:\n{SUMMED}"));
    assert_eq!(bench.send(Some("s"), std::slice::from_ref(&quoted)).await.outcome, Outcome::New);
    let text = |text: &str| json!({"type": "text", "text": text});
    let in_pieces = brought(&[text(&format!("Here:\n{SUMMED}")), text("Write a title for it.")]);
    assert_eq!(bench.send(Some("s"), &[in_pieces]).await.outcome, Outcome::New);
    let elsewhere = [quoted.clone(), assistant("Lamp and glass"), user("Shorter.")];
    assert_eq!(bench.send(Some("t"), &elsewhere).await.outcome, Outcome::New);
    assert_eq!(bench.send(None, &elsewhere).await.outcome, Outcome::New);
}

/// Whoever asks once more instead of a question, and quotes what was answered to it, makes a branch.
#[tokio::test]
async fn a_question_said_anew_that_quotes_its_reply_is_a_branch() {
    let bench = Bench::sqlite();
    let told = talk("ann", 2);
    let asked = bench.send(Some("s"), &with(told.clone(), &[user("Write the plan down.")])).await;
    bench.answer(&asked, &assistant(SUMMED)).await;
    let text = |text: &str| json!({"type": "text", "text": text});
    let anew = brought(&[text(&format!("plan.md:\n{SUMMED}")), text("Shorter, and without the lamp.")]);
    let next = bench.send(Some("s"), &with(told, &[anew])).await;
    assert_eq!(next.outcome, Outcome::Branch);
    assert_eq!(bench.texts(&next).await.len(), 5);
}

/// Some agents go on with the reply itself, behind a question of their own: it was said once, and is shown once.
#[tokio::test]
async fn a_summary_that_is_the_reply_itself_is_shown_once() {
    let bench = Bench::sqlite();
    let told = with(talk("ann", 3), &[user("Sum up all of this.")]);
    let asked = bench.send(Some("s"), &told).await;
    bench.answer(&asked, &assistant(SUMMED)).await;
    let history = [user("What did we do so far?"), assistant(SUMMED), user("And the glass?")];
    let first = bench.send(Some("s"), &history).await;
    let texts = bench.texts(&first).await;
    assert_eq!((first.outcome, texts.len()), (Outcome::Compacted, told.len() + 2), "{texts:?}");
    assert_eq!(texts[told.len()..], [SUMMED, "And the glass?"]);
    let again = bench.send(Some("s"), &history).await;
    assert_eq!((again.outcome, again.added, again.head), (Outcome::Replay, 0, first.head));
}

/// A question that is changed while its reply stays is an edit like any other, however long the reply is and whatever
/// the client calls the session.
#[tokio::test]
async fn a_reply_behind_a_question_that_was_changed_is_no_summary() {
    for turns in [0, 2] {
        let bench = Bench::sqlite();
        let before = talk("ann", turns);
        let asked = bench.send(Some("s"), &with(before.clone(), &[user("Where is the glass?")])).await;
        bench.answer(&asked, &assistant(SUMMED)).await;
        let later = [user("And who repairs the lamp?"), assistant(SUMMED), user("Thanks.")];
        let next = bench.send(Some("s"), &with(before, &later)).await;
        assert_eq!(next.outcome, if turns == 0 { Outcome::New } else { Outcome::Branch });
        let texts = bench.texts(&next).await;
        assert_eq!(texts.len(), 2 * turns + 3, "{texts:?}");
        assert_eq!(texts[2 * turns..], ["And who repairs the lamp?", SUMMED, "Thanks."]);
    }
}

/// Tools of different conversations answer alike, and some servers count their calls: neither makes them one
/// conversation.
#[tokio::test]
async fn conversations_whose_tools_answer_alike_stay_apart() {
    let tool_talk = |id: &str, asked: &str, tool: &str| {
        let call = call(id, tool, &json!({"of": asked}));
        vec![user(asked), call, result(id, "OK"), user("Which was it, again?")]
    };
    for ids in [["call_8fK2mQx7Lr", "call_Zp93nVd0aB"], ["functions.do:0", "functions.do:0"]] {
        let bench = Bench::sqlite();
        let first = bench.send(None, &tool_talk(ids[0], "Delete alpha.", "rm")).await;
        let mut history = tool_talk(ids[1], "Create beta.", "make");
        let second = bench.send(None, &history).await;
        assert_eq!((second.outcome, second.added), (Outcome::New, 4), "{ids:?}");
        assert_ne!(first.session, second.session);
        // The client writes something else into its first message: it is still the second conversation, or a new one.
        history[0] = user("Create beta. It is 10:06.");
        let third = bench.send(None, &with(history, &[assistant("Beta."), user("Thanks.")])).await;
        assert_ne!(first.session, third.session, "{ids:?}");
        assert!(!bench.texts(&third).await.iter().any(|text| text.contains("alpha")), "{ids:?}");
    }
}

/// Applications give all their agents one name for the provider's cache, and one agent quotes what another wrote.
#[tokio::test]
async fn a_quotation_by_another_agent_of_that_name_is_no_summary() {
    let quoted = [user(&format!("Here is a draft:\n{SUMMED}")), user("Is it good?")];
    let send = async |bench: &Bench, history: &[Value]| {
        let text = Value::Array(history.to_vec()).to_string();
        let arrival = Arrival { shared: true, ..Arrival::new(&bench.tenant, Some("my-app"), "gpt-5", At(9)) };
        bench.log.receive(arrival, &History::parse(&text).unwrap()).await.unwrap()
    };
    let bench = Bench::sqlite();
    let asked = send(&bench, &[user("Write a draft. My salary is 5000.")]).await;
    bench.answer(&asked, &assistant(SUMMED)).await;
    let critic = send(&bench, &quoted).await;
    assert_eq!((critic.outcome, bench.texts(&critic).await.len()), (Outcome::New, 2));
    // Nor is what a model has another agent do what it says, whatever the name.
    let bench = Bench::sqlite();
    let asked = bench.send(Some("s"), &[user("Have the salary checked.")]).await;
    bench.answer(&asked, &call("call_8fK2mQx7Lr", "agent", &json!({"prompt": SUMMED}))).await;
    let agent = bench.send(Some("s"), &[user(SUMMED), user("It is Monday.")]).await;
    assert_eq!((agent.outcome, bench.texts(&agent).await.len()), (Outcome::New, 2));
}

/// Some clients join a reply that was paused with the one that goes on with it.
#[tokio::test]
async fn replies_that_a_client_joins_are_told_once() {
    let bench = Bench::sqlite();
    let asked = bench.send(Some("s"), &[user("Where is the glass?")]).await;
    bench.answer(&asked, &assistant("I look for it.")).await;
    let paused = bench.send(Some("s"), &[user("Where is the glass?"), assistant("I look for it.")]).await;
    bench.answer(&paused, &assistant(SUMMED)).await;
    let joined = format!("I look for it.\n{SUMMED}");
    let next = bench.send(Some("s"), &[user("Where is the glass?"), assistant(&joined), user("Thanks.")]).await;
    assert_eq!(bench.texts(&next).await, ["Where is the glass?", &joined, "Thanks."]);
}

fn brought(blocks: &[Value]) -> Value {
    json!({"role": "user", "content": blocks})
}

/// Whoever interrupts an agent says so beside the result that it waits for.
#[tokio::test]
async fn words_beside_a_result_reach_the_model() {
    let uses = json!({"type": "tool_use", "id": "toolu_01A09q90qw90", "name": "look", "input": {}});
    let asks = json!({"role": "assistant", "content": [uses]});
    let result = |text: &str| json!({"type": "tool_result", "tool_use_id": "toolu_01A09q90qw90", "content": text});
    let stop = json!({"type": "text", "text": "STOP. Use the other file instead."});
    for (first, then) in [
        (vec![result("a boat")], vec![result("a boat"), stop.clone()]),
        (vec![result("pending")], vec![result("A boat with a red sail and two masts came in at noon.")]),
        (vec![result(&long("ann", 0))], vec![result("It was refused.")]),
    ] {
        for later in [vec![], vec![assistant("I see."), user("And now?")]] {
            let bench = Bench::sqlite();
            let before = [user("Look, please."), asks.clone()];
            bench.send(Some("s"), &with(before.to_vec(), &[brought(&first)])).await;
            let next = bench.send(Some("s"), &with(with(before.to_vec(), &[brought(&then)]), &later)).await;
            let clears = later.len() > 1 && first.len() == then.len() && then[0] == result("It was refused.");
            assert_eq!(next.outcome, if clears { Outcome::Edited } else { Outcome::Branch }, "{then:?} {later:?}");
            let texts = bench.texts(&next).await.join("\n");
            let said = brought(&then).to_string();
            assert!(
                clears
                    || scrollback::Message::from_json(&said)
                        .unwrap()
                        .to_text()
                        .lines()
                        .all(|line| texts.contains(line)),
                "{texts}"
            );
        }
    }
}

/// Instructions that stand in the first message may change, and what an agent adds in every request does.
#[tokio::test]
async fn a_beginning_that_changes_reaches_the_model() {
    let (id, other) = ("call_8fK2mQx7Lr", "call_Zp93nVd0aB");
    let step = |id: &str| [call(id, "look", &json!({"of": id})), result(id, "a boat")];
    let bench = Bench::sqlite();
    bench.send(Some("s"), &with(vec![user("Rules: be brief. Look.")], &step(id))).await;
    let later = with(vec![user("Rules: be long. Look.")], &step(id));
    let next = bench.send(Some("s"), &with(later, &[assistant("A boat."), user("And now?")])).await;
    assert_eq!((next.outcome, &*bench.texts(&next).await[0]), (Outcome::New, "Rules: be long. Look."));
    let bench = Bench::sqlite();
    bench.send(None, &with(vec![user("Look. It is one o'clock.")], &step(id))).await;
    let now = user("It is two o'clock.");
    let next = bench.send(None, &[&[user("Look.")], &step(id)[..], &[now], &step(other)].concat()).await;
    assert!(bench.texts(&next).await.contains(&"It is two o'clock.".to_owned()), "{:?}", bench.texts(&next).await);
}

/// Passages for the question, the files of the moment, what a lore book has to say: only the newest counts.
#[tokio::test]
async fn what_a_client_moves_along_does_not_pile_up() {
    for notes in [system as fn(&str) -> Value, user] {
        let bench = Bench::sqlite();
        let mut history = vec![user("We will talk about boats.")];
        let begun = bench.send(None, &history).await;
        bench.answer(&begun, &assistant("Gladly.")).await;
        history.push(assistant("Gladly."));
        for turn in 0..6 {
            let found = [notes(&format!("Passages for question {turn}: {}", long("page", turn)))];
            let question = [user(&format!("Question {turn}: {}", long("ann", turn)))];
            let asked = bench.send(None, &with(with(history.clone(), &found), &question)).await;
            let texts = bench.texts(&asked).await;
            let passages = texts.iter().filter(|text| text.starts_with("Passages")).count();
            assert_eq!((passages, texts.len()), (1, history.len() + 2), "{texts:#?}");
            let reply = assistant(&format!("Answer {turn}: {}", long("bob", turn)));
            bench.answer(&asked, &reply).await;
            history.extend(question.into_iter().chain([reply]));
        }
    }
}

#[tokio::test]
async fn what_was_taken_back_stays_so_where_a_client_trims_and_tools_answer_alike() {
    let bench = Bench::sqlite();
    let turn = |name: &str, n: usize| {
        let id = format!("call_{name}{n:02}x8f3kq27zm");
        let asked = user(&format!("{name} {n}: {}", long(name, n)));
        [
            asked,
            call(&id, "save_note", &json!({})),
            result(&id, "Note saved."),
            assistant(&format!("Done: {}", long("bob", n))),
        ]
    };
    let said: Vec<Value> = (0..4).flat_map(|n| turn("ann", n)).collect();
    bench.send(None, &with(said.clone(), &turn("ghost", 4))).await;
    let anew = with(said, &turn("ann", 5));
    for (cut, more) in [(0, 6), (4, 7), (8, 8)] {
        let trimmed = with(anew[cut..].to_vec(), &turn("ann", more)[..3]);
        let texts = bench.texts(&bench.send(None, &trimmed).await).await;
        assert!(texts.iter().any(|text| text.starts_with("ann 5")), "{cut}: {texts:#?}");
        assert!(texts.iter().all(|text| !text.starts_with("ghost")), "{cut}: {texts:#?}");
    }
}
