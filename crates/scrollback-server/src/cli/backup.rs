//! `scrollback backup FILE`: a copy of the store as it is now, whoever is writing to it.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{bail, ensure};
use clap::Args;

use super::{Desk, progress, say_json, talk};
use crate::store::Opened;

#[derive(Debug, Args)]
pub(super) struct Backup {
    /// The file to write; it is a store like any other
    #[arg(value_name = "FILE")]
    to: PathBuf,
    /// Write over a file that is there
    #[arg(long)]
    force: bool,
}

impl Backup {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let Opened::File(store) = desk.reading().await? else {
            bail!("the store is a database: copy it with pg_dump; docs/operating.md says how");
        };
        let to = self.to.display();
        ensure!(!is_own(store.path(), &self.to), "{to} is the store itself, or belongs to it: name another file");
        ensure!(self.force || !self.to.exists(), "{to} is there already: name another file, or say --force");
        let bar = progress(0, "copying");
        let (shown, stopped) = (bar.clone(), Arc::new(AtomicBool::new(false)));
        let is_stopped = stopped.clone();
        let told = move |done, all| {
            shown.set_length(all);
            shown.set_position(done);
            if is_stopped.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let copying = store.back_up(&self.to, told);
        tokio::pin!(copying);
        tokio::select! {
            done = &mut copying => done?,
            // Whoever copies removes what there is of it.
            _ = tokio::signal::ctrl_c() => {
                stopped.store(true, Ordering::Relaxed);
                tokio::select! {
                    done = &mut copying => done?,
                    _ = tokio::signal::ctrl_c() => bail!("stopped at once: a part of the copy may lie beside {to}"),
                }
            }
        }
        bar.finish_and_clear();
        let bytes = std::fs::metadata(&self.to)?.len();
        if desk.json {
            say_json(&serde_json::json!({"file": self.to, "bytes": bytes}))?;
        } else {
            let from = store.path().display();
            talk(&format!("{from} is copied to {to}; `scrollback doctor --store {to}` checks every byte of it"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Whether a file is the store, or one of those that lie beside it.
pub(super) fn is_own(store: &Path, other: &Path) -> bool {
    let others = names(other);
    let is_other = |name: PathBuf| others.contains(&name);
    let endings = ["", "-wal", "-shm", "-journal", ".lock", ".serve"];
    let of_store = |store: &PathBuf| endings.map(|ending| PathBuf::from(format!("{}{ending}", store.display())));
    names(store).iter().flat_map(of_store).any(is_other)
}

/// The full names of a file, whether it is there or not: in its folder, and where it leads to.
fn names(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let named = std::fs::canonicalize(folder).ok().zip(path.file_name()).map(|(folder, name)| folder.join(name));
    named.into_iter().chain(std::fs::canonicalize(path)).collect()
}
