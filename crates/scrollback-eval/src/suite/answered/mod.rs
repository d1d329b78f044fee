//! The same suites with models: windows are sent, what comes back is judged, and what it took is told.
//!
//! `recall` asks the questions of a dataset, `constraints` asks for something a rule applies to, `calls` sends every
//! call of a conversation for what its provider reports. What was not finished when the money ran out is left out, and
//! said to be.

pub mod calls;
pub mod constraints;
mod oracle;
pub mod recall;

use scrollback::engine::EngineSettings;
use scrollback::strategy::StrategyName;
use scrollback::task::Tasks;

use crate::meter::ratio;
use crate::models::{Asking, Bill, Models, Who};
use crate::player::{Player, Room};
use crate::suite::is_ours;
use crate::table::{Column, Good, Table};

/// What is measured, and how much of it.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The engine's settings.
    pub settings: &'a EngineSettings,
    /// How windows are laid out.
    pub strategies: &'a [StrategyName],
    /// The sizes of the windows.
    pub limits: &'a [u32],
    /// Of what there is, only so much, spread evenly over all of it.
    pub sample: Option<usize>,
    /// Whether the model is also shown nothing but what answers: how well it and its judge do at best.
    pub with_oracle: bool,
}

impl Plan<'_> {
    /// Every strategy with every size.
    pub fn pairs(&self) -> Vec<(StrategyName, u32)> {
        self.strategies.iter().flat_map(|name| self.limits.iter().map(|limit| (*name, *limit))).collect()
    }

    /// Which of so many things are taken.
    pub fn taken(&self, all: usize) -> Vec<usize> {
        match self.sample.filter(|sample| *sample < all) {
            Some(sample) => (0..sample).map(|i| i * all / sample).collect(),
            None => (0..all).collect(),
        }
    }

    /// An engine with the helper, if there is one.
    fn player(&self, room: Room, helper: Option<Asking>) -> scrollback::Result<(Player, Helped)> {
        let settings = EngineSettings { strategy: room.strategy, ..self.settings.clone() };
        let (tasks, tab) = helper.map_or_else(|| (Tasks::offline(), None), |asking| (asking.tasks, Some(asking.tab)));
        Ok((Player::with_tasks(settings, tasks)?, Helped(tab)))
    }
}

/// What a helper took.
struct Helped(Option<std::sync::Arc<crate::models::Tab>>);

impl Helped {
    fn bill(&self) -> Bill {
        self.0.as_ref().map(|tab| tab.bill()).unwrap_or_default()
    }
}

/// What was measured with models.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The tables.
    pub tables: Vec<Table>,
    /// Finer ones.
    pub details: Vec<Table>,
    /// Whether nothing is missing.
    pub is_whole: bool,
}

/// Who took part, for people.
fn cast(models: &dyn Models) -> String {
    let name = |who| models.name(who).map(|name| format!("“{name}”"));
    let main = name(Who::Main).unwrap_or_default();
    let helper = name(Who::Helper).map_or_else(|| "no helper".to_owned(), |name| format!("helper {name}"));
    format!("Model {main}, {helper}, judge {}.", name(Who::Judge).unwrap_or_else(|| "none".into()))
}

/// What is missing, for people.
fn missing(models: &dyn Models, what: &str, (done, all): (usize, usize)) -> String {
    match models.halted() {
        Some(why) if done < all => format!(" Not finished, because {why}: {done} of {all} {what}."),
        _ => format!(" {all} {what}."),
    }
}

/// A column.
fn column(name: &str, good: Good, digits: usize) -> Column {
    Column { name: name.to_owned(), good, digits }
}

/// What prompts and calls took: columns, and cells for them.
fn cost_columns() -> [Column; 3] {
    [column("prompt, mean", Good::Low, 0), column("cached %", Good::High, 1), column("model $", Good::Low, 4)]
}

fn cost_cells(bill: Bill) -> [Option<f64>; 3] {
    let told = bill.calls - bill.untold;
    [
        (told > 0).then(|| ratio(bill.input, told)),
        (bill.input > 0).then(|| 100.0 * ratio(bill.read, bill.input)),
        Some(bill.cost.dollars()),
    ]
}

/// A share in percent; none of nothing.
fn percent(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| 100.0 * ratio(part as u64, whole as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_over_all() {
        let settings = EngineSettings::default();
        let plan = |sample| Plan { settings: &settings, strategies: &[], limits: &[], sample, with_oracle: false };
        assert_eq!(plan(Some(3)).taken(9), [0, 3, 6]);
        assert_eq!((plan(None).taken(2), plan(Some(5)).taken(2)), (vec![0, 1], vec![0, 1]));
    }
}
