//! Every scene in `fixtures/scenes` is drawn as the `.window` file beside it says. `UPDATE_SCENES=1` writes those anew.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod kit;

use std::path::{Path, PathBuf};

use kit::scene::Scene;

fn scenes() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/scenes");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut scenes: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "scene")).collect();
    scenes.sort();
    scenes
}

/// The lines that differ.
fn difference(expected: &str, drawn: &str) -> String {
    let (expected, drawn): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), drawn.lines().collect());
    let longest = expected.len().max(drawn.len());
    let pairs = (0..longest).map(|i| (expected.get(i), drawn.get(i))).filter(|(before, now)| before != now);
    let lines = pairs.flat_map(|(before, now)| {
        [before.map(|line| format!("- {line}")), now.map(|line| format!("+ {line}"))].into_iter().flatten()
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_scene_is_drawn_as_it_was() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut wrong = Vec::new();
    for path in scenes() {
        let scene = Scene::read(&std::fs::read_to_string(&path).unwrap());
        let drawn = runtime.block_on(scene.play()) + "\n";
        let beside = path.with_extension("window");
        if std::env::var_os("UPDATE_SCENES").is_some() {
            std::fs::write(&beside, &drawn).unwrap();
        }
        let expected = std::fs::read_to_string(&beside).unwrap_or_default();
        if drawn != expected {
            wrong.push(format!("{}:\n{}", path.file_name().unwrap().display(), difference(&expected, &drawn)));
        }
    }
    assert!(wrong.is_empty(), "{}\nIf this is meant, run again with UPDATE_SCENES=1.", wrong.join("\n\n"));
}

/// Whether a text is what is drawn; a line of it with "…" alone stands for some that it leaves out.
fn shows(text: &str, drawn: &str) -> bool {
    let (mut rest, mut leaves_out) = (drawn.lines(), false);
    let fits = |line: &str| match (line, std::mem::replace(&mut leaves_out, line == "…")) {
        ("…", _) => true,
        (line, true) => rest.any(|drawn| drawn == line),
        (line, false) => rest.next() == Some(line),
    };
    text.lines().all(fits) && rest.next().is_none()
}

#[test]
fn docs_show_scenes_as_they_are_drawn() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    for entry in std::fs::read_dir(root.join("docs/strategies")).unwrap() {
        let page = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for part in page.split("(`fixtures/scenes/").skip(1) {
            let name = part.split(".scene").next().unwrap();
            let drawn = std::fs::read_to_string(root.join(format!("fixtures/scenes/{name}.window"))).unwrap();
            let block = part.split("```\n").nth(1).unwrap();
            assert!(shows(block, &drawn), "docs/strategies shows {name} as\n{block}\nand it is\n{drawn}");
            count += 1;
        }
    }
    assert!(count > 1, "no page shows a scene");
}

#[test]
fn every_strategy_has_a_scene() {
    let texts: String = scenes().iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    for name in scrollback::strategy::StrategyName::ALL {
        assert!(texts.contains(&format!("# strategy {name}")), "{name}");
    }
}
