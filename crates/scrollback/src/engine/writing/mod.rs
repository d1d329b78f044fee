//! Notes that take more than a line: summaries and artifacts. They are written in the background before they are needed
//! (`ahead`), by the helper where there is one; a turn takes what is ready and otherwise what can be said without a
//! model, so it never waits.

mod ahead;
mod archive;
mod aside;
mod editions;
mod sum;
mod unread;

pub use aside::Wanted;
pub use editions::Version;
pub(super) use editions::{EditionRecord, edition_key, editions};

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Engine;
use super::lanes::Lane;
use crate::artifact::Artifact;
use crate::error::Result;
use crate::ids::{MessageId, SessionKey};
use crate::note::{Author, Covers, Fold};
use crate::strategy::{Filed, Leaf, Scene, StrategyName, Stretch, turns};
use crate::summary::Summary;
use crate::task::{self, Tasks};
use crate::view::FoldId;
use crate::window::Budget;

/// A summary that was made ready must leave no more open than this, in hundredths of what may be before the next.
const ENOUGH: u32 = 75;

/// What is written of a stretch.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Written {
    /// What tells everything up to its end.
    Summary(Summary),
    /// Artifacts that are new or changed, with the version they get when they are filed.
    Artifacts(Vec<Artifact>),
}

/// Something written before it was needed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ahead {
    /// The fold it goes on from; after another fold it counts for nothing.
    base: Option<FoldId>,
    /// The stretch it was written of: the beginning of what is open after that fold.
    covers: Covers,
    /// What a person wanted left out of it then; if that has changed, it counts for nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<MessageId>,
    written: Written,
}

/// What a stretch is filed with: how far it goes, and what was written of it.
pub(super) struct Filing {
    pub(super) stretch: Stretch,
    pub(super) summary: Option<Summary>,
    /// All artifacts after it, those changed last first.
    pub(super) artifacts: Arc<Vec<Filed>>,
}

impl Engine {
    /// What is known of a stretch of a scene that is folded now: as it was written ahead of need, as far as that goes,
    /// or else offline.
    pub(super) async fn filing(
        &self,
        session: &SessionKey,
        lane: &Lane,
        scene: &Scene<'_>,
        stretch: Stretch,
    ) -> Result<Filing> {
        let Scene { fold, open, budget, .. } = *scene;
        let artifacts = lane.artifacts.clone();
        if !lane.strategy.writes() {
            return Ok(Filing { stretch, summary: None, artifacts });
        }
        let told = fold.summary.clone().map(|summary| without(summary, lane));
        let fold = &Fold { summary: told, ..fold.clone() };
        let fresh = fold.open() == lane.folded.fold.open();
        let ready = if fresh { self.ahead(session, lane).await? } else { None };
        // What was written of more than has to go is used as well, as long as the current turn stays.
        let most = stretch.covers.count().max(u32::try_from(turns::last(open)).unwrap_or(u32::MAX));
        let ready = ready.filter(|ready| ready.covers.from == stretch.covers.from && ready.covers.count() <= most);
        let whole = stretch;
        let stretch = match &ready {
            Some(ready) => ending(&stretch, ready.covers, open, fold.turns),
            None => stretch,
        };
        let leaves = &open[..(stretch.covers.to.0 - fold.open().0 + 1) as usize];
        let written = ready.map(|ready| ready.written);
        let filing = match (lane.strategy, written) {
            (StrategyName::Artifacts, Some(Written::Artifacts(changed))) => {
                Filing { stretch, summary: None, artifacts: self.filed_with(session, lane, changed).await? }
            }
            (StrategyName::Artifacts, _) => {
                let (changed, _) = archive::archive(&Tasks::offline(), lane, leaves).await;
                Filing { stretch, summary: None, artifacts: self.filed_with(session, lane, changed).await? }
            }
            (_, Some(Written::Summary(summary)))
                if stretch.covers.to >= whole.covers.to || self.is_enough(lane, &open[leaves.len()..], budget) =>
            {
                Filing { stretch, summary: Some(summary), artifacts }
            }
            (_, Some(Written::Summary(summary))) => {
                let rest = &open[leaves.len()..(whole.covers.to.0 - fold.open().0 + 1) as usize];
                let ready = Fold { covers: Some(summary.covers), summary: Some(summary), ..fold.clone() };
                Filing { stretch: whole, summary: Some(self.sum_offline(lane, &ready, rest)), artifacts }
            }
            (_, _) => Filing { stretch, summary: Some(self.sum_offline(lane, fold, leaves)), artifacts },
        };
        Ok(Filing { summary: filing.summary.map(|summary| without(summary, lane)), ..filing })
    }

    /// Whether a window is well below its limit if it is folded only as far as a summary is ready: folds are rare and
    /// large.
    fn is_enough(&self, lane: &Lane, rest: &[Arc<Leaf>], budget: Budget) -> bool {
        let open = Scene { open: rest, ..lane.scene(budget) }.open_tokens(&self.settings.strategies.holds);
        let kept = lane.kept_over(&lane.folded.fold, budget);
        let scene = Scene { kept: kept.as_ref(), ..lane.scene(budget) };
        open <= self.settings.strategies.summary.most_open(&scene) / 100 * ENOUGH
    }
}

/// A summary without quotes of what was left out since they were taken, and without lines of its own on such messages,
/// unless a person wrote it.
fn without(mut summary: Summary, lane: &Lane) -> Summary {
    summary.kept.retain(|quote| !lane.excluded().contains(&quote.message));
    summary.media.retain(|id| !lane.excluded().contains(id));
    let stays = |line: &&str| task::told_in(line).is_none_or(|id| !lane.excluded().contains(&id));
    if summary.by != Author::Person && !summary.text.lines().all(|line| stays(&line)) {
        summary.text = summary.text.lines().filter(stays).collect::<Vec<_>>().join("\n");
    }
    summary
}

/// A stretch that ends elsewhere.
fn ending(stretch: &Stretch, covers: Covers, open: &[Arc<Leaf>], before: u32) -> Stretch {
    let count = covers.count() as usize;
    Stretch { covers, turn: before + turns::count(&open[..count.min(open.len())]), ..*stretch }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::EngineSettings;
    use crate::ids::{BranchId, Depth, Hash128, NodeId, SessionId};
    use crate::message::Message;
    use crate::store::{MemoryStore, Position};
    use crate::strategy::HoldSettings;
    use crate::task::Tasks;
    use crate::task::testing::stored;

    /// What is held takes little of the window that is left.
    #[test]
    fn a_summary_that_is_ready_is_enough_where_what_stays_open_is_held() {
        let row = "The tide is high at seven. ".repeat(4_000);
        let said = [
            json!({"role": "user", "content": "Look it up."}),
            json!({"role": "tool", "tool_call_id": "call-1", "content": row}),
            json!({"role": "assistant", "content": "At seven."}),
            json!({"role": "user", "content": "And then?"}),
        ];
        let said = said.iter().map(|value| Message::from_json(&value.to_string()).unwrap());
        let said = (0..).zip(said).map(|(number, message)| Arc::new(stored(number, &message)));
        let rest = Leaf::all(said, &HoldSettings::default());
        let engine = Engine::new(Arc::new(MemoryStore::default()), Tasks::offline(), EngineSettings::default());
        let (id, branch, depth, node) = (MessageId(40), BranchId(0), Depth(40), NodeId(Hash128([0; 16])));
        let (session, head) = (SessionId(Hash128([1; 16])), Position { id, branch, depth, node });
        let mut lane = Lane::new(session, "summary@32000".into(), head);
        assert!(engine.is_enough(&lane, &rest, Budget { tokens: 32_000 }));
        lane.recalls = false;
        assert!(!engine.is_enough(&lane, &rest, Budget { tokens: 32_000 }), "then it is shown whole");
    }
}
