//! Messages, and replies of helpers that went wrong, for tests.

use proptest::prelude::*;

use crate::ids::{At, MessageId};
use crate::message::Message;
use crate::store::{Beside, Origin, Place, Stored};
use crate::tokens::Measure;

/// A message with a number.
pub(crate) fn stored(number: u32, message: &Message) -> Stored {
    Stored {
        id: MessageId(number),
        parent: None,
        place: Place::Beside(Beside::Insert),
        role: message.role().clone(),
        at: At(0),
        origin: Origin::Client,
        measure: Measure::of(message, "gpt-4o"),
        raw: message.raw().clone(),
    }
}

/// Texts in their roles, numbered from one on.
pub(crate) fn said(first: u32, texts: &[(&str, &str)]) -> Vec<Stored> {
    let message = |(role, text): &(&str, &str)| Message::text(&(*role).into(), text);
    (first..).zip(texts).map(|(number, said)| stored(number, &message(said))).collect()
}

/// A good reply, mangled: cut, with characters lost, doubled and turned around, scraps put in, and something around it.
pub(super) fn mangled(
    good: &'static str,
    scraps: &[&'static str],
    around: &[(&'static str, &'static str)],
) -> impl Strategy<Value = String> + use<> {
    let edit = (0..4_usize, any::<prop::sample::Index>(), prop::sample::select(scraps.to_vec()));
    let around = prop::sample::select(around.to_vec());
    (prop::collection::vec(edit, 0..8), around, any::<prop::sample::Index>()).prop_map(
        move |(edits, (before, after), cut)| {
            let mut chars: Vec<char> = good.chars().collect();
            for (edit, place, scrap) in edits {
                let at = place.index(chars.len() + 1);
                let end = (at + 1 + edit * 7).min(chars.len());
                match edit {
                    0 => drop(chars.drain(at..end)),
                    1 => chars.splice(at..at, scrap.chars()).for_each(drop),
                    2 => chars.rotate_left(at),
                    _ => {
                        let again = chars[at..end].to_vec();
                        chars.splice(at..at, again).for_each(drop);
                    }
                }
            }
            // One in four is cut.
            let keep = if cut.index(4) == 0 { cut.index(chars.len() + 1) } else { chars.len() };
            format!("{before}{}{after}", chars[..keep].iter().collect::<String>())
        },
    )
}
