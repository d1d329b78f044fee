//! The helper model over HTTP, for tasks; `watch` tells how it does.

mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use bytes::Bytes;
use scrollback::Error;
use scrollback::ledger::Usage;
use scrollback::task::{Model, Question, Said};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::upstream::{Outgoing, Silence, Upstream};
use crate::wire::{self, WireName};
pub(crate) use watch::{OUTCOMES, watch};

/// The version of Anthropic's API that helpers are asked in.
const ANTHROPIC_VERSION: &str = "2023-06-01";
/// How long an answer may be, as most servers of Chat Completions call it, and as models of OpenAI that think do.
const LIMIT: [&str; 2] = ["max_tokens", "max_completion_tokens"];
/// Fewer bytes than this no cache of Anthropic's keeps.
const KEPT_BYTES: usize = 4_000;

/// A model of an upstream, asked one question at a time.
pub(crate) struct Helper {
    upstream: Arc<Upstream>,
    model: String,
    timeout: Duration,
    /// Whether its model refused the usual name of the limit.
    renames: AtomicBool,
}

#[async_trait]
impl Model for Helper {
    async fn ask(&self, question: &Question) -> scrollback::Result<Said> {
        let left = UNTIL.try_with(|until| until.saturating_duration_since(Instant::now())).unwrap_or(Duration::MAX);
        if left.is_zero() {
            return Err(Error::Unreachable("the helper model was not asked: there is no time left".into()));
        }
        let asked = tokio::time::timeout(self.timeout.min(left), self.asked(question)).await;
        asked.unwrap_or_else(|_| Err(failed("it did not answer in time")))
    }
}

tokio::task_local! {
    /// Until when helpers may answer.
    static UNTIL: Instant;
}

/// Does something that somebody waits for: after so long, whatever it would still ask helpers is answered without them.
pub(crate) async fn at_most<T>(most: Duration, doing: impl Future<Output = T>) -> T {
    UNTIL.scope(Instant::now() + most, doing).await
}

impl Helper {
    pub(crate) fn new(upstream: Upstream, model: &str, timeout: Duration) -> Self {
        Self { upstream: Arc::new(upstream), model: model.to_owned(), timeout, renames: AtomicBool::new(false) }
    }

    async fn asked(&self, question: &Question) -> scrollback::Result<Said> {
        let mut request = written(&self.model, question, self.upstream.wire);
        if self.renames.load(Ordering::Relaxed) {
            rename(&mut request);
        }
        let (mut status, mut body) = self.sent(&request).await?;
        if wants_renamed(status, &body) && rename(&mut request) {
            self.renames.store(true, Ordering::Relaxed);
            (status, body) = self.sent(&request).await?;
        }
        let speech = wire::of_path(self.upstream.wire.path()).map(wire::Wire::speech);
        let said = speech.and_then(|speech| speech.read(&body)).filter(|_| status.is_success());
        let said = said.ok_or_else(|| failed(&self.wordless(status)))?;
        // A model that thought until its tokens were used up has no words, and is paid for them.
        let Usage { input, read, write, output } = said.usage.as_ref().and_then(Usage::read).unwrap_or_default();
        let text = said.text();
        Ok(Said { text, input_tokens: input, cache_read: read, cache_write: write, output_tokens: output })
    }

    /// What it means that an answer has no words.
    fn wordless(&self, status: StatusCode) -> String {
        let name = &self.upstream.name;
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                format!("it answered {status}: its key for the upstream “{name}” is missing or refused")
            }
            _ => format!("it answered {status} without any words"),
        }
    }

    /// Sends a request, signed as what the person who runs us asks, and waits for all of its answer.
    async fn sent(&self, request: &Value) -> scrollback::Result<(StatusCode, Bytes)> {
        let wire = self.upstream.wire;
        let (mut headers, body) = (headers(wire), request.to_string().into());
        self.upstream.sign(&mut headers);
        let outgoing = Outgoing { method: Method::POST, path: wire.path(), headers: &headers, body };
        let answer = self.upstream.send(outgoing).await.map_err(|silence| unheard(&silence))?;
        let body = answer.body.all().await.map_err(|error| failed(&error.to_string()))?;
        Ok((answer.status, body))
    }
}

/// Whether a refusal says that the limit has another name.
fn wants_renamed(status: StatusCode, refusal: &[u8]) -> bool {
    let text = String::from_utf8_lossy(refusal);
    status == StatusCode::BAD_REQUEST && LIMIT.iter().all(|name| text.contains(name))
}

/// Calls the limit by its other name; whether it had the usual one.
fn rename(request: &mut Value) -> bool {
    let [usual, other] = LIMIT;
    let most = request.as_object_mut().and_then(|fields| fields.remove(usual));
    let had = most.is_some();
    if let Some(most) = most {
        request[other] = most;
    }
    had
}

/// What we send with questions of our own.
pub(crate) fn headers(wire: WireName) -> HeaderMap {
    let mut headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    if wire == WireName::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
    }
    headers
}

/// A question as a request.
pub(crate) fn written(model: &str, question: &Question, wire: WireName) -> Value {
    let (instructions, most) = (&question.instructions, question.most_tokens);
    let text = if wire == WireName::Anthropic { marked(question) } else { question.text.as_str().into() };
    let person = json!({"role": "user", "content": text});
    match wire {
        WireName::Chat => {
            let messages = json!([{"role": "system", "content": instructions}, person]);
            json!({"model": model, "messages": messages, "max_tokens": most})
        }
        WireName::Responses => {
            json!({"model": model, "instructions": instructions, "input": [person], "max_output_tokens": most, "store": false})
        }
        WireName::Anthropic => {
            json!({"model": model, "system": instructions, "messages": [person], "max_tokens": most})
        }
    }
}

/// The text of a question for Anthropic, which keeps in its cache only what is marked: what will be asked again, where
/// that is long.
fn marked(question: &Question) -> Value {
    match question.text.split_at_checked(question.stable) {
        Some((stable, rest)) if stable.len() > KEPT_BYTES && !rest.is_empty() => json!([
            {"type": "text", "text": stable, "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": rest},
        ]),
        Some(_) | None => question.text.as_str().into(),
    }
}

fn failed(why: &str) -> Error {
    Error::Model { what: format!("the helper model failed: {why}"), source: None }
}

/// What it means that there is no answer.
fn unheard(silence: &Silence) -> Error {
    match silence {
        Silence::Unreachable(_) => Error::Unreachable(format!("the helper model failed: {silence}")),
        Silence::Late | Silence::Broken(_) => failed(&silence.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::sync::{mpsc, oneshot};

    use super::*;
    use crate::config::{RecallBy, Secret, UpstreamSettings};

    /// A helper at an API that says one thing and hangs up; nothing at all if that is empty.
    async fn helper(says: &'static str) -> Helper {
        at(api(says).await.0)
    }

    /// Where such an API is, and what it will have been asked.
    async fn api(says: &'static str) -> (String, oneshot::Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (tell, told) = oneshot::channel();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4_096];
            let length = stream.read(&mut request).await.unwrap_or(0);
            // Most do not want to know.
            let _ = tell.send(String::from_utf8_lossy(&request[..length]).into_owned());
            if says.is_empty() {
                std::future::pending::<()>().await;
            }
            stream.write_all(says.as_bytes()).await.unwrap();
        });
        (url, told)
    }

    fn at(url: String) -> Helper {
        within(url, Duration::from_millis(300))
    }

    fn within(url: String, timeout: Duration) -> Helper {
        signing(url, timeout, None)
    }

    fn signing(url: String, timeout: Duration, key: Option<&str>) -> Helper {
        let settings = UpstreamSettings {
            url,
            wire: WireName::Chat,
            key_env: String::new(),
            chat_key: key.map(|key| Secret(key.to_owned())),
            recall: RecallBy::Off,
            window: 0,
            timeout,
        };
        let upstream = Upstream::http("mock", &settings, crate::upstream::client().unwrap()).unwrap();
        Helper::new(upstream, "small", timeout)
    }

    fn question() -> Question {
        Question { task: "word", text: "A word?".into(), most_tokens: 10, ..Question::default() }
    }

    /// A helper whose model takes no `max_tokens`, and a word for each time that it was asked.
    async fn thinking() -> (Helper, mpsc::UnboundedReceiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (tell, told) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = Vec::with_capacity(16_384);
                while !request.ends_with(b"}") {
                    assert!(stream.read_buf(&mut request).await.unwrap() > 0, "it broke off");
                }
                let request = String::from_utf8_lossy(&request).into_owned();
                let (status, says) = if request.contains("\"max_tokens\"") {
                    let refusal = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
                    ("400 Bad Request", json!({"error": {"message": refusal}}))
                } else {
                    ("200 OK", json!({"choices": [{"message": {"role": "assistant", "content": "Tide"}}]}))
                };
                tell.send(request).unwrap();
                let says = says.to_string();
                let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", says.len());
                stream.write_all(format!("{head}{says}").as_bytes()).await.unwrap();
                stream.shutdown().await.unwrap();
            }
        });
        (within(url, Duration::from_secs(20)), told)
    }

    async fn asked(helper: Helper) -> scrollback::Result<Said> {
        helper.ask(&question()).await
    }

    #[tokio::test]
    async fn it_is_asked_with_the_key_of_whoever_runs_us() {
        let refusal = "HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
        let (url, told) = api(refusal).await;
        let failure = asked(signing(url, Duration::from_secs(20), Some("sk-own"))).await.unwrap_err().to_string();
        let told = told.await.unwrap();
        assert!(told.contains("Bearer sk-own"), "{told}");
        assert!(failure.contains("401") && failure.contains("key for the upstream “mock”"), "{failure}");
    }

    #[test]
    fn anthropic_is_told_what_to_keep_where_that_is_long() {
        let (long, rest) = ("The tide. ".repeat(500), "\n\nHow high?");
        let ask = |stable: usize, wire| {
            written("small", &Question { text: format!("{long}{rest}"), stable, ..question() }, wire)
        };
        let marked = ask(long.len(), WireName::Anthropic)["messages"][0]["content"].take();
        assert_eq!(marked[0], json!({"type": "text", "text": long, "cache_control": {"type": "ephemeral"}}));
        assert_eq!(marked[1], json!({"type": "text", "text": rest}));
        let whole = json!(format!("{long}{rest}"));
        for (stable, wire) in [(0, WireName::Anthropic), (40, WireName::Anthropic), (long.len(), WireName::Chat)] {
            let asked = ask(stable, wire);
            assert_eq!(asked["messages"].as_array().unwrap().last().unwrap()["content"], whole, "{stable}");
        }
    }

    #[tokio::test]
    async fn an_answer_without_words_tells_what_it_cost() {
        let thought = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"choices\": [{\"message\": {\"content\": null}}], \
                       \"usage\": {\"prompt_tokens\": 30, \"completion_tokens\": 10, \
                       \"prompt_tokens_details\": {\"cached_tokens\": 20}}}";
        let said = asked(helper(thought).await).await.unwrap();
        assert_eq!(said, Said { input_tokens: 30, cache_read: 20, output_tokens: 10, ..Said::default() });
    }

    #[tokio::test]
    async fn a_model_that_wants_its_limit_by_another_name_is_asked_so() {
        let (helper, mut told) = thinking().await;
        for _ in 0..2 {
            assert_eq!(helper.ask(&question()).await.unwrap().text, "Tide");
        }
        let mut asked = Vec::new();
        while let Ok(request) = told.try_recv() {
            asked.push(request.contains("\"max_completion_tokens\":10"));
        }
        assert_eq!(asked, [false, true, true], "it is refused once");
    }

    #[tokio::test]
    async fn only_a_helper_that_is_not_there_costs_nothing() {
        for says in
            ["", "HTTP/1.1 500 Oops\r\nconnection: close\r\n\r\n{}", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"]
        {
            let failure = asked(helper(says).await).await.unwrap_err();
            assert!(matches!(failure, Error::Model { .. }), "{says}: {failure}");
        }
        let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let failure = asked(at(format!("http://{nobody}/v1"))).await.unwrap_err();
        assert!(matches!(failure, Error::Unreachable(_)), "{failure}");
    }

    #[tokio::test]
    async fn whoever_waits_for_helpers_waits_once() {
        let (slow, began) = (Helper { timeout: Duration::from_mins(1), ..helper("").await }, Instant::now());
        let asking = async {
            let late = slow.ask(&question()).await.unwrap_err();
            assert!(matches!(late, Error::Model { .. }), "{late}");
            for _ in 0..10 {
                let unasked = slow.ask(&question()).await.unwrap_err();
                assert!(matches!(unasked, Error::Unreachable(_)), "{unasked}");
            }
        };
        at_most(Duration::from_millis(100), asking).await;
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}
