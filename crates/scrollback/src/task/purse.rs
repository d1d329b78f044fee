//! The purse: what questions to all helpers may cost in an hour.
//!
//! Before a question is asked, what it may cost at most is set aside; when the answer is there, what it did cost takes
//! its place. What was asked and never heard of, or failed, stays as it was estimated. What lies more than an hour back
//! counts no more.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::model::{Question, Said};
use crate::error::{Error, Result};
use crate::ledger::{Hit, Price};

const HOUR: Duration = Duration::from_hours(1);
/// A token has at least about so many bytes, in any language.
const BYTES_PER_TOKEN: usize = 3;
const NANODOLLARS: f64 = 1e9;

/// How much questions to helpers may cost in any hour.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpendLimit {
    /// How many dollars; 0 for no limit.
    pub dollars_per_hour: f64,
    /// How many tokens, read and written, where there is no limit in dollars or the price is not known; 0 for no limit.
    pub tokens_per_hour: u64,
}

/// What was spent in the last hour, by all helpers that pay from it.
#[derive(Debug)]
pub struct Purse {
    limit: SpendLimit,
    spending: Mutex<Spending>,
}

impl Purse {
    /// A purse with a limit.
    pub fn new(limit: SpendLimit) -> Self {
        Self { limit, spending: Mutex::default() }
    }

    /// How much may be spent from it.
    pub fn limit(&self) -> SpendLimit {
        self.limit
    }
}

/// What is counted.
#[derive(Debug)]
enum Count {
    Nanodollars(Box<Price>),
    Tokens,
}

impl Count {
    fn of(&self, hit: Hit, output: u32) -> u64 {
        match self {
            Self::Nanodollars(price) => price.cost(hit, output).0,
            Self::Tokens => u64::from(hit.input()) + u64::from(output),
        }
    }

    fn is_dollars(&self) -> bool {
        matches!(self, Self::Nanodollars(_))
    }
}

/// What was set aside for one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Aside(u64);

/// Something that was spent, or may be.
#[derive(Debug)]
struct Spent {
    of: Aside,
    at: Instant,
    amount: u64,
    in_dollars: bool,
}

#[derive(Debug, Default)]
struct Spending {
    spent: VecDeque<Spent>,
    next: u64,
}

/// One helper's way to a purse: what it charges decides what is counted.
#[derive(Debug)]
pub(super) struct Account {
    purse: Arc<Purse>,
    count: Count,
    most: u64,
}

impl Account {
    /// An account of a helper with a price; none if there is no limit for it.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, which is no limit")]
    pub(super) fn new(purse: Arc<Purse>, price: Option<Price>) -> Option<Self> {
        let SpendLimit { dollars_per_hour, tokens_per_hour } = purse.limit;
        match price {
            Some(price) if dollars_per_hour > 0.0 => {
                let most = (dollars_per_hour * NANODOLLARS) as u64;
                Some(Self { purse, count: Count::Nanodollars(Box::new(price)), most })
            }
            Some(_) | None => {
                (tokens_per_hour > 0).then_some(Self { purse, count: Count::Tokens, most: tokens_per_hour })
            }
        }
    }

    /// Sets aside what a question may cost; none if that is too much now.
    pub(super) fn set_aside(&self, question: &Question, now: Instant) -> Option<Aside> {
        let mut spending = self.spending();
        while spending.spent.front().is_some_and(|spent| now.duration_since(spent.at) >= HOUR) {
            spending.spent.pop_front();
        }
        let bytes = question.instructions.len() + question.text.len();
        let plain = u32::try_from(bytes / BYTES_PER_TOKEN).unwrap_or(u32::MAX);
        let amount = self.count.of(Hit { plain, ..Hit::default() }, question.most_tokens);
        let in_dollars = self.count.is_dollars();
        let alike = spending.spent.iter().filter(|spent| spent.in_dollars == in_dollars);
        let sum = alike.fold(amount, |sum, spent| sum.saturating_add(spent.amount));
        (sum <= self.most).then(|| {
            let of = Aside(spending.next);
            spending.next += 1;
            spending.spent.push_back(Spent { of, at: now, amount, in_dollars });
            of
        })
    }

    /// Puts what a question did cost in the place of what was set aside. A helper that does not report it, or failed,
    /// leaves it as it is; one that could not be reached costs nothing.
    pub(super) fn settle(&self, of: Aside, heard: &Result<Said>) {
        let amount = match heard {
            Err(Error::Unreachable(_)) => 0,
            Err(_) => return,
            Ok(said) if said.input_tokens == 0 && said.output_tokens == 0 => return,
            Ok(said) => self.count.of(said.hit(), said.output_tokens),
        };
        if let Some(spent) = self.spending().spent.iter_mut().rev().find(|spent| spent.of == of) {
            spent.amount = amount;
        }
    }

    fn spending(&self) -> MutexGuard<'_, Spending> {
        self.purse.spending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::ledger::Prices;
    use crate::task::{By, Model, Task, TaskSettings, Tasks, Why};
    use async_trait::async_trait;

    /// Takes at most 12 tokens by estimate: 6 bytes are read, 10 tokens may be written.
    struct Word;

    impl Task for Word {
        type Answer = String;

        const NAME: &'static str = "word";

        fn question(&self) -> Question {
            Question {
                task: Self::NAME,
                instructions: "Say".into(),
                text: "it?".into(),
                most_tokens: 10,
                ..Question::default()
            }
        }

        fn read(&self, reply: &str) -> Result<String, String> {
            Ok(reply.to_owned())
        }

        fn offline(&self) -> String {
            "offline".into()
        }
    }

    #[derive(Clone, Copy, PartialEq)]
    enum Act {
        /// Takes 40 tokens.
        Answers,
        /// Answers without a report.
        Unreported,
        /// Takes 40 tokens and has no words.
        Wordless,
        Fails,
        Unreachable,
        Silent,
    }

    struct Acting(Act, AtomicU32);

    #[async_trait]
    impl Model for Acting {
        async fn ask(&self, _: &Question) -> Result<Said> {
            self.1.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            let forty = Said { input_tokens: 30, output_tokens: 10, ..Said::default() };
            match self.0 {
                Act::Answers => Ok(Said { text: "tide".into(), ..forty }),
                Act::Unreported => Ok(Said { text: "tide".into(), ..Said::default() }),
                Act::Wordless => Ok(Said { text: "\n".into(), ..forty }),
                Act::Fails => Err(Error::Model { what: "no answer".into(), source: None }),
                Act::Unreachable => Err(Error::Unreachable("nobody is there".into())),
                Act::Silent => std::future::pending().await,
            }
        }
    }

    fn purse(tokens_per_hour: u64) -> Arc<Purse> {
        Arc::new(Purse::new(SpendLimit { tokens_per_hour, ..SpendLimit::default() }))
    }

    fn tasks(act: Act, tokens_per_hour: u64) -> (Tasks, Arc<Acting>) {
        paid_from(&purse(tokens_per_hour), act)
    }

    fn paid_from(purse: &Arc<Purse>, act: Act) -> (Tasks, Arc<Acting>) {
        let model = Arc::new(Acting(act, AtomicU32::new(0)));
        (Tasks::new(model.clone(), TaskSettings::default()).with_purse(purse.clone(), None), model)
    }

    async fn by(tasks: &Tasks) -> By {
        tasks.run_within(&Word, Some(Duration::from_secs(1))).await.by
    }

    const REFUSED: By = By::Offline(Why::SpendLimit);

    #[tokio::test(start_paused = true)]
    async fn a_used_up_limit_has_room_again_after_an_hour() {
        let (tasks, model) = tasks(Act::Answers, 100);
        for expect in [By::Helper, By::Helper, By::Helper, REFUSED] {
            assert_eq!(by(&tasks).await, expect);
            tokio::time::advance(Duration::from_mins(10)).await;
        }
        for _ in 0..50 {
            assert_eq!(by(&tasks).await, REFUSED, "and the breaker counts none of them");
        }
        tokio::time::advance(Duration::from_mins(20) - Duration::from_millis(1)).await;
        assert_eq!(by(&tasks).await, REFUSED);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!((by(&tasks).await, by(&tasks).await), (By::Helper, REFUSED), "only the oldest is forgotten");
        assert_eq!(model.1.load(Ordering::Relaxed), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn questions_under_way_count_by_what_they_may_cost() {
        let (tasks, model) = tasks(Act::Unreported, 50);
        futures_util::future::join_all((0..20).map(|_| by(&tasks))).await;
        assert_eq!((by(&tasks).await, model.1.load(Ordering::Relaxed)), (REFUSED, 4));
    }

    /// A helper may answer late, break off or have no words, and be paid for all of that.
    #[tokio::test(start_paused = true)]
    async fn silence_and_failure_count_unless_it_could_not_be_reached() {
        for (act, limit) in [(Act::Silent, 30), (Act::Fails, 30), (Act::Wordless, 60)] {
            let (failing, model) = tasks(act, limit);
            for _ in 0..4 {
                by(&failing).await;
            }
            assert_eq!((by(&failing).await, model.1.load(Ordering::Relaxed)), (REFUSED, 2));
        }
        let (unreachable, model) = tasks(Act::Unreachable, 30);
        for _ in 0..4 {
            assert!(matches!(by(&unreachable).await, By::Offline(Why::Failed(_))));
        }
        assert_eq!(model.1.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn dollars_count_where_the_price_is_known() {
        let price = Prices::shipped().of("gpt-5-mini").unwrap().clone();
        let said = Ok(Said { input_tokens: 1_000_000, output_tokens: 1_000_000, ..Said::default() });
        let one = price.cost(Hit { plain: 1_000_000, ..Hit::default() }, 1_000_000).dollars();
        let limit = SpendLimit { dollars_per_hour: 2.5 * one, tokens_per_hour: 1 };
        let account = |limit, price| Account::new(Arc::new(Purse::new(limit)), price);
        let priced = account(limit, Some(price)).unwrap();
        let (question, now) = (Word.question(), Instant::now());
        for _ in 0..3 {
            let aside = priced.set_aside(&question, now).unwrap();
            priced.settle(aside, &said);
        }
        assert_eq!(priced.set_aside(&question, now), None);
        assert!(priced.set_aside(&question, now + HOUR).is_some());
        assert_eq!(account(limit, None).unwrap().set_aside(&question, now), None, "tokens count then");
        assert!(account(SpendLimit { tokens_per_hour: 0, ..limit }, None).is_none());
        assert!(account(SpendLimit::default(), None).is_none());
    }

    #[test]
    fn what_comes_from_a_cache_costs_what_that_costs() {
        let price = Prices::shipped().of("gpt-5-mini").unwrap().clone();
        let said = Said { input_tokens: 1_000_000, cache_read: 900_000, ..Said::default() };
        let one = price.cost(Hit { read: 900_000, plain: 100_000, ..Hit::default() }, 0).dollars();
        let limit = SpendLimit { dollars_per_hour: 2.5 * one, ..SpendLimit::default() };
        let account = Account::new(Arc::new(Purse::new(limit)), Some(price)).unwrap();
        let (question, now, said) = (Word.question(), Instant::now(), Ok(said));
        for _ in 0..3 {
            let aside = account.set_aside(&question, now).unwrap();
            account.settle(aside, &said);
        }
        assert_eq!(account.set_aside(&question, now), None);
    }

    /// However many helpers there are, the limit is one.
    #[tokio::test(start_paused = true)]
    async fn helpers_pay_from_one_purse() {
        let purse = purse(100);
        let ((one, _), (other, _)) = (paid_from(&purse, Act::Answers), paid_from(&purse, Act::Answers));
        let told = [by(&one).await, by(&other).await, by(&one).await, by(&other).await, by(&one).await];
        assert_eq!(told, [By::Helper, By::Helper, By::Helper, REFUSED, REFUSED]);
    }
}
