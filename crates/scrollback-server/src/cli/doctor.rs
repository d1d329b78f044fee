//! `scrollback doctor`: is every byte what was written?

use std::process::ExitCode;

use clap::Args;

use super::{Desk, counted, progress, say, say_json, talk};

#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// First build the search index anew and wipe what was forgotten; messages are never changed
    #[arg(long)]
    repair: bool,
}

impl Doctor {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        if self.repair {
            let store = desk.changing().await?;
            talk(store.repair().await?);
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
            checkup.problems.iter().try_for_each(|problem| say(format!("  {problem}")))?;
            say(match checkup.problem_count {
                0 => "all is well".to_owned(),
                count => format!(
                    "{}. Keep a copy of the store before you do anything else; `scrollback doctor --repair` builds the search index \
                     anew, and a backup has what else is damaged",
                    counted(count, "problem")
                ),
            })?;
        }
        Ok(if checkup.problem_count == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
