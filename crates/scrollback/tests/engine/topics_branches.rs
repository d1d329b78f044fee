//! Topics on several branches: each sorts for itself what was open where it left, and sees what was sorted before.

use std::sync::Arc;

use scrollback::MemoryStore;
use scrollback::engine::{ReviewMode, TopicLine};
use scrollback::ids::Depth;
use scrollback::store::{Position, Span, Stored};
use scrollback::strategy::StrategyName;
use scrollback::topic::TopicId;

use super::desk::{Desk, run};
use super::topics_review::{GAUGE, SOURDOUGH, VISA, desk, head, review, talk, topics};
use super::world::{Move, World};

/// How many messages are in each topic.
fn members(topics: &[TopicLine]) -> Vec<(TopicId, u32)> {
    topics.iter().map(|topic| (topic.card.id, topic.card.messages)).collect()
}

/// How many messages are in topics.
fn sorted(topics: &[TopicLine]) -> usize {
    topics.iter().map(|topic| topic.card.messages as usize).sum()
}

async fn path(desk: &Desk, head: Position) -> Vec<Stored> {
    desk.store.read(&desk.session(), Span::path(head, Depth(0))).await.unwrap()
}

/// What a branch sorts of the stretch before its fork is in its topics there, and a review of one branch leaves others
/// alone.
#[test]
fn branches_sort_and_review_for_themselves() {
    run(async {
        let mut desk = desk();
        let mut history = Vec::new();
        talk(&mut desk, &mut history, &SOURDOUGH, 6).await;
        talk(&mut desk, &mut history, &GAUGE, 6).await;
        let before = sorted(&topics(&desk).await);
        let mut fork = history[..history.len() - 2].to_vec();
        assert!(before < fork.len(), "some of the stretch before the fork is open");
        let old = head(&desk).await;
        talk(&mut desk, &mut fork, &VISA, 16).await;
        let new = head(&desk).await;
        assert_ne!(old.branch, new.branch);
        let session = desk.session();
        let folded = sorted(&topics(&desk).await);
        assert!(folded > before);
        for stored in &path(&desk, new).await[..folded] {
            let found = desk.engine.topic_of(&session, new, stored.position().unwrap()).await.unwrap();
            assert!(found.is_some(), "{} is in no topic", stored.id);
        }
        let before = desk.engine.topics(&session, old).await.unwrap();
        review(&desk, 1, ReviewMode::Do).await;
        let unseen = |topic: &TopicLine| topic.summary.is_empty();
        assert!(desk.engine.topics(&session, old).await.unwrap().iter().all(unseen), "{before:?}");
        assert!(desk.engine.topics(&session, new).await.unwrap().iter().all(|topic| !unseen(topic)));
    });
}

/// What the branch that it left sorts later is open on a branch that has not sorted it.
#[test]
fn what_is_sorted_elsewhere_later_is_open_here() {
    run(async {
        let mut desk = desk();
        let mut history = Vec::new();
        talk(&mut desk, &mut history, &SOURDOUGH, 18).await;
        let mut fork = history[..history.len() - 2].to_vec();
        talk(&mut desk, &mut fork, &VISA, 1).await;
        let (here, before) = (head(&desk).await, members(&topics(&desk).await));
        talk(&mut desk, &mut history, &SOURDOUGH, 12).await;
        let session = desk.session();
        let now = desk.engine.topics(&session, here).await.unwrap();
        assert!(members(&now) == before && sorted(&now) > 0, "nothing was sorted on this branch since: {now:?}");
        let open = &path(&desk, here).await[sorted(&now)..];
        assert!(open.len() > 2 && sorted(&topics(&desk).await) > fork.len(), "the other has sorted what both have");
        for stored in open {
            let found = desk.engine.topic_of(&session, here, stored.position().unwrap()).await.unwrap();
            assert_eq!(found, None, "{}", stored.id);
        }
    });
}

/// Branches that left at the same place may go on with the same topic: each sees it as it was where they left.
#[test]
fn a_topic_that_another_branch_goes_on_with_is_not_lost() {
    run(async {
        let mut desk = desk();
        let mut history = Vec::new();
        talk(&mut desk, &mut history, &SOURDOUGH, 18).await;
        review(&desk, 1, ReviewMode::Do).await;
        let before = topics(&desk).await;
        assert!(before.len() == 1 && !before[0].summary.is_empty(), "{before:?}");
        let left = history.len() - 2;
        let mut other = history[..left].to_vec();
        talk(&mut desk, &mut other, &SOURDOUGH[2..], 12).await;
        let after = topics(&desk).await;
        assert!(after[0].card.id == before[0].card.id && sorted(&after) > sorted(&before), "{after:?}");
        let mut fork = history[..left].to_vec();
        talk(&mut desk, &mut fork, &VISA, 1).await;
        let now = topics(&desk).await;
        assert_eq!((members(&now), &now[0].summary), (members(&before), &before[0].summary));
        let here = head(&desk).await;
        let told = desk.engine.topic_messages(&desk.session(), here, before[0].card.id).await.unwrap();
        assert_eq!(told.len(), sorted(&before));
    });
}

/// A branch that has sorted nothing of its own counts the topics it sees, whatever the branch it left does later.
#[test]
fn a_branch_counts_its_own_topics() {
    run(async {
        let mut world = World::new(StrategyName::Topics, 700, Arc::new(MemoryStore::default()));
        let script = [
            Move::Chat(1),
            Move::Chat(74),
            Move::Fork(13),
            Move::Chat(29),
            Move::ComeBack(0),
            Move::Chat(89),
            Move::Chinese(26),
            Move::ComeBack(0),
            Move::Chinese(43),
            Move::Chat(75),
        ];
        for step in &script {
            Box::pin(world.make(step)).await;
        }
    });
}
