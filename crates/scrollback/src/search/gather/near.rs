//! Being near a question in meaning: which messages are, and how much of that counts.

use super::Lead;
use crate::embed::Similar;

/// What being the nearest counts, against the most that words are worth to any.
const NEARNESS: f64 = 0.5;
/// How many of the nearest messages are read, whatever their words are.
const NEAREST: usize = 64;

/// How near the messages of a talk are to a question, against how near most of them are.
#[derive(Clone, Debug)]
pub struct Near {
    similar: Similar,
    /// How near one in two is.
    usual: f32,
    /// How near the nearest is.
    most: f32,
}

impl Near {
    /// Looks at all that is known.
    pub fn new(similar: Similar) -> Self {
        let mut all: Vec<f32> = similar.all().map(|(_, near)| near).collect();
        let (half, most) = (all.len() / 2, all.iter().copied().reduce(f32::max));
        let usual = (!all.is_empty()).then(|| *all.select_nth_unstable_by(half, f32::total_cmp).1);
        Self { similar, usual: usual.unwrap_or(0.0), most: most.unwrap_or(0.0) }
    }

    /// How near the message at a place is: 0 for what is no nearer than most of the talk, 1 for the nearest.
    pub fn at(&self, place: u64) -> f64 {
        let above = self.similar.at(place).map_or(0.0, |near| near - self.usual).max(0.0);
        f64::from(above) / f64::from(self.most - self.usual).max(f64::from(f32::EPSILON))
    }

    /// The places of the nearest messages, in the order of the log.
    pub fn nearest(&self) -> Vec<u64> {
        let mut all: Vec<(u64, f32)> = self.similar.all().filter(|(_, near)| *near > self.usual).collect();
        if all.len() > NEAREST {
            all.select_nth_unstable_by(NEAREST, |a, b| b.1.total_cmp(&a.1));
            all.truncate(NEAREST);
        }
        let mut places: Vec<u64> = all.into_iter().map(|(place, _)| place).collect();
        places.sort_unstable();
        places
    }
}

/// What is added to each lead's worth for its meaning. `others` is what each is worth without it, `standing` what its
/// words are multiplied by, its surroundings aside: what means the same may stand where no word of the question does.
pub(super) fn added(leads: &[Lead], others: &[f64], standing: &[f64]) -> Vec<f64> {
    let most = others.iter().zip(standing).map(|(worth, standing)| worth / standing).fold(0.0, f64::max);
    // Where no word is known, meaning alone decides.
    let most = if most > 0.0 { most } else { 1.0 };
    leads.iter().zip(standing).map(|(lead, standing)| NEARNESS * most * standing * lead.near).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(of: &[f32]) -> Near {
        let mut similar = Similar::default();
        of.iter().zip(0..).for_each(|(near, place)| similar.learn(place, *near));
        Near::new(similar)
    }

    #[test]
    fn what_counts_is_how_much_nearer_than_most_a_message_is() {
        let near = near(&[0.1, 0.3, 0.2, 0.7, 0.1]);
        let hundredths = |place| format!("{:.0}", near.at(place) * 100.0);
        assert_eq!([0, 1, 2, 3, 9].map(hundredths), ["0", "20", "0", "100", "0"]);
        assert_eq!(near.nearest(), [1, 3], "the usual is not near");
    }

    #[test]
    fn the_nearest_are_few() {
        let many: Vec<f32> = (0..1_000_u16).map(|i| f32::from(i) / 1_000.0).collect();
        let nearest = near(&many).nearest();
        assert_eq!((nearest.len(), nearest[0], nearest[63]), (64, 936, 999));
        assert!(near(&[]).nearest().is_empty() && near(&[0.5]).nearest().is_empty());
    }
}
