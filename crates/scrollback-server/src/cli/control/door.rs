//! How a command asks: in this process, over the store itself; or, where a server holds the store, of that server. The
//! answer is the same.

use anyhow::{Context, bail};
use axum::http::{Method, header};
use scrollback::{Engine, Error, Store};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

use super::Where;
use crate::access::{Guest, TOKEN_HEADER, Tokens};
use crate::address::{self, Whereabouts};
use crate::api::{Ask, Place, Room};
use crate::cli::Desk;
use crate::cli::serve::{tasks, with_helpers};
use crate::erasing::Eraser;

impl Desk {
    /// Asks, and reads the answer.
    pub(in crate::cli) async fn asked<T: DeserializeOwned>(&self, ask: &Ask) -> anyhow::Result<T> {
        read(self.ask(ask).await?)
    }

    /// Asks. What changes nothing is read from the store beside whoever writes to it.
    pub(in crate::cli) async fn ask(&self, ask: &Ask) -> anyhow::Result<Value> {
        let missing = self.settings.store.file().is_some_and(|file| !file.exists());
        if ask.method == Method::GET || missing {
            let room = self.room(self.engine(self.reading().await?));
            return Ok(Box::pin(room.answer(&self.exactly(room.store(), ask).await?)).await?);
        }
        match self.settings.store.writing().await.map_err(anyhow::Error::downcast::<Error>) {
            Ok(store) => {
                let store = Arc::new(store);
                let eraser = Eraser::new(store.clone());
                let engine = if asks_helper(ask) { self.helped(store)? } else { self.engine_over(store) };
                let room = Room { eraser: Some(eraser), ..self.room(engine) };
                Ok(Box::pin(room.answer(&self.exactly(room.store(), ask).await?)).await?)
            }
            Err(Ok(Error::InUse { path, holder })) => match address::of_holder(&path, &holder) {
                Some(there) => {
                    self.local_only("a server holds the store and does for commands what is yours")?;
                    of_server(&there, &self.exactly(&self.reading().await?, ask).await?).await
                }
                None => Err(Error::InUse { path, holder }.into()),
            },
            Err(Ok(error)) => Err(error.into()),
            Err(Err(error)) => Err(error),
        }
    }

    /// An engine with the helpers of the settings, whose keys have to be there.
    fn helped(&self, store: Arc<dyn Store>) -> anyhow::Result<Engine> {
        let (serve, settings) = (&self.settings.serve, &self.settings.engine);
        with_helpers(Engine::new(store, tasks(serve)?, settings.clone()), serve, &settings.strategies)
    }

    /// The same of a session by its whole id: the API takes no beginnings of names.
    async fn exactly(&self, store: &dyn Store, ask: &Ask) -> anyhow::Result<Ask> {
        let mut ask = ask.clone();
        if let [thing, name, ..] = ask.path.as_mut_slice()
            && thing.as_str() == "sessions"
        {
            *name = self.session(store, name).await?.id.to_string();
        }
        Ok(ask)
    }

    /// The place that a person means, for reading.
    pub(in crate::cli) async fn place(&self, room: &Room, meant: &Where) -> anyhow::Result<Place> {
        let session = self.session(room.store(), &meant.session).await?;
        Ok(room.place(&meant.ask(Method::GET, &[]), &session.id.to_string()).await?)
    }

    /// What requests work with, over an engine.
    pub(in crate::cli) fn room(&self, engine: Engine) -> Room {
        let tokens = Arc::new(Tokens::new(engine.log().store().clone(), 0));
        let (tenant, serve) = (self.tenant.clone(), Arc::new(self.settings.serve.clone()));
        Room { engine: Arc::new(engine), tenant, guest: Guest::local(), serve, tokens, proxy: None, eraser: None }
    }
}

/// Whether a request may ask the helper something: only one that folds does. Whatever else a person changes needs none
/// of its keys.
fn asks_helper(ask: &Ask) -> bool {
    matches!(ask.path.as_slice(), [thing, _, verb] if thing == "sessions" && verb == "compress")
}

/// An answer, read.
pub(in crate::cli) fn read<T: DeserializeOwned>(value: Value) -> anyhow::Result<T> {
    serde_json::from_value(value).context("the answer is not understood: is the server of another version?")
}

async fn of_server(there: &Whereabouts, ask: &Ask) -> anyhow::Result<Value> {
    let address = &there.url;
    let request = crate::upstream::client()?.request(ask.method.clone(), format!("{address}{}", ask.url()));
    let request = request
        .header(TOKEN_HEADER, &there.pass)
        .header(header::CONTENT_TYPE, "application/json")
        .body(ask.body.clone());
    let unreachable = || format!("the server that holds the store does not answer at {address}");
    let answer = request.send().await.with_context(unreachable)?;
    let status = answer.status();
    let body = answer.bytes().await.with_context(unreachable)?;
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    if status.is_success() {
        return Ok(value);
    }
    match value["detail"].as_str() {
        Some(message) => bail!("{message}"),
        None => bail!("the server at {address} answered {status}"),
    }
}
