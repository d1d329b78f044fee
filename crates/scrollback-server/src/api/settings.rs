//! Settings: every one of them, what is in force, its default and what it means, as `scrollback.toml` explains it.

use schemars::JsonSchema;
use scrollback::strategy::StrategyName;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Refusal, Room, address};
use crate::config::{KNOWN, KnownUpstream, Serve};

/// Every setting with its default, explained; a test holds it equal to the program's own.
const EXPLAINED: &str = include_str!("../../../../scrollback.toml");

/// What is about this machine and its accounts is told to admins alone,
const OF_THE_MACHINE: [&str; 6] = ["store.", "serve.", "upstreams.", "helper.", "embeddings.", "window.models"];
/// but for what everybody runs into.
const FOR_ALL: [&str; 3] = ["serve.body_megabytes", "serve.import_megabytes", "serve.requests_per_minute"];

/// All settings.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Settings")]
pub(super) struct All {
    settings: Vec<Line>,
    sections: Vec<Section>,
    strategies: Vec<Section>,
}

/// A setting.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Setting")]
struct Line {
    /// Its section and name: `window.strategy`.
    name: String,
    value: Value,
    default: Value,
    /// What it means; several that belong together share one explanation.
    about: String,
}

/// A part of the settings.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SettingSection")]
struct Section {
    name: String,
    about: String,
}

/// A setting as the file explains it.
#[derive(Clone)]
struct Explained {
    section: String,
    name: String,
    about: String,
}

/// Lists the settings that concern whoever asks.
pub(super) fn list(room: &Room) -> Result<Value, Refusal> {
    let broken = |error| Refusal::from(scrollback::Error::Invalid(format!("the settings are unreadable: {error}")));
    let defaults: toml::Table = EXPLAINED.parse().map_err(broken)?;
    let said = in_force(&room.serve);
    let (mut explained, sections) = explained();
    explained.extend(of_others(&room.serve, &explained));
    let settings = explained.into_iter().map(|Explained { section, name, about }| {
        let default = default_of(&defaults, &section, &name);
        let value = said_of(&said, &section, &name).unwrap_or_else(|| default.clone());
        Line { name: format!("{section}.{name}"), value: harmless(value), default, about }
    });
    let settings = settings.filter(|line| room.guest.is_admin || is_for_all(&line.name));
    let strategies = StrategyName::ALL.map(|name| Section { name: name.to_string(), about: name.about().to_owned() });
    let all = All { settings: settings.collect(), sections, strategies: strategies.into() };
    Ok(serde_json::to_value(all)?)
}

/// What was said, with what became of it where flags may say otherwise.
fn in_force(serve: &Serve) -> toml::Table {
    let mut serve = serve.clone();
    let said = said_of(&serve.said, "serve", "messages_upstream").is_some_and(|said| said != json!(""));
    if said || serve.messages_upstream != KNOWN[1].name {
        serve.lay("serve", "messages_upstream", serve.messages_upstream.clone());
    }
    serve.lay("serve", "listen", serve.listen.clone());
    serve.lay("serve", "upstream", serve.upstream.clone());
    serve.said
}

/// The settings of upstreams that are only in the file, explained like those that everybody knows.
fn of_others(serve: &Serve, explained: &[Explained]) -> Vec<Explained> {
    let known = format!("upstreams.{}", KNOWN[0].name);
    let others = serve.upstreams.keys().filter(|name| KnownUpstream::named(name).is_none());
    let of = |name: &String| {
        let section = format!("upstreams.{name}");
        let alike = explained.iter().filter(|setting| setting.section == known);
        let own = move |setting: &Explained| Explained { section: section.clone(), ..setting.clone() };
        alike.map(own).collect::<Vec<_>>()
    };
    others.flat_map(of).collect()
}

fn is_for_all(name: &str) -> bool {
    FOR_ALL.contains(&name) || !OF_THE_MACHINE.iter().any(|begins| name.starts_with(begins))
}

/// A value without the secrets that an address may hold.
fn harmless(value: Value) -> Value {
    if let Value::Array(values) = value {
        return values.into_iter().map(harmless).collect();
    }
    match value.as_str() {
        Some(url) if url.contains("://") => json!(address::bare(url)),
        _ => value,
    }
}

/// What a file says of a setting.
fn said_of(said: &toml::Table, section: &str, name: &str) -> Option<Value> {
    let table = section.split('.').try_fold(said, |table, part| table.get(part)?.as_table())?;
    table.get(name).map(|value| json!(value))
}

/// What a setting is where nobody says; upstreams of the file have no address of their own, and are otherwise like the
/// first.
fn default_of(defaults: &toml::Table, section: &str, name: &str) -> Value {
    let alike = || {
        let first = format!("upstreams.{}", KNOWN[0].name);
        said_of(defaults, &first, name).map(|value| if name == "url" { json!("") } else { value })
    };
    said_of(defaults, section, name).or_else(alike).unwrap_or(Value::Null)
}

/// The settings in the order of the file, each with the comment before it; and its sections with theirs.
fn explained() -> (Vec<Explained>, Vec<Section>) {
    let (mut settings, mut sections) = (Vec::<Explained>::new(), Vec::new());
    let (mut section, mut comment, mut fresh) = (String::new(), Vec::new(), true);
    for line in EXPLAINED.lines() {
        if line.is_empty() {
            // What stands apart, such as an example, is about nothing that follows.
            (comment, fresh) = (Vec::new(), true);
        } else if let Some(words) = line.strip_prefix('#') {
            if !fresh {
                comment.clear();
            }
            fresh = true;
            comment.push(words.trim());
        } else if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            name.clone_into(&mut section);
            // The comment of the last setting is not the section's.
            let about = if fresh { comment.join(" ") } else { String::new() };
            sections.push(Section { name: name.to_owned(), about });
            comment.clear();
        } else if let Some((name, _)) = line.split_once(" = ") {
            // Settings that belong together stand under one comment.
            fresh = false;
            let about = if comment.is_empty() { alike(&settings, &section, name) } else { comment.join(" ") };
            settings.push(Explained { section: section.clone(), name: name.to_owned(), about });
        }
    }
    (settings, sections)
}

/// Things of one kind are explained once: what another of them says of a setting of this name.
fn alike(settings: &[Explained], section: &str, name: &str) -> String {
    let kind = |section: &str| section.rsplit_once('.').map(|(kind, _)| kind.to_owned());
    let same = |known: &&Explained| known.name == name && kind(&known.section) == kind(section);
    settings.iter().find(same).map(|known| known.about.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_the_machine_is_not_for_all() {
        for name in ["store.path", "serve.listen", "upstreams.openai.key_env", "helper.upstream", "window.models"] {
            assert!(!is_for_all(name), "{name}");
        }
        for name in ["window.strategy", "pages.keep_pages", "serve.import_megabytes", "chat.model"] {
            assert!(is_for_all(name), "{name}");
        }
        assert_eq!(harmless(json!("http://u:secret@host/v1?key=secret")), json!("http://host/v1"));
        assert_eq!((harmless(json!("a?b")), harmless(json!(5))), (json!("a?b"), json!(5)));
    }

    #[test]
    fn the_documentation_names_what_is_not_for_all() {
        let told = include_str!("../../../../docs/api.md");
        let told = told.lines().find(|line| line.starts_with("| `GET /api/settings`")).unwrap();
        for name in OF_THE_MACHINE {
            let named = name.strip_suffix('.').map_or_else(|| format!("`{name}`"), |section| format!("`[{section}]`"));
            assert!(told.contains(&named), "{named}");
        }
    }

    #[test]
    fn what_is_in_force_goes_before_what_the_file_says() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("scrollback.toml");
        std::fs::write(&file, "[serve]\nlisten = \"127.0.0.1:1\"\n[upstreams.local]\nurl = \"http://127.0.0.1:9/v1\"")
            .unwrap();
        let store = Some("/tmp/flag.db".into());
        let mut serve = crate::config::read(Some(&file), store, &crate::config::Surroundings::default()).unwrap().serve;
        let of = |serve: &Serve, section: &str, name: &str| said_of(&in_force(serve), section, name);
        assert_eq!(of(&serve, "store", "path"), Some(json!("/tmp/flag.db")));
        assert_eq!(of(&serve, "serve", "messages_upstream"), None, "it is the default");
        serve.listen = "127.0.0.1:2".into();
        (serve.upstream, serve.messages_upstream) = ("local".into(), "local".into());
        for (name, value) in [("listen", "127.0.0.1:2"), ("upstream", "local"), ("messages_upstream", "local")] {
            assert_eq!(of(&serve, "serve", name), Some(json!(value)));
        }
        let others = of_others(&serve, &explained().0);
        assert!(others.iter().all(|setting| setting.section == "upstreams.local") && others.len() == 6);
        let defaults = EXPLAINED.parse().unwrap();
        let default = |name| default_of(&defaults, "upstreams.local", name);
        assert_eq!((default("url"), default("timeout_seconds")), (json!(""), json!(600)));
    }

    #[test]
    fn every_setting_is_explained() {
        let (settings, sections) = explained();
        assert!(settings.len() > 50 && sections.len() > 8, "{} {}", settings.len(), sections.len());
        for Explained { section, name, about } in settings {
            assert!(about.len() > 15, "{section}.{name} is not explained: “{about}”");
        }
    }

    /// The web page tells them in Chinese too, by the first name of those that share an explanation.
    #[test]
    fn every_explanation_is_told_in_chinese() {
        let told = include_str!("../web/ui/lang/settings.zh.js");
        let mut last = (String::new(), String::new());
        for Explained { section, name, about } in explained().0 {
            let shown = section.split_once('.').map_or(section.as_str(), |(first, _)| first);
            let is_told = told.contains(&format!("'{shown}.{name}':"));
            assert!(
                is_told || last == (section.clone(), about.clone()),
                "{section}.{name} is not told in settings.zh.js"
            );
            last = (section, about);
        }
    }
}
