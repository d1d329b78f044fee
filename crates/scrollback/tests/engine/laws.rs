//! The laws as properties.

use std::sync::Arc;

use proptest::prelude::*;
use scrollback::engine::Turn;
use scrollback::strategy::StrategyName;
use scrollback::view::Standing;
use scrollback::window::{Body, Reason};
use scrollback::{MemoryStore, Role, SqliteOptions, SqliteStore};

use super::desk::{contents, run, texts};
use super::kit::cases;
use super::person::{STRATEGIES, Wish};
use super::reach;
use super::world::{Move, World};

/// Laws 2, 3, 8 and 9, for every window.
pub fn check(world: &World, turn: &Turn) {
    let (window, strategy) = (turn.window(), world.strategy);
    let linked = |message: &&serde_json::Value| message["role"] != "system" && message["type"] != "reasoning";
    let path: Vec<String> = world.history.iter().filter(linked).map(ToString::to_string).collect();
    assert_eq!(turn.received().head.unwrap().depth.0 as usize + 1, path.len());
    match strategy {
        StrategyName::Pages | StrategyName::Topics | StrategyName::Summary | StrategyName::Artifacts => {
            assert!(window.fits() && window.lost() == 0);
        }
        // Drops the oldest, and says how many.
        StrategyName::Truncate => assert!(window.fits()),
        // Shows everything, whether it fits or not.
        StrategyName::Passthrough => assert!(window.is_untouched()),
    }
    let mut next = if strategy == StrategyName::Truncate { window.lost() } else { 0 };
    for covers in window.blocks().iter().filter_map(|block| block.covers) {
        assert_eq!(covers.from.0, next, "every message is in exactly one block");
        next = covers.to.0 + 1;
    }
    assert_eq!(next as usize, path.len());
    for block in window.blocks() {
        if let (Body::Original(_), Some(covers)) = (&block.body, block.covers) {
            assert_eq!(block.text(), path[covers.from.0 as usize], "shown as it came");
        }
    }
    if window.is_untouched() {
        let whole: Vec<String> = world.history.iter().map(ToString::to_string).collect();
        assert_eq!(texts(window), whole);
    }
    assert_eq!(window.blocks()[0].text(), world.history[0].to_string());
    assert_paired(window);
    assert_reasoned(world, window);
    if let Some(text) = contents(window) {
        let kind = match strategy {
            StrategyName::Topics => "topics",
            StrategyName::Summary => "summary",
            StrategyName::Artifacts => "artifacts",
            StrategyName::Pages | StrategyName::Truncate | StrategyName::Passthrough => "contents",
        };
        reach::assert_fenced(&text, kind);
    }
    if !world.leaves_out {
        assert_rules_kept(&path, window);
    }
    for excerpt in window.blocks().iter().filter(|block| block.reason == Reason::Relevant) {
        let kind = if excerpt.text().starts_with("<quotes-") { "quotes" } else { "topics" };
        reach::assert_fenced(excerpt.text(), kind);
        reach::assert_quoted(excerpt.text(), &path);
    }
}

/// Reasoning stands before the message it led to, wherever that is shown, and nowhere else.
fn assert_reasoned(world: &World, window: &scrollback::window::Window) {
    let said: Vec<String> = world.history.iter().map(ToString::to_string).collect();
    let thought = |i: usize| world.history[i]["type"] == "reasoning";
    let (mut before, mut shown) = (Vec::new(), 0);
    for block in window.blocks() {
        if block.reason == Reason::Reasoning {
            before.push(block.text());
            shown += 1;
            continue;
        }
        let open = block.covers.filter(|_| !matches!(block.body, Body::Note(_) | Body::Nothing(_)));
        let own = open.map(|covers| (0..said.len()).filter(|i| !thought(*i)).nth(covers.from.0 as usize + 1).unwrap());
        let led: Vec<&str> = own.map_or(Vec::new(), |own| {
            let first = (0..own).rev().take_while(|i| thought(*i)).last().unwrap_or(own);
            said[first..own].iter().map(String::as_str).collect()
        });
        assert_eq!(std::mem::take(&mut before), led, "the reasoning before {}", block.text());
    }
    assert!(before.is_empty() && shown <= (0..said.len()).filter(|i| thought(*i)).count());
}

/// Every rule stands in the window word for word, unless they are more than fit.
fn assert_rules_kept(path: &[String], window: &scrollback::window::Window) {
    let sent: Vec<&str> = window.blocks().iter().map(scrollback::window::Block::text).collect();
    let sent = sent.join("\n");
    for rule in path.iter().filter_map(|raw| raw.split("\"Never mention").nth(1)?.split("again.").next()) {
        let rule = format!("Never mention{rule}again.");
        // The client's own messages come first; a fence with a rule in it takes this much.
        let full = window.room() < 90;
        let excused = sent.contains("more do not fit here") || window.lost() > 0 || full;
        assert!(sent.contains(&rule) || excused, "{rule} is missing");
    }
}

/// A result is never shown without its call before it.
pub fn assert_paired(window: &scrollback::window::Window) {
    let mut calls = Vec::new();
    for stored in window.blocks().iter().filter_map(scrollback::window::Block::message) {
        let message = stored.message();
        if stored.role == Role::Tool || stored.role == Role::User {
            assert!(message.call_ids().all(|id| calls.contains(&id.to_owned())), "{} has lost its call", stored.id);
        }
        calls.extend(message.call_ids().map(str::to_owned));
    }
}

/// Law 4: every view draws its window again and tells the truth of every message.
async fn explained(world: &World) {
    for desk in [&world.steady, &world.restless] {
        let session = desk.session();
        let views = desk.engine.views(&session).await.unwrap();
        let sent = views.iter().map(|recorded| recorded.view.head.id);
        assert!(sent.is_sorted());
        for recorded in views.iter().rev().take(6) {
            let window = desk.engine.window_of(&session, &recorded.view).await.unwrap();
            assert_eq!(window.tokens(), recorded.view.tokens() - recorded.view.recalled_tokens, "{}", recorded.name);
            let span = scrollback::store::Span::path(recorded.view.head, scrollback::ids::Depth(0));
            for stored in desk.store.read(&session, span).await.unwrap().iter().rev().step_by(3) {
                let standing = desk.engine.standing(&session, &recorded.view, stored.id).await.unwrap().unwrap();
                assert_truth(&window, stored.id, &standing);
            }
        }
    }
}

fn assert_truth(window: &scrollback::window::Window, id: scrollback::MessageId, standing: &Standing) {
    let shown = window.blocks().iter().find(|block| block.message().is_some_and(|stored| stored.id == id));
    match standing {
        Standing::Shown(reason) => assert_eq!(shown.map(|block| block.reason), Some(*reason)),
        Standing::Listed { page } => assert!(contents(window).unwrap().contains(&format!("[#{page}]"))),
        Standing::Searchable => assert!(shown.is_none() && contents(window).is_some()),
        Standing::Quoted => {
            let quotes = window.blocks().iter().filter(|block| block.reason == Reason::Relevant);
            let mut lines = quotes.flat_map(|block| block.text().lines().map(str::to_owned).collect::<Vec<_>>());
            let heads = |line: String| scrollback::recall::Heading::read(&line).is_some_and(|heading| heading.id == id);
            assert!(shown.is_none() && lines.any(heads), "{id}");
        }
        Standing::Dropped => assert!(shown.is_none() && window.lost() > 0),
        Standing::LeftOut => assert!(shown.is_none()),
        Standing::Later => panic!("{id} is on the path of the view"),
    }
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        6 => (1..120_usize).prop_map(Move::Chat),
        2 => (1..60_usize).prop_map(Move::Chinese),
        2 => Just(Move::Hostile),
        1 => Just(Move::Empty),
        4 => (1..4_usize, 1..4_usize, prop_oneof![2 => 1..900_usize, 1 => 1_600..4_000_usize])
            .prop_map(|(steps, parallel, chars)| Move::Agent { steps, parallel, chars }),
        2 => (1..4_usize, prop_oneof![2 => 1..900_usize, 1 => 1_600..4_000_usize])
            .prop_map(|(parallel, chars)| Move::Blocks { parallel, chars }),
        3 => (1..4_usize, 1..4_usize, prop_oneof![2 => 1..900_usize, 1 => 1_600..4_000_usize])
            .prop_map(|(steps, parallel, chars)| Move::Items { steps, parallel, chars }),
        1 => Just(Move::Regenerate),
        1 => (0..20_usize).prop_map(Move::Edit),
        1 => (0..20_usize).prop_map(Move::Fork),
        1 => (0..20_usize).prop_map(Move::ComeBack),
        1 => Just(Move::Retry),
        1 => any::<bool>().prop_map(|kept| Move::TooLarge { kept }),
        1 => Just(Move::AtOnce),
        1 => Just(Move::Undo),
    ]
}

fn wishes() -> impl Strategy<Value = Move> {
    let wish = prop_oneof![
        2 => (0..60_usize).prop_map(Wish::Pin),
        1 => (0..60_usize).prop_map(Wish::Unpin),
        2 => (0..60_usize).prop_map(Wish::Exclude),
        1 => (0..60_usize).prop_map(Wish::Include),
        3 => Just(Wish::Rule),
        3 => Just(Wish::Compress),
        1 => Just(Wish::Redo),
        2 => Just(Wish::Reword),
        2 => (0..STRATEGIES.len()).prop_map(Wish::Switch),
    ];
    prop_oneof![2 => wish.prop_map(Move::Wish), 3 => moves()]
}

fn scripts() -> impl Strategy<Value = (Vec<Move>, u32)> {
    (prop::collection::vec(moves(), 1..24), prop_oneof![700..3_000_u32, 3_000..12_000_u32])
}

async fn live(mut world: World, script: &[Move]) {
    for step in script {
        Box::pin(world.make(step)).await;
    }
    world.kept().await;
    explained(&world).await;
    if !matches!(world.strategy, StrategyName::Truncate | StrategyName::Passthrough) {
        reach::everything(&mut world).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(12), failure_persistence: None, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn pages_keep_every_law((script, budget) in scripts()) {
        run(live(World::new(StrategyName::Pages, budget, Arc::new(MemoryStore::default())), &script));
    }

    #[test]
    fn topics_keep_every_law((script, budget) in scripts()) {
        run(live(World::new(StrategyName::Topics, budget, Arc::new(MemoryStore::default())), &script));
    }

    #[test]
    fn summaries_keep_every_law((script, budget) in scripts()) {
        run(live(World::new(StrategyName::Summary, budget, Arc::new(MemoryStore::default())), &script));
    }

    #[test]
    fn artifacts_keep_every_law((script, budget) in scripts()) {
        run(live(World::new(StrategyName::Artifacts, budget, Arc::new(MemoryStore::default())), &script));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(12), failure_persistence: None, max_shrink_iters: 60, ..ProptestConfig::default() })]

    /// Whatever a person does, in any order.
    #[test]
    fn a_person_may_do_anything(
        script in prop::collection::vec(wishes(), 1..24),
        first in 0..STRATEGIES.len(),
        budget in prop_oneof![700..3_000_u32, 3_000..12_000_u32],
    ) {
        run(live(World::new(STRATEGIES[first], budget, Arc::new(MemoryStore::default())), &script));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(4), failure_persistence: None, max_shrink_iters: 60, ..ProptestConfig::default() })]

    /// Truncation breaks law 2 and passing through law 3, by nature; the others hold.
    #[test]
    fn baselines_keep_the_laws_they_can((script, budget) in scripts()) {
        for strategy in [StrategyName::Truncate, StrategyName::Passthrough] {
            run(live(World::new(strategy, budget, Arc::new(MemoryStore::default())), &script));
        }
    }

    #[test]
    fn a_file_shows_what_memory_shows((script, budget) in scripts()) {
        for strategy in [StrategyName::Pages, StrategyName::Topics, StrategyName::Summary, StrategyName::Artifacts] {
            let folder = tempfile::tempdir().unwrap();
            let store = SqliteStore::open(&SqliteOptions::new(folder.path().join("log.db"))).unwrap();
            run(live(World::new(strategy, budget, Arc::new(store)), &script));
        }
    }
}

#[cfg(feature = "postgres")]
proptest! {
    #![proptest_config(ProptestConfig { cases: cases(1), failure_persistence: None, max_shrink_iters: 20, ..ProptestConfig::default() })]

    /// Three nodes that never restart take turns with one conversation; whatever they have in mind of it must still
    /// hold.
    #[test]
    fn many_nodes_show_what_memory_shows((script, budget) in scripts()) {
        for strategy in [StrategyName::Pages, StrategyName::Topics, StrategyName::Summary, StrategyName::Artifacts] {
            run(async { live(on_nodes(strategy, budget, 3).await, &script).await });
        }
    }

    /// The same with whatever a person does, at nodes that take turns.
    #[test]
    fn a_person_may_do_anything_at_any_node(
        script in prop::collection::vec(wishes(), 1..24),
        first in 0..STRATEGIES.len(),
        budget in prop_oneof![700..3_000_u32, 3_000..12_000_u32],
    ) {
        run(async { live(on_nodes(STRATEGIES[first], budget, 2).await, &script).await });
    }
}

/// A world whose restless side is some nodes over one database.
#[cfg(feature = "postgres")]
async fn on_nodes(strategy: StrategyName, budget: u32, nodes: usize) -> World {
    let url = super::kit::postgres::fresh();
    let options = scrollback::PostgresOptions { connections: 2, ..scrollback::PostgresOptions::new(url) };
    let mut stores: Vec<Arc<dyn scrollback::Store>> = Vec::new();
    for _ in 0..nodes {
        stores.push(Arc::new(scrollback::PostgresStore::open(&options).await.unwrap()));
    }
    let mut world = World::new(strategy, budget, stores.remove(0));
    world.restless = world.restless.beside(stores);
    world
}
