//! What is said on each wire: the bodies of requests and of the replies that an upstream answers with at once.

/// How many pieces a streamed reply has.
const PIECES: usize = 20;

/// A wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Chat,
    Anthropic,
    Responses,
}

impl Dialect {
    pub(crate) const ALL: [Self; 3] = [Self::Chat, Self::Anthropic, Self::Responses];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Anthropic => "anthropic",
            Self::Responses => "responses",
        }
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Anthropic => "/v1/messages",
            Self::Responses => "/v1/responses",
        }
    }

    /// The dialect of a request's first line.
    pub(crate) fn of_line(line: &str) -> Self {
        let found = Self::ALL.into_iter().find(|dialect| line.contains(dialect.path()));
        found.unwrap_or(Self::Chat)
    }

    /// A message as an item of a history. Clients of Anthropic mark the newest, and move the mark with every turn.
    pub(crate) fn message(self, role: &str, text: &str, newest: bool) -> String {
        match self {
            Self::Chat => format!("{{\"role\":\"{role}\",\"content\":\"{text}\"}}"),
            Self::Anthropic => {
                let mark = if newest { ",\"cache_control\":{\"type\":\"ephemeral\"}" } else { "" };
                format!("{{\"role\":\"{role}\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"{mark}}}]}}")
            }
            Self::Responses => {
                let kind = if role == "user" { "input_text" } else { "output_text" };
                let content = format!("[{{\"type\":\"{kind}\",\"text\":\"{text}\"}}]");
                format!("{{\"type\":\"message\",\"role\":\"{role}\",\"content\":{content}}}")
            }
        }
    }

    /// A request with these messages.
    pub(crate) fn request(self, messages: &str, stream: bool) -> String {
        let stream = if stream { ",\"stream\":true" } else { "" };
        match self {
            Self::Chat => format!("{{\"messages\":[{messages}],\"model\":\"gpt-4o\"{stream}}}"),
            Self::Anthropic => {
                let head = "\"system\":\"You answer in a word.\",\"max_tokens\":100";
                format!("{{{head},\"messages\":[{messages}],\"model\":\"claude-sonnet-5\"{stream}}}")
            }
            Self::Responses => {
                let head = "\"instructions\":\"You answer in a word.\",\"store\":false";
                format!("{{{head},\"input\":[{messages}],\"model\":\"gpt-5\"{stream}}}")
            }
        }
    }

    /// A request with one new message.
    pub(crate) fn alone(self, text: &str) -> String {
        self.request(&self.message("user", text, true), false)
    }

    /// A whole reply.
    pub(crate) fn reply(self) -> &'static str {
        match self {
            Self::Chat => {
                r#"{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}"#
            }
            Self::Anthropic => {
                r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}"#
            }
            Self::Responses => {
                r#"{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"ok","annotations":[]}]}],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":0},"output_tokens":1,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":10}}"#
            }
        }
    }

    /// The events of a streamed reply, in pieces.
    pub(crate) fn events(self) -> Vec<String> {
        match self {
            Self::Chat => chat(),
            Self::Anthropic => anthropic(),
            Self::Responses => responses(),
        }
    }
}

fn chat() -> Vec<String> {
    let chunk = |delta: &str, finish: &str| {
        format!(
            "data: {{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    let mut events = vec![chunk("{\"role\":\"assistant\",\"content\":\"\"}", "null")];
    events.extend((0..PIECES).map(|_| chunk("{\"content\":\"word \"}", "null")));
    events.extend([chunk("{}", "\"stop\""), "data: [DONE]\n\n".into()]);
    events
}

fn named(name: &str, data: &str) -> String {
    format!("event: {name}\ndata: {{\"type\":\"{name}\",{data}}}\n\n")
}

fn anthropic() -> Vec<String> {
    let start = r#""message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}"#;
    let mut events = vec![
        named("message_start", start),
        named("content_block_start", r#""index":0,"content_block":{"type":"text","text":""}"#),
    ];
    let word = r#""index":0,"delta":{"type":"text_delta","text":"word "}"#;
    events.extend((0..PIECES).map(|_| named("content_block_delta", word)));
    events.push(named("content_block_stop", r#""index":0"#));
    let delta = r#""delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":20}"#;
    events.extend([named("message_delta", delta), "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n".into()]);
    events
}

fn responses() -> Vec<String> {
    let item = |text: &str, status: &str| {
        format!(
            "{{\"type\":\"message\",\"id\":\"msg_1\",\"status\":\"{status}\",\"role\":\"assistant\",\"content\":[{{\"type\":\"output_text\",\"text\":\"{text}\",\"annotations\":[]}}]}}"
        )
    };
    let response = |status: &str, output: &str, usage: &str| {
        format!(
            "\"response\":{{\"id\":\"resp_1\",\"object\":\"response\",\"created_at\":1,\"status\":\"{status}\",\"model\":\"m\",\"output\":[{output}],\"usage\":{usage}}}"
        )
    };
    let usage = r#"{"input_tokens":9,"input_tokens_details":{"cached_tokens":0},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":29}"#;
    let (text, mut number) = ("word ".repeat(PIECES), 0);
    let mut event = |name: &str, data: &str| {
        number += 1;
        named(name, &format!("\"sequence_number\":{},{data}", number - 1))
    };
    let place = r#""item_id":"msg_1","output_index":0,"content_index":0"#;
    let mut events = vec![
        event("response.created", &response("in_progress", "", "null")),
        event("response.output_item.added", &format!("\"output_index\":0,\"item\":{}", item("", "in_progress"))),
    ];
    for _ in 0..PIECES {
        events.push(event("response.output_text.delta", &format!("{place},\"delta\":\"word \"")));
    }
    events.push(event("response.output_text.done", &format!("{place},\"text\":\"{text}\"")));
    events
        .push(event("response.output_item.done", &format!("\"output_index\":0,\"item\":{}", item(&text, "completed"))));
    events.push(event("response.completed", &response("completed", &item(&text, "completed"), usage)));
    events
}
