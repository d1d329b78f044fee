//! Requests that hold only what is new: what they follow, and what they tell.

use futures_util::future::BoxFuture;

use super::reply::Followed;
use super::strand::Strand;
use super::{Arrival, History, Log, Outcome, Received};
use crate::error::{Error, Result};
use crate::ids::{BranchId, Depth, MessageId, NodeId, SessionId, SessionKey, Tenant};
use crate::message::Message;
use crate::store::{Batch, Beside, Branching, Kind, Origin, Position, Scope, Span, Stored, Which};

/// How many messages a reply may have behind what was said.
const REPLIES: u32 = 64;
/// So often something follows what others said meanwhile; then it makes a branch.
const TIMES: u32 = 32;

/// What a request that holds only new messages follows.
#[derive(Clone, Copy, Debug)]
pub enum After<'a> {
    /// The last message of a session, by its declared name: what is sent at once goes on one after the other.
    Last(&'a str),
    /// A response, by its provider's id.
    Response(&'a str),
    /// A message of a session, wherever it stands; if something follows it already, what is new makes a branch.
    Place {
        /// The session.
        session: SessionId,
        /// The message; `None` for the place before the first.
        message: Option<MessageId>,
    },
}

impl After<'_> {
    /// Whoever names no place means the end, wherever that is by now.
    fn branching(&self) -> Branching {
        match self {
            Self::Last(_) => Branching::Never,
            Self::Response(_) | Self::Place { .. } => Branching::Free,
        }
    }
}

/// What a request that holds only new messages tells, with the number of each message in it.
pub(super) struct Told {
    pub(super) preamble: Vec<(usize, Message)>,
    /// Links of the path, and reasoning beside it.
    pub(super) messages: Vec<(usize, Message)>,
}

impl Told {
    /// Where instructions have a place of their own, those among the messages are said in passing, once something was
    /// said.
    pub(super) fn read(history: &History<'_>, follows: bool) -> Self {
        let head = match history.heads() {
            Some(heads) if follows => heads,
            Some(_) | None => history.preamble,
        };
        let told = (0..history.len()).map(|index| (index, history.message(index)));
        let instructs = |(index, message): &(usize, Message)| {
            *index < head || history.heads().is_none() && message.role().instructs()
        };
        let (preamble, messages) = told.partition(instructs);
        Self { preamble, messages }
    }
}

/// How messages relate to the place they were put after.
fn placed(received: &Received) -> Outcome {
    let first = received.fresh.first().and_then(|first| first.position());
    let branch = received.base.map_or(BranchId(0), |base| base.branch);
    match first {
        Some(first) if received.added > 0 && first.branch != branch => Outcome::Branch,
        Some(_) if received.added > 0 && received.base.is_none() => Outcome::New,
        Some(_) if received.added > 0 => Outcome::Continue,
        Some(_) | None => Outcome::Replay,
    }
}

impl Log {
    /// Takes only what is new, after the last message of a declared session or after an earlier response.
    pub fn receive_new<'a>(
        &'a self,
        arrival: Arrival<'a>,
        after: After<'a>,
        history: &'a History<'a>,
    ) -> BoxFuture<'a, Result<Received>> {
        Box::pin(async move {
            for _ in 0..TIMES {
                match self.receive_at(arrival, after, history, after.branching()).await {
                    Err(Error::Conflict(_)) => {}
                    received => return received,
                }
            }
            self.receive_at(arrival, after, history, Branching::Free).await
        })
    }

    async fn receive_at(
        &self,
        arrival: Arrival<'_>,
        after: After<'_>,
        history: &History<'_>,
        branching: Branching,
    ) -> Result<Received> {
        let (session, head) = self.resolve(arrival.tenant, after).await?;
        let told = Told::read(&history.whole()?, head.is_some());
        let replays = self.replays(after, &session, head, &told.messages).await?;
        let outcome = match head {
            Some(_) if replays => Outcome::Replay,
            Some(_) => Outcome::Continue,
            None => Outcome::New,
        };
        let batch = Batch { branching, ..arrival.batch(&session) };
        let mut strand = Strand::new(arrival, batch, head);
        for (index, message) in told.preamble {
            strand.beside(Beside::Preamble, 0, arrival.time_of(index), message);
        }
        for (index, message) in told.messages.into_iter().filter(|_| !replays) {
            strand.push(arrival.time_of(index), message);
        }
        let mut received = Received::nothing_new(outcome, session, head);
        received.preamble = history.heads().map(|_| Vec::new());
        self.append(&mut received, strand.end()).await?;
        // Where somebody else was faster, what is new makes a branch.
        let told = received.added > 0 && !received.fresh.is_empty();
        if told || matches!(after, After::Place { .. }) {
            received.outcome = placed(&received);
        }
        Ok(received)
    }

    /// Whether only what was just sent is sent once more. Who names a place arrives at the same messages by themselves.
    pub(super) async fn replays(
        &self,
        after: After<'_>,
        session: &SessionKey,
        head: Option<Position>,
        told: &[(usize, Message)],
    ) -> Result<bool> {
        match (after, head) {
            (After::Last(_), Some(head)) => self.was_just_sent(session, head, told).await,
            (After::Last(_) | After::Response(_) | After::Place { .. }, _) => Ok(false),
        }
    }

    /// The session and the message that it follows.
    pub(super) async fn resolve(&self, tenant: &Tenant, after: After<'_>) -> Result<(SessionKey, Option<Position>)> {
        match after {
            After::Last(name) => {
                let session = SessionKey { tenant: tenant.clone(), id: SessionId::declared(tenant, name) };
                let end = self.end(&session).await?;
                Ok((session, end))
            }
            After::Response(id) => {
                let unknown =
                    || Error::NotFound(format!("the response “{id}” is not in the log; send the whole history"));
                let scope = Scope::Tenant(tenant.clone());
                let record = self.store.record(scope, Kind::Response, id.to_owned()).await?;
                let body = record.ok_or_else(unknown)?.body;
                let followed: Followed = serde_json::from_str(body.get())
                    .map_err(|_| Error::Damaged(format!("the record of response “{id}” is unreadable")))?;
                if followed.contested {
                    return Err(Error::Invalid(format!(
                        "replies in several conversations were given the id “{id}”; send the whole history"
                    )));
                }
                let session = SessionKey { tenant: tenant.clone(), id: followed.session };
                let known =
                    self.store.prefix(&session, followed.depth, vec![followed.node]).await?.ok_or_else(unknown)?;
                Ok((session, Some(known.at)))
            }
            After::Place { session, message } => self.place(tenant, session, message).await,
        }
    }

    /// The end of the branch on which something was said last. What a model answers to a request that another went past
    /// meanwhile stands on a branch beside it, whichever reply comes last.
    async fn end(&self, session: &SessionKey) -> Result<Option<Position>> {
        let Some(last) = self.store.read(session, Span::Last).await?.pop() else { return Ok(None) };
        let (end, mut said) = (last.position(), last);
        for _ in 0..REPLIES {
            let is_said = said.origin != Origin::Reply && said.position().is_some();
            if is_said {
                break;
            }
            let Some(before) = said.id.0.checked_sub(1).map(MessageId) else { break };
            let Some(stored) = self.store.read(session, Span::Ids(vec![before])).await?.pop() else { break };
            said = stored;
        }
        // Of several answers to one question, the last is meant.
        let (Some(at), Some(end)) = (said.position().filter(|_| said.origin != Origin::Reply), end) else {
            return Ok(end);
        };
        if self.store.lineage(session, end).await?.holds(&said.place) {
            return Ok(Some(end));
        }
        let end = self.store.read(session, Span::End(at.branch)).await?.pop();
        Ok(end.and_then(|end| end.position()))
    }

    /// A place that is named: after a message of a session, or before its first.
    async fn place(
        &self,
        tenant: &Tenant,
        id: SessionId,
        message: Option<MessageId>,
    ) -> Result<(SessionKey, Option<Position>)> {
        let session = SessionKey { tenant: tenant.clone(), id };
        let Some(message) = message else {
            let known = self.store.sessions(tenant, Which::Id(id)).await?;
            let unknown = || Error::NotFound(format!("the session {id} is not in the log"));
            return known.first().map(|_| (session, None)).ok_or_else(unknown);
        };
        let stored = self.store.read(&session, Span::Ids(vec![message])).await?.pop();
        let at = stored.and_then(|stored| stored.position());
        let at = at.ok_or_else(|| Error::NotFound(format!("the session {id} says nothing in {message}")))?;
        Ok((session, Some(at)))
    }

    /// Whether these messages are the last ones before `head`, sent once more because no answer came.
    async fn was_just_sent(&self, session: &SessionKey, head: Position, told: &[(usize, Message)]) -> Result<bool> {
        let links: Vec<&Message> =
            told.iter().map(|(_, message)| message).filter(|message| !message.is_aside()).collect();
        let Some(before) = (head.depth.0 as usize + 1).checked_sub(links.len()).filter(|_| !links.is_empty()) else {
            return Ok(false);
        };
        let from = Depth(0).plus(before.saturating_sub(1));
        let end = self.store.read(session, Span::path(head, from)).await?;
        let start = match before {
            0 => Some(NodeId::root(session.id)),
            _ => end.first().and_then(Stored::position).map(|position| position.node),
        };
        Ok(start.is_some_and(|start| links.iter().fold(start, |node, link| node.then(link.strong())) == head.node))
    }
}
