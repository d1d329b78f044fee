//! Pages: each turn is a page; the newest are shown whole, older ones as entries of a contents page.
//!
//! Folding is rare and large: nothing happens until the window is nearly full or twice as many pages are open as are
//! kept, then all but the newest go under notes at once. In between, each window begins with the one before it. An
//! entry leaves the contents page when nobody recalls it for long, or when the page grows too large, the least recently
//! used first; its page is then out of the model's sight but still found by search.

use std::ops::Range;

use super::holds::HoldSettings;
use super::showing::{Holding, Layout, costs, room, usual_or_least};
use super::{Scene, Strategy, Stretch, turns};
use crate::error::Result;
use crate::note::{Covers, Fold, Note};
use crate::recall::{RecallTool, fence};
use crate::window::{Window, fitting, grouped, tokens_of};

/// A contents page of so many tokens is no longer than it must be.
const FEW_CONTENTS: u32 = 2_000;
/// How a model sees more than the contents page.
const HOW: &str = " recall_page(index) shows a page whole; search_history(words) finds any message.";

/// How pages are kept. Shares are hundredths of the budget.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PageSettings {
    /// How many pages stay open after a fold, if they fit.
    pub keep_pages: usize,
    /// When the window is fuller than this, it is folded.
    pub fold_over: u32,
    /// Pages that stay open after a fold take at most this much, contents and instructions not counted.
    pub fold_to: u32,
    /// A turn that is larger than this is several pages.
    pub page_share: u32,
    /// How many tokens the contents page may take, and at most an eighth of the budget, or a quarter of a small one.
    pub contents_tokens: u32,
    /// An entry that was never recalled leaves the contents page after so many turns.
    pub unrecalled_turns: u32,
    /// An entry whose count has not changed leaves it after so many turns.
    pub unchanged_turns: u32,
}

impl Default for PageSettings {
    fn default() -> Self {
        Self {
            keep_pages: 10,
            fold_over: 90,
            fold_to: 20,
            page_share: 25,
            contents_tokens: 4_000,
            unrecalled_turns: 30,
            unchanged_turns: 60,
        }
    }
}

/// The strategy.
pub(super) struct Pages {
    settings: PageSettings,
    holds: HoldSettings,
}

impl Pages {
    pub(super) fn new(settings: PageSettings, holds: HoldSettings) -> Self {
        Self { settings, holds }
    }

    fn contents_limit(&self, scene: &Scene<'_>) -> u32 {
        let share = scene.budget.share(12).max(FEW_CONTENTS).min(scene.budget.share(25));
        self.settings.contents_tokens.min(share)
    }

    /// How full a window must be to be folded.
    fn fold_over(&self, scene: &Scene<'_>) -> u32 {
        if scene.undone { scene.budget.tokens } else { scene.budget.share(self.settings.fold_over) }
    }

    /// The pages that are to be folded now: all but the newest, once it is time.
    fn due(&self, scene: &Scene<'_>, mut pages: Vec<Range<usize>>) -> Vec<Range<usize>> {
        let costs = costs(scene, &self.holds, Holding::Usual);
        let fixed = scene.fixed() + self.contents_limit(scene);
        let tokens = fixed + costs.iter().sum::<u32>();
        let full = tokens > self.fold_over(scene) || scene.presses(tokens);
        let many = !scene.undone && pages.len() > 2 * self.settings.keep_pages;
        if !full && !many && !scene.forced {
            return Vec::new();
        }
        let cost_of = |kept: usize| costs[pages[pages.len() - kept].start..].iter().sum::<u32>();
        // However much is fixed, the next call need not fold again.
        let half = self.fold_over(scene).saturating_sub(fixed) / 2;
        let room = scene.open_room(scene.budget.share(self.settings.fold_to).min(half), fixed);
        let most = self.settings.keep_pages.min(pages.len());
        let kept = (1..=most).rev().find(|kept| cost_of(*kept) <= room).unwrap_or(1).min(pages.len());
        pages.truncate(pages.len() - kept);
        pages
    }

    /// Drops entries nobody asks for, then the least recently used ones until the page fits.
    fn trimmed(&self, listed: Vec<Note>, turn: u32, limit: u32) -> Vec<Note> {
        let idle = |note: &Note| turn.saturating_sub(note.touched());
        let wanted = |note: &Note| {
            let most = if note.recalls == 0 { self.settings.unrecalled_turns } else { self.settings.unchanged_turns };
            !note.title.is_empty() && idle(note) <= most
        };
        let mut kept: Vec<Note> = listed.into_iter().filter(wanted).collect();
        kept.sort_by_key(|note| std::cmp::Reverse((note.touched(), note.covers.from)));
        let room = limit.saturating_sub(tokens_of(&contents(HOW, &[], u32::MAX, turn)));
        kept.truncate(fitting(kept.iter().map(|note| tokens_of(&entry(note, turn))), room));
        kept.sort_by_key(|note| note.covers.from);
        kept
    }

    /// The fold with a list that leaves room for what is open.
    fn relisted(&self, scene: &Scene<'_>) -> Fold {
        let Some(covers) = scene.fold.covers else { return scene.fold.clone() };
        let open: u32 = costs(scene, &self.holds, Holding::All).iter().sum();
        let room = scene.budget.tokens.saturating_sub(scene.fixed()).saturating_sub(open);
        let (turns, listed) = (scene.fold.turns, scene.fold.listed.clone());
        listing(scene, covers, turns, self.trimmed(listed, turns, self.contents_limit(scene).min(room)))
    }
}

impl Strategy for Pages {
    fn recalls(&self) -> &'static [RecallTool] {
        &[RecallTool::Page, RecallTool::Hold, RecallTool::Search]
    }

    fn fold(&self, scene: &Scene<'_>) -> Vec<Stretch> {
        let most = scene.budget.steady_share(self.settings.page_share);
        let pages = match scene.summed {
            0 => self.due(scene, turns::pages(scene.open, most)),
            summed => turns::pages(&scene.open[..summed], most),
        };
        let newest = scene.fold.turns + turns::count(scene.open);
        let mut turn = scene.fold.turns;
        let stretch = |page: &Range<usize>| {
            turn += turns::count(&scene.open[page.clone()]);
            let listed = newest - turn <= self.settings.unrecalled_turns;
            Some(Stretch { covers: turns::covers(scene.open, page)?, listed, turn })
        };
        pages.iter().filter_map(stretch).collect()
    }

    fn file(&self, scene: &Scene<'_>, notes: Vec<Note>) -> Fold {
        let Some(covers) = scene.covered_with(&notes) else { return self.relisted(scene) };
        let turns = notes.last().map_or(scene.fold.turns, |note| note.turn);
        let listed = scene.fold.listed.iter().cloned().chain(notes).collect();
        listing(scene, covers, turns, self.trimmed(listed, turns, self.contents_limit(scene)))
    }

    fn room(&self, scene: &Scene<'_>) -> u32 {
        room(scene, &self.holds)
    }

    fn fit(&self, scene: &Scene<'_>) -> Result<Window> {
        usual_or_least(scene, &self.holds, Layout::Tail)
    }
}

/// A fold with these notes listed.
fn listing(scene: &Scene<'_>, covers: Covers, turns: u32, listed: Vec<Note>) -> Fold {
    let mut fold = Fold { covers: Some(covers), turns, listed, ..Fold::default() };
    fold.text = contents(scene.offering(HOW), &fold.listed, fold.unlisted(), turns);
    fold.tokens = tokens_of(&fold.text);
    fold
}

/// The contents page.
fn contents(how: &str, listed: &[Note], unlisted: u32, turn: u32) -> String {
    let head = format!("Earlier pages of this conversation, kept word for word.{how}");
    let more = (unlisted > 0).then(|| format!("{} earlier messages are not listed here.", grouped(unlisted)));
    let entries = listed.iter().map(|note| entry(note, turn));
    let lines = std::iter::once(head).chain(more).chain(entries);
    fence("contents", "pages", &lines.collect::<Vec<_>>().join("\n"))
}

fn entry(note: &Note, turn: u32) -> String {
    let title = format!("[#{}] {}", note.number(), note.title);
    let ago = |recalled: u32| turn.saturating_sub(recalled);
    let recalled = note.recalled.map(|recalled| {
        format!("recalled {} times, last {} turns before this page was written", note.recalls, ago(recalled))
    });
    let lines = std::iter::once(title).chain(note.lines.iter().cloned()).chain(recalled);
    lines.collect::<Vec<_>>().join("\n  ")
}
