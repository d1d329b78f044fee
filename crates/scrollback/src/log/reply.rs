//! What a model answered, on its way into the log.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::strand::Strand;
use super::{Arrival, Log, Outcome, Received};
use crate::error::{Error, Result};
use crate::ids::{At, Depth, NodeId, SessionId, SessionKey, Tenant};
use crate::message::Message;
use crate::store::{Batch, Expect, Kind, Origin, Put, Record, Scope, Stored, Urgency};

/// For so many µs an id that was given to another conversation is not free: thirty days, as long as providers keep
/// responses.
const TAKEN_FOR: i64 = 30 * 24 * 3_600 * 1_000_000;

/// What a model answered.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// Its messages, as the client will echo them; reasoning among them stands beside the path.
    pub messages: Vec<Message>,
    /// The model.
    pub model: &'a str,
    /// The provider's id of the response, by which a later request may refer to it.
    pub response: Option<&'a str>,
    /// What is to be recorded together with it.
    pub records: Vec<Put>,
    /// Whether somebody waits until it is kept. A reply that is lost comes back with the client's next request.
    pub urgency: Urgency,
    /// When.
    pub at: At,
}

impl<'a> Answer<'a> {
    /// An answer of one message, for which somebody waits.
    pub fn of(message: Message, model: &'a str, at: At) -> Self {
        Self { messages: vec![message], model, response: None, records: Vec::new(), urgency: Urgency::Now, at }
    }
}

/// Where a response is in the log.
#[derive(Serialize, Deserialize)]
pub(super) struct Followed {
    pub(super) session: SessionId,
    pub(super) depth: Depth,
    pub(super) node: NodeId,
    /// Whether another conversation was given the same id: some servers draw theirs from few.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) contested: bool,
}

impl Followed {
    fn record(&self, tenant: &Tenant, response: &str, at: At) -> Put {
        let body = serde_json::value::to_raw_value(self).expect("plain fields are valid JSON");
        let scope = Scope::Tenant(tenant.clone());
        Put { scope, kind: Kind::Response, key: response.to_owned(), at, body, expect: Expect::Any }
    }
}

impl Log {
    /// Stores what the model answered, as the client will echo it. Returns its last message on the path.
    pub fn reply<'a>(&'a self, to: &'a Received, answer: Answer<'a>) -> BoxFuture<'a, Result<Arc<Stored>>> {
        Box::pin(async move {
            let mut replied = self.replied(to, answer).await?;
            replied.fresh.pop().ok_or_else(|| Error::Invalid("the reply holds no message but reasoning".into()))
        })
    }

    /// Gives the last message of a request a name by which a later request may follow it.
    pub fn name<'a>(&'a self, received: &'a Received, name: &'a str, at: At) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let answer = Answer {
                messages: Vec::new(),
                model: "",
                response: Some(name),
                records: Vec::new(),
                urgency: Urgency::Now,
                at,
            };
            self.replied(received, answer).await.map(drop)
        })
    }

    /// What lets a later request follow a response that said nothing that could be kept: it goes on behind the last
    /// message of the request.
    pub(crate) async fn wordless(&self, to: &Received, response: &str, at: At) -> Option<Put> {
        let head = to.head?;
        let contested = self.is_taken(response, &to.session, at).await;
        let followed = Followed { session: to.session.id, depth: head.depth, node: head.node, contested };
        Some(followed.record(&to.session.tenant, response, at))
    }

    /// The same as [`Log::reply`], with all that became of it.
    pub(crate) async fn replied(&self, to: &Received, answer: Answer<'_>) -> Result<Received> {
        let Answer { messages, model, response, records, urgency, at } = answer;
        let head = to.head.ok_or_else(|| Error::Invalid("there is no message to answer".into()))?;
        let arrival = Arrival { origin: Origin::Reply, ..Arrival::new(&to.session.tenant, None, model, at) };
        let batch = Batch { records, urgency, ..Batch::new(to.session.clone()) };
        let mut strand = Strand::new(arrival, batch, Some(head));
        for message in messages {
            strand.push(at, message);
        }
        let mut batch = strand.end();
        if let Some(response) = response {
            let node = batch.path.last().map_or(head.node, |last| last.node);
            // Names of ours stand for what they were made of.
            let contested = !batch.path.is_empty() && self.is_taken(response, &to.session, at).await;
            let (session, depth) = (to.session.id, head.depth.plus(batch.path.len()));
            let followed = Followed { session, depth, node, contested };
            batch.records.push(followed.record(&to.session.tenant, response, at));
        }
        let mut received = Received::nothing_new(Outcome::Continue, to.session.clone(), Some(head));
        self.append(&mut received, batch).await?;
        Ok(received)
    }

    /// Whether a response's id was given to another conversation lately. A reply is kept whether that can be read or
    /// not.
    async fn is_taken(&self, response: &str, session: &SessionKey, at: At) -> bool {
        let scope = Scope::Tenant(session.tenant.clone());
        let before = self.store.record(scope, Kind::Response, response.to_owned()).await.unwrap_or_default();
        let of_another = |record: &Record| {
            let known = serde_json::from_str::<Followed>(record.body.get());
            known.is_ok_and(|known| known.contested || known.session != session.id)
        };
        before.is_some_and(|record| at.0.saturating_sub(record.at.0) < TAKEN_FOR && of_another(&record))
    }
}
