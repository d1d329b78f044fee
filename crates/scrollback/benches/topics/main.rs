//! What topics cost, and what a turn costs in a very long conversation.
//!
//! `cargo bench --bench topics -- cost` plays three hundred turns on twelve subjects (`fixtures/topics/twelve.talk`)
//! through a small window and prints what each way of laying out windows costs at the modelled caches of real models,
//! helper included. `cargo bench --bench topics -- scale [TOKENS]` plays a conversation of ten million tokens, or so
//! many, through a window of 200,000 without a model and prints the time of a turn and the memory of the process on the
//! way. `cargo bench --bench topics -- index` measures a turn with a thousand topics and with a hundred thousand.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark may panic and prints its result")]
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "figures")]
#![allow(dead_code, reason = "the talk and its helper are shared with a test")]

mod cost;
mod index;
#[path = "../../tests/topics/model.rs"]
mod model;
mod scale;
#[path = "../../tests/topics/talk.rs"]
mod talk;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.first().map(String::as_str) {
        Some("scale") => scale::run(arguments.get(1).map_or(10_000_000, |tokens| tokens.parse().unwrap())),
        Some("index") => index::run(),
        Some("cost") | None => cost::run(),
        Some(other) => println!("“{other}” is none of cost, scale and index"),
    }
}
