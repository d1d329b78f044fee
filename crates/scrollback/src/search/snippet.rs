//! A short stretch of a message around the words that were searched for, with those words marked.

use std::ops::Range;

use serde::Serialize;
use unicode_normalization::UnicodeNormalization;

use super::words::is_unspaced;

/// About how much text is shown, in characters.
const SNIPPET_CHARS: usize = 160;
/// How much of that stands before the first word found.
const LEAD_CHARS: usize = 40;
/// Where looking for words stops: nobody needs the snippet from beyond.
const LOOK_CHARS: usize = 400_000;

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
        let chars: Vec<char> = text.chars().take(LOOK_CHARS).map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
        let finds = finds(&chars, units);
        let start = best_start(&finds);
        let end = (start + SNIPPET_CHARS).min(chars.len());
        let mut shown = String::from(if start > 0 { "…" } else { "" });
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

/// Where the units occur, as ranges of characters, in order.
fn finds(chars: &[char], units: &[String]) -> Vec<Range<usize>> {
    let folded: Vec<Option<char>> = chars.iter().map(|c| fold(*c)).collect();
    let is_inside_word = |at: Option<&char>| at.is_some_and(|c| c.is_alphanumeric() && !is_unspaced(*c));
    let is_whole = |find: &Range<usize>| {
        !is_inside_word(find.start.checked_sub(1).and_then(|before| chars.get(before)))
            && !is_inside_word(chars.get(find.end))
    };
    let mut finds = Vec::new();
    for unit in units {
        let wanted: Vec<Option<char>> = unit.chars().map(within).map(Some).collect();
        let hits = folded.windows(wanted.len()).enumerate().filter(|(_, window)| *window == wanted);
        let hits: Vec<Range<usize>> = hits.map(|(at, _)| at..at + wanted.len()).collect();
        // Whole words where there are any: `art` is not meant in `start` if it stands alone elsewhere.
        let whole = unit.starts_with(is_unspaced) || !hits.iter().any(is_whole);
        finds.extend(hits.into_iter().filter(|find| whole || is_whole(find)));
    }
    finds.sort_by_key(|find| find.start);
    finds
}

/// One character as it is compared; characters that fold to several are not matched inside words.
fn fold(c: char) -> Option<char> {
    if c.is_ascii() {
        return Some(c.to_ascii_lowercase());
    }
    let mut folded = std::iter::once(c).nfkc().flat_map(char::to_lowercase);
    folded.next().filter(|_| folded.next().is_none()).map(within)
}

/// A letter as it is written within a word: only Greek writes one of its letters otherwise at the end.
fn within(c: char) -> char {
    if c == 'ς' { 'σ' } else { c }
}

/// The start of the stretch that shows the most finds.
fn best_start(finds: &[Range<usize>]) -> usize {
    let shown_from = |first: usize| {
        let reach = finds[first].start + SNIPPET_CHARS - LEAD_CHARS;
        finds[first..].iter().take_while(|find| find.end <= reach).count()
    };
    let best = (0..finds.len().min(1_000)).max_by_key(|&first| (shown_from(first), usize::MAX - first));
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
        check("w77 and w7719, getUserName", &["w77", "user"], "[w77] and w7719, get[User]Name");
        check("nothing here", &["absent"], "nothing here");
        check("", &["absent"], "");
    }

    #[test]
    fn long_texts_are_cut_around_the_find() {
        let text = format!("{} needle {}", "hay ".repeat(100), "straw ".repeat(100));
        let snippet = Snippet::of(&text, &["needle".to_owned()]);
        assert!(snippet.text.starts_with('…') && snippet.text.ends_with('…'));
        assert!(snippet.marked("[", "]").contains("[needle]"));
        assert!(snippet.text.chars().count() <= SNIPPET_CHARS + 2);
    }
}
