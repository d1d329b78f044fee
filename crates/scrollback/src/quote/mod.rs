//! Quote: the responder for when there is no model. It answers a chat request with passages of the log, word for word.
//!
//! It reads what a model would be shown and nothing else, and calls the same recall tools, so that every part of a turn
//! works with no key and no network. It understands nothing: it weighs shared words by how rare they are, and says so.
//! `read` takes a request apart, `words` finds what a question is about, `rank` weighs, `say` writes.

mod rank;
mod read;
mod say;
mod words;

use serde_json::{Value, json};

use crate::asking;
use crate::recall::{RecallCall, RecallTool, WORDS_CHARS};
use rank::{Ranked, Weights};
use read::{Lead, Target, Visible};
pub(crate) use words::keys;

/// How much of a question's weight a passage must carry to answer it.
const ANSWERS: f64 = 0.55;
/// How much is enough once nothing more can be recalled.
const HELPS: f64 = 0.3;
/// How much of it a listed page or a placeholder must carry to be opened before searching.
const LEADS: f64 = 0.4;
/// How much a find must carry to be followed.
const FOLLOWS: f64 = 0.2;
/// Recalls in one turn.
const RECALLS_MAX: usize = 3;

/// What it says: words for the person, or calls to be answered first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The answer, unless it calls.
    pub content: Option<String>,
    /// Recall tools it wants answered.
    pub calls: Vec<Called>,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// The tool.
    pub name: String,
    /// Its arguments, as JSON.
    pub arguments: String,
}

/// Answers a request, whatever its dialect. The same request always has the same answer.
pub fn answer(request: &Value) -> Said {
    let visible = read::request(request);
    let language = say::Language::of(&visible.question);
    if !asking::asks(&visible.question) {
        return said(language.noted().to_owned());
    }
    let weights = Weights::new(&visible);
    let ranked = rank::ranked(&visible, &weights);
    let answers = ranked.first().is_some_and(|best| best.coverage >= ANSWERS && !best.passage.partial);
    if !answers && let Some(call) = next_call(&visible, &weights) {
        return Said { content: None, calls: vec![call] };
    }
    let helpful: Vec<&Ranked<'_>> = ranked.iter().filter(|ranked| ranked.coverage >= HELPS).collect();
    said(say::quotes(language, &helpful))
}

fn said(content: String) -> Said {
    Said { content: Some(content), calls: Vec::new() }
}

/// What to recall next: a page or result that promises an answer, else a search, else what the search found.
fn next_call(visible: &Visible, weights: &Weights) -> Option<Called> {
    if visible.made.len() >= RECALLS_MAX || weights.is_empty() {
        return None;
    }
    let searched = visible.made.iter().any(|call| matches!(call, RecallCall::Search { .. }));
    let least = if searched { FOLLOWS } else { LEADS };
    let words = as_many(words::content(&visible.question));
    let mut leads: Vec<(f64, &Lead)> = visible.leads.iter().map(|lead| (weights.carried(&lead.text), lead)).collect();
    leads.retain(|(carried, _)| *carried >= least);
    leads.sort_by(|a, b| b.0.total_cmp(&a.0));
    let opened = leads.iter().find_map(|(_, lead)| fresh(visible, &opening(lead, &words)));
    let search = if searched { None } else { fresh(visible, &(RecallTool::Search, json!({"words": words}))) };
    // One page on its promise alone; if that was not it, search before opening more.
    if visible.made.is_empty() || searched { opened.or(search) } else { search.or(opened) }
}

/// As many of some words as can be looked for at once.
fn as_many(mut words: Vec<String>) -> String {
    let mut room = WORDS_CHARS;
    words.retain(|word| {
        let rest = room.checked_sub(word.chars().count() + 1);
        room = rest.unwrap_or(room);
        rest.is_some()
    });
    words.join(" ")
}

fn opening(lead: &Lead, words: &str) -> (RecallTool, Value) {
    match &lead.to {
        Target::Page(number) => (RecallTool::Page, json!({"index": number})),
        Target::Hold(id) => (RecallTool::Hold, json!({"id": id, "part": words})),
    }
}

/// The call, if its tool is offered and it was not made in this turn.
fn fresh(visible: &Visible, (tool, arguments): &(RecallTool, Value)) -> Option<Called> {
    let arguments = arguments.to_string();
    let call = RecallCall::read(*tool, &arguments).ok()?;
    let wanted = visible.offered.contains(tool) && !visible.made.contains(&call);
    wanted.then(|| Called { name: tool.name().to_owned(), arguments })
}

#[cfg(test)]
mod tests;
