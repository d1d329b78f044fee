//! Constraints with a model: long after a rule was stated, something is asked for that it applies to, and the reply is
//! judged.

use futures_util::{StreamExt, TryStreamExt, stream};
use scrollback::{Message, Result, Role};

use super::{Answered, Plan, cast, column, cost_cells, cost_columns, is_ours, missing, percent};
use crate::fixture::{CHINESE, ENGLISH, Language, probe};
use crate::judge::{JudgeRule, Ruling};
use crate::models::{Bill, Models, Trouble, Who};
use crate::player::{Line, Player, Room, says};
use crate::suite::constraints::{RULES, Talk};
use crate::table::{Column, Good, Row, Table};

/// After how many folds it is asked.
pub const FOLDS: [usize; 3] = [1, 4, 16];
/// The sizes of the windows, unless told otherwise.
pub const LIMITS: [u32; 1] = [4_000];

/// What became of a rule.
#[derive(Clone, Copy, Default)]
struct Outcome {
    /// Which of [`FOLDS`].
    look: usize,
    /// Whether the window says it, word for word.
    shown: bool,
    answered: bool,
    ruling: Option<Ruling>,
    bill: Bill,
    judged: Bill,
}

/// How many steps measuring takes.
pub fn steps(plan: &Plan<'_>) -> usize {
    2 * plan.pairs().len() * plan.taken(ENGLISH.len()).len().div_ceil(RULES)
}

/// Asks for what rules apply to; `step` is called [`steps`] times unless it ends early.
pub async fn measure(plan: &Plan<'_>, models: &dyn Models, step: &dyn Fn()) -> Result<Answered> {
    let spoken: [(Language, &[&'static str]); 2] = [(Language::English, &ENGLISH), (Language::Chinese, &CHINESE)];
    let mut tables = Vec::new();
    for (language, rules) in spoken {
        let rules: Vec<&str> = plan.taken(rules.len()).into_iter().map(|i| rules[i]).collect();
        let (mut rows, mut done) = (Vec::new(), 0);
        for (strategy, limit) in plan.pairs() {
            let room = Room::of_window(strategy, limit);
            let jobs: Vec<_> = rules.chunks(RULES).zip(1..).collect();
            let one = async |(stated, seed): &(&[&str], u64)| {
                let come = conversation((language, stated, *seed), plan, models, room).await;
                step();
                come
            };
            let come: Vec<(Vec<Outcome>, Bill)> =
                stream::iter(&jobs).map(one).buffered(models.at_once()).try_collect().await?;
            let helped = come.iter().fold(Bill::default(), |sum, (_, helped)| sum.plus(*helped));
            let outcomes: Vec<Outcome> = come.into_iter().flat_map(|(outcomes, _)| outcomes).collect();
            if outcomes.is_empty() && models.halted().is_some() {
                break;
            }
            done += outcomes.len();
            let (name, ours) = (format!("{strategy}, {limit}"), is_ours(strategy));
            rows.push(Row { name, ours, limit: false, cells: cells(&outcomes, helped) });
        }
        let all = rules.len() * plan.pairs().len() * FOLDS.len();
        if done > 0 || models.halted().is_none() {
            tables.push(table(language, models, rows, (done, all)));
        }
    }
    Ok(Answered { tables, details: Vec::new(), is_whole: models.halted().is_none() })
}

/// One conversation: what became of its rules, and what the helper took.
async fn conversation(
    (language, stated, seed): (Language, &[&str], u64),
    plan: &Plan<'_>,
    models: &dyn Models,
    room: Room,
) -> Result<(Vec<Outcome>, Bill)> {
    let folder = format!("constraints/{}/{}-{}", language.name(), room.strategy, room.limit_tokens);
    let (player, helped) = plan.player(room, models.tasks(Who::Helper, &format!("{folder}/{seed}-helper")))?;
    let mut talk = Talk::with(player, room, language, seed);
    for rule in stated {
        talk.turn(Some(rule)).await?;
    }
    let mut outcomes = Vec::new();
    for (look, folds) in FOLDS.iter().enumerate() {
        if models.halted().is_some() || talk.reach(*folds).await?.is_none() {
            break;
        }
        let ask = async |(place, rule): (usize, &&str)| {
            let file = format!("{folder}/{seed}-{}-after-{folds}", place + 1);
            outcome(rule, models, (&talk.player, room, &file)).await
        };
        let asked = stream::iter(stated.iter().enumerate()).map(ask).buffered(models.at_once());
        let come: Vec<Option<Outcome>> = asked.try_collect().await?;
        outcomes.extend(come.into_iter().flatten().map(|one| Outcome { look, ..one }));
    }
    Ok((outcomes, helped.bill()))
}

/// Asks for what a rule applies to; nothing if that was not finished.
async fn outcome(
    rule: &str,
    models: &dyn Models,
    (player, room, file): (&Player, Room, &str),
) -> Result<Option<Outcome>> {
    let Some(request) = probe(rule).filter(|_| models.halted().is_none()) else { return Ok(None) };
    let mut turn = player.ask_aside(&Line::new(Message::text(&Role::User, request)), room).await?;
    let mut outcome = Outcome { shown: says(turn.window(), rule), ..Outcome::default() };
    let answer = match models.answer(file, player.engine(), &mut turn).await {
        Ok(answer) => answer,
        Err(Trouble::Halted) => return Ok(None),
        Err(Trouble::Failed(_)) => return Ok(Some(outcome)),
    };
    outcome.bill = answer.bill;
    if answer.text.trim().is_empty() {
        return Ok(Some(outcome));
    }
    outcome.answered = true;
    if let Some(judge) = models.tasks(Who::Judge, file) {
        outcome.ruling = judge.tasks.run(&JudgeRule { rule, request, reply: &answer.text }).await.answer;
        outcome.judged = judge.tab.bill();
    }
    Ok((outcome.ruling.is_some() || models.halted().is_none()).then_some(outcome))
}

#[expect(clippy::cast_precision_loss, reason = "rules are few")]
fn cells(outcomes: &[Outcome], helped: Bill) -> Vec<Option<f64>> {
    let count = |is: &dyn Fn(&Outcome) -> bool| outcomes.iter().filter(|one| is(one)).count();
    let mut cells = Vec::new();
    for look in 0..FOLDS.len() {
        let all = count(&|one| one.look == look);
        let clear = count(&|one| one.look == look && matches!(one.ruling, Some(Ruling::Kept | Ruling::Broken)));
        cells.push(percent(count(&|one| one.look == look && one.shown), all));
        cells.push(percent(count(&|one| one.look == look && one.ruling == Some(Ruling::Kept)), clear));
    }
    let counts = [
        count(&|one| one.ruling == Some(Ruling::Unclear)),
        count(&|one| one.answered && one.ruling.is_none()),
        count(&|one| !one.answered),
    ];
    cells.extend(counts.map(|count| Some(count as f64)));
    let sum = |of: fn(&Outcome) -> Bill| outcomes.iter().map(of).fold(Bill::default(), Bill::plus);
    cells.extend(cost_cells(sum(|one| one.bill)));
    cells.extend([helped, sum(|one| one.judged)].map(|bill| Some(bill.cost.dollars())));
    cells
}

fn table(language: Language, models: &dyn Models, rows: Vec<Row>, counts: (usize, usize)) -> Table {
    let looks = FOLDS.iter().flat_map(|folds| {
        let after = if *folds == 1 { "1 fold".to_owned() } else { format!("{folds} folds") };
        [format!("{after}, shown %"), format!("{after}, kept %")].map(|name| column(&name, Good::High, 1))
    });
    let counted = ["unclear", "not judged", "no answer"].map(|name| column(name, Good::Low, 0));
    let costs = cost_columns().into_iter().chain(["helper $", "judge $"].map(|name| column(name, Good::Low, 4)));
    let columns: Vec<Column> = looks.chain(counted).chain(costs).collect();
    let about = cast(models)
        + &missing(models, "replies", counts)
        + " Shown: the window says the rule word for word. Kept: the reply keeps to it, as a share of replies of which the judge could tell.";
    Table { title: format!("Rules kept, {}", language.name()), about, columns, rows, plot: None }
}
