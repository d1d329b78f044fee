//! The dialect read and written, against recorded shapes in `fixtures/wire/anthropic`.

mod windows;

use bytes::{Bytes, BytesMut};
use scrollback::log::History;
use scrollback::recall::RecallTool;
use serde_json::{Value, json};

use super::relay::Blocks;
use super::speech::Messages;
use super::{Anthropic, opened};
use crate::config::RecallBy;
use crate::wire::offer::Offer;
use crate::wire::request::Request;
use crate::wire::said::{End, Piece, Said};
use crate::wire::sse::Splitter;
use crate::wire::{Ear, Heard, Opened, Output, Own, Relay, Speech, Wire};

const AGENT: &str = include_str!("../../../../../fixtures/wire/anthropic/agent.json");
const PLAIN: &str = include_str!("../../../../../fixtures/wire/anthropic/plain.json");
const REPLY: &str = include_str!("../../../../../fixtures/wire/anthropic/reply.json");
const REPLY_SSE: &str = include_str!("../../../../../fixtures/wire/anthropic/reply.sse");
const MIXED_SSE: &str = include_str!("../../../../../fixtures/wire/anthropic/mixed.sse");

/// A request, read as the proxy does.
pub(super) fn read(body: &str) -> Request {
    let body = Bytes::copy_from_slice(body.as_bytes());
    let found = Request::read(&body, "messages", |text| {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        values.next()?.ok()?;
        Some(values.byte_offset())
    });
    found.unwrap()
}

fn offer() -> Offer {
    Offer::new(RecallBy::Tools, &RecallTool::ALL, &Opened::default(), &Anthropic)
}

/// Sends streams through a relay, one a round, in pieces of so many bytes.
fn relayed(rounds: &[&str], piece: usize, hides_markers: bool, waits: bool) -> (String, Vec<Said>) {
    let (mut relay, mut out, offer) = (Blocks::new(hides_markers), BytesMut::new(), offer());
    let mut said = Vec::new();
    for (i, round) in rounds.iter().enumerate() {
        if i > 0 {
            relay.begin(hides_markers, &mut out);
        }
        let mut splitter = Splitter::default();
        let ear = Ear { offer: &offer, waits, earlier: Output { tokens: 30 * i as u64, reasoning: 0 } };
        for bytes in round.as_bytes().chunks(piece) {
            splitter.push(bytes);
            while let Some(event) = splitter.next() {
                if relay.hear(&event, &ear, &mut out) == Heard::End {
                    said.push(relay.take());
                }
            }
        }
    }
    let last = said.last().unwrap();
    let left = last.shown(&last.text(), |call| offer.is_ours(&call.name));
    relay.close(&left, &mut out);
    (String::from_utf8(out.to_vec()).unwrap(), said)
}

fn events(stream: &str) -> Vec<Value> {
    let data = stream.split("\n\n").filter_map(|event| event.lines().find_map(|line| line.strip_prefix("data: ")));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

#[test]
fn a_stream_passes_byte_for_byte_however_it_is_split() {
    for (piece, waits) in (1..=REPLY_SSE.len()).flat_map(|piece| [(piece, false), (piece, true)]) {
        let (out, said) = relayed(&[REPLY_SSE], piece, false, waits);
        assert_eq!(out, REPLY_SSE, "in pieces of {piece}, its end kept back: {waits}");
        assert_eq!(said[0].pieces, Messages.read(REPLY.as_bytes()).unwrap().pieces);
    }
}

#[test]
fn a_stream_and_a_body_say_the_same() {
    let (_, said) = relayed(&[REPLY_SSE], 100, false, false);
    let (streamed, whole) = (&said[0], Messages.read(REPLY.as_bytes()).unwrap());
    assert_eq!(streamed.pieces, whole.pieces);
    assert_eq!((&streamed.id, streamed.end), (&whole.id, Some(End::Whole)));
    assert_eq!(streamed.usage, whole.usage);
    let message: Value = serde_json::from_str(REPLY).unwrap();
    assert_eq!(Messages.messages(&whole), [json!({"role": "assistant", "content": message["content"]})]);
    let call = whole.calls().next().unwrap();
    assert_eq!((call.id.as_str(), call.name.as_str()), ("toolu_2", "look"));
    assert_eq!(serde_json::from_str::<Value>(&call.arguments).unwrap(), call.value["input"]);
    assert_eq!(Messages.edited(REPLY.as_bytes(), &whole, Output::default()), REPLY.trim_end());
}

#[test]
fn how_far_a_thought_has_come_is_no_part_of_it() {
    let (thought, counted) =
        (r#""type":"thinking_delta","thinking":"#, r#""type":"thinking_delta","estimated_tokens":50,"thinking":"#);
    let counting = REPLY_SSE.replace(thought, counted);
    assert_ne!(counting, REPLY_SSE);
    let (out, said) = relayed(&[&counting], 100, false, false);
    assert_eq!(out, counting, "the client sees it");
    assert_eq!(said[0].pieces, Messages.read(REPLY.as_bytes()).unwrap().pieces, "its provider takes nothing else back");
}

#[test]
fn blocks_of_ours_are_not_seen_and_the_others_are_numbered_anew() {
    for piece in [1, 7, 5000] {
        let (out, said) = relayed(&[MIXED_SSE], piece, false, false);
        assert!(!out.contains("own_1") && !out.contains("search_history") && !out.contains("lighthouse"), "{out}");
        let seen = events(&out);
        let starts: Vec<&Value> = seen.iter().filter(|event| event["type"] == "content_block_start").collect();
        assert_eq!(starts.iter().map(|event| event["index"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(starts[1]["content_block"]["id"], "toolu_7");
        assert_eq!(seen[seen.len() - 2]["delta"]["stop_reason"], "tool_use");
        assert_eq!(said[0].calls().count(), 2);
        let names: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
        assert_eq!(names, seen.iter().map(|event| event["type"].as_str().unwrap()).collect::<Vec<_>>());
    }
}

#[test]
fn rounds_are_one_message() {
    let recalling = MIXED_SSE.replace("\"name\":\"look\"", "\"name\":\"recall_page\"");
    let (out, said) = relayed(&[&recalling, REPLY_SSE], 13, false, true);
    let seen = events(&out);
    let of = |kind: &str| seen.iter().filter(|event| event["type"] == kind).collect::<Vec<_>>();
    assert_eq!((of("message_start").len(), of("message_delta").len(), of("message_stop").len()), (1, 1, 1));
    assert_eq!(of("message_start")[0]["message"]["id"], "msg_02");
    let indices: Vec<u64> = of("content_block_start").iter().map(|event| event["index"].as_u64().unwrap()).collect();
    assert_eq!(indices, [0, 1, 2, 3, 4], "{out}");
    let usage = &of("message_delta")[0]["usage"];
    assert_eq!((&usage["output_tokens"], &usage["input_tokens"]), (&json!(107), &json!(20)));
    assert_eq!(usage["cache_read_input_tokens"], 500, "the last round's input");
    assert!(out.contains("\"signature\":\"c2ln\"") && out.contains("\"signature\":\"c2lnbmF0dXJl\""));
    assert_eq!(said.len(), 2);
}

#[test]
fn a_reply_with_no_call_left_has_ended() {
    let only_ours = MIXED_SSE.replace("\"name\":\"look\"", "\"name\":\"recall_page\"");
    let (out, _) = relayed(&[&only_ours], 50, false, false);
    assert_eq!(
        events(&out).iter().rfind(|event| event["type"] == "message_delta").unwrap()["delta"]["stop_reason"],
        "end_turn"
    );
    let said = Messages.read(REPLY.as_bytes()).unwrap();
    let said = said.shown(&said.text(), |_| true);
    let earlier = Output { tokens: 5, reasoning: 0 };
    let edited: Value = serde_json::from_slice(&Messages.edited(REPLY.as_bytes(), &said, earlier)).unwrap();
    assert_eq!((&edited["stop_reason"], &edited["usage"]["output_tokens"]), (&json!("end_turn"), &json!(82)));
    assert_eq!(edited["content"].as_array().unwrap().len(), 3);
}

fn spoken(pieces: &[&str]) -> String {
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    ];
    let delta =
        |text: &&str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    events.extend(pieces.iter().map(delta));
    events.push(json!({"type": "content_block_stop", "index": 0}));
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(|event| String::from_utf8(crate::wire::sse::event_of(event).to_vec()).unwrap()).collect()
}

#[test]
fn what_a_model_writes_to_us_is_kept_back() {
    let words = |stream: &str| -> String {
        events(stream).iter().filter_map(|event| event["delta"]["text"].as_str().map(str::to_owned)).collect()
    };
    let first = spoken(&["[NEED_CON", "TEXT: lighthouse]"]);
    let (out, said) = relayed(&[&first, &spoken(&["It is ", "red [sic"])], 6, true, false);
    assert_eq!(words(&out), "It is red [sic", "{out}");
    assert_eq!(said[0].text(), "[NEED_CONTEXT: lighthouse]");
    let starts = events(&out).iter().filter(|event| event["type"] == "content_block_start").count();
    let stops = events(&out).iter().filter(|event| event["type"] == "content_block_stop").count();
    assert_eq!((starts, stops), (1, 1), "{out}");
}

/// A stream of one block of words, with where they are quoted from.
fn cited(pieces: &[&str]) -> String {
    let citation = json!({"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "red"}});
    let delta = json!({"type": "content_block_delta", "index": 0, "delta": citation});
    let delta = String::from_utf8(crate::wire::sse::event_of(&delta).to_vec()).unwrap();
    spoken(pieces).replacen("event: content_block_delta", &format!("{delta}event: content_block_delta"), 1)
}

#[test]
fn where_words_are_quoted_from_is_passed_on_with_them() {
    let citations = |stream: &str| -> Vec<Value> {
        events(stream).into_iter().filter(|event| event["delta"]["type"] == "citations_delta").collect()
    };
    let (out, _) = relayed(&[&cited(&["It is ", "red."])], 6, true, false);
    assert_eq!((citations(&out).len(), &citations(&out)[0]["index"]), (1, &json!(0)), "{out}");
    let started = out.find("content_block_start").unwrap();
    assert!(started < out.find("citations_delta").unwrap() && out.contains("cited_text"), "{out}");
    let (out, _) = relayed(&[&cited(&["[NEED_CONTEXT: x]"]), &spoken(&["It is red."])], 6, true, false);
    assert!(citations(&out).is_empty(), "of words that are not shown: {out}");
}

#[test]
fn an_error_in_a_stream_ends_no_reply() {
    let error =
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
    let (head, _) = REPLY_SSE.split_once("event: content_block_stop").unwrap();
    let (mut relay, mut out, mut splitter, offer) = (Blocks::new(false), BytesMut::new(), Splitter::default(), offer());
    splitter.push(format!("{head}{error}").as_bytes());
    let ear = Ear { offer: &offer, waits: false, earlier: Output::default() };
    while let Some(event) = splitter.next() {
        assert_eq!(relay.hear(&event, &ear, &mut out), Heard::More);
    }
    assert!(!relay.has_ended() && out.ends_with(error.as_bytes()));
    assert!(relay.take().failed);
    let mut out = BytesMut::new();
    relay.fail("no route", &mut out);
    assert!(out.starts_with(b"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\""));
}

#[test]
fn replies_that_are_cut_are_told_apart() {
    let check = |reason: &str, end: End| {
        let body = REPLY.replace("\"stop_reason\":\"tool_use\"", &format!("\"stop_reason\":\"{reason}\""));
        assert_eq!(Messages.read(body.as_bytes()).unwrap().end, Some(end), "{reason}");
    };
    for reason in ["end_turn", "tool_use", "stop_sequence"] {
        check(reason, End::Whole);
    }
    for reason in ["max_tokens", "refusal", "pause_turn", "model_context_window_exceeded"] {
        check(reason, End::Cut);
    }
    assert!(Messages.read(br#"{"type":"error","error":{}}"#).is_none());
}

#[test]
fn our_own_replies_look_like_a_models() {
    let calls = Messages.read(REPLY.as_bytes()).unwrap().calls().cloned().collect::<Vec<_>>();
    let own = |streams| {
        Messages.own(&Own {
            id: "q1",
            model: "quote",
            text: "Noted.",
            calls: calls.clone(),
            streams,
            tells_usage: false,
        })
    };
    let plain = Messages.read(&own(false)).unwrap();
    let (_, streamed) = relayed(&[std::str::from_utf8(&own(true)).unwrap()], 11, false, false);
    assert_eq!(plain.pieces, streamed[0].pieces);
    assert_eq!((plain.text().as_str(), plain.end), ("Noted.", Some(End::Whole)));
    assert!(matches!(&plain.pieces[1], Piece::Call(call) if call.value == calls[0].value));
}

#[test]
fn instructions_are_messages_before_the_others() {
    let heads: Vec<Value> =
        opened::heads(&read(AGENT)).iter().map(|raw| serde_json::from_str(raw.get()).unwrap()).collect();
    assert_eq!(heads.len(), 2);
    assert_eq!(
        heads[0],
        json!({"role": "system", "content": [{"type": "text", "text": "You are a careful harbour clerk."}]})
    );
    let head = opened::heads(&read(PLAIN));
    assert_eq!(head[0].get(), r#"{"role":"system","content":"You are a careful harbour clerk."}"#);
    let none = opened::read(&read(r#"{"messages":[]}"#));
    assert!(none.heads.is_some_and(|heads| heads.is_empty()));
    let agent = opened::read(&read(AGENT));
    assert_eq!((agent.tools, agent.reply_tokens, agent.untouched), (vec!["look".to_owned()], Some(32_000), None));
    assert!(History::parse("[]").unwrap().with_heads(head).len() == 1);
}

#[test]
fn what_a_provider_folds_itself_is_left_alone() {
    let check = |field: &str, left_alone: bool| {
        let body = format!(r#"{{"messages":[],{field}}}"#);
        assert_eq!(opened::read(&read(&body)).untouched.is_some(), left_alone, "{field}");
    };
    check(r#""thread":{"type":"create"}"#, true);
    check(r#""compaction":{}"#, true);
    check(r#""context_management":{"edits":[{"type":"compact_20260112"}]}"#, true);
    check(
        r#""context_management":{"edits":[{"type":"clear_tool_uses_20250919"},{"type":"clear_thinking_20251015"}]}"#,
        false,
    );
    check(r#""thread":null"#, false);
}

#[test]
fn our_tools_are_written_in_one_way() {
    let toolbox = Anthropic.toolbox();
    for tool in RecallTool::ALL {
        let spec = toolbox.spec(tool, "scrollback_x");
        assert_eq!(spec, toolbox.spec(tool, "scrollback_x"));
        let value: Value = serde_json::from_str(&spec).unwrap();
        assert_eq!(value.as_object().unwrap().keys().collect::<Vec<_>>(), ["description", "input_schema", "name"]);
        assert_eq!((&value["name"], &value["input_schema"]["type"]), (&json!("scrollback_x"), &json!("object")));
    }
    let without = |choice: &str| toolbox.without_ours(&read(&format!(r#"{{"messages":[]{choice}}}"#)));
    assert_eq!(without(""), r#"{"type":"none"}"#);
    assert_eq!(without(r#","tool_choice":{"type":"auto"}"#), r#"{"type":"none"}"#);
    assert_eq!(without(r#","tool_choice": {"type":"any"}"#), r#"{"type":"any"}"#);
    assert_eq!(without(r#","tool_choice":{"type":"tool","name":"look"}"#), r#"{"type":"tool","name":"look"}"#);
}
