//! A window of quotations, as a model would read it, and what it costs.
//!
//! Every message is a line `m12 Ann: words`, whole; a line `2023-05-08` stands before the first of a day. Tokens are
//! counted in `o200k_base`.

use scrollback::At;
use scrollback::tokens::Vocabulary;

use crate::dataset::recall::Said;

/// What a line with a day costs.
pub const DAY_TOKENS: u32 = 7;

/// Micros in a day.
const DAY: i64 = 24 * 3600 * 1_000_000;

/// What the line of a message costs.
pub fn line_tokens(place: usize, speaker: &str, text: &str) -> u32 {
    u32::try_from(Vocabulary::O200k.count(&line(place, speaker, text))).unwrap_or(u32::MAX)
}

fn line(place: usize, speaker: &str, text: &str) -> String {
    format!("m{place} {speaker}: {text}\n")
}

/// A window as text; places are in order.
pub fn text(messages: &[Said], places: &[usize]) -> String {
    let (mut text, mut day) = (String::new(), None);
    for &place in places {
        let said = &messages[place];
        if said.at.is_some() && day_of(said) != day {
            day = day_of(said);
            text.push_str(said.at.map(date).unwrap_or_default().as_str());
        }
        text.push_str(&line(place, &said.speaker, &said.text));
    }
    text
}

/// What a window costs: its lines, and a line for each change of the day.
pub fn tokens(messages: &[Said], places: &[usize]) -> u32 {
    let days: Vec<i64> = places.iter().filter_map(|&place| day_of(&messages[place])).collect();
    let changes = days.windows(2).filter(|pair| pair[0] != pair[1]).count() + usize::from(!days.is_empty());
    let lines: u32 = places.iter().map(|&place| messages[place].tokens).sum();
    lines + DAY_TOKENS * u32::try_from(changes).unwrap_or(u32::MAX)
}

/// Takes places in the order given while they fit, passing over what does not; back in the order of the log.
pub fn fill(messages: &[Said], order: impl IntoIterator<Item = usize>, room: u32) -> Vec<usize> {
    let (mut left, mut days, mut taken) = (room, std::collections::HashSet::new(), Vec::new());
    for place in order {
        let said = &messages[place];
        let day = day_of(said).filter(|day| !days.contains(&(said.session, *day)));
        let cost = said.tokens + if day.is_some() { DAY_TOKENS } else { 0 };
        if cost <= left {
            left -= cost;
            days.extend(day.map(|day| (said.session, day)));
            taken.push(place);
        }
    }
    taken.sort_unstable();
    taken
}

fn day_of(said: &Said) -> Option<i64> {
    said.at.map(|at| at.0.div_euclid(DAY))
}

fn date(at: At) -> String {
    let mut date = at.to_string();
    date.truncate(10);
    format!("{date}\n")
}

#[cfg(test)]
mod tests {
    use scrollback::search::gather::Voice;

    use super::*;

    fn said(place: usize, day: i64, text: &str) -> Said {
        let tokens = line_tokens(place, "Ann", text);
        let at = Some(At(day * DAY));
        Said {
            voice: Voice::Person,
            is_reply: false,
            speaker: "Ann".into(),
            is_named: true,
            at,
            session: 0,
            text: text.into(),
            tokens,
        }
    }

    #[test]
    fn what_a_window_costs_is_what_its_text_has() {
        let messages = [
            said(0, 19_000, "I have a cat."),
            said(1, 19_000, "你好，世界"),
            said(2, 19_001, "```rust\nfn f() {}\n```"),
        ];
        let places = [0, 1, 2];
        let written = text(&messages, &places);
        assert!(written.starts_with("2022-01-08\nm0 Ann: I have a cat.\nm1 Ann: 你好"));
        assert_eq!(tokens(&messages, &places) as usize, Vocabulary::O200k.count(&written));
    }

    #[test]
    fn what_no_longer_fits_is_passed_over() {
        let messages = [said(0, 0, "short"), said(1, 0, &"long ".repeat(50)), said(2, 0, "short")];
        let room = messages[0].tokens + messages[2].tokens + DAY_TOKENS;
        assert_eq!(fill(&messages, [2, 1, 0], room), [0, 2]);
        assert!(fill(&messages, [2, 1, 0], room - 1).len() < 2);
    }
}
