//! What is recorded under `fixtures/wire/responses`, read and written again.

use axum::http::HeaderMap;
use bytes::{Bytes, BytesMut};
use scrollback::recall::RecallTool;
use serde_json::{Value, json};

use super::Responses;
use super::items;
use crate::config::RecallBy;
use crate::wire::offer::Offer;
use crate::wire::request::Request;
use crate::wire::said::{Called, End, Piece};
use crate::wire::sse::Splitter;
use crate::wire::{Ear, Echo, ErrorKind, Follows, Output, Own, Wire};

const AGENT: &str = include_str!("../../../../../fixtures/wire/responses/agent.json");
const PLAIN: &str = include_str!("../../../../../fixtures/wire/responses/plain.sse");
const MIXED: &str = include_str!("../../../../../fixtures/wire/responses/mixed.sse");
const MIXED_SEEN: &str = include_str!("../../../../../fixtures/wire/responses/mixed.seen.sse");

fn request(body: &str) -> Request {
    Request::read(&Bytes::copy_from_slice(body.as_bytes()), "input", closing).unwrap()
}

/// Where the array that a text begins with ends.
fn closing(text: &str) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

fn offer(body: &str) -> Offer {
    let opened = Responses.opened(&request(body), &HeaderMap::new());
    Offer::new(RecallBy::Tools, &RecallTool::ALL, &opened, &Responses)
}

#[test]
fn a_request_is_read_and_stays_as_it_came() {
    let request = request(AGENT);
    assert_eq!(&request.write(&[])[..], AGENT.as_bytes());
    let opened = Responses.opened(&request, &HeaderMap::new());
    assert_eq!(opened.tools, ["exec_command", "agents__close"]);
    assert_eq!((opened.sealed, opened.followed, opened.reply_tokens), (true, false, Some(900)));
    assert_eq!((opened.follows, opened.untouched, opened.new), (None, None, None));
    assert_eq!(opened.heads.unwrap()[0].get(), r#"{"role":"system","content":"Be brief."}"#);
}

#[test]
fn what_a_request_follows() {
    let check = |body: Value, follows: Option<Follows>, untouched: bool| {
        let opened = Responses.opened(&request(&body.to_string()), &HeaderMap::new());
        assert_eq!((opened.follows, opened.untouched.is_some()), (follows, untouched), "{body}");
    };
    let conversation = Some(Follows::Conversation("conv_1".into()));
    check(json!({"input": [], "conversation": "conv_1"}), conversation.clone(), false);
    check(json!({"input": [], "conversation": {"id": "conv_1"}}), conversation, false);
    check(json!({"input": [], "previous_response_id": "resp_1"}), Some(Follows::Response("resp_1".into())), false);
    check(json!({"input": [], "previous_response_id": null}), None, false);
    check(json!({"input": [], "background": true}), None, true);
    check(json!({"input": [], "context_management": [{"type": "compaction"}]}), None, true);
    check(json!({"input": [{"type": "item_reference", "id": "x"}]}), None, true);
    check(json!({"input": [{"type": "message", "role": "user", "content": "\"item_reference\""}]}), None, false);
    let theirs = json!({"type": "compaction", "encrypted_content": "gAAAA"});
    check(json!({"input": [theirs]}), None, false);
    check(json!({"input": [{"role": "user", "content": "a"}, theirs]}), None, true);
    check(json!({"input": [super::compaction("cmp_7"), theirs]}), Some(Follows::Compaction("cmp_7".into())), true);
}

#[test]
fn a_compaction_of_ours_leaves_what_came_after_it() {
    let items = json!([{"role": "user", "content": "a"}, super::compaction("cmp_7"), {"role": "user", "content": "b"}]);
    let opened = Responses.opened(&request(&json!({"input": items}).to_string()), &HeaderMap::new());
    assert_eq!(opened.new.as_deref(), Some(r#"[{"role":"user","content":"b"}]"#));
}

#[test]
fn instructions_before_a_compaction_of_ours_are_taken() {
    let tools = json!({"type": "additional_tools", "tools": [{"name": "look"}]});
    let developer = json!({"type": "message", "role": "developer", "content": "a"});
    let spoken = json!({"role": "user", "content": "b"});
    let items = json!([tools, spoken, developer, super::compaction("cmp_7"), developer, spoken]);
    let opened = Responses.opened(&request(&json!({"input": items}).to_string()), &HeaderMap::new());
    let heads: Vec<String> = opened.heads.unwrap().iter().map(|head| head.get().to_owned()).collect();
    assert_eq!(heads, [tools.to_string(), developer.to_string()]);
    assert_eq!(opened.new, Some(json!([developer, spoken]).to_string()));
    assert_eq!((opened.tools, opened.sealed), (vec!["look".to_owned()], true));
}

#[test]
fn what_matters_is_found_wherever_it_stands() {
    let late = |item: Value| {
        let items = json!([{"type": "message", "role": "developer", "content": "a"}, {"role": "user", "content": "b"},
                           "what is this", 7, item]);
        Responses.opened(&request(&json!({"input": items}).to_string()), &HeaderMap::new())
    };
    assert!(late(json!({"type": "additional_tools", "tools": []})).sealed);
    assert!(late(json!({"type": "compaction_trigger"})).untouched.is_some());
    assert_eq!(late(super::compaction("cmp_7")).follows, Some(Follows::Compaction("cmp_7".into())));
    let plain = late(json!({"role": "user", "content": "additional_tools, \"compaction\""}));
    assert_eq!((plain.sealed, plain.untouched, plain.follows), (false, None, None));
}

#[test]
fn tools_are_always_the_same_bytes() {
    let toolbox = Responses.toolbox();
    let spec = toolbox.spec(RecallTool::Search, "search_history");
    assert!(spec.starts_with(r#"{"type":"function","name":"search_history","description":""#), "{spec}");
    let tool: Value = serde_json::from_str(&spec).unwrap();
    assert_eq!((&tool["strict"], &tool["parameters"]["required"]), (&json!(false), &json!(["words"])));
    assert_eq!(toolbox.without_ours(&request(r#"{"input":[],"tools":[]}"#)), "\"none\"");
    let wants =
        r#"{"input":[],"tool_choice":"required","tools":[{"type":"function","name":"look"},{"type":"web_search"}]}"#;
    let only = json!({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "look"}]});
    assert_eq!(toolbox.without_ours(&request(wants)), only.to_string());
}

/// Passes a stream on in pieces, as one round that ends the reply.
fn relayed(pieces: &[&[u8]]) -> (String, Vec<String>) {
    let body = r#"{"input":[],"tools":[{"type":"function","name":"look"}]}"#;
    let offer = offer(body);
    let ear = Ear { offer: &offer, waits: true, earlier: Output::default() };
    let (mut relay, mut splitter, mut out) = (Responses.speech().relay(false), Splitter::default(), BytesMut::new());
    for piece in pieces {
        splitter.push(piece);
        while let Some(event) = splitter.next() {
            relay.hear(&event, &ear, &mut out);
        }
    }
    assert!(relay.has_ended());
    let said = relay.take();
    let left = said.shown(&said.text(), |call| offer.is_ours(&call.name));
    relay.close(&left, &mut out);
    (String::from_utf8(out.to_vec()).unwrap(), said.calls().map(|call| call.name.clone()).collect())
}

#[test]
fn a_stream_split_anywhere_passes_as_it_came() {
    for first in 0..=PLAIN.len() {
        let (head, tail) = PLAIN.as_bytes().split_at(first);
        assert!(relayed(&[head, tail]).0 == PLAIN, "split at {first}");
    }
}

#[test]
fn a_call_of_ours_leaves_no_trace_wherever_the_stream_is_split() {
    let values = |text: &str| {
        let data = text.lines().filter_map(|line| line.strip_prefix("data: ").or(line.strip_prefix("event: ")));
        data.map(|data| serde_json::from_str(data).unwrap_or_else(|_| data.into())).collect::<Vec<Value>>()
    };
    let (whole, calls) = relayed(&[MIXED.as_bytes()]);
    assert_eq!(calls, ["search_history", "look"]);
    assert_eq!(values(&whole), values(MIXED_SEEN));
    for first in 0..=MIXED.len() {
        let (head, tail) = MIXED.as_bytes().split_at(first);
        assert!(relayed(&[head, tail]).0 == whole, "split at {first}");
    }
}

#[test]
fn an_end_that_tells_of_no_response_passes_as_it_came() {
    let begun = r#"data: {"type":"response.created","response":{"id":"resp_1"}}"#;
    for end in [r#"{"type":"response.completed","response":7}"#, r#"{"type":"response.failed"}"#] {
        let stream = format!("{begun}\n\ndata: {end}\n\n");
        assert_eq!(relayed(&[stream.as_bytes()]).0, stream);
    }
}

#[test]
fn whole_replies_are_read_and_edited() {
    let speech = Responses.speech();
    let call = json!({"type": "function_call", "call_id": "own_1", "name": "search_history", "arguments": "{}"});
    let words = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"},
                       {"type": "refusal", "refusal": "no"}, {"type": "output_text", "text": "b"}]});
    let body = json!({"id": "resp_1", "status": "incomplete", "output": [words, call], "usage": {"output_tokens": 2, "total_tokens": 9, "output_tokens_details": {"reasoning_tokens": 1}}});
    let said = speech.read(body.to_string().as_bytes()).unwrap();
    assert_eq!((said.id.as_deref(), said.end, said.text().as_str()), (Some("resp_1"), Some(End::Cut), "ab"));
    assert_eq!(speech.messages(&said), [words.clone(), call]);
    let left = said.shown("c", |_| true);
    let earlier = Output { tokens: 5, reasoning: 3 };
    let edited: Value = serde_json::from_slice(&speech.edited(body.to_string().as_bytes(), &left, earlier)).unwrap();
    assert_eq!((&edited["usage"]["output_tokens"], &edited["usage"]["total_tokens"]), (&json!(7), &json!(14)));
    assert_eq!(edited["usage"]["output_tokens_details"]["reasoning_tokens"], 4);
    let content = json!([{"type": "output_text", "text": "c"}, {"type": "refusal", "refusal": "no"}]);
    assert_eq!(edited["output"], json!([{"type": "message", "role": "assistant", "content": content}]));
    for status in ["failed", "cancelled", "queued", "in_progress"] {
        let body = json!({"id": "resp_1", "status": status, "output": [words]});
        assert!(speech.read(body.to_string().as_bytes()).is_none(), "{status}");
    }
    assert!(speech.read(b"{\"error\":{}}").is_none());
}

#[test]
fn a_reply_tells_of_its_request_as_the_client_made_it() {
    let check = |asked: &str, came: &Value, expected: &Value| {
        let (offer, request) = (offer(asked), request(asked));
        let gone =
            ["previous_response_id", "conversation"].into_iter().filter(|name| request.raw(name).is_some()).collect();
        let told = Responses.speech().restored(came.to_string().into(), &Echo { offer, request, gone });
        assert_eq!(serde_json::from_slice::<Value>(&told).unwrap(), *expected, "{asked}");
    };
    let came =
        json!({"tools": [{"name": "look"}, {"name": "recall_page"}], "previous_response_id": null, "output": []});
    let plain = json!({"tools": [{"name": "look"}], "previous_response_id": null, "output": []});
    check(r#"{"input":[]}"#, &came, &plain);
    let follows = json!({"tools": [{"name": "look"}], "previous_response_id": "resp_1", "output": []});
    check(r#"{"input":[],"previous_response_id":"resp_1"}"#, &came, &follows);
    check(r#"{"input":[],"previous_response_id":"resp_1"}"#, &follows, &follows);
    let named = json!({"tools": [{"name": "look"}], "previous_response_id": null, "output": [], "conversation": {"id": "conv_1"}});
    check(r#"{"input":[],"conversation":"conv_1"}"#, &came, &named);
}

#[test]
fn a_piece_without_words_left_is_no_item() {
    let empty = json!({"type": "message", "role": "assistant", "content": []});
    assert_eq!(items::item(&items::piece(&empty)), Some(empty.clone()), "as it came");
    let words = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]});
    assert_eq!(items::item(&Piece::Words { text: String::new(), value: words }), None);
}

#[test]
fn replies_of_our_own_are_whole() {
    let call = Called { id: "call_1".into(), name: "look".into(), arguments: "{}".into(), value: Value::Null };
    let own = |streams: bool| {
        let calls = vec![call.clone()];
        let own = Own { id: "resp_1", model: "quote", text: "Hello.", calls, streams, tells_usage: true };
        String::from_utf8(Responses.speech().own(&own).to_vec()).unwrap()
    };
    let plain: Value = serde_json::from_str(&own(false)).unwrap();
    assert_eq!(Responses.speech().read(own(false).as_bytes()).unwrap().text(), "Hello.");
    let (stream, calls) = relayed(&[own(true).as_bytes()]);
    assert_eq!((stream.as_str(), &calls[..]), (own(true).as_str(), &["look".to_owned()][..]));
    let last: Value =
        serde_json::from_str(stream.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap())
            .unwrap();
    assert_eq!(last["response"], plain);
    let error = Responses.speech().error(ErrorKind::Request, "x", "why");
    assert_eq!(
        error,
        json!({"error": {"message": "why", "type": "invalid_request_error", "param": null, "code": "x"}})
    );
}
