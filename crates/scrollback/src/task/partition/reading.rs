//! A unit as it is compared: its words, each with a weight, and what its form says.

use std::collections::{HashMap, HashSet};

use super::people::{People, Person};
use super::{Known, Unit, phrases};
use crate::search::{each_term, folded, is_grammar, is_unspaced};

/// How much of a unit is read for its words.
const MOST_CHARS: usize = 2000;
/// How much of a unit is read for its form.
const FORM_CHARS: usize = 400;
/// The heaviest words of a unit that are kept.
const MOST_TERMS: usize = 64;
/// What a word of grammar weighs, beside a word of its rarity.
const GRAMMAR_WEIGHT: f64 = 0.05;
/// What a pair of characters weighs of which one is of grammar.
const HALF_GRAMMAR_WEIGHT: f64 = 0.4;
/// What a short number weighs, and a word that is met with every subject.
const GENERAL_WEIGHT: f64 = 0.4;
/// How many words of a unit are its beginning, which says what it is about.
const BEGINNING_TERMS: usize = 48;
/// What words weigh that come later, in long answers most of all.
const LATER_WEIGHT: f64 = 0.25;
/// What words weigh that a unit repeats: they are what it is about.
const REPEATED_WEIGHT: f64 = 1.6;
/// Words and texts that are held to have been met elsewhere, so that few units do not make every word a common one.
const UNSEEN_WORDS: f64 = 300.0;
const UNSEEN_TEXTS: usize = 10;
/// Endings, and how many letters must stand before them.
const ENDINGS: [(&str, usize); 6] = [("ing", 4), ("ed", 4), ("es", 4), ("ly", 4), ("s", 3), ("e", 4)];

/// A word by number.
pub(super) type Term = u32;

/// What is known of a unit.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a cue of its own")]
pub(super) struct Reading {
    /// Its words and their weights, by number.
    pub(super) terms: Vec<(Term, f64)>,
    /// What its words weigh together.
    pub(super) content: f64,
    /// How many words it has, words of grammar aside.
    pub(super) mass: f64,
    pub(super) asks: bool,
    /// Whether its first sentence asks; what answers may still ask back.
    pub(super) begins_asking: bool,
    /// Whether it ends with a question, so that an answer is to come.
    pub(super) awaits: bool,
    pub(super) opens: bool,
    pub(super) closes: bool,
    pub(super) greets: bool,
    pub(super) follows: bool,
    pub(super) refers: bool,
    pub(super) requests: bool,
    pub(super) speaker: Option<Person>,
    pub(super) to: Option<Person>,
    pub(super) mentions: Vec<Person>,
}

impl Reading {
    /// Which part of this unit's words another has.
    pub(super) fn overlap(&self, other: &Self) -> f64 {
        let (mut mine, mut theirs) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        let mut shared = 0.0;
        while let (Some(&&(a, weight)), Some(&&(b, _))) = (mine.peek(), theirs.peek()) {
            if a == b {
                shared += weight;
            }
            if a <= b {
                mine.next();
            }
            if b <= a {
                theirs.next();
            }
        }
        shared / (self.content + 1.0)
    }
}

/// The readings of units and of known topics.
#[derive(Default)]
pub(super) struct Readings {
    pub(super) units: Vec<Reading>,
    pub(super) known: Vec<Reading>,
    /// Of each word, how large a part it is of all that is said.
    pub(super) shares: Vec<f64>,
}

/// Reads everything; how much a word weighs depends on how rare it is among all units.
pub(super) fn read(units: &[Unit], known: &[Known], people: &People) -> Readings {
    let mut words = Words::default();
    let texts = units.iter().map(|unit| unit.text.as_str()).chain(known.iter().map(|known| known.text.as_str()));
    let said: Vec<Vec<Said>> = texts.map(|text| words.of(text)).collect();
    let weights = words.weights(said.len());
    let mut readings = said.iter().map(|terms| weighed(terms, |term| weights[term as usize], &words.kinds));
    let read = units.iter().map(|unit| formed(readings.next().unwrap_or_default(), unit, people)).collect();
    Readings { units: read, known: readings.collect(), shares: words.shares() }
}

/// Reads units one by one, with what is known from those before.
#[derive(Default)]
pub(super) struct Reader {
    words: Words,
    texts: usize,
}

impl Reader {
    /// Reads the next unit.
    pub(super) fn read(&mut self, unit: &Unit, people: &People, readings: &mut Readings) {
        let said = self.words.of(&unit.text);
        self.texts += 1;
        let weight = |term: Term| self.words.weight(term as usize, self.texts);
        let reading = formed(weighed(&said, weight, &self.words.kinds), unit, people);
        readings.units.push(reading);
        readings.shares = self.words.shares();
    }
}

fn weighed(said: &[Said], weight: impl Fn(Term) -> f64, kinds: &[f64]) -> Reading {
    let mut terms: Vec<(Term, f64)> = said.iter().map(|said| (said.term, said.factor * weight(said.term))).collect();
    if terms.len() > MOST_TERMS {
        terms.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        terms.truncate(MOST_TERMS);
        terms.sort_unstable_by_key(|term| term.0);
    }
    let content = terms.iter().map(|(_, weight)| weight).sum();
    let mass = terms.iter().map(|term| kinds[term.0 as usize]).sum();
    Reading { terms, content, mass, ..Reading::default() }
}

fn formed(reading: Reading, unit: &Unit, people: &People) -> Reading {
    let text = folded(beginning(unit.text.trim(), FORM_CHARS));
    let speaker = unit.speaker.as_deref().and_then(|name| people.number(name));
    let to = people.addressed(&text).filter(|to| Some(*to) != speaker);
    let awaits = unit.text.trim_end().ends_with(['?', '？', '؟']);
    let mut mentions = people.mentioned(&text);
    mentions.retain(|person| Some(*person) != speaker && Some(*person) != to);
    let (asks, opens) = (phrases::asks(&text), phrases::opens(&text));
    let (closes, follows) = (phrases::closes(&text), phrases::follows(&text));
    let (refers, requests) = (phrases::refers(&text), phrases::requests(&text));
    let (greets, begins_asking) = (phrases::greets(&text), phrases::begins_asking(&text));
    Reading {
        asks,
        begins_asking,
        awaits,
        opens,
        closes,
        greets,
        follows,
        refers,
        requests,
        speaker,
        to,
        mentions,
        ..reading
    }
}

/// A word of a text, and what its place there makes of its weight.
struct Said {
    term: Term,
    factor: f64,
}

/// Every word that was met.
struct Words {
    numbers: HashMap<String, Term>,
    /// What kind of word it is, as a factor of its weight.
    kinds: Vec<f64>,
    /// In how many texts it is.
    spread: Vec<u32>,
    grammar: HashSet<&'static str>,
    general: HashSet<&'static str>,
}

impl Default for Words {
    fn default() -> Self {
        let (grammar, general) = (phrases::grammar(), phrases::general());
        Self { numbers: HashMap::new(), kinds: Vec::new(), spread: Vec::new(), grammar, general }
    }
}

impl Words {
    /// The words of a text, each once, sorted.
    fn of(&mut self, text: &str) -> Vec<Said> {
        let mut terms: Vec<Said> = Vec::new();
        each_term(beginning(text, MOST_CHARS), |word| {
            let factor = if terms.len() < BEGINNING_TERMS { 1.0 } else { LATER_WEIGHT };
            terms.extend(self.number(word).map(|term| Said { term, factor }));
        });
        // Stable, so that the first of equals is the earliest.
        terms.sort_by_key(|said| said.term);
        terms.dedup_by(|again, first| {
            let same = again.term == first.term;
            if same {
                first.factor = first.factor.max(again.factor * REPEATED_WEIGHT);
            }
            same
        });
        for said in &terms {
            self.spread[said.term as usize] += 1;
        }
        terms
    }

    fn number(&mut self, word: &str) -> Option<Term> {
        let kind = self.kind(word)?;
        let stem = stem(word);
        if let Some(&known) = self.numbers.get(stem) {
            return Some(known);
        }
        let next = Term::try_from(self.numbers.len()).ok()?;
        self.numbers.insert(stem.to_owned(), next);
        self.kinds.push(kind);
        self.spread.push(0);
        Some(next)
    }

    /// What a word is worth for its form; nothing if it is a single character of many.
    fn kind(&self, word: &str) -> Option<f64> {
        if word.starts_with(is_unspaced) {
            let mut chars = word.chars();
            let pair = [chars.next()?, chars.next()?];
            return Some(match pair.iter().filter(|&&c| is_grammar(c)).count() {
                0 => 1.0,
                1 => HALF_GRAMMAR_WEIGHT,
                _ => GRAMMAR_WEIGHT,
            });
        }
        let short_number = word.len() < 3 && word.bytes().all(|b| b.is_ascii_digit());
        let among = |words: &HashSet<&str>| words.contains(word) || words.contains(stem(word));
        Some(match word {
            _ if among(&self.grammar) || word.len() < 2 => GRAMMAR_WEIGHT,
            _ if among(&self.general) || short_number => GENERAL_WEIGHT,
            _ => 1.0,
        })
    }

    /// How large a part of all that is said each word is.
    fn shares(&self) -> Vec<f64> {
        let parts = || self.spread.iter().zip(&self.kinds).map(|(&spread, kind)| f64::from(spread) * kind);
        let all = parts().sum::<f64>() + UNSEEN_WORDS;
        parts().map(|part| part / all).collect()
    }

    /// What each word weighs among so many texts.
    fn weights(&self, texts: usize) -> Vec<f64> {
        (0..self.spread.len()).map(|term| self.weight(term, texts)).collect()
    }

    /// What a word weighs among so many texts: 1 if only one has it.
    #[expect(clippy::cast_precision_loss, reason = "counts of texts are small")]
    fn weight(&self, term: usize, texts: usize) -> f64 {
        let rarity = |spread: f64| ((texts + UNSEEN_TEXTS) as f64 / (spread + 0.5)).ln().max(0.0);
        let most = rarity(1.0).max(f64::MIN_POSITIVE);
        self.kinds[term] * rarity(f64::from(self.spread[term])) / most
    }
}

/// The first characters of a text.
fn beginning(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

/// A word without its commonest endings in English; other languages have them rarely and lose little.
fn stem(word: &str) -> &str {
    if !word.is_ascii() {
        return word;
    }
    let cut = ENDINGS.iter().find_map(|&(ending, least)| Some((word.strip_suffix(ending)?, least)));
    cut.filter(|(stem, least)| stem.len() >= *least && !stem.ends_with('s')).map_or(word, |(stem, _)| stem)
}
