//! `scrollback import` and `scrollback export`: conversations from other programs' files, and out again.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use scrollback::import::{self, Extent, Format};
use scrollback::store::Session;
use scrollback::{Error, Log, SessionKey, Store};
use serde::Serialize;
use serde::de::IgnoredAny;

use crate::api::{self, exported, exported_rest};
use crate::salvage;

use super::control::ranges;
use super::terminal::shown;
use super::{Desk, counted, now, progress, say, say_json, sessions, talk};

/// How many complaints about a file are shown.
const COMPLAINTS: usize = 5;

#[derive(Debug, Args)]
pub(super) struct Import {
    /// Files to read, or folders to look through; - reads standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// What the files are, if it should not be guessed: openai, chatgpt, claude, claude-code, codex
    #[arg(long)]
    format: Option<Format>,
}

/// What importing one file did.
#[derive(Debug, Serialize)]
struct Imported {
    file: PathBuf,
    format: &'static str,
    conversations: usize,
    branches: usize,
    messages: usize,
    added: usize,
    skipped: Vec<String>,
}

impl Import {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let log = Log::new(desk.alone("drop the files onto its page, or send them to POST /api/import").await?);
        let mut failed = false;
        for file in files_of(&self.files)? {
            match self.file(desk, &log, &file).await {
                Ok(imported) if desk.json => say_json(&imported)?,
                Ok(imported) => imported.tell()?,
                Err(error) => {
                    failed = true;
                    talk(&format!("{}: {error:#}", file.display()));
                }
            }
        }
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    async fn file(&self, desk: &Desk, log: &Log, file: &Path) -> anyhow::Result<Imported> {
        let bytes = read(file)?;
        let text = import::text_of(&bytes)?;
        let format = self.format.or_else(|| Format::guess(text)).with_context(|| unrecognised(text))?;
        let import = import::read(format, text)?;
        let bar = progress(import.conversations.len() as u64, "importing");
        let mut added = 0;
        for conversation in &import.conversations {
            added += import::store(log, &desk.tenant, conversation, now()).await?.added;
            bar.inc(1);
        }
        bar.finish_and_clear();
        let Extent { conversations, branches, messages } = import.extent();
        let (file, format, skipped) = (file.to_owned(), format.as_str(), import.skipped);
        Ok(Imported { file, format, conversations, branches, messages, added, skipped })
    }
}

impl Imported {
    fn tell(&self) -> anyhow::Result<()> {
        let (conversations, messages) =
            (counted(self.conversations as u64, "conversation"), counted(self.messages as u64, "message"));
        let branches = format!(" ({} branches)", self.branches);
        let branches = if self.branches > self.conversations { branches } else { String::new() };
        let file = self.file.display();
        say(format!("{file}: {} format, {conversations}{branches}, {messages}, {} new", self.format, self.added))?;
        for complaint in self.skipped.iter().take(COMPLAINTS) {
            talk(&format!("  not read: {complaint}"));
        }
        if self.skipped.len() > COMPLAINTS {
            talk(&format!("  and {} more; --json lists them all", self.skipped.len() - COMPLAINTS));
        }
        Ok(())
    }
}

/// The files named, and the JSON files in the folders named.
fn files_of(named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let before = files.len();
        walk(path, &mut files)?;
        if files.len() == before {
            bail!("{} holds no .json or .jsonl file", path.display());
        }
    }
    Ok(files)
}

/// What is wrong with a text that is in no known format.
fn unrecognised(text: &str) -> String {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return "the file is empty".to_owned();
    }
    let broken = |text: &str| serde_json::from_str::<IgnoredAny>(text).err();
    match (broken(text), broken(text.lines().next().unwrap_or_default())) {
        (Some(error), Some(_)) => format!("the file is no JSON, or was cut short: {error}"),
        _ => "the format is not recognised; name it with --format (openai, chatgpt, claude, claude-code, codex)"
            .to_owned(),
    }
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            walk(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "json" || ending == "jsonl") {
            files.push(path);
        }
    }
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    if file != Path::new("-") {
        return std::fs::read(file).context("the file cannot be read");
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shape {
    /// One JSON line for each branch, everything as it came; `import` reads it back
    Jsonl,
    /// The same as OpenAI chat messages, for tools that read nothing else
    #[value(name = "openai")]
    OpenAi,
    /// For people
    Markdown,
}

impl From<Shape> for api::Shape {
    fn from(shape: Shape) -> Self {
        match shape {
            Shape::Jsonl => Self::Jsonl,
            Shape::OpenAi => Self::OpenAi,
            Shape::Markdown => Self::Markdown,
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct Export {
    /// The session: its name, its id, or the beginning of either; all of them if not given
    session: Option<String>,
    /// The format to write
    #[arg(long, value_enum, default_value = "jsonl")]
    format: Shape,
    /// The file to write; standard output if not given
    #[arg(long, short)]
    output: Option<PathBuf>,
}

impl Export {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let store = desk.reading().await?;
        let (sessions, mut left_out) = match &self.session {
            Some(name) => (vec![desk.session(&store, name).await?], Vec::new()),
            None => salvage::sessions(&store, &desk.tenant).await?,
        };
        let mut out = self.out()?;
        let bar = progress(sessions.len() as u64, "exporting");
        // Oldest first, so that reading the file back gives the same order.
        for session in sessions.iter().rev() {
            let (text, lost) = self.text(desk, &store, session).await?;
            let text = if self.output.is_none() { shown(&text) } else { text.as_str().into() };
            out.write_all(text.as_bytes())?;
            left_out.extend(lost);
            bar.inc(1);
        }
        out.flush()?;
        bar.finish_and_clear();
        if let Some(path) = &self.output {
            talk(&format!("{} written to {}", counted(sessions.len() as u64, "session"), path.display()));
        }
        for what in &left_out {
            talk(&format!("left out: {what}"));
        }
        Ok(if left_out.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Where it is written.
    fn out(&self) -> anyhow::Result<Box<dyn Write>> {
        let Some(path) = &self.output else { return Ok(Box::new(std::io::stdout().lock())) };
        let file = std::fs::File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(Box::new(std::io::BufWriter::new(file)))
    }

    /// A session as text, as far as it can be read, and what is left out.
    async fn text(
        &self,
        desk: &Desk,
        store: &dyn Store,
        session: &Session,
    ) -> anyhow::Result<(String, Option<String>)> {
        let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
        match exported(store, &key, session, self.format.into()).await {
            Err(Error::Damaged(_)) => {}
            read => return Ok((read?, None)),
        }
        let rest = salvage::messages(store, &key, session.messages).await?;
        let whose = sessions::heading(desk, store, session).await?;
        let lost = format!("{} of {whose}: damaged", ranges(&rest.lost));
        Ok((exported_rest(&rest, session, self.format.into()), Some(lost)))
    }
}
