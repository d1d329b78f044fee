//! Numbers that tell something: amounts, dates, times and versions, and the figures they are made of.

/// Words that make an amount of the number before them.
const UNITS: &str = " ms s sec secs second seconds min mins minute minutes h hour hours hr hrs day days week weeks month months \
    year years b kb mb gb tb kib mib gib byte bytes bit bits token tokens percent euro euros eur dollar dollars usd pound pounds gbp yuan \
    cny rmb yen jpy km m cm mm kg g mg l ml lb oz px pt hz khz mhz ghz v w kw kwh degrees baud bar rpm people users messages lines files \
    requests times rows pages loaves litres metres am pm o'clock ";
const MONTHS: &str = " jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october \
    nov november dec december ";
/// Characters that make an amount or a date of the number before them.
const UNITS_CHINESE: &str =
    "年月日号点时分秒周天个位名台块元角美欧英万千亿百米公里厘克斤吨升度岁页条次件人行字毫微折楼期";
/// What stands before amounts of money.
const CURRENCIES: [char; 6] = ['$', '€', '£', '¥', '￥', '₹'];
/// A unit that is written together with its number is no longer than this.
const UNIT_CHARS: usize = 6;

/// The number that a word is, with its unit, if it tells anything.
pub(super) fn number(word: &str, after: &str, before: &str) -> Option<String> {
    let bare = word.trim_start_matches(|c| CURRENCIES.contains(&c) || ['~', '≈', '+', '-'].contains(&c));
    let bare = bare.strip_prefix(['v', 'V']).filter(|rest| rest.contains('.')).unwrap_or(bare);
    let end = bare.find(|c: char| !c.is_ascii_digit() && !".,:/-_".contains(c)).unwrap_or(bare.len());
    let (body, unit) = bare.split_at(end);
    if !body.starts_with(|c: char| c.is_ascii_digit()) || !is_unit(unit) {
        return None;
    }
    let unit_after = unit_after(after);
    let tells = bare.len() < word.len()
        || !unit.is_empty()
        || !unit_after.is_empty()
        || body.bytes().filter(u8::is_ascii_digit).count() > 2
        || body.contains(['.', ':', '/', '-'])
        || is_in(MONTHS, before);
    tells.then(|| format!("{word}{unit_after}"))
}

/// Whether letters after digits are a unit, or the hour after a date.
fn is_unit(unit: &str) -> bool {
    let letters = unit.chars().all(|c| c.is_alphabetic() || "%°²³/".contains(c)) && unit.chars().count() <= UNIT_CHARS;
    let hour = unit.starts_with('T') && unit[1..].bytes().all(|byte| byte.is_ascii_digit() || b":.Z+-".contains(&byte));
    (letters || hour) && !["st", "nd", "rd", "th"].contains(&unit)
}

/// The unit that follows a number, as it stands; nothing if none does.
fn unit_after(after: &str) -> &str {
    let spaces = after.len() - after.trim_start_matches(' ').len();
    if spaces > 1 {
        return "";
    }
    let rest = &after[spaces..];
    let chinese = rest.find(|c| !UNITS_CHINESE.contains(c)).unwrap_or(rest.len());
    let length = rest.find(|c: char| !c.is_alphabetic() && c != '\'' && c != '%').unwrap_or(rest.len());
    let word = &rest[..length];
    match chinese {
        0 if word.starts_with('%') || is_in(UNITS, word) || is_in(MONTHS, word) => &after[..spaces + length],
        0 => "",
        _ => &after[..spaces + rest.char_indices().nth(2).map_or(chinese, |(at, _)| at.min(chinese))],
    }
}

fn is_in(list: &str, word: &str) -> bool {
    let short = !word.is_empty() && word.len() < 12 && !word.contains(' ');
    short && list.contains(&format!(" {} ", word.to_lowercase()))
}

/// The figures of a folded text: runs of digits with the dots between them, without thousands separators and leading
/// zeros.
pub(super) fn figures(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let (mut found, mut run) = (Vec::new(), String::new());
    for (at, byte) in bytes.iter().enumerate() {
        let groups = || (1..=3).all(|next| digit(at + next)) && !digit(at + 4);
        match byte {
            b'0'..=b'9' => run.push(char::from(*byte)),
            b'.' if !run.is_empty() && digit(at + 1) => run.push('.'),
            b',' | b'_' | b'\'' if !run.is_empty() && groups() => {}
            _ => {
                found.extend(figure(&run));
                run.clear();
            }
        }
    }
    found.extend(figure(&run));
    found
}

fn figure(run: &str) -> Option<String> {
    let bare = run.trim_start_matches('0');
    match bare.chars().next() {
        _ if run.is_empty() => None,
        Some(first) if first.is_ascii_digit() => Some(bare.to_owned()),
        Some(_) | None => Some(format!("0{bare}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_compared_without_separators() {
        assert_eq!(
            figures("1,200 and 1_000_000, then 3.5. v1.2.3 at 09:30; 0.5, 007, 1,5 0"),
            ["1200", "1000000", "3.5", "1.2.3", "9", "30", "0.5", "7", "1", "5", "0"]
        );
    }

    #[test]
    fn only_telling_numbers_are_taken() {
        for (word, after, expected) in [
            ("30", " seconds later", Some("30 seconds")),
            ("80%", "", Some("80%")),
            ("2026-11-15T09:30:00Z", "", Some("2026-11-15T09:30:00Z")),
            ("v1.2", "", Some("v1.2")),
            ("15", " November", Some("15 November")),
            ("30", "毫秒左右", Some("30毫秒")),
            ("7", " dwarfs", None),
            ("3rd", "", None),
            ("2d-array", "", None),
            ("v12", "", None),
        ] {
            assert_eq!(number(word, after, "").as_deref(), expected, "{word}{after}");
        }
        assert_eq!(number("15", " and", "May").as_deref(), Some("15"));
    }
}
