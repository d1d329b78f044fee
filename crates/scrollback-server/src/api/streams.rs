//! Routes whose answer is no single JSON value: files and streams of events. They are answered where HTTP is spoken;
//! here they are listed, so that they can be described.

use super::routes::{Kind, Param, Shape, shape};
use super::{Ask, Refusal, chat};

/// A route that streams.
pub(super) struct Stream {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) about: &'static str,
    pub(super) asks: &'static [Param],
    /// What its body is, and of which shape if it is JSON.
    pub(super) takes: Option<(&'static str, Option<Shape>)>,
    /// What its answer may be.
    pub(super) gives: &'static [(&'static str, Option<Shape>)],
}

/// All of them.
pub(super) const ALL: &[Stream] = &[
    Stream {
        method: "POST",
        path: "/chat",
        about: "Says something and is answered: events turn, text, thinking, recall, then done or error; or one JSON value.",
        asks: &[],
        takes: Some(("application/json", Some(shape::<chat::Wanted>))),
        gives: &[("text/event-stream", None), ("application/json", Some(shape::<chat::Whole>))],
    },
    Stream {
        method: "GET",
        path: "/events",
        about: "What happens to your conversations, while it happens.",
        asks: &[SESSION],
        takes: None,
        gives: &[("text/event-stream", None)],
    },
    Stream {
        method: "POST",
        path: "/import",
        about: "Reads a file of conversations and tells how far it is: events progress, then done or error.",
        asks: &[NAME, FORMAT],
        takes: Some(("application/octet-stream", None)),
        gives: &[("text/event-stream", None)],
    },
    Stream {
        method: "GET",
        path: "/sessions/{id}/export",
        about: "A conversation as a file.",
        asks: &[SHAPE, BRANCH],
        takes: None,
        gives: &[("application/jsonl", None), ("text/markdown", None)],
    },
];

/// That a request to one of them says what can be said.
pub(super) fn checked(path: &str, ask: &Ask) -> Result<(), Refusal> {
    let here = ALL.iter().filter(|stream| stream.path == path);
    here.flat_map(|stream| stream.asks).try_for_each(|param| param.checked(ask))
}

const SESSION: Param = Param { name: "session", kind: Kind::Text, about: "only of this one" };
const NAME: Param = Param { name: "name", kind: Kind::Open, about: "what the file is called" };
const FORMAT: Param = Param {
    name: "format",
    kind: Kind::One(&["openai", "chatgpt", "claude", "claude-code", "codex"]),
    about: "what the file is; guessed if not given",
};
const BRANCH: Param =
    Param { name: "branch", kind: Kind::Number(0, u32::MAX), about: "only this branch; all of them if not given" };
const SHAPE: Param = Param {
    name: "format",
    kind: Kind::One(&["jsonl", "openai", "markdown"]),
    about: "what to write; jsonl if not given",
};
