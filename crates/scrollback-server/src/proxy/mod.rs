//! The proxy: a client's request becomes a turn, its window goes upstream, and the reply comes back as if there were
//! nothing in between.
//!
//! `plan` is what is known of a request at first, `exchange` the state machine of one (`rounds` what it remembers),
//! `stream` the same for streamed replies, `hidden` what has to be put back when the client returns, `keep` the end.
//! `book` keeps the ledger, `gauge` learns how models count and `wants` what they refuse, `count` tells what a request
//! would cost, `control` answers what is said to us and not to a model, `responses` what the Responses API offers
//! beside replies, `later` does what need not be waited for, `pass` sends on what is none of our business, or what we
//! failed at.

mod arrival;
mod asking;
mod book;
mod control;
mod count;
mod exchange;
mod gauge;
mod hidden;
mod keep;
mod later;
mod ours;
mod pass;
mod plan;
mod responses;
mod rounds;
mod shared;
mod stream;
mod told;
mod wants;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use bytes::Bytes;
use futures_util::FutureExt;
use scrollback::engine::{Engine, Turn};
use scrollback::log::History;
use scrollback::{Error, SessionId, Tenant};

use crate::access::Access;
use crate::config::{RecallBy, Serve, Unkept};
use crate::erasing::Eraser;
use crate::live::Live;
use crate::store::Pulse;
use crate::upstream::{QUOTE, Upstream};
use crate::wire::offer::Offer;
use crate::wire::request::Request;
use crate::wire::{self, ErrorKind, Follows, Wire, WireName};
use book::Book;
use exchange::Exchange;
use gauge::Gauge;
use later::Later;
pub(crate) use ours::{Kept, Ours, Place, Unanswered, Word};
use plan::{Asked, Plan};
use responses::Items;
use wants::Wants;

/// What the client is told when our own code panics.
const BROKEN: &str = "an error in Scrollback itself; please report it";
/// How long a client should wait before it sends a request again that could not be kept.
pub(crate) const RETRY_SECONDS: &str = "2";
/// Says that a request holds only new messages of its session.
const HISTORY_HEADER: &str = "x-scrollback-history";
/// Says what went wrong on our side, when a request was sent on as it came.
const TROUBLE_HEADER: &str = "x-scrollback-trouble";

/// Everything a request needs.
pub(crate) struct Proxy {
    pub(crate) engine: Arc<Engine>,
    pub(crate) serve: Arc<Serve>,
    upstreams: BTreeMap<String, Arc<Upstream>>,
    quote: Arc<Upstream>,
    pub(crate) access: Arc<Access>,
    /// Where it publishes what happens.
    pub(crate) live: Live,
    /// How its store is doing.
    pub(crate) pulse: Arc<Pulse>,
    book: Book,
    gauge: Gauge,
    wants: Wants,
    items: Items,
    later: Later,
    /// Erases what people ask to be erased.
    pub(crate) eraser: Eraser,
}

/// A request as it came.
#[derive(Clone)]
pub(crate) struct Incoming {
    /// Whose it is.
    pub(crate) tenant: Tenant,
    pub(crate) method: Method,
    /// The path below `/v1`, with its query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Set by our own code alone, for people who talk to Scrollback without a client.
    pub(crate) ours: Option<Ours>,
}

impl Proxy {
    pub(crate) fn new(engine: Arc<Engine>, eraser: Eraser, serve: Serve) -> anyhow::Result<Self> {
        let client = crate::upstream::client()?;
        let mut upstreams = BTreeMap::new();
        for (name, settings) in &serve.upstreams {
            upstreams.insert(name.clone(), Arc::new(Upstream::http(name, settings, client.clone())?));
        }
        let access = Arc::new(Access::new(&serve, engine.log().store().clone())?);
        let (quote, book) = (Arc::new(Upstream::quote()), Book::new(serve.window.prices.clone()));
        Ok(Self {
            engine,
            serve: Arc::new(serve),
            upstreams,
            quote,
            access,
            live: Live::default(),
            pulse: Arc::default(),
            book,
            gauge: Gauge::default(),
            wants: Wants::default(),
            items: Items::default(),
            later: Later::default(),
            eraser,
        })
    }

    /// Waits for work that was put off, so that no reply is lost when the server stops.
    pub(crate) async fn settled(&self) {
        self.later.done().await;
    }

    /// Waits until everything said in a session is kept, so that a new message follows it.
    pub(crate) async fn settled_in(&self, session: SessionId) {
        self.later.settled(&session.to_string()).await;
    }

    /// Waits until the replies that are on their way to a session are kept there. Whether there were any.
    pub(crate) async fn keeps_more_in(&self, session: SessionId) -> bool {
        self.later.replies(&session.to_string(), |_| false).await
    }

    /// An upstream by its name.
    pub(crate) fn upstream(&self, name: &str) -> Option<Arc<Upstream>> {
        if name == QUOTE { Some(self.quote.clone()) } else { self.upstreams.get(name).cloned() }
    }

    /// The upstream of a request that names none: one for clients of Anthropic, if there is one, and one for all
    /// others.
    pub(crate) fn usual(&self, path: &str, headers: &HeaderMap) -> Option<Arc<Upstream>> {
        let anthropic = path.starts_with(WireName::Anthropic.path()) || headers.contains_key("anthropic-version");
        let theirs = anthropic.then(|| self.upstream(&self.serve.messages_upstream)).flatten();
        theirs.or_else(|| self.upstream(&self.serve.upstream))
    }

    /// Sends a request on as it came, because another Scrollback has laid it out already.
    pub(crate) async fn beside_another(&self, upstream: &Upstream, incoming: Incoming) -> Response<Body> {
        let what = "another Scrollback on the way manages this conversation; this one only passed it on";
        tracing::warn!("{what}");
        pass::as_it_is(upstream, incoming, Some(what)).await
    }

    /// Answers a request to an upstream.
    pub(crate) async fn answer(self: Arc<Self>, upstream: Arc<Upstream>, incoming: Incoming) -> Response<Body> {
        if let Some(wire) = wire::of_path(&incoming.path).filter(|_| incoming.method == Method::POST) {
            return self.managed(wire, upstream, incoming).await;
        }
        if let Some(wire) = count::asked(&incoming) {
            return Box::pin(self.counted(wire, &upstream, incoming)).await;
        }
        match Box::pin(self.served(&upstream, &incoming)).await {
            Some(response) => response,
            None => pass::as_it_is(&upstream, incoming, None).await,
        }
    }

    async fn managed(
        self: Arc<Self>,
        wire: &'static dyn Wire,
        upstream: Arc<Upstream>,
        incoming: Incoming,
    ) -> Response<Body> {
        match self.exchange(wire, upstream.clone(), &incoming).await {
            Ok(exchange) => Box::pin(exchange.announce_and_run()).await,
            Err(Stop::Said(response)) => *response,
            Err(Stop::Refused(error)) => refused(wire, "invalid_request", &error.to_string()),
            Err(Stop::AsItIs(None)) => pass::as_it_is(&upstream, incoming, None).await,
            Err(Stop::AsItIs(Some(trouble))) => Self::troubled(&upstream, incoming, &trouble).await,
        }
    }

    /// Sends a request on as it came because we failed at it, unless it might reach what others stored in a shared
    /// account.
    async fn troubled(upstream: &Upstream, incoming: Incoming, trouble: &str) -> Response<Body> {
        if let Some(response) = shared::refused(upstream, &incoming) {
            return response;
        }
        tracing::error!(trouble = unnamed(trouble), "the request is sent on as it came");
        metrics::counter!("scrollback_trouble_total").increment(1);
        pass::as_it_is(upstream, incoming, Some(trouble)).await
    }

    /// The window that a request would be sent with, in its own dialect. Nothing is sent.
    pub(crate) async fn rendered(self: &Arc<Self>, wire: &'static dyn Wire, incoming: &Incoming) -> Response<Body> {
        let Some(upstream) = self.usual(wire.name().path(), &incoming.headers) else {
            return refused(wire, "no_such_upstream", "there is no upstream to lay out a window for");
        };
        match self.exchange(wire, upstream, incoming).await {
            Ok(exchange) => Box::pin(exchange.rendered()).await,
            Err(Stop::Said(response)) => *response,
            Err(Stop::Refused(error)) => refused(wire, "invalid_request", &error.to_string()),
            Err(Stop::AsItIs(Some(trouble))) => error(wire, StatusCode::INTERNAL_SERVER_ERROR, "trouble", &trouble),
            Err(Stop::AsItIs(None)) => refused(wire, "invalid_request", "this is no request with messages to lay out"),
        }
    }

    /// Takes a request into the log and lays out its window.
    async fn exchange(
        self: &Arc<Self>,
        wire: &'static dyn Wire,
        upstream: Arc<Upstream>,
        incoming: &Incoming,
    ) -> Result<Exchange, Stop> {
        let mut whole = None;
        let body = incoming.body.clone();
        let read = Request::read(&body, wire.history(), |text| {
            let (opened, end) = self.engine.log().open(&incoming.tenant, text).ok()?;
            whole = Some(opened);
            Some(end)
        });
        let request = read.ok_or(Stop::AsItIs(None))?;
        if incoming.headers.get(HISTORY_HEADER).is_some_and(|value| value.as_bytes() != b"new") {
            let what = format!("{HISTORY_HEADER} can only be “new”: leave it out to send the whole conversation");
            return Err(Stop::said(refused(wire, "invalid_request", &what)));
        }
        let message = request.spoken(wire.history());
        let spoken = message.as_deref().and_then(|text| self.engine.log().open(&incoming.tenant, text).ok());
        let whole = whole.or(spoken.map(|(history, _)| history)).ok_or(Stop::AsItIs(None))?;
        let (mut opened, items) = Box::pin(self.opened(wire, &request, incoming)).await;
        let refers = items.is_some();
        let resolved = items.as_deref().and_then(|text| self.engine.log().open(&incoming.tenant, text).ok());
        let new_text = opened.new.take();
        let new = new_text.as_deref().and_then(|text| History::parse(text).ok());
        let history = resolved.map(|(history, _)| history).or(new).unwrap_or(whole);
        let history = match opened.heads.take() {
            Some(heads) => history.with_heads(heads),
            None => history,
        };
        let upstream = if request.model() == QUOTE { self.quote.clone() } else { upstream };
        if let Some(response) = shared::refused_by_name(&upstream, incoming, opened.follows.as_ref()) {
            return Err(Stop::said(response));
        }
        let offer = Offer::new(upstream.recall, self.engine.tools(), &opened, wire);
        let asked = Asked { request: &request, incoming, history: &history, opened: &opened };
        let plan = Plan { refers, ..self.plan(&upstream, &asked, &offer) }.placed(incoming.ours.as_ref());
        if control::is_compress(&history) {
            return Err(Stop::said(Box::pin(self.compress(wire, &request, &history, &plan)).await));
        }
        let begun = AssertUnwindSafe(self.begin(&history, &plan)).catch_unwind().await;
        let begun = begun.map_err(|_| Stop::trouble(wire, &plan, BROKEN.into()))?;
        let turn = begun.map_err(|error| Stop::of(wire, &plan, self.serve.unkept, error))?;
        // A person may have chosen another strategy for this session, which offers other tools.
        let by = if plan.untouched.is_some() { RecallBy::Off } else { upstream.recall };
        let offer = Offer::new(by, turn.tools(), &opened, wire);
        let met = Box::pin(self.book.has_met(&self.engine, &turn, &upstream.name, &plan.model)).await;
        let plan = Plan { tools: self.cost(&offer, &request), met, ..plan };
        let managed = Managed { wire, incoming: incoming.clone(), request, offer };
        Ok(Exchange::new(self.clone(), upstream, managed, plan, turn))
    }

    /// Takes the request into the log and lays out its window.
    async fn begin(&self, history: &History<'_>, plan: &Plan) -> scrollback::Result<Turn> {
        self.catch_up(history, plan).await;
        self.knows_conversation(plan).await?;
        if plan.fetched && matches!(plan.follows, Some(Follows::Conversation(_))) {
            let what = "a reply in the background would not come into its conversation, which is kept here: leave out \
                        `background`";
            return Err(Error::Invalid(what.into()));
        }
        let known = self.named_by_id(plan).await?;
        let (arrival, after) = Self::arrival(plan, known.as_ref())?;
        self.wait_for_place(arrival, after, history).await;
        self.engine.begin(plan.ask(arrival, after, history)).await
    }
}

/// Whether we have to read what such a request says: it becomes a turn, or is answered from the log.
pub(crate) fn is_managed(method: &Method, path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let answered =
        ["/conversations", "/responses/", "/messages/count_tokens"].iter().any(|known| path.starts_with(known));
    *method == Method::POST && (wire::of_path(path).is_some() || answered)
}

/// Why a request does not become a turn.
enum Stop {
    /// It goes on as it came; what went wrong on our side is told beside the answer.
    AsItIs(Option<String>),
    /// It is answered already.
    Said(Box<Response<Body>>),
    /// It is one of our own and cannot be answered.
    Refused(Error),
}

impl Stop {
    fn said(response: Response<Body>) -> Self {
        Self::Said(Box::new(response))
    }

    /// What becomes of a request whose window could not be laid out.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all that is left is a failure of ours")]
    fn of(wire: &dyn Wire, plan: &Plan, unkept: Unkept, error: Error) -> Self {
        if plan.ours.is_some() {
            return Self::Refused(error);
        }
        let told = error.to_string();
        match error {
            Error::TooLarge(what) => {
                let what = format!("{}: {what}", wire.name().too_long());
                Self::said(refused(wire, "context_length_exceeded", &what))
            }
            // What is not in our log, the model's API may know all the same.
            Error::NotFound(what) if plan.follows.is_some() && !plan.is_compacted() => Self::AsItIs(Some(what)),
            Error::Invalid(what) | Error::NotFound(what) if plan.is_new() => {
                Self::said(refused(wire, "invalid_request", &what))
            }
            // Sent on without what it follows it would be answered as if that had never been said, and nobody sends it
            // again. Where all is kept, so is what somebody erases at this moment: it is sent again, and begins anew.
            Error::Store { .. } | Error::NotFound(_) if unkept == Unkept::Refused || plan.is_new() => {
                Self::unkept(wire, &told)
            }
            // What is wrong with the request itself, its model's API will say.
            Error::Invalid(_) => Self::AsItIs(None),
            _ => Self::trouble(wire, plan, told),
        }
    }

    /// Refuses a request that cannot be kept, with a hint when to try again.
    fn unkept(wire: &dyn Wire, what: &str) -> Self {
        tracing::error!(what, "a request is refused, because it cannot be kept");
        metrics::counter!("scrollback_refused_total").increment(1);
        let mut response = error(wire, StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", what);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS));
        Self::said(response)
    }

    /// What becomes of a request that we failed at. One that goes on from what only our log has is not sent on.
    fn trouble(wire: &dyn Wire, plan: &Plan, what: String) -> Self {
        if plan.ours.is_none() && (plan.only_new || plan.is_known_here_alone()) {
            let trouble = unnamed(&what);
            tracing::error!(trouble, "a request that goes on from what is kept here cannot be answered");
            return Self::said(error(wire, StatusCode::INTERNAL_SERVER_ERROR, "trouble", &what));
        }
        Self::AsItIs(Some(what))
    }
}

/// What went wrong, without what somebody wrote, which stands in quotation marks and is not for the log.
fn unnamed(trouble: &str) -> String {
    match trouble.split_once('“').zip(trouble.rsplit_once('”')) {
        Some(((before, _), (_, after))) => format!("{before}“…”{after}"),
        None => trouble.to_owned(),
    }
}

/// A request that became a turn.
struct Managed {
    wire: &'static dyn Wire,
    incoming: Incoming,
    request: Request,
    offer: Offer,
}

/// An error of ours, in the shape that the clients of a dialect understand.
pub(crate) fn error(wire: &dyn Wire, status: StatusCode, code: &str, what: &str) -> Response<Body> {
    pass::json(status, &wire.speech().error(ErrorKind::of(status), code, what))
}

fn refused(wire: &dyn Wire, code: &str, what: &str) -> Response<Body> {
    error(wire, StatusCode::BAD_REQUEST, code, what)
}
