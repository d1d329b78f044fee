//! A short stretch of a message around the words that were searched for, with those words marked.

use std::collections::HashSet;
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
        for (i, c) in chars.iter().enumerate().take(end).skip(start) {
            let inside = finds.iter().any(|find| find.contains(&i));
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

/// Where the units occur, as ranges of characters, in order.
fn finds(chars: &[char], units: &[String]) -> Vec<Range<usize>> {
    let folded = folded(chars);
    let parts_at =
        |at: usize| at.checked_sub(1).and_then(|before| chars.get(before)).zip(chars.get(at)).is_none_or(part);
    let is_whole = |find: &Range<usize>| parts_at(find.start) && parts_at(find.end);
    let mut finds = Vec::new();
    for unit in units {
        let wanted: Vec<char> = unit.chars().filter(|c| !is_left_out(*c)).map(within).collect();
        let hits = folded.windows(wanted.len().max(1)).filter(|window| window.iter().map(|(_, c)| c).eq(&wanted));
        let ends = |window: &[(Range<usize>, char)]| Some(window.first()?.0.start..window.last()?.0.end);
        let hits: Vec<Range<usize>> = hits.filter_map(ends).collect();
        let anywhere = unit.starts_with(is_unspaced);
        if anywhere && hits.is_empty() {
            finds.extend(pairs(&folded, &wanted));
        }
        // Whole words where there are any, or else those that begin with it: `boat` is meant in `boats`, and 3 never in
        // 13 or 30.
        let begins = unit.ends_with(char::is_alphabetic) && !hits.iter().any(is_whole);
        let is_meant = |find: &Range<usize>| anywhere || is_whole(find) || begins && parts_at(find.start);
        finds.extend(hits.into_iter().filter(is_meant));
    }
    finds.sort_by_key(|find| find.start);
    finds
}

/// Where pairs of characters occur, by which a run is found that does not stand there as a whole.
fn pairs(folded: &[(Range<usize>, char)], wanted: &[char]) -> impl Iterator<Item = Range<usize>> {
    let pairs: HashSet<(char, char)> = wanted.windows(2).map(|two| (two[0], two[1])).collect();
    let hits = folded.windows(2).filter(move |two| pairs.contains(&(two[0].1, two[1].1)));
    hits.map(|two| two[0].0.start..two[1].0.end)
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
