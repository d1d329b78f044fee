//! `scrollback show SESSION --ledger`: what every call was made of and cost, and what it would have cost without
//! folding.

use std::process::ExitCode;

use scrollback::engine::Recorded;
use scrollback::ledger::{Call, Cost, Tokens, Totals, Usage};
use scrollback::{Engine, SessionKey};
use serde::Serialize;
use serde_json::Value;

use crate::api::{HelperTask, tasks};

use super::{Desk, columns, counted, grouped, say, say_json, table};

/// A call of a view.
#[derive(Serialize)]
struct Line<'a> {
    view: &'a str,
    #[serde(flatten)]
    call: &'a Call,
}

/// Writes the ledger of a session.
pub(super) async fn show(desk: &Desk, engine: &Engine, key: &SessionKey) -> anyhow::Result<ExitCode> {
    let views = engine.views(key).await?;
    let mut totals: Totals = views.iter().flat_map(|recorded| &recorded.view.calls).collect();
    let tasks = tasks(&**engine.log().store(), key, None, &mut totals).await?;
    let calls = views.iter().flat_map(|recorded| recorded.view.calls.iter().map(move |call| (recorded, call)));
    if desk.json {
        for (recorded, call) in calls {
            say_json(&line(recorded, call)?)?;
        }
        let costs =
            [("/cost", totals.cost), ("/helper_cost", totals.helper_cost), ("/without_cost", totals.without_cost)];
        let totals_told = dollars(&totals, costs)?;
        say_json(&serde_json::json!({"totals": totals_told, "cached_percent": totals.cached_percent(),
            "saved_percent": totals.saved_percent(), "tasks": tasks}))?;
        return Ok(ExitCode::SUCCESS);
    }
    let calls: Vec<_> = calls.collect();
    say(drawn(&calls, columns()))?;
    if calls.iter().any(|(_, call)| call.reported.is_some()) {
        say("cached: as the rules of the provider predict; told: what it said it read from its cache")?;
    }
    say("")?;
    sums(&totals)?;
    tasks.iter().try_for_each(|task| say(helped(task)))?;
    Ok(ExitCode::SUCCESS)
}

/// What the helper was asked for a task.
fn helped(task: &HelperTask) -> String {
    let HelperTask { task: name, questions, unpriced, input_tokens, output_tokens, spent, .. } = task;
    let (input, output) = (grouped(*input_tokens), grouped(*output_tokens));
    let questions = counted(*questions, "question");
    let unknown = if *unpriced == 0 {
        String::new()
    } else {
        format!(", {} at a price that is not known", counted(*unpriced, "question"))
    };
    format!("helper: {name}, {questions}, {input} tokens read, {output} written, {spent}{unknown}")
}

/// A call as JSON.
fn line(recorded: &Recorded, call: &Call) -> anyhow::Result<Value> {
    let without = call.without.and_then(|without| without.cost);
    let costs = [("/cost", call.cost), ("/without/cost", without)];
    let costs = costs.into_iter().filter_map(|(place, cost)| Some((place, cost?)));
    dollars(&Line { view: &recorded.name, call }, costs)
}

/// A value as JSON, with its costs in dollars, as everywhere else; they are kept in smaller units.
fn dollars(value: &impl Serialize, costs: impl IntoIterator<Item = (&'static str, Cost)>) -> anyhow::Result<Value> {
    let mut value = serde_json::to_value(value)?;
    for (place, cost) in costs {
        if let Some(there) = value.pointer_mut(place) {
            *there = cost.dollars().into();
        }
    }
    Ok(value)
}

/// A kind of tokens: what it is called, and how many a call has.
type KindOfTokens = (&'static str, fn(&Tokens) -> u32);

/// The kinds of tokens, in the order of a window.
const KINDS: [KindOfTokens; 9] = [
    ("instr.", |tokens| tokens.instructions),
    ("tools", |tokens| tokens.tools),
    ("contents", |tokens| tokens.contents),
    ("kept", |tokens| tokens.kept),
    ("open", |tokens| tokens.open),
    ("turn", |tokens| tokens.current),
    ("held", |tokens| tokens.held),
    ("recalled", |tokens| tokens.recalled),
    ("topics", |tokens| tokens.topics),
];

/// The calls as a table; kinds that no call has are left out, and all of them where a terminal has no room.
fn drawn(calls: &[(&Recorded, &Call)], columns: Option<usize>) -> String {
    let used = |(_, of): &&KindOfTokens| calls.iter().any(|(_, call)| of(&call.tokens) > 0);
    let kinds: Vec<&KindOfTokens> = KINDS.iter().filter(used).collect();
    let reported = calls.iter().any(|(_, call)| call.reported.is_some());
    let all = rows(calls, &kinds, reported);
    let fits = columns.is_none_or(|columns| width(&all) <= columns);
    let [head, rows @ ..] = &(if fits { all } else { rows(calls, &[], reported) })[..] else { return String::new() };
    let numbers: Vec<usize> = (2..head.len()).collect();
    let mut lines = table(&head.iter().map(String::as_str).collect::<Vec<_>>(), &numbers);
    lines.add_rows(rows);
    lines.trim_fmt()
}

/// What a table of the calls says, its head first.
fn rows(calls: &[(&Recorded, &Call)], kinds: &[&KindOfTokens], reported: bool) -> Vec<Vec<String>> {
    let names = kinds.iter().map(|(name, _)| *name);
    let head = ["view", "model", "input"].into_iter().chain(names).chain(["cached"]);
    let head = head.chain(reported.then_some("told")).chain(["cost", "without"]).map(str::to_owned);
    let row = |(recorded, call): &(&Recorded, &Call)| {
        let amount = |cost: Option<Cost>| cost.map_or("–".to_owned(), |cost| cost.to_string());
        let mut row = vec![recorded.name.clone(), call.model.clone(), grouped(call.hit().input())];
        row.extend(kinds.iter().map(|(_, of)| grouped(of(&call.tokens))));
        row.push(grouped(call.predicted.read));
        row.extend(reported.then(|| call.reported.map_or("–".into(), |usage: Usage| grouped(usage.read))));
        row.extend([amount(call.cost), amount(call.without.and_then(|without| without.cost))]);
        row
    };
    std::iter::once(head.collect()).chain(calls.iter().map(row)).collect()
}

/// How many columns of a terminal it takes to show rows without breaking a cell.
fn width(rows: &[Vec<String>]) -> usize {
    let cells = rows.first().map_or(0, Vec::len);
    let widest = |i: usize| rows.iter().filter_map(|row| row.get(i)).map(|cell| cell.chars().count()).max();
    (0..cells).filter_map(widest).map(|widest| widest + 2).sum()
}

/// Writes the sums.
pub(super) fn sums(totals: &Totals) -> anyhow::Result<()> {
    let (input, without) = (grouped(totals.input), grouped(totals.without_input));
    say(format!(
        "{}, {input} tokens of input, {:.0} % from the cache",
        counted(totals.calls, "call"),
        totals.cached_percent()
    ))?;
    say(format!("everything sent every time: {without} tokens of input"))?;
    if totals.unpriced > 0 {
        say(format!("{} at a price that is not known, in no cost", counted(totals.unpriced, "call")))?;
    }
    if totals.without_cost > Cost(0) {
        let (cost, without, saved) = (totals.cost, totals.without_cost, totals.saved_percent());
        let helper = match totals.helper_cost {
            Cost(0) => String::new(),
            helper => format!(", {helper} of it for the helper,"),
        };
        say(format!("{cost}{helper} instead of {without}: {saved:.0} % saved"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_add_up_to_the_input() {
        let tokens = Tokens {
            instructions: 1,
            tools: 2,
            contents: 4,
            open: 8,
            current: 16,
            held: 32,
            recalled: 64,
            topics: 128,
            kept: 256,
        };
        assert_eq!(KINDS.iter().map(|(_, of)| of(&tokens)).sum::<u32>(), tokens.total());
    }
}
