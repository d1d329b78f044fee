//! Transcripts: every request and every reply as it was, a file for each question or conversation.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// A folder of transcripts.
#[derive(Debug)]
pub(super) struct Transcripts {
    folder: PathBuf,
    /// The files that this run has begun; others of the same name are from earlier runs.
    begun: Mutex<HashSet<PathBuf>>,
}

/// What is written of a call.
pub(super) struct Entry<'a> {
    /// Who was asked.
    pub(super) who: &'static str,
    /// What was sent.
    pub(super) request: &'a [u8],
    /// What came back: a status, or nothing.
    pub(super) status: Option<u16>,
    /// What came back.
    pub(super) reply: &'a [u8],
    /// Whether it is from an earlier run.
    pub(super) kept: bool,
}

impl Transcripts {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, begun: Mutex::default() }
    }

    /// Adds a call to a transcript.
    pub(super) fn add(&self, file: &str, entry: &Entry<'_>) -> anyhow::Result<()> {
        let (Entry { who, kept, status, .. }, request, reply) = (entry, exact(entry.request)?, exact(entry.reply)?);
        let line = serde_json::to_string(&Line { who, kept: *kept, status: *status, request, reply })?;
        let path = self.path(file);
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = begun.insert(path.clone());
        let write = || {
            std::fs::create_dir_all(path.parent().unwrap_or(&self.folder))?;
            let mut options = OpenOptions::new();
            let options = options.create(true).write(true).truncate(is_new).append(!is_new);
            options.open(&path)?.write_all(format!("{line}\n").as_bytes())
        };
        write().with_context(|| format!("{} cannot be written", path.display()))
    }

    /// Where a transcript is: names of datasets may hold anything.
    fn path(&self, file: &str) -> PathBuf {
        let plain = |c: char| if c.is_alphanumeric() || "-_/".contains(c) { c } else { '_' };
        self.folder.join(file.chars().map(plain).collect::<String>().trim_start_matches('/')).with_extension("jsonl")
    }
}

#[derive(Serialize)]
struct Line<'a> {
    who: &'a str,
    kept: bool,
    status: Option<u16>,
    request: Box<RawValue>,
    reply: Box<RawValue>,
}

/// The same bytes: JSON on one line as it stands, anything else as a text.
fn exact(bytes: &[u8]) -> serde_json::Result<Box<RawValue>> {
    let text = String::from_utf8_lossy(bytes);
    let plain = (!text.contains('\n')).then(|| RawValue::from_string(text.trim().to_owned()).ok());
    plain.flatten().map_or_else(|| to_raw_value(&text), Ok)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_transcript_begins_anew_with_every_run() {
        let folder = tempfile::tempdir().unwrap();
        let entry = |reply: &'static str| Entry {
            who: "model",
            request: br#"{"b":1.0,"a":1}"#,
            status: Some(200),
            reply: reply.as_bytes(),
            kept: false,
        };
        for _ in 0..2 {
            let transcripts = Transcripts::new(folder.path().to_owned());
            transcripts.add("recall/../a set/1", &entry(r#"{"b":2}"#)).unwrap();
            transcripts.add("recall/../a set/1", &entry("no JSON")).unwrap();
        }
        let text = std::fs::read_to_string(folder.path().join("recall/__/a_set/1.jsonl")).unwrap();
        assert!(text.contains(r#""request":{"b":1.0,"a":1}"#), "{text}");
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((lines.len(), &lines[0]["reply"]["b"], &lines[1]["reply"]), (2, &json!(2), &json!("no JSON")));
    }
}
