//! Joining sections, and keeping them in bounds. No source is ever lost.

use std::collections::HashSet;

use super::super::sentences::{brief, shortened};
use super::{HEADING_CHARS, MOST_CHARS, MOST_SECTIONS};
use crate::artifact::Section;
use crate::quote::keys;
use crate::search::folded;

/// Which part of their words two headings have in common that are nearly the same.
const ALIKE: f64 = 0.6;
/// What a text may gain when it is made a section's: the end of a fence, the marks of a bold line.
const GAIN_CHARS: usize = 40;

/// Whether two headings are nearly the same.
#[expect(clippy::cast_precision_loss, reason = "headings are short")]
pub(super) fn alike(one: &str, other: &str) -> bool {
    let (first, second) = (keys(one), keys(other));
    let shared = first.iter().filter(|key| second.contains(key)).count();
    let all = first.len() + second.len() - shared;
    folded(one) == folded(other) || shared as f64 >= ALIKE * all.max(1) as f64
}

/// Both sections under the heading of the first, with the sources of both; what the first says is not said again.
pub(super) fn joined(one: &Section, other: &Section) -> Section {
    let text = match unsaid(&other.text, &one.text) {
        more if more.is_empty() || one.text.is_empty() => format!("{}{more}", one.text),
        more => format!("{}\n\n{more}", one.text),
    };
    Section::new(&one.heading, &text, one.sources.iter().chain(&other.sources).copied())
}

/// The lines of a text that another does not have. Texts with code are taken whole or not at all.
fn unsaid(text: &str, said: &str) -> String {
    if ["```", "~~~"].iter().any(|fence| text.contains(fence)) {
        return if said.contains(text) { String::new() } else { text.to_owned() };
    }
    let known: HashSet<&str> = said.lines().map(str::trim).collect();
    let new = text.lines().filter(|line| line.trim().is_empty() || !known.contains(line.trim()));
    new.collect::<Vec<_>>().join("\n").trim_matches('\n').to_owned()
}

/// Sections in bounds: of too many the oldest become one, of too long ones the oldest are told in brief.
pub(super) fn fitted(mut sections: Vec<Section>) -> Vec<Section> {
    for section in &mut sections {
        section.heading = Section::new(&shortened(&section.heading, HEADING_CHARS), "", []).heading;
    }
    if sections.len() > MOST_SECTIONS {
        let rest = sections.split_off(sections.len() - MOST_SECTIONS + 1);
        sections = gathered(&sections).into_iter().chain(rest).collect();
    }
    shorten(&mut sections);
    sections
}

/// All sections as one, under the first heading.
fn gathered(sections: &[Section]) -> Option<Section> {
    let text = sections.iter().map(|section| section.text.as_str()).collect::<Vec<_>>().join("\n\n");
    let sources = sections.iter().flat_map(|section| section.sources.iter().copied());
    sections.first().map(|first| Section::new(&first.heading, &text, sources))
}

fn shorten(sections: &mut [Section]) {
    let chars = |section: &Section| section.text.chars().count();
    let mut over = sections.iter().map(chars).sum::<usize>().saturating_sub(MOST_CHARS);
    let least = MOST_CHARS / sections.len().max(1) / 2;
    let mut oldest: Vec<usize> = (0..sections.len()).collect();
    oldest.sort_by_key(|at| sections[*at].sources.last().copied());
    for at in oldest {
        let before = chars(&sections[at]);
        if over == 0 {
            break;
        }
        let room = before.saturating_sub(over).max(least);
        if before > room {
            let told = brief(&sections[at].text, room.saturating_sub(GAIN_CHARS));
            sections[at] = Section::new(&sections[at].heading, &told, sections[at].sources.clone());
            over = over.saturating_sub(before.saturating_sub(chars(&sections[at])));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::MessageId;
    use std::collections::BTreeSet;

    fn section(heading: &str, text: &str, source: u32) -> Section {
        Section::new(heading, text, [MessageId(source)])
    }

    fn ids(sections: &[Section]) -> BTreeSet<MessageId> {
        sections.iter().flat_map(|section| section.sources.clone()).collect()
    }

    #[test]
    fn headings_are_compared_by_their_words() {
        for (one, other, same) in [
            ("Feeding the starter", "feeding starters", true),
            ("列表推导式", "列表推导式", true),
            ("列表推导式的用法", "列表推导式用法", true),
            ("Base image", "Base rent", false),
            ("列表推导式", "部署步骤", false),
            ("??", "!!", false),
            ("The", "It", false),
        ] {
            assert_eq!(alike(one, other), same, "{one} / {other}");
        }
    }

    #[test]
    fn nothing_is_said_twice() {
        let both = joined(&section("A", "one\ntwo", 2), &section("B", "two\nthree", 1));
        assert_eq!(both, Section::new("A", "one\ntwo\n\nthree", [1, 2].map(MessageId)));
        let code = section("B", "```\ntwo\n```", 3);
        assert_eq!(joined(&joined(&both, &code), &code).text, "one\ntwo\n\nthree\n\n```\ntwo\n```");
        assert_eq!(joined(&section("A", "", 1), &section("B", "x", 2)).text, "x");
    }

    #[test]
    fn the_oldest_are_told_in_brief() {
        let long = |word: &str| format!("The {word} was levelled at noon by two people. ").repeat(300);
        let fit =
            fitted(vec![section("A", &long("gauge"), 9), section("B", &long("pump"), 1), section("C", "```x", 4)]);
        assert_eq!(ids(&fit).len(), 3);
        assert!(fit[1].text.chars().count() < fit[0].text.chars().count(), "the oldest first");
        assert!(fit.iter().map(|section| section.text.chars().count()).sum::<usize>() <= MOST_CHARS);
        let many: Vec<Section> = (0..1_000).map(|i| section(&"h ".repeat(200), &long("gauge")[..150], i)).collect();
        let fit = fitted(many);
        assert_eq!((fit.len(), ids(&fit).len()), (MOST_SECTIONS, 1_000));
        assert!(fit.iter().all(|section| section.heading.chars().count() <= HEADING_CHARS));
        assert!(fit.iter().map(|section| section.text.chars().count()).sum::<usize>() <= MOST_CHARS);
    }
}
