//! Strategies: pure state machines that decide what a window holds.
//!
//! A strategy sees a scene and says what it wants: which stretches to put under notes ([`Strategy::fold`]), how to keep those
//! notes ([`Strategy::file`]) and what to show ([`Strategy::fit`]). It has no clock, no store and no model, so its laws can be
//! tested over random logs. Messages too large to show again and again are held, under every strategy (`holds`).

mod baseline;
mod holds;
mod leaf;
mod pages;
mod showing;
pub mod topics;
pub(crate) mod turns;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub(crate) use holds::HELD;
pub use holds::{HeldFrom, HoldSettings, Told, placeholder};
pub(crate) use leaf::result_of;
pub use leaf::{Asked, Leaf, Placeholder};
pub use pages::PageSettings;
pub use showing::Layout;
pub use topics::TopicSettings;

use crate::error::{Error, Result};
use crate::note::{Covers, Fold, Note};
use crate::recall::RecallTool;
use crate::store::Stored;
use crate::task::{self, Digest};
use crate::window::{Budget, Window};
use topics::Topical;

/// What a strategy decides upon.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// Standing instructions.
    pub preamble: &'a [Arc<Stored>],
    /// What went under notes before.
    pub fold: &'a Fold,
    /// The rest of the path, oldest first.
    pub open: &'a [Arc<Leaf>],
    /// What the window may cost.
    pub budget: Budget,
    /// Whether a person undid the last fold: the next waits until it must be.
    pub undone: bool,
    /// Topics that what is folded was sorted into.
    pub topics: Topical<'a>,
}

impl<'a> Scene<'a> {
    /// The messages of a stretch of the open part.
    pub fn stretch(&self, covers: &Covers) -> &'a [Arc<Leaf>] {
        let place = |depth: crate::ids::Depth| (depth.0 - self.fold.open().0) as usize;
        &self.open[place(covers.from)..=place(covers.to)]
    }

    /// How many messages the path has.
    fn path(&self) -> u32 {
        self.fold.open().0 + u32::try_from(self.open.len()).expect("fewer messages than 2^32")
    }

    /// What the instructions cost.
    fn instructions(&self) -> u32 {
        self.preamble.iter().map(|stored| stored.measure.tokens).sum()
    }
}

/// A stretch of the open messages that should go under a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// What it covers.
    pub covers: Covers,
    /// Whether the model is to be told of it. Otherwise it is found by search alone, and needs no digest.
    pub listed: bool,
    /// The number of its turn on the path.
    pub turn: u32,
}

impl Stretch {
    /// Its note, with what a digest says of it.
    pub fn note(&self, digest: Digest) -> Note {
        let Digest { title, lines } = digest;
        Note { covers: self.covers, title, lines, turn: self.turn, recalls: 0, recalled: None }
    }
}

/// Decides what a window holds.
pub trait Strategy: Send + Sync {
    /// The recall tools that can resolve something under this strategy.
    fn recalls(&self) -> &'static [RecallTool];

    /// The stretches of the open messages that should go under notes now, from its beginning on; none if it is not time.
    fn fold(&self, scene: &Scene<'_>) -> Vec<Stretch>;

    /// The fold with new notes, which cover the beginning of the open messages; those without a title are not listed. With
    /// none, the same fold with a list as short as this window needs.
    fn file(&self, scene: &Scene<'_>, notes: Vec<Note>) -> Fold;

    /// How much an excerpt of topics may take, if what is folded is sorted into topics and these are read before each reply.
    fn excerpt_room(&self, _: &Scene<'_>) -> Option<u32> {
        None
    }

    /// The window. An error only if what must be shown does not fit.
    fn fit(&self, scene: &Scene<'_>) -> Result<Window>;
}

/// The settings of every strategy.
#[derive(Clone, Debug, Default)]
pub struct StrategySettings {
    /// Of pages.
    pub pages: PageSettings,
    /// Of topics.
    pub topics: TopicSettings,
    /// Of holds, under every strategy.
    pub holds: HoldSettings,
}

/// The strategies there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StrategyName {
    /// Turns become pages, older ones a page of contents.
    Pages,
    /// Older messages are sorted by topic; what matters now is quoted.
    Topics,
    /// The oldest messages are dropped; a baseline.
    Truncate,
    /// Everything is shown; a baseline.
    Passthrough,
}

impl StrategyName {
    /// Every strategy.
    pub const ALL: [Self; 4] = [Self::Pages, Self::Topics, Self::Truncate, Self::Passthrough];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Topics => "topics",
            Self::Truncate => "truncate",
            Self::Passthrough => "passthrough",
        }
    }

    /// The strategy.
    pub fn build(self, settings: &StrategySettings) -> Box<dyn Strategy> {
        match self {
            Self::Pages => Box::new(pages::Pages::new(settings.pages.clone(), settings.holds.clone())),
            Self::Topics => Box::new(topics::Topics::new(settings.topics.clone(), settings.holds.clone())),
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

/// Lays out a window: folds as often as the strategy wants to, with offline digests, then fits. Always ends, because every
/// fold covers more of the path.
pub fn lay_out(strategy: &dyn Strategy, scene: Scene<'_>) -> Result<(Fold, Window)> {
    let (mut fold, mut open) = (scene.fold.clone(), scene.open);
    loop {
        let scene = Scene { fold: &fold, open, ..scene };
        let stretches = strategy.fold(&scene);
        if stretches.is_empty() {
            let window = strategy.fit(&scene)?;
            return Ok((fold, window));
        }
        let notes = stretches.iter().map(|stretch| stretch.note(offline(&scene, stretch))).collect();
        let folded = strategy.file(&scene, notes);
        open = &open[(folded.open().0 - fold.open().0) as usize..];
        fold = folded;
    }
}

/// The digest of a stretch that needs no model.
pub fn offline(scene: &Scene<'_>, stretch: &Stretch) -> Digest {
    if stretch.listed { task::digest(&messages(scene.stretch(&stretch.covers))) } else { Digest::default() }
}

/// The messages of some leaves.
pub(crate) fn messages(leaves: &[Arc<Leaf>]) -> Vec<Stored> {
    leaves.iter().map(|leaf| Stored::clone(&leaf.stored)).collect()
}
