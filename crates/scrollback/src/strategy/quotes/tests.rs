//! Quotes: that they fit, and how they are headed.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use proptest::prelude::*;

use super::*;
use crate::ids::{At, BranchId, Depth, Hash128, NodeId};
use crate::message::Message;
use crate::recall::Heading;
use crate::store::{Origin, Place, Position, Stored};
use crate::tokens::Measure;

/// A day, in the microseconds of `At`.
const A_DAY: i64 = 24 * 3600 * 1_000_000;

/// Messages one after the other, each said so many days after 30 December 2025.
fn said(texts: &[(&str, i64)]) -> Vec<Arc<Leaf>> {
    let stored = |(number, (text, day)): (u32, &(&str, i64))| {
        let message = Message::text(&Role::User, text);
        let (id, depth, node) = (MessageId(number), Depth(number), NodeId(Hash128([0; 16])));
        Arc::new(Stored {
            id,
            parent: None,
            place: Place::Path(Position { id, branch: BranchId(1), depth, node }),
            role: Role::User,
            at: At(1_767_052_800_000_000 + day * A_DAY),
            origin: Origin::Client,
            measure: Measure::of(&message, "gpt-4o"),
            raw: message.raw().clone(),
        })
    };
    Leaf::all((1..).zip(texts).map(stored), &HoldSettings::default())
}

fn quoted(ranked: &[Arc<Leaf>], room: u32) -> Option<Excerpt> {
    quotes(ranked, None, &HoldSettings::default(), room)
}

#[test]
fn what_was_said_twice_is_quoted_once_and_headings_say_what_is_news() {
    let key = "The key is under the mat.";
    let leaves = said(&[(key, 0), ("The mat is blue.", 0), ("It rains.", 1), (key, 3), ("It snows.", 4)]);
    let excerpt = quoted(&leaves, 1_000).unwrap();
    let body = "[m1 user 2025-12-30]\n[m4 2026-01-02]\nThe key is under the mat.\n[m2 2025-12-30]\nThe mat is blue.\n\
                [m3 12-31]\nIt rains.\n[m5 2026-01-03]\nIt snows.\n</quotes-";
    assert!(excerpt.text.contains(body), "{}", excerpt.text);
    assert_eq!(excerpt.quoted.len(), 5);
}

#[test]
fn however_often_something_was_said_a_few_headings_are_enough() {
    let leaves = said(&[("Run the tests again, please.", 0); 40]);
    let excerpt = quoted(&leaves, 1_000).unwrap();
    assert_eq!(excerpt.text.lines().filter(|line| Heading::read(line).is_some()).count(), 1 + REPEATS);
    assert_eq!(excerpt.text.matches("Run the tests").count(), 1);
}

proptest! {
    #[test]
    fn quotes_fit_and_are_drawn_again_from_what_was_quoted(
        talk in prop::collection::vec((0..12_usize, 0..900_i64), 1..60),
        room in LEAST..1_500,
    ) {
        let texts: Vec<String> = (0..12).map(|i| format!("{} number {i}", "the tide is high ".repeat(i * i % 7 + 1))).collect();
        let said = said(&talk.iter().map(|(text, day)| (texts[*text].as_str(), *day)).collect::<Vec<_>>());
        let ranked: Vec<Arc<Leaf>> = said.iter().rev().cloned().collect();
        if let Some(excerpt) = quoted(&ranked, room) {
            prop_assert!(excerpt.tokens <= room);
            let headed: Vec<MessageId> = excerpt.text.lines().filter_map(Heading::read).map(|heading| heading.id).collect();
            prop_assert_eq!(headed.iter().collect::<HashSet<_>>(), excerpt.quoted.iter().collect::<HashSet<_>>());
            prop_assert_eq!(headed.len(), excerpt.quoted.len());
            let again = quoted(&in_order(said, &excerpt.quoted), room).unwrap();
            prop_assert_eq!(again.text, excerpt.text);
        }
    }
}

#[test]
fn in_a_large_window_the_turn_alone_decides() {
    let settings = QuoteSettings::default();
    let room = |need, tokens| settings.room(need, Budget { tokens });
    let needs = [QuoteNeed::All, QuoteNeed::Some, QuoteNeed::Little];
    assert_eq!(needs.map(|need| room(need, 8_000)), [7_200, 7_200, 450]);
    assert_eq!(needs.map(|need| room(need, 11_000)), [8_000, 4_000, 250]);
    assert_eq!(needs.map(|need| room(need, 14_000)), [8_000, 0, 0]);
    assert_eq!(needs.map(|need| room(need, 200_000)), [8_000, 0, 0]);
    let enough = [4_000, 8_000, 11_000, 14_000, 200_000].map(|tokens| settings.enough(Budget { tokens }));
    assert_eq!(enough.map(|enough| format!("{enough:.2}")), ["0.30", "0.30", "0.15", "0.00", "0.00"]);
}
