//! `scrollback holds`: the large tool results that are kept and shown as placeholders. `--clean` erases old ones, and
//! only on a person's word.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use scrollback::engine::{Held, erase_results};
use scrollback::store::{Session, Which};
use scrollback::{At, Error, Forget as _, MessageId, SessionKey, Store};
use serde::Serialize;

use super::forget::confirm;
use super::{Desk, counted, grouped, local, now, progress, say, say_json, shortened, table, talk};

/// How many columns of a query and of a digest are shown.
const QUERY_COLUMNS: usize = 24;
const DIGEST_COLUMNS: usize = 48;

#[derive(Debug, Args)]
pub(super) struct Holds {
    /// The session: its name, its id, or the beginning of either; all of them if not given
    session: Option<String>,
    /// Erase what old results say, for good
    #[arg(long)]
    clean: bool,
    /// With --clean: how old, such as 30d, 12h or 4w; `holds.keep_days` if not given
    #[arg(long, requires = "clean", value_name = "AGE", value_parser = age)]
    older_than: Option<Duration>,
    /// Do not ask
    #[arg(long, requires = "clean")]
    yes: bool,
}

/// An age in hours, days or weeks.
fn age(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let hours = match &text[digits.len()..] {
        "h" => 1,
        "d" | "" => 24,
        "w" => 24 * 7,
        _ => 0,
    };
    let count = digits.parse::<u64>().ok().filter(|_| hours > 0);
    let seconds = count.and_then(|count| count.checked_mul(hours * 3_600));
    seconds.map(Duration::from_secs).ok_or_else(|| "write an age such as 30d, 12h or 4w".to_owned())
}

/// A hold as JSON.
#[derive(Serialize)]
struct Line<'a> {
    session: String,
    id: String,
    at: String,
    tool: Option<&'a str>,
    query: Option<&'a str>,
    chars: usize,
    brief: &'a str,
    sources: &'a [String],
    erased: bool,
}

impl<'a> Line<'a> {
    fn of(session: &Session, held: &'a Held) -> Self {
        Self {
            session: session.id.to_string(),
            id: format!("h{}", held.id.0),
            at: held.at.to_string(),
            tool: held.tool.as_deref(),
            query: held.query.as_deref(),
            chars: held.told.chars,
            brief: &held.told.brief,
            sources: &held.told.sources,
            erased: held.erased,
        }
    }
}

impl Holds {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        if self.clean {
            return self.clean(desk).await;
        }
        let store = desk.reading().await?;
        let held = all(desk, &store, self.session.as_deref()).await?;
        if desk.json {
            held.iter().try_for_each(|(session, held)| say_json(&Line::of(session, held)))?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut lines = table(&["session", "id", "time", "chars", "tool", "query", "digest"], &[3]);
        for (session, held) in &held {
            lines.add_row([
                session.id.to_string()[..12].to_owned(),
                format!("h{}", held.id.0),
                local(held.at),
                grouped(held.told.chars as u64),
                held.tool.clone().unwrap_or_default(),
                shortened(held.query.as_deref().unwrap_or_default(), QUERY_COLUMNS),
                shortened(&held.told.brief, DIGEST_COLUMNS),
            ]);
        }
        say(lines.trim_fmt())?;
        say(format!("{}; `scrollback recall SESSION hold ID` shows one", counted(held.len() as u64, "held result")))?;
        Ok(ExitCode::SUCCESS)
    }

    async fn clean(&self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let age = self.older_than.or(desk.settings.keep_holds);
        let age = age.context("nothing says how old: --older-than 30d, or holds.keep_days in the settings")?;
        let before = At(now().0.saturating_sub(i64::try_from(age.as_micros()).unwrap_or(i64::MAX)));
        let store = desk.changing().await?;
        let mut old = all(desk, &*store, self.session.as_deref()).await?;
        old.retain(|(_, held)| !held.erased && held.at < before);
        if !old.is_empty() && !self.yes {
            let chars: usize = old.iter().map(|(_, held)| held.told.chars).sum();
            let what = counted(old.len() as u64, "tool result");
            let (before, chars) = (local(before), grouped(chars as u64));
            confirm(&format!("{what} from before {before}, {chars} characters, will be erased for good"))?;
        }
        let bar = progress(old.len() as u64, "erasing");
        let mut erased = 0;
        for of_one in old.chunk_by(|(one, _), (other, _)| one.id == other.id) {
            let key = SessionKey { tenant: desk.tenant.clone(), id: of_one[0].0.id };
            let ids: Vec<MessageId> = of_one.iter().map(|(_, held)| held.id).collect();
            erased += erase_results(&*store, &key, &ids, now()).await?;
            bar.inc(ids.len() as u64);
        }
        store.wipe().await?;
        bar.finish_and_clear();
        if desk.json {
            say_json(&serde_json::json!({"erased": erased}))?;
        } else {
            talk(&format!("erased {}; their places and their placeholders stay", counted(erased, "tool result")));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The holds of a session, or of all: what windows hold, and what no window had yet.
async fn all(desk: &Desk, store: &dyn Store, name: Option<&str>) -> anyhow::Result<Vec<(Session, Held)>> {
    let sessions = match name {
        Some(name) => vec![desk.session(store, name).await?],
        None => store.sessions(&desk.tenant, Which::Page { skip: 0, limit: usize::MAX >> 1 }).await?,
    };
    let mut all = Vec::new();
    for session in sessions {
        let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
        let mut held = Held::all(store, &key).await?;
        match Held::unrecorded(store, &key, &desk.settings.engine.strategies.holds, &held).await {
            Ok(fresh) => held.extend(fresh),
            Err(Error::Damaged(what)) => {
                talk(&format!("{}: what no window had yet is not listed, as {what}; see `scrollback doctor`", key.id));
            }
            Err(error) => return Err(error.into()),
        }
        held.sort_by_key(|held| held.id);
        all.extend(held.into_iter().map(|held| (session.clone(), held)));
    }
    Ok(all)
}
