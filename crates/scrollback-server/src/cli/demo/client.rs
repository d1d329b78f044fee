//! A chat client with the wire that the SDKs use: it sends its whole history every turn and reads a stream.

use anyhow::{Context, bail};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::wire::sse::Splitter;

/// How long a reply may be.
const REPLY_TOKENS: u32 = 400;

pub(super) struct Client {
    http: reqwest::Client,
    url: String,
    /// The model it asks for; whoever answers, this is the price it is reckoned at.
    model: &'static str,
    pub(super) history: Vec<Box<RawValue>>,
}

/// What came back.
pub(super) struct Reply {
    pub(super) text: String,
    /// What Scrollback calls the window it was made from.
    pub(super) view: String,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    stream: bool,
    max_completion_tokens: u32,
    messages: &'a [Box<RawValue>],
}

impl Client {
    pub(super) fn new(address: std::net::SocketAddr, model: &'static str) -> anyhow::Result<Self> {
        let url = format!("http://{address}/v1/chat/completions");
        Ok(Self { http: crate::upstream::client()?, url, model, history: Vec::new() })
    }

    /// Sends the history and adds the reply to it.
    pub(super) async fn ask(&mut self) -> anyhow::Result<Reply> {
        let reply = self.send(&self.history).await?;
        self.history.push(to_raw_value(&serde_json::json!({"role": "assistant", "content": reply.text}))?);
        Ok(reply)
    }

    /// Sends all but the last reply once more, as a client does that lost it.
    pub(super) async fn send_again(&self) -> anyhow::Result<()> {
        let (_, before) = self.history.split_last().context("nothing was sent yet")?;
        self.send(before).await.map(drop)
    }

    /// Sends messages.
    async fn send(&self, messages: &[Box<RawValue>]) -> anyhow::Result<Reply> {
        let model = self.model;
        let body = serde_json::to_vec(&Request { model, stream: true, max_completion_tokens: REPLY_TOKENS, messages })?;
        let request = self.http.post(&self.url).header("content-type", "application/json").body(body);
        let mut response = request.send().await.context("the proxy does not answer")?;
        if !response.status().is_success() {
            bail!("the proxy refused a request: {}", response.text().await.unwrap_or_default());
        }
        let view = response.headers().get("x-scrollback-view").and_then(|view| view.to_str().ok());
        let view = view.context("the proxy did not manage the window")?.to_owned();
        let (mut splitter, mut text) = (Splitter::default(), String::new());
        while let Some(bytes) = response.chunk().await? {
            splitter.push(&bytes);
            while let Some(event) = splitter.next() {
                text.push_str(&piece(event.data.as_deref().unwrap_or_default()));
            }
        }
        Ok(Reply { text, view })
    }
}

/// The words in an event of a stream.
fn piece(event: &[u8]) -> String {
    let chunk: Value = serde_json::from_slice(event).unwrap_or_default();
    chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default().to_owned()
}
