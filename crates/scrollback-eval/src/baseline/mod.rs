//! Simple ways of sorting, to compare with: if one of them is as good, ours is not worth its lines.

mod interleaved;
mod linear;
pub mod meaning;
pub mod window;

use scrollback::task::Unit;

/// A baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// Every unit is a topic of its own.
    Singletons,
    /// Everything is one topic.
    One,
    /// Every unit belongs with the one before; notices stand alone.
    Previous,
    /// A new topic after every silence of three minutes.
    Gaps,
    /// A topic for each speaker.
    Speaker,
    /// With whom it is addressed to, else with what its speaker said in the last quarter of an hour.
    Addressee,
    /// A new topic every five units.
    Even,
    /// Where the words before and after differ most.
    TextTiling,
    /// The same by the stems of words that tell something, with more of them on either side.
    StemTiling,
}

impl Baseline {
    /// Those that make sense where topics alternate.
    pub const INTERLEAVED: [Self; 6] =
        [Self::Singletons, Self::One, Self::Previous, Self::Gaps, Self::Speaker, Self::Addressee];
    /// Those that make sense where one topic follows another.
    pub const LINEAR: [Self; 4] = [Self::One, Self::Even, Self::TextTiling, Self::StemTiling];

    /// What it is called in a report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Singletons => "all singletons",
            Self::One => "one topic",
            Self::Previous => "with the previous",
            Self::Gaps => "cut at 3-minute gaps",
            Self::Speaker => "one per speaker",
            Self::Addressee => "addressee, else same speaker within 15 min",
            Self::Even => "cut every 5 units",
            Self::TextTiling => "TextTiling over words",
            Self::StemTiling => "TextTiling over stems, blocks of four",
        }
    }

    /// Sorts units: a topic for each.
    pub fn sort(self, units: &[Unit]) -> Vec<usize> {
        match self {
            Self::Singletons => (0..units.len()).collect(),
            Self::One => vec![0; units.len()],
            Self::Previous => interleaved::previous(units),
            Self::Gaps => interleaved::gaps(units),
            Self::Speaker => interleaved::speaker(units),
            Self::Addressee => interleaved::addressee(units),
            Self::Even => linear::even(units.len()),
            Self::TextTiling => linear::text_tiling(units, linear::PLAIN),
            Self::StemTiling => linear::text_tiling(units, linear::STEMMED),
        }
    }
}
