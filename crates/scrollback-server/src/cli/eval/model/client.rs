//! Calls of an upstream: tried again while that may help, paid for from the till, kept and written down.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, Method, StatusCode};
use bytes::Bytes;
use scrollback::ledger::{Cost, Price, Usage};
use scrollback_eval::models::{Bill, Tab, Trouble, Who};
use serde_json::Value;
use tokio::sync::Semaphore;
use twox_hash::XxHash3_128;

use super::quirks::Quirks;
use super::record::Record;
use super::till::{Till, most};
use super::transcript::{Entry, Transcripts};
use crate::upstream::{Outgoing, Silence, Upstream};
use crate::wire;
use crate::wire::said::Said;

/// How often a call is tried.
const TRIES: u32 = 5;
/// How long is waited before the second try; it doubles with every other.
const PAUSE: Duration = Duration::from_millis(500);
/// Nobody waits longer than this, whatever an upstream says.
const MOST_PAUSE: Duration = Duration::from_mins(2);
/// After so many calls in a row that failed, nothing more is asked.
const MOST_FAILURES: u32 = 8;
/// How much of a refusal is told.
const TOLD_CHARS: usize = 300;

/// A call.
pub(super) struct Call<'a> {
    pub(super) who: Who,
    /// Where its transcript belongs.
    pub(super) file: &'a str,
    pub(super) body: Bytes,
    /// How long the reply may be.
    pub(super) reply_tokens: u32,
    pub(super) price: Option<&'a Price>,
}

/// What was answered.
pub(super) struct Heard {
    pub(super) said: Said,
    pub(super) bill: Bill,
}

/// How a try went.
enum Tried {
    Reply(Bytes),
    /// It may go better later: why, and when if the upstream says so.
    Later(String, Option<Duration>),
    Refused(StatusCode, Bytes),
    /// It was refused for something that need not be sent.
    Adapted,
    Nobody(String),
}

/// An upstream that a run speaks to.
pub(super) struct Client {
    pub(super) upstream: Upstream,
    /// The variable that its key is from, if there is one.
    pub(super) key_env: Option<String>,
    pub(super) url: String,
    pub(super) limit: Cost,
    pub(super) till: Till,
    pub(super) seats: Semaphore,
    pub(super) record: Option<Record>,
    pub(super) transcripts: Option<Transcripts>,
    /// Whether nothing is sent and only what it could cost is reckoned.
    pub(super) is_dry: bool,
    /// What all calls of this run took, and those that were made before.
    pub(super) paid: Tab,
    pub(super) before: Tab,
    pub(super) quirks: Quirks,
    pub(super) failures: AtomicU32,
    pub(super) retries: AtomicU32,
    pub(super) halted: Mutex<Option<Halt>>,
}

/// Why nothing more is asked.
#[derive(Clone, Debug)]
pub(super) enum Halt {
    /// The money does not reach.
    Limit,
    /// It makes no sense.
    Hopeless(String),
}

impl Client {
    /// Makes a call, or finds what it was answered before.
    pub(super) async fn call(&self, call: Call<'_>) -> Result<Heard, Trouble> {
        let name = self.name(&call.body);
        if let Some(reply) = self.record.as_ref().and_then(|record| record.take(&name)) {
            self.write_down(&call, Some(200), reply.as_bytes(), true)?;
            return self.heard(&call, reply.as_bytes(), &self.before);
        }
        if self.is_dry {
            self.reckon(call.price, call.body.len(), call.reply_tokens, 2);
            return Err(Trouble::Failed("nothing is sent".into()));
        }
        let _seat = self.seats.acquire().await.map_err(|_| Trouble::Halted)?;
        let reply = self.persist(&call).await?;
        let heard = self.heard(&call, &reply, &self.paid)?;
        if let Some(record) = &self.record {
            let put = record.put(&name, &String::from_utf8_lossy(&reply));
            put.map_err(|error| self.hopeless(format!("{error:#}")))?;
        }
        Ok(heard)
    }

    /// Adds up what calls could cost at most.
    pub(super) fn reckon(&self, price: Option<&Price>, bytes: usize, reply_tokens: u32, calls: u64) {
        let each = Bill { calls: 1, cost: most(price, bytes, reply_tokens), ..Bill::default() };
        (0..calls).for_each(|_| self.paid.add(each));
    }

    /// Why nothing more is asked.
    pub(super) fn halt(&self) -> Option<Halt> {
        self.halted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn hopeless(&self, why: String) -> Trouble {
        self.stop(Halt::Hopeless(why))
    }

    fn stop(&self, why: Halt) -> Trouble {
        self.halted.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        Trouble::Halted
    }

    /// Tries until there is a reply, or no hope of one.
    async fn persist(&self, call: &Call<'_>) -> Result<Bytes, Trouble> {
        let mut why = String::new();
        for attempt in 0..TRIES {
            if self.halt().is_some() {
                return Err(Trouble::Halted);
            }
            let wait = match self.attempt(call).await? {
                Tried::Reply(reply) => return Ok(reply),
                Tried::Adapted => continue,
                Tried::Refused(status, body) => return Err(self.refused(status, &body)),
                Tried::Nobody(error) if attempt + 1 == TRIES => return Err(self.hopeless(self.about(&error))),
                Tried::Nobody(_) => None,
                Tried::Later(reason, wait) => {
                    why = reason;
                    wait
                }
            };
            if attempt + 1 < TRIES {
                self.retries.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(wait.unwrap_or(PAUSE * 2_u32.pow(attempt)).min(MOST_PAUSE)).await;
            }
        }
        Err(self.failed(why))
    }

    /// Tries once, if there is money for it.
    async fn attempt(&self, call: &Call<'_>) -> Result<Tried, Trouble> {
        let dearest = most(call.price, call.body.len(), call.reply_tokens);
        let Some(aside) = self.till.set_aside(dearest).await else { return Err(self.stop(Halt::Limit)) };
        let wire = self.upstream.wire;
        let mut headers = crate::helper::headers(wire);
        self.upstream.sign(&mut headers);
        let body = self.quirks.adapted(&call.body);
        let outgoing = Outgoing { method: Method::POST, path: wire.path(), headers: &headers, body: body.clone() };
        let sent = Call { who: call.who, file: call.file, body, reply_tokens: 0, price: None };
        let answer = match self.upstream.send(outgoing).await {
            Ok(answer) => answer,
            Err(Silence::Unreachable(why)) => {
                aside.settle(Cost::default());
                return Ok(Tried::Nobody(why));
            }
            // It may have been answered, and paid for, where we could not hear it.
            Err(silence @ (Silence::Late | Silence::Broken(_))) => {
                self.write_down(&sent, None, silence.to_string().as_bytes(), false)?;
                return Ok(Tried::Later(silence.to_string(), None));
            }
        };
        let (status, wait) = (answer.status, wait(&answer.headers));
        let body = match answer.body.all().await {
            Ok(body) => body,
            Err(error) => {
                self.write_down(&sent, Some(status.as_u16()), error.to_string().as_bytes(), false)?;
                return Ok(Tried::Later(format!("its reply was cut off: {error}"), None));
            }
        };
        self.write_down(&sent, Some(status.as_u16()), &body, false)?;
        if status.is_success() {
            aside.settle(self.cost(call, &body));
            return Ok(Tried::Reply(body));
        }
        aside.settle(Cost::default());
        Ok(if is_passing(status) {
            Tried::Later(self.about(&told(status, &body)), wait)
        } else if self.quirks.learn(status, &body, &sent.body) {
            Tried::Adapted
        } else {
            Tried::Refused(status, body)
        })
    }

    /// What a reply cost: the most it can have if it does not tell.
    fn cost(&self, call: &Call<'_>, reply: &[u8]) -> Cost {
        let usage = self.read(reply).and_then(|said| usage(&said));
        let told = |usage: Usage| call.price.map_or(Cost::default(), |price| price.cost(usage.hit(), usage.output));
        usage.map_or_else(|| most(call.price, call.body.len(), call.reply_tokens), told)
    }

    fn heard(&self, call: &Call<'_>, reply: &[u8], tab: &Tab) -> Result<Heard, Trouble> {
        let said = self.read(reply).filter(|said| !said.failed);
        let bill = Bill::of(said.as_ref().and_then(usage), self.cost(call, reply));
        tab.add(bill);
        let said = said.ok_or_else(|| self.failed("what it answered is no reply of a model".into()))?;
        self.failures.store(0, Ordering::Relaxed);
        Ok(Heard { said, bill })
    }

    fn read(&self, reply: &[u8]) -> Option<Said> {
        wire::of_path(self.upstream.wire.path())?.speech().read(reply)
    }

    fn write_down(&self, call: &Call<'_>, status: Option<u16>, reply: &[u8], kept: bool) -> Result<(), Trouble> {
        let Some(transcripts) = &self.transcripts else { return Ok(()) };
        let entry = Entry { who: call.who.name(), request: &call.body, status, reply, kept };
        transcripts.add(call.file, &entry).map_err(|error| self.hopeless(format!("{error:#}")))
    }

    /// A call that nobody answers. Too many of them in a row are one trouble and not many.
    fn failed(&self, why: String) -> Trouble {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if failures < MOST_FAILURES {
            return Trouble::Failed(why);
        }
        self.hopeless(format!("{failures} calls in a row failed, the last one because: {why}"))
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> Trouble {
        let said = told(status, body);
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => self.hopeless(match &self.key_env {
                Some(variable) => format!("{} refused the key in {variable}: {said}", self.url),
                None => format!("{} wants a key: name the variable that holds it with --key-env: {said}", self.url),
            }),
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => self.hopeless(self.about(&said)),
            _ => self.failed(self.about(&said)),
        }
    }

    fn about(&self, what: &str) -> String {
        format!("{}: {what}", self.url)
    }

    /// What a call is found again by.
    fn name(&self, body: &[u8]) -> String {
        let place = format!("{}{}\n", self.url, self.upstream.wire.path());
        format!("{:032x}", XxHash3_128::oneshot(&[place.as_bytes(), body].concat()))
    }
}

fn usage(said: &Said) -> Option<Usage> {
    said.usage.as_ref().and_then(Usage::read)
}

/// Whether a refusal may pass.
fn is_passing(status: StatusCode) -> bool {
    matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT) || status.is_server_error()
}

/// A refusal, for people.
fn told(status: StatusCode, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let message = serde_json::from_slice::<Value>(body).ok();
    let message = message.and_then(|value| value["error"]["message"].as_str().map(str::to_owned));
    let said: String = message.unwrap_or_else(|| text.trim().to_owned()).chars().take(TOLD_CHARS).collect();
    format!("{status} {said}").trim_end().to_owned()
}

/// How long an upstream wants to be left alone.
fn wait(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get("retry-after")?.to_str().ok()?.trim().parse::<f64>().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}
