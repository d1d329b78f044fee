//! The models of a run: who they are, and how an answer comes about, round by round as in the proxy.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use scrollback::engine::Turn;
use scrollback::ledger::Price;
use scrollback::task::{Model, Question, Said, TaskSettings, Tasks};
use scrollback::{Engine, Error};
use scrollback_eval::models::{Answer, Asking, Bill, Models, Tab, Trouble, Who};

use super::client::{Call, Client, Halt, Heard};
use super::line::Line;
use crate::config::RecallBy;
use crate::wire::edit::raw;
use crate::wire::offer::NO_MORE;

/// What is wanted of a model that is only asked for what that costs.
const FEW_TOKENS: u32 = 16;

/// A model, and what it charges.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) price: Option<Price>,
}

/// Everyone who takes part.
pub(super) struct Cast {
    pub(super) client: Arc<Client>,
    pub(super) main: Named,
    pub(super) helper: Option<Named>,
    pub(super) judge: Named,
    pub(super) reply_tokens: u32,
    /// How often a model may recall for one answer.
    pub(super) rounds: u32,
    pub(super) at_once: usize,
}

#[async_trait]
impl Models for Cast {
    async fn answer(&self, file: &str, engine: &Engine, turn: &mut Turn) -> Result<Answer, Trouble> {
        let line = self.line(turn, self.reply_tokens)?;
        if self.client.is_dry {
            return Ok(self.reckoned(&line, turn));
        }
        let mut answer = Answer::default();
        loop {
            let body = line.compose(turn, answer.rounds > 0 && answer.rounds >= self.rounds);
            let Heard { said, bill } = self.ask(file, body, self.reply_tokens).await?;
            answer.bill = answer.bill.plus(bill);
            let calls = line.recalls(&said);
            if calls.is_empty() || answer.rounds >= self.rounds {
                answer.text = line.words(&said);
                return Ok(answer);
            }
            answer.rounds += 1;
            let mut answers = engine.recall(turn, &calls).await;
            if answer.rounds >= self.rounds {
                for text in &mut answers {
                    text.push_str(NO_MORE);
                }
            }
            turn.push_round(line.round(&said, &answers).iter().map(raw).collect());
        }
    }

    async fn send(&self, file: &str, turn: &Turn) -> Result<Bill, Trouble> {
        let body = self.line(turn, FEW_TOKENS)?.compose(turn, false);
        if self.client.is_dry {
            self.client.reckon(self.main.price.as_ref(), body.len(), FEW_TOKENS, 1);
            return Ok(Bill::default());
        }
        self.ask(file, body, FEW_TOKENS).await.map(|heard| heard.bill)
    }

    fn tasks(&self, who: Who, file: &str) -> Option<Asking> {
        let model = match who {
            Who::Main => return None,
            Who::Helper => self.helper.clone()?,
            Who::Judge => self.judge.clone(),
        };
        let (tab, client) = (Arc::<Tab>::default(), self.client.clone());
        let least_tokens = if who == Who::Judge { self.reply_tokens } else { 0 };
        let asker = Asker { client, who, model, file: file.to_owned(), tab: tab.clone(), least_tokens };
        // Here every question counts: nobody is left alone because they failed.
        let settings = TaskSettings { at_once: self.at_once, breaker_after: u32::MAX, ..TaskSettings::default() };
        Some(Asking { tasks: Tasks::new(Arc::new(asker), settings), tab })
    }

    fn halted(&self) -> Option<String> {
        self.client.halt().map(|halt| match halt {
            Halt::Limit => format!("no more than {} may be spent (--spend-limit)", self.client.limit),
            Halt::Hopeless(why) => why,
        })
    }

    fn at_once(&self) -> usize {
        self.at_once
    }

    fn name(&self, who: Who) -> Option<&str> {
        match who {
            Who::Main => Some(&self.main.name),
            Who::Helper => self.helper.as_ref().map(|helper| helper.name.as_str()),
            Who::Judge => Some(&self.judge.name),
        }
    }
}

impl Cast {
    async fn ask(&self, file: &str, body: Bytes, reply_tokens: u32) -> Result<Heard, Trouble> {
        let price = self.main.price.as_ref();
        self.client.call(Call { who: Who::Main, file, body, reply_tokens, price }).await
    }

    fn line(&self, turn: &Turn, reply_tokens: u32) -> Result<Line, Trouble> {
        let line = Line::new(&self.client.upstream, &self.main.name, turn, reply_tokens);
        line.ok_or_else(|| Trouble::Failed("the request could not be written".into()))
    }

    /// What answering could cost at most, and an answer as long as it may be.
    fn reckoned(&self, line: &Line, turn: &Turn) -> Answer {
        let recalls = if line.recalls_by() == RecallBy::Off { 0 } else { u64::from(self.rounds) };
        // What is recalled takes the room that the window has left.
        let grown = line.compose(turn, false).len() + 3 * turn.window().room() as usize;
        self.client.reckon(self.main.price.as_ref(), grown, self.reply_tokens, 1 + recalls);
        Answer { text: "x".repeat(3 * self.reply_tokens as usize), ..Answer::default() }
    }
}

/// A model that answers tasks.
struct Asker {
    client: Arc<Client>,
    who: Who,
    model: Named,
    file: String,
    tab: Arc<Tab>,
    /// How long an answer may be in any case: a judge may be a model that thinks first.
    least_tokens: u32,
}

#[async_trait]
impl Model for Asker {
    async fn ask(&self, question: &Question) -> scrollback::Result<Said> {
        let reply_tokens = question.most_tokens.max(self.least_tokens);
        let question = Question { most_tokens: reply_tokens, ..question.clone() };
        let mut body = crate::helper::written(&self.model.name, &question, self.client.upstream.wire);
        body["temperature"] = 0.into();
        let (who, file, body) = (self.who, self.file.as_str(), body.to_string().into());
        let price = self.model.price.as_ref();
        let call = Call { who, file, body, reply_tokens, price };
        let Heard { said, bill } = self.client.call(call).await.map_err(|trouble| unheard(&trouble))?;
        self.tab.add(bill);
        let tokens = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let (input_tokens, cache_read, output_tokens) = (tokens(bill.input), tokens(bill.read), tokens(bill.output));
        Ok(Said { text: said.text(), input_tokens, cache_read, output_tokens, ..Said::default() })
    }
}

fn unheard(trouble: &Trouble) -> Error {
    Error::Model { what: trouble.to_string(), source: None }
}
