//! A topic's own window: its messages as the helper reads them, and what of them is left to be read.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::editions::Editions;
use super::shelf::Shelved;
use crate::engine::Engine;
use crate::error::Result;
use crate::ids::{Depth, MessageId, SessionKey};
use crate::store::{Lineage, Stored};
use crate::topic::TopicId;
use crate::window::fitting;

/// How many stretches of messages are named.
const NAMED: usize = 12;

/// For whom topics are read: a path as far as it is folded, without what a person wants left out.
pub(super) struct Reader<'a> {
    pub(super) session: &'a SessionKey,
    pub(super) lineage: &'a Lineage,
    pub(super) open: Depth,
    pub(super) excluded: &'a BTreeSet<MessageId>,
}

impl Engine {
    /// The folded messages of a topic, in order.
    pub(super) async fn held_by(&self, reader: &Reader<'_>, topic: TopicId) -> Result<Vec<MessageId>> {
        let editions = Editions { store: self.store(), session: reader.session, lineage: reader.lineage };
        let members = editions.members(topic, reader.open).await?;
        Ok(members.into_iter().map(|(id, _)| id).filter(|id| !reader.excluded.contains(id)).collect())
    }

    /// The messages of a topic for its own window: all of them, or as many of the newest as it holds. None without a
    /// helper.
    pub(super) async fn prompt_of(&self, reader: &Reader<'_>, shelved: &Shelved) -> Result<Vec<Arc<Stored>>> {
        if !self.tasks.has_helper() || shelved.edition == 0 {
            return Ok(Vec::new());
        }
        let messages = self.by_number(reader.session, self.held_by(reader, shelved.card.id).await?).await?;
        let room = self.settings.strategies.topics.topic_tokens.saturating_mul(2);
        let count = fitting(messages.iter().rev().map(|stored| stored.measure.tokens), room);
        Ok(messages[messages.len() - count..].to_vec())
    }
}

/// What a topic holds beside what is shown of it, and how to see it; `None` if that is nothing.
pub(super) fn pointer(topic: TopicId, held: &[MessageId], shown: &[MessageId]) -> Option<String> {
    let rest: Vec<MessageId> = held.iter().copied().filter(|id| !shown.contains(id)).collect();
    let runs: Vec<&[MessageId]> = rest.chunk_by(|one, next| one.0 + 1 == next.0).collect();
    let name = |run: &&[MessageId]| match run {
        [first, .., last] => format!("{first}–{last}"),
        run => run.first().map(MessageId::to_string).unwrap_or_default(),
    };
    let more = if runs.len() > NAMED { ", …" } else { "" };
    let named = runs.iter().take(NAMED).map(name).collect::<Vec<_>>().join(", ");
    let first = rest.first()?;
    Some(format!(
        "[{} more of {topic}: {named}{more}. recall_page(index = {}) shows m{} with its turn; search_history(words) finds any]",
        rest.len(),
        first.0,
        first.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_topic_is_named_in_runs() {
        let ids = |numbers: &[u32]| numbers.iter().copied().map(MessageId).collect::<Vec<_>>();
        let (topic, held) = (TopicId(MessageId(4)), ids(&[4, 5, 6, 9, 12, 13]));
        let told = pointer(topic, &held, &ids(&[6])).unwrap();
        assert!(told.starts_with("[5 more of t4: m4–m5, m9, m12–m13. recall_page(index = 4)"), "{told}");
        assert_eq!(pointer(topic, &held, &held), None);
        let many = pointer(topic, &(0..200).map(|i| MessageId(i * 2)).collect::<Vec<_>>(), &[]).unwrap();
        assert!(many.contains("m22, …") && many.len() < 400, "{many}");
    }
}
