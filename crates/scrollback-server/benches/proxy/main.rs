//! What the proxy adds to a call, side by side with nginx and with no proxy at all, in one run.
//!
//! `cargo bench --bench proxy` runs everything; `-- small history stream throughput grow session memory ready bytes`
//! picks parts, and `anthropic` or `responses` another wire than chat. The upstream answers at once, so all time is the
//! proxy's own. nginx is left out where it is not installed.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark reports on stdout and may panic")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures, not amounts"
)]

mod dialect;
mod load;
mod parts;
mod peers;

use dialect::Dialect;

/// A part of the benchmark.
type Part = fn(Dialect);

fn main() {
    let given: Vec<String> = std::env::args().skip(1).filter(|part| !part.starts_with('-')).collect();
    let (wires, wanted): (Vec<String>, Vec<String>) =
        given.into_iter().partition(|name| Dialect::ALL.iter().any(|dialect| dialect.name() == name));
    let wants = |part: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == part);
    let run: [(&str, Part); 9] = [
        ("ready", parts::ready),
        ("small", parts::small),
        ("history", parts::history),
        ("stream", parts::stream),
        ("throughput", parts::throughput),
        ("grow", parts::grow),
        ("session", parts::session),
        ("memory", parts::memory),
        ("bytes", parts::bytes),
    ];
    let spoken = |dialect: &Dialect| wires.iter().any(|name| name == dialect.name());
    let mut dialects: Vec<Dialect> = Dialect::ALL.into_iter().filter(spoken).collect();
    if dialects.is_empty() {
        dialects.push(Dialect::Chat);
    }
    for dialect in dialects {
        println!("\n=== {}", dialect.name());
        for (_, part) in run.into_iter().filter(|(name, _)| wants(name)) {
            part(dialect);
        }
    }
}
