//! Killing the process that writes, again and again, on one file: what it acknowledged is there, and nothing twice.
//!
//! The child is this program once more; it reports each message on its standard output after the log has returned.
//! `SCROLLBACK_CRASH_ROUNDS` sets how often (20 unless told, 200 nightly), `SCROLLBACK_CRASH_SEED` repeats a run.

mod durable;
#[path = "durable/promises.rs"]
mod promises;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use durable::{array, child, errand, receive, said};
use promises::{Dice, Promises, Report, explained, hash, shown};
use scrollback::log::{After, Answer, Arrival, History, Outcome, Received};
use scrollback::store::{Batch, Expect, Kind, Put, Scope, Span};
use scrollback::tokens::Vocabulary;
use scrollback::{At, Error, Log, Message, SessionId, SessionKey, SqliteOptions, SqliteStore, Tenant};

/// Conversations at a time: even ones send their whole history, odd ones only what is new.
const LANES: usize = 6;
/// Every so many lives the lanes begin new conversations, so that histories do not grow for ever.
const LIVES_A_SESSION: u64 = 6;
/// Every so many lives all messages have pictures, and how large those are.
const PICTURE_LIVES: u64 = 10;
const PICTURE_BYTES: usize = 100_000;
/// The longest time a child lives once it is ready to open the file.
const LIFE_MS: u64 = 200;

#[tokio::test]
async fn nothing_acknowledged_is_lost_to_a_kill() {
    let rounds: u64 = number("SCROLLBACK_CRASH_ROUNDS").unwrap_or(20);
    let clock = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let seed = number("SCROLLBACK_CRASH_SEED").unwrap_or(clock);
    println!("SCROLLBACK_CRASH_SEED={seed} SCROLLBACK_CRASH_ROUNDS={rounds}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let (mut dice, mut promises, mut life) = (Dice(seed), Promises::default(), 0);
    for round in 0..rounds {
        // Some files are killed once more before anybody looks at them: then the second child has to recover.
        for _ in 0..=dice.below(2) {
            life += 1;
            let errand = format!("{life} {}", path.display());
            let mut killed = child("a_child_that_writes", &errand).spawn().unwrap();
            for report in reports_until_killed(&mut killed, Duration::from_millis(dice.below(LIFE_MS))) {
                assert!(!matches!(report, Report::Error(_) | Report::Panic(_)), "round {round}: {report:?}");
                promises.take(report);
            }
        }
        let appended = promises.hold_in(&path, &format!("round {round}")).await;
        promises.take(appended.unwrap_or_else(|what| panic!("round {round}, seed {seed}: {what}")));
    }
    println!("{life} kills, {} messages acknowledged, none lost", promises.len());
    assert!(promises.len() as u64 > rounds * 4, "the children must get somewhere before they die");
}

#[tokio::test]
async fn a_kill_while_the_model_answers_keeps_the_question() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let mut killed = child("a_child_that_waits_for_a_model", &path.display().to_string()).spawn().unwrap();
    let lines = BufReader::new(killed.stdout.take().unwrap()).lines().map_while(Result::ok);
    let report = lines.into_iter().find_map(|line| Report::parse(&line)).unwrap();
    killed.kill().unwrap();
    killed.wait().unwrap();

    let log = Log::new(Arc::new(SqliteStore::open(&SqliteOptions::new(&path)).unwrap()));
    let again = receive(&log, None, &question()).await.unwrap();
    assert_eq!((again.outcome, again.added), (Outcome::Replay, 0));
    assert_eq!(Report::head(&again, &said("user", "Are you still there?")), report);
    let answered = log.reply(&again, answer(&said("assistant", "Yes."))).await.unwrap();
    assert_eq!(answered.id.0, again.head.unwrap().id.0 + 1);
}

#[tokio::test]
async fn a_child_that_waits_for_a_model() {
    let Some(path) = errand() else { return };
    let log = Log::new(Arc::new(SqliteStore::open(&SqliteOptions::new(path)).unwrap()));
    let received = receive(&log, None, &question()).await.unwrap();
    report(&Report::head(&received, &said("user", "Are you still there?")));
    tokio::time::sleep(Duration::from_mins(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_that_writes() {
    let Some(errand) = errand() else { return };
    let (life, path) = errand.split_once(' ').unwrap();
    let life = life.parse().unwrap();
    Vocabulary::O200k.count("Read the vocabulary before the clock starts.");
    report_line("ready\n");
    let opened = SqliteStore::open(&SqliteOptions::new(Path::new(path)));
    let log = match opened {
        Ok(store) => Arc::new(Log::new(Arc::new(store))),
        Err(error) => return report(&Report::Error(explained(&error))),
    };
    let lanes = (0..LANES).map(|lane| tokio::spawn(talk(log.clone(), Lane { lane, life })));
    for lane in lanes.collect::<Vec<_>>() {
        if let Err(error) = lane.await.unwrap() {
            report(&Report::Error(explained(&error)));
        }
    }
}

#[derive(Clone, Copy)]
struct Lane {
    lane: usize,
    life: u64,
}

impl Lane {
    fn name(self) -> String {
        format!("lane {}, part {}", self.lane, self.life / LIVES_A_SESSION)
    }

    /// Something never said before. In some lives pictures come with it, so that the journal fills up and is folded
    /// into the file while others write.
    fn says(self, step: usize, role: &str) -> String {
        let text = format!("The {role} in lane {}, life {}, step {step}.", self.lane, self.life);
        if self.life.is_multiple_of(PICTURE_LIVES) { shown(role, &text, PICTURE_BYTES) } else { said(role, &text) }
    }
}

/// Talks until killed, and reports each message once it is acknowledged.
async fn talk(log: Arc<Log>, lane: Lane) -> Result<(), Error> {
    let name = lane.name();
    let mut history = stored_path(&log, &name).await?;
    for step in 0.. {
        let question = lane.says(step, "user");
        let received = if lane.lane.is_multiple_of(2) {
            history.push(question.clone());
            receive(&log, Some(&name), &array(&history)).await?
        } else {
            receive_new(&log, &name, &question).await?
        };
        report(&Report::head(&received, &question));
        let reply = lane.says(step, "assistant");
        let position = log.reply(&received, answer(&reply)).await?;
        report(&Report::Message(received.session.id, Some(position.id), hash(&reply)));
        history.push(reply);
        if step.is_multiple_of(3) {
            put_note(&log, &received, &format!("life-{}-step-{step}", lane.life)).await?;
        }
    }
    Ok(())
}

async fn receive_new(log: &Log, name: &str, question: &str) -> Result<Received, Error> {
    let (tenant, alone) = (Tenant::local(), array(&[question.to_owned()]));
    let arrival = Arrival::new(&tenant, Some(name), "gpt-5", At(0));
    log.receive_new(arrival, After::Last(name), &History::parse(&alone)?).await
}

async fn put_note(log: &Log, received: &Received, key: &str) -> Result<(), Error> {
    let text = format!(r#""a note under {key}""#);
    let body = serde_json::value::RawValue::from_string(text.clone()).expect("a JSON string");
    let scope = Scope::Session(received.session.clone());
    let put = Put { scope, kind: Kind::Note, key: key.to_owned(), at: At(0), body, expect: Expect::Absent };
    log.store().commit(Batch::of_records(received.session.clone(), vec![put])).await?;
    report(&Report::Note(received.session.id, key.to_owned(), hash(&text)));
    Ok(())
}

/// The conversation as earlier lives left it.
async fn stored_path(log: &Log, name: &str) -> Result<Vec<String>, Error> {
    let tenant = Tenant::local();
    let key = SessionKey { id: SessionId::declared(&tenant, name), tenant };
    let Some(head) = log.store().read(&key, Span::Last).await?.pop().and_then(|last| last.position()) else {
        return Ok(Vec::new());
    };
    let path = log.store().read(&key, Span::path(head, scrollback::ids::Depth(0))).await?;
    Ok(path.iter().map(|message| message.raw.get().to_owned()).collect())
}

/// Reads what a child reports, kills it so long after it is ready, and returns what was said until then.
fn reports_until_killed(child: &mut Child, after: Duration) -> Vec<Report> {
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let ready = lines.any(|line| line == "ready");
    assert!(ready, "the child ended before it began");
    let reader = std::thread::spawn(move || lines.filter_map(|line| Report::parse(&line)).collect());
    std::thread::sleep(after);
    child.kill().expect("the child still runs");
    child.wait().expect("the child was started");
    reader.join().expect("the reader does not panic")
}

fn report(report: &Report) {
    report_line(&report.line());
}

/// Prints a line of its own: the test harness leaves its first one open.
fn report_line(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n{line}").as_bytes()).and_then(|()| out.flush()).expect("somebody listens");
}

fn question() -> String {
    array(&[said("user", "Are you still there?")])
}

fn answer(raw: &str) -> Answer<'static> {
    let message = Message::from_json(raw).expect("JSON");
    Answer::of(message, "gpt-5", At(0))
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
