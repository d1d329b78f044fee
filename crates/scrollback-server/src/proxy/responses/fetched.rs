//! Replies that are made in the background: their provider keeps them until somebody fetches them, and then the log
//! takes them too, so that a later request may follow them by their ids.

use axum::body::Body;
use scrollback::log::{After, Arrival, History};
use scrollback::store::{Kind, Origin, Scope};
use scrollback::{Result, Tenant};
use serde_json::{Value, json};

use super::{Answered, Incoming, Proxy, Upstream, pass};
use crate::clock::now;
use crate::proxy::asking::is_stream;
use crate::proxy::shared;
use crate::upstream::Outgoing;
use crate::wire::Wire;
use crate::wire::responses::Responses;
use crate::wire::said::Said;

/// What the place is called that a reply in the background belongs to. The reply's own name is given to its end.
pub(in crate::proxy) fn awaited(response: &str) -> String {
    format!("awaited:{response}")
}

/// The same of a reply that has only begun.
pub(in crate::proxy) fn awaited_in(body: &[u8]) -> Option<String> {
    field(body, "id").as_deref().map(awaited)
}

fn field(body: &[u8], name: &str) -> Option<String> {
    serde_json::from_slice::<Value>(body).ok()?[name].as_str().map(str::to_owned)
}

impl Proxy {
    /// Has the provider tell a reply that the log waits for, and keeps it once it is whole.
    pub(super) async fn fetch(&self, upstream: &Upstream, incoming: &Incoming, id: &str) -> Answered {
        let Incoming { tenant, method, path, headers, body, .. } = incoming;
        let place =
            self.engine.log().store().record(Scope::Tenant(tenant.clone()), Kind::Response, awaited(id)).await?;
        if place.is_none() || shared::refused(upstream, incoming).is_some() {
            return Ok(None);
        }
        let asked = Outgoing { method: method.clone(), path, headers, body: body.clone() };
        let Ok(answer) = upstream.send(asked).await else { return Ok(None) };
        if !answer.status.is_success() || is_stream(&answer.headers) {
            return Ok(Some(pass::answered(answer)));
        }
        let Ok(body) = answer.body.all().await else { return Ok(None) };
        if let Some(said) = Responses.speech().read(&body) {
            self.keep_fetched(tenant, id, &said, &field(&body, "model").unwrap_or_default()).await?;
        }
        Ok(Some(pass::with(answer.status, answer.headers, Body::from(body))))
    }

    /// What is fetched again is kept once.
    async fn keep_fetched(&self, tenant: &Tenant, id: &str, said: &Said, model: &str) -> Result<()> {
        let text = json!(Responses.speech().messages(said)).to_string();
        let history = History::parse(&text)?.with_heads(Vec::new());
        let arrival = Arrival { origin: Origin::Reply, ..Arrival::new(tenant, None, model, now()) };
        let log = self.engine.log();
        let received = log.receive_new(arrival, After::Response(&awaited(id)), &history).await?;
        log.name(&received, id, arrival.at).await
    }
}
