//! Calls that were answered, kept beside what was measured, so that nothing is paid for twice.
//!
//! A line of JSON each: a fingerprint of where and what was asked, and the reply as it came. A reply is used once for
//! each time it was given; lines that were cut off are passed over.

use std::collections::{HashMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Line {
    call: String,
    reply: String,
}

/// A file of calls.
#[derive(Debug)]
pub(super) struct Record {
    path: PathBuf,
    state: Mutex<(File, HashMap<String, VecDeque<String>>)>,
}

impl Record {
    /// Opens the file that stands beside one of measurements, or begins it.
    pub(super) fn beside(measurements: &Path) -> anyhow::Result<Self> {
        let path = measurements.with_extension("calls.jsonl");
        let shown = path.display();
        let text = match std::fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(gone) if gone.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| format!("{shown} cannot be read")),
        };
        let mut known: HashMap<String, VecDeque<String>> = HashMap::new();
        for line in text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
            known.entry(line.call).or_default().push_back(line.reply);
        }
        let opened = OpenOptions::new().create(true).append(true).open(&path);
        let mut file = opened.with_context(|| format!("{shown} cannot be written"))?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").with_context(|| format!("{shown} cannot be written"))?;
        }
        Ok(Self { path, state: Mutex::new((file, known)) })
    }

    /// The reply to a call that was made before.
    pub(super) fn take(&self, call: &str) -> Option<String> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1.get_mut(call)?.pop_front()
    }

    /// Keeps a reply.
    pub(super) fn put(&self, call: &str, reply: &str) -> anyhow::Result<()> {
        let line = serde_json::to_string(&Line { call: call.to_owned(), reply: reply.to_owned() })? + "\n";
        let file = &mut self.state.lock().unwrap_or_else(PoisonError::into_inner).0;
        let written = file.write_all(line.as_bytes()).and_then(|()| file.sync_data());
        written.with_context(|| format!("{} cannot be written", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_found_again_as_often_as_they_were_given() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept.jsonl");
        let record = Record::beside(&kept).unwrap();
        record.put("a", "one").unwrap();
        record.put("a", "two").unwrap();
        assert_eq!(record.take("a"), None, "what is new is not used again");
        let path = folder.path().join("kept.calls.jsonl");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text + "{\"call\":\"b").unwrap();
        Record::beside(&kept).unwrap().put("c", "three").unwrap();
        let record = Record::beside(&kept).unwrap();
        let taken: Vec<_> = ["a", "a", "a", "b", "c"].map(|call| record.take(call)).into();
        assert_eq!(taken, [Some("one".into()), Some("two".into()), None, None, Some("three".into())]);
    }
}
