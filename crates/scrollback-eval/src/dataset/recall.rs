//! Conversations that questions are asked about, and the messages that answer them.
//!
//! `{"id", "messages": [{"id", "role", "name", "time", "session", "text"}], "questions": [{"id", "kind", "text",
//! "evidence": [ids], "answer", "time"}]}`. A question is asked after the last message. `evidence`, `kind`, `answer`
//! and `session` stay here.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use scrollback::At;
use scrollback::search::gather::Voice;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::published::Entry;
use super::{Error, array, name, rows, time};
use crate::window::line_tokens;

/// A file of conversations.
#[derive(Clone, Debug, Default)]
pub struct Dataset {
    /// The name of the file, without its ending.
    pub name: String,
    /// Its conversations.
    pub talks: Vec<Talk>,
    /// What of it nobody can find.
    pub left_out: LeftOut,
}

/// What of a file is not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// How often evidence names no message of its conversation.
    pub references: usize,
    /// How many questions have no evidence, or no other.
    pub questions: usize,
}

impl LeftOut {
    fn plus(self, other: Self) -> Self {
        Self { references: self.references + other.references, questions: self.questions + other.questions }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { references, questions } = self;
        if *self == Self::default() {
            return f.write_str("No question and no evidence of the data is left out.");
        }
        write!(
            f,
            "Left out: evidence that names no message of the data ({references}), and questions without any other \
             ({questions})."
        )
    }
}

/// A conversation and what is asked about it.
#[derive(Clone, Debug, Default)]
pub struct Talk {
    /// What was said.
    pub messages: Vec<Said>,
    /// What is asked.
    pub questions: Vec<Asked>,
}

/// A message.
#[derive(Clone, Debug)]
pub struct Said {
    /// Whose words they are.
    pub voice: Voice,
    /// Whether it came in a model's place, as a reply.
    pub is_reply: bool,
    /// Who spoke: a name, or a role.
    pub speaker: String,
    /// Whether `speaker` is a name.
    pub is_named: bool,
    /// When; where the data tells only when a session began, that.
    pub at: Option<At>,
    /// The session people put it in; only the baseline that knows sessions sees it.
    pub session: usize,
    /// The words.
    pub text: String,
    /// What it costs in a window.
    pub tokens: u32,
}

impl Said {
    /// The name of its speaker, if there is one.
    pub fn name(&self) -> Option<&str> {
        self.is_named.then_some(self.speaker.as_str())
    }
}

/// A question.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What kind of question people hold it for.
    pub kind: String,
    /// Its words.
    pub text: String,
    /// The messages that answer it, by place, in their order.
    pub evidence: Vec<usize>,
    /// What is right to answer, if the data tells; only a judge sees it.
    pub answer: Option<String>,
    /// When it is asked, if the data tells.
    pub at: Option<At>,
}

impl Asked {
    /// When it is asked, in words, as far as that is known: a model has no clock.
    pub fn time(&self) -> Option<String> {
        self.at.map(|at| format!("(Asked at {at}.)"))
    }

    /// Its words and when they are said.
    pub fn dated(&self) -> String {
        self.time().map_or_else(|| self.text.clone(), |time| format!("{}\n\n{time}", self.text))
    }
}

#[derive(Deserialize)]
pub(super) struct Row {
    pub(super) messages: Vec<Message>,
    pub(super) questions: Vec<Question>,
}

#[derive(Deserialize)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) role: String,
    pub(super) name: Option<String>,
    pub(super) time: Option<String>,
    #[serde(default)]
    pub(super) session: Value,
    pub(super) text: String,
}

#[derive(Deserialize)]
pub(super) struct Question {
    pub(super) kind: String,
    pub(super) text: String,
    pub(super) evidence: Vec<String>,
    #[serde(default)]
    pub(super) answer: Value,
    pub(super) time: Option<String>,
}

/// Reads a file: lines of ours, or `LoCoMo` or `LongMemEval` as published (`.json`).
pub fn read(path: &Path) -> Result<Dataset, Error> {
    let published = path.extension().is_some_and(|ending| ending == "json");
    let malformed = |(i, source)| Error::Malformed { path: path.to_owned(), line: i + 1, source };
    let entry = |(i, entry): (usize, Entry)| entry.row().map_err(|source| malformed((i, source)));
    let rows = if published {
        array(path)?.into_iter().enumerate().map(entry).collect::<Result<_, Error>>()?
    } else {
        rows(path)?
    };
    let (talks, left_out): (Vec<Talk>, Vec<LeftOut>) = rows.into_iter().map(talk).unzip();
    let left_out = left_out.into_iter().fold(LeftOut::default(), LeftOut::plus);
    Ok(Dataset { name: name(path), talks, left_out })
}

/// All conversations one after the other, as if they were one.
pub fn pooled(dataset: &Dataset) -> Dataset {
    let mut all = Talk::default();
    for talk in &dataset.talks {
        let (before, sessions) = (all.messages.len(), all.messages.last().map_or(0, |last| last.session + 1));
        for (said, place) in talk.messages.iter().zip(before..) {
            let session = said.session + sessions;
            let tokens = line_tokens(place, &said.speaker, &said.text);
            all.messages.push(Said { session, tokens, ..said.clone() });
        }
        let moved = |asked: &Asked| {
            let evidence = asked.evidence.iter().map(|place| place + before).collect();
            Asked { evidence, ..asked.clone() }
        };
        all.questions.extend(talk.questions.iter().map(moved));
    }
    Dataset { name: format!("{}, pooled", dataset.name), talks: vec![all], left_out: dataset.left_out }
}

fn talk(row: Row) -> (Talk, LeftOut) {
    let places: HashMap<String, usize> =
        row.messages.iter().enumerate().map(|(i, message)| (message.id.clone(), i)).collect();
    let (mut at, mut session, mut label) = (None, 0, None);
    let said = |(place, message): (usize, Message)| {
        at = message.time.as_deref().and_then(time::read).or(at);
        session += usize::from(label.as_ref().is_some_and(|label| *label != message.session));
        label = Some(message.session);
        let is_named = message.name.as_ref().is_some_and(|name| *name != message.role);
        let voice = if message.role == "user" || is_named { Voice::Person } else { Voice::Model };
        let is_reply = message.role != "user";
        let speaker = message.name.unwrap_or(message.role);
        let tokens = line_tokens(place, &speaker, &message.text);
        Said { voice, is_reply, speaker, is_named, at, session, text: message.text, tokens }
    };
    let messages = row.messages.into_iter().enumerate().map(said).collect();
    let mut left_out = LeftOut::default();
    let asked = |question: Question| {
        let mut evidence: Vec<usize> = question.evidence.iter().filter_map(|id| places.get(id).copied()).collect();
        left_out.references += question.evidence.len() - evidence.len();
        left_out.questions += usize::from(evidence.is_empty());
        evidence.sort_unstable();
        evidence.dedup();
        let at = question.time.as_deref().and_then(time::read);
        Asked { kind: question.kind, text: question.text, evidence, answer: written(&question.answer), at }
    };
    // A question whose answer is nowhere says nothing about windows; evidence that is no message is nobody's to find.
    let questions = row.questions.into_iter().map(asked).filter(|asked| !asked.evidence.is_empty()).collect();
    (Talk { messages, questions }, left_out)
}

/// An answer as people write it; numbers are answers too.
fn written(answer: &Value) -> Option<String> {
    match answer {
        Value::Null => None,
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => Some(answer.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"id":"1","messages":[
        {"id":"a","role":"user","name":"Ann","time":"1:56 pm on 8 May, 2023","session":1,"text":"I have a cat."},
        {"id":"b","role":"assistant","name":"assistant","time":null,"session":2,"text":"Nice."}],
        "questions":[{"id":"q","kind":"pets","text":"Which pet?","evidence":["b","a","b"],"answer":1},
        {"id":"r","kind":"none","text":"Which car?","evidence":[]}]}"#;

    #[test]
    fn talks_are_read_and_pooled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pets.jsonl");
        let line = LINE.replace('\n', " ");
        std::fs::write(&path, format!("{line}\n{line}\n")).unwrap();
        let set = read(&path).unwrap();
        let talk = &set.talks[0];
        assert_eq!((talk.questions.len(), &talk.questions[0].evidence), (1, &vec![0, 1]), "in their order");
        assert_eq!(talk.questions[0].answer.as_deref(), Some("1"));
        assert_eq!((talk.messages[0].name(), talk.messages[1].name()), (Some("Ann"), None));
        assert_eq!((talk.messages[0].voice, talk.messages[1].voice), (Voice::Person, Voice::Model));
        assert_eq!(talk.messages[0].at, talk.messages[1].at);
        let pooled = pooled(&set);
        assert_eq!(pooled.talks[0].questions[1].evidence, [2, 3]);
        assert_eq!(pooled.left_out, LeftOut { references: 0, questions: 2 });
        assert_eq!(pooled.talks[0].messages.iter().map(|said| said.session).collect::<Vec<_>>(), [0, 1, 2, 3]);
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pets.jsonl");
        let left_out = |evidence: &str, other: &str| {
            let line = LINE.replace(r#"["b","a","b"]"#, evidence).replace(r#""evidence":[]"#, other).replace('\n', " ");
            std::fs::write(&path, line).unwrap();
            let set = read(&path).unwrap();
            (set.talks[0].questions.len(), set.left_out)
        };
        let (asked, lost) = left_out(r#"["b","z","z"]"#, r#""evidence":["y"]"#);
        assert_eq!((asked, lost), (1, LeftOut { references: 3, questions: 1 }));
        assert!(lost.to_string().contains("(3)") && lost.to_string().ends_with("(1)."), "{lost}");
        let (asked, lost) = left_out(r#"["b"]"#, r#""evidence":["a"]"#);
        assert_eq!((asked, lost), (2, LeftOut::default()));
        assert!(lost.to_string().starts_with("No question"), "{lost}");
    }
}
