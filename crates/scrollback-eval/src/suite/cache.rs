//! Cache: what it takes to send every call of a conversation, under each strategy and by simpler means.
//!
//! A call is made for every message of the model. Hits and costs follow the rules of providers' caches; recall by tools
//! is not replayed, what is quoted without being asked for is.

mod simple;

use scrollback::Result;
use scrollback::Role;
use scrollback::engine::EngineSettings;
use scrollback::search::gather::Voice;
use scrollback::strategy::StrategyName;

use crate::abreast::abreast;
use crate::dataset::recall::{Dataset, Said, Talk};
use crate::index::Index;
use crate::meter::{Meter, Tariff};
use crate::player::{Line, Room, run};
use crate::replay::{Script, replay};
use crate::table::{Column, Good, Row, Table};

use simple::Simple;

/// The size of the window, unless told otherwise.
pub const LIMIT: u32 = 16_000;
/// The models whose rules are followed, beside a plain one.
const MODELS: [&str; 2] = ["gpt-5", "claude-opus-5"];

/// The strategies, unless told otherwise, baselines first.
pub const STRATEGIES: [StrategyName; 6] = [
    StrategyName::Passthrough,
    StrategyName::Truncate,
    StrategyName::Artifacts,
    StrategyName::Summary,
    StrategyName::Topics,
    StrategyName::Pages,
];

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Simple(Simple),
    Engine(StrategyName),
}

impl Method {
    fn all(strategies: &[StrategyName]) -> Vec<Self> {
        let simple = Simple::ALL.into_iter().map(Self::Simple);
        simple.chain(strategies.iter().copied().map(Self::Engine)).collect()
    }

    fn name(self) -> String {
        match self {
            Self::Simple(simple) => simple.name().to_owned(),
            Self::Engine(strategy) => strategy.to_string(),
        }
    }

    /// Sends every call of a conversation.
    fn send(self, talk: &Prepared<'_>, (settings, limit): (&EngineSettings, u32), meter: &mut Meter) -> Result<()> {
        match self {
            Self::Simple(simple) => {
                simple.send((talk.talk, &talk.index, &talk.script), limit, meter);
                Ok(())
            }
            Self::Engine(strategy) => run(replay(&talk.script, (settings, room(strategy, limit)), meter, |_, _| {})),
        }
    }

    fn is_ours(self) -> bool {
        matches!(self, Self::Engine(strategy) if super::is_ours(strategy))
    }
}

/// A conversation and what is known of it.
struct Prepared<'a> {
    talk: &'a Talk,
    index: Index,
    script: Script,
}

impl<'a> Prepared<'a> {
    fn new(talk: &'a Talk) -> Result<Self> {
        let lines = talk.messages.iter().map(line).collect();
        Ok(Self { talk, index: Index::of(talk), script: run(Script::of_replies(lines))? })
    }
}

/// How many steps measuring a dataset takes.
pub fn steps(dataset: &Dataset, strategies: &[StrategyName]) -> usize {
    dataset.talks.len() * Method::all(strategies).len()
}

/// Measures strategies and what is simpler on a dataset, for a model with a limit; `step` is called [`steps`] times.
/// There is no table for a dataset in which no model speaks.
pub fn measure(
    dataset: &Dataset,
    settings: &EngineSettings,
    strategies: &[StrategyName],
    limit: u32,
    step: impl FnMut(),
) -> Result<Vec<Table>> {
    let tariffs: Vec<Tariff> =
        std::iter::once(Tariff::plain()).chain(MODELS.into_iter().filter_map(Tariff::of_model)).collect();
    let talks: Vec<Prepared<'_>> = dataset.talks.iter().map(Prepared::new).collect::<Result<_>>()?;
    let mut whole = Meter::new(&tariffs);
    for talk in &talks {
        append(&talk.script, &mut whole);
    }
    let methods = Method::all(strategies);
    let send = |method: &Method, step: &dyn Fn()| {
        let mut meter = Meter::new(&tariffs);
        for talk in &talks {
            method.send(talk, (settings, limit), &mut meter)?;
            step();
        }
        Ok(meter)
    };
    let meters = abreast(&methods, send, step)?;
    if whole.calls == 0 {
        return Ok(Vec::new());
    }
    let rows = methods.iter().zip(&meters).map(|(method, meter)| row(*method, meter, &whole)).collect();
    Ok(vec![table(dataset, limit, &tariffs, rows, whole.calls)])
}

/// The room of a strategy; one that sends everything has no limit.
pub(super) fn room(strategy: StrategyName, limit: u32) -> Room {
    if strategy == StrategyName::Passthrough { Room::boundless() } else { Room::of_model(strategy, limit) }
}

/// A message of a conversation, as a client sends it.
pub(crate) fn line(said: &Said) -> Line {
    let role = if said.voice == Voice::Person { Role::User } else { Role::Assistant };
    Line::text(&role, said.name(), &said.text).at(said.at)
}

/// Sends everything with every call.
fn append(script: &Script, meter: &mut Meter) {
    meter.part();
    for call in 0..script.calls.len() {
        meter.wait(script.at(call));
        meter.send(script.before(call));
    }
}

fn row(method: Method, meter: &Meter, whole: &Meter) -> Row {
    let charged = meter.hits().into_iter().zip(meter.costs_against(whole));
    let charged = charged.flat_map(|(hits, cost)| [100.0 * hits, cost]);
    let sizes = [meter.mean(), f64::from(meter.largest), meter.folds_per_100()];
    let refused = crate::meter::ratio(100 * meter.refused, meter.calls);
    let cells = charged.chain(sizes).chain([refused]).map(Some).collect();
    Row { name: method.name(), ours: method.is_ours(), limit: false, cells }
}

fn table(dataset: &Dataset, limit: u32, tariffs: &[Tariff], rows: Vec<Row>, calls: u64) -> Table {
    let column = |name: String, good: Good, digits: usize| Column { name, good, digits };
    let charged = tariffs.iter().flat_map(|Tariff { name, .. }| {
        [column(format!("hits %, {name}"), Good::High, 1), column(format!("cost, {name}"), Good::Low, 2)]
    });
    let sizes = [("mean prompt", Good::Low, 0), ("largest prompt", Good::Low, 0), ("folds per 100", Good::Low, 1)];
    let rest = sizes.into_iter().chain([("refused %", Good::Low, 1)]);
    let rest = rest.map(|(name, good, digits)| column(name.to_owned(), good, digits));
    let about = format!(
        "{calls} calls of {} conversations at a window of {limit} tokens. Hits are the share of prompt tokens that a provider's \
         cache would hold; costs are against sending everything. Plain: a cached token costs 0.1, any other 1.25, and nothing is \
         ever forgotten; of the others it is after a silence, as far as the data tells when something was said.",
        dataset.talks.len()
    );
    Table { title: format!("Cache, {}", dataset.name), about, columns: charged.chain(rest).collect(), rows, plot: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset() -> Dataset {
        let said = |place: usize| {
            let voice = if place.is_multiple_of(2) { Voice::Person } else { Voice::Model };
            let speaker = if place.is_multiple_of(2) { "user" } else { "assistant" }.to_owned();
            let what = ["tide", "moon", "boat", "rope", "gull"][place / 2 % 5];
            let text = format!("About the {what} {place}: {}", "it comes in and goes out again. ".repeat(10));
            let tokens = crate::window::line_tokens(place, &speaker, &text);
            Said {
                voice,
                is_reply: voice == Voice::Model,
                speaker,
                is_named: false,
                at: None,
                session: 0,
                text,
                tokens,
            }
        };
        let talk = Talk { messages: (0..80).map(said).collect(), questions: Vec::new() };
        Dataset { name: "small".into(), talks: vec![talk], ..Dataset::default() }
    }

    #[test]
    fn every_method_is_charged_alike() {
        let (dataset, mut taken) = (dataset(), 0);
        let tables = measure(&dataset, &EngineSettings::default(), &STRATEGIES, 2_500, || taken += 1).unwrap();
        assert_eq!(taken, steps(&dataset, &STRATEGIES));
        let cells = |name: &str| tables[0].rows.iter().find(|row| row.name == name).unwrap().cells.clone();
        let cost = |name: &str| cells(name)[1].unwrap();
        assert!((cost("passthrough") - 1.0).abs() < 1e-9);
        assert!(cost("trim to half when full") < cost("slide"));
        assert!(cost("trim to a fifth when full") < cost("trim to half when full"));
        assert!(cost("trim to half, recall before the newest") < cost("trim to half, recall in front"));
        assert!(cost("pages") < 1.0 && cells("pages")[7].unwrap() <= 2_500.0, "{:?}", cells("pages"));
        let again = measure(&dataset, &EngineSettings::default(), &STRATEGIES, 2_500, || ()).unwrap();
        assert_eq!(tables, again);
    }

    #[test]
    fn where_no_model_speaks_there_is_nothing_to_measure() {
        let mut dataset = dataset();
        dataset.talks[0].messages.iter_mut().for_each(|said| said.voice = Voice::Person);
        assert!(measure(&dataset, &EngineSettings::default(), &STRATEGIES, 2_500, || ()).unwrap().is_empty());
    }
}
