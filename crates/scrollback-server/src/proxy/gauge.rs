//! How models count tokens, learned from what their providers report.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use scrollback::tokens::{Calibration, Family, Measure, Sample, Vocabulary};
use scrollback::window::{Block, Body, Window};

/// How much more than the estimate is assumed, in hundredths.
const MARGIN_PERCENT: f64 = 2.0;

/// So many reports in a row that teach nothing tell that what was learned before is wrong.
const MOST_ODD: u32 = 5;
/// So many models are known at once: clients choose their names.
const MOST_MODELS: usize = 1_000;
/// No model has a longer name, with that of its upstream.
const LONGEST_NAME: usize = 300;

/// A model: two upstreams may call different ones by one name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Model<'a> {
    pub(super) upstream: &'a str,
    pub(super) name: &'a str,
    /// How it counts, where that is said.
    pub(super) family: Option<Family>,
}

impl Model<'_> {
    /// What it is known by; no name holds a line break.
    fn key(&self) -> String {
        format!("{}\n{}", self.upstream, self.name)
    }
}

struct Learned {
    calibration: Calibration,
    ratio: f64,
    /// How many reports in a row were too far off to teach anything.
    odd: u32,
    /// When it was learned of last, as a count of all that was.
    last: u64,
}

#[derive(Default)]
pub(super) struct Gauge {
    models: Mutex<Models>,
}

#[derive(Default)]
struct Models {
    known: HashMap<String, Learned>,
    learned: u64,
}

impl Models {
    /// What is known of a model, which is the newest now. For one that is new, the one that was not heard of for
    /// longest is forgotten.
    fn newest(&mut self, key: String, assumed: Calibration) -> &mut Learned {
        self.learned += 1;
        if self.known.len() >= MOST_MODELS && !self.known.contains_key(&key) {
            let oldest = self.known.iter().min_by_key(|(_, learned)| learned.last).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| self.known.remove(&oldest));
        }
        let learned = self.known.entry(key).or_insert(Learned { calibration: assumed, ratio: 1.0, odd: 0, last: 0 });
        learned.last = self.learned;
        learned
    }
}

impl Gauge {
    /// How many of our tokens a model's limit holds. Never more than the limit: what was learned from other texts may
    /// not hold for these.
    pub(super) fn counted(&self, model: Model<'_>, limit: u32) -> u32 {
        rounded(f64::from(limit) / self.ratio(model)).min(limit)
    }

    /// How many tokens a model would count where we count so many.
    pub(super) fn told(&self, model: Model<'_>, ours: u32) -> u32 {
        rounded(f64::from(ours) * self.ratio(model))
    }

    /// How many tokens a model counts for one of ours.
    fn ratio(&self, model: Model<'_>) -> f64 {
        let models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let learned = models.known.get(&model.key()).map(|learned| learned.ratio);
        learned.unwrap_or_else(|| match model.family.unwrap_or_else(|| Family::of_model(model.name)) {
            Family::Exact(_) => 1.0,
            Family::Estimated { spaced, unspaced } => spaced.max(unspaced).max(1.0),
        })
    }

    /// Learns from the input that a provider reported for a window and its tools. What a picture or a file costs is a
    /// guess: a window with one would be blamed on its words.
    pub(super) fn learn(&self, model: Model<'_>, window: &Window, tools: u32, reported: u32) {
        let (Some(assumed), key) = (Calibration::assumed(model.name), model.key()) else { return };
        if key.len() > LONGEST_NAME || window.blocks().iter().any(has_attachments) {
            return;
        }
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
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let learned = models.newest(key.clone(), assumed);
        learned.learn(&sample, window.tokens() + tools, reported);
        if learned.odd >= MOST_ODD {
            models.known.remove(&key);
        }
    }
}

impl Learned {
    /// Learns from what was reported for a sample of which we counted so many tokens.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    fn learn(&mut self, sample: &Sample, counted: u32, reported: u32) {
        let has_learned = self.calibration.learn(sample, u64::from(reported));
        self.odd = if has_learned { 0 } else { self.odd + 1 };
        let estimate = self.calibration.estimate(sample) as f64 * (1.0 + MARGIN_PERCENT / 100.0);
        self.ratio = (estimate / f64::from(counted.max(1))).clamp(0.5, 3.0);
    }
}

/// Whether a block shows a picture or a file.
fn has_attachments(block: &Block) -> bool {
    match &block.body {
        Body::Original(stored) | Body::Whole(stored, _) => stored.has_attachments(),
        Body::Held(..) | Body::Round(_) | Body::Note(_) | Body::Nothing(_) => false,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count that is not negative")]
fn rounded(tokens: f64) -> u32 {
    tokens as u32
}

fn ours(tokens: u32) -> Measure {
    Measure { vocabulary: Vocabulary::O200k, tokens, unspaced_chars: 0 }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use scrollback::store::{Beside, Origin, Place, Stored};
    use scrollback::window::Budget;
    use scrollback::{At, Message, MessageId, Role};
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::*;
    use crate::wire::edit::raw;

    fn model<'a>(upstream: &'a str, name: &'a str) -> Model<'a> {
        Model { upstream, name, family: None }
    }

    fn learned(gauge: &Gauge, model: Model<'_>, ratio: f64) {
        let assumed = Calibration::assumed("claude-sonnet-4-5").unwrap();
        gauge.models.lock().unwrap().newest(model.key(), assumed).ratio = ratio;
    }

    /// A window of one message that says this.
    fn window(content: &Value) -> Window {
        let raw: Arc<RawValue> = raw(&json!({"role": "user", "content": content})).into();
        let measure = Measure::of(&Message::new(raw.clone()), "claude-sonnet-4-5");
        let (place, role, origin) = (Place::Beside(Beside::Preamble), Role::User, Origin::Client);
        let stored = Stored { id: MessageId(0), parent: None, place, role, at: At(0), origin, measure, raw };
        let mut window = Window::new(Budget { tokens: 100_000 }, 0);
        window.instruct(&Arc::new(stored));
        window
    }

    fn words() -> Window {
        window(&json!("The tide turns at noon, and the ferry waits for it. ".repeat(90)))
    }

    #[test]
    fn what_a_picture_costs_teaches_nothing_about_words() {
        let (gauge, claude) = (Gauge::default(), model("near", "claude-sonnet-4-5"));
        let before = gauge.counted(claude, 1_000);
        let source = json!({"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQ="});
        let shown = window(&json!([{"type": "text", "text": "Read it."}, {"type": "document", "source": source}]));
        assert!((1_100..1_300).contains(&shown.tokens()), "{}", shown.tokens());
        gauge.learn(claude, &shown, 0, 4_500);
        assert_eq!(gauge.counted(claude, 1_000), before);
        let words = words();
        gauge.learn(claude, &words, 0, words.tokens() * 6 / 5);
        assert!((790..830).contains(&gauge.counted(claude, 1_000)), "{}", gauge.counted(claude, 1_000));
    }

    #[test]
    fn what_was_learned_and_is_wrong_is_forgotten() {
        let (gauge, claude) = (Gauge::default(), model("near", "claude-sonnet-4-5"));
        let doubt = json!([[0.001, 0.0, 0.0], [0.0, 0.001, 0.0], [0.0, 0.0, 0.001]]);
        let astray = json!({"weights": [6.0, 0.0, 0.0], "doubt": doubt, "reports": 40});
        gauge.models.lock().unwrap().newest(claude.key(), serde_json::from_value(astray).unwrap());
        let words = words();
        let honest = || gauge.learn(claude, &words, 0, words.tokens() * 6 / 5);
        for _ in 1..MOST_ODD {
            honest();
            assert_eq!(gauge.counted(claude, 3_000), 1_000, "a few odd reports change nothing");
        }
        honest();
        honest();
        assert!((790..830).contains(&gauge.counted(claude, 1_000)), "{}", gauge.counted(claude, 1_000));
    }

    #[test]
    fn what_is_learned_of_one_upstream_is_not_believed_of_another() {
        let gauge = Gauge::default();
        let (near, far) = (model("near", "claude-sonnet-4-5"), model("far", "claude-sonnet-4-5"));
        let before = gauge.counted(far, 1_000);
        learned(&gauge, near, 3.0);
        assert_eq!((gauge.counted(near, 1_000), gauge.counted(far, 1_000)), (333, before));
    }

    #[test]
    fn no_budget_is_larger_than_the_limit() {
        let (gauge, near) = (Gauge::default(), model("near", "claude-sonnet-4-5"));
        learned(&gauge, near, 0.5);
        assert_eq!((gauge.counted(near, 1_000), gauge.told(near, 1_000)), (1_000, 500));
    }

    #[test]
    fn names_that_clients_make_up_take_no_more_room_than_there_is() {
        let gauge = Gauge::default();
        learned(&gauge, model("near", "first"), 3.0);
        for number in 0..MOST_MODELS * 2 {
            learned(&gauge, model("near", &number.to_string()), 2.0);
            learned(&gauge, model("near", "kept"), 3.0);
        }
        let models = gauge.models.lock().unwrap();
        assert_eq!(models.known.len(), MOST_MODELS);
        assert!(models.known.contains_key("near\nkept") && !models.known.contains_key("near\nfirst"));
    }
}
