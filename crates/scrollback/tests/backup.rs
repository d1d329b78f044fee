//! What is exported is everything: read back it is the same, branch by branch, with all that stands beside them and all
//! that a person decided.

#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod kit;

use std::sync::Arc;

use kit::{Bench, assistant, call, long, result, system, user};
use proptest::prelude::*;
use scrollback::control::{Change, Controls};
use scrollback::engine::EngineSettings;
use scrollback::export::{self, Whole};
use scrollback::import::{self, Extent, Format};
use scrollback::log::Answer;
use scrollback::store::{Beside, Place, Session, Stored, Which};
use scrollback::strategy::StrategyName;
use scrollback::task::Tasks;
use scrollback::{At, Engine, Log, MemoryStore, Message, MessageId, SessionKey, Store, Tenant};
use serde_json::{Value, json};

const NOW: At = At(1_800_000_000_000_000);

fn reasoning(text: &str) -> Value {
    json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]})
}

fn texts(messages: &[Stored]) -> Vec<String> {
    messages.iter().map(|stored| stored.message().to_text()).collect()
}

async fn sessions(store: &dyn Store) -> Vec<(SessionKey, Session)> {
    let all = store.sessions(&Tenant::local(), Which::Page { skip: 0, limit: 100 }).await.unwrap();
    all.into_iter().rev().map(|session| (SessionKey { tenant: Tenant::local(), id: session.id }, session)).collect()
}

async fn whole(store: &dyn Store, (key, session): (SessionKey, Session)) -> Whole {
    Whole::read(store, &key, session).await.unwrap()
}

/// Everything that a store holds, as it is exported.
async fn exported(store: &dyn Store) -> String {
    let mut text = String::new();
    for one in sessions(store).await {
        text.extend(whole(store, one).await.jsonl());
    }
    text
}

/// Imports a file and says how many messages that added.
async fn imported(log: &Log, file: &str) -> usize {
    let import = import::read(Format::OpenAi, file).unwrap();
    assert_eq!(import.skipped, Vec::<String>::new());
    let mut added = 0;
    for conversation in &import.conversations {
        added += import::store(log, &Tenant::local(), conversation, NOW).await.unwrap().added;
    }
    added
}

fn elsewhere() -> Log {
    Log::new(Arc::new(MemoryStore::default()))
}

/// Whether a file comes back from a store that was empty, and adds nothing to one that has it.
async fn round_trip(bench: &Bench) -> String {
    let file = exported(&*bench.store).await;
    let there = elsewhere();
    imported(&there, &file).await;
    assert_eq!(exported(&**there.store()).await, file);
    for log in [&there, &Log::new(there.store().clone()), &bench.log] {
        assert_eq!(imported(log, &file).await, 0, "{file}");
    }
    assert_eq!(exported(&*bench.store).await, file);
    file
}

fn engine(store: &Arc<dyn Store>) -> Engine {
    Engine::new(store.clone(), Tasks::offline(), EngineSettings::default())
}

#[tokio::test]
async fn reasoning_stands_before_the_answer_it_led_to_and_on_no_other_branch() {
    let bench = Bench::memory();
    let one = bench.send(Some("as"), &[user("q"), reasoning("hm one"), assistant("one")]).await;
    let two = bench.send(Some("as"), &[user("q"), reasoning("hm two"), assistant("two"), reasoning("last")]).await;
    let all = bench.all(&one.session).await;
    let of_one = export::with_beside(bench.path(&one).await, &all);
    assert_eq!(texts(&of_one), ["q", "hm one", "one"]);
    let of_two = export::with_beside(bench.path(&two).await, &all);
    assert_eq!(texts(&of_two), ["q", "hm two", "two", "last"]);
    round_trip(&bench).await;
}

#[tokio::test]
async fn reasoning_that_led_to_nothing_stays_with_the_message_before_it() {
    let bench = Bench::memory();
    let one = bench.send(Some("cut"), &[user("q"), assistant("one"), reasoning("cut off")]).await;
    let two = bench.send(Some("cut"), &[user("another q"), assistant("two")]).await;
    let all = bench.all(&one.session).await;
    assert_eq!(texts(&export::with_beside(bench.path(&one).await, &all)), ["q", "one", "cut off"]);
    assert_eq!(texts(&export::with_beside(bench.path(&two).await, &all)), ["another q", "two"]);
    round_trip(&bench).await;
}

#[tokio::test]
async fn a_second_first_question_has_the_instructions_that_stood_when_it_was_asked() {
    let bench = Bench::memory();
    bench.send(Some("edit"), &[system("Be brief."), user("first wording"), assistant("one")]).await;
    let two = bench.send(Some("edit"), &[system("Be brief."), user("second wording"), assistant("two")]).await;
    let whole = export::with_beside(bench.path(&two).await, &bench.all(&two.session).await);
    assert_eq!(texts(&whole), ["Be brief.", "second wording", "two"]);
    round_trip(&bench).await;
}

#[tokio::test]
async fn instructions_that_changed_come_back() {
    let bench = Bench::memory();
    let mut history = vec![system("You are a pilot."), user("q"), assistant("a")];
    bench.send(Some("harbour"), &history).await;
    history[0] = system("You are a cook.");
    history.push(user("q2"));
    bench.send(Some("harbour"), &history).await;
    let file = round_trip(&bench).await;
    assert!(file.contains("You are a cook."), "{file}");
    let line: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(line["messages"].as_array().unwrap().len(), 4, "what anybody reads is the path as it began");
    assert_eq!(line["scrollback"]["others"][0]["beside"], "preamble");
}

#[tokio::test]
async fn what_a_person_decided_comes_back_by_what_it_is_about() {
    let bench = Bench::memory();
    let said =
        [user("Never paint the hull red."), assistant("Never red."), user("The secret is 417."), assistant("Noted.")];
    let key = bench.send(Some("harbour"), &said).await.session;
    let person = engine(&bench.store);
    for change in [
        Change::Pin(MessageId(1)),
        Change::Exclude(MessageId(2)),
        Change::DropRule("r0.1".into()),
        Change::Strategy(Some(StrategyName::Truncate)),
    ] {
        person.change(&key, &change, At(9)).await.unwrap();
    }
    let file = round_trip(&bench).await;
    // Where another branch came first, everything has other numbers.
    let other = Bench::memory();
    other.send(Some("harbour"), &[user("Good morning."), assistant("Good morning.")]).await;
    imported(&other.log, &file).await;
    let there = engine(&other.store);
    let controls = there.controls(&key).await.unwrap();
    let texts = texts(&other.all(&key).await);
    let said = |ids: &std::collections::BTreeSet<MessageId>| -> Vec<&str> {
        ids.iter().map(|id| texts[id.0 as usize].as_str()).collect()
    };
    assert_eq!((said(&controls.pinned), said(&controls.excluded)), (vec!["Never red."], vec!["The secret is 417."]));
    assert_eq!(controls.dropped_rules, ["r2.1".to_owned()].into());
    assert_eq!(controls.strategy, Some(StrategyName::Truncate));
    // What was decided there since stays.
    there.change(&key, &Change::Include(MessageId(4)), At(10)).await.unwrap();
    let decided = there.change(&key, &Change::Unpin(MessageId(3)), At(11)).await.unwrap();
    assert_eq!(imported(&other.log, &file).await, 0);
    assert_eq!(there.controls(&key).await.unwrap(), decided);
}

#[tokio::test]
async fn branches_cost_what_they_add() {
    let bench = Bench::memory();
    let mut history = Vec::new();
    for turn in 0..40 {
        history.push(user(&long("question", turn)));
        for again in ["first", "again"] {
            let received = bench.send(Some("quad"), &history).await;
            bench.answer(&received, &assistant(&long(again, turn))).await;
        }
        history.push(assistant(&long("again", turn)));
    }
    let file = round_trip(&bench).await;
    assert_eq!((file.lines().count(), file.matches(&long("first", 0)).count()), (1, 1));
    let line: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(line["messages"], Value::Array(history));
    let extent = import::read(Format::OpenAi, &file).unwrap().extent();
    assert_eq!(extent, Extent { conversations: 1, branches: 41, messages: 120 });
    let [one] = &sessions(&*bench.store).await[..] else { panic!("one session") };
    let markdown: String = whole(&*bench.store, one.clone()).await.markdown().collect();
    assert_eq!(markdown.matches("\n## m").count(), 120, "every message once");
    assert!(markdown.contains("\n# Branch 0, after m0\n\n## m1 · assistant"), "{markdown}");
    let chat: Vec<String> = whole(&*bench.store, one.clone()).await.openai().collect();
    assert_eq!(chat.concat().lines().count(), 41, "other tools know no branches");
    let mut only = one.clone();
    only.1.branches.truncate(1);
    let line: String = whole(&*bench.store, only).await.jsonl().collect();
    let extent = import::read(Format::OpenAi, &line).unwrap().extent();
    assert_eq!(extent, Extent { conversations: 1, branches: 1, messages: 2 });
}

#[tokio::test]
async fn line_breaks_between_tokens_come_back() {
    let log = elsewhere();
    let text = "[\n {\n  \"role\": \"system\",\r\n  \"content\": \"be\" },\n {\n  \"role\": \"user\",\r\n  \"content\": \"one\\ntwo\"\n }\n]";
    let import = import::read(Format::OpenAi, text).unwrap();
    import::store(&log, &Tenant::local(), &import.conversations[0], NOW).await.unwrap();
    let line = exported(&**log.store()).await;
    assert_eq!((line.matches('\n').count(), line.contains('\r')), (1, false));
    assert_eq!(imported(&log, &line).await, 0, "instructions are told apart by their bytes");
    let back = import::read(Format::OpenAi, &line).unwrap();
    assert_eq!(
        back.conversations[0].messages[1].0.get(),
        "{\n  \"role\": \"user\",\r\n  \"content\": \"one\\ntwo\"\n }"
    );
}

#[tokio::test]
async fn lines_of_one_branch_each_are_still_read() {
    let said = |answer: &str| json!([user("q"), assistant(answer)]);
    let ours = json!({"session": "00", "declared": "old", "title": "Old", "branch": 0, "times": [NOW, NOW]});
    let line = |answer: &str| json!({"messages": said(answer), "scrollback": ours}).to_string();
    let log = elsewhere();
    assert_eq!(imported(&log, &format!("{}\n{}\n", line("one"), line("two"))).await, 3);
    let listed = sessions(&**log.store()).await;
    assert_eq!((listed.len(), listed[0].1.branches.len(), listed[0].1.title.as_deref()), (1, 2, Some("Old")));
}

#[tokio::test]
async fn places_that_cannot_be_true_are_told_and_the_messages_read_without_them() {
    let places = [
        json!([{"id": "m0"}]),
        json!([{"id": "m0"}, {"id": "m0", "follows": "m0"}]),
        json!([{"id": "m0"}, {"id": "m1", "follows": "m7"}]),
        json!([{"id": "m0", "follows": "m1"}, {"id": "m1"}]),
        json!("m0"),
    ];
    for places in places {
        let line = json!({"messages": [user("q"), assistant("a")], "scrollback": {"declared": "x", "places": places}});
        let import = import::read(Format::OpenAi, &line.to_string()).unwrap();
        assert_eq!((import.conversations[0].messages.len(), import.skipped.len()), (2, 1), "{line}");
        import::store(&elsewhere(), &Tenant::local(), &import.conversations[0], NOW).await.unwrap();
    }
}

/// What happens next to a conversation.
#[derive(Clone, Debug)]
enum Move {
    /// A question and its answer, with reasoning before it or without.
    Ask(bool),
    /// A question, a call and its result.
    CallTool,
    /// A reply of which nothing came but reasoning.
    CutOff,
    /// Other instructions.
    Instruct(usize),
    /// Goes back and asks another question.
    EditAt(usize),
    /// Clears the tool results before a place.
    RedactBefore(usize),
    /// Replaces its oldest messages by a summary.
    CompactBefore(usize),
    /// What a person decides about a message.
    Pin(usize),
    Exclude(usize),
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        5 => any::<bool>().prop_map(Move::Ask),
        3 => Just(Move::CallTool),
        1 => Just(Move::CutOff),
        2 => (0..4_usize).prop_map(Move::Instruct),
        3 => (0..9_usize).prop_map(Move::EditAt),
        2 => (1..9_usize).prop_map(Move::RedactBefore),
        1 => (1..9_usize).prop_map(Move::CompactBefore),
        1 => (0..30_usize).prop_map(Move::Pin),
        1 => (0..30_usize).prop_map(Move::Exclude),
    ]
}

struct World {
    bench: Bench,
    declared: Option<&'static str>,
    instructions: usize,
    history: Vec<Value>,
    said: usize,
}

impl World {
    fn words(&mut self) -> String {
        self.said += 1;
        long("somebody", self.said)
    }

    async fn send(&mut self) -> scrollback::log::Received {
        let head = (self.instructions > 0).then(|| system(&format!("Instructions {}.", self.instructions)));
        let messages: Vec<Value> = head.into_iter().chain(self.history.iter().cloned()).collect();
        self.bench.send(self.declared, &messages).await
    }

    /// Asks, and gets a reply of these messages.
    async fn ask(&mut self, reply: Vec<Value>) {
        let question = user(&self.words());
        self.history.push(question);
        let received = self.send().await;
        let messages = reply.iter().map(|message| Message::from_json(&message.to_string()).unwrap()).collect();
        // A reply of nothing but reasoning is kept, and told.
        let told = Answer { messages, ..Answer::of(Message::from_json("{}").unwrap(), "gpt-5", At(2)) };
        let _ = self.bench.log.reply(&received, told).await;
        self.history.extend(reply);
    }

    fn cut(&self, near: usize) -> usize {
        let questions: Vec<usize> = (0..self.history.len()).filter(|at| self.history[*at]["role"] == "user").collect();
        questions.get(near % questions.len().max(1)).copied().unwrap_or(0)
    }

    async fn make(&mut self, step: &Move) {
        match step {
            Move::Ask(reasons) => {
                let aside = reasons.then(|| reasoning(&self.words()));
                let answer = assistant(&self.words());
                self.ask(aside.into_iter().chain([answer]).collect()).await;
            }
            Move::CallTool => {
                let id = format!("call_{:04x}fK2mQx7Lr", self.said);
                let look = call(&id, "look", &json!({"for": self.words()}));
                self.ask(vec![look]).await;
                let output = format!("result for {}: {}", self.words(), "rows ".repeat(20));
                self.history.push(result(&id, &output));
                self.send().await;
            }
            Move::CutOff => {
                let aside = reasoning(&self.words());
                self.ask(vec![aside]).await;
                self.history.pop();
            }
            Move::Instruct(which) => self.instructions = *which,
            Move::EditAt(near) => {
                self.history.truncate(self.cut(*near));
                let answer = assistant(&self.words());
                self.ask(vec![answer]).await;
            }
            Move::RedactBefore(near) => {
                let at = self.cut(*near);
                for message in self.history[..at].iter_mut().filter(|message| message["role"] == "tool") {
                    message["content"] = "result cleared".into();
                }
                let answer = assistant(&self.words());
                self.ask(vec![answer]).await;
            }
            Move::CompactBefore(near) => {
                let (at, summary) = (self.cut(*near), user(&format!("Summary: {}", self.words())));
                self.history.splice(..at, [summary]);
                let answer = assistant(&self.words());
                self.ask(vec![answer]).await;
            }
            Move::Pin(at) => self.decide(*at, Change::Pin).await,
            Move::Exclude(at) => self.decide(*at, Change::Exclude).await,
        }
    }

    /// Decides something about a message of the newest session.
    async fn decide(&self, at: usize, change: impl Fn(MessageId) -> Change) {
        let Some((key, _)) = sessions(&*self.bench.store).await.pop() else { return };
        let all = self.bench.all(&key).await;
        let path: Vec<&Stored> = all.iter().filter(|stored| stored.position().is_some()).collect();
        let stored = path[at % path.len()];
        engine(&self.bench.store).change(&key, &change(stored.id), At(3)).await.unwrap();
    }
}

/// What the random conversations have had beside their paths.
fn beside(all: &[Stored]) -> Vec<&'static str> {
    let kind = |stored: &Stored| match stored.place {
        Place::Path(_) => None,
        Place::Beside(Beside::Preamble) => Some("preamble"),
        Place::Beside(Beside::Overlay(_)) => Some("overlay"),
        Place::Beside(Beside::Insert) => Some("insert"),
        Place::Beside(Beside::Aside) => Some("aside"),
    };
    all.iter().filter_map(kind).collect()
}

fn play(declared: Option<&'static str>, steps: &[Move]) -> Vec<&'static str> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut world = World { bench: Bench::memory(), declared, instructions: 1, history: Vec::new(), said: 0 };
        for step in steps {
            world.make(step).await;
        }
        // Who says nothing has nothing to export, and an empty file is none.
        if world.said == 0 {
            return Vec::new();
        }
        round_trip(&world.bench).await;
        let mut kinds = Vec::new();
        for (key, _) in sessions(&*world.bench.store).await {
            kinds.extend(beside(&world.bench.all(&key).await));
            let controls = engine(&world.bench.store).controls(&key).await.unwrap();
            kinds.extend((controls != Controls::default()).then_some("controls"));
        }
        kinds
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_export_that_is_imported_is_exported_the_same(
        steps in prop::collection::vec(moves(), 1..24),
        declared in prop::option::of(Just("somebody")),
    ) {
        play(declared, &steps);
    }
}

#[test]
fn the_random_conversations_have_everything_beside_their_paths() {
    let steps = [
        Move::Ask(true),
        Move::CallTool,
        Move::Instruct(2),
        Move::Ask(false),
        Move::RedactBefore(2),
        Move::CutOff,
        Move::EditAt(1),
        Move::CallTool,
        Move::Ask(true),
        Move::Ask(true),
        Move::CompactBefore(3),
        Move::Pin(2),
        Move::Exclude(5),
    ];
    let kinds = play(Some("somebody"), &steps);
    for kind in ["preamble", "overlay", "insert", "aside", "controls"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
}
