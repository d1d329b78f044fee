//! Times as people and datasets write them: RFC 3339, `1:56 pm on 8 May, 2023`, `March-15-2024`,
//! `2023/05/20 (Sat) 02:21`, `2024年04月01日 08:30`. Without a zone they are read as UTC: only days and distances matter.

use scrollback::At;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAY: i64 = 24 * 60;
const MINUTE_MICROS: i64 = 60_000_000;

/// Reads a time; nothing if no date is in it.
pub(super) fn read(text: &str) -> Option<At> {
    At::parse(text).or_else(|| {
        let (year, month, day) = date(text)?;
        Some(At((days(year, month, day) * DAY + clock(text).unwrap_or(0)) * MINUTE_MICROS))
    })
}

/// Year, month and day: the year has four digits; the month is named, or comes before the day.
fn date(text: &str) -> Option<(i64, i64, i64)> {
    let words = text.split(|c: char| c.is_whitespace() || "-/,()年月日T".contains(c)).filter(|word| !word.is_empty());
    let (mut year, mut named, mut rest) = (None, None, Vec::new());
    for word in words {
        let month = MONTHS.iter().position(|month| word.len() >= 3 && word.to_lowercase().starts_with(month));
        match (word.parse::<i64>(), month) {
            (Ok(number), _) if word.len() == 4 => year = year.or(Some(number)),
            (Ok(number), _) => rest.push(number),
            (Err(_), Some(month)) => named = named.or(i64::try_from(month + 1).ok()),
            (Err(_), None) => {}
        }
    }
    let mut rest = rest.into_iter();
    let month = named.or_else(|| rest.next())?;
    let day = rest.next()?;
    ((1..=12).contains(&month) && (1..=31).contains(&day)).then_some((year?, month, day))
}

/// Minutes of the day.
fn clock(text: &str) -> Option<i64> {
    let colon = text.find(':')?;
    let hours = text[..colon].rsplit(|c: char| !c.is_ascii_digit()).next()?.parse::<i64>().ok()?;
    let after = &text[colon + 1..];
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    let minutes = after[..end].parse::<i64>().ok()?;
    let half = after[end..].trim_start().to_lowercase();
    let hours = if half.starts_with("pm") || half.starts_with("am") { hours % 12 } else { hours };
    Some((hours + if half.starts_with("pm") { 12 } else { 0 }) * 60 + minutes)
}

/// Days since 1970 in the Gregorian calendar, years counted from March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(read(text), At::parse(expected), "{text}");
    }

    #[test]
    fn times_as_they_are_written() {
        check("2023-05-08T13:56:00Z", "2023-05-08T13:56:00Z");
        check("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00Z");
        check("12:05 am on 29 February, 2024", "2024-02-29T00:05:00Z");
        check("March-15-2024", "2024-03-15T00:00:00Z");
        check("2023/05/20 (Sat) 02:21", "2023-05-20T02:21:00Z");
        check("2024年04月01日 周一 08:30", "2024-04-01T08:30:00Z");
        assert_eq!(read("yesterday at 8:30"), None);
        assert_eq!(read(""), None);
    }
}
