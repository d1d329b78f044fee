//! Routes about what was recorded: views and the ledger.

use super::line::{COUNT, CURSOR, Line, Param, flag, needed, number, words};
use super::shape;
use crate::api::{ledger, views};

const WITH: &[Param] = &[needed(words("with", "the view to compare it with"))];
const AFTER: Param = words("after", "those next after this view, such as v42");
const AROUND: Param = words("around", "those around this view, and it");

pub(super) const LINES: &[Line] = &[
    Line::get("/sessions/{id}/views", "The windows that were sent, newest first.", shape::<views::Page>, |r, a, n| {
        Box::pin(views::list(r, a, n[0]))
    })
    .asking(&[COUNT, CURSOR, number("branch", "only those of this branch", 0, u32::MAX), AFTER, AROUND]),
    Line::get("/sessions/{id}/views/{v}", "A window, block by block.", shape::<views::Whole>, |r, a, n| {
        Box::pin(views::one(r, a, n[0], n[1]))
    })
    .asking(&[flag("text", "whether to add what each block says")]),
    Line::get(
        "/sessions/{id}/views/{v}/diff",
        "What differs from another window.",
        shape::<views::Compared>,
        |r, a, n| Box::pin(views::diff(r, a, n[0], n[1])),
    )
    .asking(WITH),
    Line::get("/sessions/{id}/ledger", "What calls cost, newest first.", shape::<ledger::Page>, |r, a, n| {
        Box::pin(ledger::list(r, a, n[0]))
    })
    .asking(&[
        COUNT,
        CURSOR,
        flag("totals", "whether to add the sums of the whole session, which takes as long as it has calls"),
    ]),
];
