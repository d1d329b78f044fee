//! `scrollback models [NAME]`: what is known of models, and what is assumed of those that nobody knows.

use std::fmt::Write;
use std::process::ExitCode;

use clap::Args;
use scrollback::ledger::{Price, Rate};
use scrollback::tokens::Family;
use scrollback::window::grouped;
use serde_json::{Value, json};

use super::{Desk, columns, say, say_json, talk};

/// How wide the columns are: the name,
const NAME: usize = 24;
/// the numbers,
const NUMBERS: [usize; 5] = [10, 9, 9, 9, 9];
/// and how the model is counted.
const COUNTED: usize = 46;

#[derive(Debug, Args)]
pub(super) struct Models {
    /// A model, as a request would name it; all of the catalogue if not given
    name: Option<String>,
}

impl Models {
    pub(super) fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let window = &desk.settings.serve.window;
        let known: Vec<&Price> = match &self.name {
            Some(name) => window.prices.of(name).into_iter().collect(),
            None => window.prices.all().collect(),
        };
        match (&self.name, known.is_empty()) {
            (Some(name), true) => unknown(desk, name, window.unknown_tokens)?,
            _ if desk.json => known.iter().try_for_each(|price| say_json(&told(price)))?,
            _ => {
                let columns = columns().unwrap_or(usize::MAX);
                say(table(&known, columns))?;
                if columns < NAME + NUMBERS.iter().sum::<usize>() + COUNTED {
                    talk("there is more than fits here; --json tells it");
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What is assumed of a model that is not in the catalogue.
fn unknown(desk: &Desk, name: &str, limit: u32) -> anyhow::Result<()> {
    let counted = counted(None, name);
    if desk.json {
        return say_json(&json!({"name": name, "known": false, "window": limit, "counted": counted}));
    }
    say(format!(
        "{name} is not in the catalogue. Assumed: a limit of {} tokens (window.unknown_tokens), counted {counted}; what it\n\
         charges is not known. A file named by window.models can say more.",
        grouped(limit)
    ))
}

/// The catalogue, a model on each line; columns that do not fit are left out whole.
fn table(known: &[&Price], columns: usize) -> String {
    let head = ["model", "limit", "in $/M", "out", "read", "write", "counted"].map(str::to_owned);
    let rows = std::iter::once(head).chain(known.iter().map(|price| cells(price)));
    rows.map(|row| line(&row, columns)).collect::<Vec<_>>().join("\n")
}

fn cells(price: &Price) -> [String; 7] {
    let window = price.window.map_or_else(|| "?".into(), grouped);
    let [input, output, read, write] = [price.input, price.output, price.read, price.write].map(dollars);
    [price.name.clone(), window, input, output, read, write, counted(price.family, &price.name)]
}

fn line(row: &[String; 7], columns: usize) -> String {
    let [name, numbers @ .., counted] = row;
    let (mut line, mut used) = (format!("{name:<NAME$}"), NAME);
    for (number, width) in numbers.iter().zip(NUMBERS) {
        used += width;
        if used > columns {
            return line;
        }
        let _ = write!(line, "{number:>width$}");
    }
    if used + COUNTED <= columns { line + "  " + counted } else { line }
}

fn told(price: &Price) -> Value {
    let [input, output, read, write] = [price.input, price.output, price.read, price.write].map(Rate::dollars);
    json!({
        "name": price.name, "known": true, "window": price.window, "most_input": price.most_input, "reply": price.reply,
        "input": input, "output": output, "read": read, "write": write, "counted": counted(price.family, &price.name),
        "binds_thinking": price.binds_thinking,
    })
}

fn counted(family: Option<Family>, name: &str) -> String {
    match family.unwrap_or_else(|| Family::of_model(name)) {
        Family::Exact(vocabulary) => format!("exactly, in {}", vocabulary.name()),
        Family::Estimated { spaced, unspaced } => format!("as {spaced}–{unspaced} × o200k until it reports usage"),
    }
}

fn dollars(rate: Rate) -> String {
    rate.dollars().to_string()
}
