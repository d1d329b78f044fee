//! A disk that loses power: what the shim traced, played back up to any moment.
//!
//! A file system owes a program only what was synced. A write lives in a cache until its file is synced, a name (a file
//! created or removed) until its folder is. At a power cut any part of the cache may have reached the disk, in any
//! order, between files as well as within one. So three outcomes are tried: nothing of the cache, all of it, and each
//! sector and name by the toss of a coin. The last covers what two plain copies cannot: a journal that began anew
//! beside a file that is not yet folded, half a header, a removed journal that is back. What the database assumes, we
//! grant: a write leaves the other bytes of its sectors alone ("power-safe overwrite").
//!
//! Names are treated more strictly than most file systems do, which make a name durable with the file's first sync.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::promises::{Dice, Report};

const SECTOR_BYTES: usize = 512;

/// A line of a story.
#[derive(Debug)]
pub(crate) enum Line {
    /// A call that reached the disk.
    Call(Call),
    /// A call that was made to fail.
    Fault(String),
    /// What the child reported.
    Report(Report),
}

#[derive(Debug)]
pub(crate) enum Call {
    Write { name: String, at: usize, bytes: Vec<u8> },
    Truncate { name: String, length: usize },
    Sync { name: String },
    Unlink { name: String },
}

/// Reads a story.
pub(crate) fn story(mut bytes: &[u8]) -> Vec<Line> {
    let mut lines = Vec::new();
    while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(&bytes[..end]).into_owned();
        bytes = &bytes[end + 1..];
        let fields: Vec<&str> = line.split(' ').collect();
        let name = || fields[1].to_owned();
        let number = |index: usize| -> usize { fields[index].parse().expect("the shim writes numbers") };
        lines.push(match fields[0] {
            "write" => {
                let (data, rest) = bytes.split_at(number(3));
                bytes = rest;
                Line::Call(Call::Write { name: name(), at: number(2), bytes: data.to_vec() })
            }
            "truncate" => Line::Call(Call::Truncate { name: name(), length: number(2) }),
            "sync" => Line::Call(Call::Sync { name: name() }),
            "unlink" => Line::Call(Call::Unlink { name: name() }),
            "fault" => Line::Fault(line.clone()),
            _ => Line::Report(Report::parse(&line).unwrap_or_else(|| panic!("a line nobody wrote: {line}"))),
        });
    }
    lines
}

/// What is left of the cache when the power fails.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Left {
    Nothing,
    Everything,
    /// Each sector and each name, or not, by dice with this seed.
    Some(u64),
}

#[derive(Default)]
struct File {
    cached: Vec<u8>,
    synced: Vec<u8>,
}

/// The folder of one store.
#[derive(Default)]
pub(crate) struct Disk {
    files: Vec<File>,
    cached_names: BTreeMap<String, usize>,
    synced_names: BTreeMap<String, usize>,
}

impl Disk {
    pub(crate) fn call(&mut self, call: &Call) {
        match call {
            Call::Write { name, at, bytes } if kept(name) => {
                let file = &mut self.file(name).cached;
                file.resize(file.len().max(at + bytes.len()), 0);
                file[*at..at + bytes.len()].copy_from_slice(bytes);
            }
            Call::Truncate { name, length } if kept(name) => self.file(name).cached.resize(*length, 0),
            Call::Sync { name } if kept(name) => {
                let file = self.file(name);
                file.synced.clone_from(&file.cached);
            }
            Call::Sync { name } if name == "." => self.synced_names.clone_from(&self.cached_names),
            Call::Unlink { name } => drop(self.cached_names.remove(name)),
            Call::Write { .. } | Call::Truncate { .. } | Call::Sync { .. } => {}
        }
    }

    fn file(&mut self, name: &str) -> &mut File {
        let next = self.files.len();
        let number = *self.cached_names.entry(name.to_owned()).or_insert(next);
        if number == next {
            self.files.push(File::default());
        }
        &mut self.files[number]
    }

    /// Writes into `folder` what is found there when the power is back.
    pub(crate) fn leave(&self, left: Left, folder: &Path) {
        let mut dice = Dice(if let Left::Some(seed) = left { seed } else { 0 });
        let mut keeps = || match left {
            Left::Nothing => false,
            Left::Everything => true,
            Left::Some(_) => dice.below(2) == 0,
        };
        let names: BTreeSet<&String> = self.cached_names.keys().chain(self.synced_names.keys()).collect();
        for name in names {
            let number = if keeps() { self.cached_names.get(name) } else { self.synced_names.get(name) };
            if let Some(number) = number {
                let content = self.files[*number].after(&mut keeps);
                std::fs::write(folder.join(name), content).expect("a folder of our own");
            }
        }
    }
}

impl File {
    fn after(&self, keeps: &mut impl FnMut() -> bool) -> Vec<u8> {
        let length = if keeps() { self.cached.len() } else { self.synced.len() };
        let mut content = vec![0; length];
        for start in (0..length).step_by(SECTOR_BYTES) {
            let end = length.min(start + SECTOR_BYTES);
            let of = |file: &[u8]| file.get(start..end.min(file.len())).map(<[u8]>::to_vec).unwrap_or_default();
            let (cached, synced) = (of(&self.cached), of(&self.synced));
            let sector = if cached != synced && keeps() { cached } else { synced };
            content[start..start + sector.len()].copy_from_slice(&sector);
        }
        content
    }
}

/// The index of the journal and the lock are made anew after a crash.
fn kept(name: &str) -> bool {
    matches!(name, "log.db" | "log.db-wal" | "log.db-journal")
}
