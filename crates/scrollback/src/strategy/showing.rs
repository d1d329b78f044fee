//! What of the open messages is shown whole and what is held, alike for every strategy that folds.

use std::sync::Arc;

use super::holds::HoldSettings;
use super::leaf::{Leaf, Placeholder};
use super::topics::Excerpt;
use super::{Scene, turns};
use crate::error::Result;
use crate::note::Covers;
use crate::window::{Reason, Window, tokens_of};

/// Which results are held.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Holding {
    /// Those that the settings say.
    Usual,
    /// All, because the current turn alone is too large.
    All,
}

/// Where quotes stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Just before the turn that is being answered: what comes before it stays in the provider's cache.
    #[default]
    Tail,
    /// Before all open messages.
    Head,
}

/// How an open message is shown.
enum Shown<'s> {
    Whole,
    Held(&'s Arc<Placeholder>),
    /// A person wants it left out.
    LeftOut,
}

/// How each open message is shown.
fn shown<'s>(
    scene: &'s Scene<'_>,
    holds: &'s HoldSettings,
    holding: Holding,
) -> impl Iterator<Item = (&'s Arc<Leaf>, Shown<'s>)> {
    let usual = if scene.recalls { holds.held(scene.open) } else { vec![false; scene.open.len()] };
    scene.open.iter().zip(usual).zip(left_out(scene)).map(move |((leaf, usual), left_out)| {
        // What stands for a result is not made before it is needed: a helper may still have more to say.
        let shown = match (holding == Holding::All || usual).then(|| leaf.placeholder(holds)) {
            _ if left_out => Shown::LeftOut,
            Some(Some(placeholder)) => Shown::Held(placeholder),
            Some(None) | None => Shown::Whole,
        };
        (leaf, shown)
    })
}

/// Which open messages a person wants left out, none of the current turn. A result goes with its call, also where
/// another branch answered it.
pub(super) fn left_out(scene: &Scene<'_>) -> impl Iterator<Item = bool> {
    let current = turns::last(scene.open);
    let mut call_left_out = false;
    scene.open.iter().enumerate().map(move |(i, leaf)| {
        let left_out = scene.excluded.contains(&leaf.stored.id) || leaf.answers && call_left_out;
        call_left_out = left_out && i < current;
        call_left_out
    })
}

/// What each open message costs as it is shown.
pub(super) fn costs(scene: &Scene<'_>, holds: &HoldSettings, holding: Holding) -> Vec<u32> {
    let cost = |(leaf, shown): (&Arc<Leaf>, Shown<'_>)| match shown {
        Shown::Whole => leaf.tokens(),
        Shown::Held(placeholder) => placeholder.tokens + leaf.aside_tokens(),
        Shown::LeftOut => 0,
    };
    shown(scene, holds, holding).map(cost).collect()
}

/// What a model is told of stretches that nobody has read, if there are any.
pub(super) fn untold(stretches: &[Covers]) -> Option<String> {
    let named: Vec<String> = stretches.iter().map(Covers::named).collect();
    (!named.is_empty()).then(|| format!(" Nothing is told here of {}, which nobody has read yet.", named.join(", ")))
}

/// What a sentence of ours costs beyond what a note costs in any case.
pub(super) fn more_tokens(sentence: &str) -> u32 {
    if sentence.is_empty() { 0 } else { tokens_of(sentence) }
}

/// What a scene leaves for quotes.
pub(super) fn room(scene: &Scene<'_>, holds: &HoldSettings) -> u32 {
    let open: u32 = costs(scene, holds, Holding::Usual).iter().sum();
    scene.budget.tokens.saturating_sub(scene.fixed() + scene.fold.tokens + open)
}

/// The window as usual, or else without quotes, or else with all results held.
pub(super) fn usual_or_least(scene: &Scene<'_>, holds: &HoldSettings, layout: Layout) -> Result<Window> {
    let excerpt = scene.excerpt.map(|excerpt| (excerpt, layout));
    let ways = [(Holding::Usual, excerpt), (Holding::Usual, None), (Holding::All, None)];
    let mut windows = ways.into_iter().map(|(holding, excerpt)| window(scene, holds, holding, excerpt));
    windows.find(Window::fits).ok_or_else(|| window(scene, holds, Holding::All, None).too_large(scene.reserved))
}

/// The window: instructions, what is folded, what is open, and quotes where they belong.
pub(super) fn window(
    scene: &Scene<'_>,
    holds: &HoldSettings,
    holding: Holding,
    excerpt: Option<(&Excerpt, Layout)>,
) -> Window {
    let mut window = Window::new(scene.budget, scene.path());
    scene.preamble.iter().for_each(|stored| window.instruct(stored));
    window.fold(scene.fold);
    if let Some(kept) = scene.kept {
        window.keep(kept);
    }
    let current = turns::last(scene.open);
    let place = excerpt.map(|(_, layout)| if layout == Layout::Head { 0 } else { current });
    for (i, (leaf, shown)) in shown(scene, holds, holding).enumerate() {
        if let Some((excerpt, _)) = excerpt.filter(|_| place == Some(i)) {
            window.quote(excerpt);
        }
        match shown {
            Shown::LeftOut => window.leave_out(&leaf.stored),
            Shown::Held(placeholder) => {
                window.reason(&leaf.asides);
                window.hold(&leaf.stored, placeholder);
            }
            Shown::Whole => {
                window.reason(&leaf.asides);
                window.show(&leaf.stored, if i < current { Reason::Open } else { Reason::CurrentTurn });
            }
        }
    }
    window
}
