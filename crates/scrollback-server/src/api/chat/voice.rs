//! Who answers a person: an upstream of the settings and a model, chosen by them, by the settings, or by what is there.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use scrollback::SessionKey;
use serde_json::Value;

use super::wanted::{Wanted, said};
use crate::api::{Refusal, Room};
use crate::config::KnownUpstream;
use crate::proxy::{Place, Proxy};
use crate::upstream::{QUOTE, Upstream};

/// As much of an upstream's own words is told.
const TOLD_CHARS: usize = 600;
/// An upstream's refusal is read so far.
const REFUSAL_BYTES: usize = 1 << 20;

/// Who answers.
pub(super) struct Voice {
    pub(super) upstream: Arc<Upstream>,
    pub(super) model: String,
}

impl Proxy {
    /// Who answers where nobody is named: an upstream and its model, which may be empty if any could be meant.
    pub(crate) fn chat_default(&self) -> (String, String) {
        let chat = &self.serve.chat;
        let name = if chat.upstream.is_empty() { &self.serve.upstream } else { &chat.upstream };
        let named = !chat.upstream.is_empty() || !chat.model.is_empty();
        let ready = self.upstream(name).is_some_and(|upstream| upstream.is_ready());
        if name == QUOTE || !named && !ready {
            return (QUOTE.into(), QUOTE.into());
        }
        let usual = || KnownUpstream::named(name).map(|known| known.model.to_owned()).unwrap_or_default();
        (name.clone(), if chat.model.is_empty() { usual() } else { chat.model.clone() })
    }

    /// Who answers a message.
    pub(super) async fn voice(&self, room: &Room, wanted: &Wanted, place: &Place) -> Result<Voice, Refusal> {
        let (usual, usual_model) = self.chat_default();
        let named = said(wanted.upstream.as_ref());
        let model = said(wanted.model.as_ref());
        let name = match (named, model) {
            (Some(name), _) => name.to_owned(),
            (None, Some(QUOTE)) => QUOTE.to_owned(),
            // Whoever names a model does not want to be answered by none.
            (None, Some(_)) if usual == QUOTE => self.serve.upstream.clone(),
            (None, _) => usual.clone(),
        };
        let upstream = self.upstream(&name).ok_or_else(|| self.unknown(&name))?;
        if name == QUOTE {
            return Ok(Voice { upstream, model: QUOTE.into() });
        }
        let model = match model {
            Some(model) => Some(model.to_owned()),
            None if name == usual && !self.serve.chat.model.is_empty() => Some(usual_model),
            None => self.known(room, place, &name).await?,
        };
        let unnamed =
            || Refusal::invalid(format!("name a model of “{name}”: with “model”, or in the settings with chat.model"));
        let voice = Voice { model: model.ok_or_else(unnamed)?, upstream };
        if KnownUpstream::named(&name).is_some() && !voice.upstream.is_ready() {
            return Err(voice.keyless());
        }
        Ok(voice)
    }

    /// The model that an upstream answered this session with, or else a small one of those that everybody knows.
    async fn known(&self, room: &Room, place: &Place, name: &str) -> Result<Option<String>, Refusal> {
        let usual = || KnownUpstream::named(name).map(|known| known.model.to_owned());
        let Place::After(id, _) = place else { return Ok(usual()) };
        let key = SessionKey { tenant: room.tenant.clone(), id: *id };
        let newest = room.engine.newest_view(&key).await?;
        let call = newest.and_then(|newest| newest.view.calls.into_iter().next_back());
        Ok(call.filter(|call| call.upstream == name && call.model != QUOTE).map(|call| call.model).or_else(usual))
    }

    fn unknown(&self, name: &str) -> Refusal {
        let names: Vec<&str> = self.serve.upstreams.keys().map(String::as_str).chain([QUOTE]).collect();
        Refusal::invalid(format!("there is no upstream “{name}”; there are {}", names.join(", ")))
    }
}

impl Voice {
    /// What is told where there is no key, or not the right one.
    fn keyless(&self) -> Refusal {
        let name = &self.upstream.name;
        let variable =
            KnownUpstream::named(name).map(|known| format!(", or set {}", known.key_env)).unwrap_or_default();
        let what = format!(
            "the upstream “{name}” wants a key: name the variable that holds it with upstreams.{name}.key_env in \
             scrollback.toml{variable}, and start the server again"
        );
        Refusal::new(StatusCode::BAD_GATEWAY, "no_key", what)
    }

    /// An upstream's refusal, as a person is told.
    pub(super) async fn refusal(&self, response: Response<Body>) -> Refusal {
        let status = response.status();
        let body = axum::body::to_bytes(response.into_body(), REFUSAL_BYTES).await.unwrap_or_default();
        let value: Value = serde_json::from_slice(&body).unwrap_or_default();
        let error = value.get("error").filter(|error| error.is_object());
        let text = error.and_then(|error| error["message"].as_str());
        let text = text.map_or_else(|| String::from_utf8_lossy(&body).into_owned(), str::to_owned);
        let text: String = text.trim().chars().take(TOLD_CHARS).collect();
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let keyless = self.keyless();
                Refusal { message: format!("{}. It said: {text}", keyless.message), ..keyless }
            }
            StatusCode::TOO_MANY_REQUESTS => Refusal::new(status, "upstream_busy", self.told(&text)),
            StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => Refusal::new(status, "upstream_unreachable", text),
            StatusCode::BAD_REQUEST if error.is_some_and(|error| error["code"] == "context_length_exceeded") => {
                Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "too_large", text)
            }
            _ => Refusal::new(StatusCode::BAD_GATEWAY, "upstream_refused", self.told(&text)),
        }
    }

    fn told(&self, text: &str) -> String {
        format!("the upstream “{}” refused the request for {}: {text}", self.upstream.name, self.model)
    }
}
