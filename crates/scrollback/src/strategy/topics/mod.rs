//! Topics: older messages are sorted by what they are about; of each topic, the model sees what matters now.
//!
//! Nothing happens until the window is nearly full; then all but the newest messages are sorted into topics at once,
//! and an index of the topics stands for them. Before each reply the active topics are read against the open messages,
//! and what matters is quoted word for word just before the turn that is being answered. Which topics are active,
//! `activation` decides; when a person thinks something was forgotten, `cue` notices; `excerpt` puts the quotes
//! together. [`simulate`] runs a written story of scores, [`plot`] draws it.

pub mod activation;
pub mod cue;
mod excerpt;
pub mod plot;
pub mod simulate;
mod step;

use std::sync::Arc;

use activation::ActivationSettings;
pub use excerpt::{Excerpt, Finding, Shown, excerpt};

use super::holds::HoldSettings;
use super::showing::{Holding, Layout, costs, room, usual_or_least};
use super::{Scene, Strategy, Stretch};
use crate::error::Result;
use crate::note::{Covers, Fold, Lists, Note};
use crate::recall::{RecallTool, fence};
use crate::topic::Card;
use crate::window::{Window, grouped, tokens_of};

/// Tokens that the fence around the index and its last line cost.
const FENCE: u32 = 60;
/// Fewer topics than this are no index: in a small window their room is worth more to quotes.
const LEAST_LISTED: usize = 5;

/// An index of so many tokens is no longer than it must be.
const FEW_INDEX: u32 = 300;
/// How a model sees more than the index and what is quoted.
const HOW: &str = "; activate_topic(words), recall_page(index) and search_history(words) bring more";

/// How topics are kept. Shares are hundredths of the budget.
#[derive(Clone, Debug)]
pub struct TopicSettings {
    /// When the window is fuller than this, older messages are sorted into topics. Where a helper reads topics, what it
    /// finds has its share left free.
    pub fold_over: u32,
    /// What stays open takes at most this much.
    pub fold_to: u32,
    /// How many messages stay open, if they fit.
    pub keep_messages: usize,
    /// How much quotes from topics may take.
    pub excerpt_share: u32,
    /// How many tokens the index of topics may take, and at most a twentieth of the budget, or a tenth of a small one.
    pub index_tokens: u32,
    /// Where quotes from topics stand.
    pub layout: Layout,
    /// A topic larger than this is divided.
    pub topic_tokens: u32,
    /// How much of a backlog is sorted at once.
    pub batch_tokens: u32,
    /// The model that sorts messages into topics and divides topics; the helper, if none is named.
    pub split_model: Option<String>,
    /// How topics wake and sleep.
    pub activation: ActivationSettings,
    /// How long a turn waits for the reading of a topic.
    pub deadline_ms: u64,
    /// After so many days asleep a topic may be archived.
    pub archive_days: u32,
    /// More phrases by which people say that something was forgotten.
    pub cues: Vec<String>,
}

impl Default for TopicSettings {
    fn default() -> Self {
        Self {
            fold_over: 90,
            fold_to: 50,
            keep_messages: 20,
            excerpt_share: 30,
            index_tokens: 2_000,
            layout: Layout::Tail,
            topic_tokens: 48_000,
            batch_tokens: 24_000,
            split_model: None,
            activation: ActivationSettings::default(),
            deadline_ms: 8_000,
            archive_days: 7,
            cues: Vec::new(),
        }
    }
}

impl TopicSettings {
    /// The same where a helper reads topics: what it finds has its share of the window left free. Quotes that words
    /// alone find make room for themselves.
    #[must_use]
    pub(crate) fn with_readings(self) -> Self {
        let free = 100_u32.saturating_sub(self.excerpt_share).max(self.fold_to);
        Self { fold_over: self.fold_over.min(free), ..self }
    }
}

/// The topics of a scene.
#[derive(Clone, Copy, Debug, Default)]
pub struct Topical<'a> {
    /// Those worth listing, the most recent first.
    pub cards: &'a [Arc<Card>],
    /// How many there are.
    pub count: u32,
}

/// The strategy.
pub(super) struct Topics {
    settings: TopicSettings,
    holds: HoldSettings,
}

impl Topics {
    pub(super) fn new(settings: TopicSettings, holds: HoldSettings) -> Self {
        Self { settings, holds }
    }

    fn index_limit(&self, scene: &Scene<'_>) -> u32 {
        self.settings.index_tokens.min(scene.budget.share(5).max(FEW_INDEX).min(scene.budget.share(10)))
    }

    fn fold_over(&self, scene: &Scene<'_>) -> u32 {
        if scene.undone { scene.budget.tokens } else { scene.budget.share(self.settings.fold_over) }
    }
}

impl Strategy for Topics {
    fn recalls(&self) -> &'static [RecallTool] {
        &[RecallTool::Topic, RecallTool::Page, RecallTool::Hold, RecallTool::Search]
    }

    fn fold(&self, scene: &Scene<'_>) -> Vec<Stretch> {
        let costs = costs(scene, &self.holds, Holding::Usual);
        let fixed = scene.fixed() + self.index_limit(scene);
        let full = fixed + costs.iter().sum::<u32>();
        if !scene.is_asked() && full <= self.fold_over(scene) && !scene.presses(full) {
            return Vec::new();
        }
        let usual = scene.budget.share(self.settings.fold_to).saturating_sub(fixed);
        let room = scene.open_room(usual, fixed);
        scene.all_but(&costs, self.settings.keep_messages, room)
    }

    fn file(&self, scene: &Scene<'_>, notes: Vec<Note>) -> Fold {
        let limit = self.index_limit(scene);
        let Some((covers, last)) = scene.covered_with(&notes).zip(notes.last()) else {
            let Some(covers) = scene.fold.covers else { return scene.fold.clone() };
            let open: u32 = costs(scene, &self.holds, Holding::All).iter().sum();
            let room = scene.budget.tokens.saturating_sub(scene.fixed()).saturating_sub(open);
            return filed(scene, covers, scene.fold.turns, limit.min(room));
        };
        filed(scene, covers, last.turn, limit)
    }

    fn room(&self, scene: &Scene<'_>) -> u32 {
        room(scene, &self.holds)
    }

    fn fit(&self, scene: &Scene<'_>) -> Result<Window> {
        usual_or_least(scene, &self.holds, self.settings.layout)
    }
}

/// A fold with an index of topics.
fn filed(scene: &Scene<'_>, covers: Covers, turns: u32, limit: u32) -> Fold {
    let (text, listed) = index(&covers, scene, limit);
    let (tokens, lists) = (tokens_of(&text), Lists::Topics(listed));
    Fold { covers: Some(covers), turns, text, tokens, lists, ..Fold::default() }
}

/// The index of topics, as many as there is room for, and how many that is.
fn index(covers: &Covers, scene: &Scene<'_>, limit: u32) -> (String, u32) {
    let (topics, how) = (&scene.topics, scene.offering(HOW));
    let (messages, count) = (grouped(covers.count()), grouped(topics.count));
    let head = format!(
        "The first {messages} messages of this conversation, kept word for word in {count} topics. What matters is quoted before the \
         newest{how}."
    );
    let mut room = limit.saturating_sub(tokens_of(&head) + FENCE);
    let fits = |line: &String| {
        let rest = room.checked_sub(tokens_of(line));
        room = rest.unwrap_or(0);
        rest.is_some()
    };
    let mut listed: Vec<String> = topics.cards.iter().map(|card| entry(card)).take_while(fits).collect();
    if listed.len() < LEAST_LISTED.min(topics.cards.len()) {
        listed.clear();
    }
    let count = u32::try_from(listed.len()).unwrap_or(topics.count);
    let more = topics.count > count && count > 0;
    let more = more.then(|| "The others are not listed here.".to_owned());
    let lines = std::iter::once(head).chain(listed).chain(more);
    (fence("topics", "index", &lines.collect::<Vec<_>>().join("\n")), count)
}

fn entry(card: &Card) -> String {
    let day = |at: crate::ids::At| at.to_string().chars().take(10).collect::<String>();
    let (first, last) = (day(card.first), day(card.last));
    let days = if first == last { first } else { format!("{first} to {last}") };
    format!("[{}] {} · {} messages · {days}", card.id, card.name, grouped(card.messages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_have_room_and_what_stays_open_too() {
        let over = |excerpt_share, fold_over| {
            TopicSettings { fold_over, excerpt_share, ..TopicSettings::default() }.with_readings().fold_over
        };
        assert_eq!([over(30, 90), over(20, 90), over(30, 60)], [70, 80, 60]);
        assert_eq!([over(80, 90), over(200, 90)], [50, 50], "never below fold_to");
    }
}
