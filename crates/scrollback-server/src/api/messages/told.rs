//! A message as it is told: what it says piece by piece, where it is, and what was decided about it.

use std::collections::HashMap;
use std::sync::Arc;

use schemars::JsonSchema;
use scrollback::ids::{BranchId, Depth};
use scrollback::note::Fold;
use scrollback::store::{Origin, Span, Stored};
use scrollback::strategy::Leaf;
use scrollback::{At, MessageId, Part as Read};
use serde::Serialize;

use super::part::{Part, parts};
use crate::api::place::Place;
use crate::api::{Ask, Refusal, Room};

/// Texts in lists are cut after so many characters.
const LIST_CHARS: usize = 20_000;
/// How far back the call of a result is looked for.
const CALL_WITHIN: u32 = 16;

/// A message.
#[derive(Serialize, JsonSchema)]
pub(in crate::api) struct Message {
    id: MessageId,
    /// How many messages precede it on its branch; `null` for instructions and others beside it.
    depth: Option<u32>,
    role: String,
    at: At,
    tokens: u32,
    origin: Origin,
    parts: Vec<Part>,
    pinned: bool,
    excluded: bool,
    /// What its tool result is called that windows show a placeholder for.
    held: Option<String>,
    /// Whether it is under notes now.
    folded: bool,
    /// The branches that leave after it.
    branches: Vec<BranchId>,
    /// What it takes to read it.
    #[serde(skip)]
    pub(super) bytes: usize,
}

/// How messages are told.
#[derive(Clone, Copy)]
pub(in crate::api) struct How {
    /// Whether Markdown comes as HTML too.
    pub(super) html: bool,
    /// How many characters of a text there are at most.
    pub(super) most_chars: Option<usize>,
}

impl How {
    /// Whole, as a request says.
    pub(in crate::api) fn of(ask: &Ask) -> Self {
        Self { html: ask.wants("render", "html"), most_chars: None }
    }

    /// The same with long texts cut.
    pub(in crate::api) fn in_a_list(self) -> Self {
        Self { most_chars: Some(LIST_CHARS), ..self }
    }
}

/// Where messages are looked at from, and how.
pub(super) struct Look<'a> {
    place: &'a Place,
    fold: &'a Fold,
    how: How,
}

/// The tools that were called, by the ids of their calls.
pub(super) type Names = HashMap<String, String>;

impl<'a> Look<'a> {
    pub(super) fn new(place: &'a Place, fold: &'a Fold, how: How) -> Self {
        Self { place, fold, how }
    }

    /// A message that stands beside the path.
    pub(super) fn beside(&self, stored: &Stored) -> Message {
        let parts = parts(&stored.message(), &Names::new(), self.how);
        Message { parts, ..self.bare(stored) }
    }

    fn on_path(&self, leaf: &Leaf, names: &Names) -> Message {
        let stored = &leaf.stored;
        let reasoned = leaf.asides.iter().flat_map(|aside| parts(&aside.message(), names, self.how));
        let parts = reasoned.chain(parts(&stored.message(), names, self.how)).collect();
        let held = (leaf.large.is_some() || leaf.is_recorded()).then(|| format!("h{}", stored.id.0));
        Message { parts, held, ..self.bare(stored) }
    }

    /// All of a message but what it says.
    fn bare(&self, stored: &Stored) -> Message {
        let Place { session, controls, .. } = self.place;
        let depth = stored.position().map(|position| position.depth);
        let left = session.branches.iter().filter(|branch| branch.fork.is_some_and(|fork| fork.id == stored.id));
        Message {
            id: stored.id,
            depth: depth.map(|depth| depth.0),
            role: stored.role.to_string(),
            at: stored.at,
            tokens: stored.measure.tokens,
            origin: stored.origin,
            parts: Vec::new(),
            pinned: controls.pinned.contains(&stored.id),
            excluded: controls.excluded.contains(&stored.id),
            held: None,
            folded: depth.is_some_and(|depth| depth < self.fold.open()),
            branches: left.map(|branch| branch.id).collect(),
            bytes: stored.raw.get().len(),
        }
    }
}

/// The messages of a stretch of the branch.
pub(super) async fn shown(room: &Room, look: &Look<'_>, from: Depth, to: Depth) -> Result<Vec<Message>, Refusal> {
    let Place { key, head, .. } = look.place;
    let leaves = room.engine.stretch(key, *head, from, to).await?;
    let mut names = Names::new();
    for leaf in &leaves {
        add_calls(&mut names, &leaf.stored);
    }
    if from.0 > 0 && leaves.iter().take(CALL_WITHIN as usize).any(|leaf| answers_earlier(leaf, &names)) {
        let before = Span::Path { head: *head, from: Depth(from.0.saturating_sub(CALL_WITHIN)), to: Depth(from.0 - 1) };
        let before = room.engine.log().store().read(key, before).await?;
        for stored in &before {
            add_calls(&mut names, stored);
        }
    }
    Ok(leaves.iter().map(|leaf| look.on_path(leaf, &names)).collect())
}

fn add_calls(names: &mut Names, stored: &Stored) {
    // Reading every message takes long; one that nowhere says "call" or "tool" makes none.
    if !["call", "tool"].iter().any(|word| stored.raw.get().contains(word)) {
        return;
    }
    for part in stored.message().parts() {
        if let Read::Call { id: Some(id), name, .. } = part {
            names.insert(id.clone(), name.clone());
        }
    }
}

/// Whether a message answers a call that is not among some.
fn answers_earlier(leaf: &Arc<Leaf>, names: &Names) -> bool {
    leaf.answers
        && leaf
            .stored
            .message()
            .parts()
            .iter()
            .any(|part| matches!(part, Read::Result { call: Some(call), .. } if !names.contains_key(call)))
}
