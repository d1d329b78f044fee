//! Routes about the server itself: settings, models, jobs, Markdown.

use std::future::ready;

use super::line::Line;
use super::shape;
use crate::api::{jobs, markdown, me, models, settings, tokens};

pub(super) const LINES: &[Line] = &[
    Line::get("/me", "Who asks.", shape::<me::Me<'static>>, |r, _, _| Box::pin(ready(me::told(r)))),
    Line::get("/tokens", "Who else may ask; for admins.", shape::<tokens::All>, |r, _, _| Box::pin(tokens::list(r))),
    Line::post("/tokens", "Makes a token, and tells it this once.", shape::<tokens::Made>, |r, a, _| {
        Box::pin(tokens::add(r, a))
    })
    .taking(shape::<tokens::Wanted>)
    .making(),
    Line::delete("/tokens/{name}", "Takes a token back.", shape::<tokens::Gone>, |r, _, n| {
        Box::pin(tokens::revoke(r, n[0]))
    }),
    Line::get("/settings", "Every setting, its value and what it means.", shape::<settings::All>, |r, _, _| {
        Box::pin(ready(settings::list(r)))
    }),
    Line::get("/models", "Upstreams, models, and which are asked by default.", shape::<models::All>, |r, _, _| {
        Box::pin(ready(models::list(r)))
    }),
    Line::get("/jobs", "Work that waits, is under way, done or given up.", shape::<jobs::All>, |r, _, _| {
        Box::pin(jobs::list(r))
    }),
    Line::post("/markdown", "Markdown as harmless HTML.", shape::<markdown::Html>, |_, a, _| {
        Box::pin(ready(markdown::answer(a)))
    })
    .taking(shape::<markdown::Text>),
];
