//! What comparing a question with every vector of a session takes, as the session grows.
//!
//! `cargo bench --bench meaning -- [DIMENSIONS]`; 384 numbers if nothing is said. A vector a message. Prints Markdown
//! rows.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark may panic and prints its result")]
#![allow(clippy::cast_precision_loss, reason = "figures, not amounts")]

use std::time::Instant;

use scrollback::MessageId;
use scrollback::embed::{Code, Scan, Sought};
use scrollback::ids::{BranchId, Depth, Hash128, NodeId};
use scrollback::search::gather::Near;
use scrollback::store::{Lineage, Position};

const ROUNDS: usize = 9;

fn main() {
    let dimensions = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(384);
    println!("| messages | memory | scan, median | with the nearest chosen |\n|---|---|---|---|");
    for messages in [10_000, 100_000, 1_000_000] {
        let scan = filled(messages, dimensions);
        let node = NodeId(Hash128::default());
        let head = Position { id: MessageId(0), branch: BranchId(0), depth: Depth(messages), node };
        let (sought, path) = (Sought::of(&vector(7, dimensions)).unwrap(), Lineage::of(head, &[]));
        let scanned = median(|| drop(scan.similar(&sought, &path)));
        let chosen = median(|| assert_eq!(Near::new(scan.similar(&sought, &path)).nearest().len(), 64));
        println!("| {messages} | {} MB | {scanned:.1} ms | {chosen:.1} ms |", scan.bytes() >> 20);
    }
}

fn filled(messages: u32, dimensions: usize) -> Scan {
    // A few thousand vectors again and again: what they hold makes no difference to the scan.
    let codes: Vec<Code> = (0..4_096).map(|seed| Code::of(&vector(seed, dimensions)).unwrap()).collect();
    let mut scan = Scan::default();
    for depth in 0..messages {
        scan.push((BranchId(0), Depth(depth)), &codes[(depth % 4_096) as usize]);
    }
    scan
}

/// Numbers that look like chance.
fn vector(seed: u32, dimensions: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(state >> 16).unwrap()) / 32_768.0 - 1.0
    };
    std::iter::repeat_with(next).take(dimensions).collect()
}

/// How long something takes, in milliseconds.
fn median(mut work: impl FnMut()) -> f64 {
    let mut took: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed().as_secs_f64() * 1_000.0
        })
        .collect();
    took.sort_by(f64::total_cmp);
    took[ROUNDS / 2]
}
