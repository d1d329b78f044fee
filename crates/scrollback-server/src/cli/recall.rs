//! `scrollback recall SESSION page 42`, `summary s60`, `hold h12`, `topic t42` or words: what a model would be told if
//! it asked.

use std::process::ExitCode;

use anyhow::{anyhow, bail, ensure};
use clap::{Args, Subcommand};
use scrollback::recall::{RecallCall, RecallTool};
use scrollback::{Error, MessageId};

use super::control::{Where, typed};
use super::{Desk, say, say_json};

/// What can be recalled.
const WHAT: &str = "say what to recall: words, page N, hold H, summary S or topic T";

#[derive(Debug, Args)]
pub(super) struct Recall {
    /// The session: its name, its id, or the beginning of either
    session: String,
    /// Words to look for outside the window, the same as search
    words: Vec<String>,
    #[command(subcommand)]
    what: Option<What>,
    /// Which branch; the newest if not given
    #[arg(long, global = true)]
    branch: Option<u32>,
    /// The limit of the model whose windows are meant, in tokens; that of the newest window if not given
    #[arg(long, global = true, value_name = "TOKENS")]
    limit: Option<u32>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// A folded page, by its number
    Page {
        /// Its number, as on the contents page
        number: String,
    },
    /// What a summary tells of, word for word
    Summary {
        /// Its name, such as s60
        name: String,
        /// Only messages with these words
        #[arg(long)]
        words: Option<String>,
        /// Where to begin, such as m12; with its first message if not given
        #[arg(long, value_name = "MESSAGE")]
        from: Option<String>,
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
    /// What is meant where only words are given.
    fn said(words: Vec<String>) -> anyhow::Result<Self> {
        ensure!(!words.is_empty(), WHAT);
        Ok(Self::Search { words })
    }

    /// The call that a model would make.
    fn call(&self) -> anyhow::Result<RecallCall> {
        let (tool, arguments) = match self {
            Self::Page { number } => (RecallTool::Page, serde_json::json!({"index": number})),
            Self::Summary { name, words, from } => {
                (RecallTool::Summary, serde_json::json!({"id": name, "words": words, "from": from}))
            }
            Self::Hold { id, part } => (RecallTool::Hold, serde_json::json!({"id": id, "part": part})),
            Self::Topic { words } => (RecallTool::Topic, serde_json::json!({"topic": words.join(" ")})),
            Self::Search { words } => (RecallTool::Search, serde_json::json!({"words": words.join(" ")})),
        };
        RecallCall::read(tool, &arguments.to_string())
            .map_err(|complaint| anyhow!(self.unclear().unwrap_or(&complaint).to_owned()))
    }

    /// What a person is told who does not say what is meant; a model is told otherwise.
    fn unclear(&self) -> Option<&'static str> {
        let is_blank = |words: &[String]| words.iter().all(|word| word.trim().is_empty());
        match self {
            Self::Page { .. } => Some("a page is a number, such as 42: `scrollback show SESSION --pages` lists them"),
            Self::Summary { .. } => Some("a summary has a name such as s60: `scrollback notes SESSION` lists them"),
            Self::Hold { .. } => Some("a tool result has an id such as h12: `scrollback holds SESSION` lists them"),
            Self::Topic { words } => is_blank(words).then_some("say which topic: its id, such as t42, or words"),
            Self::Search { words } => is_blank(words).then_some(WHAT),
        }
    }
}

impl Recall {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let call = self.what.map_or_else(|| What::said(self.words), Ok)?.call()?;
        let room = desk.room(desk.engine(desk.reading().await?));
        let meant = Where::on(&self.session, self.branch, self.limit);
        let place = desk.place(&room, &meant).await?;
        let fold = room.fold(&place).await?;
        let told = room.engine.recall_for_model(&place.key, place.head, &fold, &call).await;
        let told = told.map_err(|error| match (&call, error) {
            (RecallCall::Topic { words, .. }, Error::NotFound(_)) => {
                anyhow!("no topic matches “{words}”: `scrollback topics {}` lists them", meant.typed())
            }
            (_, error) => error.into(),
        })?;
        let is_open = |number: u32| fold.covers.is_none_or(|covers| number > covers.last.0);
        if let RecallCall::Page { number, .. } = call
            && is_open(number)
        {
            let session = typed(&self.session);
            bail!("page {number} is not folded: `scrollback show {session} --message m{number}` shows it");
        }
        if let RecallCall::Summary { number, .. } = call {
            let had = room.engine.had_summary(&place.key, MessageId(number)).await?;
            ensure!(had, "there is no summary s{number}: `scrollback notes {}` lists what there is", meant.typed());
        }
        if desk.json {
            say_json(&serde_json::json!({"text": told}))?;
        } else {
            say(told)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
