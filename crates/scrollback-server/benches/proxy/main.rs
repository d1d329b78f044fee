//! What the proxy adds to a call, side by side with nginx and with no proxy at all, in one run.
//!
//! `cargo bench --bench proxy` runs everything; `-- small history stream grow session memory ready bytes` picks parts. The
//! upstream answers at once, so all time is the proxy's own. nginx is left out where it is not installed.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark reports on stdout and may panic")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures, not amounts"
)]

mod load;
mod parts;
mod peers;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|part| !part.starts_with('-')).collect();
    let wants = |part: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == part);
    let run: [(&str, fn()); 8] = [
        ("ready", parts::ready),
        ("small", parts::small),
        ("history", parts::history),
        ("stream", parts::stream),
        ("grow", parts::grow),
        ("session", parts::session),
        ("memory", parts::memory),
        ("bytes", parts::bytes),
    ];
    for (_, part) in run.into_iter().filter(|(name, _)| wants(name)) {
        part();
    }
}
