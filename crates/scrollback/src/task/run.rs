//! Running tasks: the helper is asked, once more if it talks nonsense, and otherwise the offline answer is taken.
//!
//! Nothing a helper does can keep a task from being answered: errors, panics and nonsense end in the offline answer,
//! with the reason beside it. How many questions are under way at once is limited, and so may be what they cost
//! (`purse`); a helper that keeps failing is left alone for a while (`breaker`).

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::Task;
use super::breaker::{Breaker, Entry};
use super::model::{Model, Question, Said};
use super::purse::{Account, Aside, Purse};
use super::sentences::shortened;
use crate::error::{Error, Result};
use crate::ledger::{Cost, Price};

/// How long a reason may be where it is recorded.
const REASON_CHARS: usize = 300;

/// How the helper is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskSettings {
    /// How many questions may be under way at once; at least one.
    pub at_once: usize,
    /// After so many failed tasks in a row the helper is left alone.
    pub breaker_after: u32,
    /// So many tasks are then answered offline before it is tried again.
    pub pause_tasks: u32,
    /// The pause doubles with every failed trial, up to so many tasks.
    pub most_pause_tasks: u32,
}

impl Default for TaskSettings {
    fn default() -> Self {
        Self { at_once: 4, breaker_after: 5, pause_tasks: 20, most_pause_tasks: 640 }
    }
}

/// An answer, who gave it, and what was asked on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answered<A> {
    /// The answer.
    pub answer: A,
    /// Who gave it.
    pub by: By,
    /// Every question to the helper, for the ledger.
    pub calls: Vec<Asked>,
}

/// Who gave an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The helper model.
    Helper,
    /// The offline answer was taken.
    Offline(Why),
}

/// Why an answer was given offline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// There is no helper.
    NoHelper,
    /// The helper could not be asked.
    Failed(String),
    /// The helper answered twice what could not be used.
    Nonsense(String),
    /// The helper failed too often of late and is left alone.
    BreakerOpen,
    /// What may be spent in an hour is spent.
    SpendLimit,
    /// Too little time was left to ask: others were asking, or whoever waits had waited long enough.
    NoTime,
}

/// One question to the helper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// The task that asked.
    pub task: &'static str,
    /// The model that was asked, where its name is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// How many tokens the helper read.
    pub input_tokens: u32,
    /// How many tokens it wrote.
    pub output_tokens: u32,
    /// What they cost, where the price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// What came of it.
    pub outcome: Heard,
}

impl Asked {
    /// Whether the helper was there, and what it made of the question could not be used.
    pub fn was_in_vain(&self) -> bool {
        match &self.outcome {
            Heard::Answer => false,
            Heard::Nonsense(_) => true,
            // A model that spends all it may write on thinking says nothing, and is paid for.
            Heard::Nothing(_) => self.output_tokens > 0,
        }
    }
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Heard {
    /// An answer.
    Answer,
    /// Words that could not be used, and the complaint about them.
    Nonsense(String),
    /// No words at all, and the reason.
    Nothing(String),
}

/// Something of a helper that whoever runs it may want to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign<'a> {
    /// A task was answered.
    Answered(&'a By),
    /// The helper failed too often, the last time with this, and is left alone for a while.
    LeftAlone(&'a Why),
    /// It was left alone, and answers again.
    Back,
}

/// Whoever is told of signs; it must not wait for anything.
pub type Watch = Arc<dyn Fn(Sign<'_>) + Send + Sync>;

/// Answers tasks, with a helper or without.
pub struct Tasks {
    helper: Option<Helper>,
}

struct Helper {
    model: Arc<dyn Model>,
    name: String,
    price: Option<Price>,
    seats: Semaphore,
    breaker: Mutex<Breaker>,
    account: Option<Account>,
    watch: Option<Watch>,
}

impl Tasks {
    /// Every task is answered offline.
    pub fn offline() -> Self {
        Self { helper: None }
    }

    /// Tasks are answered by a helper where it can.
    pub fn new(model: Arc<dyn Model>, settings: TaskSettings) -> Self {
        let seats = Semaphore::new(settings.at_once.clamp(1, Semaphore::MAX_PERMITS));
        let breaker = Mutex::new(Breaker::new(settings));
        let (name, price, account, watch) = (String::new(), None, None, None);
        Self { helper: Some(Helper { model, name, price, seats, breaker, account, watch }) }
    }

    /// The same, with somebody who is told how the helper does.
    #[must_use]
    pub fn watched(self, watch: Watch) -> Self {
        Self { helper: self.helper.map(|helper| Helper { watch: Some(watch), ..helper }) }
    }

    /// The same, with the name of the model in the ledger.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { helper: self.helper.map(|helper| Helper { name: name.to_owned(), ..helper }) }
    }

    /// The same, paid from a purse at a price: when that is empty, tasks are answered offline until there is room
    /// again.
    #[must_use]
    pub fn with_purse(self, purse: Arc<Purse>, price: Option<Price>) -> Self {
        let account = Account::new(purse, price.clone());
        Self { helper: self.helper.map(|helper| Helper { price, account, ..helper }) }
    }

    /// Whether there is a helper to ask.
    pub fn has_helper(&self) -> bool {
        self.helper.is_some()
    }

    /// Answers a task, in any case.
    pub async fn run<T: Task>(&self, task: &T) -> Answered<T::Answer> {
        self.run_within(task, None).await
    }

    /// Answers a task that somebody waits for within so long. Half of that is the helper's at least, which counts as
    /// failing if it takes longer; if it cannot be asked by then because of others, it is not.
    pub async fn run_within<T: Task>(&self, task: &T, most: Option<Duration>) -> Answered<T::Answer> {
        let mut calls = Vec::new();
        let (answer, by) = match self.helped(task, most, &mut calls).await {
            Ok(answer) => (answer, By::Helper),
            Err(why) => (task.offline(), By::Offline(why)),
        };
        self.helper.iter().for_each(|helper| helper.tell(Sign::Answered(&by)));
        Answered { answer, by, calls }
    }

    async fn helped<T: Task>(
        &self,
        task: &T,
        most: Option<Duration>,
        calls: &mut Vec<Asked>,
    ) -> Result<T::Answer, Why> {
        let helper = self.helper.as_ref().ok_or(Why::NoHelper)?;
        if most.is_some_and(|most| most.is_zero()) {
            return Err(Why::NoTime);
        }
        let begun = Instant::now();
        let entry = helper.breaker().enter();
        if entry == Entry::Refused {
            return Err(Why::BreakerOpen);
        }
        let _seat = helper.seat(most.map(|most| begun + most / 2)).await?;
        // Those who waited for a seat while the helper failed others need not find out for themselves.
        if entry == Entry::Usual && helper.breaker().is_open() {
            return Err(Why::BreakerOpen);
        }
        let answer = match most {
            None => helper.answer(task, calls).await,
            Some(most) => {
                let answered = tokio::time::timeout_at(begun + most, helper.answer(task, calls)).await;
                answered.unwrap_or_else(|_| Err(helper.late::<T>(calls)))
            }
        };
        match &answer {
            Ok(_) => helper.succeeded(),
            // It was not asked, so nothing is known of how it is.
            Err(Why::SpendLimit | Why::NoTime) => {}
            Err(why) => helper.failed(entry, why),
        }
        answer
    }
}

impl Helper {
    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, sign: Sign<'_>) {
        self.watch.iter().for_each(|watch| watch(sign));
    }

    fn succeeded(&self) {
        let was_open = self.breaker().succeeded();
        if was_open {
            self.tell(Sign::Back);
        }
    }

    fn failed(&self, entry: Entry, why: &Why) {
        let opens = self.breaker().failed(entry);
        if opens {
            self.tell(Sign::LeftAlone(why));
        }
    }

    /// A seat, if one comes free in time.
    async fn seat(&self, until: Option<Instant>) -> Result<SemaphorePermit<'_>, Why> {
        let seat = match until {
            None => self.seats.acquire().await,
            Some(until) => tokio::time::timeout_at(until, self.seats.acquire()).await.map_err(|_| Why::NoTime)?,
        };
        Ok(seat.expect("the seats are never closed"))
    }

    /// Sets aside what a question may cost, if there is a limit.
    fn set_aside(&self, question: &Question) -> Result<Option<Aside>, Why> {
        let Some(account) = &self.account else { return Ok(None) };
        account.set_aside(question, Instant::now()).map(Some).ok_or(Why::SpendLimit)
    }

    fn settle(&self, aside: Option<Aside>, heard: &Result<Said>) {
        if let Some((account, aside)) = self.account.as_ref().zip(aside) {
            account.settle(aside, heard);
        }
    }

    async fn answer<T: Task>(&self, task: &T, calls: &mut Vec<Asked>) -> Result<T::Answer, Why> {
        let question = task.question();
        let first = self.ask(task, &question, calls).await;
        let Err(Why::Nonsense(complaint)) = &first else { return first };
        self.ask(task, &question.again(complaint), calls).await
    }

    async fn ask<T: Task>(&self, task: &T, question: &Question, calls: &mut Vec<Asked>) -> Result<T::Answer, Why> {
        let aside = self.set_aside(question)?;
        let heard = unharmed("the helper", async { self.model.ask(question).await }).await;
        self.settle(aside, &heard);
        let is_free = matches!(heard, Err(Error::Unreachable(_)));
        let (said, answer) = match heard {
            Ok(said) if said.text.trim().is_empty() => (said, Err(Why::Failed("it answered without any words".into()))),
            Ok(said) => {
                let read = task.read(&said.text).map_err(|complaint| shortened(&complaint, REASON_CHARS));
                (said, read.map_err(Why::Nonsense))
            }
            Err(error) => (Said::default(), Err(Why::Failed(shortened(&error.explained(), REASON_CHARS)))),
        };
        let outcome = match &answer {
            Ok(_) => Heard::Answer,
            Err(Why::Nonsense(complaint)) => Heard::Nonsense(complaint.clone()),
            Err(Why::Failed(reason)) => Heard::Nothing(reason.clone()),
            Err(Why::NoHelper | Why::BreakerOpen | Why::SpendLimit | Why::NoTime) => return answer,
        };
        let asked = self.asked::<T>(&said, outcome);
        calls.push(if is_free { Asked { cost: Some(Cost(0)), ..asked } } else { asked });
        answer
    }

    /// Takes note of a question that was not answered in time.
    fn late<T: Task>(&self, calls: &mut Vec<Asked>) -> Why {
        let reason = "it took too long".to_owned();
        calls.push(self.asked::<T>(&Said::default(), Heard::Nothing(reason.clone())));
        Why::Failed(reason)
    }

    fn asked<T: Task>(&self, said: &Said, outcome: Heard) -> Asked {
        // What nobody reports may have cost something.
        let is_told = said.input_tokens > 0 || said.output_tokens > 0;
        let cost = self.price.as_ref().filter(|_| is_told).map(|price| price.cost(said.hit(), said.output_tokens));
        let (input_tokens, output_tokens) = (said.input_tokens, said.output_tokens);
        Asked { task: T::NAME, model: self.name.clone(), input_tokens, output_tokens, cost, outcome }
    }
}

/// What a model of somebody else's making says, with a panic turned into an error.
pub(crate) async fn unharmed<T>(who: &str, asking: impl Future<Output = Result<T>>) -> Result<T> {
    let mut asking = pin!(asking);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| asking.as_mut().poll(context)));
        polled.unwrap_or_else(|_| Poll::Ready(Err(Error::Model { what: format!("{who} panicked"), source: None })))
    })
    .await
}

#[cfg(test)]
mod tests;
