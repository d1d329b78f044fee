//! OpenAI Chat Completions, as many other servers speak it too.
//!
//! `render` turns a window into messages with `results` behind their calls and as much of replies as goes `back`,
//! `neighbours` joins those of one speaker, `reply` gathers what a model says chunk by chunk, `relay` passes it on,
//! `speech` writes whole replies, `answer` those that no model made.

mod answer;
mod back;
mod neighbours;
mod relay;
mod render;
mod reply;
mod results;
mod speech;

use axum::http::HeaderMap;
use scrollback::recall::RecallTool;
use serde_json::{Value, json};

use super::request::Request;
use super::said::Called;
use super::{Dress, Opened, Rendered, Speech, Toolbox, Wire, WireName};

pub(crate) use neighbours::joined;

/// The dialect.
pub(crate) struct Chat;

impl Wire for Chat {
    fn name(&self) -> WireName {
        WireName::Chat
    }

    fn history(&self) -> &'static str {
        "messages"
    }

    fn opened(&self, request: &Request, _: &HeaderMap) -> Opened {
        let several = request.value("n").as_u64().is_some_and(|choices| choices > 1);
        Opened {
            untouched: several.then_some("it asks for several answers"),
            tools: names(&request.value("tools")),
            // Functions of old must not stand beside tools.
            sealed: request.value("functions").is_array(),
            reply_tokens: request.tokens("max_completion_tokens").or_else(|| request.tokens("max_tokens")),
            ..Opened::default()
        }
    }

    fn toolbox(&self) -> &'static dyn Toolbox {
        &Functions
    }

    fn render(&self, dress: &Dress<'_>) -> Rendered {
        let changes = dress.touched.then(|| ("messages", Some(render::messages(dress)))).into_iter().collect();
        Rendered { changes, ..Rendered::default() }
    }

    fn answers(&self, answered: &[(&Called, &str)]) -> Vec<Value> {
        let answer =
            |(call, text): &(&Called, &str)| json!({"role": "tool", "tool_call_id": call.value["id"], "content": text});
        answered.iter().map(answer).collect()
    }

    fn speech(&self) -> &'static dyn Speech {
        &speech::Completions
    }
}

/// How tools are written here.
struct Functions;

impl Toolbox for Functions {
    fn spec(&self, tool: RecallTool, name: &str) -> String {
        let (known, wanted) = (format!("\"name\":\"{}\"", tool.name()), format!("\"name\":\"{name}\""));
        tool.spec().replacen(&known, &wanted, 1)
    }

    // Where the client's own must be called, ours are not sent.
    fn without_ours(&self, _: &Request) -> String {
        "\"none\"".to_owned()
    }
}

fn names(tools: &Value) -> Vec<String> {
    let names = tools.as_array().into_iter().flatten().map(reply::called);
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
