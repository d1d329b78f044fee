//! `POST /responses/compact`: the conversation goes into the log and is folded now. What is answered stands for a place
//! in the log, so that a request which goes on from it has everything, and a window that is exact.

use bytes::Bytes;
use scrollback::ids::Depth;
use scrollback::log::{History, Received};
use scrollback::note::Fold;
use scrollback::store::{Position, Span};
use scrollback::{Error, Result, Role};
use serde_json::{Value, json};

use super::{Answered, Incoming, Proxy, Upstream, item, read, told};
use crate::clock::now;
use crate::proxy::{Asked, Plan};
use crate::wire::Follows;
use crate::wire::offer::Offer;
use crate::wire::request::Request;
use crate::wire::responses::{Responses, compaction, token};

impl Proxy {
    /// Folds a conversation and answers with what stands for it. What only the provider can read, it compacts itself.
    pub(super) async fn compact(&self, upstream: &Upstream, incoming: &Incoming) -> Answered {
        let body = Bytes::from(with_items(read(&incoming.body)?)?.to_string());
        let request = Request::found(&body, "input");
        let request = request.ok_or_else(|| Error::Invalid("the request has no input".into()))?;
        let (mut opened, items) = self.opened(&Responses, &request, incoming).await;
        // What goes on from a compaction of ours, only we can compact again.
        if opened.untouched.is_some() && !matches!(opened.follows, Some(Follows::Compaction(_))) {
            return Ok(None);
        }
        let new = items.or(opened.new.take());
        let said = new.as_deref().or(request.raw("input")).unwrap_or("[]");
        let history = History::parse(said)?.with_heads(opened.heads.take().unwrap_or_default());
        let asked = Asked { request: &request, incoming, history: &history, opened: &opened };
        let offer = Offer::new(upstream.recall, self.engine.tools(), &opened, &Responses);
        let plan = self.plan(upstream, &asked, &offer);
        self.knows_conversation(&plan).await?;
        let received = self.received(&history, &plan).await?;
        self.compacted(&received, &plan).await
    }

    async fn compacted(&self, received: &Received, plan: &Plan) -> Answered {
        let head = received.head.ok_or_else(|| Error::Invalid("there is nothing to compact".into()))?;
        let fold = self.fold_now(received, head, plan).await?.map(|(_, after)| after);
        let at = now();
        let id =
            token("cmp", &[received.session.id.to_string().as_bytes(), &head.id.0.to_le_bytes(), &at.0.to_le_bytes()]);
        self.engine.log().name(received, &id, at).await?;
        let mut output = self.said_by_the_person(received, head).await?;
        output.push(compaction(&id));
        let created_at = at.0 / 1_000_000;
        let body = json!({"id": token("resp", &[id.as_bytes()]), "object": "response.compaction", "created_at": created_at,
                          "output": output, "usage": usage(fold.as_ref())});
        Ok(Some(told(&body)))
    }

    /// All messages of the person, as the API tells them.
    async fn said_by_the_person(&self, received: &Received, head: Position) -> Result<Vec<Value>> {
        let path = self.engine.log().store().read(&received.session, Span::path(head, Depth(0))).await?;
        Ok(path.iter().filter(|stored| stored.role == Role::User).map(item).collect())
    }
}

/// A request with its input as items.
fn with_items(mut said: Value) -> Result<Value> {
    let items = match said["input"].take() {
        Value::Null => json!([]),
        Value::String(text) => json!([{"type": "message", "role": "user", "content": text}]),
        Value::Array(items) => items.into(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err(Error::Invalid("the input must be a text or a list of items".into()));
        }
    };
    said["input"] = items;
    Ok(said)
}

fn usage(fold: Option<&Fold>) -> Value {
    let (before, after) = fold.map_or((0, 0), |fold| (fold.original_tokens, fold.tokens));
    json!({"input_tokens": before, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": after,
           "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": before.saturating_add(after)})
}
