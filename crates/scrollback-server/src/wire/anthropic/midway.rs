//! System messages in the middle of a conversation. The provider takes them behind a message of a person and before a
//! reply, or at the end; what was folded around one may leave it elsewhere.

use super::line::Line;
use super::results::blocks;

const SYSTEM: &str = "system";

/// The same lines, with each system message where it is accepted, as soon as it can be; several that come to stand at
/// one place become one.
pub(super) fn placed(lines: Vec<Line<'_>>) -> Vec<Line<'_>> {
    let mut out: Vec<Line<'_>> = Vec::with_capacity(lines.len());
    let mut waiting: Option<Line<'_>> = None;
    let mut rest = lines.into_iter().peekable();
    while let Some(line) = rest.next() {
        if line.role() == SYSTEM {
            waiting = Some(joined(waiting, line));
        } else {
            out.push(line);
        }
        let is_before_a_reply = rest.peek().is_none_or(|next| next.role() == "assistant");
        if is_before_a_reply && out.last().is_some_and(|line| line.role() == "user") {
            out.extend(waiting.take());
        }
    }
    out.extend(waiting);
    out
}

fn joined<'w>(first: Option<Line<'w>>, second: Line<'w>) -> Line<'w> {
    let Some(mut first) = first else { return second };
    let behind = blocks(&second);
    match first.blocks_mut() {
        Some(before) => before.extend(behind),
        None => return second,
    }
    first
}
