//! The JSON dialects of APIs. Each reads what is needed of a request and a reply, and leaves every other byte as it
//! came.
//!
//! A [`Wire`] tells what a request holds and writes windows; its [`Toolbox`] writes our tools, its [`Speech`] reads and
//! writes replies, a [`Relay`] is a streamed reply on its way through. `chat` is OpenAI Chat Completions, `responses`
//! OpenAI Responses, `anthropic` Anthropic Messages. What they share: `request` (the fields of a body), `offer` (what
//! we add), `said` (what a model said), `sse` (events of a stream), `foreign` (what was imported in another shape),
//! `edit`.

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod edit;
pub(crate) mod foreign;
pub(crate) mod offer;
pub(crate) mod request;
pub(crate) mod responses;
pub(crate) mod said;
pub(crate) mod sse;
pub(crate) mod theirs;

use axum::http::{HeaderMap, StatusCode};
use bytes::{Bytes, BytesMut};
use scrollback::engine::Turn;
use scrollback::ids::Hash128;
use scrollback::recall::RecallTool;
use serde_json::Value;
use serde_json::value::RawValue;

use offer::Offer;
use request::Request;
use said::{Called, Said};
use sse::Event;

/// One API's JSON dialect: how its requests are read and written.
pub(crate) trait Wire: Send + Sync {
    /// Its name.
    fn name(&self) -> WireName;
    /// The field of a request that holds its messages.
    fn history(&self) -> &'static str;
    /// What a request says beside its messages.
    fn opened(&self, request: &Request, headers: &HeaderMap) -> Opened;
    /// How our tools are written.
    fn toolbox(&self) -> &'static dyn Toolbox;
    /// A window as fields of the request.
    fn render(&self, dress: &Dress<'_>) -> Rendered;
    /// The messages that answer calls, in their order.
    fn answers(&self, answered: &[(&Called, &str)]) -> Vec<Value>;
    /// How its replies are read and written.
    fn speech(&self) -> &'static dyn Speech;
}

/// How a dialect writes tools.
pub(crate) trait Toolbox: Send + Sync {
    /// One of ours, under this name.
    fn spec(&self, tool: RecallTool, name: &str) -> String;
    /// The choice of tools for a round in which none of ours may be called.
    fn without_ours(&self, request: &Request) -> String;
}

/// How a dialect's replies are read and written.
pub(crate) trait Speech: Send + Sync {
    /// Reads a whole reply; `None` if it is none.
    fn read(&self, body: &[u8]) -> Option<Said>;
    /// A whole reply's body that says this instead. The output of earlier rounds is added to its usage; their input is
    /// not, because clients size their window by it.
    fn edited(&self, body: &[u8], said: &Said, earlier: Output) -> Bytes;
    /// A whole reply's body that repeats the request as the client sent it. In most dialects, replies do not repeat it.
    fn restored(&self, body: Bytes, _: &Echo) -> Bytes {
        body
    }
    /// What was said as messages of a history.
    fn messages(&self, said: &Said) -> Vec<Value>;
    /// A reply of our own: one body, or the events of a stream.
    fn own(&self, own: &Own<'_>) -> Bytes;
    /// An error of ours.
    fn error(&self, kind: ErrorKind, code: &str, what: &str) -> Value;
    /// A streamed reply on its way through.
    fn relay(&self, hides_markers: bool) -> Box<dyn Relay>;
}

/// A streamed reply on its way through, over all its rounds.
pub(crate) trait Relay: Send {
    /// Is told the request as the client sent it, in case the reply repeats it.
    fn expect(&mut self, _: Echo) {}
    /// Takes an event; what the client may see of it now goes to `out`. Calls of ours are kept back, and so is the end
    /// of the reply if it has to wait.
    fn hear(&mut self, event: &Event, ear: &Ear<'_>, out: &mut BytesMut) -> Heard;
    /// What was said in this round, as far as it came. What was kept back of it may still be let out.
    fn take(&mut self) -> Said;
    /// Begins the next round, in which markers may have to be hidden, and forgets the last one.
    fn begin(&mut self, hides_markers: bool, out: &mut BytesMut);
    /// Lets out what was kept back: the reply ends here, and this is what is left of it.
    fn close(&mut self, left: &Said, out: &mut BytesMut);
    /// Whether the round has ended; its stream may still go on.
    fn has_ended(&self) -> bool;
    /// Says that a reply which has begun cannot go on; `why` may be the upstream's own words.
    fn fail(&mut self, why: &str, out: &mut BytesMut);
}

/// What a relay has to know of its request.
pub(crate) struct Ear<'a> {
    pub(crate) offer: &'a Offer,
    /// Whether the end of the reply may only be told once it is kept.
    pub(crate) waits: bool,
    /// The output of earlier rounds.
    pub(crate) earlier: Output,
}

/// The output of a reply's rounds in tokens, as the provider reported it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) tokens: u64,
    /// Those of them that were thought and not said, where that is told.
    pub(crate) reasoning: u64,
}

/// The request as the client sent it, for replies that repeat their request.
#[derive(Clone)]
pub(crate) struct Echo {
    /// What was added.
    pub(crate) offer: Offer,
    /// The request as the client sent it.
    pub(crate) request: Request,
    /// The fields of it that were taken out.
    pub(crate) gone: Vec<&'static str>,
}

/// What an event means for its round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It goes on.
    More,
    /// It is over.
    End,
}

/// What a request says beside its messages.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    /// Instructions that stand outside of the messages, each as a message; `None` where they stand among them.
    pub(crate) heads: Option<Vec<Box<RawValue>>>,
    /// What it follows, if it holds only what is new.
    pub(crate) follows: Option<Follows>,
    /// The messages that are new, if it holds older ones too that are not to be read.
    pub(crate) new: Option<String>,
    /// Why it has to go on as it came.
    pub(crate) untouched: Option<&'static str>,
    /// The names of the client's tools.
    pub(crate) tools: Vec<String>,
    /// Whether our tools must not be added to them.
    pub(crate) sealed: bool,
    /// Whether a later request may follow its reply by an id alone.
    pub(crate) followed: bool,
    /// Whether its reply is not told here, but fetched from its provider later.
    pub(crate) fetched: bool,
    /// The longest reply the client wants.
    pub(crate) reply_tokens: Option<u32>,
}

/// What a request follows that holds only what is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Follows {
    /// A response, by its id.
    Response(String),
    /// The last message of a conversation, by its name.
    Conversation(String),
    /// What a compaction of ours stands for, by its id. No provider can read it.
    Compaction(String),
}

/// What a window is written from.
pub(crate) struct Dress<'a> {
    pub(crate) turn: &'a Turn,
    pub(crate) request: &'a Request,
    /// The tools as they are sent, ours included.
    pub(crate) tools: Option<&'a str>,
    /// Whether the client's messages cannot go on as they came.
    pub(crate) touched: bool,
    /// What a model without tools is told.
    pub(crate) instruction: Option<&'a str>,
    /// The name of this session, for a model that recalls through the client's own tools.
    pub(crate) handle: Option<&'a str>,
    /// What of its earlier reasoning the model is sent.
    pub(crate) reasoning: Reasoning,
    /// Whether the conversation may have been held over another dialect so far.
    pub(crate) mixed: bool,
}

/// What of its earlier reasoning a model is sent, where it stands inside of its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reasoning {
    /// What it thought in this turn, and what stands after the very words it was made after.
    Usual,
    /// Only the latter: it accepts no other.
    Bound,
    /// All of it, wherever it stands: it does not go on without.
    All,
    /// Nothing: some of it was refused.
    Nothing,
}

/// A window, written.
#[derive(Debug, Default)]
pub(crate) struct Rendered {
    /// Fields of the request, with what they become; `None` takes a field out.
    pub(crate) changes: Vec<(&'static str, Option<String>)>,
    /// What had to be done to it, for the view.
    pub(crate) notices: Vec<String>,
    /// What the reply's reasoning will be bound to.
    pub(crate) bound: Option<Hash128>,
}

/// A reply that no model made.
#[derive(Debug)]
pub(crate) struct Own<'a> {
    pub(crate) id: &'a str,
    pub(crate) model: &'a str,
    pub(crate) text: &'a str,
    pub(crate) calls: Vec<Called>,
    pub(crate) streams: bool,
    /// Whether a stream tells what it cost.
    pub(crate) tells_usage: bool,
}

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// The request cannot be served as it is.
    Request,
    /// The model's API did not answer.
    Upstream,
}

impl ErrorKind {
    /// By what the status says.
    pub(crate) fn of(status: StatusCode) -> Self {
        if status.is_client_error() { Self::Request } else { Self::Upstream }
    }
}

/// A dialect, by its name in settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WireName {
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Anthropic,
}

impl WireName {
    /// Where it is spoken.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Responses => "/responses",
            Self::Anthropic => "/messages",
        }
    }

    /// The words by which its clients know that a request is too long, and shorten it. `LangChain` knows the first half
    /// of OpenAI's, litellm and what is built on it only the second.
    pub(crate) fn too_long(self) -> &'static str {
        match self {
            Self::Chat | Self::Responses => {
                "Your input exceeds the context window of this model (this model's maximum context length is exceeded)"
            }
            Self::Anthropic => "prompt is too long",
        }
    }
}

/// What a path names below `/v1`; the name of an upstream may stand before that, and begin alike.
pub(crate) fn below(path: &str) -> Option<&str> {
    let mut behind = path.match_indices("/v1").map(|(at, v1)| &path[at + v1.len()..]);
    behind.find(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The dialect that a path speaks.
pub(crate) fn of_path(path: &str) -> Option<&'static dyn Wire> {
    match path.split('?').next().unwrap_or_default() {
        "/chat/completions" => Some(&chat::Chat),
        "/responses" => Some(&responses::Responses),
        "/messages" => Some(&anthropic::Anthropic),
        _ => None,
    }
}
