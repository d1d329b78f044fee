//! One message and its answer.

use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};

use super::reply::{Heard, Turn};
use super::server::Unanswered;
use super::status::Status;
use super::{Audience, SHOWN_ID, Talk};
use crate::api::{Ask, NoteList};
use crate::cli::terminal::harmless;
use crate::cli::{counted, say_json};
use crate::upstream::QUOTE;

/// Once a person has stopped a reply, what was said has this long to be kept.
const PATIENCE: Duration = Duration::from_secs(3);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// Among so many views is the one that was made last.
const VIEWS: u32 = 8;

/// How an answer ended.
enum Ended {
    /// It is kept; all that is told of it.
    Done(Value),
    /// The person has stopped it.
    Stopped,
}

impl Talk<'_> {
    /// Says something, and shows what is answered. Whether it was answered to the end.
    pub(super) async fn say(&mut self, message: &str) -> anyhow::Result<bool> {
        let (mut turn, mut text) = (None, String::new());
        let ended = tokio::select! {
            ended = self.answered(message, &mut turn, &mut text) => ended,
            _ = tokio::signal::ctrl_c() => Ok(Ended::Stopped),
        };
        let refused = ended.as_ref().err().and_then(|error| error.downcast_ref::<Unanswered>()?.kept.clone());
        let kept = turn.as_ref().map(|turn| turn.session.clone()).or(refused);
        // Also what was not answered is kept, and goes on there.
        if let (None, Some(session)) = (&self.place.session, &kept) {
            self.place.session = Some(session.chars().take(SHOWN_ID).collect());
        }
        if ended.is_err() {
            // As much of the reply as came may be kept.
            self.place.last = None;
            self.is_kept = kept.is_some();
        }
        match ended? {
            Ended::Done(told) => {
                let is_whole = told["partial"] != true;
                self.done(told, text).await.map(|()| is_whole)
            }
            Ended::Stopped => self.stopped(turn).await.map(|()| false),
        }
    }

    async fn answered(&mut self, message: &str, begun: &mut Option<Turn>, said: &mut String) -> anyhow::Result<Ended> {
        self.screen.wait()?;
        self.server.renewed(self.desk).await?;
        let mut reply = self.server.say(&self.wanted(message)).await?;
        loop {
            match reply.next().await? {
                Heard::Turn(turn) => {
                    // Others may begin a branch meanwhile: it goes on where this person reads.
                    self.place.branch = Some(turn.branch);
                    if turn.folded {
                        let told = self.folded(&turn).await;
                        self.screen.aside(&told)?;
                    }
                    *begun = Some(turn);
                }
                Heard::Text(text) => {
                    self.screen.text(&text)?;
                    said.push_str(&text);
                }
                Heard::Thinking(text) => self.screen.thinking(&text)?,
                Heard::Recall(asked) => self.screen.aside(&format!("↺ {}", recalled(&asked)))?,
                Heard::Done(told) => return Ok(Ended::Done(told)),
            }
        }
    }

    fn wanted(&self, message: &str) -> Value {
        let (place, voice) = (&self.place, &self.voice);
        let is_new = place.session.is_none();
        let begins = |value: &Option<String>| value.clone().filter(|_| is_new);
        json!({"message": message, "session": place.session, "branch": place.branch, "model": voice.model,
            "upstream": voice.upstream, "strategy": begins(&voice.strategy), "instructions": begins(&voice.instructions)})
    }

    /// What a turn has folded.
    async fn folded(&self, turn: &Turn) -> String {
        let Some([first, last]) = &turn.covers else { return "folded".into() };
        let path = ["sessions", &turn.session, "notes"];
        let notes = self.server.ask(&Ask::new(Method::GET, &path).with("branch", Some(turn.branch))).await;
        let notes = notes.ok().and_then(|notes| serde_json::from_value::<NoteList>(notes).ok());
        let under = notes.filter(|list| !list.notes.is_empty());
        let under =
            under.map(|list| format!(" under {}", counted(list.notes.len() as u64, "note"))).unwrap_or_default();
        format!("folded {first}–{last}{under}; /undo takes it back")
    }

    /// A reply is kept: says what it took.
    async fn done(&mut self, mut told: Value, text: String) -> anyhow::Result<()> {
        self.screen.close()?;
        if told["upstream"] == QUOTE {
            self.tell_quoted().await?;
        }
        self.place.last = told["message"].as_str().map(str::to_owned);
        if self.place.last.is_some() {
            self.place.branch = branch_in(&told);
        }
        if self.screen.audience == Audience::Json {
            told["text"] = text.into();
            return say_json(&told);
        }
        for notice in told["notices"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            self.screen.notice(&format!("notice: {notice}"))?;
        }
        if let Some(status) = self.status(&told).await {
            self.screen.status(&status)?;
        }
        Ok(())
    }

    /// What a reply took; `None` if no model was asked.
    async fn status(&self, told: &Value) -> Option<Status> {
        let ask = Ask::new(Method::GET, &["sessions", told["session"].as_str()?, "views"]).with("count", Some(VIEWS));
        let mut views = self.server.ask(&ask).await.ok()?;
        let views: Vec<Status> = serde_json::from_value(views["views"].take()).ok()?;
        let mut status = views.into_iter().find(|status| told["view"] == *status.view)?;
        status.model = harmless(told["model"].as_str().unwrap_or_default());
        Some(status)
    }

    /// A person has stopped a reply: says what became of it, once that is certain. Whoever writes on before would write
    /// beside it.
    async fn stopped(&mut self, turn: Option<Turn>) -> anyhow::Result<()> {
        let Some(turn) = turn else { return self.screen.aside("stopped before anything was answered") };
        let path = ["sessions", turn.session.as_str(), "messages"];
        let ask = Ask::new(Method::GET, &path).with("branch", Some(turn.branch));
        let ask = ask.with("after", Some(&turn.question)).with("count", Some(1));
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while tokio::time::Instant::now() < deadline {
            let found = self.server.ask(&ask).await.unwrap_or_default();
            if let Some(id) = found["messages"][0]["id"].as_str() {
                self.place.last = Some(id.to_owned());
                return self.screen.aside(&format!("stopped; what was said is kept as {id}"));
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        self.screen.aside("stopped; nothing was said yet")
    }
}

/// The branch that an answer of the server is about.
pub(super) fn branch_in(told: &Value) -> Option<u32> {
    u32::try_from(told["branch"].as_u64()?).ok()
}

/// What a model asked to see again, in words: `recall_page(42)` is “recalled page 42”.
fn recalled(asked: &str) -> String {
    let (tool, of) = asked.split_once('(').unwrap_or((asked, ""));
    let of = of.strip_suffix(')').unwrap_or(of);
    match tool {
        "recall_page" => format!("recalled page {of}"),
        "expand_summary" => format!("expanded summary {of}"),
        "load_tool_history" => format!("loaded result {of}"),
        "activate_topic" => format!("woke topic {of}"),
        "search_history" => format!("searched for {of}"),
        _ => format!("recalled {asked}"),
    }
}

#[cfg(test)]
mod tests {
    use super::recalled;

    #[test]
    fn recalls_are_told_in_words() {
        assert_eq!(recalled("recall_page(42)"), "recalled page 42");
        assert_eq!(recalled("load_tool_history(h12, 10-80)"), "loaded result h12, 10-80");
        assert_eq!(recalled("search_history(“the key (old)”)"), "searched for “the key (old)”");
        assert_eq!(recalled("something_new"), "recalled something_new");
    }
}
