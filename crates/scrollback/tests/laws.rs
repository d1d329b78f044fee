//! The laws that concern the log, over random conversations: 1 Kept, and 6 Idempotent.
//!
//! Several clients talk at once, under ids of their own or none, and do what clients do to their histories. Whatever
//! they do, every message they sent is in the log byte for byte, exactly once at its place; sending again adds nothing;
//! and no path ever shows a word of another client.

#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod kit;

use std::collections::HashSet;

use kit::{Bench, assistant, call, cases, long, result, user};
use proptest::prelude::*;
use scrollback::log::{Outcome, Received};
use scrollback::store::Place;
use scrollback::{Message, SessionKey};
use serde_json::Value;

/// What a client does next with its history.
#[derive(Clone, Debug)]
enum Move {
    /// Asks on; the reply comes through us and is echoed.
    Ask,
    /// Asks on with a tool call and its result.
    CallTool,
    /// Asks on; the reply was lost, so the client asks again without it.
    LoseReply,
    /// Asks for another reply to its last question.
    Regenerate,
    /// Does something to its history near a place, and asks on.
    Rework(Rework, usize),
    /// Says what everybody says.
    SmallTalk,
    /// Says a word, its own or everybody's; the reply is no longer.
    Briefly(bool),
    /// The program is restarted.
    Restart,
}

/// What a client does to its history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rework {
    /// Goes back to a place, and says something else there.
    Edit,
    /// Says a question in other words, and keeps what followed.
    Reword,
    /// Clears the tool results before a place.
    Redact,
    /// Drops its oldest messages.
    Slide,
    /// Replaces its oldest messages by a summary.
    Compact,
}

const THANKS: &str = "Thank you very much, that was really helpful and I appreciate it. ";
const OK: &str = "ok";
const WELCOME: &str = "You are very welcome, please ask whenever there is anything else. ";

fn moves() -> impl Strategy<Value = Move> {
    let reworks = vec![Rework::Edit, Rework::Edit, Rework::Reword, Rework::Redact, Rework::Slide, Rework::Compact];
    prop_oneof![
        6 => Just(Move::Ask),
        3 => Just(Move::CallTool),
        1 => Just(Move::LoseReply),
        1 => Just(Move::Regenerate),
        6 => (prop::sample::select(reworks), 0..20_usize).prop_map(|(how, near)| Move::Rework(how, near)),
        2 => Just(Move::SmallTalk),
        3 => any::<bool>().prop_map(Move::Briefly),
        1 => Just(Move::Restart),
    ]
}

/// A client: its name, how it calls its session, and the history it would send.
struct Client {
    name: String,
    declared: Option<String>,
    history: Vec<Value>,
    /// Whether it still sends what it began with.
    is_whole: bool,
    said: usize,
}

impl Client {
    fn new(number: usize) -> Self {
        let name = format!("client{number}x");
        // Two of three clients share one id, as sub-agents do; the third has none.
        let declared = (number % 3 != 2).then(|| "shared".to_owned());
        Self { name, declared, history: Vec::new(), is_whole: true, said: 0 }
    }

    fn words(&mut self) -> String {
        self.said += 1;
        long(&self.name, self.said)
    }

    fn question(&mut self) -> Value {
        let words = self.words();
        user(&words)
    }

    fn reply(&mut self) -> Value {
        let words = self.words();
        assistant(&words)
    }

    /// Changes its history before it asks on.
    fn rework(&mut self, how: Rework, near: usize) {
        let at = self.cut(if how == Rework::Slide { near.min(self.history.len() / 2) } else { near });
        self.is_whole &= at == 0 || !matches!(how, Rework::Slide | Rework::Compact);
        match how {
            Rework::Edit => self.history.truncate(at),
            Rework::Reword if self.history.is_empty() => {}
            Rework::Reword => self.history[at] = self.question(),
            Rework::Redact => {
                for message in self.history[..at].iter_mut().filter(|message| message["role"] == "tool") {
                    message["content"] = "result cleared".into();
                }
            }
            Rework::Slide => drop(self.history.drain(..at)),
            Rework::Compact if at == 0 => {}
            Rework::Compact => {
                let summary = format!("{} sums up number {}", self.name, self.said);
                self.history.splice(..at, [user(&summary)]);
            }
        }
    }

    /// A place at which history may be cut: before a user's message.
    fn cut(&self, near: usize) -> usize {
        let questions: Vec<_> = (0..self.history.len()).filter(|&i| self.history[i]["role"] == "user").collect();
        questions.get(near % questions.len().max(1)).copied().unwrap_or(0)
    }
}

struct World {
    bench: Bench,
    clients: Vec<Client>,
    /// Everything ever sent or replied, as its exact bytes, with its session and its client.
    sent: Vec<(SessionKey, String)>,
}

impl World {
    fn new(bench: Bench) -> Self {
        Self { bench, clients: (0..3).map(Client::new).collect(), sent: Vec::new() }
    }

    async fn send(&mut self, who: usize) -> Received {
        let client = &self.clients[who];
        let received = self.bench.send(client.declared.as_deref(), &client.history).await;
        self.sent.extend(client.history.iter().map(|message| (received.session.clone(), message.to_string())));
        self.check(who, &received).await;
        received
    }

    /// What must hold after every request.
    async fn check(&mut self, who: usize, received: &Received) {
        self.bench.take_turns();
        let client = &self.clients[who];
        let again = self.bench.send(client.declared.as_deref(), &client.history).await;
        assert_eq!((again.outcome, again.added), (Outcome::Replay, 0), "sent again: {:?}", client.history);
        assert_eq!(again.head, received.head);
        let path = self.bench.path(received).await;
        for stored in &path {
            let text = stored.message().to_text();
            let common = text == OK || ["result", THANKS, WELCOME].iter().any(|word| text.contains(word));
            assert!(text.contains(&client.name) || common, "{} sees {text}", client.name);
        }
        // The newest message of the client ends the path, as it was sent.
        let last = client.history.last().map(|message| Message::from_json(&message.to_string()).unwrap().strong());
        assert_eq!(path.last().map(|stored| stored.message().strong()), last);
        if matches!(received.outcome, Outcome::New | Outcome::Branch) && received.added == client.history.len() {
            assert_eq!(path.len(), client.history.len());
        }
    }

    /// What somebody changed is what the path says, and nothing else, however much of it they kept.
    async fn counts(&self, who: usize, received: &Received) {
        let client = &self.clients[who];
        if client.is_whole {
            let path: Vec<String> =
                self.bench.path(received).await.iter().map(|stored| stored.raw.to_string()).collect();
            assert_eq!(path, client.history.iter().map(Value::to_string).collect::<Vec<_>>());
        }
    }

    async fn answer(&mut self, who: usize, received: &Received, reply: Value) {
        self.bench.answer(received, &reply).await;
        self.sent.push((received.session.clone(), reply.to_string()));
        self.clients[who].history.push(reply);
    }

    async fn ask(&mut self, who: usize) -> Received {
        let question = self.clients[who].question();
        self.clients[who].history.push(question);
        self.send(who).await
    }

    async fn make(&mut self, who: usize, step: &Move) {
        self.bench.take_turns();
        let client = &mut self.clients[who];
        match step {
            Move::Ask => {
                let received = self.ask(who).await;
                let reply = self.clients[who].reply();
                self.answer(who, &received, reply).await;
            }
            Move::CallTool => {
                let received = self.ask(who).await;
                let client = &mut self.clients[who];
                let id = format!("{}-call-{}", client.name, client.said);
                let words = client.words();
                self.answer(who, &received, call(&id, "look", &serde_json::json!({"for": words}))).await;
                let output = format!("result for {words}: {}", "rows ".repeat(20));
                self.clients[who].history.push(result(&id, &output));
                self.send(who).await;
            }
            Move::LoseReply => {
                let received = self.ask(who).await;
                let reply = self.clients[who].reply();
                self.bench.answer(&received, &reply).await;
                self.sent.push((received.session, reply.to_string()));
            }
            Move::Regenerate => {
                if client.history.last().is_some_and(|last| last["role"] == "assistant" && last["content"].is_string())
                {
                    client.history.pop();
                    let received = self.send(who).await;
                    let reply = self.clients[who].reply();
                    self.answer(who, &received, reply).await;
                }
            }
            Move::Rework(how, near) => {
                client.rework(*how, *near);
                let received = self.ask(who).await;
                if *how == Rework::Reword {
                    self.counts(who, &received).await;
                }
            }
            Move::SmallTalk => {
                client.history.push(user(&THANKS.repeat(3)));
                let received = self.send(who).await;
                self.answer(who, &received, assistant(&WELCOME.repeat(3))).await;
            }
            Move::Briefly(alike) => {
                client.said += 1;
                let said = format!("{} {}", client.name, client.said);
                client.history.push(user(if *alike { OK } else { &said }));
                let received = self.send(who).await;
                self.answer(who, &received, assistant(&said)).await;
            }
            Move::Restart => self.bench.restart(),
        }
    }

    /// What must hold in the end: everything is kept, exactly once at its place, in its own session.
    async fn finish(&self) {
        let sessions: HashSet<_> = self.sent.iter().map(|(session, _)| session.clone()).collect();
        for session in sessions {
            let all = self.bench.all(&session).await;
            let kept: HashSet<&str> = all.iter().map(|stored| stored.raw.get()).collect();
            for (_, bytes) in self.sent.iter().filter(|(of, _)| *of == session) {
                assert!(kept.contains(bytes.as_str()), "lost: {bytes}");
            }
            let places: HashSet<_> = all
                .iter()
                .map(|stored| match stored.place {
                    Place::Path(position) => format!("{:?} {}", stored.parent, position.node.0),
                    Place::Beside(why) => format!("{why:?} {}", stored.raw),
                })
                .collect();
            assert_eq!(places.len(), all.len(), "something is stored twice");
        }
    }
}

fn live(bench: impl Future<Output = Bench>, script: &[(usize, Move)]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut world = World::new(bench.await);
        for (who, step) in script {
            world.make(*who, step).await;
        }
        world.finish().await;
    });
}

fn scripts() -> impl Strategy<Value = Vec<(usize, Move)>> {
    prop::collection::vec((0..3_usize, moves()), 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(2_000), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn law_1_kept_and_6_idempotent_in_memory(script in scripts()) {
        live(async { Bench::memory() }, &script);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(300), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn law_1_kept_and_6_idempotent_in_sqlite(script in scripts()) {
        live(async { Bench::sqlite() }, &script);
    }
}

#[cfg(feature = "postgres")]
proptest! {
    #![proptest_config(ProptestConfig { cases: cases(40), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn law_1_kept_and_6_idempotent_in_postgres(script in scripts()) {
        live(Bench::nodes(3), &script);
    }
}
