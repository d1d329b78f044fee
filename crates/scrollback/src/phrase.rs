//! Phrases: words with gaps, for telling what a person means by how they put it.
//!
//! A phrase is written as it is said. `a/b` is either, `[a]` may be missing, `_` joins the words of one choice, `…` (or
//! `...`) is a few words of the same clause, `.` is where a clause begins or ends, `?` where a question does, `#` a
//! number. Languages without spaces are matched by characters. Everything can be read as a phrase, so settings cannot
//! break it.

use std::collections::HashMap;

use crate::search::{folded, is_unspaced};

/// How wide a gap may be: a word counts [`WORD`], a character of a language without spaces 1.
const GAP: usize = 24;
const WORD: usize = 3;

/// Traditional characters that stand in phrases, each before its simplified form; each takes three bytes.
const SIMPLER: &str = "說说過过嗎吗還还記记討讨論论個个們们講讲談谈約约訴诉從从對对話话錄录檔档歸归幫帮會会決决問问來来難难裡里裏里週周\
                       舊旧歷历沒没麼么麽么萬万當当實实調调總总結结顧顾強强調调釋释發发給给無无數数兩两應应該该請请題题點点經经\
                       須须務务遠远後后現现開开統统絕绝別别準准許许優优確确時时嚴严續续為为規规則则廢废銷销視视";

/// Short forms, and what they are short for.
const SHORT: [(&str, &str); 14] = [
    ("dont", "do not"),
    ("didnt", "did not"),
    ("doesnt", "does not"),
    ("cant", "can not"),
    ("cannot", "can not"),
    ("havent", "have not"),
    ("ive", "i have"),
    ("weve", "we have"),
    ("youve", "you have"),
    ("can't", "can not"),
    ("u", "you"),
    ("ya", "you"),
    ("wut", "what"),
    ("what's", "what is"),
];

/// A part of a phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// One of several runs of words.
    Either(Choices),
    /// One of several, or none.
    Perhaps(Choices),
    /// A few words.
    Gap,
}

/// Runs of words, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Choices(Vec<Vec<String>>);

impl Choices {
    /// Enters a phrase under the first word of each.
    fn enter(&self, phrase: usize, by_word: &mut HashMap<String, Vec<usize>>) {
        for choice in &self.0 {
            let same = by_word.entry(choice[0].clone()).or_default();
            if same.last() != Some(&phrase) {
                same.push(phrase);
            }
        }
    }

    /// Whether each begins with a word, not with a sign that other words fit or that stands for words.
    fn are_words(&self) -> bool {
        self.0.iter().all(|choice| choice[0].contains(|c: char| c.is_alphanumeric() || is_unspaced(c)))
    }

    /// Those that begin with a word.
    fn beginning(&self, word: &str) -> &[Vec<String>] {
        let of = |said: &str| {
            let from = self.0.partition_point(|choice| choice[0].as_str() < said);
            let count = self.0[from..].partition_point(|choice| choice[0] == said);
            &self.0[from..from + count]
        };
        let sign = if is_stop(word) { "." } else { "#" };
        let exact = of(word);
        if exact.is_empty() && fits(sign, word) { of(sign) } else { exact }
    }
}

/// Many phrases, each looked for only where it may begin, and only among words without which it is never said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phrases {
    all: Vec<Phrase>,
    by_first: HashMap<String, Vec<usize>>,
    /// Those that begin with what may be missing, which may begin at any word.
    anywhere: Vec<usize>,
    /// Those that are said only with one of some words, by those.
    by_word: HashMap<String, Vec<usize>>,
    /// Those for which there are no such words.
    wordless: Vec<usize>,
}

impl Phrases {
    /// Reads phrases; those that say nothing are left out.
    pub(crate) fn read<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut read = Self::default();
        for phrase in texts.into_iter().filter_map(|text| Phrase::read(text.as_ref())) {
            let i = read.all.len();
            match phrase.0.first() {
                Some(Part::Either(choices)) => choices.enter(i, &mut read.by_first),
                Some(Part::Perhaps(_) | Part::Gap) | None => read.anywhere.push(i),
            }
            match phrase.telling() {
                Some(choices) => choices.enter(i, &mut read.by_word),
                None => read.wordless.push(i),
            }
            read.all.push(phrase);
        }
        read
    }

    /// Which of them may be in some words at all: next to none in what most people say, however often a clause begins.
    pub(crate) fn possible(&self, words: &[String]) -> Vec<bool> {
        let mut possible = vec![false; self.all.len()];
        let said = words.iter().filter_map(|word| self.by_word.get(word)).chain([&self.wordless]);
        said.flatten().for_each(|i| possible[*i] = true);
        possible
    }

    /// Whether one of them is somewhere in some words.
    pub(crate) fn are_in(&self, words: &[String]) -> bool {
        let possible = self.possible(words);
        let begins = |start| self.at(words, start, &possible).any(|phrase| phrase.end(words, start).is_some());
        (0..words.len()).any(begins)
    }

    /// Replaces them by a mark wherever they are.
    pub(crate) fn cross_out(&self, words: &mut [String], mark: &str) {
        let possible = self.possible(words);
        for start in 0..words.len() {
            let end =
                self.at(words, start, &possible).filter_map(|phrase| phrase.end(words, start)).max().unwrap_or(start);
            words[start..end].iter_mut().for_each(|word| mark.clone_into(word));
        }
    }

    /// Those that are possible and may begin at a word.
    fn at<'a>(&'a self, words: &[String], start: usize, possible: &'a [bool]) -> impl Iterator<Item = &'a Phrase> {
        let word = words[start].as_str();
        let sign = [".", "#"].into_iter().find(|sign| *sign != word && fits(sign, word));
        let firsts = [Some(word), sign].into_iter().flatten().filter_map(|first| self.by_first.get(first));
        firsts.chain([&self.anywhere]).flatten().filter(|i| possible[**i]).map(|&i| &self.all[i])
    }
}

/// A way of putting something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Phrase(Vec<Part>);

impl Phrase {
    /// Reads a phrase; none if it says nothing.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let text = text.replace("...", "…").replace('…', " … ");
        let parts: Vec<Part> = text.split_whitespace().filter_map(Part::read).collect();
        let says = |part: &Part| matches!(part, Part::Either(_));
        parts.iter().any(says).then_some(Self(parts))
    }

    /// The fewest words of which one is said wherever it is.
    fn telling(&self) -> Option<&Choices> {
        let needed = self.0.iter().filter_map(|part| match part {
            Part::Either(choices) => Some(choices),
            Part::Perhaps(_) | Part::Gap => None,
        });
        needed.filter(|choices| choices.are_words()).min_by_key(|choices| choices.0.len())
    }

    /// Where it ends, as late as it can, if it begins at this word.
    fn end(&self, words: &[String], start: usize) -> Option<usize> {
        if !self.0.first()?.may_begin(words.get(start)?) {
            return None;
        }
        let mut ends = vec![start];
        for part in &self.0 {
            let mut next: Vec<usize> = ends.iter().flat_map(|at| part.ends(words, *at)).collect();
            next.sort_unstable();
            next.dedup();
            ends = next;
        }
        ends.last().copied()
    }
}

impl Part {
    fn read(text: &str) -> Option<Self> {
        if text == "…" {
            return Some(Self::Gap);
        }
        let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        let choices = inner.unwrap_or(text).split('/').map(|choice| spelled(&choice.replace('_', " ")));
        let mut choices: Vec<Vec<String>> = choices.filter(|choice| !choice.is_empty()).collect();
        choices.sort_unstable();
        let part = if inner.is_some() { Self::Perhaps } else { Self::Either };
        (!choices.is_empty()).then(|| part(Choices(choices)))
    }

    /// Whether it could begin with this word; quick, because most words begin nothing.
    fn may_begin(&self, word: &str) -> bool {
        match self {
            Self::Either(choices) => !choices.beginning(word).is_empty(),
            Self::Perhaps(_) | Self::Gap => true,
        }
    }

    /// Where it may end if it begins at this word.
    fn ends(&self, words: &[String], at: usize) -> Vec<usize> {
        let run = |choice: &Vec<String>| {
            let end = at + choice.len();
            let same =
                words.get(at..end).is_some_and(|run| run.iter().zip(choice).all(|(word, said)| fits(said, word)));
            same.then_some(end)
        };
        let those = |choices: &Choices| -> Vec<usize> {
            words.get(at).map_or_else(Vec::new, |word| choices.beginning(word).iter().filter_map(run).collect())
        };
        match self {
            Self::Either(choices) => those(choices),
            Self::Perhaps(choices) => those(choices).into_iter().chain([at]).collect(),
            Self::Gap => gap(words, at),
        }
    }
}

/// Where a gap may end: before each of the next words, up to the end of the clause.
fn gap(words: &[String], at: usize) -> Vec<usize> {
    let mut width = 0;
    let inside = words[at.min(words.len())..].iter().take_while(|word| {
        width += if word.starts_with(is_unspaced) { 1 } else { WORD };
        width <= GAP && !is_stop(word)
    });
    (at..=at + inside.count()).collect()
}

fn fits(said: &str, word: &str) -> bool {
    match said {
        "." => is_stop(word),
        "#" => word.starts_with(|c: char| c.is_ascii_digit()),
        _ => said == word,
    }
}

fn is_stop(word: &str) -> bool {
    matches!(word, "." | "?")
}

/// The words of what a person says themselves, between stops: clauses end in `.` or `?`, code and quotations are one
/// word.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut own = String::new();
    let mut fenced = false;
    for line in text.lines().map(str::trim_start) {
        if line.starts_with("```") || line.starts_with("~~~") {
            fenced = !fenced;
        } else if !fenced && !line.starts_with('>') {
            own.push_str(&unquoted(line));
            own.push('\n');
        }
    }
    let mut words = vec![".".to_owned()];
    words.extend(spelled(&own));
    words.push(".".to_owned());
    words
}

/// A line with each closed quotation and piece of code replaced by a mark.
fn unquoted(line: &str) -> String {
    let mut own = String::new();
    let mut rest = line;
    while let Some((at, open)) = rest.char_indices().find(|(_, c)| closing(*c).is_some()) {
        let inner = &rest[at + open.len_utf8()..];
        own.push_str(&rest[..at]);
        match closing(open).and_then(|close| inner.split_once(close)) {
            Some((_, after)) => {
                own.push('`');
                rest = after;
            }
            None => rest = inner,
        }
    }
    own + rest
}

/// The mark that closes a quotation.
pub(crate) fn closing(open: char) -> Option<char> {
    match open {
        '`' | '"' => Some(open),
        '“' => Some('”'),
        '「' => Some('」'),
        '『' => Some('』'),
        _ => None,
    }
}

/// Words, characters and stops, in the one form they are compared in.
fn spelled(text: &str) -> Vec<String> {
    let text = folded(&text.replace(['’', '‘', 'ʼ'], "'"));
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.chars().chain(['\n']) {
        if (c.is_alphanumeric() || c == '\'') && !is_unspaced(c) {
            word.push(c);
            continue;
        }
        long_forms(&std::mem::take(&mut word), &mut words);
        match c {
            '?' | '`' | '#' => words.push(c.to_string()),
            '.' | '!' | ',' | ';' | ':' | '。' | '、' | '(' | ')' | '…' | '—' | '\n' => {
                words.push(".".to_owned());
            }
            c if is_unspaced(c) => words.push(simpler(c).to_string()),
            _ => {}
        }
    }
    words.pop();
    words
}

/// A word as the words it is short for.
fn long_forms(word: &str, words: &mut Vec<String>) {
    let word = word.trim_matches('\'');
    let known = SHORT.iter().find(|(short, _)| *short == word).map(|(_, long)| (*long).to_owned());
    let endings = [("n't", " not"), ("'ve", " have"), ("'re", " are"), ("'ll", " will"), ("'d", " had"), ("'m", " am")];
    let long = || {
        let found = endings.iter().find_map(|(short, long)| Some(word.strip_suffix(short)?.to_owned() + long));
        found.unwrap_or_else(|| word.to_owned())
    };
    words.extend(known.unwrap_or_else(long).split_whitespace().map(str::to_owned));
}

fn simpler(c: char) -> char {
    let traditional = SIMPLER.match_indices(c).map(|(at, _)| at).find(|at| at % 6 == 0);
    traditional.and_then(|at| SIMPLER[at + 3..].chars().next()).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(phrase: &str, text: &str, expected: bool) {
        let phrases = Phrases::read([phrase]);
        assert_eq!(phrases.all.len(), 1, "it says something");
        assert_eq!(phrases.are_in(&words(text)), expected, "{phrase} in “{text}”");
    }

    #[test]
    fn words_choices_and_gaps() {
        check("as/like i said", "Well, like I said…", true);
        check("as/like i said", "as he said", false);
        check("i [have] told", "I've told him", true);
        check("find … ago", "find the file from two weeks ago", true);
        check("find … ago", "find it. Long ago", false);
        check("talked_about/discussed it", "we talked about it", true);
        check(". remember … ?", "Remember Lisbon?", true);
        check(". remember … ?", "Remember Lisbon.", false);
        check("# days", "3 days", true);
        check("[please] remember to", "and remember to call", true);
        check("[please] remember to", "please remember to call", true);
        check("[please] remember to", "please remember", false);
    }

    #[test]
    fn traditional_characters_are_read_as_simplified_ones() {
        assert!(SIMPLER.chars().all(|c| c.len_utf8() == 3) && SIMPLER.len().is_multiple_of(6));
        assert_eq!(
            ["說", "为", "為", "猫"].map(|c| c.chars().map(simpler).collect::<String>()),
            ["说", "为", "为", "猫"]
        );
    }

    #[test]
    fn languages_without_spaces() {
        check("还记得…吗", "你还记得那只猫吗？", true);
        check("还记得…吗", "還記得嗎", true);
        check("我 [早就] 说过", "我早就说过", true);
        check("我 [早就] 说过", "他说过", false);
    }

    proptest::proptest! {
        #[test]
        fn phrases_are_found_together_as_they_are_one_by_one(
            said in proptest::collection::vec("[ab猫./#?`_… \\[\\]]{1,12}", 1..4),
            text in "[ab猫.?3` ]{0,16}",
        ) {
            let (phrases, words) = (Phrases::read(&said), words(&text));
            let is_in = |phrase: &Phrase| (0..words.len()).any(|start| phrase.end(&words, start).is_some());
            proptest::prop_assert_eq!(phrases.are_in(&words), phrases.all.iter().any(is_in), "{:?}", said);
        }
    }

    #[test]
    fn nothing_said_is_no_phrase() {
        for text in ["", "…", "[a]", "[]", "///", " _ "] {
            assert_eq!(Phrase::read(text), None, "{text}");
        }
    }
}
