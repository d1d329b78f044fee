//! What everybody has: show everything, or drop the oldest. They exist to be measured against.

use super::showing::left_out;
use super::{Scene, Strategy, Stretch, turns};
use crate::error::Result;
use crate::note::{Fold, Note};
use crate::recall::RecallTool;
use crate::window::{Reason, Window};

/// Shows everything, however much it is.
pub(super) struct Passthrough;

impl Strategy for Passthrough {
    fn recalls(&self) -> &'static [RecallTool] {
        &[]
    }

    fn fold(&self, _: &Scene<'_>) -> Vec<Stretch> {
        Vec::new()
    }

    fn file(&self, scene: &Scene<'_>, _: Vec<Note>) -> Fold {
        scene.fold.clone()
    }

    fn fit(&self, scene: &Scene<'_>) -> Result<Window> {
        Ok(shown_from(scene, 0))
    }
}

/// Drops the oldest messages until the rest fits. It breaks law 2, as all truncation does.
pub(super) struct Truncate;

impl Strategy for Truncate {
    fn recalls(&self) -> &'static [RecallTool] {
        &[]
    }

    fn fold(&self, _: &Scene<'_>) -> Vec<Stretch> {
        Vec::new()
    }

    fn file(&self, scene: &Scene<'_>, _: Vec<Note>) -> Fold {
        scene.fold.clone()
    }

    fn fit(&self, scene: &Scene<'_>) -> Result<Window> {
        let room = scene.budget.tokens.saturating_sub(scene.fixed());
        let (mut start, mut cost) = (scene.open.len(), 0_u32);
        for page in turns::pages(scene.open, scene.budget.share(25)).iter().rev() {
            cost = cost.saturating_add(scene.open[page.clone()].iter().map(|leaf| leaf.tokens()).sum());
            // The newest page is shown at any price; the price is checked below.
            if cost > room && start < scene.open.len() {
                break;
            }
            start = page.start;
        }
        let window = shown_from(scene, start);
        if window.fits() { Ok(window) } else { Err(window.too_large(scene.reserved)) }
    }
}

fn shown_from(scene: &Scene<'_>, start: usize) -> Window {
    let mut window = Window::new(scene.budget, scene.path());
    scene.preamble.iter().for_each(|stored| window.instruct(stored));
    for (leaf, is_left_out) in scene.open.iter().zip(left_out(scene)).skip(start) {
        if is_left_out {
            window.leave_out(&leaf.stored);
        } else {
            window.reason(&leaf.asides);
            window.show(&leaf.stored, Reason::Open);
        }
    }
    window
}
