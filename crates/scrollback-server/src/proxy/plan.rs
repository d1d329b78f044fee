//! What is known of a request before it is a turn: whose it is, what it follows, and how large its window may be.

use scrollback::engine::Ask;
use scrollback::log::{After, Arrival, Declared, History};
use scrollback::strategy::StrategyName;
use scrollback::window::{Budget, Reserved};
use scrollback::{SessionId, Tenant};

use super::gauge::Model;
use super::{HISTORY_HEADER, Incoming, Ours, Place, Proxy};
use crate::config::RecallBy;
use crate::upstream::{QUOTE, Upstream};
use crate::wire::offer::Offer;
use crate::wire::request::Request;
use crate::wire::{Follows, Opened};

/// A request, read.
pub(super) struct Asked<'a> {
    pub(super) request: &'a Request,
    pub(super) incoming: &'a Incoming,
    pub(super) history: &'a History<'a>,
    pub(super) opened: &'a Opened,
}

/// What is known of a request before it is a turn.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
pub(crate) struct Plan {
    /// Whose it is.
    pub(crate) tenant: Tenant,
    pub(crate) model: String,
    /// The model's limit.
    pub(crate) limit: u32,
    /// Whether nobody knows that limit.
    pub(crate) is_assumed: bool,
    /// What the tools cost.
    pub(crate) tools: u32,
    /// Whether the model has seen the conversation before.
    pub(crate) met: bool,
    /// What is kept free for the reply.
    pub(crate) reply: u32,
    /// What the messages may cost.
    pub(crate) budget: Budget,
    /// Whether the model can load what is held.
    pub(crate) recalls: bool,
    /// Whether the client says that it holds only new messages.
    pub(crate) only_new: bool,
    /// What it follows, in its dialect's own way.
    pub(crate) follows: Option<Follows>,
    /// Whether a later request may follow its reply by an id alone.
    pub(crate) followed: bool,
    /// Whether its reply is not told here, but fetched from its provider later.
    pub(crate) fetched: bool,
    /// Why it has to go on as it came.
    pub(crate) untouched: Option<&'static str>,
    /// Whether it names messages by their ids alone, in whose places those of the log stand.
    pub(crate) refers: bool,
    /// Whether the model accepts its reasoning only after the very words it was made after.
    pub(crate) binds_thinking: bool,
    /// The session it declares.
    pub(crate) session: Option<String>,
    /// Whether several conversations may go by that name.
    pub(crate) shared: bool,
    /// What it is called here: its session's id if it declares one, or whose it is and how it begins.
    pub(crate) conversation: String,
    /// What our own code says of it.
    pub(crate) ours: Option<Ours>,
}

impl Plan {
    /// What is asked of the engine.
    pub(super) fn ask<'a>(&self, arrival: Arrival<'a>, after: Option<After<'a>>, history: &'a History<'a>) -> Ask<'a> {
        // What was compacted here may be too long for any other strategy than the one it was compacted for.
        let strategy = self.untouched.filter(|_| !self.is_compacted()).map(|_| StrategyName::Passthrough);
        let reserved = Reserved { tools: self.tools, reply: self.reply };
        let (recalls, is_assumed) = (self.recalls, self.is_assumed);
        let ask = Ask::new(arrival, history, self.budget, self.limit);
        Ask { after, reserved, strategy, recalls, is_assumed, ..ask }
    }

    /// Whether the request holds only new messages.
    pub(crate) fn is_new(&self) -> bool {
        self.only_new || self.follows.is_some()
    }

    /// Whether nobody says its reply again: what is not kept of it is lost.
    pub(crate) fn is_said_once(&self) -> bool {
        self.is_new() && !self.is_compacted()
    }

    /// The same for a request of our own, which goes on where our code says.
    pub(super) fn placed(self, ours: Option<&Ours>) -> Self {
        let Some(ours) = ours else { return self };
        let (session, conversation) = match &ours.place {
            Place::New(name) => (Some(name.clone()), SessionId::declared(&self.tenant, name)),
            Place::After(session, _) => (None, *session),
        };
        let conversation = conversation.to_string();
        Self { only_new: true, follows: None, session, conversation, ours: Some(ours.clone()), ..self }
    }

    /// Whether it goes on from a compaction of ours.
    pub(crate) fn is_compacted(&self) -> bool {
        matches!(self.follows, Some(Follows::Compaction(_)))
    }

    /// Whether what it follows is in our log and nowhere else, so that it cannot go on as it came.
    pub(crate) fn is_known_here_alone(&self) -> bool {
        self.is_compacted() || matches!(self.follows, Some(Follows::Conversation(_)))
    }
}

/// How much of a model's limit is kept free for the reply: what the request asks for. One that asks for all there is
/// goes to a model that gives what is left, and half is enough.
fn reply_tokens(asked: Option<u32>, usual: u32, limit: u32) -> u32 {
    match asked {
        Some(asked) if asked <= limit - limit / 8 => asked,
        Some(_) => limit / 2,
        None => usual.min(limit / 2),
    }
}

fn header<'a>(incoming: &'a Incoming, name: &str) -> Option<&'a str> {
    incoming.headers.get(name).and_then(|value| std::str::from_utf8(value.as_bytes()).ok())
}

/// The session that a request declares.
pub(super) fn declared(request: &Request, incoming: &Incoming) -> Declared {
    Declared::read(|name| header(incoming, name), &request.declares())
}

/// What a conversation is called here that has this name. Replies tell the ids of their sessions, and may be asked to
/// go on there.
fn id_of(tenant: &Tenant, name: &str) -> SessionId {
    name.parse().map_or_else(|_| SessionId::declared(tenant, name), SessionId)
}

impl Proxy {
    /// What is known of a request before it is a turn: above all, how large its window may be.
    pub(super) fn plan(&self, upstream: &Upstream, asked: &Asked<'_>, offer: &Offer) -> Plan {
        let Asked { request, incoming, history, opened } = asked;
        let (model, settings) = (request.model(), &self.serve.window);
        let price = settings.prices.of(&model);
        let set = [settings.tokens, upstream.window].into_iter().find(|tokens| *tokens > 0);
        let known = self.engine.limit_of(&model).or(set).or_else(|| price.and_then(|price| price.window));
        let limit = known.unwrap_or(settings.unknown_tokens);
        let reply = reply_tokens(opened.reply_tokens, settings.reply_tokens, limit);
        let most = price.and_then(|price| price.most_input).unwrap_or(u32::MAX);
        let tools = self.cost(offer, request);
        let counts = Model { upstream: &upstream.name, name: &model, family: price.and_then(|price| price.family) };
        let tokens = self.gauge.counted(counts, (limit - reply).min(most)).saturating_sub(tools);
        let Declared { session, shared, .. } = declared(request, incoming);
        let tenant = incoming.tenant.clone();
        let opening = || history.opening().map(|hash| format!("{} {hash:x}", tenant.as_str()));
        let declared = session.as_ref().map(|name| id_of(&tenant, name).to_string());
        let conversation = declared.or_else(opening).unwrap_or_default();
        Plan {
            shared,
            is_assumed: known.is_none() && model != QUOTE,
            model,
            limit,
            tools,
            met: true,
            reply,
            budget: Budget { tokens },
            recalls: upstream.recall != RecallBy::Off,
            only_new: header(incoming, HISTORY_HEADER) == Some("new"),
            follows: opened.follows.clone(),
            followed: opened.followed,
            fetched: opened.fetched,
            untouched: opened.untouched,
            refers: false,
            binds_thinking: price.is_some_and(|price| price.binds_thinking),
            conversation,
            tenant,
            session,
            ours: None,
        }
    }

    /// What a request's tools cost, and the instruction that stands for ours where there are none.
    pub(super) fn cost(&self, offer: &Offer, request: &Request) -> u32 {
        let theirs = request.tools();
        let tools = offer.tools(theirs).map_or(0, |tools| self.book.tokens_of(&tools));
        let tools = if tools == 0 { theirs.map_or(0, |tools| self.book.tokens_of(tools)) } else { tools };
        tools + offer.instruction().map_or(0, |text| self.book.tokens_of(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_request_asks_for_is_kept_free() {
        assert_eq!(reply_tokens(Some(6_000), 1_000, 8_192), 6_000);
        assert_eq!(reply_tokens(None, 1_000, 8_192), 1_000);
        assert_eq!(reply_tokens(None, 6_000, 8_192), 4_096);
        assert_eq!(reply_tokens(Some(8_192), 1_000, 8_192), 4_096, "all there is");
    }
}
