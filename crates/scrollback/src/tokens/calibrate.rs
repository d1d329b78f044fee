//! Learning how a model counts from what its provider bills.
//!
//! Three weights per model: tokens per `o200k` token, a correction per unspaced character, and a cost per message. They
//! start from the family's ratios and follow reported usage by recursive least squares, forgetting slowly, so that one
//! odd report moves little and a new model is learned within a few turns.

use serde::{Deserialize, Serialize};

use super::{Family, Measure};

/// `o200k` tokens per character of Chinese text, roughly; turns a ratio of tokens into a weight per character.
const TOKENS_PER_UNSPACED_CHAR: f64 = 0.75;
/// How much of the past each new report leaves standing.
const MEMORY: f64 = 0.99;
/// How unsure each weight is before anything is known, as a variance.
const DOUBT: [f64; 3] = [0.1, 0.1, 10.0];
/// A report this many times off the estimate counts something we did not send, and teaches nothing.
const OUTLIER_RATIO: f64 = 4.0;

/// What was sent, added up over its messages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    tokens: f64,
    unspaced_chars: f64,
    messages: f64,
}

impl Sample {
    /// Adds a message.
    pub fn add(&mut self, measure: Measure) {
        self.tokens += f64::from(measure.tokens);
        self.unspaced_chars += f64::from(measure.unspaced_chars);
        self.messages += 1.0;
    }

    /// Features in thousands, which keeps the arithmetic well scaled.
    fn features(&self) -> [f64; 3] {
        [self.tokens / 1e3, self.unspaced_chars / 1e3, self.messages / 1e3]
    }
}

impl FromIterator<Measure> for Sample {
    fn from_iter<I: IntoIterator<Item = Measure>>(measures: I) -> Self {
        measures.into_iter().fold(Self::default(), |mut sample, measure| {
            sample.add(measure);
            sample
        })
    }
}

/// What has been learned about one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    weights: [f64; 3],
    doubt: [[f64; 3]; 3],
    reports: u32,
}

impl Calibration {
    /// What is assumed of a model before its first report; `None` where counts are exact and nothing need be learned.
    pub fn assumed(model: &str) -> Option<Self> {
        match Family::of_model(model) {
            Family::Exact(_) => None,
            Family::Estimated { spaced, unspaced } => Some(Self {
                weights: [spaced, (unspaced - spaced) * TOKENS_PER_UNSPACED_CHAR, 0.0],
                doubt: [[DOUBT[0], 0.0, 0.0], [0.0, DOUBT[1], 0.0], [0.0, 0.0, DOUBT[2]]],
                reports: 0,
            }),
        }
    }

    /// How many reports it has learned from.
    pub fn reports(&self) -> u32 {
        self.reports
    }

    /// The tokens the model is expected to count.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to u64's range first")]
    pub fn estimate(&self, sample: &Sample) -> u64 {
        (dot(&self.weights, &sample.features()) * 1e3).ceil().clamp(0.0, 1e15) as u64
    }

    /// Learns from the input tokens a provider reported for `sample`; whether it could.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    pub fn learn(&mut self, sample: &Sample, reported_tokens: u64) -> bool {
        let (x, y) = (sample.features(), reported_tokens as f64 / 1e3);
        let expected = dot(&self.weights, &x);
        if expected <= 0.0 || y > expected * OUTLIER_RATIO || y < expected / OUTLIER_RATIO {
            return false;
        }
        let reach = self.doubt.map(|row| dot(&row, &x));
        // Reports are noisy in proportion to their size.
        let noise = MEMORY * (0.02 * expected).powi(2).max(1e-6);
        let gain = reach.map(|value| value / (noise + dot(&reach, &x)));
        for (weight, gain) in self.weights.iter_mut().zip(gain) {
            *weight += gain * (y - expected);
        }
        self.settle(&gain, &reach);
        self.reports += 1;
        true
    }

    /// What was seen lessens the doubt; time lets it grow again, for each weight up to where it began. Without that
    /// bound the doubt about what is never seen would grow for ever, and with it the step that the next odd report
    /// takes.
    fn settle(&mut self, gain: &[f64; 3], reach: &[f64; 3]) {
        let grow: [f64; 3] = std::array::from_fn(|i| {
            let left = self.doubt[i][i] - gain[i] * reach[i];
            if left / MEMORY <= DOUBT[i] { MEMORY.sqrt().recip() } else { 1.0 }
        });
        for i in 0..3 {
            for j in i..3 {
                let left = self.doubt[i][j] - f64::midpoint(gain[i] * reach[j], gain[j] * reach[i]);
                let cell = left * grow[i] * grow[j];
                (self.doubt[i][j], self.doubt[j][i]) = (cell, cell);
            }
        }
    }
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Vocabulary;

    fn sample(tokens: u32, unspaced_chars: u32, messages: usize) -> Sample {
        let each = |total: u32| total / u32::try_from(messages).unwrap();
        let measure =
            Measure { vocabulary: Vocabulary::O200k, tokens: each(tokens), unspaced_chars: each(unspaced_chars) };
        std::iter::repeat_n(measure, messages).collect()
    }

    /// A model that counts 1.31 per English token, 0.6 per Chinese one, and 7 per message.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small test numbers")]
    fn billed(sample: &Sample) -> u64 {
        let chinese = sample.unspaced_chars * 0.75;
        ((sample.tokens - chinese) * 1.31 + chinese * 0.6 + sample.messages * 7.0) as u64
    }

    #[test]
    fn a_model_is_learned_within_twenty_turns() {
        let mut calibration = Calibration::assumed("some-new-model").unwrap();
        for turn in 1..=20 {
            let chinese = if turn % 3 == 0 { turn * 300 } else { 0 };
            let mixed = sample(turn * 400, chinese, 2 + 7 * (turn as usize % 5));
            calibration.learn(&mixed, billed(&mixed));
        }
        for probe in [sample(10_000, 0, 40), sample(10_000, 12_000, 40), sample(3_000, 1_000, 100)] {
            let (estimate, truth) = (calibration.estimate(&probe), billed(&probe));
            let off = estimate.abs_diff(truth) * 100 / truth;
            assert!(off <= 3, "estimated {estimate}, billed {truth}");
        }
    }

    /// A long conversation shows the same kind of window again and again, and what is never seen must not run away.
    #[test]
    fn thousands_of_reports_alike_do_no_harm() {
        let mut calibration = Calibration::assumed("some-new-model").unwrap();
        let mut noise = 7_u64;
        for turn in 0..5_000_u32 {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let window = sample(2_400 + turn % 9 * 150, 0, 8 + turn as usize % 3);
            let percent = 95 + (noise >> 33) % 11;
            calibration.learn(&window, billed(&window) * percent / 100);
            for probe in [sample(3_000, 0, 9), sample(900, 0, 4), sample(4_000, 0, 30)] {
                let (estimate, truth) = (calibration.estimate(&probe), billed(&probe));
                let off = estimate.abs_diff(truth) * 100 / truth;
                assert!(turn < 20 || off <= 20, "turn {turn}: estimated {estimate}, billed {truth}");
            }
        }
    }

    #[test]
    fn an_absurd_report_teaches_nothing() {
        let mut calibration = Calibration::assumed("claude-opus-5").unwrap();
        let before = calibration.clone();
        assert!(!calibration.learn(&sample(1_000, 0, 4), 900_000));
        assert_eq!(calibration, before);
    }

    #[test]
    fn exact_models_need_no_calibration() {
        assert_eq!(Calibration::assumed("gpt-5"), None);
    }
}
