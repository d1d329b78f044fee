//! Conversations with a name: each is a session that the client declares by it. Nothing of one is ever deleted here.

use axum::http::StatusCode;
use bytes::Bytes;
use percent_encoding::percent_decode_str;
use scrollback::ids::Depth;
use scrollback::log::{After, Arrival, History, Outcome};
use scrollback::store::{Batch, Beside, Expect, Kind, Place, Put, Scope, Span, Stored, Which};
use scrollback::{At, Error, MessageId, Result, SessionId, SessionKey, Tenant, export};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Answered, Proxy, error, item, read, told};
use crate::clock::now;
use crate::proxy::Plan;
use crate::wire::Follows;
use crate::wire::edit::raw;
use crate::wire::responses::{Responses, token};

/// Under which key a session says that it is such a conversation.
const KEY: &str = "conversation";
/// How many items are listed at once, unless more are asked for.
const ITEMS: usize = 20;

/// What is recorded of a conversation.
#[derive(Serialize, Deserialize)]
struct Made {
    created_at: i64,
    metadata: Value,
}

impl Made {
    fn told(&self, id: &str) -> Value {
        json!({"id": id, "object": "conversation", "created_at": self.created_at, "metadata": self.metadata})
    }
}

impl Proxy {
    /// Makes a conversation, perhaps with items.
    pub(super) async fn create(&self, tenant: &Tenant, body: &Bytes) -> Answered {
        let (said, at) = (read(body)?, now());
        let id = token("conv", &[&at.0.to_le_bytes(), body]);
        let made =
            Made { created_at: seconds(at), metadata: said.get("metadata").cloned().unwrap_or_else(|| json!({})) };
        self.record(tenant, &id, &made).await?;
        self.take(tenant, &id, &said["items"]).await?;
        Ok(Some(told(&made.told(&id))))
    }

    /// Gives a conversation other metadata.
    pub(super) async fn describe(&self, tenant: &Tenant, id: &str, body: &Bytes) -> Answered {
        let Some(made) = self.made(tenant, id).await? else { return Ok(None) };
        let metadata = read(body)?["metadata"].take();
        if !metadata.is_object() && !metadata.is_null() {
            return Err(Error::Invalid("the metadata must be an object".into()));
        }
        let metadata = if metadata.is_null() { json!({}) } else { metadata };
        let made = Made { metadata, ..made };
        self.record(tenant, id, &made).await?;
        Ok(Some(told(&made.told(id))))
    }

    async fn record(&self, tenant: &Tenant, id: &str, made: &Made) -> Result<()> {
        let session = named(tenant, id);
        let put = Put {
            scope: Scope::Session(session.clone()),
            kind: Kind::Setting,
            key: KEY.to_owned(),
            at: now(),
            body: raw(&json!(made)),
            expect: Expect::Any,
        };
        let batch = Batch { declared: Some(id.to_owned()), records: vec![put], ..Batch::new(session) };
        self.engine.log().store().commit(batch).await.map(drop)
    }

    /// Tells of a conversation.
    pub(super) async fn conversation(&self, tenant: &Tenant, id: &str) -> Answered {
        Ok(self.made(tenant, id).await?.map(|made| told(&made.told(id))))
    }

    /// Adds items to a conversation.
    pub(super) async fn add(&self, tenant: &Tenant, id: &str, body: &Bytes) -> Answered {
        if self.made(tenant, id).await?.is_none() {
            return Ok(None);
        }
        let added = self.take(tenant, id, &read(body)?["items"]).await?;
        Ok(Some(told(&list(&added.iter().map(item).collect::<Vec<_>>(), false))))
    }

    /// Lists the items of a conversation, the newest first unless it is asked otherwise.
    pub(super) async fn listed(&self, tenant: &Tenant, id: &str, query: &str) -> Answered {
        if self.made(tenant, id).await?.is_none() {
            return Ok(None);
        }
        let asked = |name: &str| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let found = pairs.filter(|(key, _)| *key == name).map(|(_, value)| percent_decode_str(value)).next();
            found.map(|value| value.decode_utf8_lossy().into_owned())
        };
        let mut items: Vec<Value> = self.path(&named(tenant, id)).await?.iter().map(item).collect();
        if asked("order").as_deref() != Some("asc") {
            items.reverse();
        }
        if let Some(after) = asked("after") {
            let passed = items.iter().position(|item| item["id"] == after.as_str());
            let unknown = || Error::Invalid(format!("there is no item “{after}” in the conversation to list after"));
            items.drain(..=passed.ok_or_else(unknown)?);
        }
        let limit = asked("limit").and_then(|limit| limit.parse().ok()).unwrap_or(ITEMS).clamp(1, 100);
        let more = items.len() > limit;
        items.truncate(limit);
        Ok(Some(told(&list(&items, more))))
    }

    /// Tells an item of a conversation.
    pub(super) async fn one(&self, tenant: &Tenant, id: &str, name: &str) -> Answered {
        if self.made(tenant, id).await?.is_none() {
            return Ok(None);
        }
        let found = self.path(&named(tenant, id)).await?.iter().map(item).find(|item| item["id"] == name);
        let unknown = || Error::NotFound(format!("there is no item “{name}” in the conversation “{id}”"));
        Ok(Some(told(&found.ok_or_else(unknown)?)))
    }

    /// What is in the log stays in the log; a conversation in which nothing was said is not.
    pub(super) async fn deleted(&self, tenant: &Tenant, id: &str, whole: bool) -> Answered {
        if self.made(tenant, id).await?.is_none() {
            return Ok(None);
        }
        let key = named(tenant, id);
        if whole && self.engine.log().store().sessions(tenant, Which::Id(key.id)).await?.is_empty() {
            self.eraser.forget(&key).await?;
            return Ok(Some(told(&json!({"id": id, "object": "conversation.deleted", "deleted": true}))));
        }
        let session = key.id.to_string();
        let what = format!("nothing is deleted here; `DELETE /api/sessions/{session}` erases all of it for good");
        Ok(Some(error(&Responses, StatusCode::METHOD_NOT_ALLOWED, "not_supported", &what)))
    }

    /// An error if a request goes on from a conversation that was not made here.
    pub(in crate::proxy) async fn knows_conversation(&self, plan: &Plan) -> Result<()> {
        let Some(Follows::Conversation(name)) = &plan.follows else { return Ok(()) };
        let unknown = || Error::NotFound(format!("the conversation “{name}” is not in the log"));
        self.made(&plan.tenant, name).await?.map(drop).ok_or_else(unknown)
    }

    async fn made(&self, tenant: &Tenant, id: &str) -> Result<Option<Made>> {
        let scope = Scope::Session(named(tenant, id));
        let record = self.engine.log().store().record(scope, Kind::Setting, KEY.to_owned()).await?;
        let damaged = |_| Error::Damaged(format!("the record of conversation “{id}” is unreadable"));
        record.map(|record| serde_json::from_str(record.body.get()).map_err(damaged)).transpose()
    }

    /// Takes items into the log, and tells which are on the path now that were not.
    async fn take(&self, tenant: &Tenant, id: &str, items: &Value) -> Result<Vec<Stored>> {
        if items.as_array().is_none_or(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let text = items.to_string();
        let history = History::parse(&text)?.with_heads(Vec::new());
        let arrival = Arrival::new(tenant, Some(id), "", now());
        let log = self.engine.log();
        let mut received = log.receive_new(arrival, After::Last(id), &history).await?;
        if let (Outcome::Replay, Some(head)) = (received.outcome, received.head) {
            // What is added twice is there twice. Behind a message with a name of its own, it is no request sent again.
            let here = token("here", &[id.as_bytes(), &head.id.0.to_le_bytes()]);
            log.name(&received, &here, arrival.at).await?;
            received = log.receive_new(arrival, After::Response(&here), &history).await?;
        }
        Ok(received.fresh.iter().map(|stored| (**stored).clone()).collect())
    }

    /// The messages of a conversation, oldest first, with its reasoning.
    pub(super) async fn path(&self, session: &SessionKey) -> Result<Vec<Stored>> {
        let store = self.engine.log().store();
        let last = store.read(session, Span::Last).await?.pop().and_then(|last| last.position());
        match last {
            Some(head) => {
                let path = store.read(session, Span::path(head, Depth(0))).await?;
                let all = store.read(session, Span::Arrival { from: MessageId(0), limit: usize::MAX >> 1 }).await?;
                let mut all = export::with_beside(path, &all);
                all.retain(|stored| stored.place != Place::Beside(Beside::Preamble));
                Ok(all)
            }
            None => Ok(Vec::new()),
        }
    }
}

/// The session that a conversation is.
fn named(tenant: &Tenant, id: &str) -> SessionKey {
    SessionKey { tenant: tenant.clone(), id: SessionId::declared(tenant, id) }
}

fn seconds(at: At) -> i64 {
    at.0 / 1_000_000
}

fn list(items: &[Value], more: bool) -> Value {
    let id = |item: Option<&Value>| item.map_or(Value::Null, |item| item["id"].clone());
    let (first, last) = (id(items.first()), id(items.last()));
    json!({"object": "list", "data": items, "first_id": first, "last_id": last, "has_more": more})
}
