//! What of the open messages is shown whole and what is held, alike for every strategy that folds.

use std::sync::Arc;

use super::holds::{HeldFrom, HoldSettings};
use super::leaf::{Leaf, Placeholder};
use super::topics::Excerpt;
use super::{Scene, turns};
use crate::window::{Reason, Window};

/// Which results are held.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Holding {
    /// Those that the settings say.
    Usual,
    /// All, because the current turn alone is too large.
    All,
}

/// Where an excerpt of topics stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Just before the turn that is being answered: what comes before it stays in the provider's cache.
    #[default]
    Tail,
    /// Before all open messages.
    Head,
}

/// What stands for each open message that is held.
fn held<'s>(
    open: &'s [Arc<Leaf>],
    holds: &'s HoldSettings,
    holding: Holding,
) -> impl Iterator<Item = Option<&'s Arc<Placeholder>>> {
    let current = turns::last(open);
    let wanted = move |i: usize| holding == Holding::All || holds.from == HeldFrom::OnArrival || i < current;
    open.iter().enumerate().map(move |(i, leaf)| if wanted(i) { leaf.placeholder(holds) } else { None })
}

/// What each open message costs as it is shown.
pub(super) fn costs(open: &[Arc<Leaf>], holds: &HoldSettings, holding: Holding) -> Vec<u32> {
    let pairs = held(open, holds, holding).zip(open);
    pairs.map(|(held, leaf)| held.map_or(leaf.tokens(), |held| held.tokens)).collect()
}

/// The window: instructions, what is folded, what is open, and an excerpt of topics where it belongs.
pub(super) fn window(
    scene: &Scene<'_>,
    holds: &HoldSettings,
    holding: Holding,
    excerpt: Option<(&Excerpt, Layout)>,
) -> Window {
    let mut window = Window::new(scene.budget, scene.path());
    scene.preamble.iter().for_each(|stored| window.instruct(stored));
    window.fold(scene.fold);
    let current = turns::last(scene.open);
    let place = excerpt.map(|(_, layout)| if layout == Layout::Head { 0 } else { current });
    for (i, (leaf, held)) in scene.open.iter().zip(held(scene.open, holds, holding)).enumerate() {
        if let Some((excerpt, _)) = excerpt.filter(|_| place == Some(i)) {
            window.quote(excerpt);
        }
        match held {
            Some(placeholder) => window.hold(&leaf.stored, placeholder),
            None => window.show(&leaf.stored, if i < current { Reason::Open } else { Reason::CurrentTurn }),
        }
    }
    window
}
