//! What one window shows that another does not.

use std::collections::BTreeMap;

use scrollback::window::{Block, Body, Reason, Window};
use serde::Serialize;

/// How a block differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Change {
    /// Only the first window has it.
    Gone,
    /// Only the second has it.
    New,
    /// Both have it, shown differently.
    Changed,
}

/// What makes two blocks the same: the message they show, or being the one block of text there for its reason.
type Identity = Option<(u32, Option<Reason>)>;

/// What differs: what is gone, then what is new or shown differently, in the order of the windows.
pub(crate) fn changes<'a>(old: &'a Window, new: &'a Window) -> Vec<(Change, &'a Block)> {
    let (before, after) = (by_identity(old), by_identity(new));
    let gone =
        old.blocks().iter().filter(|block| !after.contains_key(&identity(block))).map(|block| (Change::Gone, block));
    let rest = new.blocks().iter().filter_map(|block| match before.get(&identity(block)) {
        None => Some((Change::New, block)),
        Some(known) => (known.hash() != block.hash()).then_some((Change::Changed, block)),
    });
    gone.chain(rest).collect()
}

/// The block of another window that is shown differently.
pub(super) fn counterpart<'a>(window: &'a Window, block: &Block) -> Option<&'a Block> {
    window.blocks().iter().find(|other| identity(other) == identity(block))
}

fn by_identity(window: &Window) -> BTreeMap<Identity, &Block> {
    window.blocks().iter().map(|block| (identity(block), block)).collect()
}

fn identity(block: &Block) -> Identity {
    match &block.body {
        Body::Note(_) => Some((0, Some(block.reason))),
        Body::Original(stored) | Body::Held(stored, _) | Body::Whole(stored, _) | Body::Nothing(stored) => {
            Some((stored.id.0, None))
        }
        Body::Round(_) => None,
    }
}
