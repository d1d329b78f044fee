//! A helper that reads topics: what is asked in other words is found by it, a topic that the model asks for has its
//! index and its own window, and sorting may be done by another model.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use scrollback::engine::{Event, Finish};
use scrollback::recall::RecallCall;
use scrollback::store::{Keys, Kind, Scope};
use scrollback::strategy::StrategyName;
use scrollback::task::{Model, Question, Said, TaskSettings, Tasks};
use scrollback::{At, Engine, MemoryStore};
use serde_json::Value;

use super::desk::{Desk, run, settings, texts};
use super::kit::{assistant, user};
use super::reach::recall;
use super::sections::Watched;

const FACT: &str = "Bello gets 300 grams of kibble, and his chip is CHIP-4711.";
const ASKED: &str = "How heavily do I feed my pet?";

/// A helper that knows two subjects, the dog Bello and the crane, and that Bello is a pet.
#[derive(Default)]
struct Keeper {
    asked: Mutex<Vec<(&'static str, String)>>,
}

impl Keeper {
    /// What it was asked since it was last looked at, of one task.
    fn asked(&self, task: &str) -> Vec<String> {
        let mut all = self.asked.lock().unwrap();
        let asked = all.drain(..).filter(|(of, _)| *of == task).map(|(_, text)| text);
        asked.collect()
    }
}

/// What stands between the tags of a question: tag, id and text.
fn shown(text: &str) -> Vec<(&str, &str, &str)> {
    let mut all = Vec::new();
    for (head, body) in text.split("\n\n<").filter_map(|piece| piece.trim_start_matches('<').split_once(">\n")) {
        let (tag, attributes) = head.split_once('-').unwrap_or((head, ""));
        let id = attributes.split("id=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("");
        all.push((tag, id, body));
    }
    all
}

fn split(text: &str) -> String {
    let all = shown(text);
    let is_dog = |body: &str| body.contains("Bello");
    let topic = |dog: bool, name: &str| {
        let ids = all.iter().filter(|(tag, _, body)| *tag == "message" && is_dog(body) == dog);
        let ids: Vec<&str> = ids.map(|(_, id, _)| *id).collect();
        let known = all.iter().find(|(tag, _, body)| *tag == "topic" && is_dog(body) == dog);
        let head = known.map_or(format!("new=\"{name}\""), |(_, id, _)| format!("id=\"{id}\""));
        if ids.is_empty() { String::new() } else { format!("<topic {head}>{}</topic>", ids.join(" ")) }
    };
    format!("<split>{}{}</split>", topic(true, "Bello the dog"), topic(false, "Crane papers"))
}

/// The first message that tells what is fed matters, and so does the topic it is in.
fn read(text: &str) -> String {
    let fed = text.split("\n\n").find(|piece| piece.contains("300 grams")).and_then(|piece| piece.split_once("[m"));
    let id = fed.and_then(|(_, rest)| rest.split([' ', ']']).next());
    id.map_or("<reading><relevance>0.1</relevance></reading>".to_owned(), |id| {
        format!("<reading><relevance>0.9</relevance><messages>m{id}</messages></reading>")
    })
}

fn route(text: &str) -> String {
    let dog = shown(text).into_iter().find(|(tag, _, body)| *tag == "topic" && body.contains("Bello"));
    dog.filter(|_| text.contains("pet")).map_or("<none/>".to_owned(), |(_, id, _)| {
        format!("<route><topic id=\"{id}\" relevance=\"high\">the pet</topic></route>")
    })
}

#[async_trait]
impl Model for Keeper {
    async fn ask(&self, question: &Question) -> scrollback::Result<Said> {
        self.asked.lock().unwrap().push((question.task, question.text.clone()));
        let text = match question.task {
            "split" => split(&question.text),
            "read_topic" => read(&question.text),
            "route" => route(&question.text),
            "brief" if question.text.contains("Bello") => {
                "<card><name>Bello the dog</name><brief>Bello.</brief></card>".into()
            }
            _ => "<card><name>Crane papers</name><brief>Papers.</brief></card>".to_owned(),
        };
        Ok(Said { text, input_tokens: 10, output_tokens: 10, ..Said::default() })
    }
}

/// A talk of Bello, long ago, and of the crane ever since.
async fn talk(keeper: Arc<Keeper>) -> (Desk, Vec<Value>) {
    let mut settings = settings(StrategyName::Topics);
    settings.strategies.topics.keep_messages = 4;
    let tasks = Tasks::new(keeper, TaskSettings::default());
    let mut desk = Desk::with_tasks(Arc::new(MemoryStore::default()), settings, 3_000, tasks);
    let mut history = Vec::new();
    desk.turn(&mut history, user(FACT), assistant("Noted of Bello.")).await;
    for i in 0..14 {
        let walk = user(&format!("Bello walks {i} kilometres on Monday."));
        desk.turn(&mut history, walk, assistant(&format!("Bello likes walk {i}."))).await;
    }
    for i in 0..30 {
        let paper = user(&format!("Crane paper {i}: certificate number {} for the lifting hook.", i * 7));
        desk.turn(&mut history, paper, assistant(&"The paper is filed. ".repeat(8))).await;
    }
    (desk, history)
}

fn topic(words: &str) -> RecallCall {
    RecallCall::Topic { words: words.into(), since: None, until: None }
}

#[test]
fn what_is_asked_in_other_words_is_read() {
    run(async {
        let keeper = Arc::new(Keeper::default());
        let (mut desk, mut history) = talk(keeper.clone()).await;
        keeper.asked("");
        let window = desk.turn(&mut history, user(ASKED), assistant("300 grams.")).await;
        let read = keeper.asked("read_topic");
        assert_eq!(read.len(), 2, "both topics are asked");
        assert!(texts(&window).join("\n").contains(FACT), "{}", texts(&window).join("\n"));
    });
}

#[test]
fn a_request_that_comes_again_because_nobody_answered_is_not_read_up_again() {
    run(async {
        let keeper = Arc::new(Keeper::default());
        let (mut desk, mut history) = talk(keeper.clone()).await;
        history.push(user(ASKED));
        keeper.asked("");
        let turn = desk.begin(&history).await.unwrap();
        let shown = texts(turn.window());
        desk.engine.finish(turn, Finish::nothing("gpt-5", At(desk.now))).await.unwrap();
        assert_eq!(keeper.asked("read_topic").len(), 2);
        let again = desk.begin(&history).await.unwrap();
        assert_eq!((texts(again.window()), keeper.asked("read_topic").len()), (shown.clone(), 0));
        desk.finish(again, &assistant("300 grams.")).await;
        // An answer that is wanted anew is given to the same window.
        let anew = desk.begin(&history).await.unwrap();
        assert_eq!((texts(anew.window()), keeper.asked("read_topic").len()), (shown, 0));
    });
}

#[test]
fn a_topic_is_found_by_the_index_and_read_by_its_own_window() {
    run(async {
        let keeper = Arc::new(Keeper::default());
        let (mut desk, mut history) = talk(keeper.clone()).await;
        history.push(user("Let us look something up."));
        let mut turn = desk.begin(&history).await.unwrap();
        keeper.asked("");
        let told = recall(&desk, &mut turn, topic("feeding of the household pet")).await;
        assert!(told.contains(FACT), "{told}");
        let asked = std::mem::take(&mut *keeper.asked.lock().unwrap());
        let tasks: Vec<&str> = asked.iter().map(|(task, _)| *task).collect();
        assert_eq!(tasks, ["route", "read_topic"]);
        // By its id it is read as well, however old what matters is, and the rest of it is named.
        let told = recall(&desk, &mut turn, topic("t0")).await;
        assert!(told.contains(FACT) && told.contains("[29 more of t0: m1–m29. recall_page(index = 1)"), "{told}");
        assert!(recall(&desk, &mut turn, topic("submarine volcano")).await.starts_with("No topic matches"));
        desk.finish(turn, &assistant("Found.")).await;
        let (scope, all) = (Scope::Session(desk.session()), Keys::After(String::new(), 9_999));
        let calls = desk.store.records(&scope, Kind::Ledger, all).await.unwrap();
        let routed = calls.iter().filter(|call| call.body.get().contains("\"route\"")).count();
        assert_eq!(routed, 2, "what found nothing was paid for as well");
    });
}

#[test]
fn days_alone_find_topics_without_a_helper_too() {
    run(async {
        let (desk, history) = talk(Arc::new(Keeper::default())).await;
        let engine = Engine::new(desk.store.clone(), Tasks::offline(), desk.settings.clone());
        let mut desk = Desk { engine, ..desk };
        let mut history = history;
        history.push(user("Let us look something up."));
        let mut turn = desk.begin(&history).await.unwrap();
        let dated = |words: &str, since, until| RecallCall::Topic { words: words.into(), since, until };
        let told = recall(&desk, &mut turn, dated("", Some(At(0)), Some(At(20)))).await;
        assert!(told.contains("[t0]") && !told.contains("Crane paper"), "{told}");
        let none = recall(&desk, &mut turn, dated("the pet", Some(At(i64::MAX - 1)), None)).await;
        assert!(none.starts_with("No topic matches"), "{none}");
        desk.finish(turn, &assistant("Found.")).await;
    });
}

#[test]
fn what_reads_like_an_id_and_is_none_is_looked_for_by_its_words() {
    run(async {
        let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings(StrategyName::Topics), 3_000);
        let mut history = Vec::new();
        desk.turn(&mut history, user("The crane T1000 was sold to Larsen."), assistant("Noted.")).await;
        for i in 0..40 {
            let paper = user(&format!("Paper {i}: certificate number {} for the lifting hook.", i * 7));
            desk.turn(&mut history, paper, assistant(&"The paper is filed. ".repeat(16))).await;
        }
        history.push(user("Let us look something up."));
        let mut turn = desk.begin(&history).await.unwrap();
        assert!(turn.covers().is_some());
        let told = recall(&desk, &mut turn, topic("T1000")).await;
        assert!(told.contains("was sold to Larsen"), "{told}");
        assert!(recall(&desk, &mut turn, topic("t2000")).await.starts_with("No topic matches"));
        desk.finish(turn, &assistant("Found.")).await;
    });
}

/// DESIGN: splitting is done by a strong model, all else by the helper.
#[test]
fn another_model_may_sort() {
    run(async {
        let (usual, strong) = (Arc::new(Keeper::default()), Arc::new(Keeper::default()));
        let mut settings = settings(StrategyName::Topics);
        settings.strategies.topics.keep_messages = 4;
        settings.strategies.topics.split_model = Some("strong".into());
        let tasks = |keeper: &Arc<Keeper>| Tasks::new(keeper.clone(), TaskSettings::default());
        let mut desk = Desk::with_tasks(Arc::new(MemoryStore::default()), settings.clone(), 2_400, tasks(&usual));
        desk.engine = Engine::new(desk.store.clone(), tasks(&usual), settings).with_helper("strong", tasks(&strong));
        let mut history = Vec::new();
        for i in 0..20 {
            let paper = user(&format!("Crane paper {i}: certificate number {} for the lifting hook.", i * 7));
            desk.turn(&mut history, paper, assistant(&"The paper is filed. ".repeat(12))).await;
        }
        let tasks = |keeper: &Keeper| keeper.asked.lock().unwrap().iter().map(|(task, _)| *task).collect::<Vec<_>>();
        let (usual, strong) = (tasks(&usual), tasks(&strong));
        assert!(!strong.is_empty() && strong.iter().all(|task| *task == "split"), "{strong:?}");
        assert!(usual.contains(&"brief") && !usual.contains(&"split"), "{usual:?}");
    });
}

/// A helper to which all is about bread but for what somebody pasted, and which divides in the middle.
#[derive(Default)]
struct Halver {
    /// How often it was asked how to divide a topic.
    asked: AtomicUsize,
    /// How often the one with what was pasted.
    pasted: AtomicUsize,
}

impl Halver {
    fn divided(&self, text: &str) -> String {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.pasted.fetch_add(usize::from(text.contains("Pasted:")), Ordering::Relaxed);
        let ids: Vec<&str> =
            shown(text).into_iter().filter(|(tag, _, _)| *tag == "message").map(|(_, id, _)| id).collect();
        let (early, late) = ids.split_at(ids.len() / 2);
        let topic = |name: &str, ids: &[&str]| format!("<topic new=\"{name}\">{}</topic>", ids.join(" "));
        format!("<split>{}{}</split>", topic("Early bread", early), topic("Late bread", late))
    }

    fn sorted(text: &str) -> String {
        let all = shown(text);
        let number = |id: &str| id[1..].parse::<u32>().unwrap();
        let bread = all.iter().filter(|(tag, _, body)| *tag == "topic" && !body.starts_with("Paste"));
        let oldest = bread.map(|(_, id, _)| *id).min_by_key(|id| number(id));
        let head = oldest.map_or("new=\"Bread\"".to_owned(), |id| format!("id=\"{id}\""));
        let (pasted, said): (Vec<_>, Vec<_>) =
            all.iter().filter(|(tag, _, _)| *tag == "message").partition(|(_, _, body)| body.starts_with("Pasted:"));
        let ids = |some: &[&(&str, &str, &str)]| some.iter().map(|(_, id, _)| *id).collect::<Vec<_>>().join(" ");
        let paste = format!("<topic new=\"Paste\">{}</topic>", ids(&pasted));
        let paste = if pasted.is_empty() { String::new() } else { paste };
        format!("<split>{paste}<topic {head}>{}</topic></split>", ids(&said))
    }
}

#[async_trait]
impl Model for Halver {
    async fn ask(&self, question: &Question) -> scrollback::Result<Said> {
        let text = match question.task {
            "split" => Self::sorted(&question.text),
            "subdivide" => self.divided(&question.text),
            "read_topic" => "<reading><relevance>0.1</relevance></reading>".to_owned(),
            _ => "<card><name>Bread</name><brief>Bread, and how it rises.</brief></card>".to_owned(),
        };
        Ok(Said { text, input_tokens: 10, output_tokens: 10, ..Said::default() })
    }
}

/// Parts are divided again, though their first message names a topic already, and a message that is too large by itself
/// is divided from the rest once: nobody is asked in vain, turn after turn.
#[test]
fn whenever_somebody_is_asked_how_to_divide_a_topic_it_is_divided() {
    run(async {
        let halver = Arc::new(Halver::default());
        let mut settings = settings(StrategyName::Topics);
        (settings.strategies.topics.keep_messages, settings.strategies.topics.topic_tokens) = (4, 400);
        let tasks = Tasks::new(halver.clone(), TaskSettings::default());
        let mut desk = Desk::with_tasks(Arc::new(MemoryStore::default()), settings, 3_000, tasks);
        let mut history = Vec::new();
        let page = format!("Pasted: {}", "the dough rises slowly in the cold pantry of the mill. ".repeat(32));
        desk.turn(&mut history, user(&page), assistant("A long page.")).await;
        for i in 0..60 {
            let question = user(&format!("Loaf {i}: how long does a loaf of this size rise over night in the pantry?"));
            let reply = format!("Loaf {i} rises {i} hours. {}", "It depends on flour and on the weather. ".repeat(5));
            desk.turn(&mut history, question, assistant(&reply)).await;
        }
        let events = desk.engine.events(&desk.session()).await.unwrap();
        let divided = events.iter().filter(|(_, event)| matches!(event, Event::Divided { .. })).count();
        assert!(divided > 3, "{divided}");
        assert_eq!(halver.asked.load(Ordering::Relaxed), divided);
        assert_eq!(halver.pasted.load(Ordering::Relaxed), 1);
    });
}

/// However many messages a divided topic had, each of its parts is read once.
#[test]
fn a_divided_topic_is_shown_without_asking_for_each_of_its_messages() {
    run(async {
        let store = Arc::new(Watched::default());
        let mut settings = settings(StrategyName::Topics);
        (settings.strategies.topics.keep_messages, settings.strategies.topics.topic_tokens) = (4, 1_000);
        let tasks = Tasks::new(Arc::new(Halver::default()), TaskSettings::default());
        let mut desk = Desk::with_tasks(store.clone(), settings, 3_000, tasks);
        let mut history = Vec::new();
        for i in 0..130 {
            desk.turn(&mut history, user(&format!("Loaf {i}?")), assistant("It rises well.")).await;
        }
        let events = desk.engine.events(&desk.session()).await.unwrap();
        assert!(events.iter().any(|(_, event)| event.to_string().starts_with("t0 divided into")));
        history.push(user("Let us go on."));
        let mut turn = desk.begin(&history).await.unwrap();
        let before = store.records.load(Ordering::Relaxed);
        let told = recall(&desk, &mut turn, topic("t0")).await;
        let read = store.records.load(Ordering::Relaxed) - before;
        assert!(told.contains("Loaf") && read < 150, "{read} records were read: {told}");
    });
}
