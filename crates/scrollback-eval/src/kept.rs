//! Measurements that are finished, kept in a file, so that what was cut short goes on where it stopped.
//!
//! A line of JSON each, written as soon as it is measured. A measurement is found again by its suite, its dataset, its
//! settings and the program's version. A line that was cut off is passed over; what follows it begins on a line of its
//! own.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::report::Finding;

/// Why a file of measurements cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be opened, read or written.
    #[error("{path} cannot be read or written")]
    Unusable {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It holds something else; nothing is added to it.
    #[error("{path} is no file of measurements")]
    Foreign {
        /// Which one.
        path: PathBuf,
    },
}

/// What a measurement is found again by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The suite, by the word that runs it.
    pub suite: String,
    /// The name of the dataset.
    pub dataset: String,
    /// Everything else the numbers depend on.
    pub settings: String,
    /// The program that measured.
    pub version: String,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    key: Key,
    finding: Finding,
}

/// A file of measurements.
#[derive(Debug)]
pub struct Kept {
    path: PathBuf,
    file: Mutex<File>,
    found: HashMap<Key, Finding>,
}

impl Kept {
    /// Opens a file, or begins one.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let unusable = |source| Error::Unusable { path: path.to_owned(), source };
        let text = match std::fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(gone) if gone.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(unusable(source)),
        };
        let found = entries(&text);
        let begun = text.starts_with(BEGINNING) || BEGINNING.starts_with(text.trim_end());
        if found.is_empty() && !begun {
            return Err(Error::Foreign { path: path.to_owned() });
        }
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(unusable)?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").map_err(unusable)?;
        }
        Ok(Self { path: path.to_owned(), file: Mutex::new(file), found })
    }

    /// What was measured before.
    pub fn get(&self, key: &Key) -> Option<&Finding> {
        self.found.get(key)
    }

    /// Keeps a measurement.
    pub fn put(&self, key: &Key, finding: &Finding) -> Result<(), Error> {
        let unusable = |source| Error::Unusable { path: self.path.clone(), source };
        let entry = Entry { key: key.clone(), finding: finding.clone() };
        let line = serde_json::to_string(&entry).map_err(|error| unusable(error.into()))? + "\n";
        // A thread that panicked cannot have left half of anything: a line is written at once.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes()).and_then(|()| file.sync_data()).map_err(unusable)
    }
}

/// What every line begins with.
const BEGINNING: &str = r#"{"key":{"suite":"#;

/// The measurements of a file; of two for the same key the later one.
fn entries(text: &str) -> HashMap<Key, Finding> {
    let entry = |line| serde_json::from_str(line).ok().map(|Entry { key, finding }| (key, finding));
    text.lines().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::small;

    fn key(dataset: &str) -> Key {
        Key { suite: "recall".into(), dataset: dataset.into(), settings: "1k".into(), version: "1".into() }
    }

    #[test]
    fn what_was_measured_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.jsonl");
        let kept = Kept::open(&path).unwrap();
        assert_eq!(kept.get(&key("a")), None);
        kept.put(&key("a"), &small("a")).unwrap();
        kept.put(&key("b"), &small("b")).unwrap();
        let kept = Kept::open(&path).unwrap();
        assert_eq!((kept.get(&key("a")), kept.get(&key("b"))), (Some(&small("a")), Some(&small("b"))));
        for other in [Key { settings: "2k".into(), ..key("a") }, Key { version: "2".into(), ..key("a") }] {
            assert_eq!(kept.get(&other), None);
        }
    }

    #[test]
    fn a_line_that_was_cut_off_is_no_trouble() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.jsonl");
        Kept::open(&path).unwrap().put(&key("a"), &small("外")).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for cut in (0..whole.len()).step_by(11) {
            std::fs::write(&path, [&whole[..], &whole[..cut]].concat()).unwrap();
            let kept = Kept::open(&path).unwrap();
            kept.put(&key("b"), &small("b")).unwrap();
            let kept = Kept::open(&path).unwrap();
            assert!(kept.get(&key("a")).is_some() && kept.get(&key("b")).is_some(), "cut at {cut}");
        }
        for cut in [1, whole.len() / 2] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            for _ in 0..2 {
                assert_eq!(Kept::open(&path).unwrap().get(&key("a")), None);
            }
        }
    }

    #[test]
    fn other_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("letter.txt");
        std::fs::write(&path, "Dear Ann,").unwrap();
        assert!(matches!(Kept::open(&path), Err(Error::Foreign { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "Dear Ann,");
        assert!(matches!(Kept::open(folder.path()), Err(Error::Unusable { .. })));
    }
}
