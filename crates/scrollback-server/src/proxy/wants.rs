//! What some models want otherwise than others do, learned from what they refuse: no tools, people and the model taking
//! turns, all of their reasoning, or that alone which stands where it was made. It is remembered for a while, so that
//! not every request is refused first.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;

use super::exchange::Exchange;
use crate::wire::Reasoning;

/// How servers say that a model knows no tools, or that they were not told to read its calls.
const NO_TOOLS: [&str; 14] = [
    "not support tool",
    "n't support tool",
    "not support function call",
    "tools is not supported",
    "'tools' is not supported",
    "tool calling is not supported",
    "tool calling` is not supported",
    "function tools with reasoning_effort are not supported",
    "function calling is not",
    "endpoints found that support tool use",
    "enable-auto-tool-choice",
    "tools param requires",
    "unsupported param: tools",
    "deep research models only support",
];
/// How they say that this one request can have none, because its reply is to be JSON, or because of tools in it that
/// they run themselves.
const NO_TOOLS_NOW: [&str; 9] = [
    "combined with tool",
    "function calling with a response mime type",
    "\"tools\" is incompatible with \"response_format\"",
    "response format and function call",
    "response type with tools",
    "grammar constraints with tools",
    "function calling cannot be combined",
    "function calling is unsupported",
    "include_server_side_tool_invocations",
];
/// How they refuse two messages of one speaker in a row.
const TURNS: [&str; 5] = [
    "roles must alternate",
    "should be alternating",
    "should alternate with assistant",
    "successive user",
    "system message must be at the beginning",
];

/// How they refuse reasoning that was made after other words than now stand before it.
const BOUND: [&str; 1] = ["bound to a different conversation"];
/// How they refuse to go on without their reasoning.
const ALL_REASONING: [&str; 1] = ["in the thinking mode must be passed back"];
/// How they refuse reasoning for another reason.
const NO_REASONING: [&str; 5] = [
    "signature` in `thinking` block",
    "blocks in the latest assistant message cannot be modified",
    "blocks must match the parameters during the original request",
    ".thinking.signature: ",
    ".thinking.estimated_tokens: ",
];

/// How they say that they know no reasoning in what the model said.
const UNKNOWN_REASONING: [&str; 2] =
    ["property 'reasoning_content' is unsupported", "property 'reasoning' is unsupported"];

/// So much of a refusal is read.
const READ: usize = 4_096;
/// After so long it is tried anew: servers are set up otherwise, and models change.
const REMEMBERED: Duration = Duration::from_hours(1);
/// So many models are remembered: clients choose their names.
const MOST_MODELS: usize = 1_000;

/// What a refusal asks for, and whether that is the model's own and not this request's.
pub(super) type Wanted = (Want, bool);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Want {
    NoTools,
    Turns,
    Reasoning(Reasoning),
}

const BOUND_ONLY: Want = Want::Reasoning(Reasoning::Bound);

/// What a refusal asks for, and whether that is the model's own and not this request's.
fn wanted(status: StatusCode, body: &[u8]) -> Option<Wanted> {
    let may = [
        StatusCode::BAD_REQUEST,
        StatusCode::NOT_FOUND,
        StatusCode::UNPROCESSABLE_ENTITY,
        StatusCode::INTERNAL_SERVER_ERROR,
        StatusCode::NOT_IMPLEMENTED,
    ];
    // What another server said may be told as a text in a text.
    let text = String::from_utf8_lossy(&body[..body.len().min(READ)]).to_ascii_lowercase().replace('\\', "");
    let says = |signs: &[&str]| may.contains(&status) && signs.iter().any(|sign| text.contains(sign));
    let known: [(&[&str], Want, bool); 7] = [
        (&NO_TOOLS, Want::NoTools, true),
        (&NO_TOOLS_NOW, Want::NoTools, false),
        (&TURNS, Want::Turns, true),
        (&BOUND, BOUND_ONLY, true),
        (&ALL_REASONING, Want::Reasoning(Reasoning::All), true),
        (&NO_REASONING, Want::Reasoning(Reasoning::Nothing), false),
        (&UNKNOWN_REASONING, Want::Reasoning(Reasoning::Nothing), true),
    ];
    known.into_iter().find(|(signs, ..)| says(signs)).map(|(_, want, lasts)| (want, lasts))
}

/// What is remembered, by upstream, model and want.
#[derive(Default)]
pub(super) struct Wants(Mutex<HashMap<(String, String, Want), Instant>>);

impl Wants {
    fn learn(&self, upstream: &str, model: &str, want: Want) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_MODELS {
            known.clear();
        }
        known.insert((upstream.to_owned(), model.to_owned(), want), Instant::now());
    }

    fn knows(&self, upstream: &str, model: &str, want: Want) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let learned = known.get(&(upstream.to_owned(), model.to_owned(), want));
        learned.is_some_and(|at| at.elapsed() < REMEMBERED)
    }
}

impl Exchange {
    /// Asks as its model is known to want it.
    pub(super) fn heed(&mut self) {
        let reasoning = [Reasoning::Bound, Reasoning::All, Reasoning::Nothing].map(Want::Reasoning);
        for want in [Want::NoTools, Want::Turns].into_iter().chain(reasoning) {
            if self.proxy.wants.knows(&self.upstream.name, &self.plan.model, want) {
                self.follow(want);
            }
        }
    }

    /// Changes what a refusal objects to, if there is anything to change.
    pub(super) fn give_way(&mut self, status: StatusCode, body: &[u8]) -> Option<Wanted> {
        // What is all the client's own is its own business.
        let (want, lasts) = wanted(status, body).filter(|_| self.sent.changed)?;
        // What is known here of where reasoning was made may be wrong as well.
        let instead = (want == BOUND_ONLY).then_some((Want::Reasoning(Reasoning::Nothing), false));
        let mut ways = std::iter::once((want, lasts)).chain(instead);
        let (want, lasts) = ways.find(|(want, _)| self.follow(*want))?;
        let (upstream, model) = (&*self.upstream.name, &*self.plan.model);
        tracing::warn!(model, upstream, ?want, "a request was refused; it is sent again as the model wants it");
        Some((want, lasts))
    }

    /// Remembers what helped. What did not end the refusals is no want of the model's: a refusal may quote its client.
    pub(super) fn learn(&self, tried: &[Wanted]) {
        let (upstream, model) = (&*self.upstream.name, &*self.plan.model);
        tried.iter().filter(|(_, lasts)| *lasts).for_each(|(want, _)| self.proxy.wants.learn(upstream, model, *want));
    }

    fn follow(&mut self, want: Want) -> bool {
        match want {
            Want::NoTools => self.withdraw_tools(),
            Want::Turns => self.join_neighbours(),
            Want::Reasoning(wanted) => self.send_reasoning(wanted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_understood() {
        let check = |status: u16, text: &str, expect: Option<Wanted>| {
            assert_eq!(wanted(StatusCode::from_u16(status).unwrap(), text.as_bytes()), expect, "{text}");
        };
        let none = Some((Want::NoTools, true));
        check(400, "registry.ollama.ai/library/gemma3:4b does not support tools", none);
        check(400, r#"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"#, none);
        check(404, "No endpoints found that support tool use.", none);
        check(500, "tools param requires --jinja flag", none);
        check(400, "Unsupported parameter: 'tools' is not supported with this model.", none);
        check(400, "Tool calling is not supported for this model", none);
        check(400, "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions.", none);
        let none_now = Some((Want::NoTools, false));
        check(400, "json mode cannot be combined with tool/function calling", none_now);
        check(400, "Function calling with a response mime type: 'application/json' is unsupported", none_now);
        check(400, r#"{"message":"\"tools\" is incompatible with \"response_format\""}"#, none_now);
        check(
            400,
            r#"{"raw":"{\"message\":\"\\\"tools\\\" is incompatible with \\\"response_format\\\"\"}"}"#,
            none_now,
        );
        check(400, "You cannot specify response format and function call at the same time", none_now);
        check(400, "Cannot use json_schema response type with tools.", none_now);
        check(400, "Cannot use custom grammar constraints with tools.", none_now);
        check(400, "This model doesn't support tool use in streaming mode.", none);
        check(400, "Unsupported param: tools", none);
        check(400, "Deep research models only support the 'web_search_preview' and 'mcp' tools.", none);
        check(
            400,
            "Built-in tools ({google_search}) and Function Calling cannot be combined in the same request.",
            none_now,
        );
        check(400, "Tool use with function calling is unsupported", none_now);
        let together = "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.";
        check(400, together, none_now);
        let turns = Some((Want::Turns, true));
        check(400, "Conversation roles must alternate user/assistant/...", turns);
        check(500, "Jinja Exception: System message must be at the beginning.", turns);
        let bound = "Invalid `signature` in `thinking` block. The block is bound to a different conversation.";
        check(400, bound, Some((BOUND_ONLY, true)));
        let nothing = Some((Want::Reasoning(Reasoning::Nothing), false));
        check(400, "messages.1.content.0: Invalid `signature` in `thinking` block", nothing);
        let unknown = "'messages.2' : property 'reasoning_content' is unsupported, did you mean 'role'?";
        check(400, unknown, Some((Want::Reasoning(Reasoning::Nothing), true)));
        let back = "The `content[].thinking` in the thinking mode must be passed back to the API.";
        check(400, back, Some((Want::Reasoning(Reasoning::All), true)));
        check(400, "Expected `thinking` or `redacted_thinking`, but found `tool_use`.", None);
        check(429, "it does not support tools", None);
        check(400, "tools[0].function.name: string too long", None);
    }

    #[test]
    fn what_one_model_wants_is_not_what_others_want() {
        let wants = Wants::default();
        wants.learn("local", "gemma3:4b", Want::NoTools);
        assert!(wants.knows("local", "gemma3:4b", Want::NoTools));
        assert!(!wants.knows("local", "gemma3:4b", Want::Turns));
        assert!(!wants.knows("local", "qwen3", Want::NoTools) && !wants.knows("other", "gemma3:4b", Want::NoTools));
    }
}
