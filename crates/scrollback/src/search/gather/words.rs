//! The words of a question that tell something, as stems, and how often a text has them.
//!
//! Words of grammar tell nothing; words people ask with tell little, though they are rare where answers are. What is
//! neither, in any language, is weighed by how rare it is.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use super::Voice;
use crate::search::stem::stem;
use crate::search::{each_term, is_grammar, is_unspaced};

/// What a word weighs that people ask with.
const ASKING_WEIGHT: f64 = 0.3;
/// What a word weighs that stands only beside the sentences that ask.
const TOLD_WEIGHT: f64 = 0.5;
/// What a pair of characters weighs, by how many of them are grammar: most such pairs are no words.
const PAIR_WEIGHTS: [f64; 3] = [1.0, 0.6, 0.2];

/// Two words stand together if the second is one of so many after the first.
const PAIR_REACH: usize = 2;

/// What code stands between.
const FENCE: &str = "```";

/// Words of grammar in English; in other languages they are told by being everywhere.
const GRAMMAR: &str = "a an the and or but if of to in on at for with by from as is are was were be been being am do does did doing \
    have has had having i you he she it we they me him her us them my your his its our their this that these those what which \
    who whom whose when where why how not no so than too very can could would should will just about into over there here s t \
    re ve m ll d don";

/// Words to ask with, about anything at all.
const ASKING: &str = "ask tell told say said mention talk discuss discussion conversation chat list summarize summarise summary \
    describe explain think thought opinion know knew remember recall please give show find ever previously earlier many much";

/// Words that ask for how something began.
const FIRST: &str = "first initial initially original originally begin beginning began start";

/// How a question that asks for a model's own words is put: only what a model has done, as it is asked for new things
/// with the same verbs.
const ASKS_MODEL: [&str; 31] = [
    "did you",
    "have you",
    "you said",
    "you told",
    "you mentioned",
    "you recommended",
    "you suggested",
    "you advised",
    "you proposed",
    "you gave",
    "you provided",
    "you shared",
    "you showed",
    "you listed",
    "you wrote",
    "you explained",
    "you described",
    "你之前",
    "你上次",
    "你刚才",
    "你当时",
    "你告诉",
    "你提到",
    "你提过",
    "你说过",
    "你说的",
    "你推荐的",
    "你推荐过",
    "你建议的",
    "你给的",
    "你写的",
];

/// What stands before "you" where somebody speaks to the model, and it has said nothing.
const TO_SOMEBODY: [char; 8] = ['跟', '和', '对', '给', '向', '与', '诉', '同'];

static GRAMMAR_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| GRAMMAR.split_whitespace().collect());
static FIRST_STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| FIRST.split_whitespace().map(stem).collect());
static ASKING_STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| ASKING.split_whitespace().map(stem).collect());

/// The terms of a text that tell something, in order, repeats included.
pub fn stems(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    each_stem(text, |stem| all.push(stem));
    all
}

fn each_stem(text: &str, mut take: impl FnMut(String)) {
    each_telling(text, |term| take(stem(term)));
}

/// Calls `take` with each term of a text that tells something, as it stands there.
fn each_telling(text: &str, mut take: impl FnMut(&str)) {
    let mut in_run = false;
    each_term(text, |term| {
        let unspaced = term.starts_with(is_unspaced);
        // The last character of a run stands alone for searches by prefix; the pair before has it already.
        let tail = unspaced && in_run && term.chars().nth(1).is_none();
        in_run = unspaced && !tail;
        if !tail && !GRAMMAR_WORDS.contains(term) {
            take(term);
        }
    });
}

/// The sentences of a text that ask.
fn asking(text: &str) -> Vec<&str> {
    let ends = |c: char| matches!(c, '。' | '！' | '？' | '!' | '?' | '\n');
    let sentences = text.split_inclusive(ends).flat_map(|part| part.split_inclusive(". "));
    sentences.filter(|sentence| sentence.trim_end().ends_with(['?', '？'])).collect()
}

/// How much a term tells of a subject, however rare it is.
fn telling(term: &str) -> f64 {
    if term.starts_with(is_unspaced) {
        PAIR_WEIGHTS[term.chars().filter(|&c| is_grammar(c)).count().min(2)]
    } else if ASKING_STEMS.contains(term) {
        ASKING_WEIGHT
    } else {
        1.0
    }
}

/// The words that stand beside each other, by the number of their term; pairs of characters overlap anyway.
fn pairs(text: &str, numbers: &HashMap<String, usize>) -> Vec<(usize, usize)> {
    let words = stems(text);
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for pair in words.windows(2).filter(|pair| pair.iter().all(|term| !term.starts_with(is_unspaced))) {
        let pair = (numbers[&pair[0]], numbers[&pair[1]]);
        if pair.0 != pair.1 && !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    pairs
}

/// How often a text has each term of a question, and each pair of them, and how many terms it has in all.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    pub(super) terms: Vec<f64>,
    pub(super) pairs: Vec<f64>,
    pub(super) length: f64,
}

/// How some terms begin, as a set of bits. Few words of a text begin like one of a question's, and stems begin as their
/// words do, so that hardly any word has to be stemmed and looked up.
#[derive(Clone, Debug)]
struct Beginnings([u64; 16]);

impl Beginnings {
    fn of<'a>(terms: impl Iterator<Item = &'a String>) -> Self {
        let mut bits = [0; 16];
        for (at, bit) in terms.map(|term| Self::place(term)) {
            bits[at] |= bit;
        }
        Self(bits)
    }

    fn may_have(&self, word: &str) -> bool {
        let (at, bit) = Self::place(word);
        self.0[at] & bit != 0
    }

    /// Where the bit of a word is, by its first two bytes.
    fn place(word: &str) -> (usize, u64) {
        let mut bytes = word.bytes().map(usize::from);
        let (first, second) = (bytes.next().unwrap_or(0), bytes.next().unwrap_or(0));
        let number = first * 37 + second;
        (number / 64 % 16, 1 << (number % 64))
    }
}

/// What a person asks, in terms to look up.
#[derive(Clone, Debug)]
pub struct Question {
    terms: Vec<String>,
    weights: Vec<f64>,
    numbers: HashMap<String, usize>,
    beginnings: Beginnings,
    pairs: Vec<(usize, usize)>,
    /// Whether it asks how something began.
    pub(super) asks_first: bool,
    /// Whether it asks what a model said.
    pub(super) asks_model: bool,
}

impl Question {
    /// Reads a question.
    pub fn read(text: &str) -> Self {
        let mut terms: Vec<String> = Vec::new();
        let mut numbers = HashMap::new();
        each_stem(text, |stem| {
            numbers.entry(stem).or_insert_with_key(|stem| {
                terms.push(stem.clone());
                terms.len() - 1
            });
        });
        let asked: HashSet<String> = asking(text).into_iter().flat_map(stems).collect();
        let told = |term: &String| if asked.is_empty() || asked.contains(term) { 1.0 } else { TOLD_WEIGHT };
        let weights = terms.iter().map(|term| telling(term) * told(term)).collect();
        let said = text.to_lowercase().replace('您', "你");
        let by_model = |at: usize| !said[..at].ends_with(TO_SOMEBODY);
        let asks_model = ASKS_MODEL.iter().any(|phrase| said.match_indices(phrase).any(|(at, _)| by_model(at)));
        let asks_first = terms.iter().any(|term| FIRST_STEMS.contains(term));
        let (pairs, beginnings) = (pairs(text, &numbers), Beginnings::of(terms.iter()));
        Self { terms, weights, numbers, beginnings, pairs, asks_first, asks_model }
    }

    /// The same with at most so many terms: long ones tell more.
    #[must_use]
    pub fn narrowed(mut self, most: usize) -> Self {
        if self.terms.len() <= most {
            return self;
        }
        let mut order: Vec<usize> = (0..self.terms.len()).collect();
        #[expect(clippy::cast_precision_loss, reason = "words are short")]
        let telling = |i: usize| self.weights[i] * self.terms[i].chars().count() as f64;
        order.sort_by(|&a, &b| telling(b).total_cmp(&telling(a)));
        order.truncate(most);
        order.sort_unstable();
        let kept = |of: usize| order.binary_search(&of).ok();
        self.pairs = self.pairs.iter().filter_map(|&(a, b)| kept(a).zip(kept(b))).collect();
        self.terms = order.iter().map(|&i| std::mem::take(&mut self.terms[i])).collect();
        self.weights = order.iter().map(|&i| self.weights[i]).collect();
        self.numbers = self.terms.iter().cloned().zip(0..).collect();
        self.beginnings = Beginnings::of(self.terms.iter());
        self
    }

    /// The terms to look up.
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    pub(super) fn weights(&self) -> impl Iterator<Item = f64> {
        self.weights.iter().copied()
    }

    /// Words that stand beside each other, as numbers of terms.
    pub(super) fn pairs(&self) -> &[(usize, usize)] {
        &self.pairs
    }

    /// How often a text has what is asked for, apart from a stretch that is not read. The code a person shows does not
    /// make it longer: it comes with what they say of it. Nor does a log say more by repeating a word in every line:
    /// otherwise its neighbours would seem to speak of it as well.
    pub(super) fn count(&self, text: &str, unread: &Range<usize>, voice: Voice) -> Counts {
        let mut counts = Counts { terms: vec![0.0; self.terms.len()], pairs: vec![0.0; self.pairs.len()], length: 0.0 };
        let mut at = 0;
        for (i, part) in text.split(FENCE).enumerate() {
            let before = (voice == Voice::Person && i % 2 == 1).then(|| counts.clone());
            // Fences are looked for in all of it: the end may be code, or stand after it.
            let [from, upto] = [unread.start, unread.end].map(|end| end.clamp(at, at + part.len()) - at);
            self.add(&part[..from], &mut counts);
            self.add(&part[upto..], &mut counts);
            at += part.len() + FENCE.len();
            if let Some(before) = before {
                counts.length = before.length;
                for (now, before) in counts.terms.iter_mut().zip(before.terms) {
                    *now = f64::min(*now, f64::max(before, 1.0));
                }
            }
        }
        counts
    }

    fn add(&self, text: &str, counts: &mut Counts) {
        let mut before = [None; PAIR_REACH];
        each_telling(text, |term| {
            let may_have = self.beginnings.may_have(term);
            let number = may_have.then(|| self.numbers.get(&stem(term)).copied()).flatten();
            if let Some(number) = number {
                counts.terms[number] += 1.0;
                let pairs = self.pairs.iter().zip(&mut counts.pairs);
                for (_, count) in pairs.filter(|(pair, _)| pair.1 == number && before.contains(&Some(pair.0))) {
                    *count += 1.0;
                }
            }
            counts.length += 1.0;
            before.rotate_right(1);
            before[0] = number;
        });
    }

    /// Which terms are in a name.
    pub(super) fn named(&self, name: Option<&str>) -> Vec<bool> {
        let of_name: HashSet<String> = name.map(stems).unwrap_or_default().into_iter().collect();
        self.terms.iter().map(|term| of_name.contains(term)).collect()
    }
}
