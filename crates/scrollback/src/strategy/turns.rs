//! How a path falls into pieces that may not be parted: a call and its results, a turn, a page.

use std::ops::Range;
use std::sync::Arc;

use super::leaf::Leaf;
use crate::note::Covers;

/// How many turns begin in a stretch.
pub(crate) fn count(leaves: &[Arc<Leaf>]) -> u32 {
    u32::try_from(leaves.iter().filter(|leaf| leaf.begins_turn).count()).expect("fewer turns than 2^32")
}

/// Where the last turn begins; 0 if none does.
pub(crate) fn last(leaves: &[Arc<Leaf>]) -> usize {
    leaves.iter().rposition(|leaf| leaf.begins_turn).unwrap_or(0)
}

/// The pages of a stretch as ranges: one for each turn, several for a turn of more than `most` tokens. A call is never
/// parted from its results, nor those from what joins them.
pub(crate) fn pages(leaves: &[Arc<Leaf>], most: u32) -> Vec<Range<usize>> {
    let mut pages: Vec<Range<usize>> = Vec::new();
    let mut tokens = 0_u32;
    for (i, leaf) in leaves.iter().enumerate() {
        let full = tokens.saturating_add(leaf.tokens()) > most && !leaf.belongs();
        match pages.last_mut() {
            Some(page) if !leaf.begins_turn && !full => page.end = i + 1,
            _ => {
                pages.push(i..i + 1);
                tokens = 0;
            }
        }
        tokens = tokens.saturating_add(leaf.tokens());
    }
    pages
}

/// Where what stays open of some pages begins: the newest of them, enough for so many messages, fewer if those take
/// more than `room`.
pub(crate) fn end(pages: &[Range<usize>], costs: &[u32], messages: usize, room: u32) -> usize {
    let folded = pages.len() - kept(pages, costs, messages, room);
    folded.checked_sub(1).map_or(0, |last| pages[last].end)
}

/// How many of the newest pages stay open.
fn kept(pages: &[Range<usize>], costs: &[u32], messages: usize, room: u32) -> usize {
    let count = |kept: usize| costs.len() - pages[pages.len() - kept].start;
    let enough = (1..=pages.len()).find(|kept| count(*kept) >= messages);
    let cost = |kept: usize| costs[pages[pages.len() - kept].start..].iter().sum::<u32>();
    let most = enough.unwrap_or(pages.len());
    (1..=most).rev().find(|kept| cost(*kept) <= room).unwrap_or(1).min(pages.len())
}

/// What a range of messages covers.
pub(crate) fn covers(leaves: &[Arc<Leaf>], range: &Range<usize>) -> Option<Covers> {
    let leaves = leaves.get(range.clone())?;
    let (first, last) = (leaves.first()?.stored.position()?, leaves.last()?.stored.position()?);
    Some(Covers { first: first.id, from: first.depth, last: last.id, to: last.depth })
}
