//! Conversations with gold labels, one JSON object a line, plain or gzip.
//!
//! `topics` reads conversations that people sorted, `recall` those that questions are asked about, `traces` what agents
//! did. Labels stay here: what is measured sees what was said, by whom and when.

mod published;
pub mod recall;
mod time;
pub mod topics;
pub mod traces;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde::de::DeserializeOwned;

/// Why a dataset could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A folder or file that cannot be opened or read.
    #[error("{path} cannot be read")]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line that is not a conversation.
    #[error("line {line} of {path} is not a conversation of this suite")]
    Malformed {
        /// Of which file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// The files of a folder whose names have one of some endings, by name.
pub fn files(folder: &Path, endings: &[&str]) -> Result<Vec<PathBuf>, Error> {
    let unreadable = |source| Error::Unreadable { path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The endings of files with a conversation a line.
pub const LINES: [&str; 2] = [".jsonl", ".jsonl.gz"];

/// The name of a dataset: that of its file, without what says how it is written.
pub fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let endings = [".jsonl.gz", ".jsonl", ".json"];
    endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name).to_owned()
}

/// The entries of a file that is one array.
fn array<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Error> {
    let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
    let file = BufReader::new(File::open(path).map_err(unreadable)?);
    let malformed = |source: serde_json::Error| Error::Malformed { path: path.to_owned(), line: source.line(), source };
    serde_json::from_reader(file).map_err(malformed)
}

/// The lines of a file that are not blank, each read as a row.
fn rows<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Error> {
    let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    let zipped = path.extension().is_some_and(|ending| ending == "gz");
    let bytes: Box<dyn Read> = if zipped { Box::new(GzDecoder::new(file)) } else { Box::new(file) };
    let mut rows = Vec::new();
    for (i, line) in BufReader::new(bytes).lines().enumerate() {
        let line = line.map_err(unreadable)?;
        if line.trim().is_empty() {
            continue;
        }
        let malformed = |source| Error::Malformed { path: path.to_owned(), line: i + 1, source };
        rows.push(serde_json::from_str(&line).map_err(malformed)?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_different_names_are_datasets_of_different_names() {
        let named = ["a.jsonl.gz", "v1.2.jsonl", "v1.3.json", "plain"].map(|file| name(&Path::new("sets").join(file)));
        assert_eq!(named, ["a", "v1.2", "v1.3", "plain"]);
    }
}
