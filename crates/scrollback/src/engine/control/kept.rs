//! What goes into every window of a lane: rules, pins and images of what is folded.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::engine::lanes::Lane;
use crate::error::Result;
use crate::ids::{At, Depth, Hash128, MessageId, SessionKey};
use crate::note::Fold;
use crate::store::{Batch, Kind, Put, Scope, Span, Stored};
use crate::strategy::{KeepLimits, Keeping, Kept, KeptWords, kept};
use crate::window::Budget;

/// How much of a window may be kept where a turn does not fit otherwise, in hundredths, ever less: rules and images,
/// and those with what a person pinned. Rules are the last to go.
pub(in crate::engine) const LESS_KEPT: [[u32; 2]; 4] = [[15, 15], [15, 0], [4, 4], [4, 0]];

/// What is kept, as it is recorded: views name it.
#[derive(Serialize, Deserialize)]
pub(in crate::engine) struct KeptRecord {
    pub(in crate::engine) text: String,
    #[serde(default)]
    words: KeptWords,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    media: Vec<MessageId>,
}

impl Engine {
    /// Brings a lane what its person decided, and what it needs to show it.
    pub(in crate::engine) async fn decide(&self, session: &SessionKey, lane: &mut Lane) -> Result<()> {
        let now = self.controlled(session).await?;
        let wanted_for = (now.version, lane.folded.id);
        lane.controlled = now;
        if lane.pinned_for != wanted_for {
            let fold = lane.folded.fold.clone();
            lane.pinned = self.pinned(session, lane, &fold).await?;
            lane.pinned_for = wanted_for;
        }
        Ok(())
    }

    /// The messages that a person pinned on a lane's path, and those with images that a fold covers.
    pub(in crate::engine) async fn pinned(
        &self,
        session: &SessionKey,
        lane: &Lane,
        fold: &Fold,
    ) -> Result<Vec<Arc<Stored>>> {
        let media = fold.summary.as_ref().map(|summary| &summary.media[..]).unwrap_or_default();
        let needed = fold.instructions.iter().chain(&fold.question).chain(&fold.said_since);
        let wanted = lane.controlled.controls.pinned.iter().chain(media).chain(needed);
        let wanted: BTreeSet<MessageId> = wanted.copied().collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let lineage = self.store().lineage(session, lane.head).await?;
        let read = self.store().read(session, Span::Ids(wanted.into_iter().collect())).await?;
        Ok(read.into_iter().filter(|stored| lineage.holds(&stored.place)).map(Arc::new).collect())
    }

    /// Records what is kept, once for as long as it stays the same. Returns the name it has in views.
    pub(in crate::engine) async fn record_kept(
        &self,
        session: &SessionKey,
        lane: &mut Lane,
        kept: Option<&Kept>,
        at: At,
    ) -> Result<()> {
        let hash = kept.map(Kept::hash);
        if hash == lane.kept {
            return Ok(());
        }
        if let Some((kept, hash)) = kept.zip(hash) {
            let record = KeptRecord { text: kept.text.to_string(), words: kept.words.clone(), media: kept.media_ids() };
            let put = Put::new(session, Kind::Note, key(hash), at, &record);
            self.store().commit(Batch::of_records(session.clone(), vec![put])).await?;
        }
        lane.kept = hash;
        Ok(())
    }

    /// What a view kept.
    pub(in crate::engine) async fn kept_in(&self, session: &SessionKey, hash: Hash128) -> Result<Option<Kept>> {
        let record = self.store().record(Scope::Session(session.clone()), Kind::Note, key(hash)).await?;
        let read = |body: &str| serde_json::from_str::<KeptRecord>(body).ok();
        let Some(record) = record.and_then(|record| read(record.body.get())) else { return Ok(None) };
        let media = self.store().read(session, Span::Ids(record.media)).await?;
        Ok(Some(Kept::recorded(&record.text, record.words, media.into_iter().map(Arc::new).collect())))
    }
}

impl Lane {
    /// What goes into every window of the lane over a fold.
    pub(in crate::engine) fn kept_over(&self, fold: &Fold, budget: Budget) -> Option<Kept> {
        self.kept_within(fold, KeepLimits::usual(budget))
    }

    /// The same within limits.
    pub(in crate::engine) fn kept_within(&self, fold: &Fold, limits: KeepLimits) -> Option<Kept> {
        let (open, controls) = (fold.open(), &self.controlled.controls);
        let folded = |depth: Depth| depth < open;
        let stated = self.rules.stated.iter().filter(|stated| folded(stated.depth) && controls.holds(&stated.rule));
        let rules: Vec<_> = stated.map(|stated| &stated.rule).collect();
        let out_of_sight = |stored: &&Arc<Stored>| {
            stored.position().is_some_and(|position| folded(position.depth)) && !controls.excluded.contains(&stored.id)
        };
        let images = fold.summary.as_ref().map(|summary| &summary.media[..]).unwrap_or_default();
        let is_question = |stored: &Stored| fold.question == Some(stored.id);
        // A question that would take all there is for what is kept is quoted, and cut where it must be.
        let is_needed = |stored: &Stored| {
            fold.instructions.contains(&stored.id) || is_question(stored) && stored.measure.tokens <= limits.found / 2
        };
        let is_pinned = |stored: &Stored| controls.pinned.contains(&stored.id);
        let is_said = |stored: &&Arc<Stored>| fold.said_since.contains(&stored.id) && !is_pinned(stored);
        let said: Vec<_> = self.pinned.iter().filter(out_of_sight).filter(is_said).cloned().collect();
        let (needed, others): (Vec<_>, Vec<_>) =
            self.pinned.iter().filter(out_of_sight).cloned().partition(|stored| is_needed(stored));
        let (pinned, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|stored| is_pinned(stored));
        let (quoted, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|stored| is_question(stored));
        let images: Vec<_> = others.into_iter().filter(|stored| images.contains(&stored.id)).collect();
        let (rules, needed, quoted, pinned, images) = (&rules[..], &needed[..], &quoted[..], &pinned[..], &images[..]);
        kept(&Keeping { rules, said: &said, needed, quoted, pinned, images, no_tools: !self.recalls }, limits)
    }
}

fn key(hash: Hash128) -> String {
    format!("kept/{hash}")
}
