//! `scrollback doctor`: is every byte what was written?

use std::process::ExitCode;

use clap::Args;

use super::{Desk, counted, progress, say, say_json, talk};

#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// First take out damaged records (of windows, folds and the like), build the search index anew and wipe what was
    /// forgotten; messages are never changed
    #[arg(long)]
    repair: bool,
}

impl Doctor {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        if self.repair {
            let store = desk.changing().await?;
            talk(&store.repair().await?);
        }
        let store = desk.reading().await?;
        let bar = progress(0, "checking");
        let shown = bar.clone();
        let checkup = store
            .check(move |seen| {
                shown.update(|state| {
                    state.set_len(seen);
                    state.set_pos(seen);
                });
            })
            .await?;
        bar.finish_and_clear();
        if desk.json {
            say_json(&checkup)?;
        } else {
            let (sessions, messages) = (counted(checkup.sessions, "session"), counted(checkup.messages, "message"));
            say(format!("{}: {sessions}, {messages}, {}", store.place(), counted(checkup.records, "record")))?;
            checkup.problems.iter().chain(&checkup.remarks).try_for_each(|found| say(format!("  {found}")))?;
            say(match checkup.problem_count {
                0 if checkup.remarks.is_empty() => "all is well".to_owned(),
                0 => "nothing is damaged".to_owned(),
                count => format!("{}. {}", counted(count, "problem"), self.advice()),
            })?;
        }
        Ok(if checkup.problem_count == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// What to do about problems; what was just done is no advice.
    fn advice(&self) -> &'static str {
        if self.repair {
            "The search index was built anew; what is damaged still, only a backup has, or the file it was imported from: `scrollback \
             import` puts it back. Keep a copy of the store before you do anything else; `scrollback migrate-store` moves what can be \
             read to another store, `scrollback export` writes it"
        } else {
            "Keep a copy of the store before you do anything else; `scrollback doctor --repair` takes out damaged records and builds \
             the search index anew, `scrollback import` puts back what the file has that it was imported from, `scrollback export` \
             writes what can be read, and a backup has what is damaged"
        }
    }
}
