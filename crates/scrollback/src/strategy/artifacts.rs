//! Artifacts: older messages are worked into documents with sources; the model sees the documents and the newest
//! messages.
//!
//! When enough messages are open, the oldest are archived at once: each stretch becomes an artifact or goes into one
//! that is about the same. Those that have most to do with what stays open are shown whole as long as they fit, the
//! others by title and summary. Every section names its sources, so the wording can always be brought back.

use std::collections::HashSet;

use super::holds::HoldSettings;
use super::showing::{Holding, Layout, costs, more_tokens, room, untold, usual_or_least};
use super::{Filed, Scene, Strategy, Stretch, turns};
use crate::artifact::ArtifactId;
use crate::error::Result;
use crate::note::{Covers, Edition, Fold, Lists, Note};
use crate::recall::{RecallTool, fence};
use crate::search::terms;
use crate::window::{Window, grouped, tokens_of};

/// Tokens that the fence and the fixed lines cost.
const DRESS: u32 = 130;
/// How a model sees more than the documents.
const HOW: &str = " search_history(words) loads the messages behind a section; so does [NEED_CONTEXT: words] where there are \
                   no tools. recall_page(index) shows a source with its turn.";
/// How many artifacts the model is told of, if there is room; the others are found by search.
pub(crate) const LISTED: usize = 128;

/// How artifacts are made. Shares are hundredths of the budget.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArtifactSettings {
    /// With so many open messages, the oldest are archived.
    pub archive_at: usize,
    /// So many stay open, if they fit.
    pub keep: usize,
    /// Also when the window is fuller than this.
    pub fold_over: u32,
    /// How much of the window artifacts may take.
    pub share: u32,
}

impl Default for ArtifactSettings {
    fn default() -> Self {
        Self { archive_at: 40, keep: 20, fold_over: 80, share: 25 }
    }
}

/// The strategy.
pub(super) struct Artifacts {
    settings: ArtifactSettings,
    holds: HoldSettings,
}

impl Artifacts {
    pub(super) fn new(settings: ArtifactSettings, holds: HoldSettings) -> Self {
        Self { settings, holds }
    }

    fn limit(&self, scene: &Scene<'_>) -> u32 {
        scene.budget.share(self.settings.share)
    }

    fn is_time(&self, scene: &Scene<'_>, open: u32) -> bool {
        let many = !scene.undone && scene.open.len() >= self.settings.archive_at;
        scene.is_asked() || many || open > self.settings.most_open(scene)
    }
}

impl ArtifactSettings {
    /// How many tokens may be open beside the documents before it is time.
    fn most_open(&self, scene: &Scene<'_>) -> u32 {
        let over = if scene.undone { scene.budget.tokens } else { scene.budget.share(self.fold_over) };
        over.saturating_sub(scene.fixed() + scene.budget.share(self.share).max(scene.fold.tokens))
    }

    /// How many of the oldest open messages the next archiving will take, once that is near: whole pages, no more than
    /// it has to. 0 while it is not.
    pub(crate) fn next(&self, scene: &Scene<'_>, holds: &HoldSettings) -> usize {
        let costs = costs(scene, holds, Holding::Usual);
        let (cost, most) = (|end: usize| costs[..end].iter().sum::<u32>(), self.most_open(scene));
        let more = self.archive_at.saturating_sub(self.keep);
        let many = scene.open.len() >= self.keep + more / 2;
        if !many && cost(costs.len()) <= most / 4 * 3 {
            return 0;
        }
        let ends = turns::pages(scene.open, scene.budget.steady_share(25)).into_iter().map(|page| page.end);
        let fits = |end: &usize| *end <= more.max(1) && cost(*end) <= most / 2;
        let taken = ends.clone().take_while(fits).last().or_else(|| ends.clone().next());
        taken.filter(|end| *end < scene.open.len()).unwrap_or(0)
    }
}

impl Strategy for Artifacts {
    fn recalls(&self) -> &'static [RecallTool] {
        &[RecallTool::Page, RecallTool::Hold, RecallTool::Search]
    }

    fn fold(&self, scene: &Scene<'_>) -> Vec<Stretch> {
        let costs = costs(scene, &self.holds, Holding::Usual);
        if !self.is_time(scene, costs.iter().sum()) {
            return Vec::new();
        }
        // However much is fixed, the next turn need not fold again.
        scene.all_but(&costs, self.settings.keep, self.settings.most_open(scene) / 2)
    }

    fn file(&self, scene: &Scene<'_>, notes: Vec<Note>) -> Fold {
        let limit = self.limit(scene);
        let Some((covers, last)) = scene.covered_with(&notes).zip(notes.last()) else {
            let Some(covers) = scene.fold.covers else { return scene.fold.clone() };
            let open: u32 = costs(scene, &self.holds, Holding::All).iter().sum();
            let room = scene.budget.tokens.saturating_sub(scene.fixed()).saturating_sub(open);
            return shelved(scene, covers, scene.fold.turns, limit.min(room));
        };
        shelved(scene, covers, last.turn, limit)
    }

    fn room(&self, scene: &Scene<'_>) -> u32 {
        room(scene, &self.holds)
    }

    fn fit(&self, scene: &Scene<'_>) -> Result<Window> {
        usual_or_least(scene, &self.holds, Layout::Tail)
    }
}

/// A fold with artifacts.
fn shelved(scene: &Scene<'_>, covers: Covers, turns: u32, limit: u32) -> Fold {
    let listed = &scene.artifacts[..scene.artifacts.len().min(LISTED)];
    let stays = scene.open.iter().filter(|leaf| leaf.stored.position().is_some_and(|at| at.depth > covers.to));
    let words: HashSet<String> =
        stays.filter(|leaf| leaf.begins_turn).flat_map(|leaf| terms(&leaf.stored.message().to_text())).collect();
    let edition = |(branch, one): &Filed| Edition { id: one.id, branch: *branch, version: one.version };
    let mut artifacts: Vec<Edition> = scene.artifacts.iter().map(edition).collect();
    let ids: HashSet<ArtifactId> = artifacts.iter().map(|edition| edition.id).collect();
    artifacts.extend(scene.fold.artifacts.iter().filter(|edition| !ids.contains(&edition.id)));
    let untold = scene.fold.untold.clone();
    let mut fold = Fold { covers: Some(covers), turns, artifacts, untold, ..Fold::default() };
    write(&mut fold, scene.offering(HOW), listed, &words, limit);
    fold
}

/// Writes the text of a fold anew after its artifacts changed; it costs no more than before.
pub(crate) fn rewrite_artifacts(fold: &mut Fold, listed: &[Filed]) {
    if fold.covers.is_some() {
        let how = if fold.text.contains(HOW) { HOW } else { "" };
        let limit = fold.tokens;
        write(fold, how, &listed[..listed.len().min(LISTED)], &HashSet::new(), limit);
    }
}

/// Writes the artifacts as the model sees them, in at most about so many tokens: those that have most to do with what
/// stays open whole, the others by title and summary, as many as fit.
fn write(fold: &mut Fold, how: &str, listed: &[Filed], words: &HashSet<String>, limit: u32) {
    let unread = untold(&fold.untold).unwrap_or_default();
    let head = format!(
        "The first {} messages of this conversation, kept word for word and worked into the documents below.{unread}{how}",
        grouped(fold.open().0)
    );
    let mut room = limit.saturating_sub(DRESS + more_tokens(&unread));
    let mut shown: Vec<Option<String>> = vec![None; listed.len()];
    for whole in [false, true] {
        for index in ranked(listed, words) {
            let (_, artifact) = &listed[index];
            let short = format!("[{}] {}\n{}", artifact.id, artifact.title, artifact.summary);
            let text = if whole { format!("[{}]\n{}", artifact.id, artifact.shown()) } else { short };
            let before = shown[index].as_deref().map_or(0, tokens_of);
            if let Some(rest) = (room + before).checked_sub(tokens_of(&text)).filter(|_| !whole || before > 0) {
                room = rest;
                shown[index] = Some(text);
            }
        }
    }
    let count = shown.iter().flatten().count();
    let missing = fold.artifacts.len() - count;
    let found = if how.is_empty() { "" } else { ": search_history(words) finds them" };
    let more = (missing > 0).then(|| format!("{} more documents are not shown here{found}.", grouped(missing as u64)));
    let lines = std::iter::once(head).chain(shown.into_iter().flatten()).chain(more);
    fold.text = fence("artifacts", "Documents", &lines.collect::<Vec<_>>().join("\n\n"));
    fold.tokens = tokens_of(&fold.text);
    fold.lists = Lists::Documents(u32::try_from(count).unwrap_or(u32::MAX));
}

/// Places of artifacts, those that share most words first, then those that changed last.
fn ranked(listed: &[Filed], words: &HashSet<String>) -> Vec<usize> {
    let shared = |index: usize| {
        let (_, artifact) = &listed[index];
        let headings = artifact.sections.iter().map(|section| section.heading.as_str());
        let told: Vec<&str> = [artifact.title.as_str(), &artifact.summary].into_iter().chain(headings).collect();
        let own: HashSet<String> = terms(&told.join(" ")).into_iter().collect();
        own.intersection(words).count()
    };
    let mut order: Vec<(usize, usize)> = (0..listed.len()).map(|index| (shared(index), index)).collect();
    order.sort_by_key(|(shared, index)| (std::cmp::Reverse(*shared), *index));
    order.into_iter().map(|(_, index)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{BranchId, Depth, MessageId};

    #[test]
    fn what_is_not_shown_names_a_tool_only_where_one_is_offered() {
        let covers = Covers { first: MessageId(0), from: Depth(0), last: MessageId(9), to: Depth(9) };
        let edition = Edition { id: ArtifactId(MessageId(0)), branch: BranchId(0), version: 1 };
        for how in [HOW, ""] {
            let mut fold = Fold { covers: Some(covers), artifacts: vec![edition], tokens: 500, ..Fold::default() };
            write(&mut fold, how, &[], &HashSet::new(), 500);
            rewrite_artifacts(&mut fold, &[]);
            assert!(fold.text.contains("1 more documents are not shown here"), "{}", fold.text);
            assert_eq!(fold.text.contains("search_history"), !how.is_empty(), "{}", fold.text);
        }
    }
}
