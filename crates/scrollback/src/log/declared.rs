//! What a client says about itself: the ids of Claude Code, Codex, opencode and others, found in headers and body.
//!
//! A declared id narrows the search and nothing more. Clients send one id for an agent, its sub-agents and its title
//! generator; which conversation a request continues is decided by its content (`align`).

use serde_json::Value;

/// Our own header, before all others.
pub const SESSION_HEADER: &str = "x-scrollback-session";

/// What a request declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// The session it says it belongs to.
    pub session: Option<String>,
    /// The earlier response it says it follows.
    pub follows: Option<String>,
    /// Whether several conversations may go by that name: all of an application share the key of a cache, all agents of
    /// a person what tells the person.
    pub shared: bool,
}

impl Declared {
    /// Reads headers (looked up by lower-case name) and body. A user's id is never taken for a session.
    pub fn read<'h>(header: impl Fn(&str) -> Option<&'h str>, body: &Value) -> Self {
        let header = |name: &str| header(name).map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned);
        let agent = header("x-claude-code-agent-id");
        let own = own(&header);
        let shared = own.is_none();
        let session = own.or_else(|| session(body)).map(|session| match agent {
            Some(agent) => format!("{session}/{agent}"),
            None => session,
        });
        let shared = shared && session.is_some() && conversation(body) != session;
        Self { session, follows: text(body, "previous_response_id"), shared }
    }
}

/// A name that one conversation has.
fn own(header: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let is_called = |name: &str| header(name).is_some_and(|agent| agent.to_ascii_lowercase().contains("codex"));
    // An application that has Codex work for it gives it another name.
    let codex = ["user-agent", "originator"].into_iter().any(is_called)
        || ["x-codex-window-id", "x-codex-turn-metadata"].into_iter().any(|own| header(own).is_some());
    let codex_id = || ["thread-id", "session-id", "thread_id", "session_id"].into_iter().find_map(header);
    header(SESSION_HEADER)
        .or_else(|| header("x-claude-code-session-id"))
        .or_else(|| codex.then(codex_id).flatten())
        .or_else(|| header("x-session-id"))
        .or_else(|| header("x-grok-conv-id"))
}

fn session(body: &Value) -> Option<String> {
    let user = body.get("metadata").and_then(|metadata| claude_code_user(metadata.get("user_id")?.as_str()?));
    user.or_else(|| text(body, "prompt_cache_key")).or_else(|| conversation(body))
}

/// Claude Code's `metadata.user_id`: JSON with a `session_id`, or in older versions `…_session_<uuid>`.
fn claude_code_user(user: &str) -> Option<String> {
    match serde_json::from_str::<Value>(user) {
        Ok(fields) => text(&fields, "session_id"),
        Err(_) => user.rsplit_once("_session_").map(|(_, id)| id.to_owned()).filter(|id| !id.is_empty()),
    }
}

/// The Responses API's `conversation`: an id, or an object with one.
fn conversation(body: &Value) -> Option<String> {
    let conversation = body.get("conversation")?;
    conversation.as_str().map(str::to_owned).or_else(|| text(conversation, "id"))
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(headers: &[(&str, &str)], body: &Value, session: Option<&str>) {
        let find = |name: &str| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        assert_eq!(Declared::read(find, body).session.as_deref(), session, "{headers:?} {body}");
    }

    #[test]
    fn clients_are_known_by_what_they_send() {
        let none = json!({});
        check(&[("x-claude-code-session-id", "cc")], &none, Some("cc"));
        check(&[("x-claude-code-session-id", "cc"), ("x-claude-code-agent-id", "a1")], &none, Some("cc/a1"));
        check(&[], &json!({"metadata": {"user_id": "{\"device_id\":\"d\",\"session_id\":\"cc\"}"}}), Some("cc"));
        check(&[], &json!({"metadata": {"user_id": "user_1_account__session_cc"}}), Some("cc"));
        check(&[("user-agent", "codex_cli_rs/0.166"), ("session-id", "s"), ("thread-id", "t")], &none, Some("t"));
        check(&[("user-agent", "my_editor/1.0"), ("x-codex-window-id", "t:0"), ("thread-id", "t")], &none, Some("t"));
        check(&[("x-codex-turn-metadata", "{}"), ("session-id", "s")], &json!({"prompt_cache_key": "k"}), Some("s"));
        check(&[("session-id", "s")], &none, None);
        check(&[("x-session-id", "ses_1")], &none, Some("ses_1"));
        check(&[("x-grok-conv-id", "g")], &none, Some("g"));
        check(&[], &json!({"prompt_cache_key": "k"}), Some("k"));
        check(&[], &json!({"conversation": {"id": "conv_1"}}), Some("conv_1"));
    }

    #[test]
    fn our_header_wins_and_users_are_not_sessions() {
        check(&[("x-session-id", "theirs"), (SESSION_HEADER, "ours")], &json!({"prompt_cache_key": "k"}), Some("ours"));
        check(&[(SESSION_HEADER, "  ")], &json!({"user": "ann", "metadata": {"user_id": "ann"}}), None);
    }

    #[test]
    fn a_response_can_be_followed() {
        let declared = Declared::read(|_| None, &json!({"previous_response_id": "resp_1"}));
        assert_eq!(declared, Declared { session: None, follows: Some("resp_1".into()), shared: false });
    }

    #[test]
    fn some_names_are_those_of_several_conversations() {
        let shared = |headers: &[(&str, &str)], body: &Value| {
            let find = |name: &str| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
            Declared::read(find, body).shared
        };
        assert!(shared(&[], &json!({"prompt_cache_key": "k"})));
        assert!(shared(&[], &json!({"metadata": {"user_id": "user_1_account__session_cc"}})));
        assert!(!shared(&[("x-session-id", "s")], &json!({"prompt_cache_key": "k"})));
        assert!(!shared(&[], &json!({"conversation": "c"})) && !shared(&[], &json!({})));
    }
}
