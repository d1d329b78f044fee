//! Facts about pages: counts of recalls, entries that leave the contents page, pages too long to be shown at once.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use scrollback::engine::EngineSettings;
use scrollback::note::{Author, Note};
use scrollback::recall::{Part, RecallCall, RecallTool};
use scrollback::store::{Batch, Expect, Kind, Put, Scope};
use scrollback::strategy::{PageSettings, StrategyName};
use scrollback::task::{Model, Question, Said, TaskSettings, Tasks};
use scrollback::window::{Reason, Window};
use scrollback::{At, Engine, MemoryStore, Store};
use serde_json::{Map, Value, json};

use super::desk::{Desk, contents, raw, run, settings};
use super::kit::{assistant, call, result, user};
use super::reach::{hold, inside, load, page, recall, search};
use super::sections::Watched;

/// Pages fold after every third turn and leave the list as the settings say.
fn desk(pages: &PageSettings) -> Desk {
    let mut settings = settings(StrategyName::Pages);
    settings.strategies.pages = PageSettings { keep_pages: 1, ..pages.clone() };
    Desk::new(Arc::new(MemoryStore::default()), settings, 30_000)
}

/// Talks for some turns, recalling pages on the way, and returns the contents page.
async fn talk(desk: &mut Desk, history: &mut Vec<Value>, turns: usize, recalls: &[(usize, u32)]) -> String {
    for i in 0..turns {
        let number = history.len() / 2;
        history.push(user(&format!("Question number {number} about boats?")));
        let mut turn = desk.begin(history).await.unwrap();
        for (_, index) in recalls.iter().filter(|(at, _)| *at == i) {
            let told = recall(desk, &mut turn, page(*index)).await;
            assert!(told.contains("Question number"), "{told}");
        }
        let reply = assistant(&format!("Answer number {number}."));
        desk.finish(turn, &reply).await;
        history.push(reply);
    }
    history.push(user("And now?"));
    let turn = desk.begin(history).await.unwrap();
    history.pop();
    contents(turn.window()).unwrap()
}

#[test]
fn recalls_are_counted_on_the_contents_page_after_the_next_fold() {
    run(async {
        let mut desk = desk(&PageSettings::default());
        let mut history = Vec::new();
        let text = talk(&mut desk, &mut history, 8, &[(5, 2), (7, 2), (7, 2)]).await;
        assert!(text.contains("[#2]") && text.contains("recalled 2 times, last"), "{text}");
        assert_eq!(text.matches("recalled").count(), 1, "{text}");
        let views = desk.engine.views(&desk.session()).await.unwrap();
        assert_eq!(views[5].view.recalls, ["recall_page(2)"]);
    });
}

/// How often pages were recalled stands before topics in the store, and is read without them.
#[test]
fn a_turn_that_recalls_a_page_reads_no_topics() {
    run(async {
        let store = Arc::new(Watched::default());
        let mut desk = Desk { store: store.clone(), ..desk(&PageSettings::default()) };
        desk.restart();
        let mut history = Vec::new();
        talk(&mut desk, &mut history, 6, &[]).await;
        let (scope, body) = (Scope::Session(desk.session()), raw(&json!({})));
        let topic = |number: u32| {
            let (scope, body, key) = (scope.clone(), body.clone(), format!("topic/{number:010}/000000/0"));
            Put { scope, kind: Kind::Note, key, at: At(0), body, expect: Expect::Absent }
        };
        store.commit(Batch::of_records(desk.session(), (0..1_000).map(topic).collect())).await.unwrap();
        let before = store.records.load(Ordering::Relaxed);
        talk(&mut desk, &mut history, 2, &[(0, 2), (1, 2)]).await;
        let read = store.records.load(Ordering::Relaxed) - before;
        assert!(read < 200, "{read} records were read");
    });
}

#[test]
fn an_entry_nobody_recalls_leaves_the_contents_page() {
    run(async {
        let mut desk = desk(&PageSettings { unrecalled_turns: 5, unchanged_turns: 12, ..PageSettings::default() });
        let mut history = Vec::new();
        let text = talk(&mut desk, &mut history, 11, &[(4, 2)]).await;
        assert!(text.contains("[#2]") && !text.contains("[#0]") && !text.contains("[#4]"), "{text}");
        assert!(text.contains("are not listed here"), "{text}");
        let text = talk(&mut desk, &mut history, 10, &[]).await;
        assert!(!text.contains("[#2]"), "unchanged for twelve turns: {text}");
        history.push(user("What was the first question?"));
        let mut turn = desk.begin(&history).await.unwrap();
        let told = recall(&desk, &mut turn, search("question number 0")).await;
        assert!(told.contains("m0 · page #0"), "{told}");
        assert!(recall(&desk, &mut turn, page(0)).await.contains("Question number 0 about boats?"));
    });
}

#[test]
fn over_its_limit_the_contents_page_drops_the_least_recently_used() {
    run(async {
        let mut desk = desk(&PageSettings { contents_tokens: 400, ..PageSettings::default() });
        let mut history = Vec::new();
        let text = talk(&mut desk, &mut history, 21, &[(6, 2), (12, 2), (18, 2)]).await;
        assert!(text.contains("[#2]") && text.contains("[#36]"), "{text}");
        assert!(!text.contains("[#0]") && !text.contains("[#4]"), "{text}");
        assert!(scrollback::tokens::Vocabulary::O200k.count(&text) <= 400, "{text}");
    });
}

#[test]
fn a_turn_whose_question_has_no_words_is_listed_by_what_was_answered() {
    run(async {
        let mut desk = desk(&PageSettings::default());
        let mut history = Vec::new();
        desk.turn(&mut history, user(""), assistant("The picture shows a lighthouse.")).await;
        desk.turn(&mut history, user(" "), assistant("")).await;
        let text = talk(&mut desk, &mut history, 3, &[]).await;
        assert!(text.contains("[#0] The picture shows a lighthouse."), "{text}");
        assert!(!text.contains("are not listed here"), "{text}");
    });
}

/// Follows the pointers of a page to its end and returns all that was shown.
async fn leaf_through(desk: &Desk, turn: &mut scrollback::engine::Turn, first: u32) -> String {
    let (mut call, mut out) = (page(first), String::new());
    for _ in 0..600 {
        let shown = inside(&recall(desk, turn, call).await);
        out.push_str(&shown);
        let Some((_, pointer)) = shown.rsplit_once("recall_page(index = ") else { return out };
        let (index, from) = pointer.split_once(", from = \"m").unwrap();
        let from = from.split('"').next().unwrap().parse().unwrap();
        call = RecallCall::Page { number: index.parse().unwrap(), from: Some(scrollback::MessageId(from)) };
    }
    panic!("the page goes on forever")
}

#[test]
fn a_page_too_long_to_be_shown_at_once_is_read_to_its_end() {
    run(async {
        let mut desk = Desk::memory(3_000);
        let mut history = vec![user("Do it all.")];
        for i in 0..200 {
            let id = format!("call-{i:04}-abcdef");
            history
                .extend([call(&id, "look", &json!({"row": i})), result(&id, &format!("row zq{i:04}x of the table "))]);
        }
        history.push(assistant(&format!("All done. {}", "It took long, and much was found. ".repeat(300))));
        history.push(assistant("The very end zq9999x."));
        history.extend((0..4).map(|i| user(&format!("Thank you {i}. What was the first row?"))));
        let mut turn = desk.begin(&history).await.unwrap();
        let listed = contents(turn.window()).unwrap();
        let listed = listed.lines().filter_map(|line| line.strip_prefix("[#")?.split_once(']')?.0.parse().ok());
        let mut text = leaf_through(&desk, &mut turn, 0).await;
        for number in listed {
            text += &leaf_through(&desk, &mut turn, number).await;
        }
        for i in (0..200).chain([9999]) {
            assert!(text.contains(&format!("zq{i:04}x")), "row {i}");
        }
    });
}

#[test]
fn however_full_a_window_is_a_recalled_page_is_shown() {
    run(async {
        let mut desk = Desk::new(Arc::new(MemoryStore::default()), EngineSettings::default(), 16_000);
        let sails = "It sails at high tide, and the harbour is deep. ".repeat(55);
        let (mut history, mut made_room) = (Vec::new(), 0);
        for i in 0..80 {
            history.push(user(&format!("Boat {i}. {sails}So ends boat {i}.")));
            let mut turn = desk.begin(&history).await.unwrap();
            if turn.covers().is_some() {
                turn.push_round(vec![raw(&assistant("It asks."))]);
                let before = turn.window().tokens();
                let told = recall(&desk, &mut turn, page(0)).await;
                assert!(told.contains("So ends boat 0."), "turn {i} of {before} tokens: {told}");
                let is_other = turn.window().tokens() < before;
                assert_eq!(turn.rounds_under_it(), usize::from(!is_other), "what was said before stands under another");
                made_room += usize::from(is_other);
            }
            history.push(assistant("Noted."));
            desk.finish(turn, &history[history.len() - 1]).await;
        }
        assert!((1..30).contains(&made_room), "{made_room}");
    });
}

#[test]
fn quotes_make_room_for_what_is_recalled() {
    run(async {
        let settings = EngineSettings { strategy: StrategyName::Topics, ..EngineSettings::default() };
        let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings, 2_000);
        let sails = "It sails at high tide, and the harbour is deep. ".repeat(8);
        let mut history = Vec::new();
        for i in 0..60 {
            let bread = format!("The baker asks {i} pence for a loaf, and nobody at the market pays less for flour.");
            let question = if i < 30 { format!("Boat {i}. {sails}So ends boat {i}.") } else { bread.repeat(4) };
            let question = user(&question);
            desk.turn(&mut history, question, assistant("Noted.")).await;
        }
        history.push(user("Which boat sails at high tide?"));
        let mut turn = desk.begin(&history).await.unwrap();
        let quotes = |window: &Window| window.blocks().iter().filter(|block| block.reason == Reason::Relevant).count();
        let room = turn.window().room();
        assert!(quotes(turn.window()) == 1 && room < 400, "{room}");
        let told = recall(&desk, &mut turn, page(0)).await;
        assert!(told.contains("So ends boat 0."), "{told}");
        assert!(quotes(turn.window()) == 1 && turn.window().room() > 400, "{}", turn.window().room());
    });
}

#[test]
fn a_result_of_one_endless_line_is_loaded_whole_or_refused_but_never_in_circles() {
    run(async {
        for budget in [900, 2_000, 8_000] {
            let mut desk = Desk::memory(budget);
            let rows = "潮汐表第一行记录".repeat(700);
            let mut history =
                vec![user("Read it."), call("call-1-abcdef", "read", &json!({})), result("call-1-abcdef", &rows)];
            history.extend([assistant("Read."), user("What does it say?")]);
            let mut turn = desk.begin(&history).await.unwrap();
            let answer = recall(&desk, &mut turn, hold(scrollback::MessageId(2), Part::Whole)).await;
            if answer.contains("no room") {
                assert!(budget < 8_000, "{answer}");
            } else {
                let text = load(&desk, &mut turn, scrollback::MessageId(2)).await.unwrap();
                assert_eq!(text.replace('\n', ""), rows);
            }
        }
    });
}

#[test]
fn whatever_a_model_asks_the_answers_fit() {
    run(async {
        let mut desk = Desk::memory(2_000);
        let mut history = Vec::new();
        for i in 0..20 {
            let question = user(&format!("Question {i}: {}?", "boats and tides ".repeat(12)));
            desk.turn(&mut history, question, assistant(&format!("Answer {i}."))).await;
        }
        history.push(user("And now?"));
        let long = "boats tides harbour submarine ".repeat(60);
        let asked = [
            search(&long),
            page(0),
            page(2),
            hold(scrollback::MessageId(0), Part::Words(long.clone())),
            search("boats"),
            search(&"无关的词".repeat(200)),
        ];
        for n in [1, 4, asked.len()] {
            let mut turn = desk.begin(&history).await.unwrap();
            for round in 0..2 {
                let calls: Vec<_> = asked[..n].iter().cloned().map(Ok).collect();
                let answers = desk.engine.recall(&mut turn, &calls).await;
                let messages = answers.iter().map(|text| raw(&result("ours", text))).collect();
                turn.push_round(messages);
                assert!(turn.window().fits(), "{n} calls, round {round}: {} tokens", turn.window().tokens());
            }
        }
    });
}

#[test]
fn results_of_other_sessions_are_loaded_only_when_that_is_allowed() {
    run(async {
        let mut desk = Desk::memory(8_000);
        desk.settings.across_sessions = true;
        desk.restart();
        let rows = "the berth list of the northern harbour zq0001x\n".repeat(80);
        let mut history =
            vec![user("Read it."), call("call-1-abcdef", "read", &json!({})), result("call-1-abcdef", &rows)];
        let turn = desk.begin(&history).await.unwrap();
        desk.finish(turn, &assistant("Read.")).await;
        let session = desk.session().id.to_string()[..8].to_owned();
        desk.declared = Some("another");
        history = vec![user("One."), assistant("Two."), user("What berths are there?")];
        let mut turn = desk.begin(&history).await.unwrap();
        let named = format!("h2@{session}");
        let told = recall(&desk, &mut turn, search("zq0001x")).await;
        assert!(told.contains(&named), "{told}");
        let call = RecallCall::read(RecallTool::Hold, &json!({"id": named}).to_string()).unwrap();
        let told = recall(&desk, &mut turn, call.clone()).await;
        assert!(told.contains("the berth list of the northern harbour"), "{told}");
        desk.settings.across_sessions = false;
        desk.restart();
        let mut turn = desk.begin(&history).await.unwrap();
        let told = recall(&desk, &mut turn, call).await;
        assert!(told.starts_with("There is no tool result"), "{told}");
    });
}

/// What the window shows takes no place from what it does not.
#[test]
fn a_search_finds_what_is_folded_however_often_the_window_says_the_same() {
    run(async {
        let mut desk = Desk::memory(16_000);
        let mut history = Vec::new();
        let long = "Of moorings, lamps and tides there is much to tell. ".repeat(12);
        let told = user(&format!("The kelp grows at pier nine. {long}"));
        desk.turn(&mut history, told, assistant("Good to know.")).await;
        for i in 0..8 {
            desk.turn(&mut history, user(&format!("Question {i} about boats?")), assistant("Yes.")).await;
        }
        history.push(user("Look at every row."));
        for i in 0..90 {
            let id = format!("call-{i}-abcdef");
            history.extend([call(&id, "look", &json!({"row": i})), result(&id, &format!("kelp {i}"))]);
        }
        let mut turn = desk.begin(&history).await.unwrap();
        assert!(turn.window().blocks().len() > 150 && turn.covers().is_some());
        let found = recall(&desk, &mut turn, search("kelp")).await;
        assert!(found.contains("m0 · page #0") && found.contains("pier nine"), "{found}");
    });
}

/// What the clerk calls a page.
const CLERKS: &str = "What the clerk calls it";

/// A helper that knows what pages are about.
struct Clerk;

#[async_trait]
impl Model for Clerk {
    async fn ask(&self, question: &Question) -> scrollback::Result<Said> {
        let wanted = question.text.rsplit("Lines are wanted for: ").next().unwrap_or_default();
        let lines: Map<String, Value> =
            wanted.split(", ").map(|id| (id.to_owned(), json!("speaks of boats"))).collect();
        let text = json!({"title": CLERKS, "lines": lines}).to_string();
        Ok(Said { text, input_tokens: 10, output_tokens: 10, ..Said::default() })
    }
}

/// People are told who wrote an entry: what the helper put in its own words quotes nobody.
#[test]
fn an_entry_says_who_wrote_it() {
    for by in [Author::Helper, Author::Offline] {
        run(async {
            let mut desk = desk(&PageSettings::default());
            if by == Author::Helper {
                let tasks = Tasks::new(Arc::new(Clerk), TaskSettings::default());
                desk.engine = Engine::new(desk.store.clone(), tasks, desk.settings.clone());
            }
            let mut history = Vec::new();
            talk(&mut desk, &mut history, 8, &[]).await;
            let views = desk.engine.views(&desk.session()).await.unwrap();
            let fold = desk.engine.fold_of(&desk.session(), &views.last().unwrap().view).await.unwrap();
            // What was still the newest page when the helper was asked is digested without it.
            let is_right = |note: &Note| (note.by == Author::Helper) == (note.title == CLERKS);
            let listed = &fold.listed;
            assert!(listed.iter().all(is_right) && listed.iter().any(|note| note.by == by), "{listed:?}");
        });
    }
}
