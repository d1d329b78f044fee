//! Plays a conversation through the real engine, turn by turn, over a store in a temporary folder.
//!
//! A turn sends only what is new, so that it costs the same however long the conversation is. No helper model takes
//! part unless it is brought along. What a window holds is told by [`Shown`].

mod room;
mod shown;

use std::path::Path;
use std::sync::Arc;

use scrollback::embed::{EmbedSettings, Embedder};
use scrollback::engine::{Ask, EngineSettings, Finish, Turn};
use scrollback::ids::Depth;
use scrollback::log::{After, Arrival, History, Received};
use scrollback::store::{Durability, Span, Stored};
use scrollback::task::Tasks;
use scrollback::window::Budget;
use scrollback::{
    At, Engine, Error, Message, MessageId, Result, Role, SessionId, SessionKey, SqliteOptions, SqliteStore, Tenant,
};
use serde_json::json;
use tempfile::TempDir;

pub use room::{Room, tool_tokens};
pub use shown::{Shown, oldest, says};

/// What the model is called; decides how tokens are counted.
const MODEL: &str = "gpt-5";
/// What the conversation is called.
const SESSION: &str = "played";
/// How much later a message is than the one before it, if nobody knows when it was said.
const STEP: i64 = 1_000_000;
/// How long a question waits for its vector.
const PATIENT_MS: u64 = 600_000;

/// Runs what plays to its end, on this thread.
pub fn run<T>(played: impl Future<Output = Result<T>>) -> Result<T> {
    let built = tokio::runtime::Builder::new_current_thread().enable_time().build();
    built.map_err(|error| lost("no thread can be had", error))?.block_on(played)
}

fn lost(what: &str, error: std::io::Error) -> Error {
    Error::Store { what: what.to_owned(), source: Some(Box::new(error)) }
}

/// A message that is said.
#[derive(Clone, Debug)]
pub struct Line {
    /// The message.
    pub message: Message,
    /// When it was said, if that is known.
    pub at: Option<At>,
}

impl Line {
    /// A message at no time in particular.
    pub fn new(message: Message) -> Self {
        Self { message, at: None }
    }

    /// A text in a role, by somebody with a name or without.
    pub fn text(role: &Role, name: Option<&str>, text: &str) -> Self {
        let json = match name {
            Some(name) => json!({"role": role.as_str(), "name": name, "content": text}),
            None => json!({"role": role.as_str(), "content": text}),
        };
        let raw = serde_json::value::to_raw_value(&json).expect("a JSON value is valid JSON");
        Self::new(Message::new(raw))
    }

    /// The same at a time, if it is known.
    #[must_use]
    pub fn at(self, at: Option<At>) -> Self {
        Self { at, ..self }
    }
}

/// A conversation that is being played.
pub struct Player {
    engine: Engine,
    usual: scrollback::strategy::StrategyName,
    tenant: Tenant,
    session: Option<SessionId>,
    head: Option<MessageId>,
    fresh: Vec<MessageId>,
    now: At,
    // Dropped last: the store's files are in it.
    folder: TempDir,
}

impl Player {
    /// Nothing has been said yet.
    pub fn new(settings: EngineSettings) -> Result<Self> {
        Self::with_tasks(settings, Tasks::offline())
    }

    /// The same with somebody who answers tasks.
    pub fn with_tasks(settings: EngineSettings, tasks: Tasks) -> Result<Self> {
        Self::over(settings, tasks, Durability::Normal)
    }

    /// Nothing has been said yet, and whatever is will be safe on the disk before anybody goes on, as it is shipped.
    pub fn durable(settings: EngineSettings) -> Result<Self> {
        Self::over(settings, Tasks::offline(), Durability::Full)
    }

    fn over(settings: EngineSettings, tasks: Tasks, durability: Durability) -> Result<Self> {
        let folder = TempDir::new().map_err(|error| lost("no temporary folder can be made", error))?;
        let mut options = SqliteOptions::new(folder.path().join("log.db"));
        options.durability = durability;
        let usual = settings.strategy;
        let engine = Engine::new(Arc::new(SqliteStore::open(&options)?), tasks, settings);
        Ok(Self {
            engine,
            usual,
            tenant: Tenant::local(),
            session: None,
            head: None,
            fresh: Vec::new(),
            now: At(0),
            folder,
        })
    }

    /// The same with embeddings. Questions wait for them, so that the same is found every time.
    #[must_use]
    pub fn with_embedder(mut self, embedder: Arc<dyn Embedder>, settings: &EmbedSettings) -> Self {
        let settings = EmbedSettings { question_ms: PATIENT_MS, ..settings.clone() };
        self.engine = self.engine.with_embedder(embedder, settings);
        self
    }

    /// Embeds what was said, where there are embeddings; a server does that when nobody waits.
    pub async fn embed(&self) -> Result<()> {
        let Some(id) = self.session else { return Ok(()) };
        self.engine.embed_session(&SessionKey { tenant: self.tenant.clone(), id }, self.now).await
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Where its store is.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The last message of the conversation.
    pub fn head(&self) -> Option<MessageId> {
        self.head
    }

    /// The messages that were said last, as far as they were new.
    pub fn fresh(&self) -> Vec<MessageId> {
        self.fresh.clone()
    }

    /// Says what is new and asks for a reply. If no window can hold it, what is new is said all the same.
    pub async fn ask(&mut self, new: &[Line], room: Room) -> Result<Turn> {
        match self.begin(new, room).await {
            Ok(turn) => {
                self.follow(turn.received());
                Ok(turn)
            }
            Err(error @ Error::TooLarge(_)) => {
                self.say(new).await?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Asks at the end of the conversation without going on from there: what is said next follows the same message.
    pub async fn ask_aside(&self, line: &Line, room: Room) -> Result<Turn> {
        self.begun(&format!("[{}]", line.message.raw().get()), &[self.then(line)], room).await
    }

    /// Keeps the reply to a turn and tidies up, as a server does once the reply is on its way.
    pub async fn reply(&mut self, turn: Turn, line: Line) -> Result<Option<Arc<Stored>>> {
        let chores = turn.chores();
        self.pass(&line);
        let stored = self.engine.finish(turn, Finish::of(line.message, MODEL, self.now)).await?;
        self.head = stored.as_ref().map(|stored| stored.id).or(self.head);
        if let Some(head) = stored.as_ref().and_then(|stored| stored.position()) {
            self.engine.tidy(chores.at(head), self.now).await?;
            self.engine.work_through(&self.tenant, self.now).await?;
        }
        Ok(stored)
    }

    /// Says something that nobody is asked to reply to, a reply to a turn that no window could hold for instance.
    pub async fn say(&mut self, new: &[Line]) -> Result<()> {
        let (text, times) = self.written(new);
        let history = History::parse(&text)?;
        let received = self.engine.log().receive_new(self.arrival(&times), self.after(), &history).await?;
        self.follow(&received);
        let Some(head) = received.head.filter(|_| self.fresh.len() < new.len()) else { return Ok(()) };
        // It was taken into the log before it was known that no window holds it.
        let from = Depth((head.depth.0 + 1).saturating_sub(u32::try_from(new.len()).unwrap_or(u32::MAX)));
        let read = self.engine.log().store().read(&received.session, Span::path(head, from)).await?;
        self.fresh = read.iter().map(|stored| stored.id).collect();
        Ok(())
    }

    async fn begin(&mut self, new: &[Line], room: Room) -> Result<Turn> {
        let (text, times) = self.written(new);
        self.begun(&text, &times, room).await
    }

    async fn begun(&self, text: &str, times: &[At], room: Room) -> Result<Turn> {
        let history = History::parse(text)?;
        let tokens = room.window_tokens.saturating_add(room.tools_beyond(self.usual));
        let ask = Ask {
            after: Some(self.after()),
            strategy: Some(room.strategy),
            ..Ask::new(self.arrival(times), &history, Budget { tokens }, room.limit_tokens)
        };
        self.engine.begin(ask).await
    }

    fn arrival<'a>(&'a self, times: &'a [At]) -> Arrival<'a> {
        let declared = self.session.is_none().then_some(SESSION);
        let now = times.last().copied().unwrap_or(self.now);
        Arrival { times: Some(times), ..Arrival::new(&self.tenant, declared, MODEL, now) }
    }

    fn after(&self) -> After<'static> {
        match self.session {
            Some(session) => After::Place { session, message: self.head },
            None => After::Last(SESSION),
        }
    }

    /// Messages as a request holds them, and when each was said.
    fn written(&mut self, new: &[Line]) -> (String, Vec<At>) {
        let times = new.iter().map(|line| self.pass(line)).collect();
        let raws: Vec<&str> = new.iter().map(|line| line.message.raw().get()).collect();
        (format!("[{}]", raws.join(",")), times)
    }

    /// Lets time pass until a message is said.
    fn pass(&mut self, line: &Line) -> At {
        self.now = self.then(line);
        self.now
    }

    /// When a message is said.
    fn then(&self, line: &Line) -> At {
        line.at.unwrap_or(At(self.now.0.saturating_add(STEP)))
    }

    fn follow(&mut self, received: &Received) {
        self.session = Some(received.session.id);
        self.fresh = received.fresh.iter().map(|stored| stored.id).collect();
        self.head = received.head.map(|head| head.id).or(self.head);
    }
}

#[cfg(test)]
mod tests;
