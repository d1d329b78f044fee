//! What can wait until the reply is on its way: digests of held results, and of pages that will be folded soon.
//!
//! Nothing here is needed for the next turn to happen: what is not done by then is answered offline. What takes a model
//! is queued, so that it outlives the process; the rest takes no time.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::Engine;
use super::jobs::{Job, JobKind};
use super::lanes::Lane;
use super::turn::{Turn, turn_number};
use crate::error::{Error, Result};
use crate::ids::{At, MessageId, SessionKey};
use crate::note::{Author, Covers, Fold, Note};
use crate::store::{Batch, Expect, Keys, Kind, Position, Put, Scope};
use crate::strategy::{self, Scene, StrategyName, Stretch, turns};
use crate::task::{self, Digest, PageDigest};
use crate::window::Budget;

/// Pages are digested ahead of need once the window is this full, in hundredths of the budget, or more are open than a
/// fold would keep.
const AHEAD_OVER: u32 = 30;

/// How often entries of the ledger are numbered anew when others were made meanwhile.
const TRIES: usize = 8;

/// How often a page was recalled.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Count {
    recalls: u32,
    turn: u32,
}

/// A digest that was made ahead of need, and who wrote it.
#[derive(Serialize, Deserialize)]
pub(super) struct Digested {
    #[serde(flatten)]
    pub(super) digest: Digest,
    #[serde(default)]
    by: Author,
}

/// What is to be tidied after a turn.
#[derive(Clone, Debug)]
pub struct Chores {
    session: SessionKey,
    head: Position,
    layout: Arc<str>,
    budget: Budget,
}

/// A lane that is tidied, for whom and with what.
#[derive(Clone, Copy)]
pub(super) struct Upkeep<'a> {
    pub(super) session: &'a SessionKey,
    pub(super) lane: &'a Lane,
    /// What its windows may cost.
    pub(super) budget: Budget,
    pub(super) at: At,
}

impl Turn {
    /// What is to be tidied once its reply is kept.
    pub fn chores(&self) -> Chores {
        let (session, layout) = (self.received.session.clone(), self.lane.layout.clone());
        Chores { session, head: self.head, layout, budget: self.window.budget() }
    }
}

impl Chores {
    fn job(&self, kind: JobKind, lane: &Lane) -> Job {
        Job {
            kind,
            session: self.session.id,
            head: self.head,
            layout: self.layout.to_string(),
            budget: self.budget.tokens,
            model: lane.model.to_string(),
            recalls: lane.recalls,
        }
    }

    /// The same once the reply is at `head`.
    #[must_use]
    pub fn at(self, head: Position) -> Self {
        Self { head, ..self }
    }
}

impl Engine {
    /// Does what can wait. Errors are for a log book: the next turn does not depend on it.
    pub fn tidy(&self, chores: Chores, at: At) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let Some(lane) = self.in_mind(&chores.session, chores.head, &chores.layout).await? else { return Ok(()) };
            let tenant = &chores.session.tenant;
            if lane.rules.has_gaps() {
                self.submit(tenant, chores.job(JobKind::Rules, &lane), at).await?;
            }
            // A person who took such a fold back does not want it again.
            if !lane.folded.fold.untold.is_empty() && !lane.folded.undone {
                self.submit(tenant, chores.job(JobKind::Tell, &lane), at).await?;
            }
            if self.meaning.is_some() {
                self.submit(tenant, chores.job(JobKind::Embed, &lane), at).await?;
            }
            if !self.tasks.has_helper() {
                let (session, budget) = (&chores.session, chores.budget);
                self.tidy_lane(&Upkeep { session, lane: &lane, budget, at }).await?;
            } else if self.has_chores(&lane, chores.budget) {
                self.submit(tenant, chores.job(JobKind::Tidy, &lane), at).await?;
            }
            Ok(())
        })
    }

    /// Whether the helper could have anything to do for a lane.
    fn has_chores(&self, lane: &Lane, budget: Budget) -> bool {
        let large = lane.recalls && lane.open.iter().any(|leaf| leaf.large.is_some() && !leaf.is_recorded());
        large
            || match lane.strategy {
                StrategyName::Pages => self.digests_ahead(lane, budget),
                StrategyName::Topics => true,
                StrategyName::Summary | StrategyName::Artifacts => self.is_near(lane, budget),
                StrategyName::Truncate | StrategyName::Passthrough => false,
            }
    }

    /// Tidies a lane. What the helper was asked is in the ledger, also if something fails.
    pub(super) async fn tidy_lane(&self, upkeep: &Upkeep<'_>) -> Result<()> {
        let Upkeep { session, lane, at, .. } = *upkeep;
        let mut asked = Vec::new();
        let tidied = self.tidy_asking(upkeep, &mut asked).await;
        self.keep_asked(session, &asked, at).await?;
        self.unquote_erased(session, lane, &lane.results()).await?;
        tidied
    }

    async fn tidy_asking(&self, upkeep: &Upkeep<'_>, asked: &mut Vec<task::Asked>) -> Result<()> {
        let Upkeep { session, lane, budget, .. } = *upkeep;
        self.digest_holds(session, lane, asked).await?;
        match lane.strategy {
            StrategyName::Topics => self.tidy_topics(upkeep, asked).await?,
            StrategyName::Pages if self.tasks.has_helper() => self.digest_pages(upkeep, asked).await?,
            StrategyName::Summary | StrategyName::Artifacts if self.tasks.has_helper() => {
                if self.is_near(lane, budget) {
                    self.write_ahead(upkeep, false, asked).await?;
                }
            }
            StrategyName::Pages
            | StrategyName::Summary
            | StrategyName::Artifacts
            | StrategyName::Truncate
            | StrategyName::Passthrough => {}
        }
        Ok(())
    }

    /// Whether pages of a lane will be folded before long.
    fn digests_ahead(&self, lane: &Lane, budget: Budget) -> bool {
        let tokens: u32 = lane.open.iter().map(|leaf| leaf.tokens()).sum();
        let settings = &self.settings.strategies.pages;
        let pages = turns::pages(&lane.open, budget.steady_share(settings.page_share));
        tokens >= budget.share(AHEAD_OVER) || pages.len() > settings.keep_pages
    }

    /// Enters what the helper was asked into the ledger, after what else it was asked at the same instant.
    pub(super) async fn keep_asked(&self, session: &SessionKey, asked: &[task::Asked], at: At) -> Result<()> {
        if asked.is_empty() {
            return Ok(());
        }
        let mut next = self.next_entry(session, at).await?;
        for _ in 0..TRIES {
            let put = |(number, asked): (usize, &task::Asked)| {
                Put::new(session, Kind::Ledger, ledger_key(at, number), at, asked).expecting(Expect::Absent)
            };
            let batch = Batch::of_records(session.clone(), (next..).zip(asked).map(put).collect());
            match self.store().commit(batch).await {
                Ok(_) => return Ok(()),
                Err(Error::Conflict(_)) => next = self.next_entry(session, at).await?,
                Err(error) => return Err(error),
            }
        }
        Err(Error::Conflict("too much is entered into the ledger at once; try again".into()))
    }

    /// The number of the next entry of an instant.
    async fn next_entry(&self, session: &SessionKey, at: At) -> Result<usize> {
        let instant = format!("{:016x}-", at.0);
        let keys = Keys::Under(instant.clone());
        let records = self.store().records(&Scope::Session(session.clone()), Kind::Ledger, keys).await?;
        let number = |record: &crate::store::Record| record.key.strip_prefix(&instant)?.parse::<usize>().ok();
        let numbers = records.iter().filter_map(number);
        Ok(numbers.max().map_or(0, |number| number + 1))
    }

    /// Digests pages that will be folded before long, all but the current one.
    async fn digest_pages(&self, upkeep: &Upkeep<'_>, asked: &mut Vec<task::Asked>) -> Result<()> {
        let Upkeep { session, lane, budget, at } = *upkeep;
        if !self.digests_ahead(lane, budget) {
            return Ok(());
        }
        let pages = turns::pages(&lane.open, budget.steady_share(self.settings.strategies.pages.page_share));
        // What is folded first comes first. Whoever was cut short may have left any of them undone.
        for page in &pages[..pages.len().saturating_sub(1)] {
            let Some(covers) = turns::covers(&lane.open, page) else { continue };
            if self.kept_digest(session, &covers).await?.is_some() {
                continue;
            }
            let messages = lane.wanted(&lane.open[page.clone()]);
            if messages.len() < page.len() {
                continue;
            }
            let answered = self.tasks.run(&PageDigest { messages: &messages }).await;
            asked.extend(answered.calls);
            let by = if answered.by == task::By::Helper { Author::Helper } else { Author::Offline };
            let digested = Digested { digest: answered.answer, by };
            let put = Put::new(session, Kind::Note, digest_key(&covers), at, &digested);
            self.store().commit(Batch::of_records(session.clone(), vec![put])).await?;
        }
        Ok(())
    }

    /// A note for each stretch: with the digest that was made ahead of need, or the offline one.
    pub(super) async fn digested(
        &self,
        session: &SessionKey,
        scene: &Scene<'_>,
        stretches: &[Stretch],
    ) -> Result<Vec<Note>> {
        let mut notes = Vec::with_capacity(stretches.len());
        for stretch in stretches {
            // A digest may have been made before something of it was left out.
            let ahead = stretch.listed && self.tasks.has_helper() && !scene.leaves_out(&stretch.covers);
            let kept = if ahead { self.kept_digest(session, &stretch.covers).await? } else { None };
            notes.push(match kept {
                Some(Digested { digest, by }) => Note { by, ..stretch.note(digest) },
                None => stretch.note(strategy::offline(scene, stretch)),
            });
        }
        Ok(notes)
    }

    async fn kept_digest(&self, session: &SessionKey, covers: &Covers) -> Result<Option<Digested>> {
        let record = self.store().record(Scope::Session(session.clone()), Kind::Note, digest_key(covers)).await?;
        Ok(record.and_then(|record| serde_json::from_str(record.body.get()).ok()))
    }

    /// A fold whose notes know how often they were recalled.
    pub(super) async fn counted(&self, session: &SessionKey, fold: &Fold) -> Result<Fold> {
        let mut fold = fold.clone();
        if !fold.listed.is_empty() {
            let counts = self.counts(session).await?;
            for note in &mut fold.listed {
                if let Some(count) = counts.get(&note.covers.first) {
                    (note.recalls, note.recalled) = (count.recalls, Some(count.turn));
                }
            }
        }
        Ok(fold)
    }

    /// The records that count what was recalled in a turn.
    pub(super) async fn recalled(&self, turn: &Turn, at: At) -> Result<Vec<Put>> {
        if turn.pages.is_empty() {
            return Ok(Vec::new());
        }
        let (counts, now) = (self.counts(&turn.received.session).await?, turn_number(&turn.lane));
        let put = |page: &MessageId| {
            let count = Count { recalls: counts.get(page).map_or(0, |count| count.recalls) + 1, turn: now };
            Put::new(&turn.received.session, Kind::Note, recalled_key(*page), at, &count)
        };
        Ok(turn.pages.iter().map(put).collect())
    }

    async fn counts(&self, session: &SessionKey) -> Result<HashMap<MessageId, Count>> {
        let keys = Keys::Under(RECALLED.to_owned());
        let records = self.store().records(&Scope::Session(session.clone()), Kind::Note, keys).await?;
        let count = |record: &crate::store::Record| {
            let page = record.key.strip_prefix(RECALLED)?.parse().ok()?;
            Some((MessageId(page), serde_json::from_str(record.body.get()).ok()?))
        };
        Ok(records.iter().filter_map(count).collect())
    }
}

fn ledger_key(at: At, number: usize) -> String {
    format!("{:016x}-{number:03}", at.0)
}

const RECALLED: &str = "recalled/";

fn recalled_key(page: MessageId) -> String {
    format!("{RECALLED}{:010}", page.0)
}

fn digest_key(covers: &Covers) -> String {
    format!("digest/{:010}-{:010}", covers.first.0, covers.last.0)
}
