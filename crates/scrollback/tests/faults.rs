//! Disks that fail: full, broken, or without power, at every single call that a store makes of them.
//!
//! A child works on a store (`script`) with a shim preloaded (`shim.c`) that makes one call fail; afterwards the file
//! must hold all that was acknowledged. First the script runs unharmed and is traced: that counts the calls, and gives
//! the stream of writes and syncs that `disk` cuts off at any point as a power failure would.
//!
//! Every fault meets a fresh file, but a child serves many in turn: reading its vocabulary takes longer than a run.

#![cfg(target_os = "linux")]

#[path = "faults/disk.rs"]
mod disk;
mod durable;
#[path = "durable/promises.rs"]
mod promises;
#[path = "faults/script.rs"]
mod script;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use disk::{Call, Disk, Left, Line, story};
use durable::{child, errand};
use promises::{Promises, Report};
use script::Scene;
use tempfile::TempDir;

const NO_COMPILER: &str = "skipped: there is no C compiler `cc` to build the failing disk with";
/// How many stores a child makes before its files are looked at and removed.
const BATCH: usize = 50;

#[tokio::test]
async fn a_full_disk_loses_nothing() {
    println!("{}", every_fault("enospc", "full").await);
}

#[tokio::test]
async fn a_write_cut_short_loses_nothing() {
    println!("{}", every_fault("short", "full").await);
}

#[tokio::test]
async fn a_failing_disk_loses_nothing() {
    println!("{}", every_fault("eio", "disk").await);
}

#[tokio::test]
async fn a_failing_sync_loses_nothing() {
    println!("{}", every_fault("fsync", "disk").await);
}

#[tokio::test]
async fn a_power_failure_loses_nothing() {
    let Some(bench) = Bench::new() else { return println!("{NO_COMPILER}") };
    let (tried, lost) = bench.every_power_failure(bench.trace(Scene::Usual), 1).await;
    println!("{tried} power failures, {} with losses", lost.len());
    assert!(lost.is_empty(), "{} of {tried} power failures did harm, first: {}", lost.len(), lost[0]);
}

#[tokio::test]
async fn a_power_failure_while_the_journal_begins_anew_loses_nothing() {
    let Some(bench) = Bench::new() else { return println!("{NO_COMPILER}") };
    let trace = bench.trace(Scene::Long);
    let begins = |line: &&Line| matches!(line, Line::Call(Call::Write { name, at: 0, .. }) if name == "log.db-wal");
    assert!(trace.iter().filter(begins).count() >= 3, "the journal must begin anew twice");
    let (tried, lost) = bench.every_power_failure(trace, 5_000).await;
    println!("{tried} power failures, {} with losses", lost.len());
    assert!(lost.is_empty(), "{} of {tried} power failures did harm, first: {}", lost.len(), lost[0]);
}

/// Whether this test would notice: a store that does not wait for the disk must be seen to lose messages, and only
/// those.
#[tokio::test]
async fn a_power_failure_shows_when_nobody_waits_for_the_disk() {
    let Some(bench) = Bench::new() else { return println!("{NO_COMPILER}") };
    let (tried, lost) = bench.every_power_failure(bench.trace(Scene::Careless), 1).await;
    println!("{tried} power failures, {} with losses", lost.len());
    assert!(lost.iter().any(|what| what.contains("was acknowledged and is gone")));
    let beyond = lost.iter().find(|what| !what.contains("was acknowledged and is gone") && !what.contains("is back"));
    assert!(beyond.is_none(), "more than the newest messages is lost: {beyond:?}");
}

/// The child: runs the script in each folder of a bench.
#[tokio::test]
async fn a_child_on_a_bad_disk() {
    let Some(errand) = errand() else { return };
    let (scene, stores) = errand.split_once(' ').unwrap();
    let scene = Scene::named(scene).unwrap();
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(stores).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    for folder in folders {
        let panicked = folder.clone();
        std::panic::set_hook(Box::new(move |info| {
            script::Story::of(&panicked).tell(&Report::Panic(info.to_string()));
        }));
        script::run(&folder, scene).await;
    }
}

/// Lets each call of the script fail in turn. What people are told must contain `word`.
async fn every_fault(mode: &str, word: &str) -> String {
    let Some(bench) = Bench::new() else { return NO_COMPILER.into() };
    let calls = bench.trace(Scene::Usual).iter().filter_map(kind).enumerate().collect::<Vec<_>>();
    let numbers: Vec<usize> = calls.iter().filter(|(_, kind)| fails(mode, *kind)).map(|(index, _)| index + 1).collect();
    let mut sum = Aftermath::default();
    for batch in numbers.chunks(BATCH) {
        let folders: Vec<PathBuf> = batch.iter().map(|call| bench.folder(&format!("{mode}-{call}"))).collect();
        bench.run(Scene::Usual);
        for folder in folders {
            sum.add(&after(&folder, word).await);
            std::fs::remove_dir_all(folder).expect("a folder of our own");
        }
    }
    let planned = numbers.len();
    assert!(sum.faults * 5 >= planned * 4, "of {planned} planned faults only {} came about", sum.faults);
    format!(
        "{mode}: {} of {planned} planned faults came about, {} errors told, {} messages acknowledged, none lost",
        sum.faults, sum.errors, sum.messages
    )
}

#[derive(Default)]
struct Aftermath {
    faults: usize,
    errors: usize,
    messages: usize,
}

impl Aftermath {
    fn add(&mut self, other: &Self) {
        self.faults += other.faults;
        self.errors += other.errors;
        self.messages += other.messages;
    }
}

/// Looks at what a run left behind.
async fn after(folder: &Path, word: &str) -> Aftermath {
    let (mut promises, mut sum, mut wiped) = (Promises::default(), Aftermath::default(), false);
    let mut fault = String::new();
    for line in story(&std::fs::read(folder.join("story")).expect("every run tells its story")) {
        match line {
            Line::Call(call) => panic!("{} is not a trace: {call:?}", folder.display()),
            Line::Fault(what) => {
                sum.faults += 1;
                fault = what;
            }
            Line::Report(report) => {
                match &report {
                    Report::Panic(what) => panic!("{}, {fault}: {what}", folder.display()),
                    Report::Error(error) => {
                        let told = error.split(script::CAUSES).next().unwrap_or_default();
                        assert!(told.contains(word), "{}, {fault}: told “{error}”", folder.display());
                        sum.errors += 1;
                    }
                    Report::Forgotten(_) => wiped = true,
                    Report::Message(..) | Report::Note(..) | Report::Forgetting(_) => {}
                }
                promises.take(report);
            }
        }
    }
    assert!(wiped, "{}, {fault}: the script did not come to its end", folder.display());
    assert!(!holds_canary(folder), "{}, {fault}: words of an erased session are left", folder.display());
    let held = promises.hold_in(&folder.join("log.db"), "a fault").await;
    held.unwrap_or_else(|what| panic!("{}, {fault}: {what}", folder.display()));
    sum.messages = promises.len();
    sum
}

fn holds_canary(folder: &Path) -> bool {
    ["log.db", "log.db-wal", "log.db-shm"].iter().any(|name| {
        let bytes = std::fs::read(folder.join(name)).unwrap_or_default();
        bytes.windows(script::CANARY.len()).any(|window| window == script::CANARY.as_bytes())
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Write,
    Truncate,
    Sync,
}

/// The kind of a call that can fail.
fn kind(line: &Line) -> Option<Kind> {
    match line {
        Line::Call(Call::Write { .. }) => Some(Kind::Write),
        Line::Call(Call::Truncate { .. }) => Some(Kind::Truncate),
        Line::Call(Call::Sync { .. }) => Some(Kind::Sync),
        Line::Call(Call::Unlink { .. }) | Line::Fault(_) | Line::Report(_) => None,
    }
}

/// Whether the shim lets this kind of call fail in this mode.
fn fails(mode: &str, kind: Kind) -> bool {
    match mode {
        "enospc" => kind != Kind::Sync,
        "short" => kind == Kind::Write,
        "fsync" => kind == Kind::Sync,
        _ => true,
    }
}

/// A place to run the script in, with the shim built.
struct Bench {
    base: TempDir,
    shim: PathBuf,
}

impl Bench {
    /// `None` if there is no C compiler.
    fn new() -> Option<Self> {
        // In memory where that is possible: a sync there costs nothing, and it is the shim that decides what a sync
        // means.
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.expect("a folder of our own");
        let shim = base.path().join("shim.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/shim.c");
        let flags = ["-shared", "-fPIC", "-O1", "-lpthread", source, "-o"];
        match Command::new("cc").args(flags).arg(&shim).status() {
            Ok(status) => assert!(status.success(), "{source} does not compile"),
            Err(_) => return None,
        }
        std::fs::create_dir(base.path().join("stores")).expect("a folder of our own");
        Some(Self { base, shim })
    }

    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.base.path().join("stores").join(name);
        std::fs::create_dir(&folder).expect("a folder of our own");
        folder
    }

    /// Runs the script in every folder.
    fn run(&self, scene: Scene) {
        let errand = format!("{scene:?} {}", self.base.path().join("stores").display());
        let mut child = child("a_child_on_a_bad_disk", &errand);
        let ended = child.env("LD_PRELOAD", &self.shim).stdout(Stdio::null()).status().expect("the child starts");
        assert!(ended.success(), "a child died: {ended}");
    }

    /// The script without faults, call by call.
    fn trace(&self, scene: Scene) -> Vec<Line> {
        let folder = self.folder("trace-0");
        self.run(scene);
        let told = story(&std::fs::read(folder.join("story")).expect("the script tells its story"));
        std::fs::remove_dir_all(folder).expect("a folder of our own");
        let bad = told.iter().find(|line| matches!(line, Line::Report(Report::Error(_) | Report::Panic(_))));
        assert!(bad.is_none(), "without faults nothing fails: {bad:?}");
        told
    }

    /// Lets the power fail before every `stride`-th call, and right before and after each sync and each removal of a
    /// file. Returns how often, and each time that it did harm.
    async fn every_power_failure(&self, trace: Vec<Line>, stride: u64) -> (usize, Vec<String>) {
        let (mut disk, mut promises) = (Disk::default(), Promises::default());
        let (mut tried, mut lost, mut call, mut after) = (0, Vec::new(), 0_u64, false);
        for line in trace {
            match line {
                Line::Report(report) => promises.take(report),
                Line::Fault(what) => panic!("nothing fails in a trace: {what}"),
                Line::Call(next) => {
                    let matters = matches!(next, Call::Sync { .. } | Call::Unlink { .. });
                    let chosen = matters || after || call.is_multiple_of(stride);
                    after = matters;
                    for left in [Left::Nothing, Left::Everything, Left::Some(call), Left::Some(!call)] {
                        if !chosen {
                            break;
                        }
                        tried += 1;
                        let held = self.lose_power(&disk, left, &promises).await;
                        lost.extend(held.err().map(|what| format!("before call {call}, {left:?} cached left: {what}")));
                    }
                    disk.call(&next);
                    call += 1;
                }
            }
        }
        (tried, lost)
    }

    async fn lose_power(&self, disk: &Disk, left: Left, promises: &Promises) -> Result<Report, String> {
        let folder = self.folder("dark-0");
        disk.leave(left, &folder);
        let held = promises.hold_in(&folder.join("log.db"), "the power failure").await;
        std::fs::remove_dir_all(folder).expect("a folder of our own");
        held
    }
}
