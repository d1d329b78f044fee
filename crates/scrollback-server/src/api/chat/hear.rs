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

/// What an event says, if it says anything.
pub(super) fn heard(wire: WireName, event: &[u8]) -> Option<Piece> {
    let value: Value = serde_json::from_slice(event).ok()?;
    let piece = match wire {
        WireName::Chat => of_chat(&value),
        WireName::Anthropic => of_anthropic(&value),
        WireName::Responses => of_responses(&value),
    };
    piece.or_else(|| failed(&value)).filter(|piece| *piece != Piece::Text(String::new()))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn of_chat(value: &Value) -> Option<Piece> {
    let delta = &value["choices"][0]["delta"];
    let thought = || text(&delta["reasoning_content"]).or_else(|| text(&delta["reasoning"]));
    let words = text(&delta["content"]).or_else(|| text(&delta["refusal"]));
    words.map(Piece::Text).or_else(|| thought().map(Piece::Thinking))
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

    #[expect(clippy::needless_pass_by_value, reason = "calls read better so")]
    fn check(wire: WireName, event: &str, piece: Option<Piece>) {
        assert_eq!(heard(wire, event.as_bytes()), piece, "{event}");
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
