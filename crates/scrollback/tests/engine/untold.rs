//! What a window says of messages that nobody has read: an imported past, or a model with another limit.

use std::sync::Arc;

use scrollback::MemoryStore;
use scrollback::engine::EngineSettings;
use scrollback::recall::{RecallCall, RecallTool};
use scrollback::strategy::{ArtifactSettings, StrategyName, StrategySettings};
use scrollback::task::Tasks;

use super::desk::{Desk, contents, run};
use super::kit::{assistant, user};

/// However many documents there are, each is counted, listed for people and found by its words.
#[test]
fn no_document_is_lost_for_being_old() {
    run(async {
        let artifacts = ArtifactSettings { archive_at: 4, keep: 2, ..ArtifactSettings::default() };
        let strategies = StrategySettings { artifacts, ..StrategySettings::default() };
        let settings = EngineSettings { strategy: StrategyName::Artifacts, strategies, ..EngineSettings::default() };
        let mut desk = Desk::with_tasks(Arc::new(MemoryStore::default()), settings, 20_000, Tasks::offline());
        let mut history = Vec::new();
        for i in 0..160 {
            desk.turn(&mut history, user(&format!("Vessel{i} kelp{i}")), assistant(&format!("Sail{i}."))).await;
        }
        history.push(user("Which one was it?"));
        let mut turn = desk.begin(&history).await.unwrap();
        let views = desk.engine.views(&desk.session()).await.unwrap();
        let fold = desk.engine.fold_of(&desk.session(), &views.last().unwrap().view).await.unwrap();
        let all = desk.engine.artifacts(&desk.session(), &fold).await.unwrap();
        assert!(all.len() > 140, "{}", all.len());
        let shown = contents(turn.window()).unwrap();
        assert!(shown.contains(" more documents are not shown here: search_history(words) finds them."), "{shown}");
        let call = RecallCall::read(RecallTool::Search, "Vessel0 kelp0");
        let found = desk.engine.recall(&mut turn, &[call]).await.remove(0);
        assert!(found.contains("Sources of “Vessel0 kelp0”"), "{found}");
    });
}
