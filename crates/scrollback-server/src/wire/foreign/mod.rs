//! Messages that were read from the files of other programs, or said over another wire, said so that any dialect can
//! write them. A client that changes its model may change its dialect with it, in the middle of a conversation.
//!
//! What has the wire's own shape goes as it came (`shape`). Of the rest, words stay words, and a call stays one where
//! its result is known and tools are offered; everything else is told in words. Reasoning is left out: only the
//! provider that made it takes it back.

pub(crate) mod shape;

use std::collections::HashMap;

use scrollback::ids::Hash128;
use scrollback::message::value_of;
use scrollback::store::{Beside, Origin, Place, Stored};
use scrollback::strategy::Placeholder;
use scrollback::window::{Block, Body};
use scrollback::{MessageId, Part, Role, export};
use serde_json::{Value, json};

use super::Dress;
use super::edit::{HELD_TOO, addressed};
use shape::Shape;

/// The longest id and the longest name of a tool that every provider takes.
const ID_CHARS: usize = 40;
const NAME_CHARS: usize = 64;

/// The messages of a window that are not of its wire's shape.
#[derive(Default)]
pub(crate) struct Foreign {
    said: HashMap<MessageId, (Role, Vec<Part>)>,
    /// The results of calls that have exactly one, by the ids of the calls.
    results: HashMap<String, String>,
}

/// Something said: words, then calls with their results.
#[derive(Debug, PartialEq)]
pub(crate) struct Saying {
    pub(crate) speaker: Speaker,
    pub(crate) words: Vec<Words>,
    pub(crate) calls: Vec<Answered>,
}

/// Who says something, as every dialect has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker {
    System,
    User,
    Assistant,
}

/// Words, or a picture among them.
#[derive(Debug, PartialEq)]
pub(crate) enum Words {
    Text(String),
    /// By its address, which may hold the picture itself.
    Picture(String),
}

/// A call with its result.
#[derive(Debug, PartialEq)]
pub(crate) struct Answered {
    pub(crate) id: String,
    pub(crate) name: String,
    /// An object.
    pub(crate) arguments: Value,
    pub(crate) result: String,
}

impl Foreign {
    /// Reads what came into a window from elsewhere and cannot go as it came: it is not of the wire's own shape, or is
    /// one half of a call whose other half is not, or not there.
    pub(crate) fn read(dress: &Dress<'_>, shape: &Shape) -> Self {
        let with_verdict = |block| (block, may_be_foreign(block, dress, shape));
        let sent: Vec<(&Block, bool)> = dress.turn.window().sent().map(with_verdict).collect();
        if !sent.iter().any(|(_, foreign)| *foreign) {
            return Self::default();
        }
        let mut guests: Vec<Guest<'_>> =
            sent.into_iter().filter_map(|(block, foreign)| Guest::of(block, !foreign, dress)).collect();
        let offers = dress.tools.is_some_and(|tools| !tools.trim_matches(['[', ']', ' ']).is_empty());
        for guest in guests.iter_mut().filter(|guest| !guest.is_home) {
            guest.strange = !fits(guest.stored, shape.takes) || !offers && guest.calls_or_answers();
        }
        let pairs = pairs(&guests);
        part_no_pairs(&mut guests, &pairs);
        let results = guests.iter().flat_map(|guest| &guest.parts).filter_map(|part| match part {
            Part::Result { call: Some(id), text, other } if offers && pairs.contains_key(id) => {
                Some((id.clone(), told(text, other)))
            }
            Part::Result { .. }
            | Part::Call { .. }
            | Part::Text(_)
            | Part::Image(_)
            | Part::File(_)
            | Part::Thinking(_)
            | Part::Other(_) => None,
        });
        let results = results.collect();
        let strange = guests.into_iter().filter(|guest| guest.strange);
        Self { said: strange.map(|guest| (guest.stored.id, (guest.role, guest.parts))).collect(), results }
    }

    /// What a block says; `None` if it goes as it came.
    pub(crate) fn sayings(&self, block: &Block) -> Option<Vec<Saying>> {
        let (role, parts) = self.said.get(&block.message()?.id)?;
        let mut teller = Teller { speaker: Speaker::of(role), results: &self.results, sayings: Vec::new() };
        // An item without a speaker is the provider's own business.
        let speaks = !matches!(role, Role::Other(_));
        parts.iter().filter(|part| speaks || !matches!(part, Part::Other(_))).for_each(|part| teller.tell(part));
        Some(teller.sayings)
    }
}

/// Whether a block shows what came from elsewhere. Calls of ours belong to the turn that is being answered, and so to
/// its wire.
fn may_be_foreign(block: &Block, dress: &Dress<'_>, shape: &Shape) -> bool {
    let (Body::Original(stored) | Body::Held(stored, _)) = &block.body else { return false };
    dress.mixed || stored.origin == Origin::Import || shape.is_of_another(stored.raw.get())
}

/// A message of a window in which some came from elsewhere.
struct Guest<'a> {
    stored: &'a Stored,
    role: Role,
    /// Whether it came over this wire, and goes as it came.
    is_home: bool,
    /// What it says, with placeholders where results are held.
    parts: Vec<Part>,
    /// Whether it cannot go as it came.
    strange: bool,
}

impl<'a> Guest<'a> {
    fn of(block: &'a Block, is_home: bool, dress: &Dress<'_>) -> Option<Self> {
        let (stored, placeholder) = match &block.body {
            Body::Original(stored) => (stored, None),
            Body::Held(stored, placeholder) => (stored, Some(&**placeholder)),
            Body::Whole(..) | Body::Round(_) | Body::Note(_) | Body::Nothing(_) => return None,
        };
        let message = stored.message();
        let mut parts = message.parts().to_vec();
        if let Some(placeholder) = placeholder {
            hold(&mut parts, placeholder, dress.handle);
        }
        Some(Self { stored, role: message.role().clone(), is_home, parts, strange: false })
    }

    fn calls_or_answers(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Call { .. } | Part::Result { .. }))
    }
}

/// Whether a message can go as it came; one that we cannot read is not ours to judge.
fn fits(stored: &Stored, is_own: fn(&Value) -> bool) -> bool {
    value_of(stored.raw.get()).map_or(true, |value| is_own(&value))
}

/// The calls that are made once and answered once, with the messages that do so, by their places.
fn pairs(guests: &[Guest<'_>]) -> HashMap<String, (usize, usize)> {
    let [mut calls, mut results]: [HashMap<&str, Vec<usize>>; 2] = Default::default();
    for (place, part) in
        guests.iter().enumerate().flat_map(|(place, guest)| guest.parts.iter().map(move |part| (place, part)))
    {
        match part {
            Part::Call { id: Some(id), .. } => calls.entry(id).or_default().push(place),
            Part::Result { call: Some(id), .. } => results.entry(id).or_default().push(place),
            Part::Call { .. }
            | Part::Result { .. }
            | Part::Text(_)
            | Part::Image(_)
            | Part::File(_)
            | Part::Thinking(_)
            | Part::Other(_) => {}
        }
    }
    let once = |(id, made): (&str, Vec<usize>)| match (&made[..], results.get(id).map(Vec::as_slice)) {
        ([call], Some([result])) => Some((id.to_owned(), (*call, *result))),
        _ => None,
    };
    calls.into_iter().filter_map(once).collect()
}

/// Neither half of a call goes as it came if the other does not, nor does the reasoning that led to it.
fn part_no_pairs(guests: &mut [Guest<'_>], pairs: &HashMap<String, (usize, usize)>) {
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

/// A result as one text.
fn told(text: &str, other: &[Value]) -> String {
    let words = (!text.is_empty()).then(|| text.to_owned());
    words.into_iter().chain(other.iter().map(export::other_piece)).collect::<Vec<_>>().join("\n\n")
}

impl Speaker {
    fn of(role: &Role) -> Self {
        match role {
            Role::System => Self::System,
            Role::Assistant | Role::Tool => Self::Assistant,
            Role::Other(name) if &**name == "developer" => Self::System,
            Role::Other(name) if &**name == "function" => Self::Assistant,
            Role::User | Role::Other(_) => Self::User,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

impl Saying {
    /// Its words as one text; `None` if a picture is among them.
    pub(crate) fn text(&self) -> Option<String> {
        let text = |words: &Words| match words {
            Words::Text(text) => Some(text.clone()),
            Words::Picture(_) => None,
        };
        self.words.iter().map(text).collect::<Option<Vec<_>>>().map(|texts| texts.join("\n\n"))
    }
}

/// Tells the parts of a message one after another.
struct Teller<'a> {
    speaker: Speaker,
    results: &'a HashMap<String, String>,
    sayings: Vec<Saying>,
}

impl Teller<'_> {
    fn tell(&mut self, part: &Part) {
        match part {
            Part::Text(text) => self.say(self.speaker, text.clone()),
            Part::Thinking(_) => {}
            Part::Image(block) => match export::picture(block).filter(|_| self.speaker == Speaker::User) {
                Some(url) => self.saying(self.speaker).words.push(Words::Picture(url)),
                None => self.say(self.speaker, export::piece(part)),
            },
            // It says how much could still have been written.
            Part::Other(block) if block["type"] == "token_budget" => {}
            Part::File(_) | Part::Other(_) => self.say(self.speaker, export::piece(part)),
            Part::Call { id, name, arguments } => match id.as_ref().and_then(|id| Some((id, self.results.get(id)?))) {
                Some((id, result)) => {
                    let (id, name) = (id_of(id), name_of(name));
                    let arguments = object(arguments);
                    let answered = Answered { id, name, arguments, result: result.clone() };
                    self.calling().calls.push(answered);
                }
                None => self.say(Speaker::Assistant, export::piece(part)),
            },
            // A result that is known stands with its call.
            Part::Result { call: Some(call), .. } if self.results.contains_key(call) => {}
            Part::Result { .. } => self.say(Speaker::Assistant, export::piece(part)),
        }
    }

    fn say(&mut self, speaker: Speaker, text: String) {
        if !text.trim().is_empty() {
            self.saying(speaker).words.push(Words::Text(text));
        }
    }

    /// What can take more words.
    fn saying(&mut self, speaker: Speaker) -> &mut Saying {
        let goes_on = |last: &Saying| last.speaker == speaker && last.calls.is_empty();
        self.last_if(goes_on, speaker)
    }

    /// What can take more calls.
    fn calling(&mut self) -> &mut Saying {
        self.last_if(|last| last.speaker == Speaker::Assistant, Speaker::Assistant)
    }

    fn last_if(&mut self, goes_on: impl FnOnce(&Saying) -> bool, speaker: Speaker) -> &mut Saying {
        if !self.sayings.last().is_some_and(goes_on) {
            self.sayings.push(Saying { speaker, words: Vec::new(), calls: Vec::new() });
        }
        self.sayings.last_mut().expect("one was added if there was none")
    }
}

/// An id that every provider takes, always the same for a call.
fn id_of(id: &str) -> String {
    if is_plain(id) && id.len() <= ID_CHARS { id.to_owned() } else { Hash128::of("call", &[id.as_bytes()]).to_string() }
}

/// A tool's name as every provider takes it.
fn name_of(name: &str) -> String {
    let plain = |letter: char| if is_plain(letter.encode_utf8(&mut [0; 4])) { letter } else { '_' };
    let name: String = name.chars().take(NAME_CHARS).map(plain).collect();
    if name.is_empty() { "tool".to_owned() } else { name }
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Arguments as an object, which is all that some dialects take.
fn object(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        Value::Null => json!({}),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => json!({"input": arguments}),
    }
}

#[cfg(test)]
mod tests {
    use scrollback::tokens::Measure;
    use scrollback::{At, Message};

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
        // What came over the wire itself is not ours to change, nor is the call alone that it answers.
        assert_eq!(of("  h", &[&thought, &call, &result]), [0; 0]);
        assert_eq!(of("hh ", &[&thought, &call, &words]), [0; 0]);
        // But if one half cannot go as it came, neither does the other.
        assert_eq!(of("hsh", &[&words, &call, &result]), [1, 2]);
        assert_eq!(of("hhs", &[&thought, &call, &result]), [0, 1, 2]);
    }
}
