//! A scripted upstream: it remembers what it was asked, and answers what it is told to.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// What is answered.
#[derive(Clone)]
pub(crate) enum Reply {
    /// A model's message, with what it read, how much of that from a cache, and what it wrote.
    Message(Value, [u64; 3]),
    /// Whatever else is wanted.
    Json(Value),
    /// A status, a header and a body.
    Status(u16, Option<(&'static str, &'static str)>, &'static str),
    /// The beginning of a body.
    Cut,
    /// The same, later.
    Slow(Duration, Box<Reply>),
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) headers: HeaderMap,
    pub(crate) path: String,
    pub(crate) body: Value,
}

impl Asked {
    /// Whether a judge is asked.
    pub(crate) fn judges(&self) -> bool {
        self.body.to_string().contains("\\\"verdict\\\"")
    }

    /// Everything it says.
    pub(crate) fn text(&self) -> String {
        self.body.to_string()
    }
}

type Script = Arc<dyn Fn(usize, &Asked) -> Reply + Send + Sync>;
type Asks = Arc<Mutex<Vec<Asked>>>;

/// An upstream that does as it is told.
pub(crate) struct Upstream {
    pub(crate) url: String,
    asked: Asks,
    // Ends with the test.
    _runtime: Runtime,
}

impl Upstream {
    pub(crate) fn new(script: impl Fn(usize, &Asked) -> Reply + Send + Sync + 'static) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (asked, script): (Asks, Script) = (Asks::default(), Arc::new(script));
        let router = Router::new().fallback(answered).with_state((asked.clone(), script));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { url, asked, _runtime: runtime }
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

async fn answered(
    State((asks, script)): State<(Asks, Script)>,
    uri: axum::http::Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let asked = Asked { headers, path: uri.path().to_owned(), body: serde_json::from_slice(&body).unwrap() };
    let number = {
        let mut asks = asks.lock().unwrap();
        asks.push(asked.clone());
        asks.len() - 1
    };
    let mut reply = script(number, &asked);
    if let Reply::Slow(time, later) = reply {
        tokio::time::sleep(time).await;
        reply = *later;
    }
    written(reply)
}

fn written(reply: Reply) -> Response<Body> {
    match reply {
        Reply::Message(message, [read, cached, wrote]) => {
            let finish = if message.get("tool_calls").is_some() { "tool_calls" } else { "stop" };
            let usage = json!({"prompt_tokens": read, "completion_tokens": wrote,
                               "prompt_tokens_details": {"cached_tokens": cached}});
            let choice = json!({"index": 0, "message": message, "finish_reason": finish});
            let body = json!({"id": "c1", "object": "chat.completion", "choices": [choice], "usage": usage});
            Response::new(Body::from(body.to_string()))
        }
        Reply::Json(body) => Response::new(Body::from(body.to_string())),
        Reply::Status(status, header, body) => {
            let mut response = Response::builder().status(status);
            if let Some((name, value)) = header {
                response = response.header(name, value);
            }
            response.body(Body::from(body)).unwrap()
        }
        Reply::Cut => {
            let pieces = [Ok(Bytes::from_static(b"{\"choices\": [")), Err(std::io::Error::other("cut"))];
            // Late enough for the beginning to be on its way.
            let pieces = futures_util::stream::iter(pieces).then(|piece| async {
                tokio::time::sleep(Duration::from_millis(50)).await;
                piece
            });
            Response::new(Body::from_stream(pieces))
        }
        Reply::Slow(_, later) => written(*later),
    }
}

/// A model that says something.
pub(crate) fn says(text: &str) -> Reply {
    Reply::Message(json!({"role": "assistant", "content": text}), [100, 40, 10])
}

/// A judge that is of an opinion.
pub(crate) fn judges(verdict: &str) -> Reply {
    says(&json!({"reason": "It is so.", "verdict": verdict}).to_string())
}

/// A model that recalls.
pub(crate) fn searches(words: &str) -> Reply {
    let call = json!({"id": "call_1", "type": "function",
        "function": {"name": "search_history", "arguments": json!({"words": words}).to_string()}});
    Reply::Message(json!({"role": "assistant", "content": null, "tool_calls": [call]}), [100, 40, 10])
}
