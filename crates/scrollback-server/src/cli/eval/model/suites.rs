//! The suites that a model can take part in, for one job.

use std::cell::RefCell;

use scrollback::strategy::StrategyName;
use scrollback_eval::dataset;
use scrollback_eval::report::Finding;
use scrollback_eval::suite::answered::{Answered, Plan, calls::Calls, constraints, recall};

use super::super::job::{Job, steps};
use super::super::plan::Suite;
use super::Troupe;
use super::client::Halt;

/// The size of windows that questions are asked in, unless told otherwise.
const RECALL: [u32; 1] = [8_000];
/// Strategies that are compared, unless told otherwise: each costs money.
const STRATEGIES: [StrategyName; 3] = [StrategyName::Truncate, StrategyName::Topics, StrategyName::Pages];

/// The sizes of windows that a suite has with a model, unless told otherwise.
pub(in super::super) const fn limits(suite: Suite) -> &'static [u32] {
    match suite {
        Suite::Recall => &RECALL,
        Suite::Constraints => &constraints::LIMITS,
        Suite::Topics | Suite::Cache | Suite::Tools | Suite::Scale => suite.limits(),
    }
}

/// The strategies that a suite has with a model, unless told otherwise.
pub(in super::super) const fn strategies(suite: Suite) -> &'static [StrategyName] {
    match suite {
        Suite::Topics | Suite::Scale => &[],
        Suite::Recall | Suite::Cache | Suite::Tools | Suite::Constraints => &STRATEGIES,
    }
}

/// Whether a model changes anything for a suite.
pub(in super::super) const fn takes_part(suite: Suite) -> bool {
    match suite {
        Suite::Recall | Suite::Cache | Suite::Tools | Suite::Constraints => true,
        Suite::Topics | Suite::Scale => false,
    }
}

impl Troupe {
    /// Measures a job with models.
    pub(in super::super) fn measure(&self, job: &Job, tell: &mut dyn FnMut(f64)) -> anyhow::Result<Finding> {
        if self.cast.client.halt().is_some() {
            return Ok(job.finding(Vec::new(), Vec::new()));
        }
        let answered = self.runtime.block_on(self.answered(job, tell))?;
        if let Some(Halt::Hopeless(why)) = self.cast.client.halt() {
            anyhow::bail!("{why}");
        }
        let Answered { mut tables, details, .. } = answered;
        if self.is_dry() {
            tables.clear();
        }
        Ok(job.finding(tables, details))
    }

    async fn answered(&self, job: &Job, tell: &mut dyn FnMut(f64)) -> anyhow::Result<Answered> {
        let (settings, strategies, limits) = job.plan();
        let plan = Plan { settings, strategies, limits, sample: self.sample, with_oracle: self.with_oracle };
        let models = &self.cast;
        Ok(match job.suite() {
            Suite::Recall => {
                let set = job.talks()?;
                let step = RefCell::new(steps(recall::steps(&set, &plan), tell));
                recall::measure(&set, &plan, models, &|| step.borrow_mut()()).await?
            }
            Suite::Cache => {
                let calls = Calls::of_talks(&job.talks()?).await?;
                let step = RefCell::new(steps(calls.steps(&plan), tell));
                calls.measure(&plan, models, &|| step.borrow_mut()()).await?
            }
            Suite::Tools => {
                let calls = Calls::of_traces(&dataset::traces::read(job.file())?);
                let step = RefCell::new(steps(calls.steps(&plan), tell));
                calls.measure(&plan, models, &|| step.borrow_mut()()).await?
            }
            Suite::Constraints => {
                let step = RefCell::new(steps(constraints::steps(&plan), tell));
                constraints::measure(&plan, models, &|| step.borrow_mut()()).await?
            }
            Suite::Topics | Suite::Scale => Answered { tables: Vec::new(), details: Vec::new(), is_whole: true },
        })
    }
}
