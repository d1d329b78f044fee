//! Tools: what it takes to send every call of an agent, whose tools return a great deal, and what the model misses of
//! it.
//!
//! A fault is a call whose recorded output quotes eight words in a row that were said before, but stand nowhere in the
//! window: what the model would have had to recall first.

mod faults;
mod simple;

use scrollback::Result;
use scrollback::engine::EngineSettings;
use scrollback::store::Stored;
use scrollback::strategy::StrategyName;
use scrollback::window::{Body, Window};
use scrollback::{Message, Role};
use serde_json::json;

use crate::abreast::abreast;
use crate::dataset::traces::{Dataset, Step, Thread};
use crate::meter::{Meter, Tariff, ratio};
use crate::player::{Line, Room, run};
use crate::replay::{Script, replay};
use crate::table::{Column, Good, Row, Table};

use faults::Words;
use simple::Simple;

/// The sizes of the windows, unless told otherwise.
pub const LIMITS: [u32; 2] = [200_000, 32_000];

/// The strategies, unless told otherwise, the baseline first.
pub const STRATEGIES: [StrategyName; 5] = super::constraints::STRATEGIES;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Simple(Simple),
    Engine(StrategyName, u32),
}

impl Method {
    fn all(strategies: &[StrategyName], limits: &[u32]) -> Vec<Self> {
        let engine =
            strategies.iter().copied().flat_map(|name| limits.iter().map(move |limit| Self::Engine(name, *limit)));
        Simple::all(limits).into_iter().map(Self::Simple).chain(engine).collect()
    }

    fn name(self) -> String {
        match self {
            Self::Simple(simple) => simple.name(),
            Self::Engine(strategy, limit) => format!("{strategy}, {limit}"),
        }
    }

    /// Sends every call of a thread.
    fn send(self, of: &Prepared<'_>, settings: &EngineSettings, tally: &mut Tally) -> Result<()> {
        match self {
            Self::Simple(simple) => {
                simple.send((of.thread, &of.script, &of.words), tally);
                Ok(())
            }
            Self::Engine(strategy, limit) => {
                let Tally { meter, faults } = tally;
                let seen = |call: usize, window: Option<&Window>| {
                    *faults += u64::from(window.is_some_and(|window| of.misses(call, window)));
                };
                run(replay(&of.script, (settings, Room::of_model(strategy, limit)), meter, seen))
            }
        }
    }

    fn is_ours(self) -> bool {
        matches!(self, Self::Engine(strategy, _) if super::is_ours(strategy))
    }
}

/// What one way of sending took.
struct Tally {
    meter: Meter,
    faults: u64,
}

/// A thread and what is known of it.
struct Prepared<'a> {
    thread: &'a Thread,
    script: Script,
    words: Words,
}

impl<'a> Prepared<'a> {
    fn new(thread: &'a Thread) -> Result<Self> {
        let calls = thread.calls.iter().map(|call| call.shown).collect();
        Ok(Self { thread, script: run(Script::new(lines(&thread.steps), calls))?, words: Words::of(thread) })
    }

    /// Whether the output of a call quotes what its window does not hold.
    fn misses(&self, call: usize, window: &Window) -> bool {
        // Instructions stand before the path and are always shown.
        let heads = self.script.lines.iter().take_while(|line| line.message.role().instructs()).count();
        let place = |stored: &Stored| stored.position().map_or(0, |position| position.depth.0 as usize + heads);
        let mut whole = vec![false; self.script.lines.len()];
        let mut notes = Vec::new();
        for block in window.blocks() {
            match &block.body {
                Body::Original(stored) | Body::Whole(stored, _) => {
                    whole.get_mut(place(stored)).into_iter().for_each(|shown| *shown = true);
                }
                Body::Held(..) | Body::Note(_) | Body::Round(_) | Body::Nothing(_) => notes.push(block.text()),
            }
        }
        self.words.misses(call, |place| whole[place], &notes)
    }
}

/// How many steps measuring a dataset takes.
pub fn steps(dataset: &Dataset, strategies: &[StrategyName], limits: &[u32]) -> usize {
    dataset.threads.len() * Method::all(strategies, limits).len()
}

/// Measures strategies and what is simpler on a dataset, for models with these limits; `step` is called [`steps`]
/// times.
pub fn measure(
    dataset: &Dataset,
    settings: &EngineSettings,
    strategies: &[StrategyName],
    limits: &[u32],
    step: impl FnMut(),
) -> Result<Vec<Table>> {
    let threads: Vec<Prepared<'_>> = dataset.threads.iter().map(Prepared::new).collect::<Result<_>>()?;
    let methods = Method::all(strategies, limits);
    let send = |method: &Method, step: &dyn Fn()| {
        let mut tally = Tally { meter: Meter::new(&[Tariff::plain()]), faults: 0 };
        for thread in &threads {
            method.send(thread, settings, &mut tally)?;
            step();
        }
        Ok(tally)
    };
    let tallies = abreast(&methods, send, step)?;
    let whole = &tallies[0].meter;
    let rows = methods.iter().zip(&tallies).map(|(method, tally)| row(*method, tally, whole)).collect();
    Ok(vec![table(dataset, rows, whole.calls)])
}

/// An agent's conversation, as a client sends it.
pub(super) fn lines(steps: &[Step]) -> Vec<Line> {
    let (mut asked, mut returned) = (0_usize, 0_usize);
    let line = |step: &Step| match step {
        Step::Instructed(text) => Line::text(&Role::System, None, text),
        Step::Asked(text) => Line::text(&Role::User, None, text),
        Step::Answered { text, tools } if tools.is_empty() => Line::text(&Role::Assistant, None, text),
        Step::Answered { text, tools } => {
            let calls = (asked..).zip(tools).map(|(number, (name, told))| {
                let arguments = json!({"input": told}).to_string();
                json!({"id": format!("call_{number}"), "type": "function", "function": {"name": name, "arguments": arguments}})
            });
            let calls: Vec<_> = calls.collect();
            asked += tools.len();
            written(&json!({"role": "assistant", "content": text, "tool_calls": calls}))
        }
        Step::Returned(text) => {
            returned += 1;
            written(&json!({"role": "tool", "tool_call_id": format!("call_{}", returned - 1), "content": text}))
        }
    };
    steps.iter().map(line).collect()
}

fn written(json: &serde_json::Value) -> Line {
    let raw = serde_json::value::to_raw_value(json).expect("a JSON value is valid JSON");
    Line::new(Message::new(raw))
}

fn row(method: Method, tally: &Tally, whole: &Meter) -> Row {
    let meter = &tally.meter;
    let cells = [
        100.0 - 100.0 * ratio(meter.tokens, whole.tokens),
        100.0 * meter.hits()[0],
        meter.costs_against(whole)[0],
        meter.mean(),
        f64::from(meter.largest),
        meter.folds_per_100(),
        100.0 * ratio(tally.faults, meter.calls),
        100.0 * ratio(meter.refused, meter.calls),
    ];
    Row { name: method.name(), ours: method.is_ours(), limit: false, cells: cells.into_iter().map(Some).collect() }
}

fn table(dataset: &Dataset, rows: Vec<Row>, calls: u64) -> Table {
    let columns = [
        ("tokens saved %", Good::High, 1),
        ("hits %", Good::High, 1),
        ("cost", Good::Low, 2),
        ("mean prompt", Good::Low, 0),
        ("largest prompt", Good::Low, 0),
        ("folds per 100", Good::Low, 1),
        ("faults %", Good::Low, 1),
        ("refused %", Good::Low, 1),
    ];
    let column = |(name, good, digits): (&str, Good, usize)| Column { name: name.to_owned(), good, digits };
    let about = format!(
        "{calls} calls of {} conversations. What is saved and what it costs is against sending everything; a cached token costs 0.1, \
         any other 1.25. A fault is a call that quotes what its window does not hold.",
        dataset.threads.len()
    );
    Table {
        title: format!("Tools, {}", dataset.name),
        about,
        columns: columns.into_iter().map(column).collect(),
        rows,
        plot: None,
    }
}

/// A thread of the suite's own, for its tests: a result of many words, and a call that quotes it long after.
#[cfg(test)]
fn sample() -> Thread {
    use crate::dataset::traces::Called;
    let secret = "the seventh valve of the old boiler leaks when it is cold";
    let mut steps = vec![Step::Instructed("Be brief.".into()), Step::Asked("Look at the plant.".into())];
    for i in 0..40 {
        steps.push(Step::Answered { text: format!("Step {i}."), tools: vec![("read".into(), format!("part {i}"))] });
        let told = if i == 1 { secret } else { "nothing to see here" };
        steps.push(Step::Returned(format!("{told} {}", format!("line {i} is dull ").repeat(60))));
    }
    let is_call = |(_, step): &(usize, &Step)| matches!(step, Step::Answered { .. });
    let called = |(shown, step): (usize, &Step)| Called { shown, output: step.text() };
    let mut calls: Vec<Called> = steps.iter().enumerate().filter(is_call).map(called).collect();
    calls.push(Called { shown: steps.len(), output: format!("I found that {secret}.") });
    Thread { steps, calls }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_costs_and_is_missed() {
        let dataset = Dataset { name: "small".into(), threads: vec![sample()] };
        let (mut taken, settings, limits) = (0, EngineSettings::default(), [100_000, 4_000]);
        let strategies = [StrategyName::Truncate, StrategyName::Pages];
        let tables = measure(&dataset, &settings, &strategies, &limits, || taken += 1).unwrap();
        assert_eq!(taken, steps(&dataset, &strategies, &limits));
        let cells = |name: &str| {
            let row = tables[0].rows.iter().find(|row| row.name == name);
            row.unwrap_or_else(|| panic!("{name} is missing"))
                .cells
                .iter()
                .map(|cell| cell.unwrap())
                .collect::<Vec<_>>()
        };
        let (wide, narrow) = (cells("pages, 100000"), cells("pages, 4000"));
        assert!(wide[0] < 1.0 && wide[6] < 0.1, "{wide:?}");
        assert!(narrow[0] > 50.0 && narrow[4] <= 4_000.0 && narrow[6] > 0.0, "{narrow:?}");
        assert!((cells("append everything")[2] - 1.0).abs() < 1e-9);
        let again = measure(&dataset, &settings, &strategies, &limits, || ()).unwrap();
        assert_eq!(tables, again);
    }
}
