//! `scrollback topics export` and `import`: topics as files that people can read, edit and give back.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use clap::Args;
use scrollback::engine::{TopicFile, day_index};
use scrollback::{SessionKey, Store};

use super::show::branch;
use super::topics::opened;
use super::{Desk, counted, now, say_json, talk};

#[derive(Debug, Args)]
pub(super) struct Export {
    /// The session: its name, its id, or the beginning of either
    session: String,
    /// The folder they are written to, below `topics/`
    folder: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct Import {
    /// The session: its name, its id, or the beginning of either
    session: String,
    /// The folder they were written to
    folder: PathBuf,
}

impl Export {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let (engine, key, head) = opened(desk, &self.session).await?;
        let files = engine.topic_files(&key, head).await?;
        let id = key.id.to_string();
        self.only_of(&id)?;
        for file in &files {
            write(&self.folder.join(&file.path), &file.lines)?;
            if desk.json {
                say_json(&serde_json::json!({"topic": file.topic.to_string(), "file": file.path}))?;
            }
        }
        let folder = self.folder.join("topics");
        write(&folder.join("index.jsonl"), &day_index(&files))?;
        let removed = self.remove_older(&files, &id)?;
        talk(&format!("{} written to {}", counted(files.len() as u64, "topic"), folder.display()));
        if removed > 0 {
            talk(&format!("{} of an earlier export removed", counted(removed, "file")));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// That nothing in the folder is of another session: names of files are the same for all.
    fn only_of(&self, session: &str) -> anyhow::Result<()> {
        for path in self.older()? {
            let other = read(&path).ok().and_then(|file| file.session).filter(|other| other != session);
            if let Some(other) = other {
                bail!("{} is of session {other}: choose another folder", path.display());
            }
        }
        Ok(())
    }

    /// What an earlier export wrote.
    fn older(&self) -> anyhow::Result<Vec<PathBuf>> {
        let folder = self.folder.join("topics");
        if folder.exists() { topic_files(&folder) } else { Ok(Vec::new()) }
    }

    /// Removes what an earlier export wrote of topics that were merged or archived since: read back, that would undo
    /// it.
    fn remove_older(&self, written: &[TopicFile], session: &str) -> anyhow::Result<u64> {
        let written: HashSet<PathBuf> = written.iter().map(|file| self.folder.join(&file.path)).collect();
        let mut removed = 0;
        for path in self.older()? {
            let is_ours = || read(&path).is_ok_and(|file| file.session.as_deref() == Some(session));
            if !written.contains(&path) && is_ours() {
                std::fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

impl Import {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let store = desk.changing().await?;
        let session = desk.session(&*store, &self.session).await?;
        let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
        let head = branch(&session, None)?.context("the session has no messages")?.head;
        let mut files = Vec::new();
        for path in topic_files(&self.folder)? {
            files.push(read(&path)?);
        }
        ensure!(!files.is_empty(), "{} holds no topic-….jsonl", self.folder.display());
        let engine = desk.engine_over(store.clone() as std::sync::Arc<dyn Store>);
        let restored = engine.restore_topics(&key, head, &files, now()).await?;
        for id in &restored.unknown {
            talk(&format!("{id} is skipped: it is not on this conversation's path, or says something else there"));
        }
        for topic in &restored.circular {
            talk(&format!("the parent of {topic} is skipped: it lies below {topic}"));
        }
        let changed: Vec<String> = restored.changed.iter().map(ToString::to_string).collect();
        if desk.json {
            let (added, moved, unknown) = (restored.added, restored.moved, &restored.unknown);
            let circular: Vec<String> = restored.circular.iter().map(ToString::to_string).collect();
            say_json(&serde_json::json!({
                "changed": changed, "added": added, "moved": moved, "unknown": unknown, "circular": circular,
            }))?;
        }
        let (topics, added) = (counted(changed.len() as u64, "topic"), counted(restored.added, "message"));
        talk(&format!("{topics} changed, {added} added, {} moved", restored.moved));
        Ok(ExitCode::SUCCESS)
    }
}

fn read(path: &Path) -> anyhow::Result<TopicFile> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(TopicFile::read(&path.display().to_string(), &text)?)
}

fn write(path: &Path, lines: &[String]) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    }
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// The topic files below a folder, archived ones too, in order of their names.
fn topic_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            found.extend(topic_files(&path)?);
        } else if name.starts_with("topic-") && path.extension().is_some_and(|ending| ending == "jsonl") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
