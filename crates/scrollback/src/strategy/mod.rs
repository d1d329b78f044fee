//! Strategies: pure state machines that decide what a window holds.
//!
//! A strategy sees a scene and says what it wants: which stretches to put under notes ([`Strategy::fold`]), how to keep those
//! notes ([`Strategy::file`]) and what to show ([`Strategy::fit`]). It has no clock, no store and no model, so its laws can be
//! tested over random logs. Messages too large to show again and again are held, under every strategy (`holds`).

mod baseline;
mod holds;
mod pages;
mod turns;

use std::fmt;
use std::str::FromStr;

pub use holds::HoldSettings;
pub use pages::PageSettings;

use crate::error::{Error, Result};
use crate::ids::Depth;
use crate::note::{Covers, Fold, Note, NoteKind};
use crate::store::Stored;
use crate::task;
use crate::window::{Budget, Window};

/// What a strategy decides upon.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// Standing instructions.
    pub preamble: &'a [Stored],
    /// What went under notes before.
    pub fold: &'a Fold,
    /// The rest of the path, oldest first.
    pub open: &'a [Stored],
    /// What the window may cost.
    pub budget: Budget,
}

impl Scene<'_> {
    /// How many messages the path has.
    fn path(&self) -> u32 {
        self.fold.open().0 + u32::try_from(self.open.len()).expect("fewer messages than 2^32")
    }
}

/// Decides what a window holds.
pub trait Strategy: Send + Sync {
    /// The stretches of the open messages that should go under notes now, from its beginning on; none if it is not time.
    fn fold(&self, scene: &Scene<'_>) -> Vec<Covers>;

    /// The fold with new notes, which cover the beginning of the open messages.
    fn file(&self, scene: &Scene<'_>, notes: Vec<Note>) -> Fold;

    /// The window. An error only if what must be shown does not fit.
    fn fit(&self, scene: &Scene<'_>) -> Result<Window>;
}

/// The strategies there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StrategyName {
    /// Turns become pages, older ones a page of contents.
    Pages,
    /// The oldest messages are dropped; a baseline.
    Truncate,
    /// Everything is shown; a baseline.
    Passthrough,
}

impl StrategyName {
    /// Every strategy.
    pub const ALL: [Self; 3] = [Self::Pages, Self::Truncate, Self::Passthrough];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Truncate => "truncate",
            Self::Passthrough => "passthrough",
        }
    }

    /// The strategy, with its default settings.
    pub fn build(self) -> Box<dyn Strategy> {
        match self {
            Self::Pages => Box::new(pages::Pages::new(PageSettings::default(), HoldSettings::default())),
            Self::Truncate => Box::new(baseline::Truncate),
            Self::Passthrough => Box::new(baseline::Passthrough),
        }
    }
}

impl fmt::Display for StrategyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for StrategyName {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let names = Self::ALL.map(Self::as_str).join(", ");
        let found = Self::ALL.into_iter().find(|strategy| strategy.as_str() == name);
        found.ok_or_else(|| Error::Invalid(format!("“{name}” is no strategy; there are {names}")))
    }
}

/// A path to lay out: its instructions, all of its messages, and what went under notes in earlier turns.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    /// Standing instructions.
    pub preamble: &'a [Stored],
    /// Every message, oldest first.
    pub messages: &'a [Stored],
    /// The fold of the turn before.
    pub fold: &'a Fold,
}

/// Lays out a window: folds as often as the strategy wants to, with offline digests, then fits. Always ends, because every
/// fold covers more of the path.
pub fn lay_out(strategy: &dyn Strategy, path: Path<'_>, budget: Budget) -> Result<(Fold, Window)> {
    let mut fold = path.fold.clone();
    loop {
        let open = &path.messages[fold.open().0 as usize..];
        let scene = Scene { preamble: path.preamble, fold: &fold, open, budget };
        let stretches = strategy.fold(&scene);
        if stretches.is_empty() {
            let window = strategy.fit(&scene)?;
            return Ok((fold, window));
        }
        let notes = page_notes(&scene, &stretches);
        fold = strategy.file(&scene, notes);
    }
}

/// A note for each stretch, numbered on from those before.
fn page_notes(scene: &Scene<'_>, stretches: &[Covers]) -> Vec<Note> {
    let place = |depth: Depth| (depth.0 - scene.fold.open().0) as usize;
    let mut turn = scene.fold.turns;
    let note = |(covers, number): (&Covers, u32)| {
        let messages = &scene.open[place(covers.from)..=place(covers.to)];
        turn += turns::count(messages);
        let task::Digest { title, lines } = task::digest(messages);
        Note { kind: NoteKind::Page, number, covers: *covers, title, lines, turn, recalls: 0, recalled: None }
    };
    stretches.iter().zip(scene.fold.notes..).map(note).collect()
}
