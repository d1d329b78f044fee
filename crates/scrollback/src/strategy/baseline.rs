//! What everybody has: show everything, or drop the oldest. They exist to be measured against.

use super::{Scene, Strategy, turns};
use crate::error::Result;
use crate::note::{Covers, Fold, Note};
use crate::window::{Reason, Window};

/// Shows everything, however much it is.
pub(super) struct Passthrough;

impl Strategy for Passthrough {
    fn fold(&self, _: &Scene<'_>) -> Vec<Covers> {
        Vec::new()
    }

    fn file(&self, scene: &Scene<'_>, _: Vec<Note>) -> Fold {
        scene.fold.clone()
    }

    fn fit(&self, scene: &Scene<'_>) -> Result<Window> {
        let mut window = Window::new(scene.budget, scene.path());
        scene.preamble.iter().for_each(|stored| window.instruct(stored));
        scene.open.iter().for_each(|stored| window.show(stored, Reason::Open));
        Ok(window)
    }
}

/// Drops the oldest messages until the rest fits. It breaks law 2, as all truncation does.
pub(super) struct Truncate;

impl Strategy for Truncate {
    fn fold(&self, _: &Scene<'_>) -> Vec<Covers> {
        Vec::new()
    }

    fn file(&self, scene: &Scene<'_>, _: Vec<Note>) -> Fold {
        scene.fold.clone()
    }

    fn fit(&self, scene: &Scene<'_>) -> Result<Window> {
        let pages = turns::pages(scene.open, scene.budget.share(25));
        for first in 0..pages.len().max(1) {
            let start = pages.get(first).map_or(0, |page| page.start);
            let mut window = Window::new(scene.budget, scene.path());
            scene.preamble.iter().for_each(|stored| window.instruct(stored));
            scene.open[start..].iter().for_each(|stored| window.show(stored, Reason::Open));
            if window.fits() {
                return Ok(window);
            }
            if first + 1 >= pages.len() {
                return Err(window.too_large());
            }
        }
        Ok(Window::new(scene.budget, scene.path()))
    }
}
