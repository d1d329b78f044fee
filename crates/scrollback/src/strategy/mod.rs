//! Strategies: pure state machines that decide what a window holds.
//!
//! A strategy sees a scene and says what it wants: which stretches to put under notes ([`Strategy::fold`]), how to keep
//! those notes ([`Strategy::file`]) and what to show ([`Strategy::fit`]). It has no clock, no store and no model, so
//! its laws can be tested over random logs. Messages too large to show again and again are held, under every strategy
//! (`holds`).

mod artifacts;
mod baseline;
mod holds;
mod keep;
mod leaf;
mod pages;
mod quotes;
mod showing;
mod summary;
pub mod topics;
pub(crate) mod turns;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub use artifacts::ArtifactSettings;
pub(crate) use artifacts::{LISTED, rewrite_artifacts};
pub(crate) use holds::HELD;
pub use holds::{HeldFrom, HoldSettings, Told, placeholder};
pub(crate) use keep::quoted_in;
pub use keep::{KeepLimits, Keeping, Kept, KeptWords, kept};
pub(crate) use leaf::result_of;
pub use leaf::{Asked, Leaf, Placeholder};
pub use pages::PageSettings;
pub(crate) use quotes::in_order;
pub use quotes::{QuoteNeed, QuoteSettings, quotes};
pub use showing::Layout;
pub(crate) use summary::rewrite_summary;
pub use summary::{Mode, ModelSummary, SummarySettings};
pub use topics::TopicSettings;

use std::collections::BTreeSet;

use crate::artifact::Artifact;
use crate::error::{Error, Result};
use crate::ids::{BranchId, MessageId};
use crate::note::{Covers, Fold, Note};
use crate::recall::RecallTool;
use crate::store::Stored;
use crate::summary::Summary;
use crate::task::{self, Digest};
use crate::window::{Budget, Reserved, Window};
use topics::{Excerpt, Topical};

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
    /// What else its request costs.
    pub reserved: Reserved,
    /// Whether a person undid the last fold: the next waits until it must be.
    pub undone: bool,
    /// Whether a person asked for a fold: it need not be time.
    pub forced: bool,
    /// How many of the open messages their client has summed up itself: they are folded, and no others.
    pub summed: usize,
    /// How many tokens of quotes its turn calls for.
    pub called: u32,
    /// The model that is asked.
    pub model: &'a str,
    /// Whether it can recall; if not, results are shown as long as they fit, and no tool is named.
    pub recalls: bool,
    /// What is shown however old it is.
    pub kept: Option<&'a Kept>,
    /// Messages that a person wants left out.
    pub excluded: &'a BTreeSet<MessageId>,
    /// Topics that what is folded was sorted into.
    pub topics: Topical<'a>,
    /// What of all that is folded is quoted.
    pub excerpt: Option<&'a Excerpt>,
    /// What tells all that is folded and about to be, if it is summarised.
    pub summary: Option<&'a Summary>,
    /// What it was worked into, those changed last first.
    pub artifacts: &'a [Filed],
}

/// An artifact and the branch this version of it was made on.
pub type Filed = (BranchId, Arc<Artifact>);

static NOTHING: BTreeSet<MessageId> = BTreeSet::new();

impl<'a> Scene<'a> {
    /// A scene in which nobody asked for anything in particular.
    pub fn new(preamble: &'a [Arc<Stored>], fold: &'a Fold, open: &'a [Arc<Leaf>], budget: Budget) -> Self {
        Self {
            preamble,
            fold,
            open,
            budget,
            reserved: Reserved::default(),
            undone: false,
            forced: false,
            summed: 0,
            called: 0,
            model: "",
            recalls: true,
            kept: None,
            excluded: &NOTHING,
            topics: Topical::default(),
            excerpt: None,
            summary: None,
            artifacts: &[],
        }
    }

    /// How more can be seen, for a model that can recall; one that cannot is told of no tools.
    fn offering<'t>(&self, how: &'t str) -> &'t str {
        if self.recalls { how } else { "" }
    }

    /// The messages of a stretch of the open part.
    pub fn stretch(&self, covers: &Covers) -> &'a [Arc<Leaf>] {
        let place = |depth: crate::ids::Depth| (depth.0 - self.fold.open().0) as usize;
        &self.open[place(covers.from)..=place(covers.to)]
    }

    /// Whether a person wants something of a stretch left out.
    pub(crate) fn leaves_out(&self, covers: &Covers) -> bool {
        !self.excluded.is_empty() && self.stretch(covers).iter().any(|leaf| self.excluded.contains(&leaf.stored.id))
    }

    /// Whether there is to be a fold though it need not be time.
    fn is_asked(&self) -> bool {
        self.forced || self.summed > 0
    }

    /// How many messages the path has.
    fn path(&self) -> u32 {
        self.fold.open().0 + u32::try_from(self.open.len()).expect("fewer messages than 2^32")
    }

    /// A stretch of what its client has summed up, or else of all but the newest open messages, if there is any:
    /// `newest` of them stay open, fewer if they take more than `room`. A turn that takes more than a quarter of the
    /// budget may be parted.
    fn all_but(&self, costs: &[u32], newest: usize, room: u32) -> Vec<Stretch> {
        let pages = || turns::pages(self.open, self.budget.steady_share(25));
        let end = if self.summed > 0 { self.summed } else { turns::end(&pages(), costs, newest, room) };
        let range = 0..end;
        let turn = self.fold.turns + turns::count(&self.open[range.clone()]);
        turns::covers(self.open, &range).map(|covers| Stretch { covers, listed: false, turn }).into_iter().collect()
    }

    /// What is folded once the stretches of some notes are.
    fn covered_with(&self, notes: &[Note]) -> Option<Covers> {
        let (first, last) = (notes.first()?.covers, notes.last()?.covers);
        Some(Covers { last: last.last, to: last.to, ..self.fold.covers.unwrap_or(first) })
    }

    /// Whether quotes that are called for have no room beside so many tokens.
    fn presses(&self, tokens: u32) -> bool {
        self.called > 0 && tokens.saturating_add(self.called) > self.budget.tokens
    }

    /// How much may stay open after a fold: as usual, and where quotes are called for, half of what they and what is
    /// fixed leave, so that the next call need not fold again.
    fn open_room(&self, usual: u32, fixed: u32) -> u32 {
        let beside = self.budget.tokens.saturating_sub(fixed).saturating_sub(self.called) / 2;
        if self.called > 0 { usual.min(beside) } else { usual }
    }

    /// What the open messages cost as they are shown.
    pub(crate) fn open_tokens(&self, holds: &HoldSettings) -> u32 {
        showing::costs(self, holds, showing::Holding::Usual).iter().sum()
    }

    /// What the instructions cost, and what is shown however old it is.
    fn fixed(&self) -> u32 {
        let kept = self.kept.map_or(0, Kept::tokens);
        self.preamble.iter().map(|stored| stored.measure.tokens).sum::<u32>() + kept
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
        let by = crate::note::Author::Offline;
        Note { covers: self.covers, title, lines, turn: self.turn, recalls: 0, recalled: None, by }
    }
}

/// Decides what a window holds.
pub trait Strategy: Send + Sync {
    /// The recall tools that can resolve something under this strategy.
    fn recalls(&self) -> &'static [RecallTool];

    /// The stretches of the open messages that should go under notes now, from its beginning on; none if it is not
    /// time.
    fn fold(&self, scene: &Scene<'_>) -> Vec<Stretch>;

    /// The fold with new notes, which cover the beginning of the open messages; those without a title are not listed.
    /// With none, the same fold with a list as short as this window needs.
    fn file(&self, scene: &Scene<'_>, notes: Vec<Note>) -> Fold;

    /// How much is left for quotes from what is folded.
    fn room(&self, _: &Scene<'_>) -> u32 {
        0
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
    /// Of summaries.
    pub summary: SummarySettings,
    /// Of artifacts.
    pub artifacts: ArtifactSettings,
    /// Of quotes.
    pub quotes: QuoteSettings,
    /// Of holds, under every strategy.
    pub holds: HoldSettings,
}

/// The strategies there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StrategyName {
    /// Turns become pages, older ones a page of contents.
    Pages,
    /// Older messages are sorted by topic; what matters now is quoted.
    Topics,
    /// Older messages are told by a summary.
    Summary,
    /// Older messages are worked into documents.
    Artifacts,
    /// The oldest messages are dropped; a baseline.
    Truncate,
    /// Everything is shown; a baseline.
    Passthrough,
}

impl StrategyName {
    /// Every strategy.
    pub const ALL: [Self; 6] =
        [Self::Pages, Self::Topics, Self::Summary, Self::Artifacts, Self::Truncate, Self::Passthrough];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Topics => "topics",
            Self::Summary => "summary",
            Self::Artifacts => "artifacts",
            Self::Truncate => "truncate",
            Self::Passthrough => "passthrough",
        }
    }

    /// What it does, in a sentence.
    pub fn about(self) -> &'static str {
        match self {
            Self::Pages => "Turns become pages; older ones are listed on a contents page that the model recalls from.",
            Self::Topics => "Older messages are sorted by topic; what matters now is quoted word for word.",
            Self::Summary => {
                "The beginning is told in few words, made ahead of need; every word of it can be expanded."
            }
            Self::Artifacts => "Older messages are worked into documents whose sections name their sources.",
            Self::Truncate => "The oldest messages are dropped. A baseline, for comparison.",
            Self::Passthrough => "Everything is sent as it came. A baseline, for comparison.",
        }
    }

    /// Whether what it folds is told at length, in a summary or in documents, which takes a reading.
    pub(crate) fn writes(self) -> bool {
        match self {
            Self::Summary | Self::Artifacts => true,
            Self::Pages | Self::Topics | Self::Truncate | Self::Passthrough => false,
        }
    }

    /// The strategy.
    pub fn build(self, settings: &StrategySettings) -> Box<dyn Strategy> {
        match self {
            Self::Pages => Box::new(pages::Pages::new(settings.pages.clone(), settings.holds.clone())),
            Self::Topics => Box::new(topics::Topics::new(settings.topics.clone(), settings.holds.clone())),
            Self::Summary => Box::new(summary::Summaries::new(settings.summary.clone(), settings.holds.clone())),
            Self::Artifacts => Box::new(artifacts::Artifacts::new(settings.artifacts.clone(), settings.holds.clone())),
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

/// Lays out a window: folds as often as the strategy wants to, with offline digests, then fits. Always ends, because
/// every fold covers more of the path.
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

/// The digest of a stretch that needs no model. Of what a person wants left out it tells nothing.
pub fn offline(scene: &Scene<'_>, stretch: &Stretch) -> Digest {
    let mut told = if stretch.listed { messages(scene.stretch(&stretch.covers)) } else { Vec::new() };
    told.retain(|stored| !scene.excluded.contains(&stored.id));
    if told.is_empty() { Digest::default() } else { task::digest(&told) }
}

/// The messages of some leaves.
pub(crate) fn messages(leaves: &[Arc<Leaf>]) -> Vec<Stored> {
    leaves.iter().map(|leaf| Stored::clone(&leaf.stored)).collect()
}
