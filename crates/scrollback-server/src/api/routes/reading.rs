//! Routes for reading conversations: messages, search, the contents page, held results, topics.

use super::line::{
    BRANCH, COUNT, CURSOR, FROM, LIMIT, Line, PAGE, PLACE, Param, RENDER, TO, VIEW, WORDS, needed, number, words,
};
use super::shape;
use crate::api::{contents, holds, messages, search, topics};

const AROUND: Param = words("around", "those around this message, such as m80, and it");
const BEFORE: Param = words("before", "those before this message");
const AFTER: Param = words("after", "those after this message");

pub(super) const LINES: &[Line] = &[
    Line::get(
        "/sessions/{id}/messages",
        "The messages of a branch, oldest first: the newest, or those before, after or around one.",
        shape::<messages::Page>,
        |r, a, n| Box::pin(messages::list(r, a, n[0])),
    )
    .asking(&[BRANCH, LIMIT, COUNT, BEFORE, AFTER, AROUND, RENDER]),
    Line::get(
        "/sessions/{id}/messages/{m}",
        "A message, whole, and how it stands in a window.",
        shape::<messages::Whole>,
        |r, a, n| Box::pin(messages::one(r, a, n[0], n[1])),
    )
    .asking(&[BRANCH, LIMIT, VIEW, RENDER]),
    Line::get("/search", "Messages by their words, best first.", shape::<search::Results>, |r, a, _| {
        Box::pin(search::answer(r, a))
    })
    .asking(&[
        needed(WORDS),
        words("session", "only in this session"),
        FROM,
        TO,
        words("role", "only what this role said"),
        number("count", "how many at most; 20 if not given", 1, 100),
    ]),
    Line::get(
        "/sessions/{id}/contents",
        "What the model reads of what is folded.",
        shape::<contents::Contents>,
        |r, a, n| Box::pin(contents::show(r, a, n[0])),
    )
    .asking(PLACE),
    Line::get(
        "/sessions/{id}/pages/{n}",
        "The messages of a page, by the number of any of them.",
        shape::<contents::Page>,
        |r, a, n| Box::pin(contents::page(r, a, n[0], n[1])),
    )
    .asking(&[BRANCH, LIMIT, RENDER]),
    Line::get(
        "/sessions/{id}/holds",
        "Large tool results, in the order they came.",
        shape::<holds::Page>,
        |r, a, n| Box::pin(holds::list(r, a, n[0])),
    )
    .asking(PAGE),
    Line::get("/sessions/{id}/holds/{h}", "Lines of a large tool result.", shape::<holds::Whole>, |r, a, n| {
        Box::pin(holds::one(r, a, n[0], n[1]))
    })
    .asking(&[
        number("from_line", "the first line", 1, u32::MAX),
        number("lines", "how many lines at most; 400 if not given", 1, 2_000),
        words("words", "the lines that hold most of these words, with what is around them"),
    ]),
    Line::get("/sessions/{id}/topics", "The topics of a branch.", shape::<topics::Listed>, |r, a, n| {
        Box::pin(topics::list(r, a, n[0]))
    })
    .asking(PLACE),
    Line::get(
        "/sessions/{id}/topics/{t}",
        "A topic, its messages and its scores.",
        shape::<topics::Whole>,
        |r, a, n| Box::pin(topics::one(r, a, n[0], n[1])),
    )
    .asking(PLACE),
    Line::get(
        "/sessions/{id}/topics/events",
        "What happened to topics, newest first.",
        shape::<topics::Events>,
        |r, a, n| Box::pin(topics::events(r, a, n[0])),
    )
    .asking(&[COUNT, CURSOR]),
    Line::get("/sessions/{id}/topics/files", "The topics as files.", shape::<topics::Files>, |r, a, n| {
        Box::pin(topics::files(r, a, n[0]))
    })
    .asking(PLACE),
];
