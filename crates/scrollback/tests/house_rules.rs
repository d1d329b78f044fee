//! The rules of the house that no compiler checks.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use std::path::{Path, PathBuf};

/// Longer than this is not one thing any more.
const FILE_LINES: usize = 400;
/// Names that say nothing; see CONTRIBUTING.md.
/// `helper` is the helper model and nothing else.
const EMPTY_NAMES: [&str; 11] =
    ["manager", "service", "handler", "util", "utils", "common", "core", "data", "info", "misc", "helpers"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All files below a folder whose names end so.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|own| own == ending) {
            found.push(path);
        }
    }
    found
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    files(folder, "rs")
}

fn library() -> Vec<(PathBuf, String)> {
    let files = sources(&root().join("crates/scrollback/src")).into_iter();
    files.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

/// The part of a file before its tests. Tests in a file of their own are declared anywhere.
fn code(text: &str) -> &str {
    let holds_tests = |at: usize| text[at..].lines().nth(1).is_some_and(|line| line.ends_with('{'));
    let mut tests = text.match_indices("#[cfg(test)]\nmod ").map(|(at, _)| at);
    tests.find(|at| holds_tests(*at)).map_or(text, |at| &text[..at])
}

#[test]
fn files_are_one_thing() {
    for crate_name in ["scrollback", "scrollback-server", "scrollback-eval"] {
        for path in sources(&root().join("crates").join(crate_name).join("src")) {
            let text = std::fs::read_to_string(&path).unwrap();
            let lines = code(&text).lines().count();
            assert!(lines <= FILE_LINES, "{} has {lines} lines", path.display());
            assert!(text.starts_with("//!"), "{} does not say what it is", path.display());
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(!EMPTY_NAMES.contains(&name), "{} has an empty name", path.display());
        }
    }
}

#[test]
fn the_library_has_no_clock_no_environment_and_no_network() {
    for (path, text) in library() {
        for word in ["SystemTime", "Timestamp::now", "std::env", "std::net", "println!", "Zoned::now"] {
            assert!(!code(&text).contains(word), "{} uses {word}", path.display());
        }
    }
}

/// What an `async fn` returns is compiled anew wherever it is awaited; see docs/decisions/0015-boxed-futures.md.
#[test]
fn public_functions_of_the_library_return_boxed_futures() {
    for (path, text) in library() {
        for (at, _) in code(&text).match_indices("pub async fn ") {
            let head = text[at..].split('{').next().unwrap();
            assert!(is_generic(head), "{}: {head}", path.display());
        }
    }
}

/// Whether a function has parameters whose types its caller chooses.
fn is_generic(head: &str) -> bool {
    let named = head.split('(').next().unwrap();
    named.contains('<') || head.contains("impl Fn")
}

#[test]
fn a_store_cannot_delete() {
    let text = std::fs::read_to_string(root().join("crates/scrollback/src/store/mod.rs")).unwrap();
    let contract = text.split("pub trait Store").nth(1).unwrap().split("\n}\n").next().unwrap();
    let methods: Vec<&str> = contract.lines().filter_map(|line| line.trim().strip_prefix("async fn ")).collect();
    assert!(methods.len() <= 6, "a contract of {} methods", methods.len());
    for method in methods {
        assert!(
            !["delete", "remove", "forget", "clear", "update"].iter().any(|verb| method.starts_with(verb)),
            "{method}"
        );
    }
}

#[test]
fn strategies_are_pure_and_described() {
    for (path, text) in
        library().into_iter().filter(|(path, _)| path.components().any(|part| part.as_os_str() == "strategy"))
    {
        for word in ["dyn Store", "async ", "tokio", "SqliteStore", "MemoryStore"] {
            assert!(!text.contains(word), "{} uses {word}", path.display());
        }
    }
    let pages = ["pages", "topics", "summary", "artifacts", "holds", "baselines"]
        .map(|name| root().join(format!("docs/strategies/{name}.md")));
    let described: String = pages.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    for name in scrollback::strategy::StrategyName::ALL {
        assert!(described.contains(name.as_str()), "{name} is not described");
    }
}

#[test]
fn every_prompt_is_used() {
    for entry in std::fs::read_dir(root().join("crates/scrollback/prompts")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let forms = ["../..", "../../.."].map(|up| format!("include_str!(\"{up}/prompts/{name}\")"));
        let includes = |text: &str| forms.iter().any(|form| code(text).contains(form));
        assert!(library().iter().any(|(_, text)| includes(text)), "no task asks {name}");
    }
}

#[test]
fn a_window_cannot_forget() {
    let (_, text) = library().into_iter().find(|(path, _)| path.ends_with("src/window.rs")).unwrap();
    for verb in ["fn remove", "fn drop", "fn delete", "fn pop", "fn clear", "fn truncate", "blocks_mut"] {
        assert!(!text.contains(verb), "{verb}");
    }
}

#[test]
fn deleting_sql_stands_only_where_it_may() {
    for (path, text) in library() {
        let may = ["forget.rs", "words.rs"].iter().any(|name| path.ends_with(name));
        assert!(may || !code(&text).contains("DELETE FROM"), "{} deletes", path.display());
    }
}

#[test]
fn the_glossary_knows_the_outcomes_and_the_records() {
    let glossary = std::fs::read_to_string(root().join("GLOSSARY.md")).unwrap();
    for word in ["replay", "continue", "edited", "branch", "truncated", "compacted", "new"] {
        assert!(glossary.contains(word), "{word}");
    }
    for kind in scrollback::store::Kind::ALL {
        let name = serde_json::to_string(&kind).unwrap();
        assert!(glossary.contains(name.trim_matches('"')), "{name}");
    }
}

#[test]
fn every_link_in_the_documents_leads_somewhere() {
    let at_the_root = ["README", "README.zh-CN", "ARCHITECTURE", "CONTRIBUTING", "GLOSSARY"];
    let at_the_root = at_the_root.map(|name| root().join(format!("{name}.md")));
    for path in files(&root().join("docs"), "md").into_iter().chain(at_the_root) {
        let text = std::fs::read_to_string(&path).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let outside = link.starts_with("http") || link.starts_with('#');
            let file = link.split('#').next().unwrap_or_default();
            assert!(outside || path.parent().unwrap().join(file).exists(), "{} links to {link}", path.display());
        }
    }
}
