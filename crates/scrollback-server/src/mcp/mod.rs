//! MCP: the recall tools and the log, for clients that are not behind the proxy. `scrollback mcp` speaks it over stdio,
//! `/mcp` on the server over HTTP; both in the revisions with a handshake and in the stateless one of 2026-07-28.
//!
//! The crate `rmcp` speaks the protocol, and only this module knows it. `tools` says what there is to call and `call`
//! does it, `resources` says what there is to read and `read` reads it, `sessions` lists, `http` and `stdio` stand at the
//! doors.
//! Nothing is written.

mod call;
mod http;
mod read;
mod resources;
mod sessions;
mod stdio;
mod tools;

use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use scrollback::Error;
use serde_json::{Value, json};

pub(crate) use http::router;

use crate::api::{LISTED, Refusal, Room};

/// What a model is told of it all.
const INSTRUCTIONS: &str = include_str!("instructions.md");

/// How much of what was read waits to be understood.
const PIPE_BYTES: usize = 64 << 10;

/// How a store is opened.
type Opening = dyn Fn() -> BoxFuture<'static, anyhow::Result<Room>> + Send + Sync;

/// Whoever answers: reads the store it is given, as soon as there is one.
#[derive(Clone)]
pub(crate) struct Reader {
    room: Arc<OnceLock<Arc<Room>>>,
    open: Arc<Opening>,
}

impl Reader {
    /// A reader of a store that may not be there yet; a client is often set up before the first conversation.
    pub(crate) fn opening(open: impl Fn() -> BoxFuture<'static, anyhow::Result<Room>> + Send + Sync + 'static) -> Self {
        Self { room: Arc::default(), open: Arc::new(open) }
    }

    /// A reader of a store that is open.
    fn of(room: Arc<Room>) -> Self {
        let reader = Self::opening(|| Box::pin(async { anyhow::bail!("the store is open already") }));
        reader.room.get_or_init(|| room);
        reader
    }

    async fn room(&self) -> Result<Arc<Room>, Refusal> {
        if let Some(room) = self.room.get() {
            return Ok(room.clone());
        }
        let opened = (self.open)().await.map_err(unopened)?;
        Ok(self.room.get_or_init(|| Arc::new(opened)).clone())
    }
}

/// Speaks over stdin and stdout until the client hangs up.
pub(crate) async fn over_stdio(reader: Reader) -> anyhow::Result<()> {
    let (onward, input) = tokio::io::duplex(PIPE_BYTES);
    let passing = tokio::spawn(stdio::passed_on(tokio::io::stdin(), onward, tokio::io::stdout()));
    let served = match reader.serve((input, tokio::io::stdout())).await {
        Ok(running) => running.waiting().await.map(drop).map_err(Into::into),
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error.into()),
    };
    passing.abort();
    served
}

/// An error of the protocol as it is sent.
fn fault(id: &Value, code: ErrorCode, message: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string()
}

/// Why a store cannot be read. Where none is yet, it may come; one that is damaged is no empty one.
fn unopened(error: anyhow::Error) -> Refusal {
    let (is_missing, told) = (matches!(error.downcast_ref(), Some(Error::NotFound(_)) | None), error.to_string());
    match error.downcast::<Error>() {
        Ok(error) if !is_missing => Refusal::from(error),
        Ok(_) | Err(_) => Refusal::not_found(told),
    }
}

/// What cannot be read or reached, for a client of the protocol.
fn unreadable(refusal: Refusal) -> ErrorData {
    match refusal.status.as_u16() {
        404 => ErrorData::resource_not_found(refusal.message, None),
        400..500 => ErrorData::invalid_params(refusal.message, None),
        _ => ErrorData::internal_error(refusal.message, None),
    }
}

/// A caller here has no routes: the sessions are listed elsewhere.
fn toward(refusal: &Refusal, list: &str) -> Refusal {
    Refusal::new(refusal.status, refusal.code, refusal.message.replace(LISTED, list))
}

/// What is told of a request that cannot be read: what to say, where it is one of those that are answered here.
fn misread(method: String) -> ErrorData {
    let wanted = match &*method {
        "tools/call" => "name a tool as `name`, a text, and what it is called with as `arguments`, an object",
        "resources/read" => "name what to read as `uri`, a text such as scrollback://sessions",
        "tools/list" | "resources/list" | "resources/templates/list" => "a `cursor` is a text; leave it out to begin",
        _ => return ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None),
    };
    ErrorData::invalid_params(wanted, None)
}

type Context = RequestContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;

impl ServerHandler for Reader {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let server = Implementation::new("scrollback", env!("CARGO_PKG_VERSION")).with_title("Scrollback");
        ServerConfig::new(capabilities).with_server_info(server).with_instructions(INSTRUCTIONS.trim_end())
    }

    async fn list_tools(&self, _: Page, _: Context) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(&self, request: CallToolRequestParams, _: Context) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        // The state of a recall is large; it need not be part of every request.
        Box::pin(call::carried_out(self, &request.name, &arguments)).await.map(Into::into)
    }

    async fn list_resources(&self, page: Page, _: Context) -> Result<ListResourcesResult, ErrorData> {
        resources::list(self, page.and_then(|page| page.cursor)).await
    }

    async fn list_resource_templates(&self, _: Page, _: Context) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = Box::pin(read::read(self, &request.uri)).await.map(Into::into);
        read.map_err(|refusal| unreadable(toward(&refusal, "scrollback://sessions lists them")))
    }

    async fn on_custom_request(&self, request: CustomRequest, _: Context) -> Result<CustomResult, ErrorData> {
        Err(misread(request.method))
    }
}
