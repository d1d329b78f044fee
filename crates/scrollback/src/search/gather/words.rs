//! The words of a question that tell something, as stems, and how often a text has them.
//!
//! Words of grammar tell nothing; words people ask with tell little, though they are rare where answers are. What is neither, in
//! any language, is weighed by how rare it is.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::search::stem::stem;
use crate::search::{each_term, is_grammar, is_unspaced};

/// What a word weighs that people ask with.
const ASKING_WEIGHT: f64 = 0.3;
/// What a word weighs that stands only beside the sentences that ask.
const TOLD_WEIGHT: f64 = 0.5;
/// What a pair of characters weighs, by how many of them are grammar: most such pairs are no words.
const PAIR_WEIGHTS: [f64; 3] = [1.0, 0.6, 0.2];

/// Words of grammar in English; in other languages they are told by being everywhere.
const GRAMMAR: &str = "a an the and or but if of to in on at for with by from as is are was were be been being am do does did doing \
    have has had having i you he she it we they me him her us them my your his its our their this that these those what which \
    who whom whose when where why how not no so than too very can could would should will just about into over there here s t \
    re ve m ll d don";

/// Words to ask with: they stand in questions about anything.
const ASKING: &str = "mention list order item tell told say said ask talk discuss discussion conversation chat summarize summary \
    summarise describe explain bring brought up different aspect throughout across walk through only think thought opinion know \
    remember recall please give ever previously earlier many much";

/// How a question that asks for a model's own words is put.
const ASKS_MODEL: [&str; 4] = ["did you", "have you", "you said", "you told"];

static GRAMMAR_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| GRAMMAR.split_whitespace().collect());
static ASKING_STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| ASKING.split_whitespace().map(stem).collect());

/// The terms of a text that tell something, in order, repeats included.
pub fn stems(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    each_stem(text, |stem| all.push(stem));
    all
}

fn each_stem(text: &str, mut take: impl FnMut(String)) {
    let mut in_run = false;
    each_term(text, |term| {
        let unspaced = term.starts_with(is_unspaced);
        // The last character of a run stands alone for searches by prefix; the pair before has it already.
        let tail = unspaced && in_run && term.chars().nth(1).is_none();
        in_run = unspaced && !tail;
        if !tail && !GRAMMAR_WORDS.contains(term) {
            take(stem(term));
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

/// What a person asks, in terms to look up.
#[derive(Clone, Debug)]
pub struct Question {
    terms: Vec<String>,
    weights: Vec<f64>,
    numbers: HashMap<String, usize>,
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
        let said = text.to_lowercase();
        let asks_model = ASKS_MODEL.iter().any(|phrase| said.contains(phrase));
        Self { terms, weights, numbers, asks_model }
    }

    /// The terms to look up.
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    pub(super) fn weights(&self) -> impl Iterator<Item = f64> {
        self.weights.iter().copied()
    }

    /// How often a text has each term, and how many terms it has.
    pub(super) fn count(&self, text: &str) -> (Vec<f64>, f64) {
        let (mut counts, mut length) = (vec![0.0; self.terms.len()], 0.0);
        each_stem(text, |stem| {
            length += 1.0;
            if let Some(&number) = self.numbers.get(&stem) {
                counts[number] += 1.0;
            }
        });
        (counts, length)
    }

    /// Which terms are in a name.
    pub(super) fn named(&self, name: Option<&str>) -> Vec<bool> {
        let of_name: HashSet<String> = name.map(stems).unwrap_or_default().into_iter().collect();
        self.terms.iter().map(|term| of_name.contains(term)).collect()
    }
}
