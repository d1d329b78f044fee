//! What people read of a session outside of any window: a stretch of a path, a page, a tool result line by line.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::passages::{Passages, lines_of, passages};
use super::{AROUND, ROOM, Sight};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::{Depth, MessageId, SessionKey};
use crate::note::Fold;
use crate::store::{Position, Span, Stored};
use crate::strategy::{Leaf, result_of};

/// Some lines of a tool result. Lines longer than 1,000 characters count as several, as they do for models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// They, exactly.
    pub text: String,
    /// How long the whole result is.
    pub chars: usize,
    /// How many lines it has.
    pub count: usize,
    /// Which of them is the first here, from 1.
    pub first: usize,
    /// How many are here.
    pub shown: usize,
}

impl Engine {
    /// A stretch of the path that ends in `head`, with the reasoning that led to each message and with what is held.
    pub fn stretch<'a>(
        &'a self,
        session: &'a SessionKey,
        head: Position,
        from: Depth,
        to: Depth,
    ) -> BoxFuture<'a, Result<Vec<Arc<Leaf>>>> {
        Box::pin(async move {
            let read = |from| self.store().read(session, Span::Path { head, from, to });
            let leaves = self.leaves(session, read(from).await?).await?;
            let unknown = |leaf: &Arc<Leaf>| leaf.large.as_ref().is_some_and(|asked| asked.tool.is_none());
            let leaves = if from.0 == 0 || !leaves.iter().any(unknown) {
                leaves
            } else {
                // Whether a result is held depends on its call, which may stand before the stretch.
                let before = from.0.min(AROUND);
                let leaves = self.leaves(session, read(Depth(from.0 - before)).await?).await?;
                leaves.into_iter().skip(before as usize).collect()
            };
            // One that is held where there are many is known by what stood for it in a window.
            self.settle_all(session, &leaves).await?;
            Ok(leaves)
        })
    }

    /// The messages of the page that a depth of a path is in, folded or not: as it is listed, or else the turn. Of a
    /// turn too long to be read at once, those around.
    pub fn page_at<'a>(
        &'a self,
        session: &'a SessionKey,
        head: Position,
        fold: &'a Fold,
        depth: Depth,
    ) -> BoxFuture<'a, Result<Vec<Stored>>> {
        Box::pin(async move {
            let excluded = &std::collections::BTreeSet::new();
            let sight = Sight { session, head, fold, window: None, excluded, is_person: true, sorted: true };
            Ok(self.page_around(&sight, depth).await?.0)
        })
    }

    /// At most so many lines of a tool result, from one on (counted from 1).
    pub fn result_lines<'a>(
        &'a self,
        session: &'a SessionKey,
        id: MessageId,
        first: usize,
        most: usize,
    ) -> BoxFuture<'a, Result<Lines>> {
        Box::pin(async move {
            let text = self.result_text(session, id).await?;
            let lines = lines_of(&text);
            let (count, first) = (lines.len(), first.max(1));
            let shown: Vec<&str> = lines.into_iter().skip(first - 1).take(most).collect();
            Ok(Lines { text: shown.concat(), chars: text.chars().count(), count, first, shown: shown.len() })
        })
    }

    /// The lines of a tool result that hold most of some words, with their numbers and what is around them, as a model
    /// gets them.
    pub fn result_passages<'a>(
        &'a self,
        session: &'a SessionKey,
        id: MessageId,
        words: &'a str,
    ) -> BoxFuture<'a, Result<Lines>> {
        Box::pin(async move {
            let text = self.result_text(session, id).await?;
            let lines = lines_of(&text);
            let Passages { text: found, complaint } = passages(&lines, words, ROOM);
            let found = complaint.into_iter().chain([found]).collect::<Vec<_>>().join("\n");
            let (chars, count) = (text.chars().count(), lines.len());
            Ok(Lines { text: found, chars, count, first: 1, shown: count })
        })
    }

    async fn result_text(&self, session: &SessionKey, id: MessageId) -> Result<String> {
        let unknown = || Error::NotFound(format!("{id} of this session is no tool result"));
        let stored = self.store().read(session, Span::Ids(vec![id])).await?.pop().ok_or_else(unknown)?;
        Some(result_of(&stored.message())).filter(|text| !text.is_empty()).ok_or_else(unknown)
    }
}
