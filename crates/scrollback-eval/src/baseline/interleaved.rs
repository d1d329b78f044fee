//! Baselines for talk of many people. What nobody says, a notice, stands alone.

use std::collections::HashMap;

use scrollback::task::Unit;

/// Micros in a minute.
const MINUTE: i64 = 60_000_000;
/// A silence that ends a topic.
const GAP: i64 = 3 * MINUTE;
/// How long a speaker is held to be at the same topic.
const SPEAKING: i64 = 15 * MINUTE;

/// Everything with the one before.
pub(super) fn previous(units: &[Unit]) -> Vec<usize> {
    units.iter().enumerate().map(|(i, unit)| if unit.speaker.is_some() { 0 } else { i + 1 }).collect()
}

/// A new topic after a silence.
pub(super) fn gaps(units: &[Unit]) -> Vec<usize> {
    let mut topic = 0;
    let mut last = None;
    let mut sorted = Vec::with_capacity(units.len());
    for unit in units {
        topic += usize::from(last.is_some_and(|last| unit.at.0 - last > GAP));
        last = Some(unit.at.0);
        sorted.push(topic);
    }
    sorted
}

/// A topic for each speaker.
pub(super) fn speaker<'a>(units: &'a [Unit]) -> Vec<usize> {
    let mut topics: HashMap<&str, usize> = HashMap::new();
    let topic = |(i, unit): (usize, &'a Unit)| match unit.speaker.as_deref() {
        Some(name) => *topics.entry(name).or_insert(i),
        None => i,
    };
    units.iter().enumerate().map(topic).collect()
}

/// With whom a unit is addressed to, else with its speaker's last, else alone.
pub(super) fn addressee(units: &[Unit]) -> Vec<usize> {
    let mut last: HashMap<String, (usize, i64)> = HashMap::new();
    let mut sorted = Vec::with_capacity(units.len());
    for (i, unit) in units.iter().enumerate() {
        let Some(name) = unit.speaker.as_deref().map(str::to_lowercase) else {
            sorted.push(i);
            continue;
        };
        let asked = addressed(&unit.text).and_then(|other| last.get(&other));
        let own = last.get(&name).filter(|(_, at)| unit.at.0 - at <= SPEAKING);
        let topic = asked.or(own).map_or(i, |(topic, _)| *topic);
        last.insert(name, (topic, unit.at.0));
        sorted.push(topic);
    }
    sorted
}

/// The first word, if a colon or a comma follows it at once.
fn addressed(text: &str) -> Option<String> {
    let first = text.split_whitespace().next()?;
    first.strip_suffix([':', ',']).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use scrollback::At;

    use super::*;

    fn talk() -> Vec<Unit> {
        let line = |minute: i64, speaker: Option<&str>, text: &str| Unit {
            text: text.into(),
            speaker: speaker.map(Into::into),
            at: At(minute * MINUTE),
        };
        vec![
            line(0, Some("ann"), "how do I bake bread?"),
            line(1, Some("bob"), "is the shop open?"),
            line(1, None, "cid has joined"),
            line(2, Some("cid"), "Ann: with yeast"),
            line(9, Some("ann"), "thanks"),
            line(40, Some("bob"), "good night"),
        ]
    }

    #[test]
    fn each_does_what_it_says() {
        assert_eq!(previous(&talk()), [0, 0, 3, 0, 0, 0]);
        assert_eq!(gaps(&talk()), [0, 0, 0, 0, 1, 2]);
        assert_eq!(speaker(&talk()), [0, 1, 2, 3, 0, 1]);
        assert_eq!(addressee(&talk()), [0, 1, 2, 0, 0, 5]);
    }
}
