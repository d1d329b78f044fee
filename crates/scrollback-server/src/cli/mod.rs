//! The command line: data on stdout, talk on stderr, `--json` everywhere.
//!
//! One file for each command, each with the same verb: `run`.

mod backup;
mod chat;
mod control;
mod demo;
mod diff;
mod doctor;
mod eval;
mod exchange;
mod forget;
mod holds;
mod jobs;
mod ledger;
mod mcp;
mod migrate_store;
mod models;
mod output;
mod pages;
mod recall;
mod review;
mod search;
mod serve;
mod sessions;
mod show;
mod terminal;
mod tokens;
mod topic_files;
mod topics;
mod views;
mod why;
mod window;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use futures_util::future::LocalBoxFuture;
use indicatif::{ProgressBar, ProgressStyle};
use scrollback::store::Session;
use scrollback::task::Tasks;
use scrollback::window::grouped;
use scrollback::{At, Engine, Error, Store, Tenant};
use tracing_subscriber::EnvFilter;

use crate::address::{self, Holder, Whereabouts};
use crate::api::{find_session, find_whole};
use crate::clock::now;
use crate::config::{self, Settings, Surroundings};
use crate::store::Opened;
pub(crate) use terminal::talk;
use terminal::{bold, columns, columns_of, say, say_json, shortened, table};

/// Says how much is told of what goes wrong,
const LOG: &str = "SCROLLBACK_LOG";
/// and what it may say.
const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];
/// How much is told where nobody says.
const USUAL_LOG: &str = "warn,rmcp=error";

/// Keeps whole conversations and shows a model the part that fits.
#[derive(Debug, Parser)]
#[command(name = "scrollback", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
struct Common {
    /// The file conversations are kept in (or sqlite:FILE), or a database: `postgres://user:password@host:5432/name`; also
    /// `SCROLLBACK_STORE` in the environment
    #[arg(long, global = true, value_name = "FILE")]
    store: Option<PathBuf>,
    /// The settings file; also `SCROLLBACK_CONFIG` in the environment
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Whose conversations: those of this tenant; `local` are yours
    #[arg(long, global = true, value_name = "NAME")]
    tenant: Option<String>,
    /// Print JSON, one value a line
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// See it work: a shipped conversation is kept, shown and searched
    Demo(demo::Demo),
    /// Talk with a model in the terminal, or through a pipe
    Chat(chat::Chat),
    /// Read conversations from ChatGPT, Claude, Claude Code, Codex, DeepSeek or OpenAI-style files
    ///
    /// Importing twice adds nothing, and a newer export adds what is new in it. Ends with 1 if something could not be
    /// read; files in a folder that hold no conversations are only named.
    Import(exchange::Import),
    /// Write conversations as JSONL or Markdown
    Export(exchange::Export),
    /// Run the proxy: point an OpenAI client at it
    Serve(serve::Serve),
    /// Let clients of MCP recall and read, over stdin and stdout
    Mcp(mcp::Mcp),
    /// List the conversations
    Sessions(sessions::Sessions),
    /// Show a conversation, a window that was sent, the ledger or the contents page
    Show(show::Show),
    /// Compare two windows that were sent
    Diff(diff::Diff),
    /// Why was a message in a window, or why not?
    Why(why::Why),
    /// Show a folded page or a held tool result, as a model would get it
    Recall(recall::Recall),
    /// Take back the newest fold
    Undo(control::Undo),
    /// Take up again what was undone last
    Redo(control::Redo),
    /// Fold now what would be folded when the window is full
    Compress(control::Compress),
    /// Show how windows of a conversation are laid out, or lay them out in another way
    Strategy(control::Strategy),
    /// Show messages in every window, however old they are
    Pin(control::Chosen),
    /// Pin messages no more
    Unpin(control::Chosen),
    /// Leave messages out of every window; the log keeps them
    Exclude(control::Chosen),
    /// Show messages again that were left out
    Include(control::Chosen),
    /// List what is pinned and what is left out
    Pins(control::Pins),
    /// List what the person told the model to keep to, let go of a rule, take it up again
    Rules(control::Rules),
    /// Show the notes that stand for what is folded
    Notes(control::Notes),
    /// Put your own words in the place of a note
    Edit(control::Edit),
    /// Show the documents a conversation was worked into, their versions and what changed
    Artifacts(control::Artifacts),
    /// List large tool results, or erase old ones
    Holds(holds::Holds),
    /// See what a model would be shown of a conversation, and why
    Window(window::Window),
    /// Look at topics: list and show them, write them to files, read them back, simulate who wakes
    Topics(topics::Topics),
    /// Review topics: sum up, merge what is the same, archive what slept long
    Review(review::Review),
    /// List the work that waits, is under way, done or given up
    Jobs(jobs::Jobs),
    /// List the models that are known, or say what is assumed of one
    Models(models::Models),
    /// Find messages by their words, in any language
    Search(search::Search),
    /// Check every byte of the store
    Doctor(doctor::Doctor),
    /// Copy the store to a file, also while a server is writing to it
    Backup(backup::Backup),
    /// Move everything from one store to another: a file, or a PostgreSQL database
    MigrateStore(migrate_store::MigrateStore),
    /// Measure Scrollback beside baselines, on data you bring
    Eval(Box<eval::Eval>),
    /// Say who else may ask this server: list, make and take back tokens
    Tokens(tokens::Tokens),
    /// Erase a conversation for good
    Forget(forget::Forget),
}

/// What every command works with.
#[derive(Clone)]
struct Desk {
    settings: Settings,
    tenant: Tenant,
    json: bool,
}

/// Does what the arguments say.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let common = arguments.common;
    let settings = config::read(common.config.as_deref(), common.store, &Surroundings::read())?;
    let tenant = common.tenant.as_deref().map_or_else(Tenant::local, Tenant::new);
    let desk = Desk { settings, tenant, json: common.json };
    // Store and index have threads of their own; a request that changes threads costs more than it gains.
    let workers = std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build();
    let runtime = runtime.context("the runtime could not be started")?;
    runtime.block_on(perform(arguments.command, &desk))
}

/// Does what a command says.
fn perform(command: Command, desk: &Desk) -> LocalBoxFuture<'_, anyhow::Result<ExitCode>> {
    Box::pin(async move {
        match command {
            Command::Demo(command) => command.run(desk).await,
            Command::Chat(command) => command.run(desk).await,
            Command::Import(command) => command.run(desk).await,
            Command::Export(command) => command.run(desk).await,
            Command::Serve(command) => command.run(desk).await,
            Command::Mcp(command) => command.run(desk.clone()).await,
            Command::Sessions(command) => command.run(desk).await,
            Command::Show(command) => command.run(desk).await,
            Command::Diff(command) => command.run(desk).await,
            Command::Why(command) => command.run(desk).await,
            Command::Recall(command) => command.run(desk).await,
            Command::Undo(command) => command.run(desk).await,
            Command::Redo(command) => command.run(desk).await,
            Command::Compress(command) => command.run(desk).await,
            Command::Strategy(command) => command.run(desk).await,
            Command::Pin(command) => command.run(desk, &control::PIN).await,
            Command::Unpin(command) => command.run(desk, &control::UNPIN).await,
            Command::Exclude(command) => command.run(desk, &control::EXCLUDE).await,
            Command::Include(command) => command.run(desk, &control::INCLUDE).await,
            Command::Pins(command) => command.run(desk).await,
            Command::Rules(command) => command.run(desk).await,
            Command::Notes(command) => command.run(desk).await,
            Command::Edit(command) => command.run(desk).await,
            Command::Artifacts(command) => command.run(desk).await,
            Command::Holds(command) => command.run(desk).await,
            Command::Window(command) => command.run(desk).await,
            Command::Topics(command) => command.run(desk).await,
            Command::Review(command) => command.run(desk).await,
            Command::Jobs(command) => command.run(desk).await,
            Command::Models(command) => command.run(desk),
            Command::Search(command) => command.run(desk).await,
            Command::Doctor(command) => command.run(desk).await,
            Command::Backup(command) => command.run(desk).await,
            Command::MigrateStore(command) => command.run(desk).await,
            Command::Eval(command) => command.run(desk).await,
            Command::Tokens(command) => command.run(desk).await,
            Command::Forget(command) => command.run(desk).await,
        }
    })
}

impl Desk {
    /// The store, for reading; works beside a process that writes.
    async fn reading(&self) -> anyhow::Result<Opened> {
        self.settings.store.reading().await
    }

    /// The store, for writing; its folder is made if need be.
    async fn writing(&self) -> anyhow::Result<Arc<Opened>> {
        self.settings.store.writing().await.map(Arc::new)
    }

    /// The store, for changing what is in it: it must be there.
    async fn changing(&self) -> anyhow::Result<Arc<Opened>> {
        self.settings.store.present()?;
        self.alone("this changes the store itself; stop that process first, or wait until it ends").await
    }

    /// The store, for what no server does for a command; `instead` says what a person can do beside one.
    async fn alone(&self, instead: &str) -> anyhow::Result<Arc<Opened>> {
        self.writing().await.map_err(|error| match held_by(&error) {
            Some(there) => error.context(format!("the server at {} holds the store: {instead}", there.url)),
            None => error,
        })
    }

    /// The store, for a server that goes on until it is told to stop.
    async fn for_a_server(&self) -> anyhow::Result<Arc<Opened>> {
        self.writing().await.map_err(|error| match held_by(&error).map(|there| there.what) {
            Some(Holder::Chat) => error.context(
                "an open `scrollback chat` holds the store, and serves it meanwhile: leave it with Ctrl-D, start the \
                 server, and chat again; the chat then talks to the server",
            ),
            Some(Holder::Serve) | None => error,
        })
    }

    /// An error if conversations of another tenant are meant, which a server does not let its own person change.
    fn local_only(&self, why: &str) -> anyhow::Result<()> {
        anyhow::ensure!(self.tenant == Tenant::local(), "{why}, and --tenant names another: see docs/access.md");
        Ok(())
    }

    /// An engine that looks at a store and changes nothing.
    fn engine(&self, store: Opened) -> Engine {
        self.engine_over(store.shared())
    }

    /// An engine with the settings of the proxy, and no helper.
    fn engine_over(&self, store: Arc<dyn Store>) -> Engine {
        Engine::new(store, Tasks::offline(), self.settings.engine.clone())
    }

    /// The one session a person means: by its whole name, or by the beginning of its name or id.
    async fn session(&self, store: &dyn Store, name: &str) -> anyhow::Result<Session> {
        Ok(find_session(store, &self.tenant, name).await?)
    }

    /// The same for what nobody is asked about and nobody can take back: a beginning of a name is not enough.
    async fn whole_session(&self, store: &dyn Store, name: &str) -> anyhow::Result<Session> {
        Ok(find_whole(store, &self.tenant, name).await?)
    }
}

/// Where the process listens that holds a store, if that is why it could not be opened.
fn held_by(error: &anyhow::Error) -> Option<Whereabouts> {
    match error.downcast_ref() {
        Some(Error::InUse { path, holder }) => address::of_holder(path, holder),
        _ => None,
    }
}

/// A time as people read it, in their own zone.
fn local(at: At) -> String {
    let time = jiff::Timestamp::from_microsecond(at.0);
    time.map_or_else(
        |_| at.to_string(),
        |time| time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string(),
    )
}

/// Lets what goes wrong be told on stderr, as much of it as `SCROLLBACK_LOG` says, or else as usual. What clients of
/// MCP get wrong they are told themselves, and if stderr is gone nobody need know: saying so would end the request.
fn log_to_stderr(usual: &str) -> anyhow::Result<()> {
    let said = std::env::var(LOG).unwrap_or_default();
    let filter = filter(if said.trim().is_empty() { usual } else { &said })?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    log.log_internal_errors(false).with_ansi(terminal::is_coloured(std::io::stderr().is_terminal())).init();
    Ok(())
}

/// How much is told. A word alone is a level: taken for the name of a part of the program, it would silence all others.
fn filter(said: &str) -> anyhow::Result<EnvFilter> {
    let is_level = |word: &str| LEVELS.contains(&&*word.to_ascii_lowercase());
    let is_clear = |part: &&str| part.contains(['=', '[']) || part.is_empty() || is_level(part);
    let parts: Vec<&str> = said.split(',').map(str::trim).collect();
    let meant = if parts.iter().all(is_clear) { EnvFilter::try_new(parts.join(",")).ok() } else { None };
    let levels = LEVELS.join(", ");
    meant.with_context(|| format!("{LOG} is “{said}”: write a level ({levels}), or some such as warn,scrollback=debug"))
}

/// A bar that shows how far long work has come; invisible where nobody looks.
fn progress(total: u64, what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} {per_sec} {eta}");
    let bar = ProgressBar::new(total).with_message(what);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A count with its noun: "1 message", "2 messages".
fn counted(count: impl Into<u64>, noun: &str) -> String {
    let count = count.into();
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::filter;

    #[test]
    fn a_misspelt_level_is_refused() {
        for said in ["inof", "warn,inof", "scrollback=inof", "warn;info"] {
            let error = filter(said).unwrap_err().to_string();
            assert!(error.contains(said) && error.contains("info"), "{error}");
        }
        for said in [super::USUAL_LOG, "off", "DEBUG", "info, rmcp=error", "warn,scrollback[turn]=debug"] {
            assert!(filter(said).is_ok(), "{said}");
        }
    }
}
