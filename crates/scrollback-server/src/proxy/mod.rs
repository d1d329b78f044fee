//! The proxy: a client's request becomes a turn, its window goes upstream, and the reply comes back as if nothing were between.
//!
//! `exchange` is the state machine of one request, `stream` the same for streamed replies, `book` keeps the ledger, `gauge`
//! learns how models count, `control` answers what is said to us and not to a model, `later` does what need not be waited for, `pass` sends on what is none of our business, or what we
//! failed at.

mod book;
mod control;
mod exchange;
mod gauge;
mod keep;
mod later;
mod pass;
mod stream;
mod told;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, Method, Response, StatusCode};
use bytes::Bytes;
use futures_util::FutureExt;
use scrollback::engine::{Ask, Engine, Turn};
use scrollback::log::{After, Arrival, Declared, History};
use scrollback::window::Budget;
use scrollback::{Error, Tenant};
use serde_json::json;

use crate::clock::now;
use crate::config::Serve;
use crate::upstream::{QUOTE, Upstream};
use crate::wire::offer::Offer;
use crate::wire::request::Request;
use book::Book;
use exchange::Exchange;
use gauge::Gauge;
use later::Later;

/// Says that a request holds only new messages of its session.
const HISTORY_HEADER: &str = "x-scrollback-history";
/// Says what went wrong on our side, when a request was sent on as it came.
const TROUBLE_HEADER: &str = "x-scrollback-trouble";

/// Everything a request needs.
pub(crate) struct Proxy {
    pub(crate) engine: Arc<Engine>,
    pub(crate) serve: Serve,
    upstreams: BTreeMap<String, Arc<Upstream>>,
    quote: Arc<Upstream>,
    tenant: Tenant,
    book: Book,
    gauge: Gauge,
    later: Later,
}

/// A request as it came.
#[derive(Clone)]
pub(crate) struct Incoming {
    pub(crate) method: Method,
    /// The path below `/v1`, with its query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Proxy {
    pub(crate) fn new(engine: Arc<Engine>, serve: Serve) -> anyhow::Result<Self> {
        let client = crate::upstream::client()?;
        let mut upstreams = BTreeMap::new();
        for (name, settings) in &serve.upstreams {
            upstreams.insert(name.clone(), Arc::new(Upstream::http(name, settings, client.clone())?));
        }
        let (quote, book) = (Arc::new(Upstream::quote()), Book::new(serve.window.prices.clone()));
        Ok(Self {
            engine,
            serve,
            upstreams,
            quote,
            tenant: Tenant::local(),
            book,
            gauge: Gauge::default(),
            later: Later::default(),
        })
    }

    /// Waits for what was put off; nothing of a reply is lost when the server is told to stop.
    pub(crate) async fn settled(&self) {
        self.later.done().await;
    }

    /// An upstream by its name, or the usual one.
    pub(crate) fn upstream(&self, name: Option<&str>) -> Option<Arc<Upstream>> {
        let name = name.unwrap_or(&self.serve.upstream);
        if name == QUOTE { Some(self.quote.clone()) } else { self.upstreams.get(name).cloned() }
    }

    /// Answers a request to an upstream.
    pub(crate) async fn answer(self: Arc<Self>, upstream: Arc<Upstream>, incoming: Incoming) -> Response<Body> {
        let chat = incoming.method == Method::POST && incoming.path.split('?').next() == Some("/chat/completions");
        if chat { self.chat(upstream, incoming).await } else { pass::as_it_is(&upstream, incoming, None).await }
    }

    async fn chat(self: Arc<Self>, upstream: Arc<Upstream>, incoming: Incoming) -> Response<Body> {
        let only_new = incoming.headers.get(HISTORY_HEADER).is_some_and(|value| value == "new");
        let mut history = None;
        let body = incoming.body.clone();
        let read = Request::read(&body, |text| {
            let (opened, end) = self.engine.log().open(&self.tenant, text).ok()?;
            history = Some(opened);
            Some(end)
        });
        let Some((request, history)) = read.zip(history) else {
            return pass::as_it_is(&upstream, incoming, None).await;
        };
        let upstream = if request.model() == QUOTE { self.quote.clone() } else { upstream };
        let offer = Offer::new(upstream.recall, self.engine.tools(), &request);
        let header = |name: &str| incoming.headers.get(name).and_then(|value| value.to_str().ok());
        let session = Declared::read(header, &request.declares()).session;
        let opening = || history.opening().map(|hash| format!("{hash:x}"));
        let conversation = session.clone().or_else(opening).unwrap_or_default();
        let plan = Plan { only_new, session, conversation, ..self.plan(&upstream, &request, &offer) };
        if control::is_compress(&history) {
            return Box::pin(self.compress(&request, &history, &plan)).await;
        }
        let begun = AssertUnwindSafe(self.begin(&history, &plan)).catch_unwind().await;
        let trouble = match begun {
            Ok(Ok(_)) if request.choices() > 1 => return pass::as_it_is(&upstream, incoming, None).await,
            Ok(Ok(turn)) => {
                // A person may have chosen another strategy for this session, which offers other tools.
                let offer = Offer::new(upstream.recall, turn.tools(), &request);
                let plan = Plan { tools: self.cost(&offer, &request), ..plan };
                let incoming = Managed { incoming, request, offer };
                return Box::pin(Exchange::new(self.clone(), upstream, incoming, plan, turn).run()).await;
            }
            Ok(Err(Error::TooLarge(what))) => return refused("context_length_exceeded", &what),
            Ok(Err(Error::Invalid(what) | Error::NotFound(what))) if plan.only_new => {
                return refused("invalid_request", &what);
            }
            // What is wrong with the request itself, its model's API will say.
            Ok(Err(Error::Invalid(_))) => return pass::as_it_is(&upstream, incoming, None).await,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "an error in Scrollback itself; please report it".to_owned(),
        };
        tracing::error!(trouble, "the request is sent on as it came");
        metrics::counter!("scrollback_trouble_total").increment(1);
        pass::as_it_is(&upstream, incoming, Some(&trouble)).await
    }

    /// Takes the request into the log and lays out its window.
    async fn begin(&self, history: &History<'_>, plan: &Plan) -> scrollback::Result<Turn> {
        // A client may be back with a reply before it is kept, and words it in its own way: it would be taken for another.
        self.later.replies(&plan.conversation, |reply| history.ends_with(reply)).await;
        let (arrival, after) = self.arrival(plan)?;
        let ask = Ask { arrival, history, after, budget: plan.budget, limit_tokens: plan.limit };
        if plan.is_assumed { self.engine.begin_unsure(ask).await } else { self.engine.begin(ask).await }
    }

    /// Whose a request is, and what it follows if it holds only new messages.
    fn arrival<'p>(&'p self, plan: &'p Plan) -> scrollback::Result<(Arrival<'p>, Option<After<'p>>)> {
        let name = plan.session.as_deref();
        let after = match (plan.only_new, name) {
            (false, _) => None,
            (true, Some(name)) => Some(After::Last(name)),
            (true, None) => {
                let what = "a request with only new messages must name its session, for example with the header \
                            x-scrollback-session";
                return Err(Error::Invalid(what.into()));
            }
        };
        Ok((Arrival::new(&self.tenant, name, &plan.model, now()), after))
    }

    /// How large a request's window may be.
    fn plan(&self, upstream: &Upstream, request: &Request, offer: &Offer) -> Plan {
        let (model, settings) = (request.model(), &self.serve.window);
        let price = settings.prices.of(&model);
        let set = [settings.tokens, upstream.window].into_iter().find(|tokens| *tokens > 0);
        let known = self.engine.limit_of(&model).or(set).or_else(|| price.and_then(|price| price.window));
        let limit = known.unwrap_or(settings.unknown_tokens);
        let reply = request.reply_tokens().unwrap_or(settings.reply_tokens).min(limit / 2);
        let most = price.and_then(|price| price.most_input).unwrap_or(u32::MAX);
        let tools = self.cost(offer, request);
        let tokens = self.gauge.counted(&model, (limit - reply).min(most)).saturating_sub(tools);
        Plan {
            is_assumed: known.is_none() && model != QUOTE,
            model,
            limit,
            tools,
            budget: Budget { tokens },
            only_new: false,
            session: None,
            conversation: String::new(),
        }
    }

    /// What a request's tools cost, and the instruction that stands for ours where there are none.
    fn cost(&self, offer: &Offer, request: &Request) -> u32 {
        let theirs = request.tools();
        let tools = offer.tools(theirs).map_or(0, |tools| self.book.tokens_of(&tools));
        let tools = if tools == 0 { theirs.map_or(0, |tools| self.book.tokens_of(tools)) } else { tools };
        tools + offer.instruction().map_or(0, |text| self.book.tokens_of(&text))
    }
}

/// A request that became a turn.
struct Managed {
    incoming: Incoming,
    request: Request,
    offer: Offer,
}

/// What is known of a request before it is a turn.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) model: String,
    /// The model's limit.
    pub(crate) limit: u32,
    /// Whether nobody knows that limit.
    pub(crate) is_assumed: bool,
    /// What the tools cost.
    pub(crate) tools: u32,
    /// What the messages may cost.
    pub(crate) budget: Budget,
    /// Whether the request holds only new messages.
    pub(crate) only_new: bool,
    /// The session it declares.
    pub(crate) session: Option<String>,
    /// What it is called here: by its declared name, or by how it begins.
    pub(crate) conversation: String,
}

/// An error of ours, in the shape that OpenAI's clients understand.
pub(crate) fn error(status: StatusCode, code: &str, what: &str) -> Response<Body> {
    let kind = if status.is_client_error() { "invalid_request_error" } else { "upstream_error" };
    let body = json!({"error": {"message": what, "type": kind, "param": null, "code": code}});
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", axum::http::HeaderValue::from_static("application/json"));
    response
}

fn refused(code: &str, what: &str) -> Response<Body> {
    error(StatusCode::BAD_REQUEST, code, what)
}
