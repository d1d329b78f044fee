//! Summaries of a lane: the next segment after the last one, or all of it at once without a model.

use std::sync::Arc;

use crate::engine::Engine;
use crate::engine::lanes::Lane;
use crate::message::Part;
use crate::note::{Author, Covers, Fold};
use crate::store::Stored;
use crate::strategy::{Leaf, SummarySettings, turns};
use crate::summary::{Quote, Summary};
use crate::task::{self, Keeping, Segment, Style, Task};
use crate::window::{fitting, tokens_of};

/// How many lost things a summary remembers.
const LOST: usize = 60;
/// How many tokens of quotes a summary remembers; those that fit are shown.
const QUOTED_TOKENS: u32 = 12_000;

/// How many messages with images a summary remembers: all of them are read whenever something is folded.
const MEDIA: usize = 16;

/// How something is summed up.
#[derive(Clone, Copy)]
pub(super) struct Manner<'a> {
    /// The model it is for.
    pub(super) model: &'a str,
    /// The prompt: `auto`, `general`, `technical`, or words.
    pub(super) prompt: &'a str,
    pub(super) most_tokens: u32,
}

impl Engine {
    /// The tasks that summarise for a model.
    pub(super) fn summing_tasks(&self, model: &str) -> &task::Tasks {
        let name = self.settings.strategies.summary.of(model).helper;
        name.and_then(|name| self.helpers.get(&name)).unwrap_or(&self.tasks)
    }

    /// A summary that goes on after another with some messages, by the helper where it can.
    pub(super) async fn sum_next(
        &self,
        lane: &Lane,
        before: Option<&Summary>,
        leaves: &[Arc<Leaf>],
        original: u32,
    ) -> Option<(Summary, Vec<task::Asked>)> {
        let settings = &self.settings.strategies.summary;
        let own = settings.of(&lane.model).prompt.unwrap_or_else(|| settings.prompt.clone());
        let most_tokens = settings.length(original, lane.limit_tokens() / 100 * settings.share);
        let manner = Manner { model: &lane.model, prompt: &own, most_tokens };
        self.sum_segment(manner, before, leaves, &lane.wanted(leaves)).await
    }

    /// A summary that goes on after another with those of some messages that are wanted.
    pub(super) async fn sum_segment(
        &self,
        manner: Manner<'_>,
        before: Option<&Summary>,
        leaves: &[Arc<Leaf>],
        messages: &[Stored],
    ) -> Option<(Summary, Vec<task::Asked>)> {
        let quotes = task::kept(messages, keeping(&self.settings.strategies.summary));
        let segment = Segment {
            before: before.map(|summary| summary.text.as_str()).filter(|text| !text.is_empty()),
            before_count: before.map_or(0, |summary| summary.covers.count()),
            messages,
            style: style(manner.prompt, messages),
            most_tokens: manner.most_tokens,
            kept: &quotes,
        };
        let summed = task::summed(self.summing_tasks(manner.model), &segment).await;
        let covers = after(before.map(|summary| summary.covers), leaves)?;
        let summary = joined(before, covers, (summed.text, summed.by), (quotes, summed.lost), messages);
        Some((summary, summed.calls))
    }

    /// The summary of a fold's stretch that needs no model.
    pub(super) fn sum_offline(&self, lane: &Lane, fold: &Fold, leaves: &[Arc<Leaf>]) -> Summary {
        let settings = &self.settings.strategies.summary;
        let original = fold.original_tokens + leaves.iter().map(|leaf| leaf.tokens()).sum::<u32>();
        let most_tokens = settings.length(original, lane.limit_tokens() / 100 * settings.share);
        self.sum_within(most_tokens, lane, (fold.summary.as_ref(), fold.covers), leaves)
    }

    /// The same in at most so many tokens, after a summary of what is covered so far.
    pub(super) fn sum_within(
        &self,
        most_tokens: u32,
        lane: &Lane,
        (before, covered): (Option<&Summary>, Option<Covers>),
        leaves: &[Arc<Leaf>],
    ) -> Summary {
        let messages = lane.wanted(leaves);
        let asked = task::Summarise {
            before: before.map(|summary| summary.text.as_str()).filter(|text| !text.is_empty()),
            before_count: before.map_or(0, |summary| summary.covers.count()),
            messages: &messages,
            style: Style::General,
            most_tokens,
            missing: &[],
        };
        let quotes = task::kept(&messages, keeping(&self.settings.strategies.summary));
        let text = asked.offline();
        let held: Vec<&str> = quotes.iter().map(|quote| quote.text.as_str()).chain([text.as_str()]).collect();
        let told: Vec<String> = messages.iter().map(|stored| stored.message().to_text()).collect();
        let lost = task::lost(&task::facts(&told.join("\n")), &held.join("\n"));
        let lost = lost.into_iter().map(|fact| fact.text).collect();
        let covers = after(covered, leaves).or(covered).unwrap_or_else(|| nowhere(lane));
        joined(before, covers, (text, Author::Offline), (quotes, lost), &messages)
    }
}

fn keeping(settings: &SummarySettings) -> Keeping {
    Keeping { code: settings.keep_code, questions: settings.keep_questions }
}

/// What a summary covers after another, with some messages more.
fn after(before: Option<Covers>, leaves: &[Arc<Leaf>]) -> Option<Covers> {
    let more = turns::covers(leaves, &(0..leaves.len()))?;
    Some(before.map_or(more, |before| Covers { last: more.last, to: more.to, ..before }))
}

fn nowhere(lane: &Lane) -> Covers {
    Covers { first: lane.head.id, from: lane.head.depth, last: lane.head.id, to: lane.head.depth }
}

/// A summary with one of stretches that it tells nothing of: what the path began with comes first, and quotes and
/// images stand in the order they were said.
pub(super) fn with_earlier(told: Summary, earlier: &Summary) -> Summary {
    let mut texts = [earlier.text.trim(), told.text.trim()];
    if earlier.covers.from > told.covers.from {
        texts.reverse();
    }
    let text = texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    let by = if told.text.trim().is_empty() { earlier.by } else { told.by };
    let mut media = [earlier.media.clone(), told.media].concat();
    media.sort_unstable();
    media.drain(..media.len().saturating_sub(MEDIA));
    let summary = joined(Some(earlier), told.covers, (text, by), (told.kept, told.lost), &[]);
    Summary { media, ..summary }
}

/// A summary with what the one before it remembered.
fn joined(
    before: Option<&Summary>,
    covers: Covers,
    (text, by): (String, Author),
    (quotes, lost): (Vec<Quote>, Vec<String>),
    messages: &[Stored],
) -> Summary {
    let mut kept: Vec<Quote> = before.map(|summary| summary.kept.clone()).unwrap_or_default();
    kept.extend(quotes);
    // Ids grow along a path. What was told later may have been said earlier.
    kept.sort_by_key(|quote| quote.message);
    let newest = fitting(kept.iter().rev().map(|quote| tokens_of(&quote.text)), QUOTED_TOKENS);
    kept.drain(..kept.len() - newest);
    let mut all_lost = lost;
    let earlier = before.map(|summary| &summary.lost[..]).unwrap_or_default();
    all_lost.extend(earlier.iter().filter(|thing| !text.contains(thing.as_str())).cloned());
    all_lost.truncate(LOST);
    let mut media = before.map(|summary| summary.media.clone()).unwrap_or_default();
    media.extend(messages.iter().filter(|stored| has_media(stored)).map(|stored| stored.id));
    media.drain(..media.len().saturating_sub(MEDIA));
    Summary { covers, text, kept, media, lost: all_lost, by }
}

/// Whether a person sent an image or a file with it.
fn has_media(stored: &Stored) -> bool {
    let shown = |part: &Part| matches!(part, Part::Image(_) | Part::File(_)) && part.attachments() > 0;
    stored.role == crate::Role::User && stored.message().parts().iter().any(shown)
}

/// How a segment is told: as the settings say, or as its messages suggest.
fn style<'a>(prompt: &'a str, messages: &[Stored]) -> Style<'a> {
    let technical = |stored: &Stored| {
        let raw = stored.raw.get();
        raw.contains("```") || stored.role == crate::Role::Tool || raw.contains("\"tool_calls\"")
    };
    match prompt.trim() {
        "auto" | "" => {
            if messages.iter().any(technical) {
                Style::Technical
            } else {
                Style::General
            }
        }
        "general" => Style::General,
        "technical" => Style::Technical,
        own => Style::Own(own),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Depth, MessageId};

    #[test]
    fn only_the_newest_images_are_remembered() {
        let covers = Covers { first: MessageId(0), from: Depth(0), last: MessageId(40), to: Depth(40) };
        let media: Vec<MessageId> = (0..40).map(MessageId).collect();
        let (text, kept, lost, by) = (String::new(), Vec::new(), Vec::new(), Author::Offline);
        let before = Summary { covers, text, kept, media, lost, by };
        let after = joined(Some(&before), covers, (String::new(), by), (Vec::new(), Vec::new()), &[]);
        assert_eq!(after.media, (24..40).map(MessageId).collect::<Vec<_>>());
    }

    /// Somebody may go on for long with another model, so that the middle is what nobody has read.
    #[test]
    fn what_is_told_later_stands_where_it_was_said() {
        let summary = |from: u32, to: u32, text: &str, ids: &[u32]| {
            let covers = Covers { first: MessageId(from), from: Depth(from), last: MessageId(to), to: Depth(to) };
            let kept = ids.iter().map(|id| Quote { message: MessageId(*id), text: format!("Why {id}?") }).collect();
            let media = ids.iter().copied().map(MessageId).collect();
            Summary { covers, text: text.into(), kept, media, lost: Vec::new(), by: Author::Offline }
        };
        let check = |told: Summary, unread: &Summary, text: &str| {
            let both = with_earlier(told, unread);
            let ids: Vec<u32> = both.kept.iter().map(|quote| quote.message.0).collect();
            assert_eq!((both.text.as_str(), ids), (text, vec![5, 50, 90]));
            assert_eq!(both.media, [5, 50, 90].map(MessageId));
        };
        check(summary(0, 99, "Told.", &[5, 90]), &summary(20, 80, "Unread.", &[50]), "Told.\nUnread.");
        check(summary(0, 99, "Told.", &[50, 90]), &summary(0, 40, "Unread.", &[5]), "Unread.\nTold.");
        let mut told = summary(0, 99, "Told.", &[5]);
        told.kept[0].text = "Where is the lamp of the seventh pier? ".repeat(2_000);
        let both = with_earlier(told, &summary(20, 80, "Unread.", &[50]));
        let ids: Vec<u32> = both.kept.iter().map(|quote| quote.message.0).collect();
        assert_eq!(ids, [50], "where not all fit, the newest do");
    }
}
