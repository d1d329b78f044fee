//! Routes about conversations: sessions, what people decided about them, folds.

use super::line::{BRANCH, COUNT, CURSOR, LIMIT, Line, PLACE, open};
use super::shape;
use crate::api::{controls, erase, folds, rules, sessions};
use controls::Verb;
use folds::Direction;

pub(super) const LINES: &[Line] = &[
    Line::get("/sessions", "The conversations, newest first.", shape::<sessions::Page>, |room, ask, _| {
        Box::pin(sessions::list(room, ask))
    })
    .asking(&[COUNT, CURSOR, open("q", "only those whose name or id begins so, or whose title has it")]),
    Line::get(
        "/sessions/{id}",
        "A conversation and how its next window is laid out.",
        shape::<sessions::Whole>,
        |r, a, n| Box::pin(sessions::one(r, a, n[0])),
    )
    .asking(PLACE),
    Line::delete(
        "/sessions/{id}",
        "Erases a conversation for good; its id or name has to be whole.",
        shape::<erase::Erased>,
        |r, _, n| Box::pin(erase::session(r, n[0])),
    ),
    Line::get("/sessions/{id}/controls", "What is pinned and left out.", shape::<controls::Controlled>, |r, a, n| {
        Box::pin(controls::show(r, a, n[0]))
    })
    .asking(PLACE),
    Line::put("/sessions/{id}/pins/{m}", "Shows a message in every window.", shape::<controls::Effect>, |r, a, n| {
        Box::pin(controls::change(r, a, n[0], n[1], Verb::Pin))
    })
    .asking(PLACE),
    Line::delete("/sessions/{id}/pins/{m}", "Pins it no more.", shape::<controls::Effect>, |r, a, n| {
        Box::pin(controls::change(r, a, n[0], n[1], Verb::Unpin))
    })
    .asking(PLACE),
    Line::put(
        "/sessions/{id}/excluded/{m}",
        "Leaves a message out of every window.",
        shape::<controls::Effect>,
        |r, a, n| Box::pin(controls::change(r, a, n[0], n[1], Verb::Exclude)),
    )
    .asking(PLACE),
    Line::delete("/sessions/{id}/excluded/{m}", "Shows it again.", shape::<controls::Effect>, |r, a, n| {
        Box::pin(controls::change(r, a, n[0], n[1], Verb::Include))
    })
    .asking(PLACE),
    Line::get(
        "/sessions/{id}/rules",
        "What the person told the model to keep to.",
        shape::<rules::Rules>,
        |r, a, n| Box::pin(rules::list(r, a, n[0])),
    )
    .asking(PLACE),
    Line::delete("/sessions/{id}/rules/{r}", "Lets go of a rule.", shape::<rules::RuleLine>, |r, a, n| {
        Box::pin(rules::change(r, a, n[0], n[1], rules::Verb::Drop))
    })
    .asking(PLACE),
    Line::put("/sessions/{id}/rules/{r}", "Takes it up again.", shape::<rules::RuleLine>, |r, a, n| {
        Box::pin(rules::change(r, a, n[0], n[1], rules::Verb::Restore))
    })
    .asking(PLACE),
    Line::post("/sessions/{id}/undo", "Goes back to the fold before.", shape::<folds::Moved>, |r, a, n| {
        Box::pin(folds::moved(r, a, n[0], Direction::Back))
    })
    .asking(PLACE),
    Line::post("/sessions/{id}/redo", "Takes up again what was undone last.", shape::<folds::Moved>, |r, a, n| {
        Box::pin(folds::moved(r, a, n[0], Direction::Forward))
    })
    .asking(PLACE),
    Line::post("/sessions/{id}/compress", "Folds now.", shape::<folds::Moved>, |r, a, n| {
        Box::pin(folds::compress(r, a, n[0]))
    })
    .asking(PLACE),
    Line::put("/sessions/{id}/strategy", "Lays windows out in another way.", shape::<folds::Chosen>, |r, a, n| {
        Box::pin(folds::strategy(r, a, n[0]))
    })
    .asking(&[BRANCH, LIMIT])
    .taking(shape::<folds::Wanted>),
];
