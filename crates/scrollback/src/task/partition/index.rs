//! Which words are how strong in which topic.

use super::reading::{Reading, Readings, Term};

/// A word that this many topics have tells none of them apart.
const COMMON_TOPICS: usize = 100;
/// What is left of a word's strength in a topic after each unit that does not say it.
const FADING: f64 = 0.93;
/// Words a topic is held to have beside its own.
const SMOOTHING: f64 = 10.0;
/// After so many units a word has faded.
const FADED_UNITS: u32 = 100;

/// A word in a topic: how strong it was when the topic had so many units.
struct Posting {
    topic: usize,
    strength: f64,
    size: u32,
}

/// How much a topic has.
#[derive(Clone, Copy, Default)]
struct Volume {
    /// How many units.
    size: u32,
    /// How many words; those of old units count for less.
    mass: f64,
}

/// The words of all topics.
pub(super) struct Index {
    /// Of each word, the topics that have it, by number.
    postings: Vec<Vec<Posting>>,
    volumes: Vec<Volume>,
}

impl Index {
    /// An index for so many words.
    pub(super) fn new(terms: usize) -> Self {
        Self { postings: (0..terms).map(|_| Vec::new()).collect(), volumes: Vec::new() }
    }

    /// Makes room for so many words.
    pub(super) fn grow(&mut self, terms: usize) {
        self.postings.resize_with(terms.max(self.postings.len()), Vec::new);
    }

    /// How many units a topic has.
    pub(super) fn size(&self, topic: usize) -> u32 {
        self.volumes[topic].size
    }

    /// Whether any topic has a word.
    pub(super) fn has(&self, term: Term) -> bool {
        !self.postings[term as usize].is_empty()
    }

    /// Sums up what each topic shares with a unit; which topics share anything.
    pub(super) fn share(&self, readings: &Readings, unit: usize, shared: &mut Vec<f64>) -> Vec<usize> {
        shared.resize(self.volumes.len(), 0.0);
        let mut touched = Vec::new();
        for &(term, weight) in &readings.units[unit].terms {
            let postings = &self.postings[term as usize];
            for posting in postings.iter().filter(|_| postings.len() <= COMMON_TOPICS) {
                let volume = self.volumes[posting.topic];
                let part = faded(posting, volume.size) / (volume.mass + SMOOTHING);
                let lift = part / readings.shares[term as usize];
                if shared[posting.topic] == 0.0 {
                    touched.push(posting.topic);
                }
                // A word that is no more frequent in the topic than elsewhere says nothing.
                shared[posting.topic] += weight * ((lift - 1.0) / (lift + 1.0)).max(0.0);
            }
        }
        touched
    }

    /// Adds a unit's words to a topic.
    pub(super) fn learn(&mut self, topic: usize, reading: &Reading) {
        if self.volumes.len() <= topic {
            self.volumes.resize(topic + 1, Volume::default());
        }
        let volume = &mut self.volumes[topic];
        volume.size += 1;
        volume.mass = volume.mass * FADING + reading.mass;
        let size = volume.size;
        for &(term, _) in &reading.terms {
            let postings = &mut self.postings[term as usize];
            match postings.binary_search_by_key(&topic, |posting| posting.topic) {
                Ok(place) => {
                    let strength = faded(&postings[place], size) + 1.0;
                    postings[place] = Posting { topic, strength, size };
                }
                Err(place) => postings.insert(place, Posting { topic, strength: 1.0, size }),
            }
        }
    }
}

/// How strong a word still is in a topic of so many units.
fn faded(posting: &Posting, size: u32) -> f64 {
    let age = (size - posting.size).min(FADED_UNITS);
    posting.strength * FADING.powi(i32::try_from(age).unwrap_or(i32::MAX))
}
