//! Chaos: nodes killed and started again at random, connections cut, the database restarted, while many clients talk.
//! Twenty seconds of it by default; `CHAOS_SECONDS=120` for longer, `CHAOS_CLIENTS` for more or fewer than fifty.

use std::time::{Duration, Instant};

use crate::crowd::{SETTINGS, model, talk};
use crate::fleet::{Node, Way};
use crate::scene::postgres::{Server as Database, wait_for};
use crate::talk::Dice;

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn nothing_acknowledged_is_lost_whatever_dies() {
    let (seconds, clients) = (setting("CHAOS_SECONDS", 20), setting("CHAOS_CLIENTS", 50));
    let (database, upstream, folder) = (Database::start(""), model(), tempfile::tempdir().unwrap());
    let way = Way::to(database.port());
    let store = format!("postgres://postgres@127.0.0.1:{}/postgres", way.port);
    let nodes: Vec<Node> = (0..3).map(|_| Node::start(&store, upstream.port, SETTINGS, folder.path())).collect();
    let ports: Vec<u16> = nodes.iter().map(|node| node.port).collect();
    let tally = talk(usize::try_from(clients).unwrap(), &ports, &database.url(), || {
        let (began, mut dice) = (Instant::now(), Dice(seconds + 3));
        while began.elapsed() < Duration::from_secs(seconds) {
            std::thread::sleep(Duration::from_millis(400 + dice.below(800)));
            match dice.below(8) {
                0 | 1 => way.cut(),
                2 => {
                    database.stop("immediate");
                    database.launch();
                }
                number => {
                    let node = &nodes[usize::try_from(number % 3).unwrap()];
                    node.kill();
                    std::thread::sleep(Duration::from_millis(dice.below(300)));
                }
            }
            // Whoever was killed, or found no database when it started.
            nodes.iter().for_each(Node::launch);
        }
        for node in &nodes {
            node.launch();
            wait_for(node.port);
        }
    });
    assert!(tally.answered > 50, "{tally:?}");
}

/// A primary with a replica that has everything before it counts; the replica takes over while clients talk.
#[test]
fn nothing_acknowledged_is_lost_when_a_replica_takes_over() {
    let primary = Database::start("synchronous_standby_names='replica'\nsynchronous_commit=local\n");
    // Nobody is there to confirm anything before the replica is.
    let replica = primary.replica("synchronous_standby_names=''\nsynchronous_commit=on\n");
    primary.sql("ALTER SYSTEM SET synchronous_commit = 'on'");
    primary.sql("SELECT pg_reload_conf()");
    let (upstream, folder) = (model(), tempfile::tempdir().unwrap());
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", primary.port(), replica.port());
    let store = format!("postgres://postgres@{hosts}/postgres?target_session_attrs=read-write");
    let nodes: Vec<Node> = (0..2).map(|_| Node::start(&store, upstream.port, SETTINGS, folder.path())).collect();
    let ports: Vec<u16> = nodes.iter().map(|node| node.port).collect();
    let tally = talk(12, &ports, &replica.url(), || {
        std::thread::sleep(Duration::from_secs(4));
        assert_eq!(primary.sql("SELECT sync_state FROM pg_stat_replication"), "sync");
        primary.stop("immediate");
        replica.promote();
        std::thread::sleep(Duration::from_secs(4));
    });
    assert!(tally.answered > 12, "{tally:?}");
}
