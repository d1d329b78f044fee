//! Simple ways of choosing what stands in a window.

use std::collections::HashSet;

use crate::dataset::recall::{Asked, Said, Talk};
use crate::index::Index;
use crate::window::fill;

/// What a message is lent of the scores of its nearest neighbours, on either side.
const NEAR: [f64; 1] = [0.5];
/// The same of the three nearest.
const WIDE: [f64; 3] = [0.5, 0.3, 0.15];
/// Messages below this size cost alike.
const SMALL_TOKENS: u32 = 60;

/// A way of choosing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choosing {
    /// The newest messages.
    Last,
    /// Messages by BM25.
    Words,
    /// Messages by BM25, half of it from each neighbour.
    Neighbours,
    /// What people said by BM25, then what models said.
    People,
    /// The same with neighbours.
    PeopleAround,
    /// The same with three neighbours on either side.
    PeopleWide,
    /// Messages by BM25 with three neighbours on either side, over the root of their size.
    BySize,
    /// The same, what people said first.
    PeopleBySize,
    /// Whole sessions by BM25, as the data divides them.
    Sessions,
    /// Messages by how near their meaning is, where there are embeddings.
    Meaning,
    /// Messages by their ranks by neighbours and by meaning: the sum of 1 / (60 + rank).
    Fused,
    /// The same, what people said first.
    FusedPeople,
    /// By their ranks by three neighbours and size, and by meaning.
    FusedBySize,
    /// The same, what people said first.
    FusedPeopleBySize,
    /// The evidence itself, the shortest first, so that nothing can hold more of it.
    Oracle,
}

impl Choosing {
    const ALL: [Self; 15] = [
        Self::Last,
        Self::Words,
        Self::Neighbours,
        Self::People,
        Self::PeopleAround,
        Self::PeopleWide,
        Self::BySize,
        Self::PeopleBySize,
        Self::Sessions,
        Self::Meaning,
        Self::Fused,
        Self::FusedPeople,
        Self::FusedBySize,
        Self::FusedPeopleBySize,
        Self::Oracle,
    ];

    /// All of them, or all that need no embeddings.
    pub fn all(embedded: bool) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |choosing| embedded || !choosing.needs_embeddings())
    }

    const fn needs_embeddings(self) -> bool {
        matches!(self, Self::Meaning | Self::Fused | Self::FusedPeople | Self::FusedBySize | Self::FusedPeopleBySize)
    }

    /// What it is called in a report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Last => "the newest",
            Self::Words => "BM25",
            Self::Neighbours => "BM25 with neighbours",
            Self::People => "BM25, people first",
            Self::PeopleAround => "BM25 with neighbours, people first",
            Self::PeopleWide => "BM25 with three neighbours, people first",
            Self::BySize => "BM25 with three neighbours, by size",
            Self::PeopleBySize => "BM25 with three neighbours, by size, people first",
            Self::Sessions => "BM25, whole sessions",
            Self::Meaning => "embeddings",
            Self::Fused => "BM25 with neighbours and embeddings",
            Self::FusedPeople => "BM25 with neighbours and embeddings, people first",
            Self::FusedBySize => "BM25 with three neighbours, by size, and embeddings",
            Self::FusedPeopleBySize => "BM25 with three neighbours, by size, and embeddings, people first",
            Self::Oracle => "oracle",
        }
    }

    /// Windows of several sizes for a question; `near` says how near each message is to it, if that is known.
    pub fn windows(
        self,
        (talk, index): (&Talk, &Index),
        (asked, near): (&Asked, &[f64]),
        rooms: &[u32],
    ) -> Vec<Vec<usize>> {
        let order = self.order((talk, index), (asked, near));
        rooms.iter().map(|&room| fill(&talk.messages, order.iter().copied(), room)).collect()
    }

    fn order(self, (talk, index): (&Talk, &Index), (asked, near): (&Asked, &[f64])) -> Vec<usize> {
        let words = || index.bm25(&asked.text);
        let around = || best_first(&with_neighbours(&words(), &NEAR));
        let wide = || with_neighbours(&words(), &WIDE);
        let by_size = || over_size(&talk.messages, wide());
        let joined = || best_first(&fused([&with_neighbours(&words(), &NEAR), near]));
        let joined_by_size = || best_first(&fused([&by_size(), near]));
        match self {
            Self::Last => (0..index.len()).rev().collect(),
            Self::Words => best_first(&words()),
            Self::Neighbours => around(),
            Self::People => people_first(&talk.messages, &best_first(&words())),
            Self::PeopleAround => people_first(&talk.messages, &around()),
            Self::PeopleWide => people_first(&talk.messages, &best_first(&wide())),
            Self::BySize => best_first(&by_size()),
            Self::PeopleBySize => people_first(&talk.messages, &best_first(&by_size())),
            Self::Sessions => sessions(&talk.messages, &words()),
            Self::Meaning => best_first(near),
            Self::Fused => joined(),
            Self::FusedPeople => people_first(&talk.messages, &joined()),
            Self::FusedBySize => joined_by_size(),
            Self::FusedPeopleBySize => people_first(&talk.messages, &joined_by_size()),
            Self::Oracle => shortest_first(&talk.messages, &asked.evidence),
        }
    }
}

/// Places by score; of equals, the newest first.
fn best_first(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).rev().collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    order
}

/// Scores with what neighbours lend, the nearest first.
fn with_neighbours(scores: &[f64], lent: &[f64]) -> Vec<f64> {
    let at = |place: Option<usize>| place.and_then(|place| scores.get(place)).copied().unwrap_or(0.0);
    let both = |i: usize, away: usize| at(i.checked_sub(away)) + at(i.checked_add(away));
    let around = |i: usize| scores[i] + (1..).zip(lent).map(|(away, share)| share * both(i, away)).sum::<f64>();
    (0..scores.len()).map(around).collect()
}

/// What a message scores for the room it takes.
fn over_size(messages: &[Said], scores: Vec<f64>) -> Vec<f64> {
    let over = |(score, said): (f64, &Said)| score / f64::from(said.tokens.max(SMALL_TOKENS)).sqrt();
    scores.into_iter().zip(messages).map(over).collect()
}

/// Reciprocal ranks, summed.
#[expect(clippy::cast_precision_loss, reason = "a talk has fewer than 2^52 messages")]
fn fused(scores: [&[f64]; 2]) -> Vec<f64> {
    let mut sums = vec![0.0; scores[0].len()];
    for scores in scores {
        for (rank, place) in best_first(scores).into_iter().enumerate() {
            sums[place] += 1.0 / (60.0 + rank as f64);
        }
    }
    sums
}

fn shortest_first(messages: &[Said], places: &[usize]) -> Vec<usize> {
    let mut places = places.to_vec();
    places.sort_by_key(|&place| messages[place].tokens);
    places
}

fn people_first(messages: &[Said], order: &[usize]) -> Vec<usize> {
    let (people, models): (Vec<usize>, Vec<usize>) =
        order.iter().partition(|&&place| messages[place].voice == scrollback::search::gather::Voice::Person);
    people.into_iter().chain(models).collect()
}

/// Sessions by the sum of their three best messages, each in the order of the log.
fn sessions(messages: &[Said], scores: &[f64]) -> Vec<usize> {
    let count = messages.last().map_or(0, |last| last.session + 1);
    let mut of_session: Vec<Vec<f64>> = vec![Vec::new(); count];
    for (said, score) in messages.iter().zip(scores) {
        of_session[said.session].push(*score);
    }
    let top = |scores: &mut Vec<f64>| {
        scores.sort_by(|a, b| b.total_cmp(a));
        scores.iter().take(3).sum()
    };
    let sums: Vec<f64> = of_session.iter_mut().map(top).collect();
    let mut seen = HashSet::new();
    let ranked = best_first(&sums).into_iter().filter(|session| seen.insert(*session));
    ranked.flat_map(|session| (0..messages.len()).filter(move |&place| messages[place].session == session)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_lend_half() {
        assert_eq!(with_neighbours(&[0.0, 2.0, 0.0, 1.0], &NEAR), [1.0, 2.0, 1.5, 1.0]);
        assert_eq!(with_neighbours(&[0.0, 0.0, 0.0, 4.0], &[0.5, 0.25]), [0.0, 1.0, 2.0, 4.0]);
        assert_eq!(best_first(&[1.0, 3.0, 1.0]), [1, 2, 0]);
        assert_eq!(best_first(&fused([&[3.0, 2.0, 1.0], &[0.1, 0.9, 0.8]])), [1, 0, 2], "second and first is best");
    }

    #[test]
    fn of_two_that_score_alike_the_smaller_is_worth_more() {
        let voice = scrollback::search::gather::Voice::Person;
        let said = |tokens| Said {
            voice,
            is_reply: false,
            speaker: "Ann".into(),
            is_named: true,
            at: None,
            session: 0,
            text: String::new(),
            tokens,
        };
        let scores = over_size(&[said(6_000), said(60), said(6)], vec![1.0; 3]);
        assert!((scores[1] / scores[0] - 10.0).abs() < 1e-9 && (scores[1] - scores[2]).abs() < 1e-9, "{scores:?}");
    }

    #[test]
    fn meaning_is_fused_with_words_and_size() {
        let said = |text: &str| {
            let (speaker, tokens) = ("Ann".to_owned(), crate::window::line_tokens(0, "Ann", text));
            let voice = scrollback::search::gather::Voice::Person;
            Said { voice, is_reply: false, speaker, is_named: true, at: None, session: 0, text: text.into(), tokens }
        };
        let mut messages = vec![said("A kettle whistles."); 12];
        messages[2] = said(&format!("The boiler {}", "hums and hums ".repeat(200)));
        messages[9] = said("The boiler hums.");
        let talk = Talk { messages, questions: Vec::new() };
        let asked = Asked { kind: String::new(), text: "boiler?".into(), evidence: vec![9], answer: None, at: None };
        let mut near = [0.0; 12];
        (near[2], near[6], near[9]) = (0.5, 0.9, 0.5);
        let order = |choosing: Choosing| choosing.order((&talk, &Index::of(&talk)), (&asked, &near));
        for choosing in [Choosing::FusedBySize, Choosing::FusedPeopleBySize] {
            assert!(choosing.needs_embeddings() && !Choosing::all(false).any(|other| other == choosing));
            assert_eq!(order(choosing)[0], 9, "{choosing:?}");
        }
        assert_eq!(order(Choosing::Meaning)[0], 6);
    }

    #[test]
    fn nothing_holds_more_evidence_than_the_oracle() {
        let said = |text: &str| {
            let (speaker, tokens) = ("Ann".to_owned(), crate::window::line_tokens(0, "Ann", text));
            let voice = scrollback::search::gather::Voice::Person;
            Said { voice, is_reply: false, speaker, is_named: true, at: None, session: 0, text: text.into(), tokens }
        };
        let messages = vec![said(&"long ".repeat(90)), said("short"), said("brief")];
        let talk = Talk { messages, questions: Vec::new() };
        let asked =
            Asked { kind: String::new(), text: "long?".into(), evidence: vec![0, 1, 2], answer: None, at: None };
        let windows = Choosing::Oracle.windows((&talk, &Index::of(&talk)), (&asked, &[]), &[100, 1_000]);
        assert_eq!(windows, [vec![1, 2], vec![0, 1, 2]]);
    }
}
