//! `scrollback jobs`: the work that waits, is under way, done or given up. Reads only, beside a running server too.

use std::process::ExitCode;

use clap::Args;
use scrollback::engine::{JobLine, JobState};

use super::{Desk, counted, local, say, say_json, shortened, table};

/// How many columns of a reason are shown.
const REASON_COLUMNS: usize = 60;

#[derive(Debug, Args)]
pub(super) struct Jobs {}

impl Jobs {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let jobs = desk.engine(desk.reading().await?).jobs(&desk.tenant).await?;
        if desk.json {
            jobs.iter().try_for_each(say_json)?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut lines = table(&["kind", "session", "layout", "state", "tries", "next try", "last error"], &[4]);
        for job in &jobs {
            lines.add_row([
                job.kind.to_string(),
                job.session.to_string()[..12].to_owned(),
                job.layout.clone(),
                state(job).to_owned(),
                job.tries.to_string(),
                job.state.due().map_or_else(|| "–".to_owned(), local),
                shortened(job.last_error.as_deref().unwrap_or_default(), REASON_COLUMNS),
            ]);
        }
        say(lines.trim_fmt())?;
        let open = jobs.iter().filter(|job| job.state.due().is_some()).count();
        say(format!("{}, {open} not done", counted(jobs.len() as u64, "job")))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// How far work is, in a word.
fn state(job: &JobLine) -> &'static str {
    match job.state {
        JobState::Waiting { .. } => "waiting",
        JobState::Claimed { .. } => "under way",
        JobState::Done => "done",
        JobState::Failed { .. } => "given up",
    }
}
