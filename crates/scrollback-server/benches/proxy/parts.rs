//! The parts of the benchmark; each prints what it measured.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::dialect::Dialect;
use crate::load::{Client, Conversation, Took, quantiles, text};
use crate::peers::{Running, nginx, scrollback, store, upstream};

/// A peer and the port it is reached at.
struct Peer {
    name: &'static str,
    port: u16,
    _running: Option<Running>,
}

fn peers() -> Vec<Peer> {
    let up = upstream();
    let mut peers = vec![Peer { name: "direct", port: up, _running: None }];
    peers.extend(nginx(up).map(|running| Peer { name: "nginx", port: running.port, _running: Some(running) }));
    for (name, durability) in [("scrollback normal", "normal"), ("scrollback full", "full")] {
        let running = scrollback(up, durability);
        peers.push(Peer { name, port: running.port, _running: Some(running) });
    }
    peers
}

/// Times `count` requests of every peer, in turns, so that noise hits all alike.
fn side_by_side(
    dialect: Dialect,
    title: &str,
    count: usize,
    mut asks: impl FnMut(usize, usize) -> String,
    pick: fn(Took) -> Duration,
) {
    let peers = peers();
    let mut clients: Vec<Client> = peers.iter().map(|peer| Client::new(peer.port, dialect)).collect();
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); peers.len()];
    for round in 0..count + 10 {
        for (i, client) in clients.iter_mut().enumerate() {
            let took = client.ask(&asks(i, round));
            if round >= 10 {
                times[i].push(pick(took));
            }
        }
    }
    report(title, &peers, times);
}

fn report(title: &str, peers: &[Peer], times: Vec<Vec<Duration>>) {
    println!("\n{title}: microseconds, p50 / p99, and what is added to the direct call");
    let measured: Vec<(f64, f64)> = times.into_iter().map(quantiles).collect();
    let direct = measured[0];
    let nginx = peers.iter().position(|peer| peer.name == "nginx").map(|i| measured[i].0 - direct.0);
    for (peer, (p50, p99)) in peers.iter().zip(&measured) {
        let added = p50 - direct.0;
        let ratio = nginx.filter(|nginx| *nginx > 0.0).map(|nginx| format!("{:.2}× nginx", added / nginx));
        println!(
            "  {:<18} {p50:>9.0} / {p99:>9.0}   +{added:>8.0} / +{:>8.0}   {}",
            peer.name,
            p99 - direct.1,
            ratio.unwrap_or_default()
        );
    }
}

/// One message of 1 KB that nobody sent before.
pub(crate) fn small(dialect: Dialect) {
    println!("\none fdatasync on this disk: {:.0} µs", fdatasync());
    let body = |peer: usize, round: usize| {
        let said = text(peer as u64, round as u64, 900);
        dialect.alone(&said)
    };
    side_by_side(dialect, "1 KB, a new message", 1_500, body, |took| took.all);
}

/// Histories of 100 KB and 1 MB, sent again with every turn.
pub(crate) fn history(dialect: Dialect) {
    for (title, count, bytes, rounds) in [("100 KB of history", 250, 400, 300), ("1 MB of history", 2_500, 400, 100)] {
        let mut conversations: Vec<Conversation> =
            (0..4).map(|i| Conversation::new(dialect, i, count, bytes)).collect();
        side_by_side(dialect, title, rounds, |peer, _| conversations[peer].next(false), |took| took.all);
    }
}

/// A streamed reply: its first byte, and all of it.
pub(crate) fn stream(dialect: Dialect) {
    for (title, pick) in [
        ("stream, first byte", (|took: Took| took.first) as fn(Took) -> Duration),
        ("stream, 20 pieces, all of it", |took: Took| took.all),
    ] {
        let mut conversations: Vec<Conversation> = (0..4).map(|i| Conversation::new(dialect, i, 4, 200)).collect();
        side_by_side(dialect, title, 400, |peer, _| conversations[peer].next(true), pick);
    }
}

/// A conversation of 10,000 messages, sent whole with every turn.
pub(crate) fn grow(dialect: Dialect) {
    let mut conversations: Vec<Conversation> = (0..4).map(|i| Conversation::new(dialect, i, 10_000, 400)).collect();
    side_by_side(dialect, "10,000 messages (4.4 MB)", 30, |peer, _| conversations[peer].next(false), |took| took.all);
}

/// A session of which only new messages are sent.
pub(crate) fn session(dialect: Dialect) {
    println!("\nonly new messages are sent, microseconds p50 / p99 of a turn");
    let up = upstream();
    let mut direct = Client::new(up, dialect);
    let message = |name: u64, i: usize| {
        let said = text(name, i as u64, 400);
        dialect.alone(&said)
    };
    let times = (0..500).map(|i| direct.ask(&message(9, i)).all).collect();
    let (p50, p99) = quantiles(times);
    println!("  {:<26} {p50:>9.0} / {p99:>9.0}", "direct");
    for count in [100, 100_000] {
        let running = scrollback(up, "full");
        let filled = Conversation::new(dialect, 7, count, 400).next(false);
        let mut client = Client::new(running.port, dialect);
        client.header = "x-scrollback-session: bench\r\n".into();
        let first = client.ask(&filled).all;
        client.header.push_str("x-scrollback-history: new\r\n");
        for i in 0..20 {
            client.ask(&message(8, i));
        }
        let times = (20..520).map(|i| client.ask(&message(8, i)).all).collect();
        let (p50, p99) = quantiles(times);
        println!("  {:<26} {p50:>9.0} / {p99:>9.0}   (filled in {first:.1?})", format!("after {count} messages"));
    }
}

/// How many turns a second sixteen clients get, each with a conversation of its own that grows.
pub(crate) fn throughput(dialect: Dialect) {
    println!("\n16 clients at once, turns per second");
    for peer in peers() {
        let until = Instant::now() + Duration::from_secs(4);
        let client = |number: u64| {
            let (port, mut count) = (peer.port, 0_u32);
            std::thread::spawn(move || {
                let (mut client, mut talk) = (Client::new(port, dialect), Conversation::new(dialect, number, 4, 200));
                while Instant::now() < until {
                    client.ask(&talk.next(false));
                    count += 1;
                }
                count
            })
        };
        let clients: Vec<_> = (0..16).map(client).collect();
        let turns: u32 = clients.into_iter().map(|client| client.join().unwrap()).sum();
        println!("  {:<18} {:>9.0}", peer.name, f64::from(turns) / 4.0);
    }
}

/// How soon it is ready.
pub(crate) fn ready(_: Dialect) {
    let up = upstream();
    let mut times: Vec<Duration> = (0..9).map(|_| scrollback(up, "full").started).collect();
    times.sort();
    println!(
        "\nready to serve after {:.1?} (median of 9), nginx after {:.1?}",
        times[4],
        nginx(up).map(|n| n.started).unwrap_or_default()
    );
}

/// What it keeps in memory.
pub(crate) fn memory(dialect: Dialect) {
    let up = upstream();
    let running = scrollback(up, "normal");
    std::thread::sleep(Duration::from_millis(500));
    println!("\nresident memory: idle {:.1} MB", resident(running.pid, "VmRSS"));
    let mut client = Client::new(running.port, dialect);
    client.ask(&dialect.alone("hello"));
    let warm = resident(running.pid, "VmRSS");
    println!("  after one request (the vocabulary is loaded) {warm:.1} MB");
    let body = Conversation::new(dialect, 3, 10_000, 500).next(false);
    let before = resident(running.pid, "VmHWM");
    client.ask(&body);
    let peak = resident(running.pid, "VmHWM");
    let megabytes = body.len() as f64 / 1e6;
    println!(
        "  a request of {megabytes:.1} MB: peak {peak:.1} MB ({:.1}× the body above {before:.1} MB)",
        (peak - before) / megabytes
    );
    for i in 0..1_000 {
        let mut conversation = Conversation::new(dialect, 1_000 + i, 20, 400);
        client.ask(&conversation.next(false));
        client.ask(&conversation.next(false));
    }
    println!(
        "  after 1,000 sessions of 2 turns {:.1} MB, peak {:.1} MB",
        resident(running.pid, "VmRSS"),
        resident(running.pid, "VmHWM")
    );
}

/// What it writes.
pub(crate) fn bytes(dialect: Dialect) {
    println!("\njournal bytes per turn (new bytes: a question and a reply)");
    let up = upstream();
    for (count, size) in [(10, 400), (10, 4_000), (10, 40_000), (2_000, 400)] {
        let running = scrollback(up, "full");
        let mut client = Client::new(running.port, dialect);
        client.header = "x-scrollback-session: bench\r\n".into();
        client.ask(&Conversation::new(dialect, 5, count, 400).next(false));
        client.header.push_str("x-scrollback-history: new\r\n");
        let (turns, mut new, mut journal) = (20_u64, 0, 0);
        for i in 0..turns {
            // When nothing happens, the journal is moved into the file and begins anew.
            std::thread::sleep(Duration::from_millis(300));
            let said = text(6, i, size);
            new += said.len() + 90;
            client.ask(&dialect.alone(&said));
            std::thread::sleep(Duration::from_millis(15));
            journal += running.folder.as_ref().map_or(0, |folder| in_journal(&store(folder)));
        }
        let (each, new) = (journal as f64 / turns as f64, new as f64 / turns as f64);
        println!(
            "  {count} messages before, {new:.0} new bytes: {each:.0}, against 1.5 × + 4,096 = {:.0}",
            new * 1.5 + 4_096.0
        );
    }
}

/// The bytes of the journal that count: its frames, up to the first of an older generation.
fn in_journal(store: &std::path::Path) -> usize {
    let journal = std::fs::read(format!("{}-wal", store.display())).unwrap_or_default();
    let Some(salt) = journal.get(16..24) else { return 0 };
    let page = usize::try_from(u32::from_be_bytes(journal[8..12].try_into().unwrap())).unwrap();
    let frames = journal[32..].chunks_exact(24 + page);
    frames.take_while(|frame| &frame[8..16] == salt).count() * (24 + page)
}

/// A figure of a process's status, in megabytes.
fn resident(pid: u32, name: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1e3
}

/// The time of one fdatasync after a small write.
fn fdatasync() -> f64 {
    let folder = tempfile::tempdir_in(std::env::var("BENCH_FOLDER").unwrap_or_else(|_| "/var/tmp".into())).unwrap();
    let mut file = std::fs::File::create(folder.path().join("sync")).unwrap();
    file.set_len(1 << 20).unwrap();
    let mut times = Vec::new();
    for _ in 0..200 {
        file.write_all(&[7; 1_024]).unwrap();
        let began = Instant::now();
        file.sync_data().unwrap();
        times.push(began.elapsed());
    }
    quantiles(times).0
}
