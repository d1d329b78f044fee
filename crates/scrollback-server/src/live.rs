//! What happens to conversations, told while it happens: a bus that anybody of the same tenant may listen to.
//!
//! Whoever does something publishes it; while nobody listens that costs nothing. A listener that falls behind is told
//! that it missed something and goes on. `GET /api/events` is this bus as a stream.

use std::sync::Arc;

use scrollback::{MessageId, SessionKey};
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};

/// How many happenings wait for a slow listener.
const WAITING: usize = 1_024;

/// Something that happened to a session.
#[derive(Clone, Debug)]
pub(crate) struct Happening {
    pub(crate) of: SessionKey,
    pub(crate) what: What,
}

/// What happened.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// A turn has begun: its window is laid out.
    Turn(Begun),
    /// The model asked to see something again.
    Recall(Recalled),
    /// A reply is kept.
    Reply { message: MessageId, view: Option<String> },
    /// Other messages are under notes than before, or other notes stand for them.
    Fold { covers: Option<[MessageId; 2]> },
    /// A person decided something about the session.
    Controls,
    /// It was read from a file.
    Import { title: String },
    /// Its topics may have changed.
    Topics,
    /// It is no more.
    Erased,
}

/// A turn that has begun.
#[derive(Clone, Debug)]
pub(crate) struct Begun {
    /// The message it answers.
    pub(crate) question: MessageId,
    pub(crate) branch: u32,
    pub(crate) view: String,
    /// How its window is laid out.
    pub(crate) layout: String,
    pub(crate) tokens: u32,
    pub(crate) budget: u32,
    /// Whether this very turn folded.
    pub(crate) folded: bool,
    /// The first and last message under notes.
    pub(crate) covers: Option<[MessageId; 2]>,
}

/// What a model asked to see again.
#[derive(Clone, Debug)]
pub(crate) struct Recalled {
    /// The tool with what it was asked, as views tell it.
    pub(crate) asked: String,
    /// In which round of the turn, from 1.
    pub(crate) round: u32,
}

impl Recalled {
    /// The tool.
    pub(crate) fn tool(&self) -> &str {
        self.asked.split(['(', ' ']).next().unwrap_or_default()
    }
}

impl What {
    /// What its event is called.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Turn(_) => "turn",
            Self::Recall(_) => "recall",
            Self::Reply { .. } => "reply",
            Self::Fold { .. } => "fold",
            Self::Controls => "controls",
            Self::Import { .. } => "import",
            Self::Topics => "topics",
            Self::Erased => "erased",
        }
    }

    /// What its event says beside the session.
    pub(crate) fn told(&self) -> Value {
        match self {
            Self::Turn(begun) => json!({"question": begun.question, "branch": begun.branch, "view": begun.view,
                "layout": begun.layout, "tokens": begun.tokens, "budget": begun.budget, "folded": begun.folded, "covers": begun.covers,
                "recalls": 0}),
            Self::Recall(recalled) => {
                json!({"tool": recalled.tool(), "asked": recalled.asked, "round": recalled.round})
            }
            Self::Reply { message, view } => json!({"message": message, "view": view}),
            Self::Fold { covers } => json!({"covers": covers}),
            Self::Controls | Self::Topics | Self::Erased => json!({}),
            Self::Import { title } => json!({"title": title}),
        }
    }
}

impl Happening {
    /// What its event says.
    pub(crate) fn told(&self) -> Value {
        let mut told = json!({"session": self.of.id});
        if let (Value::Object(told), Value::Object(what)) = (&mut told, self.what.told()) {
            told.extend(what);
        }
        told
    }
}

/// The bus.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    bus: broadcast::Sender<Arc<Happening>>,
    over: Arc<watch::Sender<bool>>,
}

impl Default for Live {
    fn default() -> Self {
        Self { bus: broadcast::Sender::new(WAITING), over: Arc::new(watch::Sender::new(false)) }
    }
}

impl Live {
    /// Tells what happened to a session, if anybody listens.
    pub(crate) fn publish(&self, of: &SessionKey, what: impl FnOnce() -> What) {
        if self.bus.receiver_count() > 0 {
            // Whoever listened may be gone by now.
            let _ = self.bus.send(Arc::new(Happening { of: of.clone(), what: what() }));
        }
    }

    /// Listens from now on.
    pub(crate) fn listen(&self) -> Listener {
        Listener { bus: self.bus.subscribe(), over: self.over.subscribe() }
    }

    /// Lets all listeners go: a server that is to stop does not wait for them.
    pub(crate) fn close(&self) {
        self.over.send_replace(true);
    }
}

/// Somebody who listens.
pub(crate) struct Listener {
    bus: broadcast::Receiver<Arc<Happening>>,
    over: watch::Receiver<bool>,
}

/// What a listener hears.
#[derive(Debug)]
pub(crate) enum Heard {
    Happened(Arc<Happening>),
    /// It was too slow, and some of it is gone.
    Missed,
}

impl Listener {
    /// What happens next; `None` once all is over.
    pub(crate) async fn next(&mut self) -> Option<Heard> {
        let next = tokio::select! {
            biased;
            _ = self.over.wait_for(|over| *over) => return None,
            next = self.bus.recv() => next,
        };
        match next {
            Ok(happening) => Some(Heard::Happened(happening)),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(Heard::Missed),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use scrollback::{SessionId, Tenant};

    use super::*;

    fn session(name: &str) -> SessionKey {
        SessionKey { tenant: Tenant::local(), id: SessionId::declared(&Tenant::local(), name) }
    }

    #[tokio::test]
    async fn nothing_is_built_while_nobody_listens() {
        let live = Live::default();
        live.publish(&session("a"), || panic!("nobody wants to know"));
        let mut listener = live.listen();
        live.publish(&session("a"), || What::Controls);
        let Some(Heard::Happened(heard)) = listener.next().await else { panic!("it is heard") };
        assert_eq!((heard.what.name(), heard.told()), ("controls", json!({"session": session("a").id})));
    }

    #[tokio::test]
    async fn a_slow_listener_is_told_and_goes_on() {
        let live = Live::default();
        let mut listener = live.listen();
        for _ in 0..WAITING + 5 {
            live.publish(&session("a"), || What::Controls);
        }
        assert!(matches!(listener.next().await, Some(Heard::Missed)));
        assert!(matches!(listener.next().await, Some(Heard::Happened(_))));
        live.close();
        assert!(listener.next().await.is_none());
        assert!(live.listen().next().await.is_none(), "whoever comes too late is let go as well");
    }
}
