//! Routes about notes: what stands for folded messages, artifacts with their versions, summaries expanded.

use super::line::{BRANCH, FROM, LIMIT, Line, PLACE, RENDER, WORDS, needed, number};
use super::shape;
use crate::api::{artifacts, expansion, notes};

pub(super) const LINES: &[Line] = &[
    Line::get("/sessions/{id}/notes", "What stands for what is folded.", shape::<notes::NoteList>, |r, a, n| {
        Box::pin(notes::list(r, a, n[0]))
    })
    .asking(PLACE),
    Line::get("/sessions/{id}/notes/{name}", "A note, whole.", shape::<notes::Whole>, |r, a, n| {
        Box::pin(notes::one(r, a, n[0], n[1]))
    })
    .asking(PLACE),
    Line::put(
        "/sessions/{id}/notes/{name}",
        "Puts a person's words in its place.",
        shape::<notes::Whole>,
        |r, a, n| Box::pin(notes::edit(r, a, n[0], n[1])),
    )
    .asking(PLACE)
    .taking(shape::<notes::Words>),
    Line::get(
        "/sessions/{id}/artifacts",
        "The documents, those changed last first.",
        shape::<artifacts::Listed>,
        |r, a, n| Box::pin(artifacts::list(r, a, n[0])),
    )
    .asking(PLACE),
    Line::get("/sessions/{id}/artifacts/{a}", "A document, whole.", shape::<artifacts::Whole>, |r, a, n| {
        Box::pin(artifacts::one(r, a, n[0], n[1]))
    })
    .asking(&[BRANCH, LIMIT, number("version", "an earlier version", 1, u32::MAX), RENDER]),
    Line::get("/sessions/{id}/artifacts/{a}/versions", "Its versions.", shape::<artifacts::Versions>, |r, a, n| {
        Box::pin(artifacts::versions(r, a, n[0], n[1]))
    })
    .asking(PLACE),
    Line::get(
        "/sessions/{id}/artifacts/{a}/diff",
        "What changed between two.",
        shape::<artifacts::Compared>,
        |r, a, n| Box::pin(artifacts::diff(r, a, n[0], n[1])),
    )
    .asking(&[
        BRANCH,
        LIMIT,
        needed(number("from", "the version before", 1, u32::MAX)),
        needed(number("to", "the version after", 1, u32::MAX)),
    ]),
    Line::get(
        "/sessions/{id}/summary/{s}",
        "What a summary covers, word for word.",
        shape::<expansion::Words>,
        |r, a, n| Box::pin(expansion::expand(r, a, n[0], n[1])),
    )
    .asking(&[BRANCH, LIMIT, WORDS, FROM]),
];
