//! What we depend on: used, from the one registry, and under a licence that deny.toml allows.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Where every crate that is not ours comes from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn packages() -> Vec<Value> {
    let asked = ["metadata", "--locked", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu"];
    let told = Command::new(env!("CARGO")).args(asked).output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let mut told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let Value::Array(packages) = told["packages"].take() else { panic!("cargo lists no packages") };
    packages
}

fn is_ours(package: &Value) -> bool {
    package["source"].is_null()
}

/// The licences in the list of deny.toml.
fn allowed() -> Vec<String> {
    let rules = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deny.toml")).unwrap();
    let line = rules.lines().find(|line| line.starts_with("allow = ")).unwrap();
    line.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether one of each choice that an expression gives is allowed.
fn permits(expression: &str, allowed: &[String]) -> bool {
    let plain = expression.replace(['(', ')'], "").replace('/', " OR ");
    let is_allowed = |name: &str| allowed.iter().any(|allowed| allowed == name.trim());
    plain.split(" AND ").all(|choice| choice.split(" OR ").any(is_allowed))
}

#[test]
fn every_licence_and_source_is_allowed() {
    let allowed = allowed();
    for package in packages().iter().filter(|package| !is_ours(package)) {
        let name = &package["name"];
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(permits(licence, &allowed), "{name} is under “{licence}”, which deny.toml does not allow");
        assert_eq!(package["source"], REGISTRY, "{name}");
    }
}

#[test]
fn choices_of_licences_are_understood() {
    let allowed = ["MIT", "ISC"].map(str::to_owned);
    for good in ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(Apache-2.0 OR MIT) AND ISC"] {
        assert!(permits(good, &allowed), "{good}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND GPL-3.0"] {
        assert!(!permits(bad, &allowed), "{bad}");
    }
}

fn texts(folder: &Path, all: &mut String) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("node_modules") {
            texts(&path, all);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            *all += &std::fs::read_to_string(path).unwrap();
        }
    }
}

#[test]
fn every_dependency_is_used() {
    for package in packages().iter().filter(|package| is_ours(package)) {
        let mut text = String::new();
        let manifest = PathBuf::from(package["manifest_path"].as_str().unwrap());
        texts(manifest.parent().unwrap(), &mut text);
        for dependency in package["dependencies"].as_array().unwrap() {
            let name = dependency["rename"].as_str().or(dependency["name"].as_str()).unwrap().replace('-', "_");
            let is_used = [format!("{name}::"), format!("use {name};"), format!("{name} as ")];
            assert!(is_used.iter().any(|used| text.contains(used)), "{} does not use {name}", package["name"]);
        }
    }
}
