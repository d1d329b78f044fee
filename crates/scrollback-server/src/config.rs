//! Settings: what was said (file, then environment, then flags), turned at once into what it means.
//!
//! The file is `scrollback.toml`; the one in the repository lists every setting with its default, and a test keeps it so.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use scrollback::SqliteOptions;
use scrollback::store::Durability;
use serde::Deserialize;

/// What a settings file may say.
#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
struct Said {
    store: SaidStore,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
struct SaidStore {
    path: PathBuf,
    durability: SaidDurability,
    readers: usize,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum SaidDurability {
    Full,
    Normal,
}

impl Default for SaidStore {
    fn default() -> Self {
        Self { path: PathBuf::new(), durability: SaidDurability::Full, readers: 2 }
    }
}

/// What the settings mean.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) store: SqliteOptions,
}

/// The environment, as far as settings depend on it.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    pub(crate) home: Option<PathBuf>,
    pub(crate) config_home: Option<PathBuf>,
    pub(crate) data_home: Option<PathBuf>,
}

impl Surroundings {
    pub(crate) fn read() -> Self {
        let path = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self { home: path("HOME"), config_home: path("XDG_CONFIG_HOME"), data_home: path("XDG_DATA_HOME") }
    }

    fn config_file(&self) -> Option<PathBuf> {
        let folder = self.config_home.clone().or_else(|| Some(self.home.as_ref()?.join(".config")))?;
        Some(folder.join("scrollback").join("scrollback.toml"))
    }

    fn store_file(&self) -> Option<PathBuf> {
        let folder = self.data_home.clone().or_else(|| Some(self.home.as_ref()?.join(".local").join("share")))?;
        Some(folder.join("scrollback").join("scrollback.db"))
    }
}

/// Reads the settings: the file named, else `scrollback.toml` here, else the person's own; then what the flags say.
pub(crate) fn read(
    file: Option<&Path>,
    store: Option<PathBuf>,
    surroundings: &Surroundings,
) -> anyhow::Result<Settings> {
    let usual = [Some(PathBuf::from("scrollback.toml")), surroundings.config_file()];
    let file = file.map(Path::to_owned).or_else(|| usual.into_iter().flatten().find(|path| path.is_file()));
    let said = match file {
        Some(path) => {
            let text = std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
            toml::from_str(&text).with_context(|| format!("{} is not understood", path.display()))?
        }
        None => Said::default(),
    };
    meant(said, store, surroundings)
}

fn meant(said: Said, store: Option<PathBuf>, surroundings: &Surroundings) -> anyhow::Result<Settings> {
    let named = store.or_else(|| (!said.store.path.as_os_str().is_empty()).then_some(said.store.path));
    let Some(path) = named.or_else(|| surroundings.store_file()) else {
        bail!("there is no home folder to keep the store in: name a file with --store");
    };
    let durability = match said.store.durability {
        SaidDurability::Full => Durability::Full,
        SaidDurability::Normal => Durability::Normal,
    };
    Ok(Settings { store: SqliteOptions { path, durability, readers: said.store.readers.max(1) } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> Surroundings {
        Surroundings { home: Some("/home/ann".into()), ..Surroundings::default() }
    }

    #[test]
    fn the_shipped_file_lists_every_default() {
        let shipped = include_str!("../../../scrollback.toml");
        assert_eq!(toml::from_str::<Said>(shipped).unwrap(), Said::default());
        let table: toml::Table = toml::from_str(shipped).unwrap();
        let listed: Vec<_> = table
            .iter()
            .flat_map(|(part, keys)| keys.as_table().unwrap().keys().map(move |key| format!("{part}.{key}")))
            .collect();
        assert_eq!(listed, ["store.durability", "store.path", "store.readers"]);
    }

    #[test]
    fn flags_go_before_the_file() {
        let said: Said = toml::from_str("[store]\npath = \"/a.db\"\ndurability = \"normal\"").unwrap();
        let settings = meant(said, Some("/b.db".into()), &home()).unwrap();
        assert_eq!(settings.store.path, Path::new("/b.db"));
        assert_eq!(settings.store.durability, Durability::Normal);
    }

    #[test]
    fn the_usual_place_is_the_data_folder() {
        let settings = meant(Said::default(), None, &home()).unwrap();
        assert_eq!(settings.store.path, Path::new("/home/ann/.local/share/scrollback/scrollback.db"));
        assert!(meant(Said::default(), None, &Surroundings::default()).is_err());
    }

    #[test]
    fn an_unknown_setting_is_named() {
        let error = toml::from_str::<Said>("[store]\nspeed = 9").unwrap_err();
        assert!(error.to_string().contains("speed"), "{error}");
    }
}
