//! Caches and tools with a model: every call of a conversation is sent, for what its provider reports beside what is
//! modelled.
//!
//! Replies are those of the data. So that nothing one strategy sends is found in the cache by another, conversations
//! begin with an instruction that names where they are played.

use futures_util::{StreamExt, TryStreamExt, stream};
use scrollback::strategy::StrategyName;
use scrollback::{Error, Result, Role};

use super::{Answered, Plan, cast, column, cost_cells, cost_columns, is_ours, missing};
use crate::dataset::{recall, traces};
use crate::meter::{Meter, Tariff, chain};
use crate::models::{Bill, Models, Trouble, Who};
use crate::player::{Line, tool_tokens};
use crate::replay::Script;
use crate::suite::{cache, tools};
use crate::table::{Good, Row, Table};

/// Conversations whose calls can be sent.
pub struct Calls {
    title: String,
    suite: &'static str,
    /// What is said, and how many lines each call is shown.
    talks: Vec<(Vec<Line>, Vec<usize>)>,
}

impl Calls {
    /// Of conversations.
    pub async fn of_talks(dataset: &recall::Dataset) -> Result<Self> {
        let mut talks = Vec::new();
        for talk in &dataset.talks {
            let script = Script::of_replies(talk.messages.iter().map(cache::line).collect()).await?;
            talks.push((script.lines, script.calls));
        }
        talks.retain(|(_, calls)| !calls.is_empty());
        Ok(Self { title: dataset.name.clone(), suite: "cache", talks })
    }

    /// Of agents.
    pub fn of_traces(dataset: &traces::Dataset) -> Self {
        let talk = |thread: &traces::Thread| {
            let calls: Vec<usize> = thread.calls.iter().map(|call| call.shown).collect();
            (tools::lines(&thread.steps), calls)
        };
        Self { title: dataset.name.clone(), suite: "tools", talks: dataset.threads.iter().map(talk).collect() }
    }

    /// How many steps sending them takes.
    pub fn steps(&self, plan: &Plan<'_>) -> usize {
        plan.taken(self.talks.len()).len() * plan.pairs().len()
    }

    /// Sends every call under each strategy, at each size of window; `step` is called so often as [`Calls::steps`] says
    /// unless it ends early.
    pub async fn measure(&self, plan: &Plan<'_>, models: &dyn Models, step: &dyn Fn()) -> Result<Answered> {
        let taken = plan.taken(self.talks.len());
        let (mut rows, mut done, mut all) = (Vec::new(), 0, 0);
        for (strategy, limit) in plan.pairs() {
            let one = async |number: &usize| {
                let come = self.conversation(*number, plan, models, (strategy, limit)).await;
                step();
                come
            };
            let come: Vec<Sent> = stream::iter(&taken).map(one).buffered(models.at_once()).try_collect().await?;
            done += come.iter().map(|sent| sent.done).sum::<usize>();
            all += taken.iter().map(|number| self.talks[*number].1.len()).sum::<usize>();
            rows.push(row((strategy, limit), &come));
        }
        let is_whole = models.halted().is_none();
        let tables = if done == 0 { Vec::new() } else { vec![self.table(models, rows, (done, all))] };
        Ok(Answered { tables, details: Vec::new(), is_whole })
    }

    async fn conversation(
        &self,
        number: usize,
        plan: &Plan<'_>,
        models: &dyn Models,
        (strategy, limit): (StrategyName, u32),
    ) -> Result<Sent> {
        let file = format!("{}/{}/{strategy}-{limit}/{}", self.suite, self.title, number + 1);
        let (lines, calls) = &self.talks[number];
        let room = cache::room(strategy, limit);
        let (mut player, helped) = plan.player(room, models.tasks(Who::Helper, &format!("{file}-helper")))?;
        let (mut sent, mut said) = (Sent::new(models), 0);
        // An instruction of its own, so that no other conversation begins alike.
        let head = Line::text(&Role::System, None, &format!("Conversation {file}."));
        let script = Script { lines: lines.clone(), calls: calls.clone(), links: Vec::new() };
        for (call, upto) in calls.iter().enumerate() {
            if models.halted().is_some() {
                break;
            }
            let head = std::slice::from_ref(&head).iter().take(usize::from(call == 0));
            let new: Vec<Line> = head.chain(&lines[said..*upto]).cloned().collect();
            said = *upto;
            let turn = match player.ask(&new, room).await {
                Ok(turn) => turn,
                Err(Error::TooLarge(_)) => {
                    sent.refuse();
                    continue;
                }
                Err(error) => return Err(error),
            };
            sent.meter.send(&chain(turn.window(), tool_tokens(strategy)));
            sent.heard(&models.send(&file, &turn).await);
            if let Some(reply) = script.reply(call) {
                player.reply(turn, reply.clone()).await?;
                said += 1;
            }
        }
        sent.helped = helped.bill();
        Ok(sent)
    }

    fn table(&self, models: &dyn Models, rows: Vec<Row>, counts: (usize, usize)) -> Table {
        let columns = [
            column("calls", Good::Neither, 0),
            column("refused", Good::Low, 0),
            column("no answer", Good::Low, 0),
            column("counted, mean", Good::Neither, 0),
            column("modelled hits %", Good::Neither, 1),
        ];
        let about = cast(models)
            + &missing(models, "calls", counts)
            + " Counted and modelled is what we reckon with; prompt, cached and cost are what the provider reports. Refused: no window holds it.";
        let helper = column("helper $", Good::Low, 4);
        let columns = columns.into_iter().chain(cost_columns()).chain([helper]).collect();
        let suite = if self.suite == "cache" { "Cache" } else { "Tools" };
        Table { title: format!("{suite} as reported, {}", self.title), about, columns, rows, plot: None }
    }
}

/// What was sent of a conversation.
struct Sent {
    meter: Meter,
    bill: Bill,
    helped: Bill,
    done: usize,
    refused: usize,
    failed: usize,
}

impl Sent {
    fn new(models: &dyn Models) -> Self {
        let tariff = models.name(Who::Main).and_then(Tariff::of_model).unwrap_or_else(Tariff::plain);
        Self {
            meter: Meter::new(&[tariff]),
            bill: Bill::default(),
            helped: Bill::default(),
            done: 0,
            refused: 0,
            failed: 0,
        }
    }

    fn refuse(&mut self) {
        self.refused += 1;
        self.done += 1;
    }

    fn heard(&mut self, heard: &std::result::Result<Bill, Trouble>) {
        match heard {
            Ok(bill) => self.bill = self.bill.plus(*bill),
            Err(Trouble::Failed(_)) => self.failed += 1,
            Err(Trouble::Halted) => return,
        }
        self.done += 1;
    }
}

#[expect(clippy::cast_precision_loss, reason = "calls are few")]
fn row((strategy, limit): (StrategyName, u32), sent: &[Sent]) -> Row {
    let count = |of: fn(&Sent) -> usize| Some(sent.iter().map(of).sum::<usize>() as f64);
    let tokens: u64 = sent.iter().map(|sent| sent.meter.tokens).sum();
    let calls: u64 = sent.iter().map(|sent| sent.meter.calls).sum();
    let read: f64 = sent.iter().map(|sent| sent.meter.hits()[0] * sent.meter.tokens as f64).sum();
    let bill = sent.iter().fold(Bill::default(), |sum, sent| sum.plus(sent.bill));
    let helped = sent.iter().fold(Bill::default(), |sum, sent| sum.plus(sent.helped));
    let reckoned = [Some(crate::meter::ratio(tokens, calls)), (tokens > 0).then(|| 100.0 * read / tokens as f64)];
    let counts = [count(|sent| sent.done), count(|sent| sent.refused), count(|sent| sent.failed)];
    let cells = counts.into_iter().chain(reckoned).chain(cost_cells(bill)).chain([Some(helped.cost.dollars())]);
    Row { name: format!("{strategy}, {limit}"), ours: is_ours(strategy), limit: false, cells: cells.collect() }
}
