//! `scrollback edit SESSION NAME`: puts the person's own words in the place of a note, from a file, from standard
//! input, or from an editor.

use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};
use axum::http::Method;
use clap::Args;
use serde_json::json;

use super::door::read;
use super::{Where, notes};
use crate::api::WholeNote;
use crate::cli::{Desk, say_json, talk};

#[derive(Debug, Args)]
pub(in crate::cli) struct Edit {
    #[command(flatten)]
    place: Where,
    /// The note, such as 42, s60 or a12; `scrollback notes SESSION` lists them
    name: String,
    /// A file with what it is to say; - reads standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The editor that a person at a terminal is given
    #[arg(long, env = "EDITOR", value_name = "PROGRAM", default_value = "vi")]
    editor: String,
}

impl Edit {
    pub(in crate::cli) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let Some(Words { text, draft, before }) = self.words(desk).await? else {
            talk("nothing was changed");
            return Ok(ExitCode::SUCCESS);
        };
        self.is_still(desk, before.as_deref()).await.map_err(|error| kept_in(draft.as_deref(), error))?;
        let ask = self.place.ask(Method::PUT, &["notes", &self.name]).saying(&json!({"text": text}));
        let answer = put_away(draft.as_deref(), desk.ask(&ask).await)?;
        if desk.json {
            say_json(&answer)?;
            return Ok(ExitCode::SUCCESS);
        }
        notes::tell(&read(answer)?)?;
        talk(&format!(
            "your words count from the next window on; `scrollback undo {}` takes them back",
            self.place.typed()
        ));
        Ok(ExitCode::SUCCESS)
    }

    /// That the note still says what the person saw of it.
    async fn is_still(&self, desk: &Desk, before: Option<&str>) -> anyhow::Result<()> {
        let Some(before) = before else { return Ok(()) };
        if self.now(desk).await? != before {
            bail!("{} was changed meanwhile: `scrollback edit` shows what it says now", self.name);
        }
        Ok(())
    }

    /// What the note says.
    async fn now(&self, desk: &Desk) -> anyhow::Result<String> {
        let now: WholeNote = desk.asked(&self.place.ask(Method::GET, &["notes", &self.name])).await?;
        Ok(now.text)
    }

    /// What the note is to say; `None` if it says that already.
    async fn words(&self, desk: &Desk) -> anyhow::Result<Option<Words>> {
        let given = |text: String| Some(Words { text, draft: None, before: None });
        match &self.file {
            Some(file) if file != Path::new("-") => {
                let text = std::fs::read_to_string(file);
                text.map(given).with_context(|| format!("{} cannot be read", file.display()))
            }
            None if std::io::stdin().is_terminal() => {
                let now = self.now(desk).await?;
                let words = edited(&self.editor, &now)?;
                if words.text.trim() == now.trim() {
                    return put_away(words.draft.as_deref(), Ok(None));
                }
                Ok(Some(Words { before: Some(now), ..words }))
            }
            Some(_) | None => {
                let mut text = String::new();
                std::io::stdin().lock().read_to_string(&mut text).context("standard input is no text (UTF-8)")?;
                Ok(given(text))
            }
        }
    }
}

/// What a note is to say, the file in which a person wrote it, and what they saw of it before.
struct Words {
    text: String,
    draft: Option<PathBuf>,
    before: Option<String>,
}

/// Removes what was written in an editor once it is of no more use; if it was refused, it stays.
fn put_away<T>(draft: Option<&Path>, outcome: anyhow::Result<T>) -> anyhow::Result<T> {
    if let (Some(draft), Ok(_)) = (draft, &outcome) {
        let _ = std::fs::remove_file(draft);
    }
    outcome.map_err(|error| kept_in(draft, error))
}

/// An error that tells where a person's words are.
fn kept_in(draft: Option<&Path>, error: anyhow::Error) -> anyhow::Error {
    match draft {
        Some(draft) => error.context(format!("nothing was changed; what you wrote is in {}", draft.display())),
        None => error,
    }
}

/// A text after a person had it in their editor.
fn edited(editor: &str, text: &str) -> anyhow::Result<Words> {
    let path = std::env::temp_dir().join(format!("scrollback-{}.md", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let unwritable = || format!("{} cannot be written", path.display());
    options.open(&path).and_then(|mut file| file.write_all(text.as_bytes())).with_context(unwritable)?;
    let mut words = editor.split_whitespace();
    let program = words.next().context("name an editor with --editor, or set EDITOR")?;
    let status = Command::new(program).args(words).arg(&path).status();
    let status = status.with_context(|| format!("the editor “{editor}” cannot be started; --file names a file"));
    let is_done = status.as_ref().is_ok_and(std::process::ExitStatus::success);
    let text = std::fs::read_to_string(&path).context("what the editor wrote cannot be read");
    if !is_done {
        let _ = std::fs::remove_file(&path);
        bail!("the editor ended with {}: nothing was changed", status?);
    }
    Ok(Words { text: text?, draft: Some(path), before: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_in_an_editor_stays_where_it_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let draft = folder.path().join("draft.md");
        std::fs::write(&draft, "my words").unwrap();
        let error = put_away::<()>(Some(&draft), Err(anyhow::anyhow!("it is too long"))).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains("draft.md") && error.ends_with("it is too long"), "{error}");
        assert!(draft.exists());
        assert!(put_away(Some(&draft), Ok(())).is_ok() && !draft.exists());
    }
}
