//! Accounts that several people share: an upstream with a key of ours keeps what it stores under that one key, whoever asked.
//!
//! So that nobody reaches what others have there, only what refers to nothing stored goes on as it came, unless it is asked by the
//! person at this machine, whose account it is.

use std::collections::HashMap;

use axum::body::Body;
use axum::http::{Method, Response, StatusCode};
use scrollback::Tenant;
use serde_json::value::RawValue;

use super::{Incoming, error};
use crate::upstream::Upstream;
use crate::wire;
use crate::wire::chat::Chat;
use crate::wire::request::Request;

/// Fields that name something a provider has stored.
const STORED: [&str; 4] = ["previous_response_id", "conversation", "thread", "container"];
/// Those of which our log does not tell whose they are.
const UNKNOWN: [&str; 2] = ["thread", "container"];
/// Paths of ours beside the replies themselves; what else is below them leads to what is stored.
const OURS: [&str; 3] = ["/responses/compact", "/responses/input_tokens", "/messages/count_tokens"];
/// Paths below which nothing is stored that anybody could ask for by its name.
const STATELESS: [&str; 6] = ["/embeddings", "/completions", "/moderations", "/images/", "/audio/", "/rerank"];

/// Whether an upstream's account is shared with whoever asks.
pub(super) fn is_shared(upstream: &Upstream, tenant: &Tenant) -> bool {
    upstream.has_key() && *tenant != Tenant::local()
}

/// Why a request may not go on as it came.
pub(super) fn refused(upstream: &Upstream, incoming: &Incoming) -> Option<Response<Body>> {
    (is_shared(upstream, &incoming.tenant) && !is_stateless(incoming)).then(|| refusal(upstream, incoming))
}

/// Why a request may not become a turn.
pub(super) fn refused_by_name(upstream: &Upstream, incoming: &Incoming, request: &Request) -> Option<Response<Body>> {
    let names = UNKNOWN.iter().any(|name| !request.value(name).is_null());
    (names && is_shared(upstream, &incoming.tenant)).then(|| refusal(upstream, incoming))
}

fn refusal(upstream: &Upstream, incoming: &Incoming) -> Response<Body> {
    let what = format!(
        "this may lead to what others have stored with “{}”, whose key is shared here: ask for an upstream to which you bring \
         your own key",
        upstream.name
    );
    let wire = wire::of_path(&incoming.path).unwrap_or(&Chat);
    error(wire, StatusCode::FORBIDDEN, "shared_account", &what)
}

fn is_stateless(incoming: &Incoming) -> bool {
    let path = incoming.path.split('?').next().unwrap_or_default();
    if incoming.method == Method::GET {
        return path == "/models" || path.starts_with("/models/");
    }
    let ours = wire::of_path(path).is_some() || OURS.contains(&path.trim_end_matches('/'));
    let known = ours || STATELESS.iter().any(|known| path.starts_with(known));
    // What the provider may read in another way than we do is not sent.
    let named = serde_json::from_slice::<HashMap<String, &RawValue>>(&incoming.body);
    let is_form = path.starts_with("/images/") || path.starts_with("/audio/");
    let is_named =
        |fields: &HashMap<String, &RawValue>, name: &str| fields.get(name).is_some_and(|value| value.get() != "null");
    let names_nothing = named.map_or(is_form, |fields| !STORED.iter().any(|stored| is_named(&fields, stored)));
    incoming.method == Method::POST && known && names_nothing
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;

    use super::*;

    #[test]
    fn what_names_nothing_stored_may_go_on() {
        let stateless = |method: &str, path: &str, body: &'static str| {
            let (tenant, headers) = (Tenant::new("ann"), HeaderMap::new());
            is_stateless(&Incoming {
                tenant,
                method: method.parse().unwrap(),
                path: path.into(),
                headers,
                body: body.into(),
                ours: None,
            })
        };
        assert!(stateless("GET", "/models?limit=5", "") && stateless("POST", "/embeddings", "{\"input\":\"x\"}"));
        assert!(stateless("POST", "/responses", "{\"input\":\"x\"}") && stateless("POST", "/audio/speech", "--form"));
        for (method, path) in [("GET", "/files"), ("GET", "/responses/resp_1"), ("DELETE", "/responses/resp_1")] {
            assert!(!stateless(method, path, ""), "{method} {path}");
        }
        for path in ["/responses/compact", "/responses/input_tokens", "/messages/count_tokens"] {
            assert!(stateless("POST", path, "{\"input\":\"x\"}"), "{path}");
        }
        for path in ["/responses/resp_1/cancel", "/responses/resp_1", "/responses/", "/messages/batches"] {
            assert!(!stateless("POST", path, "{}"), "{path}");
        }
        for body in ["{\"previous_response_id\":\"resp_1\"}", "{\"previous\\u005fresponse_id\":\"resp_1\"}", "{", "[]"]
        {
            assert!(!stateless("POST", "/responses", body), "{body}");
        }
        assert!(stateless("POST", "/responses", "{\"previous_response_id\":null}"));
        assert!(!stateless("POST", "/messages", "{\"container\":\"container_1\"}"));
        assert!(!stateless("POST", "/conversations/conv_1/items", "{}") && !stateless("POST", "/files", "{}"));
    }
}
