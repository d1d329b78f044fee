//! Parts of a long text: a range of lines, or the lines that hold some words, as many as there is room for.

use std::collections::BTreeSet;

use crate::search::{query_terms, terms};
use crate::window::{grouped, tokens_of};

/// Longer lines count as several.
const LINE_CHARS: usize = 1_000;
/// How far before that a word may begin that is not cut.
const WORD_CHARS: usize = 200;
/// How much of the words that were asked for is told again.
const TOLD_CHARS: usize = 80;
/// How many lines around a find are shown.
const AROUND: usize = 2;

/// The lines of a text with their ends, long ones in pieces: together they are the text, to the letter.
pub(super) fn lines_of(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    for mut line in text.split_inclusive('\n') {
        let end = ended(line).len();
        let mut before = 0;
        while let Some((most, _)) = line[..end - before].char_indices().nth(LINE_CHARS) {
            let (piece, rest) = line.split_at(between_words(line, most));
            pieces.push(piece);
            before += piece.len();
            line = rest;
        }
        pieces.push(line);
    }
    pieces
}

/// Where to cut a line before a place: between two words, unless none ends near it.
fn between_words(line: &str, most: usize) -> usize {
    let near = line[..most].char_indices().rev().take(WORD_CHARS);
    let ends = |(at, c): (usize, char)| (!c.is_alphanumeric()).then_some(at + c.len_utf8());
    near.into_iter().find_map(ends).unwrap_or(most)
}

/// A line without its end.
fn ended(line: &str) -> &str {
    line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line))
}

/// A text without the break at its end, which what comes after it brings.
fn unbroken(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

/// A range of lines, counted from 1, with a pointer to the rest if it does not fit.
pub(super) fn lines(lines: &[&str], first: u32, last: u32, room: u32) -> String {
    let count = lines.len();
    if first as usize > count && count > 0 {
        let last = u32::try_from(count).unwrap_or(u32::MAX);
        return format!(
            "[there are {} lines; this is the last]\n{}",
            grouped_len(count),
            self::lines(lines, last, last, room)
        );
    }
    let first = first.max(1) as usize;
    let last = (last as usize).clamp(first, count.max(first)).min(count);
    let wanted = lines.get(first - 1..last).unwrap_or_default();
    let fitting = fitting(wanted, room);
    let shown = wanted[..fitting].concat();
    if fitting == wanted.len() {
        return if last == count { shown } else { unbroken(&shown).to_owned() };
    }
    if fitting == 0 {
        return format!("[there is no room left to show even line {first} of {}]", grouped_len(count));
    }
    let next = first + fitting;
    let (shown, count) = (unbroken(&shown), grouped_len(count));
    format!("{shown}\n[cut after line {} of {count}: part = \"{next}-{last}\" goes on]", next - 1)
}

fn grouped_len(count: usize) -> String {
    grouped(u32::try_from(count).unwrap_or(u32::MAX))
}

/// How many lines fit, by halving: counting a long text token by token takes long.
fn fitting(lines: &[&str], room: u32) -> usize {
    let fits = |count: usize| tokens_of(&lines[..count].concat()) <= room;
    // A token is seldom shorter than a byte and never than a quarter of a character.
    let sure: usize = lines.iter().map(|line| line.len()).sum();
    if sure <= room as usize || fits(lines.len()) {
        return lines.len();
    }
    let (mut low, mut high) = (0, lines.len());
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if fits(middle) { low = middle } else { high = middle }
    }
    low
}

/// What was found in a text, and a word to the model if it is less than it asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Passages {
    pub(super) text: String,
    pub(super) complaint: Option<String>,
}

/// The lines that hold most of some words, with their numbers and what is around them.
pub(super) fn passages(lines: &[&str], words: &str, room: u32) -> Passages {
    let scored = scored(lines, words);
    let Some(best) = scored.first().copied() else {
        let complaint = format!("No line holds “{}”. The first lines:", told(words));
        return Passages { text: self::lines(lines, 1, 40, room.min(800)), complaint: Some(complaint) };
    };
    let good = scored.iter().take_while(|(_, score)| score * 2.0 >= best.1).map(|(index, _)| *index);
    let shown = chosen(lines, good, room);
    let (line, words) = (best.0 + 1, told(words));
    let none =
        || format!("Line {line} holds most of “{words}”, but is too long to be shown now: part = \"{line}-{line}\"");
    Passages { complaint: shown.is_empty().then(none), text: numbered(lines, &shown) }
}

/// The lines that hold any of some words, the best first: a word counts the more the fewer lines hold it.
#[expect(clippy::cast_precision_loss, reason = "counts of lines are small")]
fn scored(lines: &[&str], words: &str) -> Vec<(usize, f64)> {
    let wanted = terms(words);
    // A character that is asked for alone stands before others as well.
    let lone: Vec<String> = query_terms(words).into_iter().filter(|term| term.prefix).map(|term| term.text).collect();
    let holds = |line: &&str| {
        let said = terms(line);
        let begins = |term: &String| lone.contains(term) && said.iter().any(|word| word.starts_with(term));
        wanted.iter().map(|term| said.binary_search(term).is_ok() || begins(term)).collect::<Vec<bool>>()
    };
    let held: Vec<Vec<bool>> = lines.iter().map(holds).collect();
    let rarity = |term: usize| {
        let used = held.iter().filter(|held| held[term]).count() as f64;
        (1.0 + (lines.len() as f64 + 1.0) / (used + 0.5)).ln()
    };
    let worth: Vec<f64> = (0..wanted.len()).map(rarity).collect();
    let score = |held: &Vec<bool>| held.iter().zip(&worth).filter(|(held, _)| **held).map(|(_, worth)| worth).sum();
    let mut scored: Vec<(usize, f64)> = held.iter().map(score).enumerate().filter(|(_, score)| *score > 0.0).collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scored
}

/// The lines that there is room for, the best first: with what is around them, or else alone.
fn chosen(lines: &[&str], best_first: impl Iterator<Item = usize>, mut room: u32) -> BTreeSet<usize> {
    let mut shown = BTreeSet::new();
    for index in best_first {
        let around = index.saturating_sub(AROUND)..(index + AROUND + 1).min(lines.len());
        let cost = |wanted: &[usize]| wanted.iter().map(|line| tokens_of(lines[*line])).sum::<u32>();
        let fresh = |wanted: Vec<usize>| wanted.into_iter().filter(|line| !shown.contains(line)).collect::<Vec<_>>();
        let ways = [fresh(around.collect()), fresh(vec![index])];
        let Some((way, rest)) = ways.into_iter().find_map(|way| Some((way.clone(), room.checked_sub(cost(&way))?)))
        else {
            break;
        };
        room = rest;
        shown.extend(way);
    }
    shown
}

fn numbered(lines: &[&str], shown: &BTreeSet<usize>) -> String {
    let mut out = Vec::new();
    let mut before = None;
    for &index in shown {
        if before.is_some_and(|before| before + 1 != index) {
            out.push("…".to_owned());
        }
        out.push(format!("{}: {}", index + 1, ended(lines[index])));
        before = Some(index);
    }
    out.join("\n")
}

/// Words that a model asked for, as it is told them again: no more than it takes to know them.
pub(in crate::engine) fn told(words: &str) -> String {
    let shown: String = words.chars().take(TOLD_CHARS).collect();
    if shown.len() < words.len() { shown + "…" } else { shown }
}

/// The beginning of a text that fits.
pub(super) fn cut(text: &str, room: u32) -> String {
    let tokens = tokens_of(text);
    if tokens <= room {
        return text.to_owned();
    }
    let chars = text.chars().count();
    let mut keep = chars * room as usize / tokens.max(1) as usize;
    loop {
        let shown: String = text.chars().take(keep).collect();
        if tokens_of(&shown) < room || keep == 0 {
            return shown + "…";
        }
        keep = keep * 9 / 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_count_as_several() {
        let text = format!("short\n{}", "x".repeat(2_500));
        assert_eq!(lines_of(&text).iter().map(|line| ended(line).len()).collect::<Vec<_>>(), [5, 1_000, 1_000, 500]);
    }

    #[test]
    fn a_range_that_does_not_fit_points_to_the_rest() {
        let text: Vec<String> = (1..=200).map(|i| format!("row {i} of the table\r\n")).collect();
        let rows: Vec<&str> = text.iter().map(String::as_str).collect();
        let shown = lines(&rows, 50, 200, 200);
        assert!(shown.starts_with("row 50 of") && shown.contains("of 200: part = \""), "{shown}");
        let next: u32 = shown.split("part = \"").nth(1).unwrap().split('-').next().unwrap().parse().unwrap();
        assert!(lines(&rows, next, 200, 200).starts_with(&format!("row {next} of")));
        assert!(shown.contains(" of the table\r\n[cut"), "{shown}");
        assert_eq!(lines(&rows, 3, 4, 200), "row 3 of the table\r\nrow 4 of the table\r");
        assert_eq!(lines(&rows, 900, 1_000, 200), "[there are 200 lines; this is the last]\nrow 200 of the table\r\n");
        assert_eq!(lines(&[], 1, 5, 200), "");
    }

    #[test]
    fn lines_are_the_whole_text() {
        let long = "长".repeat(2_500);
        for text in ["", "\n", "a", "a\n", "a\r\nb\r", "\n\na\n\n", &format!("{long}\r\nb"), &"x".repeat(1_000)] {
            let whole = lines_of(text);
            assert_eq!(whole.concat(), text);
            assert_eq!(lines(&whole, 1, u32::MAX, 10_000), text);
        }
        assert_eq!(lines_of(&format!("{}\nb", "x".repeat(1_000))).len(), 2);
        assert_eq!(lines_of(&format!("{long}\r\nb\r\n")).last(), Some(&"b\r\n"));
    }

    #[test]
    fn long_lines_are_cut_between_words() {
        for (word, end) in [("kestrel", " "), ("灯塔", "，")] {
            let text = format!("{word}{end}").repeat(600);
            let lines = lines_of(&text);
            assert!(lines.len() > 1 && lines.iter().all(|line| line.ends_with(end) && line.starts_with(word)));
            assert_eq!(passages(&lines, word, 2_000).complaint, None);
        }
    }

    #[test]
    fn passages_hold_the_words_and_their_surroundings() {
        let text: Vec<String> =
            (0..500).map(|i| if i == 300 { "the berth is 潮位 17\n".into() } else { format!("row {i}\n") }).collect();
        let rows: Vec<&str> = text.iter().map(String::as_str).collect();
        let found = passages(&rows, "潮位 berth", 400);
        assert_eq!(found.complaint, None);
        assert_eq!(found.text, "299: row 298\n300: row 299\n301: the berth is 潮位 17\n302: row 301\n303: row 302");
        assert!(passages(&rows, "submarine", 400).complaint.unwrap().starts_with("No line holds"));
        assert_eq!(passages(&["屋顶上有猫咪\n", "没有别的"], "猫", 400).complaint, None);
    }

    #[test]
    fn with_little_room_a_find_is_shown_alone_and_never_denied() {
        let long = "filler ".repeat(100);
        let text: Vec<String> = (0..9).map(|i| if i == 4 { "berth 17".into() } else { long.clone() }).collect();
        let rows: Vec<&str> = text.iter().map(String::as_str).collect();
        assert_eq!(passages(&rows, "berth", 60).text, "5: berth 17");
        let none = passages(&rows, "berth", 2);
        assert!(none.text.is_empty() && none.complaint.unwrap().contains("part = \"5-5\""));
    }
}
