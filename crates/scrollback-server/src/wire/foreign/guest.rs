//! The messages of a window in which some came from elsewhere: which of them cannot go as they came, because what they
//! belong to cannot.

use std::collections::HashMap;

use scrollback::message::value_of;
use scrollback::store::{Beside, Place, Stored};
use scrollback::strategy::Placeholder;
use scrollback::window::{Block, Body};
use scrollback::{Part, Role};
use serde_json::Value;

use crate::wire::Dress;
use crate::wire::edit::{HELD_TOO, addressed};

/// A message of a window in which some came from elsewhere.
pub(super) struct Guest<'a> {
    pub(super) stored: &'a Stored,
    pub(super) role: Role,
    /// Whether nothing tells that it came from elsewhere.
    pub(super) is_home: bool,
    /// What it says, with placeholders where results are held.
    pub(super) parts: Vec<Part>,
    /// Whether it cannot go as it came.
    pub(super) strange: bool,
}

impl<'a> Guest<'a> {
    pub(super) fn of(block: &'a Block, is_home: bool, dress: &Dress<'_>) -> Option<Self> {
        let (stored, placeholder) = match &block.body {
            Body::Original(stored) => (stored, None),
            Body::Held(stored, placeholder) => (stored, Some(&**placeholder)),
            // The client saw no call of ours in it.
            Body::Whole(stored, _) if !is_home => (stored, None),
            Body::Whole(..) | Body::Round(_) | Body::Note(_) | Body::Nothing(_) => return None,
        };
        let strange = matches!(block.body, Body::Whole(..));
        let message = stored.message();
        let mut parts = message.parts().to_vec();
        if let Some(placeholder) = placeholder {
            hold(&mut parts, placeholder, dress.handle);
        }
        Some(Self { stored, role: message.role().clone(), is_home, parts, strange })
    }

    pub(super) fn calls_or_answers(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Call { .. } | Part::Result { .. }))
    }
}

/// Whether a message can go as it came; one that we cannot read is not ours to judge.
pub(super) fn fits(stored: &Stored, is_own: fn(&Value) -> bool) -> bool {
    value_of(stored.raw.get()).map_or(true, |value| is_own(&value))
}

/// The calls that are made once and answered once, with the messages that do so, by their places.
pub(super) fn pairs(guests: &[Guest<'_>]) -> HashMap<String, (usize, usize)> {
    let [mut calls, mut results]: [HashMap<&str, Vec<usize>>; 2] = Default::default();
    for (place, part) in
        guests.iter().enumerate().flat_map(|(place, guest)| guest.parts.iter().map(move |part| (place, part)))
    {
        match part {
            Part::Call { id: Some(id), .. } => calls.entry(id).or_default().push(place),
            Part::Result { call: Some(id), .. } => results.entry(id).or_default().push(place),
            Part::Other(item) => found_by(item).into_iter().for_each(|id| results.entry(id).or_default().push(place)),
            Part::Call { .. }
            | Part::Result { .. }
            | Part::Text(_)
            | Part::Image(_)
            | Part::File(_)
            | Part::Thinking(_) => {}
        }
    }
    let once = |(id, made): (&str, Vec<usize>)| match (&made[..], results.get(id).map(Vec::as_slice)) {
        ([call], Some([result])) => Some((id.to_owned(), (*call, *result))),
        _ => None,
    };
    calls.into_iter().filter_map(once).collect()
}

/// The search that found the tools in an item, which is how it is answered.
fn found_by(item: &Value) -> Option<&str> {
    item["call_id"].as_str().filter(|_| item["type"] == "tool_search_output")
}

/// Neither half of a call goes as it came if the other does not, nor does the reasoning that led to it.
pub(super) fn part_no_pairs(guests: &mut [Guest<'_>], pairs: &HashMap<String, (usize, usize)>) {
    let is_alone = |part: &Part| match part {
        Part::Call { id, .. } | Part::Result { call: id, .. } => id.as_ref().is_none_or(|id| !pairs.contains_key(id)),
        Part::Text(_) | Part::Image(_) | Part::File(_) | Part::Thinking(_) | Part::Other(_) => false,
    };
    for guest in guests.iter_mut().filter(|guest| !guest.is_home) {
        guest.strange |= guest.parts.iter().any(is_alone);
    }
    let is_split = |guests: &[Guest<'_>], [one, other]: [usize; 2]| guests[one].strange && !guests[other].strange;
    let halves = || pairs.values().flat_map(|(call, result)| [[*call, *result], [*result, *call]]);
    while let Some([_, other]) = halves().find(|half| is_split(guests, *half)) {
        guests[other].strange = true;
    }
    let mut led_to_strange = false;
    for guest in guests.iter_mut().rev() {
        match guest.stored.place {
            Place::Beside(Beside::Aside) => guest.strange |= led_to_strange,
            Place::Path(_) | Place::Beside(_) => led_to_strange = guest.strange,
        }
    }
}

/// Puts a placeholder in the place of the results that it stands for.
fn hold(parts: &mut [Part], placeholder: &Placeholder, handle: Option<&str>) {
    let mut text = Some(addressed(&placeholder.text, handle).into_owned());
    for part in parts {
        if let Part::Result { call, text: said, other } = part
            && call.as_ref().is_none_or(|call| placeholder.calls.contains(call))
        {
            *said = text.take().unwrap_or_else(|| HELD_TOO.to_owned());
            other.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use scrollback::store::Origin;
    use scrollback::tokens::Measure;
    use scrollback::{At, Message, MessageId};
    use serde_json::json;

    use super::*;

    fn stored(id: u32, raw: &Value) -> Stored {
        let message = Message::from_json(&raw.to_string()).unwrap();
        let place = Place::Beside(if raw["type"] == "reasoning" { Beside::Aside } else { Beside::Insert });
        Stored {
            id: MessageId(id),
            parent: None,
            place,
            role: message.role().clone(),
            at: At(0),
            origin: Origin::Client,
            measure: Measure::of(&message, "gpt-5"),
            raw: message.raw().clone(),
        }
    }

    /// Which of some messages go in words: those that are strange by themselves are marked `s`, those of the wire `h`.
    fn strange(said: &[(char, Value)]) -> Vec<u32> {
        let all: Vec<Stored> = (0..).zip(said).map(|(id, (_, raw))| stored(id, raw)).collect();
        let mut guests: Vec<Guest<'_>> = all
            .iter()
            .zip(said)
            .map(|(stored, (mark, _))| {
                let message = stored.message();
                let (role, parts) = (message.role().clone(), message.parts().to_vec());
                Guest { stored, role, is_home: *mark == 'h', parts, strange: *mark == 's' }
            })
            .collect();
        let pairs = pairs(&guests);
        part_no_pairs(&mut guests, &pairs);
        guests.iter().filter(|guest| guest.strange).map(|guest| guest.stored.id.0).collect()
    }

    #[test]
    fn halves_stay_together_and_with_what_led_to_them() {
        let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
        let result = json!({"type": "function_call_output", "call_id": "c", "output": "5"});
        let thought = json!({"type": "reasoning", "id": "rs", "encrypted_content": "g"});
        let words = json!({"type": "message", "role": "user", "content": "hi"});
        let of = |marks: &str, said: &[&Value]| {
            strange(&marks.chars().zip(said.iter().copied().cloned()).collect::<Vec<_>>())
        };
        assert_eq!(of("    ", &[&words, &thought, &call, &result]), [0; 0]);
        assert_eq!(of("   s", &[&words, &thought, &call, &result]), [1, 2, 3]);
        assert_eq!(of("  s ", &[&words, &thought, &call, &result]), [1, 2, 3]);
        assert_eq!(of("   ", &[&thought, &call, &words]), [0, 1]);
        let search = json!({"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {}});
        let found = json!({"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": []});
        assert_eq!(of("   ", &[&words, &search, &found]), [0; 0]);
        assert_eq!(of(" s ", &[&words, &search, &found]), [1, 2]);
        // What came over the wire itself is not ours to change, nor is the call alone that it answers …
        assert_eq!(of("  h", &[&thought, &call, &result]), [0; 0]);
        assert_eq!(of("hh ", &[&thought, &call, &words]), [0; 0]);
        // … unless that cannot go as it came.
        assert_eq!(of("hsh", &[&words, &call, &result]), [1, 2]);
        assert_eq!(of("hhs", &[&thought, &call, &result]), [0, 1, 2]);
    }
}
