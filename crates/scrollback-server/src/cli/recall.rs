//! `scrollback recall SESSION page 42`, `hold h12` or `topic t42`: what a model would be told if it asked.

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use scrollback::note::Fold;
use scrollback::recall::{RecallCall, RecallTool};
use scrollback::store::Position;
use scrollback::{Engine, SessionKey};

use super::show::branch;
use super::{Desk, say, say_json};

#[derive(Debug, Args)]
pub(super) struct Recall {
    /// The session: its name, its id, or the beginning of either
    session: String,
    #[command(subcommand)]
    what: What,
    /// Which branch; the newest if not given
    #[arg(long)]
    branch: Option<u32>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// A folded page, by its number
    Page {
        /// Its number, as on the contents page
        number: String,
    },
    /// A tool result, by its id
    Hold {
        /// Its id, such as h12
        id: String,
        /// Lines such as 10-80, or words to look for; all of it if not given
        #[arg(long)]
        part: Option<String>,
    },
    /// A topic, by its id or by words about it
    Topic {
        /// Its id, such as t42, or words
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// What a search would find outside the window
    Search {
        /// Words to look for
        #[arg(required = true)]
        words: Vec<String>,
    },
}

impl What {
    /// The call that a model would make.
    fn call(&self) -> anyhow::Result<RecallCall> {
        let (tool, arguments) = match self {
            Self::Page { number } => (RecallTool::Page, serde_json::json!({"index": number})),
            Self::Hold { id, part } => (RecallTool::Hold, serde_json::json!({"id": id, "part": part})),
            Self::Topic { words } => (RecallTool::Topic, serde_json::json!({"topic": words.join(" ")})),
            Self::Search { words } => (RecallTool::Search, serde_json::json!({"words": words.join(" ")})),
        };
        RecallCall::read(tool, &arguments.to_string()).map_err(|complaint| anyhow::anyhow!(complaint))
    }
}

impl Recall {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let store = desk.reading()?;
        let session = desk.session(&store, &self.session).await?;
        let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
        let head = branch(&session, self.branch)?.context("the session has no messages")?.head;
        let (engine, call) = (desk.engine(store), self.what.call()?);
        let fold = fold(&engine, &key, head).await?;
        let told = engine.recall_at(&key, head, &fold, &call).await?;
        let is_open = |number: u32| fold.covers.is_none_or(|covers| number > covers.last.0);
        if let RecallCall::Page { number, .. } = call
            && is_open(number)
        {
            bail!("page {number} is not folded: `scrollback show {} --message m{number}` shows it", self.session);
        }
        if desk.json {
            say_json(&serde_json::json!({"text": told}))?;
        } else {
            say(told)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The fold that counts for a path, as the newest window was laid out.
async fn fold(engine: &Engine, key: &SessionKey, head: Position) -> anyhow::Result<Fold> {
    let views = engine.views(key).await?;
    let Some(newest) = views.iter().max_by_key(|recorded| recorded.at) else { return Ok(Fold::default()) };
    Ok(engine.fold_at(key, head, &newest.view.layout).await?.1)
}
