//! Helpers that answer, babble, hang and refuse.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::ledger::{Hit, Prices};
use crate::task::SpendLimit;
use async_trait::async_trait;

/// Asks for a word in brackets.
struct Word;

impl Task for Word {
    type Answer = String;

    const NAME: &'static str = "word";

    fn question(&self) -> Question {
        Question { task: Self::NAME, text: "A word?".into(), most_tokens: 10, ..Question::default() }
    }

    fn read(&self, reply: &str) -> Result<String, String> {
        let read = |value: &serde_json::Value| value[0].as_str().map(str::to_owned).ok_or("no word".to_owned());
        super::super::reply::json(reply, read)
    }

    fn offline(&self) -> String {
        "offline".into()
    }
}

#[derive(Clone, Copy)]
enum Act {
    Say(&'static str),
    Fail,
    Panic,
}

/// Does what it is told, the last of it for ever, and remembers what it was asked.
struct Scripted {
    acts: Mutex<VecDeque<Act>>,
    asked: Mutex<Vec<String>>,
}

impl Scripted {
    fn new(acts: &[Act]) -> Arc<Self> {
        Arc::new(Self { acts: Mutex::new(acts.iter().copied().collect()), asked: Mutex::default() })
    }

    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

#[async_trait]
impl Model for Scripted {
    async fn ask(&self, question: &Question) -> Result<Said> {
        self.asked.lock().unwrap().push(question.text.clone());
        let act = {
            let mut acts = self.acts.lock().unwrap();
            if acts.len() > 1 { acts.pop_front().unwrap() } else { acts[0] }
        };
        tokio::task::yield_now().await;
        match act {
            Act::Say(text) => Ok(Said { text: text.into(), input_tokens: 7, output_tokens: 3, ..Said::default() }),
            Act::Fail => Err(Error::Model {
                what: "no answer from the helper".into(),
                source: Some(Box::new(std::io::Error::other("connection refused"))),
            }),
            Act::Panic => panic!("scripted"),
        }
    }
}

async fn run(acts: &[Act]) -> Answered<String> {
    Tasks::new(Scripted::new(acts), TaskSettings::default()).run(&Word).await
}

fn outcomes(answered: &Answered<String>) -> Vec<Heard> {
    answered.calls.iter().map(|asked| asked.outcome.clone()).collect()
}

#[tokio::test]
async fn answers_are_taken_plain_or_fenced() {
    for reply in [r#"["tide"]"#, "Sure!\n```json\n[\"tide\",]\n```"] {
        let answered = run(&[Act::Say(reply)]).await;
        assert_eq!((answered.answer.as_str(), &answered.by), ("tide", &By::Helper));
        let (model, cost, outcome) = (String::new(), None, Heard::Answer);
        let asked = Asked { task: "word", model, input_tokens: 7, output_tokens: 3, cost, outcome };
        assert_eq!(answered.calls, [asked]);
    }
}

#[tokio::test]
async fn every_question_tells_its_model_and_what_it_cost() {
    let price = Prices::shipped().of("gpt-5-mini").unwrap().clone();
    let each = price.cost(Hit { plain: 7, ..Hit::default() }, 3);
    let model = Scripted::new(&[Act::Say("no"), Act::Say(r#"["tide"]"#)]);
    let unlimited = Arc::new(Purse::new(SpendLimit::default()));
    let tasks = Tasks::new(model, TaskSettings::default()).named("gpt-5-mini").with_purse(unlimited, Some(price));
    let answered = tasks.run(&Word).await;
    let told: Vec<_> = answered.calls.iter().map(|asked| (asked.model.as_str(), asked.cost)).collect();
    assert_eq!(told, [("gpt-5-mini", Some(each)); 2], "also what could not be used");
}

#[tokio::test]
async fn nonsense_is_asked_again_once_with_the_complaint() {
    let model = Scripted::new(&[Act::Say("[1]"), Act::Say(r#"["tide"]"#)]);
    let answered = Tasks::new(model.clone(), TaskSettings::default()).run(&Word).await;
    assert_eq!((answered.answer.as_str(), &answered.by), ("tide", &By::Helper));
    assert_eq!(outcomes(&answered), [Heard::Nonsense("no word".into()), Heard::Answer]);
    let asked = model.asked.lock().unwrap().clone();
    assert!(asked[1].starts_with("A word?") && asked[1].contains("could not be used: no word."), "{asked:?}");
}

#[tokio::test]
async fn nonsense_twice_is_answered_offline() {
    let answered = run(&[Act::Say("no")]).await;
    assert_eq!(answered.answer, "offline");
    assert_eq!(answered.by, By::Offline(Why::Nonsense("there is no JSON in it".into())));
    assert_eq!(answered.calls.len(), 2);
}

#[tokio::test]
async fn errors_and_panics_are_answered_offline_at_once() {
    for (act, told) in
        [(Act::Fail, "no answer from the helper: connection refused"), (Act::Panic, "the helper panicked")]
    {
        let answered = run(&[act]).await;
        assert_eq!(answered.by, By::Offline(Why::Failed(told.into())));
        assert_eq!(outcomes(&answered), [Heard::Nothing(told.into())]);
    }
    let error_after_nonsense = run(&[Act::Say("no"), Act::Panic]).await;
    assert_eq!(error_after_nonsense.by, By::Offline(Why::Failed("the helper panicked".into())));
}

#[tokio::test]
async fn without_a_helper_everything_is_offline() {
    let answered = Tasks::offline().run(&Word).await;
    assert_eq!((answered.by, answered.calls.len()), (By::Offline(Why::NoHelper), 0));
}

#[tokio::test]
async fn a_failing_helper_is_left_alone_and_tried_again() {
    let model = Scripted::new(&[[Act::Fail; 6].as_slice(), &[Act::Say(r#"["tide"]"#)]].concat());
    let tasks = Tasks::new(model.clone(), TaskSettings::default());
    let mut refused = 0;
    for _ in 0..5 + 20 + 1 + 40 {
        refused += usize::from(tasks.run(&Word).await.by == By::Offline(Why::BreakerOpen));
    }
    assert_eq!((refused, model.count()), (20 + 40, 6));
    for _ in 0..3 {
        assert_eq!(tasks.run(&Word).await.by, By::Helper);
    }
}

/// Never answers.
struct Silent;

#[async_trait]
impl Model for Silent {
    async fn ask(&self, _: &Question) -> Result<Said> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn whoever_watches_is_told_when_it_is_left_alone_and_when_it_is_back() {
    let model = Scripted::new(&[[Act::Fail; 6].as_slice(), &[Act::Say(r#"["tide"]"#)]].concat());
    let (told, heard) = std::sync::mpsc::channel();
    let tell: Watch = Arc::new(move |sign| told.send(format!("{sign:?}")).unwrap());
    let tasks = Tasks::new(model, TaskSettings::default()).watched(tell);
    for _ in 0..5 + 20 + 1 + 40 + 2 {
        tasks.run(&Word).await;
    }
    let signs: Vec<String> = heard.try_iter().collect();
    let answered = signs.iter().filter(|sign| sign.starts_with("Answered")).count();
    let rest: Vec<&String> = signs.iter().filter(|sign| !sign.starts_with("Answered")).collect();
    let left = "LeftAlone(Failed(\"no answer from the helper: connection refused\"))";
    assert_eq!((answered, rest), (68, vec![&left.to_owned(), &"Back".to_owned()]), "once each");
}

#[tokio::test]
async fn a_silent_helper_is_waited_for_a_few_times_and_then_left_alone() {
    let tasks = Tasks::new(Arc::new(Silent), TaskSettings { breaker_after: 3, ..TaskSettings::default() });
    let (mut late, mut refused) = (0, 0);
    for _ in 0..10 {
        let answered = tasks.run_within(&Word, Some(Duration::from_millis(2))).await;
        assert_eq!(answered.answer, "offline");
        late += usize::from(answered.by == By::Offline(Why::Failed("it took too long".into())));
        refused += usize::from(answered.by == By::Offline(Why::BreakerOpen));
    }
    assert_eq!((late, refused), (3, 7));
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_does_not_wait_for_a_seat_without_end() {
    let settings = TaskSettings { at_once: 1, breaker_after: 3, ..TaskSettings::default() };
    let tasks = Arc::new(Tasks::new(Arc::new(Silent), settings));
    let other = tokio::spawn({
        let tasks = tasks.clone();
        async move { tasks.run(&Word).await.answer }
    });
    tokio::task::yield_now().await;
    let begun = Instant::now();
    for _ in 0..10 {
        let answered = tasks.run_within(&Word, Some(Duration::from_secs(1))).await;
        assert_eq!((answered.by, answered.calls.len()), (By::Offline(Why::NoTime), 0), "the helper did not fail");
    }
    assert!(begun.elapsed() <= Duration::from_secs(10), "{:?}", begun.elapsed());
    other.abort();
    assert!(other.await.is_err());
    let answered = tasks.run_within(&Word, Some(Duration::from_secs(1))).await;
    assert_eq!(answered.by, By::Offline(Why::Failed("it took too long".into())), "now there was time");
    assert_eq!(tasks.run_within(&Word, Some(Duration::ZERO)).await.by, By::Offline(Why::NoTime));
}

#[tokio::test]
async fn an_abandoned_trial_is_followed_by_another() {
    let model = Scripted::new(&[Act::Fail]);
    let settings = TaskSettings { breaker_after: 1, pause_tasks: 2, ..TaskSettings::default() };
    let tasks = Tasks::new(model.clone(), settings);
    for _ in 0..3 {
        tasks.run(&Word).await;
    }
    tokio::select! {
        biased;
        _ = tasks.run(&Word) => panic!("the trial should still be under way"),
        () = std::future::ready(()) => {}
    }
    for _ in 0..3 {
        tasks.run(&Word).await;
    }
    assert_eq!(model.count(), 3, "the failure, the abandoned trial, the next trial");
}

/// Counts how many questions are under way.
#[derive(Default)]
struct Busy {
    now: AtomicUsize,
    most: AtomicUsize,
}

#[async_trait]
impl Model for Busy {
    async fn ask(&self, _: &Question) -> Result<Said> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(5)).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        Ok(Said { text: r#"["tide"]"#.into(), ..Said::default() })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_are_asked_at_once_than_may_be() {
    let model = Arc::new(Busy::default());
    let tasks = Arc::new(Tasks::new(model.clone(), TaskSettings { at_once: 3, ..TaskSettings::default() }));
    let all: Vec<_> = (0..24)
        .map(|_| {
            tokio::spawn({
                let tasks = tasks.clone();
                async move { tasks.run(&Word).await.by }
            })
        })
        .collect();
    for one in all {
        assert_eq!(one.await.unwrap(), By::Helper);
    }
    assert_eq!(model.most.load(Ordering::SeqCst), 3);
}
