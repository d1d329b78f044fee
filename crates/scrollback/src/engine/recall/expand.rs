//! Bringing back what a summary or an artifact was made from, word for word.

use std::sync::Arc;

use super::{Onward, Sight, Unread};
use crate::artifact::{Artifact, find};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::{Depth, MessageId};
use crate::recall::{RecallCall, fence};
use crate::search::{Query, Reach, find as find_messages};
use crate::store::{Lineage, Span, Stored};
use crate::strategy::{LISTED, Leaf};
use crate::window::tokens_of;

/// How many messages of a summary are read at once.
const AT_ONCE: u32 = 96;
/// How many messages with some words are shown.
const FINDS: usize = 12;
/// How many sources of a section are read at once.
const SOURCES: usize = 32;
/// How many sections answer a search.
const SECTIONS: usize = 3;

impl Engine {
    /// Messages that a summary tells of: those with some words, or in order from one on.
    pub(super) async fn expand(&self, sight: &Sight<'_>, call: &RecallCall, room: u32) -> Result<String> {
        let RecallCall::Summary { number, words, from } = call else { return Ok(String::new()) };
        let unknown = || Error::NotFound(format!("There is no summary s{number} in this conversation."));
        let lineage = self.store().lineage(sight.session, sight.head).await?;
        let last = self.on_path(sight.session, &lineage, MessageId(*number)).await?.ok_or_else(unknown)?;
        // A model sees the rest below; a person may look at any summary.
        let folded = sight.fold.open().0.checked_sub(1).map(Depth);
        let end = if sight.window.is_some() { folded.map(|end| end.min(last.depth)) } else { Some(last.depth) };
        let Some(end) = end else {
            return Ok("Nothing has been folded: everything is in the conversation below.".to_owned());
        };
        let (messages, next) = match words {
            Some(words) => (self.covered_with(sight, &lineage, words, end).await?, None),
            None => self.covered_from(sight, &lineage, *from, end).await?,
        };
        if messages.is_empty() {
            return Ok(format!("Nothing that s{number} covers matches. Try other words, or fewer."));
        }
        let leaves = self.settled(sight, messages).await?;
        let shown = self.written(sight, &leaves, Unread { of: Onward::Summary(*number), next }, room);
        Ok(fence("messages", &format!("Of what s{number} covers"), &shown))
    }

    /// The messages with some words up to a depth, in the order they were said.
    async fn covered_with(&self, sight: &Sight<'_>, lineage: &Lineage, words: &str, end: Depth) -> Result<Vec<Stored>> {
        let path = Lineage(lineage.0.iter().map(|(branch, depth)| (*branch, end.min(*depth))).collect());
        let query = Query { reach: Reach::Path(sight.session.id, path), limit: FINDS, ..Query::new(words) };
        let found = find_messages(self.store(), &sight.session.tenant, &query).await?;
        let mut messages: Vec<Stored> = found.into_iter().map(|found| found.message).collect();
        messages.retain(|stored| !sight.excluded.contains(&stored.id));
        messages.sort_by_key(|stored| stored.position().map(|position| position.depth));
        Ok(messages)
    }

    /// The messages from one on up to a depth, as many as are read at once, and the one they go on with.
    async fn covered_from(
        &self,
        sight: &Sight<'_>,
        lineage: &Lineage,
        from: Option<MessageId>,
        end: Depth,
    ) -> Result<(Vec<Stored>, Option<MessageId>)> {
        let start = match from {
            Some(from) => self.on_path(sight.session, lineage, from).await?.map(|at| at.depth),
            None => None,
        };
        let start = start.filter(|start| *start <= end).unwrap_or(Depth(0));
        let to = Depth(start.0.saturating_add(AT_ONCE)).min(end);
        let span = Span::Path { head: sight.head, from: start, to };
        let mut messages = self.store().read(sight.session, span).await?;
        let next = if to < end { messages.pop().map(|stored| stored.id) } else { None };
        Ok((messages, next))
    }

    /// The sources of sections that have to do with some words, word for word.
    pub(super) async fn sections(&self, sight: &Sight<'_>, words: &str, room: u32) -> Result<Option<String>> {
        if sight.fold.artifacts.is_empty() {
            return Ok(None);
        }
        let lineage = self.store().lineage(sight.session, sight.head).await?;
        let artifacts = self.likely(sight, &lineage, words).await?;
        let (mut shown, mut left) = (Vec::new(), room / 4 * 3);
        // What a person wrote may have none.
        let with_sources = find(&artifacts, words).into_iter().filter(|(_, section)| !section.sources.is_empty());
        for (id, section) in with_sources.take(SECTIONS) {
            let Some(room) = left.checked_sub(super::DRESS).filter(|room| *room > 0) else { break };
            let (leaves, next) = self.sources(sight, &lineage, &section.sources, room).await?;
            let Some(first) = leaves.first().map(|leaf| leaf.stored.id) else { continue };
            let text = self.written(sight, &leaves, Unread { of: Onward::Page(first), next }, room);
            let text = fence("section", &format!("Sources of “{}” in {id}", section.heading), &text);
            left = left.saturating_sub(tokens_of(&text));
            shown.push(text);
        }
        Ok((!shown.is_empty()).then(|| shown.join("\n")))
    }

    /// The artifacts that may have to do with some words, however many there are: those that a model is told of, and of
    /// the older ones those that begin where messages have these words.
    async fn likely(&self, sight: &Sight<'_>, lineage: &Lineage, words: &str) -> Result<Vec<Arc<Artifact>>> {
        let (told, older) = sight.fold.artifacts.split_at(sight.fold.artifacts.len().min(LISTED));
        let mut likely = told.to_vec();
        let end = sight.fold.open().0.checked_sub(1).filter(|_| !older.is_empty());
        if let Some(end) = end {
            for stored in self.covered_with(sight, lineage, words, Depth(end)).await? {
                // An artifact has the name of its first source.
                let before = older.iter().filter(|edition| edition.id.0 <= stored.id);
                let nearest = before.max_by_key(|edition| edition.id).copied();
                likely.extend(nearest.filter(|edition| !likely.contains(edition)));
            }
        }
        let mut artifacts = Vec::with_capacity(likely.len());
        for edition in likely {
            artifacts.push(self.issued(sight.session, edition).await?);
        }
        Ok(artifacts)
    }

    /// The first sources of a section that are on a path, about as many as there is room for, and the one they go on
    /// with.
    async fn sources(
        &self,
        sight: &Sight<'_>,
        lineage: &Lineage,
        ids: &[MessageId],
        room: u32,
    ) -> Result<(Vec<Arc<Leaf>>, Option<MessageId>)> {
        let (mut leaves, mut tokens) = (Vec::new(), 0_u32);
        for some in ids.chunks(SOURCES) {
            let mut messages = self.store().read(sight.session, Span::Ids(some.to_vec())).await?;
            messages.retain(|stored| lineage.holds(&stored.place));
            if tokens > room {
                return Ok((leaves, messages.first().map(|stored| stored.id)));
            }
            let read = self.settled(sight, messages).await?;
            let cost = |leaf: &Arc<Leaf>| {
                let held = leaf.large.as_ref().and(leaf.placeholder(&self.settings.strategies.holds));
                held.map_or(leaf.tokens(), |held| held.tokens)
            };
            tokens = read.iter().map(cost).fold(tokens, u32::saturating_add);
            leaves.extend(read);
        }
        Ok((leaves, None))
    }

    /// Messages with what stands for their large results.
    async fn settled(&self, sight: &Sight<'_>, messages: Vec<Stored>) -> Result<Vec<Arc<Leaf>>> {
        let leaves = Leaf::all(messages.into_iter().map(Arc::new), &self.settings.strategies.holds);
        for leaf in leaves.iter().filter(|leaf| leaf.large.is_some()) {
            self.settle_one(sight.session, leaf).await?;
        }
        Ok(leaves)
    }
}
