//! `scrollback review`: the daily review of topics, now, with the helper if there is one. `--dry-run` only tells what
//! it would do. A session that cannot be reviewed is told and does not keep the others from it.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use scrollback::engine::{Fate, ReviewMode, ReviewReport, Verdict};
use scrollback::store::{Session, Which};
use scrollback::{Engine, SessionKey, Store};
use serde::Serialize;

use super::serve::tasks;
use super::show::branch;
use super::{Desk, counted, now, progress, say, say_json, shortened, table, talk};

const NAME_COLUMNS: usize = 48;

#[derive(Debug, Args)]
pub(super) struct Review {
    /// The session: its name, its id, or the beginning of either; all of them if not given
    session: Option<String>,
    /// Change nothing, only tell what would happen
    #[arg(long)]
    dry_run: bool,
}

/// What became of a topic, as JSON.
#[derive(Serialize)]
struct Line<'a> {
    session: String,
    topic: String,
    name: &'a str,
    messages: u32,
    importance: Option<f32>,
    what: String,
}

impl Review {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let mode = if self.dry_run { ReviewMode::Dry } else { ReviewMode::Do };
        let store = match mode {
            ReviewMode::Dry => Arc::new(desk.reading().await?),
            ReviewMode::Do => desk.changing().await?,
        };
        let sessions = match &self.session {
            Some(name) => vec![desk.session(&*store, name).await?],
            None => store.sessions(&desk.tenant, Which::Page { skip: 0, limit: usize::MAX >> 1 }).await?,
        };
        let engine = Engine::new(store.clone(), tasks(&desk.settings.serve)?, desk.settings.engine.clone());
        let bar = progress(sessions.len() as u64, "reviewing");
        let (mut reports, mut code) = (Vec::new(), ExitCode::SUCCESS);
        for session in sessions {
            match reviewed(desk, &engine, &session, mode).await {
                Ok(report) => reports.extend(report.map(|report| (report, session))),
                Err(error) => {
                    bar.suspend(|| talk(&format!("{} could not be reviewed: {error:#}", session.id)));
                    code = ExitCode::FAILURE;
                }
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        self.tell(desk, &reports)?;
        Ok(code)
    }

    fn tell(&self, desk: &Desk, reports: &[(ReviewReport, Session)]) -> anyhow::Result<()> {
        let verdicts: Vec<(&Verdict, &Session)> = reports
            .iter()
            .flat_map(|(report, session)| report.verdicts.iter().map(move |one| (one, session)))
            .collect();
        if desk.json {
            return verdicts.iter().try_for_each(|(verdict, session)| say_json(&line(verdict, session)));
        }
        let mut lines = table(&["session", "topic", "name", "messages", "importance", "what happens"], &[3, 4]);
        for (verdict, session) in &verdicts {
            lines.add_row([
                session.id.to_string()[..12].to_owned(),
                verdict.topic.to_string(),
                shortened(&verdict.name, NAME_COLUMNS),
                verdict.messages.to_string(),
                verdict.importance.map_or("–".into(), |degree| format!("{degree:.2}")),
                what(verdict.fate),
            ]);
        }
        say(lines.trim_fmt())?;
        let done = if self.dry_run { "would be reviewed" } else { "reviewed" };
        talk(&format!("{} {done}", counted(verdicts.len() as u64, "topic")));
        let left: u64 = reports.iter().map(|(report, _)| u64::from(report.left)).sum();
        if left > 0 {
            talk(&format!("{} left for the next review", counted(left, "topic")));
        }
        Ok(())
    }
}

/// Reviews the newest branch of a session; `None` if it has no messages.
async fn reviewed(
    desk: &Desk,
    engine: &Engine,
    session: &Session,
    mode: ReviewMode,
) -> anyhow::Result<Option<ReviewReport>> {
    let Some(branch) = branch(session, None)? else { return Ok(None) };
    let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
    Ok(Some(engine.review(&key, branch.head, now(), mode).await?))
}

fn line<'a>(verdict: &'a Verdict, session: &Session) -> Line<'a> {
    let Verdict { topic, name, messages, importance, fate } = verdict;
    let (session, topic) = (session.id.to_string(), topic.to_string());
    Line { session, topic, name, messages: *messages, importance: *importance, what: what(*fate) }
}

fn what(fate: Fate) -> String {
    match fate {
        Fate::Kept => "kept".to_owned(),
        Fate::Merged(into) => format!("merged into {into}"),
        Fate::Archived => "archived".to_owned(),
        Fate::Skipped => "skipped: it changed meanwhile".to_owned(),
    }
}
