//! `scrollback migrate-store FROM TO`: everything from one store to another, a file or a database, and back. Cut short,
//! it goes on where it ended; every parcel is read back and compared.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail, ensure};
use clap::Args;
use scrollback::ids::Hash128;
use scrollback::store::Label;
use scrollback::{Error, SqliteOptions};
use serde::Serialize;

use super::{Desk, counted, progress, say_json, talk};
use crate::access::{TOKENS, join_tokens};
use crate::store::{Opened, Place};

#[derive(Debug, Args)]
pub(super) struct MigrateStore {
    /// The store to read: a file (sqlite:FILE), or postgres://…
    #[arg(value_name = "FROM")]
    from: String,
    /// The store to write to; it may hold part of the same already
    #[arg(value_name = "TO")]
    to: String,
}

/// What was moved.
#[derive(Debug, Default, Serialize)]
struct Moved {
    sessions: u64,
    messages: u64,
    records: u64,
    /// Parcels that were there before, and the same.
    there_before: u64,
    /// What is damaged, in words.
    damaged: Vec<String>,
    /// The hash of all that was moved, in order.
    hash: Hash128,
}

impl MigrateStore {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        ensure!(self.from != self.to, "both are the same store");
        let (from, to) = (named(desk, &self.from)?, named(desk, &self.to)?);
        if let Some(file) = from.file().filter(|file| !file.exists()) {
            bail!("there is no store at {}", file.display());
        }
        // Opened for writing, a file has nobody else who writes to it meanwhile.
        let from = if from.file().is_some() { from.writing().await.map_err(held)? } else { from.reading().await? };
        let to = to.writing().await.map_err(held)?;
        let moved = moved(&from, &to).await?;
        if desk.json {
            say_json(&moved)?;
        } else {
            let (sessions, messages) = (counted(moved.sessions, "session"), counted(moved.messages, "message"));
            talk(&format!(
                "{sessions}, {messages}, {} from {} are in {}, every one compared; hash {}",
                counted(moved.records, "record"),
                from.place(),
                to.place(),
                moved.hash
            ));
            if moved.there_before > 0 {
                talk(&format!("{} had been moved before", counted(moved.there_before, "parcel")));
            }
            moved.damaged.iter().for_each(|what| talk(what));
        }
        Ok(if moved.damaged.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// The same error, without advice on options that say nothing here.
fn held(error: anyhow::Error) -> anyhow::Error {
    match error.downcast() {
        Ok(Error::InUse { path, holder }) => {
            anyhow!(
                "{} is open in another process ({holder}). Stop that process first; nothing was moved",
                path.display()
            )
        }
        Ok(error) => error.into(),
        Err(error) => error,
    }
}

/// A store by what a person calls it.
fn named(desk: &Desk, name: &str) -> anyhow::Result<Place> {
    let path = Place::unprefixed(Path::new(name));
    if Place::is_database(path) {
        let usual = match &desk.settings.store {
            Place::Database(options, _) => options.clone(),
            Place::File(_) => scrollback::PostgresOptions::new(""),
        };
        let options = scrollback::PostgresOptions { url: name.to_owned(), ..usual };
        return Ok(Place::Database(options, PathBuf::from(desk.settings.store.beside())));
    }
    ensure!(!name.contains("://"), "“{name}” is no store: write sqlite:FILE or postgres://user:password@host/name");
    Ok(Place::File(SqliteOptions::new(path)))
}

async fn moved(from: &Opened, to: &Opened) -> anyhow::Result<Moved> {
    let labels = from.moving().labels().await?;
    let bar = progress(labels.len() as u64, "moving");
    let mut moved = Moved::default();
    for label in &labels {
        match one(from, to, label, &mut moved).await {
            Err(error) if matches!(error.downcast_ref(), Some(Error::Damaged(_))) => {
                moved.damaged.push(format!("left behind: {error:#}"));
            }
            done => done?,
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(moved)
}

/// Moves one parcel, unless it is there, and compares what arrived.
async fn one(from: &Opened, to: &Opened, label: &Label, moved: &mut Moved) -> anyhow::Result<()> {
    let are_tokens = label.session.is_none() && label.tenant.as_str() == TOKENS;
    let what = || match label.session {
        Some(id) => format!("session {id}"),
        None if are_tokens => "one of the tokens".to_owned(),
        None => format!("what is {}’s own", label.tenant.as_str()),
    };
    let Some(parcel) = from.moving().pack(label).await.with_context(what)? else { return Ok(()) };
    moved.damaged.extend(parcel.damaged().into_iter().map(|damaged| format!("{}: {damaged}", what())));
    let (sent, marks) = (parcel.digest(), parcel.marks());
    moved.sessions += u64::from(label.session.is_some());
    moved.messages += parcel.messages() as u64;
    moved.records += parcel.records() as u64;
    moved.hash = Hash128::of("moved", &[&moved.hash.0, &sent.0]);
    // A tenant may have more of its own there, such as tokens that were made since.
    let arrived = async || {
        let there = to.moving().pack(label).await?;
        Ok::<_, Error>(there.is_some_and(|there| there.marks().is_superset(&marks)))
    };
    if arrived().await? {
        moved.there_before += 1;
        return Ok(());
    }
    match to.moving().unpack(parcel).await {
        Ok(()) => {}
        Err(Error::Conflict(_)) if are_tokens => {
            moved.there_before += u64::from(join_tokens(from, to).await? == 0);
            return Ok(());
        }
        Err(Error::Conflict(which)) => bail!(
            "{} differs in the two stores ({which}): one of them was written to since. Move to an empty store",
            what()
        ),
        Err(error) => return Err(error).with_context(what),
    }
    ensure!(arrived().await?, "{} did not arrive as it left", what());
    Ok(())
}
