//! One turn: into the log, fold if it is time, fit; `finish` keeps the reply.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;

use super::Engine;
use super::lanes::Lane;
use super::lay::{Laid, Quoted, Request};
use super::topics::{Consulted, Event};
use crate::control::Controls;
use crate::error::{Error, Result};
use crate::ids::{At, Hash128, MessageId};
use crate::log::{After, Arrival, History, Received};
use crate::message::Message;
use crate::note::Covers;
use crate::recall::RecallTool;
use crate::store::{Position, Stored};
use crate::strategy::topics::activation::Why;
use crate::strategy::{StrategyName, turns};
use crate::task;
use crate::topic::TopicId;
use crate::window::{Budget, Reserved, Window, tokens_of};

/// If less than this share of a window is free, its turn is laid out again before anything recalled is added.
const TIGHT_PERCENT: u32 = 20;
/// The share that is free afterwards, if the window was full of quotes.
const FREED_PERCENT: u32 = 30;

/// What a turn is laid out again for.
#[derive(Clone, Copy, Debug)]
enum Room {
    /// Another budget; nothing else changes.
    Any,
    /// More room, by folding before it is time.
    Folded,
    /// More room: this many tokens stay free.
    Free(u32),
}

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
    /// What it costs beside its window; named in the error if nothing fits.
    pub reserved: Reserved,
    /// The model's whole limit.
    pub limit_tokens: u32,
    /// Whether nobody knows that limit; see [`Engine::unsure`].
    pub is_assumed: bool,
    /// The strategy for this turn, if not the session's.
    pub strategy: Option<StrategyName>,
    /// Whether to fold even if it is not time.
    pub forced: bool,
    /// Whether the model can load what is held; if not, results stay as long as they fit.
    pub recalls: bool,
}

impl<'a> Ask<'a> {
    /// A request with its whole history, for a model whose limit is known.
    pub fn new(arrival: Arrival<'a>, history: &'a History<'a>, budget: Budget, limit_tokens: u32) -> Self {
        Self {
            arrival,
            history,
            after: None,
            budget,
            reserved: Reserved::default(),
            limit_tokens,
            is_assumed: false,
            strategy: None,
            forced: false,
            recalls: true,
        }
    }

    /// What a person decided about the session, with the strategy of this turn.
    pub(super) fn governed(&self, controls: Controls) -> Controls {
        Controls { strategy: self.strategy.or(controls.strategy), ..controls }
    }
}

/// A turn that has begun.
pub struct Turn {
    pub(super) received: Received,
    pub(super) head: Position,
    at: At,
    pub(super) lane: Lane,
    pub(super) window: Window,
    /// The rounds of recall of this request.
    pub(super) rounds: Vec<(Arc<RawValue>, u32)>,
    /// How many messages of those were said before its window was laid out as it is.
    before_it: usize,
    pub(super) recalls: Vec<String>,
    /// Pages that were recalled, by their first message.
    pub(super) pages: Vec<MessageId>,
    /// What was found in topics.
    pub(super) consulted: Option<Consulted>,
    /// What of it is quoted.
    pub(super) quoted: Quoted,
    /// Topics that the model asked for.
    pub(super) woken: Vec<(TopicId, Why)>,
    /// What is to be recorded of that.
    pub(super) activated: Vec<Event>,
    /// What the helper was asked while the window was laid out.
    pub(super) asked: Vec<task::Asked>,
    /// Whether more of the path is under notes than before it.
    folded: bool,
    tools: &'static [RecallTool],
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

    /// How many messages of its rounds, the last ones, were said under the window as it is.
    pub fn rounds_under_it(&self) -> usize {
        self.rounds.len() - self.before_it
    }

    /// The recall tools that its window offers.
    pub fn tools(&self) -> &'static [RecallTool] {
        self.tools
    }

    /// The limit that its window is laid out for.
    pub fn limit_tokens(&self) -> u32 {
        self.lane.limit_tokens()
    }

    /// How its window is laid out: the strategy and the model's limit, `pages@128000`.
    pub fn layout(&self) -> &str {
        &self.lane.layout
    }

    /// Whether its window tells the model that it may ask by writing `[NEED_CONTEXT: words]`, as documents do.
    pub fn invites_markers(&self) -> bool {
        self.lane.recalls && self.lane.strategy == StrategyName::Artifacts && self.covers().is_some()
    }

    /// Whether this very turn put more of the path under notes.
    pub fn has_folded(&self) -> bool {
        self.folded
    }

    /// What is under notes in its window.
    pub fn covers(&self) -> Option<Covers> {
        self.lane.folded.fold.covers
    }

    /// What the model recalled so far, as it asked for it.
    pub fn recalls(&self) -> &[String] {
        &self.recalls
    }

    /// Whether the model has recalled anything.
    pub fn has_recalled(&self) -> bool {
        !self.rounds.is_empty()
    }

    /// The tokens of the whole path with its instructions: what the client would have sent without Scrollback.
    pub fn path_tokens(&self) -> u32 {
        let preamble = self.lane.preamble.iter().map(|stored| stored.measure.tokens);
        let open = self.lane.open.iter().map(|leaf| leaf.tokens());
        preamble.chain(open).fold(self.lane.folded.fold.original_tokens, u32::saturating_add)
    }

    /// The tokens of what is new in it.
    pub fn new_tokens(&self) -> u32 {
        let asides = self.received.asides.iter().map(|(_, aside)| aside);
        let fresh = self.received.fresh.iter().chain(asides).map(|stored| stored.measure.tokens);
        fresh.fold(0, u32::saturating_add)
    }

    /// What a reply of the open part is bound to, if it was finished so; see [`Finish::bound`](super::Finish).
    pub fn bound(&self, id: MessageId) -> Option<Hash128> {
        self.lane.bound.get(&id).copied()
    }

    /// What people call its view, for the first reply to its last message.
    pub fn view(&self) -> String {
        format!("v{}", self.head.id.0)
    }
}

impl Engine {
    /// Takes a request into the log and lays out its window. When this returns, nothing of the request can be lost.
    pub fn begin<'a>(&'a self, ask: Ask<'a>) -> BoxFuture<'a, Result<Turn>> {
        Box::pin(self.begun(ask))
    }

    async fn begun(&self, ask: Ask<'_>) -> Result<Turn> {
        let received = match ask.after {
            None => self.log.receive(ask.arrival, ask.history).await?,
            Some(after) => self.log.receive_new(ask.arrival, after, ask.history).await?,
        };
        let head = received.head.ok_or_else(|| Error::Invalid("the request has no message to answer".into()))?;
        let controls = ask.governed(self.controls(&received.session).await?);
        let ask = self.bounded(&ask, &controls);
        let layout = self.layout_with(&controls, ask.limit_tokens);
        let lane = self.lane(&ask, &received, head, layout).await;
        let request = Request { ask: &ask, received: &received, head, consulted: None, taken: 0 };
        let laid = self.lay(lane, &request).await;
        // What was sorted on the way is in the store, whether the window fits or not.
        let Laid { lane, window, consulted, quoted, asked, folded } =
            laid.inspect_err(|_| self.lanes.forget(Some(received.session.id)))?;
        self.lanes.keep(lane.clone());
        let tools = self.strategy(lane.strategy).recalls();
        Ok(Turn {
            received,
            head,
            at: ask.arrival.at,
            lane,
            window,
            rounds: Vec::new(),
            before_it: 0,
            recalls: Vec::new(),
            pages: Vec::new(),
            consulted,
            quoted,
            woken: Vec::new(),
            activated: Vec::new(),
            asked,
            folded,
            tools,
        })
    }

    /// Lays a turn out again within fewer tokens, because its model counted more of them than we did.
    pub fn shrink<'a>(&'a self, turn: &'a mut Turn, tokens: u32) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.lay_again(turn, Budget { tokens }, Room::Any))
    }

    /// Lays a turn out again if its window has little room for what the model recalls: with fewer quotes, or folded if
    /// it has none.
    pub(super) async fn make_room(&self, turn: &mut Turn) -> Result<()> {
        let budget = turn.window.budget();
        if turn.window.room() >= budget.share(TIGHT_PERCENT) {
            return Ok(());
        }
        let room = if turn.quoted.messages.is_empty() { Room::Folded } else { Room::Free(budget.share(FREED_PERCENT)) };
        self.lay_again(turn, budget, room).await
    }

    /// Lays a turn out again. If that fails, the turn stays as it was.
    async fn lay_again(&self, turn: &mut Turn, budget: Budget, room: Room) -> Result<()> {
        let (forced, free) = match room {
            Room::Any => (false, 0),
            Room::Folded => (true, 0),
            Room::Free(tokens) => (false, tokens),
        };
        let rounds: u32 = turn.rounds.iter().map(|(_, tokens)| tokens).sum();
        let (history, model) = (History::parse("[]")?, turn.lane.model.clone());
        // If the lane has to be read again, it keeps the instructions it has now.
        let received = Received { preamble: Some(turn.lane.preamble.clone()), ..turn.received.clone() };
        let arrival = Arrival::new(&received.session.tenant, None, &model, turn.at);
        let strategy = Some(turn.lane.strategy);
        let recalls = turn.lane.recalls;
        let reserved = turn.lane.reserved;
        let ask =
            Ask { reserved, strategy, forced, recalls, ..Ask::new(arrival, &history, budget, turn.limit_tokens()) };
        // What was found in topics does not depend on how much of it fits.
        let consulted = turn.consulted.as_ref();
        let request = Request { ask: &ask, received: &received, head: turn.head, consulted, taken: rounds + free };
        let Laid { lane, window, consulted, quoted, asked, folded } = self.lay(Ok(turn.lane.clone()), &request).await?;
        let lane = Lane { heads: turn.lane.heads.clone(), ..lane };
        let mut window = window.within(budget);
        turn.rounds.iter().for_each(|(raw, tokens)| window.recall(raw.clone(), *tokens));
        turn.asked.extend(asked);
        turn.folded |= folded;
        if !window.shows_what(&turn.window) {
            turn.before_it = turn.rounds.len();
        }
        (turn.lane, turn.window, turn.consulted, turn.quoted) = (lane, window, consulted, quoted);
        Ok(())
    }

    /// The lane of a request, from memory if it is there and still holds, otherwise from the store.
    async fn lane(&self, ask: &Ask<'_>, received: &Received, head: Position, layout: Arc<str>) -> Result<Lane> {
        let found = received.base.and_then(|base| self.lanes.find(received.session.id, base, &layout));
        let found = found.filter(|lane| received.stint.lasts_since(lane.stint));
        let holds = &self.settings.strategies.holds;
        let mut lane = match found {
            Some(mut lane) => {
                lane.extend(received, holds);
                lane
            }
            None if received.base.is_none() => {
                let born = self.lanes.now();
                let mut lane = Lane { born, ..Lane::new(received.session.id, layout, head) };
                lane.extend(received, holds);
                lane
            }
            None => self.load(ask, received, head, layout).await?,
        };
        lane.stint = received.stint;
        self.instructed(lane, ask, received).await
    }

    /// A lane with the instructions of its request, beside or in the place of those that hold where it goes on.
    pub(super) async fn instructed(&self, mut lane: Lane, ask: &Ask<'_>, received: &Received) -> Result<Lane> {
        match &received.preamble {
            // A request that goes on from a place, and brings no instructions, goes on with those that hold there.
            heads if is_placed(ask) && heads.as_ref().is_none_or(Vec::is_empty) => {
                let known = std::mem::take(&mut lane.preamble);
                let begins = received.base.is_none();
                lane.preamble = if begins { self.first_preamble(&received.session).await? } else { known };
            }
            // The instructions a conversation began with stay, beside those a later request has outside its messages.
            Some(heads) if ask.after.is_some() && ask.history.heads().is_some() => {
                let known = match received.base {
                    Some(_) => std::mem::take(&mut lane.preamble),
                    None => self.first_preamble(&received.session).await?,
                };
                let is_new = |stored: &Stored| heads.iter().any(|head| head.id == stored.id);
                let began = known.into_iter().filter(|stored| !lane.heads.contains(&stored.id) && !is_new(stored));
                lane.preamble = heads.iter().cloned().chain(began).collect();
            }
            Some(preamble) => lane.preamble.clone_from(preamble),
            // Another request of the same conversation may have come with other instructions.
            None if ask.after.is_none() && !instructs(ask.history, &lane.preamble) => {
                lane.preamble = self.log.instructions(ask.arrival, &received.session, ask.history).await?;
            }
            None => {}
        }
        if let Some(heads) = ask.history.heads() {
            lane.heads = lane.preamble.iter().take(heads).map(|stored| stored.id).collect();
        }
        Ok(lane)
    }
}

/// Whether a request names the message it goes on from.
fn is_placed(ask: &Ask<'_>) -> bool {
    matches!(ask.after, Some(After::Place { .. }))
}

/// Whether a history begins with these instructions.
fn instructs(history: &History<'_>, preamble: &[Arc<Stored>]) -> bool {
    history.instructions().eq(preamble.iter().map(|stored| stored.raw.get().as_bytes()))
}

/// A message of ours and what it costs.
pub(super) fn measured(raw: Box<RawValue>) -> (Arc<RawValue>, u32) {
    let raw: Arc<RawValue> = raw.into();
    let tokens = tokens_of(&Message::new(raw.clone()).to_text());
    (raw, tokens)
}

/// The number of the turn a lane is in.
pub(super) fn turn_number(lane: &Lane) -> u32 {
    lane.folded.fold.turns + turns::count(&lane.open)
}
