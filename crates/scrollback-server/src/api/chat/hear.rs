//! What a streamed reply says in an event, whatever its dialect.

use serde_json::Value;

use crate::wire::WireName;

/// A piece of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Thinking(String),
    /// It cannot go on.
    Failed(String),
}

/// What an event says; nothing if it says nothing.
pub(super) fn heard(wire: WireName, event: &[u8]) -> Vec<Piece> {
    let Ok(value) = serde_json::from_slice::<Value>(event) else { return Vec::new() };
    let mut pieces = match wire {
        WireName::Chat => of_chat(&value),
        WireName::Anthropic => of_anthropic(&value).into_iter().collect(),
        WireName::Responses => of_responses(&value).into_iter().collect(),
    };
    if pieces.is_empty() {
        pieces.extend(failed(&value));
    }
    pieces
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Thoughts and words, which may come together where one ends and the other begins, or in a list of parts.
fn of_chat(value: &Value) -> Vec<Piece> {
    let delta = &value["choices"][0]["delta"];
    let thought = text(&delta["reasoning_content"]).or_else(|| text(&delta["reasoning"]));
    let words = text(&delta["content"]).or_else(|| text(&delta["refusal"]));
    let parts = delta["content"].as_array().into_iter().flatten().filter_map(part);
    thought.map(Piece::Thinking).into_iter().chain(parts).chain(words.map(Piece::Text)).collect()
}

fn part(part: &Value) -> Option<Piece> {
    match part["type"].as_str()? {
        "text" => text(&part["text"]).map(Piece::Text),
        "thinking" => {
            let thoughts = part["thinking"].as_array().into_iter().flatten();
            let all: String = thoughts.filter_map(|thought| thought["text"].as_str()).collect();
            (!all.is_empty()).then_some(Piece::Thinking(all))
        }
        _ => None,
    }
}

fn of_anthropic(value: &Value) -> Option<Piece> {
    let delta = &value["delta"];
    match delta["type"].as_str()? {
        "text_delta" => text(&delta["text"]).map(Piece::Text),
        "thinking_delta" => text(&delta["thinking"]).map(Piece::Thinking),
        _ => None,
    }
}

fn of_responses(value: &Value) -> Option<Piece> {
    match value["type"].as_str()? {
        "response.output_text.delta" | "response.refusal.delta" => text(&value["delta"]).map(Piece::Text),
        "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
            text(&value["delta"]).map(Piece::Thinking)
        }
        "response.failed" => Some(Piece::Failed(told(&value["response"]["error"]))),
        "error" => Some(Piece::Failed(told(if value["error"].is_object() { &value["error"] } else { value }))),
        _ => None,
    }
}

fn failed(value: &Value) -> Option<Piece> {
    value["error"].is_object().then(|| Piece::Failed(told(&value["error"])))
}

fn told(error: &Value) -> String {
    text(&error["message"]).unwrap_or_else(|| "the model's API broke off its reply".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wire: WireName, event: &str, pieces: impl IntoIterator<Item = Piece>) {
        assert_eq!(heard(wire, event.as_bytes()), pieces.into_iter().collect::<Vec<_>>(), "{event}");
    }

    #[test]
    fn words_and_thoughts_of_every_dialect() {
        let (hi, hm) = (|| Some(Piece::Text("Hi".into())), || Some(Piece::Thinking("Hm".into())));
        check(WireName::Chat, r#"{"choices":[{"delta":{"content":"Hi"}}]}"#, hi());
        check(WireName::Chat, r#"{"choices":[{"delta":{"reasoning_content":"Hm"}}]}"#, hm());
        check(WireName::Chat, r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#, None);
        check(WireName::Chat, "[DONE]", None);
        let anthropic = |delta: &str| format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#);
        check(WireName::Anthropic, &anthropic(r#"{"type":"text_delta","text":"Hi"}"#), hi());
        check(WireName::Anthropic, &anthropic(r#"{"type":"thinking_delta","thinking":"Hm"}"#), hm());
        check(WireName::Anthropic, &anthropic(r#"{"type":"signature_delta","signature":"x"}"#), None);
        check(WireName::Responses, r#"{"type":"response.output_text.delta","delta":"Hi"}"#, hi());
        check(WireName::Responses, r#"{"type":"response.reasoning_summary_text.delta","delta":"Hm"}"#, hm());
        check(WireName::Responses, r#"{"type":"response.output_text.done","text":"Hi"}"#, None);
    }

    #[test]
    fn words_in_lists_and_thoughts_beside_words_are_heard() {
        let (hi, hm) = (|| Piece::Text("Hi".into()), || Piece::Thinking("Hm".into()));
        let of = |delta: &str| format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#);
        check(WireName::Chat, &of(r#"{"reasoning_content":"Hm","content":"Hi"}"#), [hm(), hi()]);
        let thinks = r#"{"type":"thinking","thinking":[{"type":"text","text":"H"},{"type":"text","text":"m"}]}"#;
        let listed = format!(r#"{{"content":[{thinks},{{"type":"reference"}},{{"type":"text","text":"Hi"}}]}}"#);
        check(WireName::Chat, &of(&listed), [hm(), hi()]);
    }

    #[test]
    fn what_breaks_off_says_why() {
        let why = || Some(Piece::Failed("overloaded".into()));
        check(WireName::Chat, r#"{"error":{"message":"overloaded"}}"#, why());
        check(WireName::Anthropic, r#"{"type":"error","error":{"type":"x","message":"overloaded"}}"#, why());
        check(
            WireName::Responses,
            r#"{"type":"response.failed","response":{"error":{"message":"overloaded"}}}"#,
            why(),
        );
        check(WireName::Responses, r#"{"type":"error","message":"overloaded"}"#, why());
    }
}
