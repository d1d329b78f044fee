//! Embeddings: a model from a folder of files, or any API that speaks OpenAI's `/v1/embeddings`.
//!
//! An API that fails is asked again a few times, and if it keeps failing left alone for a while; what it was for waits
//! or goes without. See `scrollback::embed` for what vectors are used for.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use scrollback::Error;
use scrollback::embed::local::{LocalModel, LocalSettings};
use scrollback::embed::{Embedder, TextKind};
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use crate::config::{EmbeddingSettings, EmbeddingSource, RecallBy, UpstreamSettings};
use crate::upstream::{Outgoing, Upstream, key_of};
use crate::wire::WireName;

/// How long an API has for an answer.
const TIMEOUT: Duration = Duration::from_mins(1);
/// How long is waited before each time an API is asked again for passages. Questions do not wait.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(3)];
/// After so many failures in a row an API is left alone.
const FAILURES: u32 = 3;
/// For so long.
const LEFT_ALONE: Duration = Duration::from_secs(30);

/// What makes vectors, as the settings say; none if they name nothing.
pub(crate) fn embedder(settings: &EmbeddingSettings) -> anyhow::Result<Option<Arc<dyn Embedder>>> {
    Ok(match &settings.source {
        EmbeddingSource::None => None,
        EmbeddingSource::Folder(folder) => {
            let said = |prefix: &String| (!prefix.is_empty()).then(|| prefix.clone());
            let local = LocalSettings {
                question_prefix: said(&settings.question_prefix),
                passage_prefix: said(&settings.passage_prefix),
                threads: settings.threads,
            };
            let model = LocalModel::open(folder, &local);
            Some(Arc::new(model.with_context(|| format!("embeddings.from is {}", folder.display()))?))
        }
        EmbeddingSource::Api(url) => Some(Arc::new(Endpoint::new(url, settings)?)),
    })
}

/// A model behind an API.
struct Endpoint {
    upstream: Upstream,
    name: String,
    model: String,
    dimensions: usize,
    prefixes: [String; 2],
    pauses: [Duration; 2],
    left_alone: Duration,
    trouble: Mutex<Trouble>,
}

/// How often it failed in a row, and until when it is left alone.
#[derive(Default)]
struct Trouble {
    failures: u32,
    until: Option<Instant>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Numbered>,
}

#[derive(Deserialize)]
struct Numbered {
    index: usize,
    embedding: Vec<f32>,
}

/// Why there are no vectors.
enum Failure {
    /// It may be better next time.
    Passing(String),
    /// It will not.
    Lasting(String),
}

impl Endpoint {
    fn new(url: &str, settings: &EmbeddingSettings) -> anyhow::Result<Self> {
        let at = UpstreamSettings {
            url: url.trim_end_matches('/').to_owned(),
            wire: WireName::Chat,
            key_env: settings.key_env.clone(),
            chat_key: None,
            recall: RecallBy::Off,
            window: 0,
            timeout: TIMEOUT,
        };
        key_of("embeddings.key_env", &at.key_env, at.wire)?;
        let upstream = Upstream::http("embeddings", &at, crate::upstream::client()?)?;
        let (model, dimensions) = (settings.model.clone(), settings.dimensions);
        let prefixes = [settings.question_prefix.clone(), settings.passage_prefix.clone()];
        // Not where it is: the same model gives the same vectors everywhere.
        let name = format!("{model} {dimensions} {prefixes:?}");
        let (pauses, left_alone, trouble) = (PAUSES, LEFT_ALONE, Mutex::default());
        Ok(Self { upstream, name, model, dimensions, prefixes, pauses, left_alone, trouble })
    }

    async fn asked(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Failure> {
        let mut body = json!({"model": self.model, "input": texts, "encoding_format": "float"});
        if self.dimensions > 0 {
            body["dimensions"] = self.dimensions.into();
        }
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        let body = body.to_string().into();
        let outgoing = Outgoing { method: Method::POST, path: "/embeddings", headers: &headers, body };
        let answer = self.upstream.send(outgoing).await.map_err(|silence| Failure::Passing(silence.to_string()))?;
        let status = answer.status;
        let body = answer.body.all().await.map_err(|error| Failure::Passing(error.to_string()))?;
        if !status.is_success() {
            let why = format!("it answered {status}");
            let is_passing = status.is_server_error()
                || [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT].contains(&status);
            return Err(if is_passing { Failure::Passing(why) } else { Failure::Lasting(why) });
        }
        let answer: Answer =
            serde_json::from_slice(&body).map_err(|_| Failure::Lasting("it answered without vectors".to_owned()))?;
        in_order(answer, texts.len()).ok_or_else(|| Failure::Lasting("it left texts out".to_owned()))
    }

    /// Whether it is left alone now.
    fn is_left_alone(&self) -> bool {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.until.is_some_and(|until| Instant::now() < until)
    }

    fn note(&self, failed: bool) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.failures = if failed { trouble.failures.saturating_add(1) } else { 0 };
        trouble.until = (trouble.failures >= FAILURES).then(|| Instant::now() + self.left_alone);
    }
}

#[async_trait]
impl Embedder for Endpoint {
    fn name(&self) -> &str {
        &self.name
    }

    async fn embed(&self, texts: &[&str], kind: TextKind) -> scrollback::Result<Vec<Vec<f32>>> {
        if self.is_left_alone() {
            return Err(Error::Unreachable("the embeddings API kept failing and is left alone for a while".into()));
        }
        let (prefix, pauses) = match kind {
            TextKind::Question => (&self.prefixes[0], &self.pauses[..0]),
            TextKind::Passage => (&self.prefixes[1], &self.pauses[..]),
        };
        let texts: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
        let mut pauses = pauses.iter();
        loop {
            let asked = self.asked(&texts).await;
            self.note(asked.is_err());
            match (asked, pauses.next()) {
                (Ok(vectors), _) => return Ok(vectors),
                (Err(Failure::Passing(_)), Some(pause)) => tokio::time::sleep(*pause).await,
                (Err(Failure::Passing(why) | Failure::Lasting(why)), _) => {
                    return Err(Error::Model { what: format!("the embeddings API failed: {why}"), source: None });
                }
            }
        }
    }
}

/// Vectors in the order of their texts; `None` if one is missing.
fn in_order(answer: Answer, count: usize) -> Option<Vec<Vec<f32>>> {
    let mut vectors = vec![None; count];
    for Numbered { index, embedding } in answer.data {
        *vectors.get_mut(index)? = Some(embedding);
    }
    vectors.into_iter().collect()
}

#[cfg(test)]
mod tests;
