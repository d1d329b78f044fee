//! Who answers a person: an upstream of the settings and a model, chosen by them, by the settings, or by what is there.

use std::cmp::Reverse;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use scrollback::engine::Recorded;
use scrollback::ledger::Call;
use scrollback::store::{self, Lineage, Span};
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
/// Who answered before is looked for among so many of the newest views.
const VIEWS: usize = 64;

/// Who answers.
pub(super) struct Voice {
    pub(super) upstream: Arc<Upstream>,
    pub(super) model: String,
    /// The variable that its key is taken from where the settings name none, if there is one.
    variable: Option<&'static str>,
}

impl Proxy {
    /// Who answers where nobody is named: an upstream and its model, which may be empty if any could be meant.
    pub(crate) fn chat_default(&self) -> (String, String) {
        let (serve, chat) = (&self.serve, &self.serve.chat);
        let name = match (&*chat.upstream, &*chat.model) {
            ("", "") => [&serve.upstream, &serve.messages_upstream].into_iter().find(|name| self.is_ready(name)),
            ("", model) => Some(self.home_of(model)),
            _ => Some(&chat.upstream),
        };
        let Some(name) = name.filter(|name| *name != QUOTE) else { return (QUOTE.into(), QUOTE.into()) };
        let usual = || KnownUpstream::named(name).map(|known| known.model.to_owned()).unwrap_or_default();
        (name.clone(), if chat.model.is_empty() { usual() } else { chat.model.clone() })
    }

    /// Where a model is asked that is named without an upstream: where everything goes, but Anthropic's where their
    /// clients go, as nobody else who is known has them.
    fn home_of(&self, model: &str) -> &String {
        let (usual, theirs) = (&self.serve.upstream, &self.serve.messages_upstream);
        let is_elsewhere = KnownUpstream::named(usual).is_some() || !self.is_ready(usual);
        if model.starts_with("claude") && is_elsewhere { theirs } else { usual }
    }

    fn is_ready(&self, name: &str) -> bool {
        self.upstream(name).is_some_and(|upstream| upstream.is_ready())
    }

    /// Who answers a message.
    pub(super) async fn voice(&self, room: &Room, wanted: &Wanted, place: &Place) -> Result<Voice, Refusal> {
        let (usual, usual_model) = self.chat_default();
        let model = said(wanted.model.as_ref());
        let calls = calls_before(room, place).await?;
        let name = match said(wanted.upstream.as_ref()) {
            Some(name) => name,
            None => self.asked_at(model, &usual, &calls),
        };
        let upstream = self.upstream(name).ok_or_else(|| self.unknown(name))?;
        if name == QUOTE {
            return Ok(Voice { upstream, model: QUOTE.into(), variable: None });
        }
        let model = match model {
            Some(model) => Some(model.to_owned()),
            None if name == usual && !self.serve.chat.model.is_empty() => Some(usual_model),
            None => known(&calls, name),
        };
        let voice = Voice { model: model.ok_or_else(|| self.unnamed(name))?, upstream, variable: self.variable(name) };
        if !self.can_answer(name) {
            return Err(voice.keyless());
        }
        Ok(voice)
    }

    /// Where a message is sent that names no upstream, and perhaps a model.
    fn asked_at<'a>(&'a self, model: Option<&str>, usual: &'a str, calls: &'a [Call]) -> &'a str {
        let chat = &self.serve.chat;
        let mut before = calls.iter().filter(|call| self.can_answer(&call.upstream));
        match model {
            Some(QUOTE) => QUOTE,
            // Whoever names a model does not want to be answered by none.
            Some(model) if chat.upstream.is_empty() || chat.upstream == QUOTE => {
                before.find(|call| call.model == model).map_or_else(|| self.home_of(model), |call| &call.upstream)
            }
            Some(_) => usual,
            None if !chat.upstream.is_empty() || !chat.model.is_empty() || self.serve.upstream == QUOTE => usual,
            None => before.next().map_or(usual, |call| &call.upstream),
        }
    }

    /// Whether an upstream is there, and has the key that everybody knows it wants.
    fn can_answer(&self, name: &str) -> bool {
        self.upstream(name).is_some() && (KnownUpstream::named(name).is_none() || self.is_ready(name))
    }

    /// The variable that an upstream's key is taken from though the settings do not name it.
    fn variable(&self, name: &str) -> Option<&'static str> {
        let settings = self.serve.upstreams.get(name).filter(|settings| settings.key_env.is_empty())?;
        KnownUpstream::at(name, &settings.url).map(|known| known.key_env)
    }

    /// What is told where no model is named: the settings that would name it.
    fn unnamed(&self, name: &str) -> Refusal {
        let chat = &self.serve.chat;
        let is_usual = chat.upstream.is_empty() && chat.model.is_empty() && self.serve.upstream == name;
        let settings = if is_usual || chat.upstream == name { "chat.model" } else { "chat.upstream and chat.model" };
        Refusal::invalid(format!(
            "name a model of “{name}”: with “model” (`--model NAME`, or `/model NAME` in a chat), or in the settings \
             with {settings}"
        ))
    }

    fn unknown(&self, name: &str) -> Refusal {
        let names: Vec<&str> = self.serve.upstreams.keys().map(String::as_str).chain([QUOTE]).collect();
        Refusal::invalid(format!("there is no upstream “{name}”; there are {}", names.join(", ")))
    }
}

/// The calls that models answered on the path before a place, newest first. A turn that failed has none, and quotations
/// stand in for a model: neither says who answers next.
async fn calls_before(room: &Room, place: &Place) -> Result<Vec<Call>, Refusal> {
    let Place::After(id, last) = place else { return Ok(Vec::new()) };
    let (session, key) = room.session(&id.to_string()).await?;
    let last = room.engine.log().store().read(&key, Span::Ids(last.iter().copied().collect())).await?.pop();
    let path = last.and_then(|last| last.position()).map(|head| Lineage::of(head, &session.branches));
    let mut views = room.engine.views_before(&key, "", VIEWS).await?;
    let is_on = |path: &Lineage, recorded: &Recorded| path.holds(&store::Place::Path(recorded.view.head));
    views.retain(|recorded| path.as_ref().is_none_or(|path| is_on(path, recorded)));
    views.sort_by_key(|recorded| Reverse(recorded.at));
    let calls = views.into_iter().flat_map(|recorded| recorded.view.calls.into_iter().rev());
    Ok(calls.filter(|call| call.upstream != QUOTE && call.model != QUOTE).collect())
}

/// The model that an upstream answered with last, or else a small one of those that everybody knows.
fn known(calls: &[Call], name: &str) -> Option<String> {
    let usual = || KnownUpstream::named(name).map(|known| known.model.to_owned());
    calls.iter().find(|call| call.upstream == name).map(|call| call.model.clone()).or_else(usual)
}

impl Voice {
    /// What is told where there is no key, or not the right one.
    fn keyless(&self) -> Refusal {
        let name = &self.upstream.name;
        let variable = self.variable.map(|variable| format!(", or set {variable}")).unwrap_or_default();
        let what = format!(
            "the upstream “{name}” wants a key: name the variable that holds it with upstreams.{name}.key_env in \
             scrollback.toml{variable}; keys are read when Scrollback starts"
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
