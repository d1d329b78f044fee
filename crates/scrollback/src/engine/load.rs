//! Reading a lane from the store: the fold that counts, and the messages after it. Costs what the window costs, however
//! long the conversation is.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Engine;
use super::control::{Controlled, Folding};
use super::folds::{Folded, Folds};
use super::lanes::{Hidden, Lane};
use super::turn::Ask;
use crate::error::{Error, Result};
use crate::ids::{At, Depth, MessageId, SessionId, SessionKey};
use crate::log::{Received, Sums};
use crate::note::{Covers, Fold};
use crate::store::{Beside, Keys, Kind, Origin, Place, Position, Scope, Span, Stint, Stored};
use crate::strategy::{Leaf, Scene, StrategyName, Stretch, turns};
use crate::task::Digest;
use crate::view::View;
use crate::window::{Budget, Reserved};

/// How many messages are read at first.
const CHUNK: u32 = 256;
/// A result that is held takes so many tokens at least.
const HELD_TOKENS: u32 = 100;
/// So many windows of messages are read at most, however little of them is shown.
const WINDOWS: u64 = 8;
/// Instructions stand at the head of a session; this far they are looked for.
const PREAMBLE_AMONG: usize = 64;

/// What the client never saw of a reply, as it is stored.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Parked {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rounds: Vec<(Box<RawValue>, u32)>,
    before: Vec<(Box<RawValue>, u32)>,
    whole: Option<(Box<RawValue>, u32)>,
    after: Vec<(Box<RawValue>, u32)>,
}

impl Parked {
    pub(super) fn of(hidden: &Hidden) -> Self {
        let owned = |(raw, tokens): &(Arc<RawValue>, u32)| (raw.as_ref().to_owned(), *tokens);
        Self {
            rounds: hidden.rounds.iter().map(owned).collect(),
            before: hidden.before.iter().map(owned).collect(),
            whole: hidden.whole.as_ref().map(owned),
            after: hidden.after.iter().map(owned).collect(),
        }
    }

    fn hidden(self) -> Hidden {
        let shared = |(raw, tokens): (Box<RawValue>, u32)| (raw.into(), tokens);
        Hidden {
            rounds: self.rounds.into_iter().map(shared).collect(),
            before: self.before.into_iter().map(shared).collect(),
            whole: self.whole.map(shared),
            after: self.after.into_iter().map(shared).collect(),
        }
    }
}

impl Lane {
    pub(super) fn new(session: SessionId, layout: Arc<str>, head: Position) -> Self {
        let strategy = layout.split('@').next().and_then(|name| name.parse().ok()).unwrap_or(StrategyName::Pages);
        Self {
            session,
            layout,
            head,
            strategy,
            model: "".into(),
            recalls: true,
            reserved: Reserved::default(),
            folded: Folded::default(),
            preamble: Vec::new(),
            heads: Vec::new(),
            open: Vec::new(),
            hidden: HashMap::new(),
            hidden_from: Depth(0),
            bound: HashMap::new(),
            shelf: Arc::default(),
            consulted: None,
            artifacts: Arc::default(),
            controlled: Controlled::default(),
            pinned: Vec::new(),
            pinned_for: (0, None),
            rules: Arc::default(),
            kept: None,
            born: 0,
            stint: Stint::Alone,
        }
    }
}

impl Engine {
    /// Reads a lane from the store, with the instructions that hold where a request of new messages goes on.
    pub(super) async fn load(
        &self,
        ask: &Ask<'_>,
        received: &Received,
        head: Position,
        layout: Arc<str>,
    ) -> Result<Lane> {
        let session = &received.session;
        let (model, budget, recalls) = (ask.arrival.model, ask.budget, ask.recalls);
        let folding = Folding { session, head, layout: &layout, model, budget, recalls };
        let mut lane = self.opened(&folding, ask.arrival.at).await?;
        lane.stint = received.stint;
        self.unpark(session, &mut lane).await?;
        lane.bound = self.bounds(session, &lane.open).await?;
        // Whoever sends a whole history says all instructions again.
        if ask.after.is_some() {
            self.instruct(session, &mut lane).await?;
        }
        Ok(lane)
    }

    /// Puts back what the client never saw of the turn a lane is in.
    async fn unpark(&self, session: &SessionKey, lane: &mut Lane) -> Result<()> {
        let current = lane.open.get(turns::last(&lane.open)).and_then(|leaf| leaf.stored.position());
        lane.hidden_from = current.map_or(lane.head.depth, |current| current.depth);
        for index in turns::last(&lane.open)..lane.open.len() {
            let stored = lane.open[index].stored.clone();
            if let Some(hidden) = self.parked(session, &stored).await? {
                lane.hidden.insert(stored.id, Arc::new(hidden));
            }
        }
        Ok(())
    }

    /// A lane as it is, with no fold recorded that it may need.
    pub(super) async fn lane_unfolded(&self, folding: &Folding<'_>) -> Result<Lane> {
        let Folding { session, budget, .. } = *folding;
        let (mut lane, mut is_whole) = self.read_lane(folding).await?;
        if !is_whole && let Some(fold) = self.longest(session, &lane, budget).await? {
            lane.folded.fold = Arc::new(fold);
            is_whole = self.read_open(session, &mut lane, budget).await?;
        }
        self.shelve(session, &mut lane).await?;
        if !is_whole && let Some((fold, begins)) = self.unread_fold(&lane, session, budget).await? {
            let mut folded = lane.folded.clone();
            folded.fold = Arc::new(fold);
            lane.fold_to(folded, begins);
        }
        self.unpark(session, &mut lane).await?;
        self.instruct(session, &mut lane).await?;
        Ok(lane)
    }

    /// The fold of a path that counts, and what is open after it.
    async fn opened(&self, folding: &Folding<'_>, at: At) -> Result<Lane> {
        let Folding { session, head, layout, budget, .. } = *folding;
        let (mut lane, mut is_whole) = self.read_lane(folding).await?;
        if !is_whole && let Some(fold) = self.longest(session, &lane, budget).await? {
            let folds = Folds { store: self.store(), session, layout };
            folds.put(head, &lane.folded, (fold, Vec::new()), at).await?;
            self.lanes.forget(Some(session.id));
            (lane, is_whole) = self.read_lane(folding).await?;
        }
        if !is_whole {
            self.shelve(session, &mut lane).await?;
            self.fold_unread(&mut lane, session, budget, at).await?;
        }
        Ok(lane)
    }

    /// The fold of a path that counts and what is open after it, as far as it was read; and whether that is all.
    async fn read_lane(&self, folding: &Folding<'_>) -> Result<(Lane, bool)> {
        let Folding { session, head, layout, budget, recalls, .. } = *folding;
        let born = self.lanes.now();
        let folds = Folds { store: self.store(), session, layout };
        let folded = folds.of(head).await?;
        let mut lane = Lane { recalls, folded, born, ..Lane::new(session.id, layout.into(), head) };
        lane.rules = Arc::new(self.rules_of(session, head).await?);
        let is_whole = self.read_open(session, &mut lane, budget).await?;
        Ok((lane, is_whole))
    }

    /// Reads what is open after a lane's fold, from the end on as far as it may matter. Whether that is all.
    async fn read_open(&self, session: &SessionKey, lane: &mut Lane, budget: Budget) -> Result<bool> {
        lane.artifacts = Arc::new(self.filed(session, &lane.folded.fold).await?);
        let open = self.tail(session, lane, budget.tokens).await?;
        let first = open.first().and_then(Stored::position).map(|first| first.depth);
        lane.open = self.leaves(session, open).await?;
        Ok(first.is_none_or(|first| first <= lane.folded.fold.open()))
    }

    /// What its strategy made of more of a lane's path for models with other limits, laid out for its own: nobody need
    /// read that again.
    async fn longest(&self, session: &SessionKey, lane: &Lane, budget: Budget) -> Result<Option<Fold>> {
        if !lane.strategy.writes() {
            return Ok(None);
        }
        let mut longest = lane.folded.fold.clone();
        for layout in Folds::layouts(self.store(), session, lane.strategy).await? {
            let other = Folds { store: self.store(), session, layout: &layout }.of(lane.head).await?.fold;
            longest = if other.open() > longest.open() { other } else { longest };
        }
        if longest.open() == lane.folded.fold.open() {
            return Ok(None);
        }
        let artifacts = self.filed(session, &longest).await?;
        let scene = Scene { fold: &longest, open: &[], artifacts: &artifacts, ..lane.scene(budget) };
        let fold = self.strategy(lane.strategy).file(&scene, Vec::new()).knowing(&longest);
        Ok(Some(Fold { budget: budget.tokens, ..fold }))
    }

    /// A lane for work that no request began.
    pub(super) async fn lane_at(&self, folding: Folding<'_>, at: At) -> Result<Lane> {
        let session = folding.session;
        let stint = self.log.stint(session, folding.head.node_ref()).await?;
        let mut lane = self.opened(&folding, at).await?;
        lane.stint = stint;
        self.instruct(session, &mut lane).await?;
        lane.model = folding.model.into();
        self.shelve(session, &mut lane).await?;
        self.decide(session, &mut lane).await?;
        Ok(lane)
    }

    /// The open end of a path, backwards until it is more than any window holds.
    async fn tail(&self, session: &SessionKey, lane: &Lane, enough: u32) -> Result<Vec<Stored>> {
        let (head, open) = (lane.head, lane.folded.fold.open());
        let (mut chunk, enough) = (CHUNK, u64::from(enough));
        loop {
            let from = head.depth.0.saturating_sub(chunk).max(open.0);
            let tail = self.store().read(session, Span::path(head, Depth(from))).await?;
            let tokens: u64 = tail.iter().map(|stored| u64::from(stored.measure.tokens)).sum();
            let shown: u64 = tail.iter().map(|stored| u64::from(self.least_shown(stored))).sum();
            let folds = !self.strategy(lane.strategy).recalls().is_empty();
            if from == open.0 || folds && (shown > 2 * enough || tokens > WINDOWS * enough) {
                return Ok(tail);
            }
            chunk = chunk.saturating_mul(2);
        }
    }

    /// What a message costs at least as it is shown: a long result may be held.
    fn least_shown(&self, stored: &Stored) -> u32 {
        let (tokens, holds) = (stored.measure.tokens, &self.settings.strategies.holds);
        let may_be_held = || Leaf::new(Arc::new(stored.clone()), &[], holds).long.is_some();
        if tokens > HELD_TOKENS && may_be_held() { HELD_TOKENS } else { tokens }
    }

    /// Puts what was not read under a fold, which says so: it does not fit in any case, and search finds it.
    async fn fold_unread(&self, lane: &mut Lane, session: &SessionKey, budget: Budget, at: At) -> Result<()> {
        let Some((fold, begins)) = self.unread_fold(lane, session, budget).await? else { return Ok(()) };
        let folds = Folds { store: self.store(), session, layout: &lane.layout };
        let folded = folds.put(lane.head, &lane.folded, (fold, Vec::new()), at).await?;
        lane.fold_to(folded, begins);
        self.renew_lane(lane);
        Ok(())
    }

    /// A fold over what was not read, and how many of the messages that were go under it as well.
    async fn unread_fold(&self, lane: &Lane, session: &SessionKey, budget: Budget) -> Result<Option<(Fold, usize)>> {
        let begins = first_whole(&lane.open);
        let Some(last) = lane.open.get(begins - 1).and_then(|leaf| leaf.stored.position()) else { return Ok(None) };
        let before = lane.folded.fold.open();
        let span = Span::Path { head: lane.head, from: before, to: before };
        let first = self.store().read(session, span).await?.pop().and_then(|stored| stored.position());
        let first = first.ok_or_else(|| Error::Damaged("the beginning of a path is missing".into()))?;
        let covers = Covers { first: first.id, from: first.depth, last: last.id, to: last.depth };
        // Nobody counted the turns in it; two messages make one, as a rule.
        let turn = lane.folded.fold.turns + covers.count() / 2;
        let note = Stretch { covers, listed: false, turn }.note(Digest::default());
        let known = Fold::clone(&lane.folded.fold);
        let known = if lane.strategy.writes() { known.not_telling(covers) } else { known };
        let scene = Scene { fold: &known, open: &[], ..lane.scene(budget) };
        let mut fold = self.strategy(lane.strategy).file(&scene, vec![note]).knowing(&known);
        let read: u64 = lane.open.iter().map(|leaf| u64::from(leaf.tokens())).sum();
        let guess = read * u64::from(covers.count()) / lane.open.len().max(1) as u64;
        fold.original_tokens =
            lane.folded.fold.original_tokens.saturating_add(u32::try_from(guess).unwrap_or(u32::MAX));
        fold.budget = budget.tokens;
        let sums = Sums::of(self.store(), session).await?;
        let fold = fold.needing(&lane.folded.fold, &lane.pinned, lane.open.split_at(begins), &sums);
        Ok(Some((fold, begins)))
    }

    /// A lane that is in mind, if nobody else has changed its session since.
    pub(super) async fn in_mind(
        &self,
        session: &SessionKey,
        base: Position,
        layout: &Arc<str>,
    ) -> Result<Option<Lane>> {
        let Some(lane) = self.lanes.find(session.id, base, layout) else { return Ok(None) };
        let holds = lane.stint == Stint::Alone || {
            let now = self.log.stint(session, base.node_ref()).await?;
            now.lasts_since(lane.stint)
        };
        Ok(holds.then_some(lane))
    }

    /// Keeps a lane and drops all others of its session: a fold counts for the branches that left after it as well.
    pub(super) fn renew_lane(&self, lane: &mut Lane) {
        self.lanes.forget(Some(lane.session));
        lane.born = self.lanes.now();
    }

    /// What the client never saw of a reply.
    async fn parked(&self, session: &SessionKey, stored: &Stored) -> Result<Option<Hidden>> {
        let Some(position) = stored.position().filter(|_| stored.origin == Origin::Reply) else { return Ok(None) };
        let (scope, key) = (Scope::Session(session.clone()), position.node.0.to_string());
        let record = self.store().record(scope, Kind::Round, key).await?;
        let read = |body: &RawValue| serde_json::from_str::<Parked>(body.get()).map(Parked::hidden);
        let damaged = |_| Error::Damaged(format!("the record of a recall before {} is unreadable", stored.id));
        record.map(|record| read(&record.body).map_err(damaged)).transpose()
    }

    /// The last view of a message.
    pub(super) async fn last_view(&self, session: &SessionKey, id: MessageId) -> Result<Option<View>> {
        let (scope, keys) = (Scope::Session(session.clone()), Keys::Before(View::keys_end(id), 1));
        let last = self.store().records(&scope, Kind::View, keys).await?.pop();
        let last = last.filter(|record| record.key.starts_with(&View::keys(id)));
        Ok(last.and_then(|record| serde_json::from_str(record.body.get()).ok()))
    }

    /// Gives a lane the instructions of the last turn that was answered, or else those the session began with.
    async fn instruct(&self, session: &SessionKey, lane: &mut Lane) -> Result<()> {
        for index in (0..lane.open.len()).rev().take(PREAMBLE_AMONG) {
            if let Some(view) = self.last_view(session, lane.open[index].stored.id).await? {
                let preamble = self.store().read(session, Span::Ids(view.preamble)).await?;
                lane.preamble = preamble.into_iter().map(Arc::new).collect();
                lane.heads = view.heads;
                return Ok(());
            }
        }
        lane.preamble = self.first_preamble(session).await?;
        Ok(())
    }

    /// The instructions a session began with.
    pub(super) async fn first_preamble(&self, session: &SessionKey) -> Result<Vec<Arc<Stored>>> {
        let span = Span::Arrival { from: MessageId(0), limit: PREAMBLE_AMONG };
        let first = self.store().read(session, span).await?;
        let instructs = |stored: &Stored| stored.place == Place::Beside(Beside::Preamble);
        Ok(first.into_iter().take_while(instructs).map(Arc::new).collect())
    }
}

/// Where the open end of a path can begin without parting a call from its results: with a turn if one begins early
/// enough.
fn first_whole(open: &[Arc<Leaf>]) -> usize {
    let turn = (1..open.len() / 2).find(|index| open[*index].begins_turn);
    turn.or_else(|| (1..open.len()).find(|index| !open[*index].belongs())).unwrap_or(1)
}
