//! The program `scrollback`: reads its settings once, then does what the command line says.

mod access;
mod address;
mod api;
mod cli;
mod clock;
mod config;
mod embeddings;
mod erasing;
mod helper;
mod hop;
mod jobs;
mod live;
mod mcp;
mod proxy;
mod reviews;
mod salvage;
mod serve;
mod store;
mod upstream;
mod web;
mod wire;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = cli::Arguments::parse();
    match cli::run(arguments) {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            cli::talk(&format!("error: {}", told(&error)));
            ExitCode::FAILURE
        }
    }
}

/// Whoever read our output has seen enough, as in `scrollback show … | head`.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}

/// An error and its causes, each once.
fn told(error: &anyhow::Error) -> String {
    let mut lines: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if !lines.iter().any(|line| line.contains(&cause)) {
            lines.push(cause);
        }
    }
    lines.join("\n  because: ")
}
