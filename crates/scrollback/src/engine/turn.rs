//! One turn: into the log, fold if it is time, fit; later the reply, the view and the ledger in one commit.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::Engine;
use super::folds::Folds;
use super::lanes::{Hidden, Lane};
use crate::error::{Error, Result};
use crate::ids::{At, MessageId, SessionKey};
use crate::ledger::Call;
use crate::log::{After, Answer, Arrival, History, Received};
use crate::message::Message;
use crate::note::Fold;
use crate::store::{Batch, Kind, Position, Put, Stored, Urgency};
use crate::strategy::{Scene, turns};
use crate::view::View;
use crate::window::{Budget, Window, tokens_of};

/// How often folding is tried again when another request folded the same branch meanwhile.
const TRIES: usize = 4;

/// A request to be answered.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Whose it is, what it declares, when.
    pub arrival: Arrival<'a>,
    /// Its messages.
    pub history: &'a History<'a>,
    /// What it follows, if it holds only new messages.
    pub after: Option<After<'a>>,
    /// What its window may cost.
    pub budget: Budget,
    /// The model's whole limit.
    pub limit_tokens: u32,
}

/// A turn that has begun.
pub struct Turn {
    pub(super) received: Received,
    pub(super) head: Position,
    pub(super) lane: Lane,
    pub(super) window: Window,
    /// The rounds of recall of this request.
    pub(super) rounds: Vec<(Arc<RawValue>, u32)>,
    pub(super) recalls: Vec<String>,
    /// Pages that were recalled, by their first message.
    pub(super) pages: Vec<MessageId>,
}

/// How a turn ended.
#[derive(Debug)]
pub struct Finish<'a> {
    /// What the model answered, as the client will echo it; `None` if it gave no answer that can be kept.
    pub message: Option<Message>,
    /// The answer as the model made it and the results of our calls in it, if it also called tools of ours.
    pub whole: Option<(Box<RawValue>, Vec<Box<RawValue>>)>,
    /// The model.
    pub model: &'a str,
    /// The provider's id of the response.
    pub response: Option<&'a str>,
    /// The calls it took.
    pub calls: Vec<Call>,
    /// Whether somebody waits until it is kept.
    pub urgency: Urgency,
    /// When.
    pub at: At,
}

impl Turn {
    /// What became of the request in the log.
    pub fn received(&self) -> &Received {
        &self.received
    }

    /// What the model is shown.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Adds a round: what the model asked for and what it was told, message by message.
    pub fn push_round(&mut self, messages: Vec<Box<RawValue>>) {
        for raw in messages {
            let (raw, tokens) = measured(raw);
            self.window.recall(raw.clone(), tokens);
            self.rounds.push((raw, tokens));
        }
    }

    /// Whether the model has recalled anything.
    pub fn has_recalled(&self) -> bool {
        !self.rounds.is_empty()
    }

    /// The tokens of the whole path with its instructions: what would have been sent without us.
    pub fn path_tokens(&self) -> u32 {
        let preamble = self.lane.preamble.iter().map(|stored| stored.measure.tokens);
        let open = self.lane.open.iter().map(|leaf| leaf.tokens());
        preamble.chain(open).fold(self.lane.folded.fold.original_tokens, u32::saturating_add)
    }

    /// The tokens of what is new in it.
    pub fn new_tokens(&self) -> u32 {
        self.received.fresh.iter().map(|stored| stored.measure.tokens).fold(0, u32::saturating_add)
    }

    /// What people call its view, for the first reply to its last message.
    pub fn view(&self) -> String {
        format!("v{}", self.head.id.0)
    }
}

impl Engine {
    /// Takes a request into the log and lays out its window. When this returns, nothing of the request can be lost.
    pub async fn begin(&self, ask: Ask<'_>) -> Result<Turn> {
        let received = match ask.after {
            None => self.log.receive(ask.arrival, ask.history).await?,
            Some(after) => self.log.receive_new(ask.arrival, after, ask.history).await?,
        };
        let head = received.head.ok_or_else(|| Error::Invalid("the request has no message to answer".into()))?;
        let lane = self.lane(&ask, &received, head).await;
        let (lane, window) = self.laid(lane, &ask, &received, head).await?;
        self.lanes.keep(lane.clone());
        let (rounds, recalls, pages) = Default::default();
        Ok(Turn { received, head, lane, window, rounds, recalls, pages })
    }

    /// Lays a turn out once more, smaller, because its model counted more tokens than we did.
    pub async fn shrink(&self, turn: Turn, ask: &Ask<'_>) -> Result<Turn> {
        let rounds: u32 = turn.rounds.iter().map(|(_, tokens)| tokens).sum();
        let budget = Budget { tokens: ask.budget.tokens.saturating_sub(rounds) };
        let lessened = Ask { budget, ..*ask };
        // Should the lane have to be read again, its instructions are those it has now.
        let received = Received { preamble: Some(turn.lane.preamble.clone()), ..turn.received.clone() };
        let (lane, window) = self.laid(Ok(turn.lane), &lessened, &received, turn.head).await?;
        let mut window = window.within(ask.budget);
        turn.rounds.iter().for_each(|(raw, tokens)| window.recall(raw.clone(), *tokens));
        Ok(Turn { lane, window, ..turn })
    }

    /// Lays out a lane. If another request has folded or held something meanwhile, what counts is read from the store.
    async fn laid(
        &self,
        mut lane: Result<Lane>,
        ask: &Ask<'_>,
        received: &Received,
        head: Position,
    ) -> Result<(Lane, Window)> {
        for _ in 1..TRIES {
            let laid = match lane {
                Ok(lane) => self.lay_out(lane, ask, received).await,
                Err(error) => Err(error),
            };
            if !matches!(laid, Err(Error::Conflict(_))) {
                return laid;
            }
            self.lanes.forget(Some(received.session.id));
            lane = self.load(ask, received, head, self.layout(ask.limit_tokens)).await;
        }
        self.lay_out(lane?, ask, received).await
    }

    /// The lane of a request: from memory, or else from the store.
    async fn lane(&self, ask: &Ask<'_>, received: &Received, head: Position) -> Result<Lane> {
        let layout = self.layout(ask.limit_tokens);
        let found = received.base.and_then(|base| self.lanes.find(received.session.id, base, &layout));
        let holds = &self.settings.strategies.holds;
        let mut lane = match found {
            Some(mut lane) => {
                received.fresh.iter().for_each(|stored| lane.push(stored.clone(), holds));
                lane
            }
            None if received.base.is_none() => {
                let mut lane = Lane::new(received.session.id, layout, head);
                received.fresh.iter().for_each(|stored| lane.push(stored.clone(), holds));
                lane
            }
            None => self.load(ask, received, head, layout).await?,
        };
        match &received.preamble {
            Some(preamble) => lane.preamble.clone_from(preamble),
            // Another request of the same conversation may have come with other instructions.
            None if ask.after.is_none() && !instructs(ask.history, &lane.preamble) => {
                lane.preamble = self.log.instructions(ask.arrival, &received.session, ask.history).await?;
            }
            None => {}
        }
        Ok(lane)
    }

    /// Folds as often as the strategy wants to, then fits. Always ends, because every fold covers more of the path.
    async fn lay_out(&self, mut lane: Lane, ask: &Ask<'_>, received: &Received) -> Result<(Lane, Window)> {
        let session = &received.session;
        self.settle(session, &lane).await?;
        let hidden: u32 = lane.hidden_now().map(|(_, hidden)| hidden.tokens()).sum();
        let lessened = Budget { tokens: ask.budget.tokens.saturating_sub(hidden) };
        let mut folded = self.folded(&lane, session, lessened).await?;
        let mut window = self.fitted(&lane, folded.as_ref(), lessened, ask.budget);
        if window.is_err()
            && let Some(shorter) = self.relisted(&lane, folded.as_ref(), lessened)
        {
            window = self.fitted(&lane, Some(&shorter), lessened, ask.budget);
            folded = Some(shorter);
        }
        let window = window?;
        // Nothing is recorded before it is known that the request can be answered.
        self.keep_shown(session, &lane, &window).await?;
        if let Some(fold) = folded {
            let folds = Folds { store: self.store(), session, layout: &lane.layout };
            let covered = (fold.open().0 - lane.folded.fold.open().0) as usize;
            let folded = folds.put(lane.head, &lane.folded, fold, ask.arrival.at).await?;
            lane.fold_to(folded, covered);
        }
        Ok((lane, window))
    }

    /// The window over a fold, with what the client never saw put back.
    fn fitted(&self, lane: &Lane, fold: Option<&Fold>, lessened: Budget, budget: Budget) -> Result<Window> {
        let scene = lane.scene_after(fold, lessened);
        match self.strategy.fit(&scene) {
            Ok(window) => {
                let window = window.within(budget);
                Ok(lane.hidden_now().fold(window, |window, (id, hidden)| window.with_hidden(id, hidden)))
            }
            // What was recalled earlier in the turn can be recalled again; the client's own messages cannot wait.
            Err(_) if lessened != budget => self.strategy.fit(&Scene { budget, ..scene }),
            Err(error) => Err(error),
        }
    }

    /// A fold that was made for a larger window, with a shorter list.
    fn relisted(&self, lane: &Lane, fold: Option<&Fold>, budget: Budget) -> Option<Fold> {
        let scene = lane.scene_after(fold, budget);
        let original_tokens = scene.fold.original_tokens;
        let shorter = Fold { original_tokens, ..self.strategy.file(&scene, Vec::new()) };
        (shorter.tokens < scene.fold.tokens).then_some(shorter)
    }

    /// What the strategy wants to fold now, all of it in one.
    async fn folded(&self, lane: &Lane, session: &SessionKey, budget: Budget) -> Result<Option<Fold>> {
        let (mut fold, mut open) = (None::<Fold>, &lane.open[..]);
        loop {
            let known = fold.as_ref().unwrap_or(&lane.folded.fold);
            let scene = Scene { fold: known, open, ..lane.scene(budget) };
            let stretches = self.strategy.fold(&scene);
            if stretches.is_empty() {
                return Ok(fold);
            }
            let counted = self.counted(session, known).await?;
            let notes = self.digested(session, &scene, &stretches).await?;
            let mut folded = self.strategy.file(&Scene { fold: &counted, ..scene }, notes);
            let (covered, rest) = open.split_at((folded.open().0 - known.open().0) as usize);
            folded.original_tokens =
                covered.iter().fold(known.original_tokens, |sum, leaf| sum.saturating_add(leaf.tokens()));
            open = rest;
            fold = Some(folded);
        }
    }

    /// Keeps the reply, the view and the ledger, all in one commit.
    pub async fn finish(&self, turn: Turn, finish: Finish<'_>) -> Result<Option<Arc<Stored>>> {
        let mut view = View::of(&turn.window, turn.head, &turn.lane.layout, turn.lane.folded.id);
        view.recalls.clone_from(&turn.recalls);
        view.calls = finish.calls;
        let (session, at) = (&turn.received.session, finish.at);
        let mut records = vec![Put::new(session, Kind::View, View::key(turn.head.id, at), at, &view)];
        records.extend(self.recalled(&turn, finish.at).await?);
        let hidden = hidden(turn.rounds, finish.whole);
        let Some(message) = finish.message else {
            let batch = Batch::of_records(session.clone(), records);
            self.store().commit(batch).await?;
            return Ok(None);
        };
        let calls = message.call_ids().next().is_some();
        if calls && !hidden.is_empty() {
            let node = turn.head.node.then(message.strong());
            let parked = super::load::Parked::of(&hidden);
            records.push(Put::new(session, Kind::Round, node.0.to_string(), at, &parked));
        }
        let (model, response, urgency) = (finish.model, finish.response, finish.urgency);
        let answer = Answer { message, model, response, records, urgency, at };
        let stored = self.log.reply(&turn.received, answer).await?;
        let mut lane = turn.lane;
        lane.push(stored.clone(), &self.settings.strategies.holds);
        if calls && !hidden.is_empty() {
            lane.hidden.insert(stored.id, Arc::new(hidden));
        }
        self.lanes.keep(lane);
        Ok(Some(stored))
    }
}

/// Whether a history begins with these instructions.
fn instructs(history: &History<'_>, preamble: &[Arc<Stored>]) -> bool {
    history.instructions().eq(preamble.iter().map(|stored| stored.raw.get().as_bytes()))
}

/// What the client does not see of a reply.
fn hidden(before: Vec<(Arc<RawValue>, u32)>, whole: Option<(Box<RawValue>, Vec<Box<RawValue>>)>) -> Hidden {
    let (whole, after) = whole.map_or((None, Vec::new()), |(whole, results)| (Some(whole), results));
    Hidden { before, whole: whole.map(measured), after: after.into_iter().map(measured).collect() }
}

/// A message of ours and what it costs.
fn measured(raw: Box<RawValue>) -> (Arc<RawValue>, u32) {
    let raw: Arc<RawValue> = raw.into();
    let tokens = tokens_of(&Message::new(raw.clone()).to_text());
    (raw, tokens)
}

/// The number of the turn a lane is in.
pub(super) fn turn_number(lane: &Lane) -> u32 {
    lane.folded.fold.turns + turns::count(&lane.open)
}
