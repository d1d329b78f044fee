//! A streamed reply, event by event: one response over all rounds. Calls of ours are swallowed; what is left is
//! numbered as if there were no others, and what nothing was done to passes as it came.

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};

use super::echo::{hide_tools, restore};
use super::gather::Gathered;
use super::items;
use super::sieved::Sieved;
use crate::wire::offer::Offer;
use crate::wire::said::Said;
use crate::wire::sse::{Event, event_of};
use crate::wire::{Ear, Echo, Heard, Relay};

/// The events of a reply.
pub(super) struct Items {
    gathered: Gathered,
    sieved: Option<Sieved>,
    numbers: Numbers,
    /// Events of calls whose name is not known yet.
    nameless: Vec<(u64, Event, Value)>,
    /// The items that the client was shown, over all rounds.
    shown: Vec<Value>,
    first_id: Option<String>,
    /// The event that ends the reply, as it came and as it is to be told.
    last: Option<(Bytes, Value)>,
    /// The last word of a stream, as it came.
    done: Bytes,
    /// What the response may tell of its request that was not sent as it came.
    echo: Option<Echo>,
    /// Whether another round came before this one.
    later: bool,
}

/// How the client's events are numbered.
#[derive(Default)]
struct Numbers {
    /// Whether the client sees something else than what came.
    shifted: bool,
    next_event: u64,
    next_item: u64,
    /// The client's place of each item of this round; `None` for calls of ours.
    places: HashMap<u64, Option<u64>>,
}

impl Numbers {
    fn number(&mut self, event: &mut Value) {
        if let Some(said) = event["sequence_number"].as_u64() {
            let number = if self.shifted { self.next_event } else { said };
            self.next_event = number + 1;
            event["sequence_number"] = number.into();
        }
    }

    /// The client's place of an item that goes to the client.
    fn place(&mut self, index: u64) -> Option<u64> {
        let next = &mut self.next_item;
        *self.places.entry(index).or_insert_with(|| {
            *next += 1;
            Some(*next - 1)
        })
    }
}

impl Items {
    pub(super) fn new(hides_markers: bool) -> Self {
        Self {
            gathered: Gathered::default(),
            sieved: hides_markers.then(Sieved::default),
            numbers: Numbers::default(),
            nameless: Vec::new(),
            shown: Vec::new(),
            first_id: None,
            last: None,
            done: Bytes::new(),
            echo: None,
            later: false,
        }
    }

    /// An event that tells of the response as a whole, and not of its end.
    fn opening(&mut self, event: &Event, mut value: Value, ear: &Ear<'_>, out: &mut BytesMut) {
        if self.later {
            return;
        }
        let id = value["response"]["id"].as_str().map(str::to_owned);
        self.first_id = self.first_id.take().or(id);
        self.restore(&mut value["response"], ear);
        self.tell(Some(event), value, out);
    }

    /// An event of an item.
    fn item(&mut self, event: &Event, value: Value, ear: &Ear<'_>, out: &mut BytesMut) {
        let Some(index) = value["output_index"].as_u64() else { return self.pass(event, value, out) };
        let kind = value["type"].as_str().unwrap_or_default();
        let (begins, ends) = (kind == "response.output_item.added", kind == "response.output_item.done");
        let undecided = !self.numbers.places.contains_key(&index);
        let nameless = begins && is_call(&value["item"]) && value["item"]["name"].as_str().is_none_or(str::is_empty);
        let waits = self.nameless.iter().any(|(waiting, ..)| *waiting == index);
        if undecided && (begins || ends) && is_ours(&value["item"], ear.offer) {
            self.numbers.places.insert(index, None);
        }
        if undecided && (nameless || waits) {
            self.nameless.push((index, event.clone(), value));
            if ends {
                self.decided(index, out);
            }
            return;
        }
        match self.numbers.places.get(&index) {
            Some(None) => self.numbers.shifted = true,
            Some(Some(_)) | None => self.pass(event, value, out),
        }
    }

    /// A call has a name now: its events go on, or nowhere.
    fn decided(&mut self, index: u64, out: &mut BytesMut) {
        let (mine, others) = std::mem::take(&mut self.nameless).into_iter().partition(|(of, ..)| *of == index);
        self.nameless = others;
        let mine: Vec<(u64, Event, Value)> = mine;
        for (_, event, value) in mine {
            match self.numbers.places.get(&index) {
                Some(None) => self.numbers.shifted = true,
                Some(Some(_)) | None => self.pass(&event, value, out),
            }
        }
    }

    /// An event for the client, if it is not one to be kept back.
    fn pass(&mut self, event: &Event, value: Value, out: &mut BytesMut) {
        let Some(sieved) = &mut self.sieved else { return self.tell(Some(event), value, out) };
        for value in sieved.push(value) {
            self.tell(Some(event), value, out);
        }
        self.numbers.shifted |= self.sieved.as_ref().is_some_and(Sieved::holds);
    }

    /// Tells the client of an event: as it came, if it is just that.
    fn tell(&mut self, event: Option<&Event>, mut value: Value, out: &mut BytesMut) {
        if let Some(index) = value["output_index"].as_u64() {
            value["output_index"] = self.numbers.place(index).into();
        }
        if value["type"] == "response.output_item.done" {
            self.shown.push(value["item"].clone());
        }
        self.numbers.number(&mut value);
        out.extend_from_slice(&as_it_came(event, &value).unwrap_or_else(|| event_of(&value)));
    }

    /// Has a response tell of its request as the client sent it.
    fn restore(&self, response: &mut Value, ear: &Ear<'_>) {
        hide_tools(response, ear.offer);
        if let Some(echo) = &self.echo {
            restore(response, echo);
        }
    }

    /// The event that ends a round is kept back.
    fn end(&mut self, event: &Event, mut value: Value, ear: &Ear<'_>) {
        if let Some(response) = value.get_mut("response").filter(|response| response.is_object()) {
            if let Some(id) = &self.first_id {
                response["id"] = id.as_str().into();
            }
            items::add_output(response, ear.earlier);
            self.restore(response, ear);
        }
        self.last = Some((event.raw.clone(), value));
    }
}

impl Relay for Items {
    fn hear(&mut self, event: &Event, ear: &Ear<'_>, out: &mut BytesMut) -> Heard {
        if event.data.as_deref() == Some(b"[DONE]") {
            self.done = event.raw.clone();
            return Heard::End;
        }
        let value = event.data.as_deref().and_then(|data| serde_json::from_slice::<Value>(data).ok());
        let Some(value) = value.filter(Value::is_object) else {
            out.extend_from_slice(&event.raw);
            return Heard::More;
        };
        self.gathered.add(&value);
        match value["type"].as_str().unwrap_or_default() {
            "response.created" | "response.in_progress" | "response.queued" => self.opening(event, value, ear, out),
            // Nothing has to come after it, and often nothing does: the connection may break or just stay open.
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.end(event, value, ear);
                return Heard::End;
            }
            _ => self.item(event, value, ear, out),
        }
        Heard::More
    }

    fn expect(&mut self, echo: Echo) {
        self.echo = Some(echo);
    }

    fn take(&mut self) -> Said {
        std::mem::take(&mut self.gathered).said()
    }

    fn begin(&mut self, hides_markers: bool, out: &mut BytesMut) {
        if let Some(sieved) = self.sieved.take() {
            for event in sieved.asked() {
                self.tell(None, event, out);
            }
        }
        self.sieved = hides_markers.then(Sieved::default);
        self.numbers.places.clear();
        (self.numbers.shifted, self.later) = (true, true);
        self.gathered = Gathered::default();
        self.nameless.clear();
        self.last = None;
        self.done = Bytes::new();
    }

    fn close(&mut self, _: &Said, out: &mut BytesMut) {
        if let Some(sieved) = self.sieved.take() {
            for event in sieved.finish() {
                self.tell(None, event, out);
            }
            self.sieved = Some(Sieved::default());
        }
        if let Some((raw, mut value)) = self.last.take() {
            let response = value.get_mut("response").and_then(Value::as_object_mut);
            if let Some(response) = response.filter(|_| self.numbers.shifted) {
                response.insert("output".into(), self.shown.clone().into());
            }
            let came = Event { data: data_of(&raw), raw };
            self.tell(Some(&came), value, out);
        }
        out.extend_from_slice(&std::mem::take(&mut self.done));
    }

    fn has_ended(&self) -> bool {
        self.last.is_some()
    }

    fn fail(&mut self, why: &str, out: &mut BytesMut) {
        let told = serde_json::from_str::<Value>(why).ok().map(|told| told["error"].clone()).filter(Value::is_object);
        let message = told.as_ref().and_then(|error| error["message"].as_str()).unwrap_or(why);
        let code = told.as_ref().and_then(|error| error["code"].as_str()).unwrap_or("server_error");
        let response = json!({"id": self.first_id, "object": "response", "created_at": 0, "status": "failed",
                              "error": {"code": code, "message": message}, "output": self.shown});
        self.tell(None, json!({"type": "response.failed", "sequence_number": 0, "response": response}), out);
    }
}

fn is_call(item: &Value) -> bool {
    item["type"] == "function_call"
}

fn is_ours(item: &Value, offer: &Offer) -> bool {
    items::piece(item).call().is_some_and(|call| offer.is_ours(&call.name))
}

/// The bytes of an event, if it says just this.
fn as_it_came(event: Option<&Event>, value: &Value) -> Option<Bytes> {
    let event = event?;
    let came: Value = serde_json::from_slice(event.data.as_deref()?).ok()?;
    (came == *value).then(|| event.raw.clone())
}

fn data_of(raw: &Bytes) -> Option<Vec<u8>> {
    let mut splitter = crate::wire::sse::Splitter::default();
    splitter.push(&[raw, &b"\n\n"[..]].concat());
    splitter.next()?.data
}
