//! Sorting what was said into topics without a model: by words, time, and who speaks to whom.
//!
//! `reading` turns a unit into weighed words (kept by `index`) and cues (`phrases`), `people` finds who speaks to whom.
//! `sorting` goes through the units in order and lets topics compete for each; `observing` notes what speaks for a
//! topic, and `signals` says how much. Nothing is drawn at random.

mod index;
mod observing;
mod people;
mod phrases;
mod reading;
mod signals;
mod sorting;
#[cfg(test)]
mod tests;

use crate::ids::At;

/// Something said that stays together: a question with its answer, or one line of many people's talk.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Its words.
    pub text: String,
    /// Who began it, where several people speak.
    pub speaker: Option<String>,
    /// When.
    pub at: At,
}

/// A topic that is there already.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its name and its brief.
    pub text: String,
    /// When it was last spoken of.
    pub last: At,
}

/// Where a unit belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// To a topic that is there, by its place in the list.
    Known(usize),
    /// To a new one, numbered from 0 in the order of their first units.
    Fresh(usize),
}

/// Sorts units, one choice for each.
pub fn partition(units: &[Unit], known: &[Known]) -> Vec<Choice> {
    let topics = sorting::Sorting::new(units, known).run();
    let choice = |topic: usize| topic.checked_sub(known.len()).map_or(Choice::Known(topic), Choice::Fresh);
    topics.into_iter().map(choice).collect()
}

/// Sorts units as they come: each is given its topic before anything is known of the next.
pub fn partition_online(units: &[Unit]) -> Vec<Choice> {
    sorting::Sorting::online(units).into_iter().map(Choice::Fresh).collect()
}
