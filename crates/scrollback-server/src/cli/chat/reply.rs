//! A reply as it comes from the server: an event after another.

use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::wire::sse::{Event, Splitter};

/// A reply on its way.
pub(super) struct Reply {
    response: reqwest::Response,
    splitter: Splitter,
}

/// What is heard of it.
#[derive(Debug)]
pub(super) enum Heard {
    /// Its window is laid out.
    Turn(Turn),
    Text(String),
    Thinking(String),
    /// The model asked to see something again.
    Recall(String),
    /// It is kept; all that is told of it.
    Done(Value),
}

/// A turn that has begun.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Turn {
    pub(super) session: String,
    pub(super) question: String,
    pub(super) branch: u32,
    pub(super) folded: bool,
    pub(super) covers: Option<[String; 2]>,
}

impl Reply {
    pub(super) fn of(response: reqwest::Response) -> Self {
        Self { response, splitter: Splitter::default() }
    }

    /// What comes next.
    pub(super) async fn next(&mut self) -> anyhow::Result<Heard> {
        loop {
            while let Some(event) = self.splitter.next() {
                if let Some(heard) = heard(&event)? {
                    return Ok(heard);
                }
            }
            let bytes = self.response.chunk().await.context("the server broke off the reply; ask again")?;
            let Some(bytes) = bytes else { bail!("the reply has no end; ask again") };
            self.splitter.push(&bytes);
        }
    }
}

/// What an event says; `None` for what a person need not know.
fn heard(event: &Event) -> anyhow::Result<Option<Heard>> {
    let Some(data) = &event.data else { return Ok(None) };
    let told: Value =
        serde_json::from_slice(data).context("the server is not understood: is it of another version?")?;
    let text = |name: &str| told[name].as_str().unwrap_or_default().to_owned();
    let raw = String::from_utf8_lossy(&event.raw);
    let name = raw.lines().find_map(|line| line.strip_prefix("event: ")).unwrap_or_default();
    Ok(Some(match name {
        "turn" => Heard::Turn(serde_json::from_value(told).context("the server is of another version")?),
        "text" => Heard::Text(text("text")),
        "thinking" => Heard::Thinking(text("text")),
        "recall" => Heard::Recall(text("asked")),
        "done" => Heard::Done(told),
        "error" => bail!("{}", text("detail")),
        _ => return Ok(None),
    }))
}
