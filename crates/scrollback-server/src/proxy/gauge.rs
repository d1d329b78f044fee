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
    /// How many of our tokens a model's limit holds.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a u32 that is not negative"
    )]
    pub(super) fn counted(&self, model: &str, limit: u32) -> u32 {
        let learned = self.models.lock().unwrap_or_else(PoisonError::into_inner).get(model).map(|(_, ratio)| *ratio);
        let assumed = || match Family::of_model(model) {
            Family::Exact(_) => 1.0,
            Family::Estimated { spaced, unspaced } => spaced.max(unspaced).max(1.0),
        };
        (f64::from(limit) / learned.unwrap_or_else(assumed)) as u32
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

fn ours(tokens: u32) -> Measure {
    Measure { vocabulary: Vocabulary::O200k, tokens, unspaced_chars: 0 }
}
