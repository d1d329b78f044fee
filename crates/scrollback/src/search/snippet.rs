//! A short stretch of a message around the words that were searched for, with those words marked.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde::Serialize;
use unicode_normalization::UnicodeNormalization;

use super::words::{is_left_out, is_mark, is_unspaced};

/// About how much text is shown, in characters.
const SNIPPET_CHARS: usize = 160;
/// How much of that stands before the first word found.
const LEAD_CHARS: usize = 40;
/// How much is looked at in one go.
const LOOK_CHARS: usize = 400_000;
/// How many finds are looked at.
const LOOK_FINDS: usize = 10_000;
/// How far the next look goes beyond that: a word at the end of one is whole in the next.
const STEP_CHARS: usize = LOOK_CHARS - 1_000;

/// Text around a find.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// The text, on one line.
    pub text: String,
    /// Byte ranges of it that were searched for.
    pub marks: Vec<Range<usize>>,
}

impl Snippet {
    /// The best stretch of `text` for folded `units`.
    pub(super) fn of(text: &str, units: &[String]) -> Self {
        let Look { chars, finds, is_first } = look(text, units);
        let start = best_start(&finds);
        let end = (start + SNIPPET_CHARS).min(chars.len());
        let mut shown = String::from(if start > 0 || !is_first { "…" } else { "" });
        let mut marks: Vec<Range<usize>> = Vec::new();
        let mut open = None;
        for (c, inside) in chars[start..end].iter().zip(covered(&finds, start..end)) {
            match (open, inside) {
                (None, true) => open = Some(shown.len()),
                (Some(from), false) => {
                    marks.push(from..shown.len());
                    open = None;
                }
                (None, false) | (Some(_), true) => {}
            }
            shown.push(*c);
        }
        marks.extend(open.map(|from| from..shown.len()));
        if end < chars.len() {
            shown.push('…');
        }
        Self { text: shown, marks }
    }

    /// The text with each mark between `before` and `after`.
    pub fn marked(&self, before: &str, after: &str) -> String {
        let mut out = String::with_capacity(self.text.len() + self.marks.len() * (before.len() + after.len()));
        let mut at = 0;
        for mark in &self.marks {
            out.extend([&self.text[at..mark.start], before, &self.text[mark.clone()], after]);
            at = mark.end;
        }
        out + &self.text[at..]
    }
}

/// A stretch of a text that was looked at.
struct Look {
    chars: Vec<char>,
    finds: Vec<Range<usize>>,
    /// Whether it is the beginning of the text.
    is_first: bool,
}

/// The first stretch of a text that holds any of the units; the beginning if none does.
fn look(text: &str, units: &[String]) -> Look {
    let read = |text: &str| -> Vec<char> {
        text.chars().take(LOOK_CHARS).map(|c| if c.is_whitespace() { ' ' } else { c }).collect()
    };
    let mut rest = text;
    loop {
        let chars = read(rest);
        let (finds, is_first) = (finds(&chars, units), rest.len() == text.len());
        let next = rest.char_indices().nth(STEP_CHARS).filter(|_| chars.len() == LOOK_CHARS);
        match next {
            Some((at, _)) if finds.is_empty() => rest = &rest[at..],
            None if finds.is_empty() && !is_first => return Look { chars: read(text), finds, is_first: true },
            Some(_) | None => return Look { chars, finds, is_first },
        }
    }
}

/// Which characters of a stretch stand in any of the finds.
fn covered(finds: &[Range<usize>], stretch: Range<usize>) -> Vec<bool> {
    let mut covered = vec![false; stretch.len()];
    for find in finds {
        let (from, to) = (find.start.max(stretch.start), find.end.min(stretch.end));
        covered.iter_mut().take(to.saturating_sub(stretch.start)).skip(from - stretch.start).for_each(|c| *c = true);
    }
    covered
}

/// A unit as it is compared.
struct Sought {
    chars: Vec<char>,
    /// Whether it counts in the middle of others as well: its script has no spaces.
    anywhere: bool,
    /// Whether words that begin with it count where it is no word itself.
    begins: bool,
}

impl Sought {
    fn of(unit: &str) -> Self {
        let chars = unit.chars().filter(|c| !is_left_out(*c)).map(within).collect();
        Self { chars, anywhere: unit.starts_with(is_unspaced), begins: unit.ends_with(char::is_alphabetic) }
    }
}

/// Where the units occur, as ranges of characters, in order; no more of them than are looked at.
fn finds(chars: &[char], units: &[String]) -> Vec<Range<usize>> {
    let sought: Vec<Sought> = units.iter().map(|unit| Sought::of(unit)).filter(|unit| !unit.chars.is_empty()).collect();
    let text = Text { chars, folded: folded(chars) };
    let mut by_first = HashMap::<char, Vec<usize>>::new();
    for (i, unit) in sought.iter().enumerate() {
        by_first.entry(unit.chars[0]).or_default().push(i);
    }
    let starts = |place: usize| by_first.get(&text.folded[place].1).into_iter().flatten();
    let places = || (0..text.folded.len()).flat_map(|place| starts(place).map(move |i| (*i, place)));
    // Whole words where there are any, or else those that begin with it: `boat` is meant in `boats`, and 3 never in 13
    // or 30.
    let mut stands = vec![false; sought.len()];
    for (i, place) in places() {
        let is_meant = |find: Range<usize>| sought[i].anywhere || text.parts_at(find.end);
        stands[i] = stands[i] || text.find(&sought[i], place).is_some_and(is_meant);
    }
    let meant = places().filter_map(|(i, place)| {
        let unit = &sought[i];
        let is_meant = |find: &Range<usize>| unit.anywhere || text.parts_at(find.end) || unit.begins && !stands[i];
        text.find(unit, place).filter(is_meant)
    });
    let absent = sought.iter().zip(&stands).filter(|(unit, stands)| unit.anywhere && !**stands).map(|(unit, _)| unit);
    let pairs = text.pairs(absent);
    let mut finds: Vec<_> = meant.take(LOOK_FINDS).chain(pairs.take(LOOK_FINDS)).collect();
    finds.sort_by_key(|find| find.start);
    finds.truncate(LOOK_FINDS);
    finds
}

/// A text that is looked through.
struct Text<'a> {
    chars: &'a [char],
    folded: Vec<(Range<usize>, char)>,
}

impl Text<'_> {
    /// The unit that begins at a place of the folded text, if it does; a word only where one begins.
    fn find(&self, unit: &Sought, place: usize) -> Option<Range<usize>> {
        let window = self.folded.get(place..place + unit.chars.len())?;
        let find = window.first()?.0.start..window.last()?.0.end;
        let begins = unit.anywhere || self.parts_at(find.start);
        (begins && window.iter().map(|(_, c)| c).eq(&unit.chars)).then_some(find)
    }

    /// Whether a word, or a piece of a name, begins or ends before a character.
    fn parts_at(&self, at: usize) -> bool {
        at.checked_sub(1).and_then(|before| self.chars.get(before)).zip(self.chars.get(at)).is_none_or(part)
    }

    /// Where pairs of characters occur, by which a run is found that does not stand there as a whole.
    fn pairs<'u>(&self, units: impl Iterator<Item = &'u Sought>) -> impl Iterator<Item = Range<usize>> {
        let mut wanted = HashMap::<(char, char), usize>::new();
        for unit in units {
            let pairs: HashSet<(char, char)> = unit.chars.windows(2).map(|two| (two[0], two[1])).collect();
            for pair in pairs {
                *wanted.entry(pair).or_default() += 1;
            }
        }
        self.folded.windows(2).flat_map(move |two| {
            let times = wanted.get(&(two[0].1, two[1].1)).copied().unwrap_or(0);
            std::iter::repeat_n(two[0].0.start..two[1].0.end, times)
        })
    }
}

/// Characters as they are compared, each with where it stands. Some are one with those that follow them: macOS writes
/// é as two, and 한 as three. And one may be several: a ligature, or a vowel of Thai.
fn folded(chars: &[char]) -> Vec<(Range<usize>, char)> {
    let mut folded = Vec::with_capacity(chars.len());
    let mut start = 0;
    while start < chars.len() {
        let end = start + 1 + chars[start + 1..].iter().take_while(|c| joins(**c)).count();
        let mut take = |c: char| {
            if !is_left_out(c) {
                folded.push((start..end, c));
            }
        };
        if end == start + 1 {
            fold(chars[start], take);
        } else {
            chars[start..end].iter().copied().nfkc().for_each(|c| fold(c, &mut take));
        }
        start = end;
    }
    folded
}

/// Whether a character is one with that before it: a mark, a letter within a syllable of Korean, or what voices a
/// narrow one of Japanese.
fn joins(c: char) -> bool {
    !c.is_ascii() && (is_mark(c) || matches!(c, '\u{1160}'..='\u{11FF}' | '\u{FF9E}' | '\u{FF9F}'))
}

/// Whether two neighbouring characters belong to different words, or to different pieces of a name.
fn part((before, after): (&char, &char)) -> bool {
    let in_word = |c: &char| c.is_alphanumeric() && !is_unspaced(*c);
    let joint = before.is_lowercase() && after.is_uppercase() || before.is_alphabetic() != after.is_alphabetic();
    !in_word(before) || !in_word(after) || joint
}

/// Calls `take` with what one character is compared as.
fn fold(c: char, mut take: impl FnMut(char)) {
    if c.is_ascii() {
        take(c.to_ascii_lowercase());
    } else if c == 'İ' {
        take('i');
    } else {
        std::iter::once(c).nfkc().flat_map(char::to_lowercase).map(within).for_each(take);
    }
}

/// A letter as it is written within a word: only Greek writes one of its letters otherwise at the end. Both letters i
/// of Turkish are one.
fn within(c: char) -> char {
    match c {
        'ς' => 'σ',
        'ı' => 'i',
        _ => c,
    }
}

/// The start of the stretch that shows the most finds.
fn best_start(finds: &[Range<usize>]) -> usize {
    let shown_from = |first: usize| {
        let reach = finds[first].start + SNIPPET_CHARS - LEAD_CHARS;
        finds[first..].iter().take_while(|find| find.end <= reach).count()
    };
    let best = (0..finds.len().min(LOOK_FINDS)).max_by_key(|&first| (shown_from(first), usize::MAX - first));
    best.map_or(0, |first| finds[first].start.saturating_sub(LEAD_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::rank::units;

    fn check(text: &str, units: &[&str], expected: &str) {
        let units: Vec<String> = units.iter().map(|unit| (*unit).to_owned()).collect();
        assert_eq!(Snippet::of(text, &units).marked("[", "]"), expected);
    }

    #[test]
    fn words_are_marked() {
        check("Why does the Build fail?\nBuild it.", &["build"], "Why does the [Build] fail? [Build] it.");
        check("数据库的索引", &["索引"], "数据库的[索引]");
        check("后来讨论了数据库的各种索引。", &["数据库索引"], "后来讨论了[数据库]的各种[索引]。");
        check("w77 and w7719, getUserName", &["w77", "user"], "[w77] and w7719, get[User]Name");
        check("Berth 13 and 30 of Petrel-3", &["petrel", "3"], "Berth 13 and 30 of [Petrel]-[3]");
        check("Berth 13 and 30", &["3"], "Berth 13 and 30");
        check("Two boats start", &["boat", "art"], "Two [boat]s start");
        check("İzmir'de KAPI, kapı", &["izmir", "kapi"], "[İzmir]'de [KAPI], [kapı]");
        check("one ﬁne day", &["fine"], "one [ﬁne] day");
        // The vowel at the end is one character in what is typed, and two in what is compared.
        check("ดื่มน้ำทุกวัน", &["น\u{e49}\u{e4d}\u{e32}"], "ดื่ม[น้ำ]ทุกวัน");
        check("I ❤\u{fe0f} it, 👍🏽", &["❤", "👍"], "I [❤\u{fe0f}] it, [👍]🏽");
        check("I ❤ it", &["❤\u{fe0f}"], "I [❤] it");
        check("هذا كِتَابٌ، كـتاب", &["كتاب"], "هذا [كِتَابٌ]، [كـتاب]");
        check("nothing here", &["absent"], "nothing here");
        check("", &["absent"], "");
    }

    /// As file names of macOS are written.
    #[test]
    fn letters_that_are_written_in_pieces_are_found() {
        let hay = "hay ".repeat(100);
        for (said, wanted) in [
            ("re\u{301}sume\u{301}", "résumé"),
            ("\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}", "한글"),
            ("ｶﾞﾗｽ", "ガラス"),
            ("I\u{307}zmir", "izmir"),
        ] {
            let snippet = Snippet::of(&format!("{hay}{said}.pdf"), &[wanted.to_owned()]);
            assert!(snippet.marked("[", "]").ends_with(&format!("hay [{said}].pdf")), "{snippet:?}");
        }
    }

    /// What `finds` finds, unit by unit, as it is meant.
    fn plain_finds(chars: &[char], units: &[String]) -> Vec<(usize, usize)> {
        let text = Text { chars, folded: folded(chars) };
        let is_whole = |find: &Range<usize>| text.parts_at(find.start) && text.parts_at(find.end);
        let mut finds = Vec::new();
        for unit in units {
            let sought = Sought::of(unit);
            let windows = text.folded.windows(sought.chars.len());
            let hits = windows.filter(|window| window.iter().map(|(_, c)| c).eq(&sought.chars));
            let hits: Vec<Range<usize>> = hits.map(|window| window[0].0.start..window.last().unwrap().0.end).collect();
            if sought.anywhere && hits.is_empty() {
                finds.extend(text.pairs([&sought].into_iter()));
            }
            let begins = sought.begins && !hits.iter().any(is_whole);
            let is_meant =
                |find: &Range<usize>| sought.anywhere || is_whole(find) || begins && text.parts_at(find.start);
            finds.extend(hits.into_iter().filter(is_meant));
        }
        let mut finds: Vec<_> = finds.into_iter().map(|find| (find.start, find.end)).collect();
        finds.sort_unstable();
        finds
    }

    proptest::proptest! {
        #[test]
        fn all_units_are_found_at_once(text in "[abA1 -数据库éﬁ\u{301}]{0,40}", asked in "[abA1 数据库éf]{0,12}") {
            let (chars, units) = (text.chars().collect::<Vec<char>>(), units(&asked));
            let mut found: Vec<_> = finds(&chars, &units).into_iter().map(|find| (find.start, find.end)).collect();
            found.sort_unstable();
            proptest::prop_assert_eq!(found, plain_finds(&chars, &units));
        }
    }

    #[test]
    fn no_more_is_found_than_is_looked_at() {
        for (text, asked) in
            [("ab ".repeat(60_000), "ab"), ("数据".repeat(60_000), "数据 据数"), ("数".repeat(60_000), "数数库")]
        {
            let (chars, units) = (text.chars().collect::<Vec<char>>(), units(asked));
            assert_eq!(finds(&chars, &units).len(), LOOK_FINDS);
            assert!(Snippet::of(&text, &units).marks.len() <= SNIPPET_CHARS);
        }
    }

    #[test]
    fn long_texts_are_cut_around_the_find() {
        let text = format!("{} needle {}", "hay ".repeat(100), "straw ".repeat(100));
        let snippet = Snippet::of(&text, &["needle".to_owned()]);
        assert!(snippet.text.starts_with('…') && snippet.text.ends_with('…'));
        assert!(snippet.marked("[", "]").contains("[needle]"));
        assert!(snippet.text.chars().count() <= SNIPPET_CHARS + 2);
    }

    #[test]
    fn what_stands_far_behind_is_shown_as_well() {
        for hay in [LOOK_CHARS / 4 - 1, 3 * LOOK_CHARS / 4] {
            let text = format!("{}needle. {}", "hay ".repeat(hay), "straw ".repeat(100));
            let snippet = Snippet::of(&text, &["needle".to_owned()]);
            assert!(snippet.text.starts_with('…') && snippet.marked("[", "]").contains("hay [needle]. straw"), "{hay}");
            let absent = Snippet::of(&text, &["absent".to_owned()]);
            assert!(absent.text.starts_with("hay hay") && absent.marks.is_empty());
        }
    }
}
