//! What a fold remembers of the messages under it because no turn can do without it: instructions, what began the turn
//! that goes on after it, and what the person said in that turn since.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use crate::ids::MessageId;
use crate::log::Sums;
use crate::message::Role;
use crate::note::Fold;
use crate::rule::own_words;
use crate::store::Stored;
use crate::strategy::Leaf;

/// How many instructions a fold remembers: all of them are read whenever something is folded.
const INSTRUCTIONS: usize = 64;
/// How many messages it remembers in which the person spoke again: programs may speak there as well, and the last of
/// them need not be the person's.
const SAID_SINCE: usize = 4;

impl Fold {
    /// The same with what is needed of more messages that went under it, beside what was before; `known` are those of
    /// `before` that were read. Behind what is folded stands what stays open. What clients ask for a summary
    /// (`sums`) is said by nobody.
    #[must_use]
    pub(super) fn needing(
        self,
        before: &Self,
        known: &[Arc<Stored>],
        (folded, open): (&[Arc<Leaf>], &[Arc<Leaf>]),
        sums: &Sums,
    ) -> Self {
        let instructions = instructed(&before.instructions, known, folded);
        if open.first().is_none_or(|leaf| leaf.begins_turn) {
            return Self { instructions, question: None, said_since: Vec::new(), ..self };
        }
        let Some(began) = folded.iter().rposition(|leaf| leaf.begins_turn) else {
            let said_since = said(&before.said_since, known, folded, sums);
            return Self { instructions, question: before.question, said_since, ..self };
        };
        let said_since = said(&[], &[], &folded[began + 1..], sums);
        let question = Some(folded[began].stored.id).filter(|began| !sums.asked(*began));
        Self { instructions, question, said_since, ..self }
    }
}

/// The instructions given in the middle of a talk that hold after some messages more. What is said again holds where it
/// was said last, and of too many the first one and the newest do.
fn instructed(before: &[MessageId], known: &[Arc<Stored>], more: &[Arc<Leaf>]) -> Vec<MessageId> {
    let known = known.iter().map(|stored| (stored.message().strong(), stored.id));
    let given = more.iter().map(|leaf| &leaf.stored).filter(|stored| stored.role.instructs());
    let mut held = remembered(before, known, given.map(|stored| (stored.message().strong(), stored.id)));
    if held.len() > INSTRUCTIONS {
        held.drain(1..=held.len() - INSTRUCTIONS);
    }
    held
}

/// The newest messages of a turn in which the person speaks beside results or right behind them, none of which begins a
/// turn.
fn said(before: &[MessageId], known: &[Arc<Stored>], more: &[Arc<Leaf>], sums: &Sums) -> Vec<MessageId> {
    let words = |stored: &Arc<Stored>| (own_words(&stored.message()), stored.id);
    let known = known.iter().filter(|stored| before.contains(&stored.id)).map(words);
    let speaks = |stored: &&Arc<Stored>| stored.role == Role::User && !sums.asked(stored.id);
    let spoken = more.iter().map(|leaf| &leaf.stored).filter(speaks).map(words);
    let mut held = remembered(before, known, spoken.filter(|(words, _)| !words.is_empty()));
    held.drain(..held.len().saturating_sub(SAID_SINCE));
    held
}

/// What is remembered after more was said: of equal words the last.
fn remembered<W: Eq + Hash>(
    before: &[MessageId],
    known: impl Iterator<Item = (W, MessageId)>,
    more: impl Iterator<Item = (W, MessageId)>,
) -> Vec<MessageId> {
    let mut held = before.to_vec();
    let mut said: HashMap<W, MessageId> = known.collect();
    for (words, id) in more {
        let earlier = said.insert(words, id);
        held.retain(|id| Some(*id) != earlier);
        held.push(id);
    }
    held
}
