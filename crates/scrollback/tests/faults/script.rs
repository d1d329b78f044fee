//! What a child does while its disk fails: a little of everything, each step tried once more if it fails, as a client
//! would.
//!
//! Every report goes into the file `story` in the folder, where the preloaded shim tells its part.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use scrollback::log::{Answer, Outcome, Received};
use scrollback::store::{Batch, Durability, Expect, Kind, Put, Scope};
use scrollback::{At, Error, Forget, Log, Message, SessionKey, SqliteOptions, SqliteStore};

use crate::durable::{array, receive, said};
use crate::promises::{Report, explained, hash, shown};

/// A word of the session that is erased in the end.
pub(crate) const CANARY: &str = "quetzalcanary";
/// Between what a person is told and what caused it.
pub(crate) const CAUSES: &str = " | ";
/// Far longer than a run takes; a store that waits for ever is a failure too.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is played.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scene {
    /// A little of everything.
    Usual,
    /// The same on a store that does not wait for the disk.
    Careless,
    /// So much that the journal is full twice, is folded into the file and begins anew over its old content.
    Long,
}

impl Scene {
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Usual, Self::Careless, Self::Long].into_iter().find(|scene| format!("{scene:?}") == name)
    }

    fn durability(self) -> Durability {
        match self {
            Self::Usual | Self::Long => Durability::Full,
            Self::Careless => Durability::Normal,
        }
    }
}

/// Plays a scene on a new store in `folder`.
pub(crate) async fn run(folder: &Path, scene: Scene) {
    let story = Story::of(folder);
    let options = SqliteOptions { durability: scene.durability(), ..SqliteOptions::new(folder.join("log.db")) };
    let play = async {
        match scene {
            Scene::Usual | Scene::Careless => story.play(&options).await,
            Scene::Long => story.play_long(&options).await,
        }
    };
    if tokio::time::timeout(PATIENCE, play).await.is_err() {
        story.tell(&Report::Panic("the store hangs".into()));
    }
}

/// The file a run is told in.
pub(crate) struct Story(File);

impl Story {
    pub(crate) fn of(folder: &Path) -> Self {
        let file = OpenOptions::new().create(true).append(true).open(folder.join("story"));
        Self(file.expect("the folder was made for this run"))
    }

    pub(crate) fn tell(&self, report: &Report) {
        (&self.0).write_all(report.line().as_bytes()).expect("only files of the store fail");
    }

    async fn play(&self, options: &SqliteOptions) -> Option<()> {
        let store = Arc::new(self.twice(async || SqliteStore::open(options)).await?);
        let log = Log::new(store.clone());
        self.chat(&log).await?;
        self.edit(&log).await?;
        let lanes = ["a", "b", "c"].map(|lane| vec![said("user", &format!("All at once, lane {lane}."))]);
        let [a, b, c] = &lanes;
        tokio::join!(self.send(&log, None, a), self.send(&log, None, b), self.send(&log, None, c));
        let doomed = self.send(&log, Some(CANARY), &[said("user", &format!("Forget the {CANARY}."))]).await?;
        self.note(&log, &doomed.session, CANARY).await?;
        self.twice(async || store.reindex().await).await?;
        self.forget(&store, &doomed.session).await?;
        drop((log, store));

        let store = Arc::new(self.twice(async || SqliteStore::open(options)).await?);
        let log = Log::new(store);
        self.send(&log, None, &[said("user", "Opened once more.")]).await?;
        Some(())
    }

    async fn play_long(&self, options: &SqliteOptions) -> Option<()> {
        let log = Log::new(Arc::new(self.twice(async || SqliteStore::open(options)).await?));
        for part in 0..3 {
            for picture in 0..3 {
                let message = shown("user", &format!("Picture {picture} of part {part}."), 200_000);
                self.send(&log, None, &[message]).await?;
            }
            for step in 0..3 {
                self.send(&log, None, &[said("user", &format!("A few words, {step} of part {part}."))]).await?;
            }
            // Long enough for the writer to be idle: it indexes and moves the journal into the file.
            tokio::time::sleep(Duration::from_millis(900)).await;
        }
        Some(())
    }

    /// Does something, and does it again if it fails: only one call fails, so the second time must succeed.
    async fn twice<T>(&self, mut act: impl AsyncFnMut() -> Result<T, Error>) -> Option<T> {
        for _ in 0..2 {
            match act().await {
                Ok(value) => return Some(value),
                Err(error) => self.tell(&Report::Error(format!("{error}{CAUSES}{}", explained(&error)))),
            }
        }
        self.tell(&Report::Panic("failed twice although only one call fails".into()));
        None
    }

    async fn send(&self, log: &Log, declared: Option<&str>, history: &[String]) -> Option<Received> {
        let received = self.twice(async || receive(log, declared, &array(history)).await).await?;
        for raw in history {
            self.tell(&Report::Message(received.session.id, None, hash(raw)));
        }
        self.tell(&Report::head(&received, history.last()?));
        Some(received)
    }

    async fn chat(&self, log: &Log) -> Option<()> {
        let mut history = vec![said("system", "Answer briefly."), said("user", "Why does the build fail?")];
        for turn in 0..2 {
            let received = self.send(log, Some("chat"), &history).await?;
            let reply = said("assistant", &format!("Because of feature number {turn}."));
            let response = format!("response-{turn}");
            let message = Message::from_json(&reply).ok()?;
            let answer = Answer { response: Some(&response), ..Answer::of(message, "gpt-5", At(1)) };
            let position = self.twice(async || log.reply(&received, answer.clone()).await).await?;
            self.tell(&Report::Message(received.session.id, Some(position.id), hash(&reply)));
            history.extend([reply, said("user", &format!("And then, number {turn}?"))]);
            self.note(log, &received.session, &format!("note-{turn}")).await?;
        }
        Some(())
    }

    /// A client that clears an old result: its version is kept beside the original, its history goes on through an
    /// alias.
    async fn edit(&self, log: &Log) -> Option<()> {
        let call = serde_json::json!({"role": "assistant", "content": null, "tool_calls":
            [{"id": "call_9vT3kQx2Lm", "type": "function", "function": {"name": "read", "arguments": "{}"}}]});
        let result =
            |text: &str| serde_json::json!({"role": "tool", "tool_call_id": "call_9vT3kQx2Lm", "content": text});
        let content = "a line of the file that was read\n".repeat(100);
        let asked = [said("user", "Read it."), call.to_string()];
        let before = [&asked[..], &[result(&content).to_string(), said("assistant", "Read.")]].concat();
        self.send(log, None, &before).await?;
        let cleared = [result("[cleared]").to_string(), said("assistant", "Read."), said("user", "And now?")];
        let after = [&asked[..], &cleared].concat();
        let received = self.send(log, None, &after).await?;
        // Sent a second time after a failure that came too late to undo it, it is a replay.
        let expected = matches!(received.outcome, Outcome::Edited | Outcome::Replay);
        assert!(expected, "the script needs an edit, this is {:?}", received.outcome);
        self.send(log, None, &[&after[..], &[said("assistant", "Done.")]].concat()).await?;
        Some(())
    }

    async fn note(&self, log: &Log, session: &SessionKey, key: &str) -> Option<()> {
        let text = format!(r#""a note on {key}""#);
        let batch = || {
            let body = serde_json::value::RawValue::from_string(text.clone()).expect("a JSON string");
            let scope = Scope::Session(session.clone());
            let put = Put { scope, kind: Kind::Note, key: key.to_owned(), at: At(0), body, expect: Expect::Absent };
            Batch::of_records(session.clone(), vec![put])
        };
        self.twice(async || log.store().commit(batch()).await).await?;
        self.tell(&Report::Note(session.id, key.to_owned(), hash(&text)));
        Some(())
    }

    /// Erases a session. If that stopped half way, the session is gone already and only its traces have to be wiped.
    async fn forget(&self, store: &SqliteStore, session: &SessionKey) -> Option<()> {
        self.tell(&Report::Forgetting(session.id));
        self.twice(async || match store.forget(session).await {
            Ok(_) | Err(Error::NotFound(_)) => store.wipe().await,
            Err(error) => Err(error),
        })
        .await?;
        self.tell(&Report::Forgotten(session.id));
        Some(())
    }
}
