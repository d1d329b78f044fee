//! Law 5 with what is really written: folding is rare and large, whatever messages and windows are like.

use std::sync::Arc;

use async_trait::async_trait;
use scrollback::engine::EngineSettings;
use scrollback::note::Author;
use scrollback::strategy::StrategyName;
use scrollback::task::{Model, Question, Said, TaskSettings, Tasks};
use scrollback::{MemoryStore, Result};
use serde_json::Value;

use super::desk::{Desk, contents, run};
use super::kit::{assistant, system, user};

/// Writes down what it is shown.
struct Scribe;

#[async_trait]
impl Model for Scribe {
    async fn ask(&self, question: &Question) -> Result<Said> {
        let is_id = |word: &&str| word.strip_prefix('m').is_some_and(|rest| rest.parse::<u32>().is_ok());
        let ids: Vec<&str> = question.text.split(|c: char| !c.is_alphanumeric()).filter(is_id).collect();
        let shown: Vec<&str> = question.text.lines().filter(|line| !line.starts_with('<')).collect();
        let text = match question.task {
            "artifact_draft" => {
                format!("# Boats\n\nBoats.\n\n## Boats <!-- sources: {} -->\n{}", ids.join(", "), shown.join("\n"))
            }
            "artifact_decide" => "<none/>".to_owned(),
            _ => "<summary>They talk about boats, moorings, the harbour and the tide.</summary>".to_owned(),
        };
        Ok(Said { text, input_tokens: 500, output_tokens: 100, ..Said::default() })
    }
}

/// A talk with replies of about so many words, ten to a sentence.
async fn talk(desk: &mut Desk, turns: usize, words: usize) -> usize {
    let (mut history, mut before, mut folds): (Vec<Value>, _, _) = (Vec::new(), None, 0);
    for turn in 0..turns {
        let question = format!("Turn {turn}: tell me about boat {turn} and mooring number {}", turn * 37 % 101);
        let reply = "The harbour is calm and the tide is low today. ".repeat(words / 10);
        let window = desk.turn(&mut history, user(&question), assistant(&format!("Noted. {reply}"))).await;
        assert!(window.fits() && window.lost() == 0);
        let now = contents(&window);
        folds += usize::from(now != before);
        before = now;
    }
    folds
}

fn desk(strategy: StrategyName, window: u32, tasks: Tasks) -> Desk {
    let settings = EngineSettings { strategy, ..EngineSettings::default() };
    // What is left of a window beside the reply and our tools.
    let budget = window / 4 * 3 - 600;
    Desk { limit: window, ..Desk::with_tasks(Arc::new(MemoryStore::default()), settings, budget, tasks) }
}

#[test]
fn folding_is_rare_and_large() {
    for strategy in [StrategyName::Summary, StrategyName::Artifacts] {
        for (window, words, turns) in [(8_000, 100, 40), (8_000, 400, 40), (16_000, 800, 40), (64_000, 3_700, 24)] {
            let mut desk = desk(strategy, window, Tasks::offline());
            let folds = run(talk(&mut desk, turns, words));
            eprintln!("{strategy} in {window}, replies of {words} words: {folds} folds in {turns} turns");
            let said = turns * (words * 11 / 10 + 30);
            let most = said / (desk.budget as usize / 6) + turns / 10;
            assert!(
                folds <= most,
                "{strategy} in {window}: {folds} folds in {turns} turns of {words} words, not {most}"
            );
        }
    }
}

/// A window that holds little more than what is said of the past goes on all the same.
#[test]
fn a_tiny_window_never_stops() {
    for strategy in [StrategyName::Pages, StrategyName::Summary, StrategyName::Artifacts] {
        for budget in [202, 260, 400] {
            let mut desk = Desk { budget, ..desk(strategy, 1_500, Tasks::offline()) };
            let mut history = vec![system("Be brief.")];
            for turn in 0..25 {
                history.push(user(&format!("Item {turn}: never forget sail {turn}")));
                let begun =
                    run(desk.begin(&history)).unwrap_or_else(|error| panic!("{strategy} in {budget}, {turn}: {error}"));
                assert!(begun.window().fits() && begun.window().lost() == 0);
                let reply = assistant(&format!("fine, {}", "the harbour is calm ".repeat(5)));
                run(desk.finish(begun, &reply));
                history.push(reply);
            }
        }
    }
}

/// However few messages fill a window, what they come to is drafted before it is time.
#[test]
fn documents_are_drafted_before_few_large_messages_fill_the_window() {
    for (window, words) in [(16_000, 800), (64_000, 3_700)] {
        run(async {
            let mut desk = desk(StrategyName::Artifacts, window, Tasks::new(Arc::new(Scribe), TaskSettings::default()));
            let folds = talk(&mut desk, 30, words).await;
            let views = desk.engine.views(&desk.session()).await.unwrap();
            let fold = desk.engine.fold_of(&desk.session(), &views.last().unwrap().view).await.unwrap();
            let artifacts = desk.engine.artifacts(&desk.session(), &fold).await.unwrap();
            let helped = artifacts.iter().filter(|artifact| artifact.by == Author::Helper).count();
            assert!(folds > 0 && helped * 4 >= artifacts.len() * 3, "{window}: {helped} of {}", artifacts.len());
        });
    }
}
