//! Ranking: BM25 over candidates that a store's index names, with a reward for words that stand together.
//!
//! Candidates are bounded, so a search for a common word costs the same in a million messages as in a thousand: then
//! the newest are ranked. (With a filter that few pass, a store looks at more.) Messages that hold every term come first; only if they are few is any term enough.

use std::collections::{HashMap, HashSet};

use futures_util::future::BoxFuture;

use super::snippet::Snippet;
use super::words::{bare, each_run, lower, pairs, small};
use super::{Need, Probe, Reach, Term, each_term, folded, is_unspaced};
use crate::error::{Error, Result};
use crate::ids::{At, SessionId, Tenant};
use crate::message::Message;
use crate::store::{Matches, Store, Stored};

/// How many messages are ranked at most.
const CANDIDATES: usize = 256;
/// How many different words of a query are looked for, and how many terms they may have: nobody types more.
const UNITS: usize = 64;
const TERMS: usize = 256;
/// How many of a long query's terms are looked up when not all of them occur together: the rarest.
const RAREST: usize = 8;
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// What it is worth that a piece of the query stands in the message letter by letter.
const TOGETHER: f64 = 0.5;

/// What to look for.
#[derive(Clone, Debug)]
pub struct Query {
    /// The words.
    pub text: String,
    /// Where.
    pub reach: Reach,
    /// Only what this speaker said, as [`Stored::is_said_by`] tells.
    pub role: Option<String>,
    /// Only what was said at this time or later.
    pub since: Option<At>,
    /// Only what was said before this time.
    pub until: Option<At>,
    /// At most so many results.
    pub limit: usize,
}

impl Query {
    /// A query over everything, for up to ten results.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), reach: Reach::Everywhere, role: None, since: None, until: None, limit: 10 }
    }

    /// A question to the index with the same filters.
    pub(crate) fn probe(&self, terms: Vec<Term>, need: Need) -> Probe {
        Probe {
            speaker: self.role.clone(),
            since: self.since,
            until: self.until,
            ..Probe::new(terms, need, self.reach.clone(), CANDIDATES.max(self.limit))
        }
    }
}

/// A message that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its session.
    pub session: SessionId,
    /// The message.
    pub message: Stored,
    /// How well it matches; comparable within one search only.
    pub score: f64,
    /// Where the words are.
    pub snippet: Snippet,
}

impl Found {
    /// A message that was found by other means than words, with those it has.
    pub(crate) fn other(session: SessionId, message: Stored, query: &Query) -> Self {
        let snippet = Snippet::of(&message.message().to_text(), &units(&query.text));
        Self { session, message, score: 0.0, snippet }
    }
}

/// Searches a store.
pub fn find<'a>(store: &'a dyn Store, tenant: &'a Tenant, query: &'a Query) -> BoxFuture<'a, Result<Vec<Found>>> {
    Box::pin(async move {
        let mut terms = query_terms(&query.text);
        terms.truncate(TERMS);
        if terms.is_empty() {
            return Err(Error::Invalid(format!("“{}” has no word to search for", query.text)));
        }
        let mut matches = store.matching(tenant, query.probe(terms.clone(), Need::All)).await?;
        if matches.messages.len() < query.limit && terms.len() > 1 {
            let more = store.matching(tenant, query.probe(rarest(&terms, &matches.frequencies), Need::Any)).await?;
            let known: HashSet<_> = matches.messages.iter().map(|(session, message)| (*session, message.id)).collect();
            let fresh = more.messages.into_iter().filter(|(session, message)| !known.contains(&(*session, message.id)));
            matches.messages.extend(fresh);
        }
        Ok(ranked(query, &terms, matches))
    })
}

/// The terms of a query: words whole, runs without spaces as their pairs, a lone character as a prefix. Each is a term
/// of any text that holds the query's words.
pub(crate) fn query_terms(text: &str) -> Vec<Term> {
    let (mut terms, mut lowered) = (Vec::new(), String::new());
    each_run(text, |run| {
        if run.starts_with(is_unspaced) {
            terms.extend(terms_of_run(run));
        } else {
            let forms = bare(run).map(|bare| lower(&bare, &mut lowered).to_owned());
            terms.push(Term { forms: forms.into_iter().collect(), ..Term::exact(lower(run, &mut lowered)) });
        }
    });
    let mut seen = HashSet::new();
    terms.retain(|term| seen.insert(term.text.clone()));
    terms
}

fn terms_of_run(run: &str) -> Vec<Term> {
    let mut terms = Vec::new();
    pairs(run, &mut |pair: &str| terms.push(Term::exact(pair)));
    match &mut terms[..] {
        [lone] => lone.prefix = true,
        // The last character stands alone for those who look for nothing else.
        _ => drop(terms.pop()),
    }
    terms
}

/// The pieces of a query, folded, each once: words, and runs of scripts without spaces.
pub(super) fn units(text: &str) -> Vec<String> {
    let (mut units, mut seen) = (Vec::new(), HashSet::new());
    each_run(text, |run| {
        let unit = small(run);
        if units.len() < UNITS && seen.insert(unit.clone()) {
            units.push(unit);
        }
    });
    units
}

fn rarest(terms: &[Term], frequencies: &[u32]) -> Vec<Term> {
    let mut by_rarity: Vec<_> = terms.iter().zip(frequencies).filter(|(_, count)| **count > 0).collect();
    by_rarity.sort_by_key(|(_, count)| **count);
    by_rarity.into_iter().take(RAREST).map(|(term, _)| term.clone()).collect()
}

/// The terms that messages are read for.
pub(super) struct Wanted<'a> {
    exact: HashMap<&'a str, usize>,
    prefixes: Vec<(usize, &'a Term)>,
    count: usize,
}

impl<'a> Wanted<'a> {
    pub(super) fn of(terms: &'a [Term]) -> Self {
        let numbered = || terms.iter().enumerate();
        let forms = |(i, term): (usize, &'a Term)| term.forms.iter().map(move |form| (form.as_str(), i));
        let exact = numbered().flat_map(forms).chain(numbered().map(|(i, term)| (term.text.as_str(), i))).collect();
        Self { exact, prefixes: numbered().filter(|(_, term)| term.prefix).collect(), count: terms.len() }
    }

    /// Which of the terms a word is, if any.
    fn place(&self, word: &str) -> Option<usize> {
        let prefix = || self.prefixes.iter().find(|(_, wanted)| wanted.accepts(word)).map(|(i, _)| *i);
        self.exact.get(word).copied().or_else(prefix)
    }
}

/// What a message says of some terms.
pub(super) struct Said {
    /// The words that are wanted, and how often each is said.
    words: HashMap<String, f64>,
    length: f64,
}

impl Said {
    pub(super) fn read(text: &str, wanted: &Wanted<'_>) -> Self {
        let (mut words, mut length) = (HashMap::<String, f64>::new(), 0.0);
        each_term(text, |word| {
            length += 1.0;
            if let Some(count) = words.get_mut(word) {
                *count += 1.0;
            } else if wanted.place(word).is_some() {
                words.insert(word.to_owned(), 1.0);
            }
        });
        Self { words, length }
    }

    /// The same for some of the terms it was read for.
    pub(super) fn of(&self, wanted: &Wanted<'_>) -> Candidate {
        let mut counts = vec![0.0; wanted.count];
        for (word, count) in &self.words {
            if let Some(place) = wanted.place(word) {
                counts[place] += count;
            }
        }
        Candidate { counts, length: self.length }
    }
}

/// How often a message says each of some terms.
pub(super) struct Candidate {
    pub(super) counts: Vec<f64>,
    pub(super) length: f64,
}

impl Candidate {
    fn holds_every_term(&self) -> bool {
        self.counts.iter().all(|count| *count > 0.0)
    }

    fn score(&self, together: f64, rarity: &[f64], mean_length: f64) -> f64 {
        let norm = K1 * (1.0 - B + B * self.length / mean_length);
        let words: f64 = self.counts.iter().zip(rarity).map(|(tf, idf)| idf * tf * (K1 + 1.0) / (tf + norm)).sum();
        words * (1.0 + TOGETHER * together)
    }
}

/// The share of a query's pieces that stand in a text letter by letter.
#[expect(clippy::cast_precision_loss, reason = "a query has few pieces")]
fn together(text: &str, units: &[String]) -> f64 {
    if units.is_empty() {
        return 0.0;
    }
    let folded = folded(text);
    units.iter().filter(|unit| folded.contains(unit.as_str())).count() as f64 / units.len() as f64
}

/// What a message is found by: what it says, and the name of who says it.
fn signed(message: &Message) -> String {
    let text = message.to_text();
    match message.name() {
        Some(name) => format!("{name}\n{text}"),
        None => text,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn ranked(query: &Query, terms: &[Term], matches: Matches) -> Vec<Found> {
    let units = units(&query.text);
    let total = matches.total.max(1) as f64;
    let idf = |&count: &u32| (1.0 + (total - f64::from(count).min(total) + 0.5) / (f64::from(count) + 0.5)).ln();
    let rarity: Vec<f64> = matches.frequencies.iter().map(idf).collect();
    let wanted = Wanted::of(terms);
    let read = |(_, message): &(SessionId, Stored)| {
        let text = signed(&message.message());
        (Said::read(&text, &wanted).of(&wanted), together(&text, &units))
    };
    let read: Vec<_> = matches.messages.iter().map(read).collect();
    let mean_length =
        (read.iter().map(|(candidate, _)| candidate.length).sum::<f64>() / read.len().max(1) as f64).max(1.0);
    let mut scored: Vec<_> = read
        .iter()
        .map(|(candidate, together)| (candidate.holds_every_term(), candidate.score(*together, &rarity, mean_length)))
        .zip(matches.messages)
        .filter(|((_, score), _)| *score > 0.0)
        .collect();
    scored.sort_by(|((all_a, a), (_, m)), ((all_b, b), (_, n))| {
        all_b.cmp(all_a).then(b.total_cmp(a)).then(n.at.cmp(&m.at))
    });
    scored.truncate(query.limit);
    let found = |((_, score), (session, message)): ((bool, f64), (SessionId, Stored))| {
        let snippet = Snippet::of(&message.message().to_text(), &units);
        Found { session, message, score, snippet }
    };
    scored.into_iter().map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::terms;

    fn check(query: &str, expected: &[&str]) {
        let written = |term: Term| if term.prefix { format!("{}*", term.text) } else { term.text };
        assert_eq!(query_terms(query).into_iter().map(written).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn queries_become_terms() {
        check("Build FAIL build", &["build", "fail"]);
        check("recall_page", &["recall", "page"]);
        check("数据库", &["数据", "据库"]);
        check("猫", &["猫*"]);
        check("用 Rust写", &["用*", "rust", "写*"]);
        check("?!", &[]);
    }

    #[test]
    fn a_query_has_no_more_pieces_than_anybody_types() {
        assert_eq!(units(&"ab Ab ".repeat(5_000)), ["ab"]);
        let endless: Vec<String> = (0..20_000).map(|i| format!("w{i}")).collect();
        assert_eq!(units(&endless.join(" ")), endless[..UNITS]);
    }

    #[test]
    fn signs_that_are_left_out_do_not_matter() {
        let pictures = [("❤", "I ❤\u{fe0f} it"), ("❤\u{fe0f}", "I ❤ it"), ("🎉", "🎉🎉🎉"), ("👍", "👍🏽 ok")];
        let words = [("كتاب", "كِتَاب"), ("كِتَاب", "كتاب جديد"), ("שלום", "שָׁלוֹם לך"), ("שָׁלוֹם", "שלום")];
        for (query, text) in pictures.into_iter().chain(words) {
            let (terms, held) = (query_terms(query), terms(text));
            assert!(terms.iter().all(|term| term.is_among(term.beginning(), &held)), "{query} in {text}");
            let wanted = Wanted::of(&terms);
            assert!(Said::read(text, &wanted).of(&wanted).holds_every_term(), "{query} in {text}");
        }
    }

    #[test]
    fn no_word_of_a_query_is_lost() {
        check("Redis、Kafka", &["redis", "kafka"]);
        check("Zürich–Basel 2019–2021", &["zürich", "basel", "2019", "2021"]);
        check("don’t “quote” 10€→12€", &["don", "t", "quote", "10", "12"]);
        check("می\u{200c}خواهم", &["می", "خواهم"]);
        check("ΟΔΟΣ", &["οδος"]);
    }

    proptest::proptest! {
        #[test]
        fn every_text_is_found_by_its_own_words(text in "[a-bA-BΣσİẞé–、’ \u{331}数据]{0,12}") {
            let held = terms(&text);
            for term in query_terms(&text) {
                proptest::prop_assert!(term.is_among(term.beginning(), &held), "{term:?} is not among {held:?}");
            }
        }
    }

    #[test]
    fn capitals_count_as_what_they_are_searched_with() {
        let units = units("ΟΔΟΣ");
        assert!((together("Η ΟΔΟΣ είναι μακριά", &units) - 1.0).abs() < f64::EPSILON);
        assert_eq!(Snippet::of("Η ΟΔΟΣ, η οδος", &units).marked("[", "]"), "Η [ΟΔΟΣ], η [οδος]");
    }
}
