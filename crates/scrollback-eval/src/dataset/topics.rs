//! Conversations that people sorted into topics.
//!
//! `{"id", "interleaved", "before": [lines], "messages": [{"name", "time", "text", "system", "topic"}]}`. What comes
//! `before` is sorted too, but not scored. `topic` and `interleaved` stay here: what is measured sees the units alone.

use std::path::Path;

use scrollback::At;
use scrollback::task::Unit;
use serde::Deserialize;

use super::{Error, name, rows};

/// Micros in a minute.
const MINUTE: i64 = 60_000_000;
/// A clock that goes back by more than this has passed midnight.
const MIDNIGHT_MINUTES: i64 = 12 * 60;

/// A file of conversations.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The name of the file, without its ending.
    pub name: String,
    /// Its conversations.
    pub conversations: Vec<Conversation>,
}

/// A conversation and how people sorted it.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Whether its topics alternate; decides the metrics, and is not told to what is measured.
    pub interleaved: bool,
    /// What was said.
    pub units: Vec<Unit>,
    /// The topic of each unit from `units.len() - gold.len()` on, numbered from 0.
    pub gold: Vec<usize>,
}

impl Conversation {
    /// The part of some labels that is scored.
    pub fn scored<'a>(&self, labels: &'a [usize]) -> &'a [usize] {
        &labels[labels.len() - self.gold.len()..]
    }
}

#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    interleaved: bool,
    #[serde(default)]
    before: Vec<String>,
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    name: Option<String>,
    time: Option<String>,
    text: String,
    #[serde(default)]
    system: bool,
    topic: serde_json::Value,
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Dataset, Error> {
    let conversations = rows(path)?.into_iter().map(conversation).collect();
    Ok(Dataset { name: name(path), conversations })
}

fn conversation(row: Row) -> Conversation {
    let mut clock = Clock::default();
    let mut units: Vec<Unit> = row.before.iter().map(|line| clock.context(line)).collect();
    let mut topics: Vec<serde_json::Value> = Vec::new();
    let mut gold = Vec::with_capacity(row.messages.len());
    for message in row.messages {
        let number = topics.iter().position(|topic| *topic == message.topic).unwrap_or_else(|| {
            topics.push(message.topic.clone());
            topics.len() - 1
        });
        gold.push(number);
        let at = clock.at(message.time.as_deref());
        // A notice is said by nobody, though it names somebody.
        let speaker = message.name.filter(|_| !message.system);
        units.push(Unit { text: message.text, speaker, at });
    }
    Conversation { interleaved: row.interleaved, units, gold }
}

/// Reads times of day that pass midnight; what has no time happens when the one before did.
#[derive(Default)]
struct Clock {
    minutes: i64,
    days: i64,
    exact: Option<At>,
}

impl Clock {
    fn at(&mut self, time: Option<&str>) -> At {
        if let Some(at) = time.and_then(At::parse) {
            self.exact = Some(at);
        } else if let Some(minutes) = time.and_then(of_day) {
            self.days += i64::from(self.minutes - minutes > MIDNIGHT_MINUTES);
            self.minutes = minutes;
        }
        self.exact.unwrap_or(At((self.days * 24 * 60 + self.minutes) * MINUTE))
    }

    /// A line of a chat log: `[03:19] <name> words`, or a notice.
    fn context(&mut self, line: &str) -> Unit {
        let (time, rest) = match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
            Some((time, rest)) if of_day(time).is_some() => (Some(time), rest),
            Some(_) | None => (None, line),
        };
        let at = self.at(time);
        match rest.strip_prefix('<').and_then(|rest| rest.split_once("> ")) {
            Some((name, text)) if time.is_some() => Unit { text: text.into(), speaker: Some(name.into()), at },
            Some(_) | None => Unit { text: rest.into(), speaker: None, at },
        }
    }
}

fn of_day(time: &str) -> Option<i64> {
    let (hours, minutes) = time.split_once(':')?;
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    Some(hours * 60 + minutes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::{LINES, files};
    use super::*;

    const LINE: &str = r#"{"id":"1","interleaved":true,"before":["[23:58] <ann> hello","=== bob has joined"],"messages":[
        {"id":"7","name":"bob","time":"00:01","text":"hi","system":false,"topic":40},
        {"id":"8","name":"cid","time":null,"text":"has left","system":true,"topic":"x"},
        {"id":"9","name":"ann","time":"00:02","text":"bob: hi","topic":40}]}"#;

    fn check(conversation: &Conversation) {
        let speakers: Vec<_> = conversation.units.iter().map(|unit| unit.speaker.as_deref()).collect();
        assert_eq!(speakers, [Some("ann"), None, Some("bob"), None, Some("ann")]);
        let minutes: Vec<_> = conversation.units.iter().map(|unit| unit.at.0 / MINUTE - 24 * 60).collect();
        assert_eq!(minutes, [-2, -2, 1, 1, 2]);
        assert_eq!(conversation.gold, [0, 1, 0]);
        assert_eq!(conversation.scored(&[5, 6, 7, 8, 9]), [7, 8, 9]);
        assert!(conversation.interleaved);
    }

    #[test]
    fn plain_and_zipped_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let line = LINE.replace('\n', " ");
        std::fs::write(folder.path().join("a.jsonl"), &line).unwrap();
        let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        zipped.write_all(line.as_bytes()).unwrap();
        std::fs::write(folder.path().join("b.jsonl.gz"), zipped.finish().unwrap()).unwrap();
        std::fs::write(folder.path().join("notes.md"), "not a dataset").unwrap();
        let files = files(folder.path(), &LINES).unwrap();
        let sets: Vec<Dataset> = files.iter().map(|path| read(path).unwrap()).collect();
        assert_eq!(sets.iter().map(|set| set.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        for set in &sets {
            check(&set.conversations[0]);
        }
    }

    #[test]
    fn a_broken_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        std::fs::write(&path, "\n{\"id\":1}\n").unwrap();
        assert!(read(&path).unwrap_err().to_string().starts_with("line 2 of"));
    }
}
