//! A streamed reply: passed on as it comes, listened to on the way. Calls of ours are kept back; when they are answered, the
//! next round goes on in the same stream.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use scrollback::recall::Sieve;
use serde_json::Value;

use super::exchange::{Exchange, Verdict};
use super::pass;
use crate::upstream::{Answer, AnswerBody, Silence};
use crate::wire::edit::add_output;
use crate::wire::reply::{Chunk, Gathered, called};
use crate::wire::sse::{Event, Splitter, written};

/// While a round is prepared, a comment is sent this often, so that nobody takes the stream for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

type Next = Pin<Box<dyn Future<Output = (Exchange, Result<Answer, Silence>)> + Send>>;

/// Where a stream is.
enum Phase {
    /// A reply is coming.
    Coming(Box<Exchange>, AnswerBody),
    /// Calls of ours are answered, and the model is asked again.
    Between(Next),
    /// All is said.
    Over,
}

struct Streaming {
    phase: Phase,
    splitter: Splitter,
    gathered: Gathered,
    sieve: Option<Sieve>,
    /// The client's number of each call that is the client's; `None` for ours.
    numbers: HashMap<u64, Option<u64>>,
    /// Pieces of calls whose name is not whole yet.
    undecided: Vec<(u64, Value)>,
    /// What is kept back until it is known how the round ends.
    kept_back: Vec<Value>,
    first_id: Option<String>,
    later_round: bool,
    out: BytesMut,
    ready: VecDeque<Result<Bytes, std::io::Error>>,
}

/// The response that streams a reply.
pub(super) fn respond(exchange: Exchange, answer: Answer) -> Response<Body> {
    let mut headers = answer.headers;
    headers.extend(exchange.labels());
    let sieve = exchange.reads_text().then(Sieve::default);
    let streaming = Streaming {
        phase: Phase::Coming(Box::new(exchange), answer.body),
        splitter: Splitter::default(),
        gathered: Gathered::default(),
        sieve,
        numbers: HashMap::new(),
        undecided: Vec::new(),
        kept_back: Vec::new(),
        first_id: None,
        later_round: false,
        out: BytesMut::new(),
        ready: VecDeque::new(),
    };
    let body = stream::unfold(streaming, |mut streaming| async {
        let piece = streaming.next().await?;
        Some((piece, streaming))
    });
    pass::with(answer.status, headers, Body::from_stream(body))
}

impl Streaming {
    /// The next piece for the client.
    async fn next(&mut self) -> Option<Result<Bytes, std::io::Error>> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(pass::after_what_came(piece).await);
            }
            // While it waits, the phase stays where it is: a client that leaves then must not take the reply with it.
            let piece = if let Phase::Coming(_, body) = &mut self.phase { body.chunk().await } else { Ok(None) };
            match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Over => return None,
                Phase::Coming(exchange, body) => match piece {
                    Ok(Some(bytes)) => {
                        self.splitter.push(&bytes);
                        self.phase = self.listen(exchange, body).await;
                    }
                    Ok(None) => self.phase = self.ended(*exchange).await,
                    Err(error) => {
                        self.flush();
                        exchange.fail();
                        self.ready.push_back(Err(error));
                    }
                },
                Phase::Between(mut next) => match tokio::time::timeout(KEEP_ALIVE, &mut next).await {
                    Err(_) => {
                        self.phase = Phase::Between(next);
                        return Some(Ok(Bytes::from_static(b": recalling\n\n")));
                    }
                    Ok((exchange, answer)) => self.phase = self.next_round(exchange, answer).await,
                },
            }
        }
    }

    /// Takes every event that is complete.
    async fn listen(&mut self, exchange: Box<Exchange>, body: AnswerBody) -> Phase {
        let mut exchange = exchange;
        while let Some(event) = self.splitter.next() {
            if event.data.as_deref() == Some(b"[DONE]") {
                let phase = self.done(*exchange, Some(event)).await;
                self.flush();
                return phase;
            }
            self.event(&mut exchange, &event);
        }
        self.flush();
        Phase::Coming(exchange, body)
    }

    fn flush(&mut self) {
        if !self.out.is_empty() {
            self.ready.push_back(Ok(self.out.split().freeze()));
        }
    }

    fn event(&mut self, exchange: &mut Exchange, event: &Event) {
        let chunk: Option<Chunk> = event.data.as_deref().and_then(|data| serde_json::from_slice(data).ok());
        let Some(mut chunk) = chunk else {
            self.out.extend_from_slice(&event.raw);
            return;
        };
        self.gathered.number(&mut chunk);
        self.gathered.add(&chunk);
        if chunk.is_error() {
            self.release();
            self.out.extend_from_slice(&event.raw);
            return;
        }
        self.first_id = self.first_id.take().or_else(|| chunk.id.clone());
        let calls = chunk.choices.iter().any(|choice| choice.delta.contains_key("tool_calls"));
        let ends = chunk.choices.iter().any(|choice| choice.finish_reason.is_some());
        let ours_before = self.numbers.values().any(Option::is_none);
        let early = ends && exchange.must_wait();
        if !calls && !early && !self.later_round && !ours_before && self.sieve.is_none() {
            self.out.extend_from_slice(&event.raw);
            return;
        }
        let original: Value =
            event.data.as_deref().and_then(|data| serde_json::from_slice(data).ok()).unwrap_or_default();
        let changed = self.rewritten(exchange, original.clone(), &chunk);
        let ours = self.numbers.values().any(Option::is_none);
        let apart = ours || self.sieve.is_some() || exchange.must_wait();
        let waits = apart && (ends || chunk.choices.is_empty());
        match changed {
            Some(value) if waits => self.kept_back.push(value),
            Some(value) if value == original => self.out.extend_from_slice(&event.raw),
            Some(value) => self.out.extend_from_slice(&written(&value.to_string())),
            None if calls || ours || self.sieve.is_some() || self.later_round => {}
            None => self.out.extend_from_slice(&event.raw),
        }
    }

    /// A chunk as the client may see it; `None` if nothing of it is left.
    fn rewritten(&mut self, exchange: &Exchange, mut value: Value, chunk: &Chunk) -> Option<Value> {
        if let Some(id) = &self.first_id {
            value["id"] = id.clone().into();
        }
        if chunk.choices.is_empty() {
            Self::add_earlier_output(exchange, &mut value);
            return Some(value);
        }
        if !value["choices"][0]["delta"].is_object() {
            value["choices"][0]["delta"] = serde_json::json!({});
        }
        let delta = value["choices"][0]["delta"].as_object_mut()?;
        if self.later_round {
            delta.shift_remove("role");
        }
        if let (Some(sieve), Some(Value::String(text))) = (&mut self.sieve, delta.get_mut("content")) {
            *text = sieve.push(text);
        }
        if delta.shift_remove("tool_calls").is_some() {
            let calls = chunk.choices.iter().filter_map(|choice| choice.delta.get("tool_calls")?.as_array()).flatten();
            let theirs: Vec<Value> = calls.flat_map(|call| self.renumbered(exchange, call.clone())).collect();
            if !theirs.is_empty() {
                delta.insert("tool_calls".into(), theirs.into());
            }
        }
        let empty = |value: &Value| value.is_null() || value.as_str().is_some_and(str::is_empty);
        let says = delta.values().any(|value| !empty(value));
        let ends = chunk.choices.iter().any(|choice| choice.finish_reason.is_some());
        (says || ends).then_some(value)
    }

    /// Pieces of a call of the client's, numbered as if there were no others. None if the call is ours, or as long as its name
    /// could still become one of ours.
    fn renumbered(&mut self, exchange: &Exchange, call: Value) -> Vec<Value> {
        let index = call["index"].as_u64().unwrap_or(0);
        self.undecided.push((index, call));
        if !self.numbers.contains_key(&index) {
            let place = usize::try_from(index).unwrap_or(usize::MAX);
            let Some(gathered) = self.gathered.calls.get(place) else { return Vec::new() };
            let begun = gathered["function"]["arguments"].as_str().is_some_and(|arguments| !arguments.is_empty());
            let name = called(gathered);
            if name.is_empty() || !begun && exchange.could_be_ours(name) {
                return Vec::new();
            }
            let count = self.numbers.values().flatten().count() as u64;
            self.numbers.insert(index, (!exchange.is_ours(name)).then_some(count));
        }
        let number = self.numbers.get(&index).copied().flatten();
        let (mine, others) = std::mem::take(&mut self.undecided).into_iter().partition(|(of, _)| *of == index);
        self.undecided = others;
        let mine: Vec<(u64, Value)> = mine;
        let numbered = mine.into_iter().filter_map(|(_, mut piece)| {
            piece["index"] = number?.into();
            Some(piece)
        });
        numbered.collect()
    }

    /// Lets out what was kept back.
    fn release(&mut self) {
        for value in std::mem::take(&mut self.kept_back) {
            self.out.extend_from_slice(&written(&value.to_string()));
        }
    }

    /// What earlier rounds put out counts too; their input does not, as clients size their window by it.
    fn add_earlier_output(exchange: &Exchange, value: &mut Value) {
        let earlier = exchange.output_before();
        if earlier > 0 && value["usage"].is_object() {
            add_output(value, earlier);
        }
    }

    /// The round has ended as it should.
    async fn done(&mut self, mut exchange: Exchange, done: Option<Event>) -> Phase {
        let gathered = std::mem::take(&mut self.gathered);
        let finished = self.sieve.take().map(Sieve::finish);
        if gathered.fields.is_empty() && gathered.calls.is_empty() {
            exchange.fail();
            self.release();
            self.out.extend(done.into_iter().flat_map(|done| done.raw));
            return Phase::Over;
        }
        exchange.enter(gathered.usage.as_ref());
        if gathered.failed {
            exchange.fail();
            self.release();
            self.out.extend(done.map(|done| done.raw).unwrap_or_default());
            return Phase::Over;
        }
        let verdict = exchange.judge(&gathered);
        if let Verdict::Again(calls) = verdict {
            self.kept_back.clear();
            let hides = finished.is_some();
            exchange.has_said(&if hides { Sieve::default().push(gathered.text()) } else { gathered.text().to_owned() });
            let next = async move {
                exchange.again(&gathered, &calls).await;
                let answer = exchange.send().await;
                (exchange, answer)
            };
            return Phase::Between(Box::pin(next));
        }
        let mut shown = gathered.clone();
        if let Some(finished) = finished {
            self.say(&finished.text);
            shown.fields.insert("content".into(), Self::said_by_sieve(&gathered, &finished.text).into());
        }
        if let Verdict::Mixed(calls) = verdict {
            let (theirs, results) = exchange.park(&gathered, &calls).await;
            exchange.finish(&gathered, &theirs, Some(results)).await;
        } else {
            let theirs = exchange.theirs(&gathered.calls);
            let none_left = theirs.is_empty() && !gathered.calls.is_empty();
            for value in self.kept_back.iter_mut().filter(|_| none_left) {
                if value["choices"][0]["finish_reason"] == "tool_calls" {
                    value["choices"][0]["finish_reason"] = "stop".into();
                }
            }
            exchange.finish(&shown, &theirs, None).await;
        }
        self.release();
        if let Some(done) = done {
            self.out.extend_from_slice(&done.raw);
        }
        Phase::Over
    }

    /// What the client saw of a reply that went through a sieve.
    fn said_by_sieve(gathered: &Gathered, rest: &str) -> String {
        let mut sieve = Sieve::default();
        sieve.push(gathered.text()) + rest
    }

    /// Says something in a chunk of its own.
    fn say(&mut self, text: &str) {
        if !text.is_empty() {
            let delta = serde_json::json!({"index": 0, "delta": {"content": text}, "finish_reason": null});
            let id = self.first_id.clone().unwrap_or_default();
            let chunk = serde_json::json!({"id": id, "object": "chat.completion.chunk", "choices": [delta]});
            self.out.extend_from_slice(&written(&chunk.to_string()));
        }
    }

    /// The upstream's stream is over, with or without a word of goodbye.
    async fn ended(&mut self, mut exchange: Exchange) -> Phase {
        let rest = std::mem::take(&mut self.splitter).rest();
        // The last event may lack the empty line after it.
        let (mut last, mut done) = (Splitter::default(), None);
        last.push(&[&rest, &b"\n\n"[..]].concat());
        while let Some(event) = last.next() {
            match event.data.as_deref() {
                Some(b"[DONE]") => done = Some(Event { raw: rest.clone(), ..event }),
                Some(_) if !rest.is_empty() => self.event(&mut exchange, &Event { raw: rest.clone(), ..event }),
                _ => {}
            }
        }
        let phase = if self.gathered.finish.is_some() || done.is_some() {
            self.done(exchange, done).await
        } else {
            exchange.fail();
            self.release();
            Phase::Over
        };
        self.flush();
        phase
    }

    /// The next round of the same reply.
    async fn next_round(&mut self, exchange: Exchange, answer: Result<Answer, Silence>) -> Phase {
        self.later_round = true;
        self.numbers.clear();
        self.undecided.clear();
        self.splitter = Splitter::default();
        self.sieve = exchange.reads_text().then(Sieve::default);
        match answer {
            Ok(answer) if answer.status.is_success() => Phase::Coming(Box::new(exchange), answer.body),
            refusal => {
                exchange.fail();
                let told = match refusal {
                    Ok(answer) => answer.body.all().await.unwrap_or_default(),
                    Err(silence) => error_event(&silence.to_string()),
                };
                // A stream that has begun has no status left to change: the error comes as an event.
                let told = String::from_utf8_lossy(&told).replace(['\r', '\n'], " ");
                self.ready.push_back(Ok(written(&told)));
                Phase::Over
            }
        }
    }
}

/// A client that has seen why a reply ended may leave without waiting for the end: the reply is kept all the same.
impl Drop for Streaming {
    fn drop(&mut self) {
        let Phase::Coming(mut exchange, _) = std::mem::replace(&mut self.phase, Phase::Over) else { return };
        let gathered = std::mem::take(&mut self.gathered);
        let ended = gathered.finish.is_some() && !gathered.failed;
        if ended && matches!(exchange.judge(&gathered), Verdict::Deliver) {
            tokio::spawn(async move {
                exchange.enter(gathered.usage.as_ref());
                let (theirs, text) = (exchange.theirs(&gathered.calls), exchange.visible(&gathered));
                let mut shown = gathered;
                shown.fields.extend(text.map(|text| ("content".to_owned(), text.into())));
                exchange.finish(&shown, &theirs, None).await;
            });
        }
    }
}

/// What is said in a stream that has begun and cannot go on.
fn error_event(why: &str) -> Bytes {
    let what = format!("the upstream failed while the reply was under way: {why}");
    serde_json::json!({"error": {"message": what, "type": "upstream_error", "param": null, "code": "upstream_failed"}})
        .to_string()
        .into()
}
