//! `scrollback demo`: a shipped conversation is kept, shown and searched, in a store of its own.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use scrollback::import::{self, Format};
use scrollback::search::{Query, find};
use scrollback::store::{Span, Which};
use scrollback::{Log, SqliteOptions, SqliteStore, Store};

use super::{Desk, counted, now, say, search, show};

const SAMPLE: &str = include_str!("../../../../fixtures/samples/harbour.jsonl");
/// What is looked for: something said early, in each language of the sample.
const LOOK_FOR: [&str; 3] = ["tide gauge port", "押金", "renewal deadline"];
/// How many messages are shown.
const SHOWN: usize = 4;

#[derive(Debug, Args)]
pub(super) struct Demo {}

impl Demo {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let folder = std::env::temp_dir().join(format!("scrollback-demo-{}", std::process::id()));
        std::fs::create_dir_all(&folder).context("the demo needs a temporary folder")?;
        let outcome = play(desk, &SqliteOptions::new(folder.join("demo.db"))).await;
        std::fs::remove_dir_all(&folder).context("the demo's temporary folder could not be removed")?;
        outcome.map(|()| ExitCode::SUCCESS)
    }
}

async fn play(desk: &Desk, options: &SqliteOptions) -> anyhow::Result<()> {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(options)?);
    let log = Log::new(store.clone());
    let conversation = import::read(Format::OpenAi, SAMPLE)?.conversations.into_iter().next();
    let conversation = conversation.context("the sample is empty")?;
    let first = import::store(&log, &desk.tenant, &conversation, now()).await?;
    let again = import::store(&log, &desk.tenant, &conversation, now()).await?;
    say(format!("1. A conversation of {} is kept in one file.", counted(first.added as u64, "message")))?;
    say(format!("   Sent once more, as clients do every turn, it adds {}.", counted(again.added as u64, "message")))?;
    say("\n2. Its end, word for word:")?;
    let newest = store.sessions(&desk.tenant, Which::Page { skip: 0, limit: 1 }).await?;
    let branch = newest.first().and_then(|session| session.branches.first()).context("nothing was kept")?;
    let path = store.read(&first.session, Span::path(branch.head, scrollback::ids::Depth(0))).await?;
    path.iter().rev().take(SHOWN).rev().try_for_each(show::print)?;
    let tokens: u64 = path.iter().map(|stored| u64::from(stored.measure.tokens)).sum();
    say(format!("\n   The whole of it: {}.", counted(tokens, "token")))?;
    say("\n3. Found again, in any language:")?;
    for words in LOOK_FOR {
        say(format!("\n   search {words}"))?;
        let query = Query { limit: 2, ..Query::new(words) };
        find(&*store, &desk.tenant, &query).await?.iter().try_for_each(search::print)?;
    }
    say(
        "\nNext: `scrollback import conversations.json` reads your own history from ChatGPT, Claude, Claude Code or Codex;",
    )?;
    say("`scrollback sessions`, `show`, `search` and `export` work on it. `scrollback --help` lists the rest.")
}
