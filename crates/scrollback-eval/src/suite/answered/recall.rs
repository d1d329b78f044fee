//! Recall with a model: every question is answered from its window, and judged.

use std::collections::BTreeMap;

use futures_util::{StreamExt, TryStreamExt, stream};
use scrollback::tokens::Vocabulary;
use scrollback::{Error, MessageId, Result};
use serde_json::json;
use serde_json::value::to_raw_value;

use super::{Answered, Plan, cast, column, cost_cells, cost_columns, is_ours, missing, oracle, percent};
use crate::dataset::recall::{Asked, Dataset, Talk};
use crate::judge::{JudgeAnswer, Verdict};
use crate::metrics::Tally;
use crate::models::{Answer, Bill, Models, Trouble, Who};
use crate::player::{Player, Room};
use crate::suite::played::{held, question, told};
use crate::table::{Column, Good, Row, Table};

/// What became of a question.
struct Outcome<'a> {
    asked: &'a Asked,
    /// The messages that stood in the window before anything was recalled.
    held: Vec<usize>,
    /// How often the model recalled; none if it did not answer.
    rounds: Option<u32>,
    verdict: Option<Verdict>,
    bill: Bill,
    judged: Bill,
}

/// What one conversation came to.
#[derive(Default)]
struct Come<'a> {
    outcomes: Vec<Outcome<'a>>,
    helped: Bill,
}

/// A conversation and the questions that are taken of it.
type Taken<'a> = (usize, &'a Talk, Vec<(usize, &'a Asked)>);

/// How many steps measuring a dataset takes.
pub fn steps(dataset: &Dataset, plan: &Plan<'_>) -> usize {
    taken(dataset, plan).len() * (plan.pairs().len() + usize::from(plan.with_oracle))
}

/// Asks the questions of a dataset under each strategy, at each size of window; `step` is called [`steps`] times unless
/// it ends early.
pub async fn measure(dataset: &Dataset, plan: &Plan<'_>, models: &dyn Models, step: &dyn Fn()) -> Result<Answered> {
    let talks = taken(dataset, plan);
    let ways = ways(plan);
    let all = talks.iter().map(|(_, _, questions)| questions.len()).sum::<usize>() * ways.len();
    let (mut rows, mut kinds, mut done) = (Vec::new(), Vec::new(), 0);
    for way in ways {
        let folder = &format!("recall/{}/{}", dataset.name, way.folder());
        let one = stream::iter(&talks).map(|taken| async move {
            let come = conversation(taken, plan, models, (way, folder)).await;
            step();
            come
        });
        let come: Vec<Come<'_>> = one.buffered(models.at_once()).try_collect().await?;
        let helped = come.iter().fold(Bill::default(), |sum, come| sum.plus(come.helped));
        let outcomes: Vec<Outcome<'_>> = come.into_iter().flat_map(|come| come.outcomes).collect();
        if outcomes.is_empty() && models.halted().is_some() {
            break;
        }
        done += outcomes.len();
        rows.push(row(way, &outcomes, helped));
        kinds.extend(by_kind(way, &outcomes));
    }
    let about = cast(models)
        + &missing(models, "questions", (done, all))
        + " Verdicts are shares of what was judged, in percent; evidence is what stood in the window before the model recalled. "
        + &dataset.left_out.to_string();
    let table = |title: &str, columns: Vec<Column>, rows| Table {
        title: format!("{title}, {}", dataset.name),
        about: about.clone(),
        columns,
        rows,
        plot: None,
    };
    let costs = cost_columns().into_iter().chain(["helper $", "judge $"].map(|name| column(name, Good::Low, 4)));
    let tables = vec![table("Answers", verdicts().into_iter().chain(costs).collect(), rows)];
    let is_whole = models.halted().is_none();
    let tables = if done == 0 && !is_whole { Vec::new() } else { tables };
    Ok(Answered { tables, details: vec![table("Answers by kind", verdicts(), kinds)], is_whole })
}

/// How a question's window comes about.
#[derive(Clone, Copy)]
enum Way {
    Oracle,
    Engine(Room),
}

impl Way {
    fn name(self) -> String {
        match self {
            Self::Oracle => oracle::NAME.to_owned(),
            Self::Engine(room) => format!("{}, {}", room.strategy, room.limit_tokens),
        }
    }

    fn folder(self) -> String {
        self.name().replace(", ", "-").replace(' ', "-")
    }

    fn row(self, name: String, cells: Vec<Option<f64>>) -> Row {
        match self {
            Self::Oracle => Row { name, ours: false, limit: true, cells },
            Self::Engine(room) => Row { name, ours: is_ours(room.strategy), limit: false, cells },
        }
    }
}

fn ways(plan: &Plan<'_>) -> Vec<Way> {
    let engine = plan.pairs().into_iter().map(|(strategy, limit)| Way::Engine(Room::of_window(strategy, limit)));
    plan.with_oracle.then_some(Way::Oracle).into_iter().chain(engine).collect()
}

/// The conversations of which questions are taken.
fn taken<'a>(dataset: &'a Dataset, plan: &Plan<'_>) -> Vec<Taken<'a>> {
    let all = dataset.talks.iter().map(|talk| talk.questions.len()).sum();
    let wanted = plan.taken(all);
    let (mut before, mut talks) = (0, Vec::new());
    for (i, talk) in dataset.talks.iter().enumerate() {
        let of_talk = talk.questions.iter().enumerate();
        let questions: Vec<_> = of_talk.filter(|(place, _)| wanted.binary_search(&(before + place)).is_ok()).collect();
        before += talk.questions.len();
        if !questions.is_empty() {
            talks.push((i, talk, questions));
        }
    }
    talks
}

/// Plays a conversation and asks its questions.
async fn conversation<'a>(
    (number, talk, questions): &Taken<'a>,
    plan: &Plan<'_>,
    models: &dyn Models,
    (way, folder): (Way, &str),
) -> Result<Come<'a>> {
    if models.halted().is_some() {
        return Ok(Come::default());
    }
    let file = format!("{folder}/{}", number + 1);
    let stage = match way {
        Way::Oracle => None,
        Way::Engine(room) => {
            let helper = models.tasks(Who::Helper, &format!("{file}-helper"));
            let (mut player, helped) = plan.player(room, helper)?;
            let ids = told(&mut player, talk, room).await?;
            Some((player, room, ids, helped))
        }
    };
    let ask = async |(place, asked): &(usize, &'a Asked)| {
        let file = format!("{file}-{}", place + 1);
        let answered = match &stage {
            Some((player, room, ids, _)) => seen((talk, ids), asked, models, (player, *room, &file)).await?,
            None => {
                Seen { held: asked.evidence.clone(), answer: oracle::answer((talk, asked), plan, models, &file).await? }
            }
        };
        Ok(judged((talk, asked), answered, models, &file).await)
    };
    let outcomes: Vec<Option<Outcome<'a>>> =
        stream::iter(questions).map(ask).buffered(models.at_once()).try_collect().await?;
    let helped = stage.map_or_else(Bill::default, |(_, _, _, helped)| helped.bill());
    Ok(Come { outcomes: outcomes.into_iter().flatten().collect(), helped })
}

/// What stood in a window, and what was answered from it.
struct Seen {
    held: Vec<usize>,
    answer: std::result::Result<Answer, Trouble>,
}

/// Asks a question at the end of a conversation.
async fn seen(
    (talk, ids): (&Talk, &[MessageId]),
    asked: &Asked,
    models: &dyn Models,
    (player, room, file): (&Player, Room, &str),
) -> Result<Seen> {
    // What is measured is the window for the question itself: its time is told behind it, where no words are sought.
    let time = asked.time().and_then(|time| to_raw_value(&json!({"role": "user", "content": time})).ok());
    let taken = time.as_ref().map_or(0, |time| Vocabulary::O200k.count(time.get()));
    let taken = u32::try_from(taken).unwrap_or(u32::MAX);
    let room = Room { window_tokens: room.window_tokens.saturating_sub(taken), ..room };
    let mut turn = match player.ask_aside(&question(talk, asked), room).await {
        Ok(turn) => turn,
        // A window that cannot hold the question is not sent.
        Err(Error::TooLarge(what)) => {
            return Ok(Seen { held: Vec::new(), answer: Err(Trouble::Failed(what)) });
        }
        Err(error) => return Err(error),
    };
    let held = held(&turn, (talk, ids));
    turn.push_round(time.into_iter().collect());
    Ok(Seen { held, answer: models.answer(file, player.engine(), &mut turn).await })
}

/// Has an answer judged; nothing if it was not finished.
async fn judged<'a>(
    (talk, asked): (&Talk, &'a Asked),
    Seen { held, answer }: Seen,
    models: &dyn Models,
    file: &str,
) -> Option<Outcome<'a>> {
    let (bill, judged) = (Bill::default(), Bill::default());
    let mut outcome = Outcome { asked, held, rounds: None, verdict: None, bill, judged };
    let answer = match answer {
        Ok(answer) => answer,
        Err(Trouble::Halted) => return None,
        Err(Trouble::Failed(_)) => return Some(outcome),
    };
    outcome.bill = answer.bill;
    // A model that has thought until it had no words left has not answered.
    if answer.text.trim().is_empty() {
        return Some(outcome);
    }
    outcome.rounds = Some(answer.rounds);
    if let Some(judge) = models.tasks(Who::Judge, file) {
        outcome.verdict = judge.tasks.run(&JudgeAnswer { talk, asked, answer: &answer.text }).await.answer;
        outcome.judged = judge.tab.bill();
    }
    // Unless it was cut short.
    (outcome.verdict.is_some() || models.halted().is_none()).then_some(outcome)
}

/// What every table of answers begins with.
fn verdicts() -> Vec<Column> {
    vec![
        column("questions", Good::Neither, 0),
        column("correct %", Good::High, 1),
        column("partly %", Good::Neither, 1),
        column("wrong %", Good::Low, 1),
        column("does not know %", Good::Low, 1),
        column("not judged", Good::Low, 0),
        column("no answer", Good::Low, 0),
        column("evidence %", Good::High, 1),
        column("evidence, all %", Good::High, 1),
        column("rounds", Good::Neither, 2),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "questions are few")]
fn counted(outcomes: &[&Outcome<'_>]) -> Vec<Option<f64>> {
    let mut tally = Tally::default();
    for one in outcomes {
        tally.count("", &one.held, &one.asked.evidence);
    }
    let evidence = tally.total();
    let judged = outcomes.iter().filter(|one| one.verdict.is_some()).count();
    let are = |verdict| percent(outcomes.iter().filter(|one| one.verdict == Some(verdict)).count(), judged);
    let rounds: Vec<u32> = outcomes.iter().filter_map(|one| one.rounds).collect();
    let number = |count: usize| Some(count as f64);
    let mean = (!rounds.is_empty()).then(|| f64::from(rounds.iter().sum::<u32>()) / rounds.len() as f64);
    vec![
        number(outcomes.len()),
        are(Verdict::Correct),
        are(Verdict::Partly),
        are(Verdict::Wrong),
        are(Verdict::Unknown),
        number(rounds.len().saturating_sub(judged)),
        number(outcomes.len() - rounds.len()),
        (!outcomes.is_empty()).then_some(100.0 * evidence.recall),
        (!outcomes.is_empty()).then_some(100.0 * evidence.all),
        mean,
    ]
}

fn row(way: Way, outcomes: &[Outcome<'_>], helped: Bill) -> Row {
    let sum = |of: fn(&Outcome<'_>) -> Bill| outcomes.iter().map(of).fold(Bill::default(), Bill::plus);
    let (bill, judged) = (sum(|one| one.bill), sum(|one| one.judged));
    let mut cells = counted(&outcomes.iter().collect::<Vec<_>>());
    cells.extend(cost_cells(bill));
    cells.extend([helped, judged].map(|bill| Some(bill.cost.dollars())));
    way.row(way.name(), cells)
}

fn by_kind(way: Way, outcomes: &[Outcome<'_>]) -> Vec<Row> {
    let mut kinds: BTreeMap<&str, Vec<&Outcome<'_>>> = BTreeMap::new();
    for one in outcomes {
        kinds.entry(&one.asked.kind).or_default().push(one);
    }
    let row =
        |(kind, outcomes): (&str, Vec<&Outcome<'_>>)| way.row(format!("{}: {kind}", way.name()), counted(&outcomes));
    kinds.into_iter().map(row).collect()
}
