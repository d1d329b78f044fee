//! `scrollback backup FILE`: a copy of the store as it is now, whoever is writing to it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

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
        ensure!(!is_same(store.path(), &self.to), "{to} is the store itself: name another file");
        ensure!(self.force || !self.to.exists(), "{to} is there already: name another file, or say --force");
        let bar = progress(0, "copying");
        let shown = bar.clone();
        let told = move |done, all| {
            shown.set_length(all);
            shown.set_position(done);
        };
        store.back_up(&self.to, told).await?;
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

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path| std::fs::canonicalize(path).ok();
    real(one).is_some() && real(one) == real(other)
}
