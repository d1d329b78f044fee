//! Ids and degrees in a model's words: `m42`, `msg-042`, `[42]`, `m42–m47`; `0,85`, `85%`, `high`.

use crate::ids::MessageId;
use crate::search::is_unspaced;

/// What may stand between the two ends of a range.
const TO: [&str; 16] =
    ["-", "–", "—", "−", "‐", "‑", "~", "～", "..", "...", "…", "to", "through", "until", "至", "到"];
/// What may stand before a message's number.
const BEFORE: [&str; 8] = ["m", "msg", "msgs", "message", "messages", "id", "ids", "to"];
/// Words that say how much, the more telling first.
const WORDS: [(&str, f32); 14] = [
    ("medium", 0.6),
    ("moderate", 0.6),
    ("high", 0.9),
    ("low", 0.3),
    ("none", 0.0),
    ("irrelevant", 0.0),
    ("unrelated", 0.0),
    ("critical", 1.0),
    ("中", 0.6),
    ("高", 0.9),
    ("低", 0.3),
    ("无", 0.0),
    ("yes", 0.9),
    ("no", 0.0),
];

/// Messages by their numbers, ranges included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spans(Vec<(u32, u32)>);

impl Spans {
    /// Whether a message is among them.
    pub(super) fn contains(&self, MessageId(number): MessageId) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= number);
        after > 0 && self.0[after - 1].1 >= number
    }

    fn joined(mut all: Vec<(u32, u32)>) -> Self {
        all.sort_unstable();
        all.dedup_by(|next, kept| {
            let joins = next.0 <= kept.1;
            kept.1 = if joins { kept.1.max(next.1) } else { kept.1 };
            joins
        });
        Self(all)
    }
}

/// The messages a text names. Where it writes `m42`, a bare number counts only in a list with such.
pub(super) fn spans(text: &str) -> Spans {
    let found = numbers(text);
    let strict = found.iter().any(|number| number.marked);
    let mut all: Vec<(u32, u32)> = Vec::new();
    let mut before: Option<usize> = None;
    for Number { value, marked, start, end } in found {
        let between = before.map(|before| &text[before..start]);
        let listed = between.is_some_and(is_list) && goes_on(&text[end..]);
        match all.last_mut() {
            Some((first, last)) if first == last && *last < value && between.is_some_and(is_range) => *last = value,
            _ if strict && !marked && !listed => continue,
            _ => all.push((value, value)),
        }
        before = Some(end);
    }
    Spans::joined(all)
}

/// A number in a text.
struct Number {
    value: u32,
    /// Whether it is written as an id.
    marked: bool,
    start: usize,
    end: usize,
}

fn numbers(text: &str) -> Vec<Number> {
    let mut found = Vec::new();
    let mut end = 0;
    while let Some(next) = text[end..].find(|c: char| c.is_ascii_digit()) {
        let start = end + next;
        end = start + text[start..].find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - start);
        found.extend(number_at(text, start, end));
    }
    found
}

/// The number between two places, unless it is part of something else: `v2`, `0.5`, `30%`.
fn number_at(text: &str, start: usize, end: usize) -> Option<Number> {
    let ahead: Vec<char> = text[..start].chars().rev().take(12).collect();
    let word = |ahead: &[char]| -> String {
        let letters = ahead.iter().take_while(|c| c.is_alphabetic() && !is_unspaced(**c));
        letters.collect::<Vec<_>>().into_iter().rev().collect::<String>().to_lowercase()
    };
    let (before, apart) = match ahead.as_slice() {
        ['.', digit, ..] if digit.is_ascii_digit() => return None,
        ['-' | '_' | '#', rest @ ..] => (word(rest), false),
        [' ', rest @ ..] => (word(rest), true),
        all => (word(all), false),
    };
    let marked = BEFORE.contains(&before.as_str()) || matches!(ahead.first(), Some('息' | '第'));
    let mut after = text[end..].chars();
    let next = after.next();
    let more = next.is_some_and(|c| c == '%' || c.is_alphabetic() && !is_unspaced(c))
        || next == Some('.') && after.next().is_some_and(|c| c.is_ascii_digit());
    let value = text[start..end].parse().ok()?;
    (!more && (marked || apart || before.is_empty())).then_some(Number { value, marked, start, end })
}

/// Whether only a list goes on between two numbers.
fn is_list(between: &str) -> bool {
    let between = between.trim_matches(|c: char| !c.is_alphanumeric());
    between.is_empty() || ["and", "和", "及", "与"].contains(&between)
}

/// Whether what follows a number is not what it counts: `3 errors`.
fn goes_on(after: &str) -> bool {
    let after = after.trim_start_matches(' ');
    let word: String = after.chars().take_while(|c| c.is_alphabetic()).take(10).collect::<String>().to_lowercase();
    word.is_empty()
        || BEFORE.contains(&word.as_str())
        || ["and", "through", "until", "和", "及", "与", "至", "到"].contains(&word.as_str())
}

/// Whether what stands between two numbers makes a range of them. A dash on a new line is a list's.
fn is_range(between: &str) -> bool {
    if between.len() > 40 || between.contains('\n') {
        return false;
    }
    let marks = between.to_lowercase().replace([' ', '\t', '[', ']', '#', '`', '"', '“', '”'], "");
    let ends = ["", "m", "m-", "msg", "msg-", "message", "message-"];
    ends.iter().any(|end| marks.strip_suffix(end).is_some_and(|mark| TO.contains(&mark)))
}

/// How much a text says, from 0 to 1.
pub(super) fn degree(text: &str) -> Option<f32> {
    let text = text.trim();
    number(text).or_else(|| {
        let lower = text.to_lowercase();
        WORDS
            .iter()
            .find(|(word, _)| lower.starts_with(word))
            .or_else(|| WORDS.iter().find(|(word, _)| word.chars().count() != 2 && lower.contains(word)))
            .map(|(_, degree)| *degree)
    })
}

fn number(text: &str) -> Option<f32> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(text.len());
    let end = start + digits(&text[start..]);
    let written = text[start..end].trim_end_matches(['.', ',']).replace(',', ".");
    let value: f32 = written.parse().ok()?;
    let value = if text[..start].ends_with(['-', '−']) {
        -value
    } else if text[..start].ends_with('.') {
        value / 10_f32.powi(i32::try_from(written.len()).ok()?)
    } else {
        value
    };
    let rest = text[end..].trim_start();
    let whole = ["/", "out of", "of"].iter().find_map(|of| rest.strip_prefix(of)).map(str::trim_start);
    let of = whole.and_then(|whole| whole[..digits(whole)].trim_end_matches(['.', ',']).parse::<f32>().ok());
    let share = match of {
        Some(of) if of >= 1.0 => value / of,
        _ if rest.starts_with(['%', '％']) || value > 10.0 => value / 100.0,
        _ => value,
    };
    share.is_finite().then(|| share.clamp(0.0, 1.0))
}

/// Whether a text says yes or no.
pub(super) fn affirmed(text: &str) -> Option<bool> {
    let lower = text.trim().to_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| lower.starts_with(word));
    if begins(&["no", "false", "0", "不", "否", "没"]) {
        Some(false)
    } else {
        begins(&["yes", "true", "1", "same", "once", "是", "对", "相同"]).then_some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_models_write_them() {
        let check = |text: &str, expected: &[u32]| {
            let spans = spans(text);
            let all: Vec<u32> = (0..200).filter(|&number| spans.contains(MessageId(number))).collect();
            assert_eq!(all, expected, "{text}");
        };
        for text in [
            "m42 m43",
            "m42, m-43",
            "[m42] [m43]",
            "msg 42, msg-043",
            "42,43",
            "42 43.",
            "M42、消息43",
            "- m42\n- m43",
            "#42 #43",
            "m42–m43",
            "`m42` to `m43`",
            "m42...m43",
            "from m42 through message 43",
            "message_42；message_43",
        ] {
            check(text, &[42, 43]);
        }
        check("m40-m43, m41–42, m50", &[40, 41, 42, 43, 50]);
        check("t12 v2 0.85 30% 4th gpt-4 99999999999999", &[]);
        check("m107-10", &[10, 107]);
        check("m1 - m3 - m5", &[1, 2, 3, 5]);
        check("m5 m6: because of 3 errors in 2026, 有7个", &[5, 6]);
        check("m5, 6, 7 and 8 m9", &[5, 6, 7, 8, 9]);
        check("", &[]);
    }

    #[test]
    fn degrees_are_read_as_models_write_them() {
        for (text, expected) in [
            ("0.85", 0.85),
            ("0,85", 0.85),
            ("85%", 0.85),
            ("85 %", 0.85),
            (".85", 0.85),
            ("85", 0.85),
            ("8.5/10", 0.85),
            ("8.5 out of 10.", 0.85),
            ("high", 0.9),
            ("Medium-high", 0.6),
            ("低", 0.3),
            ("很高", 0.9),
            ("1.7", 1.0),
            ("-0.4", 0.0),
            ("relevance: 0.85.", 0.85),
        ] {
            assert!((degree(text).unwrap() - expected).abs() < 1e-4, "{text}: {:?}", degree(text));
        }
        for text in ["", "soon", "…"] {
            assert_eq!(degree(text), None, "{text}");
        }
    }

    #[test]
    fn hostile_texts_end_soon() {
        for piece in ["1", "1-", "m1-m9 ", "9.", "-"] {
            let _ = (spans(&piece.repeat(100_000)), degree(&piece.repeat(100_000)));
        }
    }
}
