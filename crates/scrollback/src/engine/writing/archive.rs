//! Archiving: a stretch becomes an artifact, or goes into one that is about the same.

use std::sync::Arc;

use crate::artifact::{Artifact, ArtifactId};
use crate::engine::Engine;
use crate::engine::lanes::Lane;
use crate::error::Result;
use crate::ids::SessionKey;
use crate::note::{Author, Edition};
use crate::store::Stored;
use crate::strategy::{Filed, LISTED, Leaf, turns};
use crate::task::{self, By, Decide, Draft, Drafted, Tasks, Weave};

/// How many messages are drafted together.
const AT_ONCE: usize = 24;
/// How many artifacts may take in something new: those changed last.
const CANDIDATES: usize = 40;
/// An artifact made of so many messages takes in no more: each version names them all.
const MOST_SOURCES: usize = 1_000;

/// Artifacts that are being changed: those on file, and those new or changed.
struct Desk {
    known: Vec<Arc<Artifact>>,
    changed: Vec<Artifact>,
}

impl Desk {
    fn of(lane: &Lane) -> Self {
        Self { known: lane.artifacts.iter().map(|(_, artifact)| artifact.clone()).collect(), changed: Vec::new() }
    }

    /// The artifacts that may take in something new.
    fn candidates(&self) -> Vec<&Artifact> {
        let changed = |id: ArtifactId| self.changed.iter().any(|artifact| artifact.id == id);
        let known = self.known.iter().map(|artifact| &**artifact).filter(|artifact| !changed(artifact.id));
        let takes_more = |artifact: &&Artifact| artifact.sources_count() < MOST_SOURCES;
        self.changed.iter().rev().chain(known).filter(takes_more).take(CANDIDATES).collect()
    }

    fn find(&self, id: ArtifactId) -> Option<&Artifact> {
        self.candidates().into_iter().find(|artifact| artifact.id == id)
    }

    /// Files a draft as a new artifact, or as what an old one becomes.
    fn file(&mut self, id: Option<ArtifactId>, drafted: Drafted, by: Author) {
        let Drafted { title, summary, sections } = drafted;
        let first = sections.iter().flat_map(|section| &section.sources).min().copied();
        let Some(id) = id.or(first.map(ArtifactId)) else { return };
        self.changed.retain(|artifact| artifact.id != id);
        self.changed.push(Artifact { id, version: 0, title, summary, sections, by });
    }
}

impl Engine {
    /// A lane's artifacts with those that are new or changed, which come first; of those on record as many as a model
    /// may be told of.
    pub(in crate::engine) async fn filed_with(
        &self,
        session: &SessionKey,
        lane: &Lane,
        changed: Vec<Artifact>,
    ) -> Result<Arc<Vec<Filed>>> {
        let (branch, before) = (lane.head.branch, &lane.folded.fold.artifacts);
        let ids: Vec<ArtifactId> = changed.iter().map(|artifact| artifact.id).collect();
        let mut filed = Vec::with_capacity(lane.artifacts.len() + changed.len());
        for artifact in changed.into_iter().rev() {
            let known = before.iter().find(|edition| edition.id == artifact.id && edition.branch == branch);
            let (id, version) = (artifact.id, known.map_or(0, |edition| edition.version));
            let version = self.next_version(session, Edition { id, branch, version }).await?;
            filed.push((branch, Arc::new(Artifact { version, ..artifact })));
        }
        filed.extend(lane.artifacts.iter().filter(|(_, artifact)| !ids.contains(&artifact.id)).cloned());
        let on_record =
            |(branch, one): &Filed| before.contains(&Edition { id: one.id, branch: *branch, version: one.version });
        let (first, rest) = filed.split_at(filed.len().min(LISTED));
        let unrecorded = rest.iter().filter(|one| !on_record(one));
        Ok(Arc::new(first.iter().chain(unrecorded).cloned().collect()))
    }
}

/// What a stretch makes of a lane's artifacts, with what these tasks asked.
pub(super) async fn archive(tasks: &Tasks, lane: &Lane, leaves: &[Arc<Leaf>]) -> (Vec<Artifact>, Vec<task::Asked>) {
    let (mut desk, mut asked) = (Desk::of(lane), Vec::new());
    for messages in pieces(lane, leaves) {
        let drafted = tasks.run(&Draft { messages: &messages }).await;
        asked.extend(drafted.calls);
        let (by, drafted) = (author(&drafted.by), drafted.answer);
        let decided = tasks.run(&Decide { new: &drafted, known: &desk.candidates() }).await;
        asked.extend(decided.calls);
        let Some(old) = decided.answer.and_then(|id| desk.find(id)) else {
            desk.file(None, drafted, by);
            continue;
        };
        let woven = tasks.run(&Weave { old, new: &drafted }).await;
        asked.extend(woven.calls);
        let id = old.id;
        desk.file(Some(id), woven.answer, author(&woven.by));
    }
    (desk.changed, asked)
}

fn author(by: &By) -> Author {
    match by {
        By::Helper => Author::Helper,
        By::Offline(_) => Author::Offline,
    }
}

/// A stretch in pieces that can be drafted together: whole turns, unless one is very long.
fn pieces(lane: &Lane, leaves: &[Arc<Leaf>]) -> Vec<Vec<Stored>> {
    let mut pieces: Vec<Vec<Stored>> = Vec::new();
    for page in turns::pages(leaves, lane.limit_tokens() / 4) {
        let messages = lane.wanted(&leaves[page]);
        match pieces.last_mut() {
            Some(piece) if piece.len() + messages.len() <= AT_ONCE => piece.extend(messages),
            _ => pieces.push(messages),
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Section;
    use crate::engine::EngineSettings;
    use crate::ids::{BranchId, Depth, Hash128, MessageId, NodeId, SessionId, Tenant};
    use crate::note::Fold;
    use crate::store::{MemoryStore, Position};

    fn artifact(number: u32) -> Artifact {
        let (id, sections) = (ArtifactId(MessageId(number)), vec![Section::new("A", &"word ".repeat(200), [])]);
        Artifact { id, version: 0, title: "T".into(), summary: "S".into(), sections, by: Author::Offline }
    }

    /// Every version names all its sources, so one that went on for ever would cost ever more.
    #[test]
    fn an_artifact_of_very_many_messages_takes_in_no_more() {
        let sections = vec![Section::new("A", "words", (0..1_000).map(MessageId))];
        let known = vec![Arc::new(Artifact { sections, ..artifact(0) }), Arc::new(artifact(2_000))];
        let desk = Desk { known, changed: Vec::new() };
        let ids: Vec<u32> = desk.candidates().iter().map(|artifact| artifact.id.0.0).collect();
        assert_eq!(ids, [2_000]);
    }

    #[tokio::test]
    async fn a_lane_has_no_more_artifacts_than_a_model_is_told_of_and_counts_them() {
        let engine = Engine::new(Arc::new(MemoryStore::default()), Tasks::offline(), EngineSettings::default());
        let session = SessionKey { tenant: Tenant::local(), id: SessionId(Hash128([1; 16])) };
        let (id, branch, depth, node) = (MessageId(0), BranchId(0), Depth(0), NodeId(Hash128([0; 16])));
        let mut lane = Lane::new(session.id, "artifacts@8000".into(), Position { id, branch, depth, node });
        let empty = lane.bytes();
        lane.artifacts = engine.filed_with(&session, &lane, (0..200).map(artifact).collect()).await.unwrap();
        assert_eq!(lane.artifacts.len(), 200, "what is on no record is kept");
        let edition = |(branch, one): &Filed| Edition { id: one.id, branch: *branch, version: one.version };
        let artifacts = lane.artifacts.iter().map(edition).collect();
        lane.folded.fold = Arc::new(Fold { artifacts, ..Fold::default() });
        lane.artifacts = engine.filed_with(&session, &lane, vec![artifact(999)]).await.unwrap();
        assert_eq!(lane.artifacts.len(), LISTED);
        assert_eq!(lane.artifacts[0].1.id, ArtifactId(MessageId(999)), "those changed last stay");
        assert!(lane.bytes() > empty + LISTED * 1_000, "{}", lane.bytes());
    }
}
