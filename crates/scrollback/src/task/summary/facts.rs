//! Facts of a text: what a summary of it should still hold.
//!
//! Names, numbers, identifiers, paths, addresses and code are found by how they are written (`words`, `figures`,
//! `names`), decisions, constraints and tasks by the phrases that announce them (`cues`). Fenced code is not looked
//! into: it is kept word for word or stays in its message. The work grows with the text and no faster.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::super::sentences::{sentences, shortened};
use super::blocks::prose_lines;
use super::cues::kind_of;
use super::names::Names;
use super::words::{fact_of, words};
use crate::search::folded;

/// How much of a sentence is kept.
const SENTENCE_CHARS: usize = 240;
/// The length of inline code that is a fact.
const CODE_CHARS: std::ops::RangeInclusive<usize> = 2..=80;

/// What kind of thing a fact is, the most telling first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactKind {
    /// Something that must or must not happen: a sentence.
    Constraint,
    /// Something that was decided: a sentence.
    Decision,
    /// Something that is still to be done: a sentence.
    Task,
    /// Code within a line.
    Code,
    /// A file or a folder.
    Path,
    /// An address.
    Url,
    /// What something is called in code, in a catalogue, on a label.
    Identifier,
    /// An amount, a date, a time, a version.
    Number,
    /// What somebody or something is called.
    Name,
}

impl FactKind {
    /// How many of a kind are taken from one text: the first.
    fn most(self) -> usize {
        match self {
            Self::Constraint | Self::Decision | Self::Task => 30,
            Self::Code | Self::Path | Self::Number => 20,
            Self::Identifier => 25,
            Self::Url => 10,
            Self::Name => 15,
        }
    }
}

/// Something a text says that can be looked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fact {
    /// What kind of thing it is.
    pub kind: FactKind,
    /// The words that say it.
    pub text: String,
}

/// The facts of a text, the most telling kinds first, each once, at most two hundred.
pub fn facts(text: &str) -> Vec<Fact> {
    let (mut found, mut names) = (Found::default(), Names::default());
    for line in prose_lines(text) {
        for sentence in sentences(line) {
            if let Some(kind) = kind_of(&sentence) {
                found.take(kind, &shortened(&sentence, SENTENCE_CHARS));
            }
        }
        let (code, spoken) = parted(line);
        for piece in code.into_iter().filter(|piece| CODE_CHARS.contains(&piece.chars().count())) {
            found.take(FactKind::Code, piece);
        }
        for piece in spoken {
            in_words(piece, &mut found, &mut names);
        }
    }
    for name in names.found() {
        found.take(FactKind::Name, &name);
    }
    found.facts.sort_by_key(|fact| fact.kind);
    found.facts
}

fn in_words<'a>(piece: &'a str, found: &mut Found, names: &mut Names<'a>) {
    let words = words(piece);
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |before| words[before].text);
        // The number of a heading tells nothing.
        let counts = at == 0 && piece.starts_with('#');
        match fact_of(word, before) {
            Some((FactKind::Number, _)) if counts => {}
            Some((kind, text)) => found.take(kind, &text),
            None => {}
        }
    }
    names.hear(piece, &words);
}

/// What stands between backticks in a line, and what does not.
fn parted(line: &str) -> (Vec<&str>, Vec<&str>) {
    let mut pieces: Vec<&str> = line.split('`').collect();
    let last = if pieces.len().is_multiple_of(2) { pieces.pop() } else { None };
    let code = pieces.iter().copied().skip(1).step_by(2).map(str::trim);
    let spoken = pieces.iter().copied().step_by(2).chain(last);
    (code.filter(|piece| piece.chars().any(char::is_alphanumeric)).collect(), spoken.collect())
}

#[derive(Default)]
struct Found {
    facts: Vec<Fact>,
    counts: HashMap<FactKind, usize>,
    seen: HashSet<String>,
}

impl Found {
    /// Takes a fact unless it was taken already or there are enough of its kind.
    fn take(&mut self, kind: FactKind, text: &str) {
        let count = self.counts.entry(kind).or_default();
        if *count < kind.most() && self.seen.insert(folded(text)) {
            *count += 1;
            self.facts.push(Fact { kind, text: text.to_owned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::scraps;
    use super::*;
    use proptest::prelude::*;

    fn found(text: &str, kind: FactKind) -> Vec<String> {
        facts(text).into_iter().filter(|fact| fact.kind == kind).map(|fact| fact.text).collect()
    }

    const ENGLISH: &str = "\
We moved the harbour site to a new host yesterday, and Ann Lee wrote it down in docs/moving.md and in Cargo.toml.
The old server (HB-22, 16 GB, paid $1,200 a year) answers on port 4800 until 2026-11-15. Read https://example.org/tides/ first.
Call `cargo test --lib` and then reload_gauge(), or restart() by hand; `MAX_RETRIES` is 5.
We decided to use SQLite 3.46 instead of Postgres. The gauge must not be asked more than once a minute.
- [ ] Tell Mr Okafor about the outage.
Should we never sleep? I had toast, and/or tea, at 60 km/h.";

    #[test]
    fn facts_of_an_english_text() {
        assert_eq!(found(ENGLISH, FactKind::Path), ["docs/moving.md", "Cargo.toml"]);
        assert_eq!(found(ENGLISH, FactKind::Url), ["https://example.org/tides"]);
        assert_eq!(found(ENGLISH, FactKind::Code), ["cargo test --lib", "MAX_RETRIES"]);
        assert_eq!(found(ENGLISH, FactKind::Identifier), ["HB-22", "reload_gauge", "restart()"]);
        assert_eq!(found(ENGLISH, FactKind::Number), ["16 GB", "$1,200", "4800", "2026-11-15", "3.46", "60 km"]);
        assert_eq!(found(ENGLISH, FactKind::Decision), ["We decided to use SQLite 3.46 instead of Postgres."]);
        assert_eq!(found(ENGLISH, FactKind::Constraint), ["The gauge must not be asked more than once a minute."]);
        assert_eq!(found(ENGLISH, FactKind::Task), ["- [ ] Tell Mr Okafor about the outage."]);
        let names = found(ENGLISH, FactKind::Name);
        for name in ["Ann Lee", "Postgres", "Mr Okafor"] {
            assert!(names.contains(&name.to_owned()), "{names:?}");
        }
        assert!(!names.iter().any(|name| ["Read", "The", "Call", "Tell"].contains(&name.as_str())), "{names:?}");
    }

    const CHINESE: &str = "\
我们把网站搬到了新主机，配置写在conf/site.toml里，调用reload_gauge()就能重载。
旧服务器编号HB-22，每年8,400元，用到2026年11月15日，延迟30毫秒。
我们决定改用第二台潮位计，型号记录在《潮汐手册》和“港口日志”里。
每分钟最多查询一次，不要在夜里重启。
下一步是通知王工。我们要不要休息？";

    #[test]
    fn facts_of_a_chinese_text() {
        assert_eq!(found(CHINESE, FactKind::Path), ["conf/site.toml"]);
        assert_eq!(found(CHINESE, FactKind::Identifier), ["reload_gauge", "HB-22"]);
        assert_eq!(found(CHINESE, FactKind::Number), ["8,400元", "2026年", "11月", "15日", "30毫秒"]);
        assert_eq!(found(CHINESE, FactKind::Name), ["潮汐手册", "港口日志"]);
        assert_eq!(found(CHINESE, FactKind::Constraint), ["每分钟最多查询一次，不要在夜里重启。"]);
        assert_eq!(found(CHINESE, FactKind::Decision).len(), 1);
        assert_eq!(found(CHINESE, FactKind::Task), ["下一步是通知王工。"]);
    }

    #[test]
    fn ids_of_messages_fenced_code_and_small_numbers_are_no_facts() {
        assert_eq!(facts("## 3.1 Reading\nas said [m12, m13]\n```\nlet tide_gauge = 4800;\n```\n1. two 3 4"), []);
    }

    #[test]
    fn words_that_often_begin_sentences_are_names_unless_they_are_words() {
        let text = "Berta came. Tides rose. Berta left. Tides fell. We saw tides. However, Berta slept.";
        assert_eq!(found(text, FactKind::Name), ["Berta"]);
    }

    #[test]
    fn large_texts_end_soon_and_give_few_facts() {
        let line =
            |i: usize| format!("At {i} ms Gauge{i} must read /var/log/tide_{i}.log `x{i}` by Ann{} Lee.\n", i % 100);
        let log = (0..10_000).map(line).collect::<Vec<_>>().concat();
        assert!(facts(&log).len() <= 200);
        for piece in ["a", "`", "1", "1,", "/", "《", "A ", "潮", "`a` ", "must ", "_", "A. ", "“潮", "<"] {
            assert!(facts(&piece.repeat(500_000 / piece.len())).len() <= 200, "{piece}");
        }
    }

    proptest! {
        #[test]
        fn a_text_holds_its_own_facts(text in scraps()) {
            let all = facts(&text);
            prop_assert_eq!(super::super::held::lost(&all, &text), []);
        }
    }
}
