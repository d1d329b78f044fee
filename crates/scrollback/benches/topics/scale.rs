//! What a turn costs in a conversation of ten million tokens.

use std::sync::Arc;
use std::time::Instant;

use scrollback::engine::{Ask, EngineSettings, Finish};
use scrollback::log::{After, Arrival, History};
use scrollback::store::Durability;
use scrollback::strategy::StrategyName;
use scrollback::task::Tasks;
use scrollback::window::{Budget, Reason};
use scrollback::{At, Engine, Message, SqliteOptions, SqliteStore, Tenant};
use serde_json::json;

const WINDOW: u32 = 200_000;
const SUBJECTS: usize = 120;
/// How many words a subject has of its own.
const OWN: usize = 160;
const STEP_MICROSECONDS: i64 = 60_000_000;
/// Figures are printed so many times on the way.
const ROWS: usize = 10;

/// A source of numbers that is the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// A word that can be spoken, by its number.
pub(crate) fn word(mut number: usize) -> String {
    const SOUNDS: [&str; 24] = [
        "ba", "ke", "lo", "mi", "ru", "sa", "te", "vo", "ni", "du", "fa", "ge", "ho", "ji", "po", "qua", "ri", "su",
        "ta", "we", "xi", "yo", "za", "che",
    ];
    let mut out = String::new();
    for _ in 0..3 {
        out += SOUNDS[number % SOUNDS.len()];
        number /= SOUNDS.len();
    }
    out
}

/// A text on a subject: a third of its words are the subject's own.
fn text(dice: &mut Dice, subject: usize, words: usize) -> String {
    let common = |dice: &mut Dice| word(dice.below(600));
    let own = |dice: &mut Dice| word(600 + subject * OWN + dice.below(OWN));
    let mut out: Vec<String> = Vec::with_capacity(words);
    for i in 0..words {
        let mut next = if dice.below(3) == 0 { own(dice) } else { common(dice) };
        if i % 14 == 13 {
            next.push('.');
        }
        out.push(next);
    }
    out.join(" ")
}

/// The times of some turns.
#[derive(Default)]
struct Row {
    turns: Vec<f64>,
}

pub(crate) fn run(tokens: u64) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(play(tokens));
}

async fn play(tokens: u64) {
    let folder = tempfile::tempdir().unwrap();
    let mut options = SqliteOptions::new(folder.path().join("log.db"));
    options.durability = Durability::Normal;
    let settings = EngineSettings { strategy: StrategyName::Topics, ..EngineSettings::default() };
    let engine = Engine::new(Arc::new(SqliteStore::open(&options).unwrap()), Tasks::offline(), settings);
    println!("| tokens so far | messages | topics active in the window | a turn: median | 95 % | 99 % | memory |");
    println!("|---|---|---|---|---|---|---|");
    let (mut dice, mut said, mut messages) = (Dice(11), 0_u64, 0_usize);
    let (mut row, mut next) = (Row::default(), tokens / ROWS as u64);
    let (mut planted, mut found, mut asked) = (Vec::new(), 0, 0);
    let mut number = 0_i64;
    while said < tokens {
        number += 1;
        let subject = dice.below(SUBJECTS);
        let fact = format!("The code of {} is {}-{number}.", word(600 + subject * OWN), word(dice.below(9_000)));
        let question =
            if number % 25 == 0 && number > 500 { planted.get(dice.below(planted.len())).cloned() } else { None };
        let user = match &question {
            Some((_, question)) => String::clone(question),
            None if number % 10 == 3 => {
                let ask = fact.split(" is ").next().unwrap().replace("The code", "What was the code");
                planted.push((
                    fact.clone(),
                    format!("{ask}, told in {}?", fact.rsplit('-').next().unwrap().trim_end_matches('.')),
                ));
                fact.clone()
            }
            None => text(&mut dice, subject, 60),
        };
        let reply = text(&mut dice, subject, 420);
        let turn = Said { user, reply, at: At(number * STEP_MICROSECONDS) };
        let told = turn.play(&engine, messages == 0).await;
        if let Some((fact, _)) = question {
            asked += 1;
            found += usize::from(told.shown.contains(&fact));
        }
        said += told.tokens;
        messages += 2;
        row.turns.push(told.millis);
        if said >= next {
            row.tell(said, messages, told.topics);
            (row, next) = (Row::default(), next + tokens / ROWS as u64);
        }
    }
    println!("{found} of {asked} facts that were asked for stood in the window word for word");
}

impl Row {
    fn tell(&mut self, said: u64, messages: usize, topics: usize) {
        self.turns.sort_by(f64::total_cmp);
        let at = |share: f64| self.turns[((self.turns.len() - 1) as f64 * share) as usize];
        println!(
            "| {said} | {messages} | {topics} | {:.1} ms | {:.1} ms | {:.1} ms | {} MB |",
            at(0.5),
            at(0.95),
            at(0.99),
            memory()
        );
    }
}

struct Said {
    user: String,
    reply: String,
    at: At,
}

struct Told {
    millis: f64,
    tokens: u64,
    topics: usize,
    shown: String,
}

impl Said {
    async fn play(&self, engine: &Engine, first: bool) -> Told {
        let (tenant, text) = (Tenant::local(), json!([{"role": "user", "content": self.user}]).to_string());
        let history = History::parse(&text).unwrap();
        let arrival = Arrival::new(&tenant, Some("scale"), "gpt-5", self.at);
        let after = (!first).then_some(After::Last("scale"));
        let ask = Ask { after, ..Ask::new(arrival, &history, Budget { tokens: WINDOW }, WINDOW) };
        let begun = Instant::now();
        let turn = engine.begin(ask).await.unwrap();
        let mut spent = begun.elapsed();
        let blocks = turn.window().blocks();
        let quoted = blocks
            .iter()
            .filter(|block| block.reason == Reason::Relevant)
            .map(|block| block.text().to_owned())
            .collect::<String>();
        let topics = quoted.lines().filter(|line| line.starts_with("[t") && line.contains(" · relevance ")).count();
        let shown = blocks.iter().map(scrollback::window::Block::text).collect::<Vec<_>>().join("\n");
        let new = turn.new_tokens();
        let reply = json!({"role": "assistant", "content": self.reply}).to_string();
        let message = Message::from_json(&reply).unwrap();
        let chores = turn.chores();
        let finish = Finish::of(message, "gpt-5", self.at);
        let begun = Instant::now();
        let stored = engine.finish(turn, finish).await.unwrap().unwrap();
        spent += begun.elapsed();
        engine.tidy(chores.at(stored.position().unwrap()), self.at).await.unwrap();
        let tokens = u64::from(new) + u64::from(stored.measure.tokens);
        Told { millis: spent.as_secs_f64() * 1e3, tokens, topics, shown }
    }
}

/// The memory of this process.
fn memory() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4 / 1024
}
