//! Accounts that several people share: an upstream with a key of ours keeps what it stores under that one key, whoever
//! asked.
//!
//! So that nobody reaches what others have there, only what refers to nothing stored goes on as it came, unless it is
//! asked by the person at this machine, whose account it is.

mod names;

use axum::body::Body;
use axum::http::{Method, Response, StatusCode};
use percent_encoding::percent_decode_str;
use scrollback::Tenant;

use super::{Incoming, error};
use crate::upstream::Upstream;
use crate::wire;
use crate::wire::Follows;
use crate::wire::chat::Chat;
use names::Names;

/// Paths of ours beside the replies themselves; what else is below them leads to what is stored.
const OURS: [&str; 3] = ["/responses/compact", "/responses/input_tokens", "/messages/count_tokens"];
/// Paths of which nothing is stored that anybody could ask for by its name; what is below them may be.
const STATELESS: [&str; 4] = ["/embeddings", "/completions", "/moderations", "/rerank"];
/// The same of those that may be sent as forms.
const FORMS: [&str; 6] = [
    "/images/generations",
    "/images/edits",
    "/images/variations",
    "/audio/speech",
    "/audio/transcriptions",
    "/audio/translations",
];

/// Whether an upstream's account is shared with whoever asks.
fn is_shared(upstream: &Upstream, tenant: &Tenant) -> bool {
    upstream.has_key() && *tenant != Tenant::local()
}

/// Why a request may not go on as it came.
pub(super) fn refused(upstream: &Upstream, incoming: &Incoming) -> Option<Response<Body>> {
    (is_shared(upstream, &incoming.tenant) && !is_stateless(incoming)).then(|| refusal(upstream, incoming))
}

/// Why a request may not become a turn.
pub(super) fn refused_by_name(
    upstream: &Upstream,
    incoming: &Incoming,
    follows: Option<&Follows>,
) -> Option<Response<Body>> {
    names_stored(upstream, incoming, follows).then(|| refusal(upstream, incoming))
}

/// Whether a request names something of a shared account of which our log does not tell whose it is. What it `follows`
/// as we read it, the log does tell; that has to be all there is to read.
pub(super) fn names_stored(upstream: &Upstream, incoming: &Incoming, follows: Option<&Follows>) -> bool {
    let told = usize::from(matches!(follows, Some(Follows::Response(_) | Follows::Conversation(_))));
    let unknown = |names: Names| names.others || names.repeats || names.followed > told;
    is_shared(upstream, &incoming.tenant) && Names::of(&incoming.body).is_none_or(unknown)
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
        return is_of_models(path);
    }
    let bare = path.trim_end_matches('/');
    let is_form = FORMS.contains(&bare);
    let known = is_form || wire::of_path(path).is_some() || OURS.contains(&bare) || STATELESS.contains(&bare);
    // What the provider may read in another way than we do is not sent.
    let names_nothing = || Names::of(&incoming.body).map_or(is_form, |names| names.is_none());
    incoming.method == Method::POST && known && names_nothing()
}

/// Whether a path is that of the list of models, or of one of them, however others on the way may read it.
fn is_of_models(path: &str) -> bool {
    let path = percent_decode_str(path.strip_suffix('/').unwrap_or(path)).decode_utf8_lossy();
    let Some(below) = path.strip_prefix("/models") else { return false };
    let is_name = |part: &str| !part.is_empty() && !part.contains(['%', ';']);
    below.is_empty() || below.strip_prefix('/').is_some_and(|name| name.split('/').all(is_name))
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
        for body in [
            "{\"previous_response_id\":\"resp_1\",\"previous_response_id\":null}",
            "{\"prompt\":{\"id\":\"pmpt_1\"}}",
            "{\"tools\":[{\"type\":\"file_search\",\"vector_store_ids\":[\"vs_1\"]}]}",
        ] {
            assert!(!stateless("POST", "/responses", body), "{body}");
        }
        for path in ["/audio/voices", "/audio/voice_consents/1", "/completions_stored/x", "/embeddings/x", "/images/"] {
            assert!(!stateless("POST", path, "{}"), "{path}");
        }
        assert!(stateless("POST", "/audio/transcriptions", "--form") && !stateless("POST", "/audio/voices", "--form"));
        for path in ["/models/", "/models/gpt-4.1", "/models/meta%2Fllama", "/models/meta/llama:free"] {
            assert!(stateless("GET", path, ""), "{path}");
        }
        for path in ["/models//files", "/models/%252e%252e/files", "/modelsx", "/models/a//", "/models/%2Ffiles"] {
            assert!(!stateless("GET", path, ""), "{path}");
        }
        assert!(!stateless("POST", "/messages", "{\"container\":\"container_1\"}"));
        assert!(!stateless("POST", "/conversations/conv_1/items", "{}") && !stateless("POST", "/files", "{}"));
    }
}
