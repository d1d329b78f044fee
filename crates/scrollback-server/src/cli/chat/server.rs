//! Whom a chat asks: the server that holds the store, or else one of its own in this process. Either is asked over
//! HTTP, and either is found by the other commands, so that they work beside a chat.

use std::sync::Arc;

use anyhow::{Context, bail};
use axum::http::{Method, header};
use scrollback::Error;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::reply::Reply;
use crate::access::TOKEN_HEADER;
use crate::address::{self, Holder, Posted, Whereabouts};
use crate::api::Ask;
use crate::cli::{Desk, serve};
use crate::serve::Server as Bound;
use crate::store::Opened;

/// A server to talk to.
pub(super) struct Server {
    there: Whereabouts,
    http: reqwest::Client,
    own: Option<Own>,
}

/// Why a message was not answered, and where it is kept all the same.
#[derive(Debug)]
pub(super) struct Unanswered {
    why: String,
    pub(super) kept: Option<String>,
}

impl std::fmt::Display for Unanswered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Unanswered {}

/// One of our own.
struct Own {
    stop: oneshot::Sender<()>,
    serving: JoinHandle<anyhow::Result<()>>,
    _posted: Option<Posted>,
}

impl Server {
    /// Finds the server that holds the store, or starts one.
    pub(super) async fn open(desk: &Desk) -> anyhow::Result<Self> {
        let http = crate::upstream::client()?;
        match desk.writing().await {
            Ok(store) => {
                let (own, there) = started(desk, store).await?;
                Ok(Self { there, http, own: Some(own) })
            }
            Err(error) => match error.downcast::<Error>() {
                Ok(Error::InUse { path, holder }) => match address::of_holder(&path, &holder) {
                    Some(there) => Ok(Self { there, http, own: None }),
                    None => Err(Error::InUse { path, holder }.into()),
                },
                Ok(error) => Err(error.into()),
                Err(error) => Err(error),
            },
        }
    }

    /// Asks something of the API.
    pub(super) async fn ask(&self, ask: &Ask) -> anyhow::Result<Value> {
        let answer = self.send(ask).await?;
        let (status, url) = (answer.status(), &self.there.url);
        let body = answer.bytes().await.with_context(|| format!("the server at {url} broke off its answer"))?;
        let value: Value = serde_json::from_slice(&body).unwrap_or_default();
        if status.is_success() { Ok(value) } else { bail!("{}", refusal(&value, status, url)) }
    }

    /// Says something to a model.
    pub(super) async fn say(&self, wanted: &Value) -> anyhow::Result<Reply> {
        let answer = self.send(&Ask::new(Method::POST, &["chat"]).saying(wanted)).await?;
        let status = answer.status();
        if status.is_success() {
            return Ok(Reply::of(answer));
        }
        let kept = answer.headers().get("x-scrollback-session").and_then(|id| Some(id.to_str().ok()?.to_owned()));
        let value: Value = serde_json::from_slice(&answer.bytes().await.unwrap_or_default()).unwrap_or_default();
        let told = refusal(&value, status, &self.there.url);
        let is_unknown = value["code"] == "not_found" && wanted["session"].is_string() && wanted["branch"].is_null();
        let begin = if is_unknown { "\n`scrollback chat - MESSAGE` begins a new one" } else { "" };
        Err(Unanswered { why: told + begin, kept }.into())
    }

    async fn send(&self, ask: &Ask) -> anyhow::Result<reqwest::Response> {
        let url = &self.there.url;
        let request = self.http.request(ask.method.clone(), format!("{url}{}", ask.url()));
        let request = request.header(TOKEN_HEADER, &self.there.pass).header(header::CONTENT_TYPE, "application/json");
        let gone = || format!("the server that holds the store does not answer at {url}");
        request.body(ask.body.clone()).send().await.with_context(gone)
    }

    /// Another server, if the one that was found is gone: whoever ran it may have left.
    pub(super) async fn renewed(&mut self, desk: &Desk) -> anyhow::Result<()> {
        if self.own.is_some() || self.http.get(format!("{}/health", self.there.url)).send().await.is_ok() {
            return Ok(());
        }
        *self = Self::open(desk).await?;
        Ok(())
    }

    /// Where it is, if somebody else runs it.
    pub(super) fn elsewhere(&self) -> Option<&str> {
        self.own.is_none().then_some(&*self.there.url)
    }

    /// Leaves; a server of our own keeps what is still to be kept, and stops.
    pub(super) async fn leave(self) -> anyhow::Result<()> {
        let Some(own) = self.own else { return Ok(()) };
        // It may have ended by itself.
        let _ = own.stop.send(());
        own.serving.await.context("the server ended early")?
    }
}

async fn started(desk: &Desk, store: Arc<Opened>) -> anyhow::Result<(Own, Whereabouts)> {
    let mut settings = desk.settings.serve.clone();
    settings.listen = "127.0.0.1:0".into();
    let proxy = serve::proxy(desk, store, settings)?;
    let bound = Bound::bind(proxy.clone()).await?;
    let there =
        Whereabouts { url: format!("http://{}", bound.address), pass: proxy.access.pass.clone(), what: Holder::Chat };
    let file = desk.settings.store.file();
    let posted = file.map(|file| Posted::post(file, Holder::Chat, bound.address, &there.pass)).transpose()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let reviews = serve::reviews(desk, &proxy);
    let serving = tokio::spawn(serve::attended(reviews, proxy, bound, async { drop(stopped.await) }));
    Ok((Own { stop, serving, _posted: posted }, there))
}

/// What a server says of a request that it refuses, and what may help.
fn refusal(value: &Value, status: reqwest::StatusCode, url: &str) -> String {
    let Some(detail) = value["detail"].as_str() else { return format!("the server at {url} answered {status}") };
    match value["code"].as_str() {
        Some("no_key" | "upstream_unreachable") => {
            format!(
                "{detail}\n`scrollback chat --upstream quote` answers in quotations of what was said, without a model"
            )
        }
        _ => detail.to_owned(),
    }
}
