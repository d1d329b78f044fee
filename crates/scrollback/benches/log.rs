//! How fast the log is, each figure beside something plain that does the same work in the same run.
//!
//! `cargo bench --bench log` runs all; `cargo bench --bench log -- append align` runs some. Prints Markdown rows for
//! `docs/performance.md`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark may panic and prints its result"
)]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures, not amounts"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use scrollback::ids::{NodeId, SessionId};
use scrollback::log::Arrival;
use scrollback::search::{Query, Reach, find};
use scrollback::store::{Batch, Draft, NodeRef, Origin, Span};
use scrollback::tokens::{Measure, Vocabulary};
use scrollback::{At, Log, Message, Role, SessionKey, SqliteOptions, SqliteStore, Store, Tenant};

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if let [step, path] = &wanted[..]
        && step == "open-only"
    {
        return open_only(Path::new(path));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let runs = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    runtime.block_on(async {
        if runs("append") {
            append().await;
        }
        if runs("index") {
            index().await;
        }
        if runs("align") {
            align().await;
        }
        if runs("bytes") {
            bytes().await;
        }
        if runs("open") {
            open().await;
        }
        if runs("search") {
            search().await;
        }
    });
    if runs("tokens") {
        tokens();
    }
}

/// Words with the frequencies of natural language, in two scripts; repeatable.
struct Speech {
    state: u64,
}

impl Speech {
    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// A rank by Zipf's law over `count` words.
    fn rank(&mut self, count: f64) -> usize {
        let uniform = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        (count.powf(uniform) - 1.0) as usize
    }

    fn word(&mut self, chinese: bool) -> String {
        let rank = self.rank(50_000.0);
        let letter = |i: u32| char::from_u32(i).unwrap();
        let (mut out, mut rest) = (String::new(), rank as u32 * 7919 % 50_021);
        for _ in 0..if chinese { 2 } else { 2 + rank % 5 } {
            if chinese {
                out.push(letter(0x4E00 + rest % 3000));
            } else {
                out.push(letter(u32::from(b'a') + rest % 26));
                out.push(letter(u32::from(b'a') + rest / 26 % 26));
            }
            rest = rest / 17 + 31;
        }
        out
    }

    fn message(&mut self, bytes: usize) -> Message {
        let chinese = self.next().is_multiple_of(4);
        let mut text = String::new();
        while text.len() < bytes {
            text.push_str(&self.word(chinese));
            text.push_str(if chinese { "" } else { " " });
        }
        let role = if self.next().is_multiple_of(2) { Role::User } else { Role::Assistant };
        Message::text(&role, &text)
    }
}

fn speech() -> Speech {
    Speech { state: 0x9E37_79B9_7F4A_7C15 }
}

fn key(name: &str) -> SessionKey {
    let tenant = Tenant::local();
    SessionKey { id: SessionId::declared(&tenant, name), tenant }
}

/// The next batch of a session that grows message by message.
fn next_batch(session: &SessionKey, after: &mut Option<NodeRef>, messages: Vec<Message>) -> Batch {
    let mut batch = Batch::new(session.clone());
    batch.declared = Some(session.id.to_string());
    batch.after = *after;
    let mut node = after.map_or_else(|| NodeId::root(session.id), |after| after.node);
    for (depth, message) in (after.map_or(0, |after| after.depth.0 + 1)..).zip(messages) {
        node = node.then(message.strong());
        *after = Some(NodeRef { depth: scrollback::ids::Depth(depth), node });
        let measure = Measure::of(&message, "gpt-5");
        batch.path.push(Draft { message, node, at: At(1), origin: Origin::Client, measure });
    }
    batch
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn row(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}

async fn append() {
    println!(
        "\n### append\n| writers | Scrollback messages/s | plain SQLite | ratio | plain SQLite with FTS5 | ratio |"
    );
    println!("|---|---|---|---|---|---|");
    for writers in [1_usize, 16] {
        let each = 3_000 / writers;
        let mut speech = speech();
        let said: Vec<Vec<Message>> = (0..writers).map(|_| (0..each).map(|_| speech.message(400)).collect()).collect();
        // Warm up the tokenizer, which loads once in a process.
        Measure::of(&said[0][0], "gpt-5");
        let (ours, bare, searchable) = (appended(&said).await, plain(&said, ""), plain(&said, SEARCHABLE));
        let rate = |time: Duration| (writers * each) as f64 / time.as_secs_f64();
        row(&[
            writers.to_string(),
            format!("{:.0}", rate(ours)),
            format!("{:.0}", rate(bare)),
            format!("{:.2}", rate(ours) / rate(bare)),
            format!("{:.0}", rate(searchable)),
            format!("{:.2}", rate(ours) / rate(searchable)),
        ]);
    }
}

async fn appended(said: &[Vec<Message>]) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(&SqliteOptions::new(folder.path().join("a.db"))).unwrap());
    let batches = said.iter().enumerate().map(|(writer, messages)| {
        let (session, mut after) = (key(&format!("w{writer}")), None);
        messages.iter().map(|message| next_batch(&session, &mut after, vec![message.clone()])).collect::<Vec<_>>()
    });
    let batches: Vec<_> = batches.collect();
    let start = Instant::now();
    let tasks: Vec<_> = batches
        .into_iter()
        .map(|batches| {
            let store = store.clone();
            tokio::spawn(async move {
                for batch in batches {
                    store.commit(batch).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    start.elapsed()
}

/// What makes plain SQLite find words, too.
const SEARCHABLE: &str = "CREATE VIRTUAL TABLE f USING fts5 (raw, content = '');
    CREATE TRIGGER t AFTER INSERT ON m BEGIN INSERT INTO f (rowid, raw) VALUES (new.no + 100000 * substr(new.session, 2), new.raw); END;";

/// The least that is durable: one row with its session and number in a transaction of its own.
fn plain(said: &[Vec<Message>], more: &str) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.db");
    let open = || {
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.busy_timeout(Duration::from_mins(1)).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;").unwrap();
        connection
    };
    let table = "CREATE TABLE m (session TEXT, no INTEGER, raw TEXT, PRIMARY KEY (session, no)) WITHOUT ROWID;";
    open().execute_batch(&format!("{table} {more}")).unwrap();
    let start = Instant::now();
    std::thread::scope(|scope| {
        for (writer, messages) in said.iter().enumerate() {
            let connection = open();
            scope.spawn(move || {
                for (no, message) in messages.iter().enumerate() {
                    let values = rusqlite::params![format!("w{writer}"), no, message.raw().get()];
                    connection.prepare_cached("INSERT INTO m VALUES (?1, ?2, ?3)").unwrap().execute(values).unwrap();
                }
            });
        }
    });
    start.elapsed()
}

async fn index() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&SqliteOptions::new(folder.path().join("a.db"))).unwrap();
    fill(&store, 1, 20_000, 400).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let start = Instant::now();
    store.reindex().await.unwrap();
    println!("\n### index\n20,000 messages of 400 bytes indexed in {:.2?}", start.elapsed());
}

async fn align() {
    println!(
        "\n### align\n| messages | bytes | receive, one new turn | of it splitting JSON | of it hashing | durable write | beyond |"
    );
    println!("|---|---|---|---|---|---|---|");
    for count in [10, 100, 1_000, 10_000] {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteOptions {
            durability: scrollback::store::Durability::Normal,
            ..SqliteOptions::new(folder.path().join("a.db"))
        };
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&options).unwrap());
        let log = Log::new(store.clone());
        let (tenant, mut speech) = (Tenant::local(), speech());
        let mut parts: Vec<String> = (0..count).map(|_| speech.message(400).raw().get().to_owned()).collect();
        let arrival = Arrival::new(&tenant, Some("s"), "gpt-5", At(1));
        let text = format!("[{}]", parts.join(","));
        log.receive(arrival, &log.open(&tenant, &text).unwrap().0).await.unwrap();
        let (mut whole, mut split, mut hash, mut write) = (vec![], vec![], vec![], vec![]);
        let (side, mut after) = (key("side"), None);
        for _ in 0..21 {
            let turn = [speech.message(400), speech.message(400)];
            parts.extend(turn.iter().map(|message| message.raw().get().to_owned()));
            let text = format!("[{}]", parts.join(","));
            let batch = next_batch(&side, &mut after, turn.to_vec());
            let start = Instant::now();
            store.commit(batch).await.unwrap();
            write.push(start.elapsed());
            let start = Instant::now();
            let (history, _) = log.open(&tenant, &text).unwrap();
            split.push(start.elapsed());
            log.receive(arrival, &history).await.unwrap();
            whole.push(start.elapsed());
            let start = Instant::now();
            std::hint::black_box(blake3::hash(text.as_bytes()));
            hash.push(start.elapsed());
        }
        let bytes = parts.iter().map(String::len).sum::<usize>();
        let (whole, split, hash, write) = (median(whole), median(split), median(hash), median(write));
        let beyond = whole.saturating_sub(split + hash + write);
        row(&[
            count.to_string(),
            bytes.to_string(),
            format!("{whole:.1?}"),
            format!("{split:.1?}"),
            format!("{hash:.1?}"),
            format!("{write:.1?}"),
            format!("{beyond:.1?}"),
        ]);
    }
}

/// What this process has written to files, by its own account.
fn written() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap();
    io.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap().parse().unwrap()
}

async fn bytes() {
    println!(
        "\n### bytes\n| message | history | written per append | 1.5 × message + a page | with index and checkpoint |\n|---|---|---|---|---|"
    );
    for size in [400, 4_000, 40_000] {
        for history in [0, 1_000, 20_000] {
            if size * history > 100_000_000 {
                continue;
            }
            let folder = tempfile::tempdir().unwrap();
            let options = SqliteOptions::new(folder.path().join("a.db"));
            let store = SqliteStore::open(&options).unwrap();
            let (mut speech, session, mut after) = (speech(), key("s"), None);
            let filled: Vec<Message> = (0..history).map(|_| speech.message(size)).collect();
            for part in filled.chunks(1_000) {
                store.commit(next_batch(&session, &mut after, part.to_vec())).await.unwrap();
            }
            // Closing completes the index and empties the journal, so that only the appends are counted.
            drop(store);
            let store = SqliteStore::open(&options).unwrap();
            let (mut raw, before) = (0, written());
            for _ in 0..100 {
                let message = speech.message(size);
                raw += message.raw().get().len();
                store.commit(next_batch(&session, &mut after, vec![message])).await.unwrap();
            }
            let (appended, limit) = ((written() - before) / 100, raw / 100 * 3 / 2 + 4096);
            drop(store);
            let everything = (written() - before) / 100;
            row(&[
                (raw / 100).to_string(),
                history.to_string(),
                appended.to_string(),
                limit.to_string(),
                everything.to_string(),
            ]);
        }
    }
}

async fn fill(store: &SqliteStore, sessions: usize, messages: usize, size: usize) {
    let mut speech = speech();
    let mut after = vec![None; sessions];
    for round in 0..messages / sessions / 1_000 {
        for (number, after) in after.iter_mut().enumerate() {
            let said = (0..1_000).map(|_| speech.message(size)).collect();
            store.commit(next_batch(&key(&format!("s{number}")), after, said)).await.unwrap();
        }
        if round % 10 == 9 {
            eprintln!("  {} messages", (round + 1) * sessions * 1_000);
        }
    }
}

async fn open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    fill(&SqliteStore::open(&SqliteOptions::new(&path)).unwrap(), 1, 100_000, 400).await;
    println!(
        "\n### open: a session of 100,000 messages\n| opened and last 50 messages read | memory above an idle process |\n|---|---|"
    );
    let output =
        std::process::Command::new(std::env::current_exe().unwrap()).arg("open-only").arg(&path).output().unwrap();
    println!("{}", String::from_utf8(output.stdout).unwrap().trim());
}

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn open_only(path: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (before, start) = (resident_kb(), Instant::now());
    runtime.block_on(async {
        let store = SqliteStore::open(&SqliteOptions::new(path)).unwrap();
        let last = store.read(&key("s0"), Span::Last).await.unwrap().remove(0).position().unwrap();
        let from = scrollback::ids::Depth(last.depth.0 - 49);
        let window = store.read(&key("s0"), Span::path(last, from)).await.unwrap();
        assert_eq!((window.len(), last.depth.0), (50, 99_999));
        let elapsed = start.elapsed();
        row(&[format!("{elapsed:.1?}"), format!("{:.1} MB", (resident_kb() - before) as f64 / 1024.0)]);
    });
}

async fn search() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let options = SqliteOptions { durability: scrollback::store::Durability::Normal, ..SqliteOptions::new(&path) };
    let store = SqliteStore::open(&options).unwrap();
    let start = Instant::now();
    fill(&store, 100, 1_000_000, 300).await;
    let ingest = start.elapsed();
    drop(store);
    let indexed = start.elapsed();
    let store = SqliteStore::open(&options).unwrap();
    let size = std::fs::metadata(&path).unwrap().len() / 1_000_000;
    println!("\n### search in 1,000,000 messages ({size} MB; stored in {ingest:.0?}, indexed after {indexed:.0?})");
    println!("| reach | words | median | p95 |\n|---|---|---|---|");
    for (name, reach) in [("everything", Reach::Everywhere), ("one session of 10,000", Reach::Session(key("s42").id))] {
        for words in 1..=3 {
            let (mut speech, mut times) = (Speech { state: 77 + words }, Vec::new());
            for i in 0..100 {
                let text: Vec<String> = (0..words).map(|_| speech.word(i % 4 == 0)).collect();
                let query = Query { reach: reach.clone(), ..Query::new(&text.join(" ")) };
                let start = Instant::now();
                find(&store, &Tenant::local(), &query).await.unwrap();
                times.push(start.elapsed());
            }
            times.sort_unstable();
            row(&[name.into(), words.to_string(), format!("{:.1?}", times[50]), format!("{:.1?}", times[95])]);
        }
    }
}

fn tokens() {
    println!("\n### tokens\n| text | Scrollback MB/s | tiktoken-rs MB/s | ratio |\n|---|---|---|---|");
    let reference = tiktoken_rs::o200k_base().unwrap();
    let code = include_str!("log.rs").repeat(40);
    let english = include_str!("../../../LICENSE-APACHE").repeat(40);
    let chinese = include_str!("../../../README.zh-CN.md").repeat(100);
    for (name, text) in [("code", &code), ("English", &english), ("Chinese", &chinese)] {
        Vocabulary::O200k.count(&text[..100]);
        let rate = |count: &dyn Fn() -> usize| {
            let start = Instant::now();
            (count(), text.len() as f64 / 1e6 / start.elapsed().as_secs_f64())
        };
        let (ours, mine) = rate(&|| Vocabulary::O200k.count(text));
        let (theirs, other) = rate(&|| reference.encode_ordinary(text).len());
        assert_eq!(ours, theirs, "counts must agree");
        row(&[name.into(), format!("{mine:.1}"), format!("{other:.1}"), format!("{:.1}", mine / other)]);
    }
}
