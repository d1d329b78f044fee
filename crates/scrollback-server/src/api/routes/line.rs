//! A route as it is listed.

use std::pin::Pin;

use axum::http::StatusCode;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use crate::api::place::LEAST_LIMIT;
use crate::api::{Ask, Refusal, Room};

/// An answer under way.
type Answering<'a> = Pin<Box<dyn Future<Output = Result<Value, Refusal>> + Send + 'a>>;
/// Who answers: what the path leaves open comes last.
pub(super) type Does = for<'a> fn(&'a Room, &'a Ask, [&'a str; 2]) -> Answering<'a>;
/// The shape of something in JSON.
pub(in crate::api) type Shape = fn(&mut SchemaGenerator) -> Schema;

/// The shape of a type.
pub(in crate::api) fn shape<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// A route.
pub(in crate::api) struct Line {
    pub(in crate::api) method: &'static str,
    pub(in crate::api) path: &'static str,
    /// What it does, in a sentence.
    pub(in crate::api) about: &'static str,
    pub(in crate::api) asks: &'static [Param],
    pub(in crate::api) takes: Option<Shape>,
    /// What it answers where nothing is wrong.
    pub(in crate::api) status: StatusCode,
    pub(in crate::api) gives: Shape,
    pub(super) does: Does,
}

impl Line {
    const fn new(method: &'static str, path: &'static str, about: &'static str, gives: Shape, does: Does) -> Self {
        Self { method, path, about, asks: &[], takes: None, status: StatusCode::OK, gives, does }
    }

    pub(super) const fn get(path: &'static str, about: &'static str, gives: Shape, does: Does) -> Self {
        Self::new("GET", path, about, gives, does)
    }

    pub(super) const fn put(path: &'static str, about: &'static str, gives: Shape, does: Does) -> Self {
        Self::new("PUT", path, about, gives, does)
    }

    pub(super) const fn post(path: &'static str, about: &'static str, gives: Shape, does: Does) -> Self {
        Self::new("POST", path, about, gives, does)
    }

    pub(super) const fn delete(path: &'static str, about: &'static str, gives: Shape, does: Does) -> Self {
        Self::new("DELETE", path, about, gives, does)
    }

    /// The same with parameters.
    pub(super) const fn asking(self, asks: &'static [Param]) -> Self {
        Self { asks, ..self }
    }

    /// The same with a body.
    pub(super) const fn taking(self, takes: Shape) -> Self {
        Self { takes: Some(takes), ..self }
    }

    /// The same where something is made.
    pub(super) const fn making(self) -> Self {
        Self { status: StatusCode::CREATED, ..self }
    }
}

/// A parameter of a request.
#[derive(Clone, Copy)]
pub(in crate::api) struct Param {
    pub(in crate::api) name: &'static str,
    pub(in crate::api) kind: Kind,
    pub(in crate::api) about: &'static str,
}

/// What a parameter may be.
#[derive(Clone, Copy)]
pub(in crate::api) enum Kind {
    Text,
    /// Text that may be empty, which is the same as none.
    Open,
    /// Text that a request cannot do without; what is missing is told by whoever needs it.
    Needed,
    /// A whole number from one to another.
    Number(u32, u32),
    /// The same where a request cannot do without.
    NeededNumber(u32, u32),
    One(&'static [&'static str]),
    /// Yes or no.
    Flag,
}

impl Param {
    /// That a request says of it what can be said.
    pub(in crate::api) fn checked(&self, ask: &Ask) -> Result<(), Refusal> {
        let name = self.name;
        let said = |words: &[&str]| match ask.text(name) {
            Some(word) if !words.contains(&word) => {
                Err(Refusal::invalid(format!("“{name}” is {}, not “{word}”", words.join(" or "))))
            }
            _ => Ok(()),
        };
        if ask.times(name) > 1 {
            return Err(Refusal::invalid(format!("“{name}” is given more than once")));
        }
        // Taken for none, it would ask about more than was meant.
        if ask.times(name) == 1 && ask.text(name).is_none() && !matches!(self.kind, Kind::Open | Kind::Needed) {
            return Err(Refusal::invalid(format!("“{name}” is given, but says nothing: leave it out")));
        }
        match self.kind {
            Kind::Text | Kind::Open | Kind::Needed => Ok(()),
            Kind::Number(least, most) | Kind::NeededNumber(least, most) => match ask.number(name)? {
                Some(number) if number < least => {
                    Err(Refusal::invalid(format!("“{name}” is at least {least}, not {number}")))
                }
                Some(number) if number > most => {
                    Err(Refusal::invalid(format!("“{name}” is at most {most}, not {number}")))
                }
                _ => Ok(()),
            },
            Kind::One(words) => said(words),
            Kind::Flag => said(&["true", "false"]),
        }
    }
}

const fn text(name: &'static str, about: &'static str) -> Param {
    Param { name, kind: Kind::Text, about }
}

/// Text that may be empty.
pub(super) const fn open(name: &'static str, about: &'static str) -> Param {
    Param { name, kind: Kind::Open, about }
}

pub(super) const fn number(name: &'static str, about: &'static str, least: u32, most: u32) -> Param {
    Param { name, kind: Kind::Number(least, most), about }
}

/// The same parameter where a request cannot do without it.
pub(super) const fn needed(param: Param) -> Param {
    let kind = match param.kind {
        Kind::Number(least, most) | Kind::NeededNumber(least, most) => Kind::NeededNumber(least, most),
        Kind::Text | Kind::Open | Kind::Needed | Kind::One(_) | Kind::Flag => Kind::Needed,
    };
    Param { kind, ..param }
}

pub(super) const BRANCH: Param = number("branch", "which branch; the newest if not given", 0, u32::MAX);
pub(super) const LIMIT: Param =
    number("limit", "the model's limit whose windows are meant, in tokens", LEAST_LIMIT, u32::MAX);
pub(super) const COUNT: Param = number("count", "how many at most; 50 if not given", 1, 500);
pub(super) const CURSOR: Param = open("cursor", "where the page begins: the `next` of the one before");
pub(super) const RENDER: Param =
    Param { name: "render", kind: Kind::One(&["html"]), about: "adds Markdown as harmless HTML" };
pub(super) const VIEW: Param = text("view", "which view, such as v42; the newest if not given");
pub(super) const WORDS: Param = text("words", "only what has these words");
pub(super) const FROM: Param = text("from", "only from here on");
pub(super) const TO: Param = text("to", "only up to here");
pub(super) const PLACE: &[Param] = &[BRANCH, LIMIT];
pub(super) const PAGE: &[Param] = &[COUNT, CURSOR];

pub(super) const fn words(name: &'static str, about: &'static str) -> Param {
    text(name, about)
}

pub(super) const fn flag(name: &'static str, about: &'static str) -> Param {
    Param { name, kind: Kind::Flag, about }
}
