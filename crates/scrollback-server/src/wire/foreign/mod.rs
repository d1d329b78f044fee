//! Messages that were read from the files of other programs, or said over another wire, said so that any dialect can
//! write them. A client that changes its model may change its dialect with it, in the middle of a conversation.
//!
//! What has the wire's own shape goes as it came (`shape`). Of the rest, words stay words, and a call stays one where
//! its result is known and tools are offered; everything else is told in words. Reasoning is left out: only the
//! provider that made it takes it back.

mod guest;
pub(crate) mod shape;
mod whence;

use std::collections::{HashMap, HashSet};

use scrollback::ids::Hash128;
use scrollback::window::{Block, Body};
use scrollback::{MessageId, Part, Role, export};
use serde_json::{Value, json};

use super::Dress;
use guest::{Guest, fits, pairs, part_no_pairs};
use shape::Shape;
use whence::Whence;

/// The longest id and the longest name of a tool that every provider takes.
const ID_CHARS: usize = 40;
const NAME_CHARS: usize = 64;

/// The messages of a window that are not of its wire's shape.
#[derive(Default)]
pub(crate) struct Foreign {
    said: HashMap<MessageId, (Role, Vec<Part>)>,
    /// The results of calls that have exactly one, by the ids of the calls.
    results: HashMap<String, String>,
    /// Calls of ours and their results that were made over another wire. The model can make them again.
    rounds: HashSet<String>,
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
        let whence = Whence::of(dress, shape);
        let with_verdict = |block| (block, whence.is_foreign(block));
        let sent: Vec<(&Block, bool)> = dress.turn.window().sent().map(with_verdict).collect();
        if !sent.iter().any(|(_, foreign)| *foreign) {
            return Self::default();
        }
        let rounds = sent.iter().filter(|(block, foreign)| *foreign && matches!(block.body, Body::Round(_)));
        let rounds = rounds.map(|(block, _)| block.text().to_owned()).collect();
        let mut guests: Vec<Guest<'_>> =
            sent.into_iter().filter_map(|(block, foreign)| Guest::of(block, !foreign, dress)).collect();
        let offers = dress.tools.is_some_and(|tools| !tools.trim_matches(['[', ']', ' ']).is_empty());
        for guest in guests.iter_mut().filter(|guest| !guest.is_home) {
            guest.strange |= !fits(guest.stored, shape.takes) || !offers && guest.calls_or_answers();
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
        Self { said: strange.map(|guest| (guest.stored.id, (guest.role, guest.parts))).collect(), results, rounds }
    }

    /// What a block says, which may be nothing; `None` if it goes as it came.
    pub(crate) fn sayings(&self, block: &Block) -> Option<Vec<Saying>> {
        if matches!(block.body, Body::Round(_)) {
            return self.rounds.contains(block.text()).then(Vec::new);
        }
        let (role, parts) = self.said.get(&block.message()?.id)?;
        let mut teller = Teller { speaker: Speaker::of(role), results: &self.results, sayings: Vec::new() };
        // An item without a speaker is the provider's own business.
        let speaks = !matches!(role, Role::Other(_));
        parts.iter().filter(|part| speaks || !matches!(part, Part::Other(_))).for_each(|part| teller.tell(part));
        Some(teller.sayings)
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
