//! How models count tokens, learned from what their providers report.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use scrollback::tokens::{Calibration, Family, Measure, Sample, Vocabulary};
use scrollback::window::{Body, Window};

/// How much more than the estimate is assumed, in hundredths.
const MARGIN_PERCENT: f64 = 2.0;

#[derive(Default)]
pub(super) struct Gauge {
    models: Mutex<HashMap<String, (Calibration, f64)>>,
}

impl Gauge {
    /// How many of our tokens a model's limit holds; `family` is how it counts, where that is said.
    pub(super) fn counted(&self, model: &str, family: Option<Family>, limit: u32) -> u32 {
        rounded(f64::from(limit) / self.ratio(model, family))
    }

    /// How many tokens a model would count where we count so many.
    pub(super) fn told(&self, model: &str, family: Option<Family>, ours: u32) -> u32 {
        rounded(f64::from(ours) * self.ratio(model, family))
    }

    /// How many tokens a model counts for one of ours.
    fn ratio(&self, model: &str, family: Option<Family>) -> f64 {
        let learned = self.models.lock().unwrap_or_else(PoisonError::into_inner).get(model).map(|(_, ratio)| *ratio);
        learned.unwrap_or_else(|| match family.unwrap_or_else(|| Family::of_model(model)) {
            Family::Exact(_) => 1.0,
            Family::Estimated { spaced, unspaced } => spaced.max(unspaced).max(1.0),
        })
    }

    /// Learns from the input that a provider reported for a window and its tools.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    pub(super) fn learn(&self, model: &str, window: &Window, tools: u32, reported: u32) {
        let Some(assumed) = Calibration::assumed(model) else { return };
        let mut sample: Sample = window
            .blocks()
            .iter()
            .map(|block| match &block.body {
                Body::Original(stored) => stored.measure,
                Body::Held(..) | Body::Whole(..) | Body::Round(_) | Body::Note(_) | Body::Nothing(_) => {
                    ours(block.tokens)
                }
            })
            .collect();
        sample.add(ours(tools));
        let counted = window.tokens() + tools;
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let (calibration, ratio) = models.entry(model.to_owned()).or_insert((assumed, 1.0));
        calibration.learn(&sample, u64::from(reported));
        *ratio = calibration.estimate(&sample) as f64 / f64::from(counted.max(1)) * (1.0 + MARGIN_PERCENT / 100.0);
        *ratio = ratio.clamp(0.5, 3.0);
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count that is not negative")]
fn rounded(tokens: f64) -> u32 {
    tokens as u32
}

fn ours(tokens: u32) -> Measure {
    Measure { vocabulary: Vocabulary::O200k, tokens, unspaced_chars: 0 }
}
