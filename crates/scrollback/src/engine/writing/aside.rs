//! Summaries of conversations that nobody keeps: the messages are laid out in memory, summed up and let go.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::task::yield_now;

use super::ahead::segment_end;
use super::sum::Manner;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::{At, Depth, Tenant};
use crate::log::{Arrival, History, Log};
use crate::store::{MemoryStore, Span, Store, Stored};
use crate::strategy::Leaf;
use crate::summary::Summary;

/// Unless somebody says, a summary takes no more than half of so many tokens.
const ROOM: u32 = 8_000;
/// How many tokens a summary may have at most: hardly more of it is shown to whoever goes on with it.
const MOST_TOKENS: u32 = 10_000;
/// In how many segments a conversation is read at most; a longer one has longer segments.
const MOST_SEGMENTS: usize = 500;

/// How somebody wants a conversation summed up.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// How many tokens it may have, at most 10,000; otherwise as many as its length deserves.
    pub most_tokens: Option<u32>,
    /// How it is told: `general`, `technical`, or `auto` as the messages suggest.
    pub style: &'a str,
    /// The model it is for, whose settings count; may be empty.
    pub model: &'a str,
}

impl Engine {
    /// Sums up a conversation, segment by segment, by the helper where there is one. Nothing of it is stored.
    pub fn summarise<'a>(&'a self, history: &'a History<'a>, wanted: Wanted<'a>) -> BoxFuture<'a, Result<Summary>> {
        Box::pin(async move {
            let messages = messages_of(history, wanted.model).await?;
            let leaves = Leaf::all(messages.into_iter().map(Arc::new), &self.settings.strategies.holds);
            let settings = &self.settings.strategies.summary;
            let segment = segment_of(settings.of(wanted.model).segment.unwrap_or(settings.segment), leaves.len());
            let (mut summary, mut done, mut original) = (None::<Summary>, 0, 0_u32);
            while done < leaves.len() {
                let end = segment_end(&leaves, done, segment);
                original = leaves[done..end].iter().fold(original, |sum, leaf| sum.saturating_add(leaf.tokens()));
                let most_tokens =
                    wanted.most_tokens.unwrap_or_else(|| settings.length(original, ROOM)).min(MOST_TOKENS);
                let manner = Manner { model: wanted.model, prompt: wanted.style, most_tokens };
                let said: Vec<Stored> = leaves[done..end].iter().map(|leaf| Stored::clone(&leaf.stored)).collect();
                let next = self.sum_segment(manner, summary.as_ref(), &leaves[done..end], &said).await;
                summary = next.map(|(summary, _)| summary);
                done = end;
                // Without a helper nothing else waits: others have their turn, and whoever asked may go away.
                yield_now().await;
            }
            summary.ok_or_else(nothing)
        })
    }
}

/// How many of so many messages are read at once.
fn segment_of(usual: usize, messages: usize) -> usize {
    usual.max(messages.div_ceil(MOST_SEGMENTS)).max(1)
}

fn nothing() -> Error {
    Error::Invalid("there is no message to sum up".into())
}

/// The messages of a history, as a store of its own has them.
async fn messages_of(history: &History<'_>, model: &str) -> Result<Vec<Stored>> {
    let store = Arc::new(MemoryStore::default());
    let tenant = Tenant::local();
    let arrival = Arrival::new(&tenant, None, model, At(0));
    let received = Log::new(store.clone()).receive(arrival, history).await?;
    let head = received.head.ok_or_else(nothing)?;
    store.read(&received.session, Span::path(head, Depth(0))).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_conversations_are_read_in_longer_segments() {
        assert_eq!([0, 6, 2_500, 2_501, 1_500_000].map(|messages| segment_of(5, messages)), [5, 5, 5, 6, 3_000]);
        assert_eq!((segment_of(0, 0), segment_of(40, 10_000)), (1, 40));
    }
}
