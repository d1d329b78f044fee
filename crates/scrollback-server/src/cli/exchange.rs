//! `scrollback import` and `scrollback export`: conversations from other programs' files, and out again.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};
use scrollback::export::Whole;
use scrollback::import::{self, Extent, Format, Opened};
use scrollback::store::Session;
use scrollback::{Error, Log, SessionKey, Store};
use serde::Serialize;

use crate::api;
use crate::salvage;

use super::backup::is_own;
use super::control::ranges;
use super::output::Output;
use super::terminal::shown;
use super::{Desk, counted, now, progress, say, say_json, sessions, talk};

/// How many complaints about a file are shown, and how many names of files.
const COMPLAINTS: usize = 5;
/// How many bytes may be unpacked from one ZIP.
const UNPACKED_BYTES: usize = 4 << 30;

#[derive(Debug, Args)]
pub(super) struct Import {
    /// Files to read (ChatGPT's or Claude's export may stay a ZIP), or folders to look through; - reads standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// What the files are, if it should not be guessed: openai, chatgpt (DeepSeek as well), claude, claude-code, codex
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
    /// What could not be understood,
    skipped: Vec<String>,
    /// and what holds nothing to keep, was left out on purpose, or is to be known besides.
    remarks: Vec<String>,
}

/// The files that were named or are in folders that were named.
#[derive(Default)]
struct Found {
    /// Each with whether it was found in a folder: nobody said that there are conversations in it.
    files: Vec<(PathBuf, bool)>,
    /// Files in folders that have to be unpacked first.
    packed: Vec<PathBuf>,
    /// The folders looked through, as links may lead to one again.
    seen: HashSet<PathBuf>,
}

/// What became of one file.
enum Done {
    Imported(Imported),
    /// It is something that is known to be no conversation.
    Foreign(&'static str),
    /// It holds none; why, in words.
    Nothing(String),
}

impl Import {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let log = Log::new(desk.alone("drop the files onto its page, or send them to POST /api/import").await?);
        let found = Found::of(&self.files)?;
        let (mut failed, mut empty) = (false, Vec::new());
        for (file, in_folder) in &found.files {
            let done = self.file(desk, &log, file, &found).await;
            failed |= match &done {
                Ok(Done::Imported(imported)) => !imported.skipped.is_empty(),
                Ok(Done::Foreign(_) | Done::Nothing(_)) => !in_folder,
                Err(_) => true,
            };
            match done {
                Ok(Done::Imported(imported)) if desk.json => say_json(&imported)?,
                Ok(Done::Imported(imported)) => imported.tell()?,
                Ok(Done::Nothing(_)) if *in_folder => empty.push(file),
                Ok(Done::Nothing(why)) => talk(&format!("{}: {why}", file.display())),
                Ok(Done::Foreign(what)) => talk(&format!("{}: {what}", file.display())),
                Err(error) => talk(&format!("{}: {error:#}", file.display())),
            }
        }
        tell_files("without conversations", &empty);
        tell_files("to be unpacked first, with zstd -d", &found.packed.iter().collect::<Vec<_>>());
        Ok(if failed || !found.packed.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    async fn file(&self, desk: &Desk, log: &Log, file: &Path, found: &Found) -> anyhow::Result<Done> {
        let others = |id: &str| found.rollout(id, file);
        let (format, mut import) = match import::open_among(&read(file)?, self.format, UNPACKED_BYTES, &others)? {
            Opened::Read(format, import) => (format, import),
            Opened::Foreign(what) => return Ok(Done::Foreign(what)),
            Opened::Nothing(why) => return Ok(Done::Nothing(why)),
            Opened::Unknown => return Ok(Done::Nothing(import::KNOWN.to_owned())),
        };
        let bar = progress(import.conversations.len() as u64, "importing");
        let mut added = 0;
        for conversation in &import.conversations {
            match import::store(log, &desk.tenant, conversation, now()).await {
                Ok(received) => {
                    added += received.added;
                    import.remarks.extend(conversation.mended(&received));
                    import.skipped.extend(conversation.damaged(&received));
                }
                Err(error) => import.skipped.push(conversation.skipped(error)?),
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        let Extent { conversations, branches, messages } = import.extent();
        let (file, format, skipped, remarks) = (file.to_owned(), format.as_str(), import.skipped, import.remarks);
        let imported = Imported { file, format, conversations, branches, messages, added, skipped, remarks };
        Ok(Done::Imported(imported))
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
        tell_all(&format!("{file}: not read"), &self.skipped);
        tell_all(&file.to_string(), &self.remarks);
        Ok(())
    }
}

fn tell_all(what: &str, told: &[String]) {
    for one in told.iter().take(COMPLAINTS) {
        talk(&format!("{what}: {one}"));
    }
    if told.len() > COMPLAINTS {
        talk(&format!("{what}: {} more; --json lists them all", told.len() - COMPLAINTS));
    }
}

/// Tells of several files in one line.
fn tell_files(what: &str, files: &[&PathBuf]) {
    if files.is_empty() {
        return;
    }
    let names: Vec<String> = files.iter().take(COMPLAINTS).map(|file| file.display().to_string()).collect();
    let more = if files.len() > COMPLAINTS { ", …" } else { "" };
    talk(&format!("{} {what}: {}{more}", counted(files.len() as u64, "file"), names.join(", ")));
}

impl Found {
    fn of(named: &[PathBuf]) -> anyhow::Result<Self> {
        let mut found = Self::default();
        for path in named {
            if !path.is_dir() {
                found.files.push((path.clone(), false));
                continue;
            }
            let before = found.files.len() + found.packed.len();
            found.walk(path)?;
            if found.files.len() + found.packed.len() == before {
                bail!("{} holds no .json, .jsonl or .zip file", path.display());
            }
        }
        Ok(found)
    }

    fn walk(&mut self, folder: &Path) -> anyhow::Result<()> {
        let unreadable = || format!("{} cannot be read", folder.display());
        if !self.seen.insert(folder.canonicalize().with_context(unreadable)?) {
            return Ok(());
        }
        let entries = std::fs::read_dir(folder).with_context(unreadable)?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
        paths.sort();
        for path in paths {
            let name = path.to_string_lossy().to_lowercase();
            if path.is_dir() {
                self.walk(&path)?;
            } else if [".json", ".jsonl", ".zip"].iter().any(|ending| name.ends_with(ending)) {
                self.files.push((path, true));
            } else if name.ends_with(".jsonl.zst") {
                self.packed.push(path);
            }
        }
        Ok(())
    }

    /// The rollout of Codex that an id belongs to, among these files and those beside one of them.
    fn rollout(&self, id: &str, beside: &Path) -> Option<Vec<u8>> {
        let endings = [format!("-{id}.jsonl"), format!("_{id}.jsonl")];
        let is_it = |path: &PathBuf| endings.iter().any(|ending| path.to_string_lossy().ends_with(ending));
        let folder = beside.canonicalize().ok().and_then(|path| std::fs::read_dir(path.parent()?).ok());
        let mut neighbours = folder.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let found = self.files.iter().map(|(path, _)| path).find(|path| is_it(path)).cloned();
        std::fs::read(found.or_else(|| neighbours.find(is_it))?).ok()
    }
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
    /// One JSON line for each session, everything as it came and what was decided about it; `import` reads it back
    Jsonl,
    /// One JSON line for each branch, as OpenAI chat messages, for tools that read nothing else
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
    /// The file to write, over what is in it; standard output if not given
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
        let out = self.out(desk)?;
        let written = self.written(desk, &store, &sessions, out);
        // What is printed goes where others may not take it: there Ctrl-C ends the process.
        left_out.extend(match &self.output {
            None => written.await?,
            Some(path) => tokio::select! {
                written = written => written?,
                _ = tokio::signal::ctrl_c() => bail!("stopped: {} is as it was", path.display()),
            },
        });
        if let Some(path) = &self.output {
            talk(&format!("{} written to {}", counted(sessions.len() as u64, "session"), path.display()));
        }
        for what in &left_out {
            talk(&format!("left out: {what}"));
        }
        Ok(if left_out.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Writes sessions, the newest of which is the first, and tells what is left out.
    async fn written(
        &self,
        desk: &Desk,
        store: &dyn Store,
        sessions: &[Session],
        mut out: Option<Output>,
    ) -> anyhow::Result<Vec<String>> {
        let mut left_out = Vec::new();
        let bar = progress(sessions.len() as u64, "exporting");
        // Oldest first, so that reading the file back gives the same order.
        for session in sessions.iter().rev() {
            let (whole, lost) = whole(desk, store, session).await?;
            for piece in api::Shape::from(self.format).pieces(whole) {
                match &mut out {
                    Some(file) => file.write(&piece)?,
                    None => std::io::stdout().lock().write_all(shown(&piece).as_bytes())?,
                }
            }
            left_out.extend(lost);
            bar.inc(1);
        }
        out.map_or(Ok(()), Output::finish)?;
        bar.finish_and_clear();
        Ok(left_out)
    }

    /// The file that it is written to, unless that is standard output.
    fn out(&self, desk: &Desk) -> anyhow::Result<Option<Output>> {
        let Some(path) = &self.output else { return Ok(None) };
        let is_store = desk.settings.store.file().is_some_and(|store| is_own(store, path));
        ensure!(!is_store, "{} is the store itself, or belongs to it: name another file", path.display());
        Output::over(path).map(Some)
    }
}

/// A session as far as it can be read, and what is left out.
async fn whole(desk: &Desk, store: &dyn Store, session: &Session) -> anyhow::Result<(Whole, Option<String>)> {
    let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
    match Whole::read(store, &key, session.clone()).await {
        Err(Error::Damaged(_)) => {}
        read => return Ok((read?, None)),
    }
    let rest = salvage::messages(store, &key, session.messages).await?;
    let whose = sessions::heading(desk, store, session).await?;
    let what = if rest.lost.is_empty() { "what was decided".to_owned() } else { ranges(&rest.lost) };
    let lost = format!("{what} of {whose}: damaged");
    Ok((Whole::rest(store, &key, session.clone(), rest.messages).await, Some(lost)))
}
