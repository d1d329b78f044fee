//! A whole session that comes back: every message at the place it had, in the order in which they arrived once.

use std::collections::HashMap;

use super::strand::Strand;
use super::{Arrival, Log, Outcome, Received};
use crate::error::{Error, Result};
use crate::ids::{At, MessageId, SessionId, SessionKey};
use crate::message::Message;
use crate::store::{Beside, Position};

/// A message that comes back. Numbers are those it and others had.
pub(crate) struct Returning {
    pub(crate) id: MessageId,
    pub(crate) at: At,
    /// The message it follows; reasoning that does is followed by what it led to.
    pub(crate) follows: Option<MessageId>,
    /// Why it is on no path, if it is on none.
    pub(crate) beside: Option<Beside>,
    pub(crate) message: Message,
}

/// Messages on their way back: a strand as long as each follows the one before.
struct Return<'a> {
    log: &'a Log,
    arrival: Arrival<'a>,
    received: Received,
    strand: Option<Strand<'a>>,
    /// The numbers that the links of the strand had, and that of the message it ends with.
    links: Vec<MessageId>,
    end: Option<MessageId>,
    /// The message of a path that came last.
    last: Option<MessageId>,
    /// Where messages of paths are now.
    places: HashMap<MessageId, Position>,
}

impl Log {
    /// Puts messages back, in the order given. What is there already is not added again. Tells where those of paths are
    /// now.
    pub(crate) async fn restore(
        &self,
        arrival: Arrival<'_>,
        messages: Vec<Returning>,
    ) -> Result<(Received, HashMap<MessageId, Position>)> {
        let first = messages.iter().find(|returning| returning.beside.is_none()).or(messages.first());
        let first = first.ok_or_else(|| Error::Invalid("the session has no messages".into()))?;
        let opening = || SessionId::opening(arrival.tenant, first.message.strong());
        let id = arrival.declared.map_or_else(opening, |name| SessionId::declared(arrival.tenant, name));
        let session = SessionKey { tenant: arrival.tenant.clone(), id };
        let received = Received::nothing_new(Outcome::Replay, session, None);
        let mut back = Return {
            log: self,
            arrival,
            received,
            strand: None,
            links: Vec::new(),
            end: None,
            last: None,
            places: HashMap::new(),
        };
        for returning in messages {
            back.take(returning).await?;
        }
        back.commit().await?;
        Ok((back.received, back.places))
    }
}

impl<'a> Return<'a> {
    async fn take(&mut self, returning: Returning) -> Result<()> {
        let Returning { id, at, follows, beside, message } = returning;
        match beside {
            None => {
                self.after(follows).await?.link(at, message);
                self.links.push(id);
                (self.end, self.last) = (Some(id), Some(id));
            }
            Some(Beside::Aside) if follows.is_some() || self.last.is_none() => {
                self.after(follows).await?.aside_end(at, message);
            }
            Some(Beside::Aside) => {
                self.after(self.last).await?.aside_end(at, message);
                // What comes next is not what it led to.
                self.commit().await?;
            }
            Some(why) => {
                let why = self.renumbered(why).await?;
                let end = if self.strand.is_some() { self.end } else { self.last };
                self.after(end).await?.beside_end(why, at, message);
            }
        }
        Ok(())
    }

    /// The strand, if it ends with a message; else another that begins after it.
    async fn after(&mut self, follows: Option<MessageId>) -> Result<&mut Strand<'a>> {
        if self.end != follows {
            self.commit().await?;
        }
        let strand = match self.strand.take() {
            Some(strand) => strand,
            None => self.begin(follows)?,
        };
        Ok(self.strand.insert(strand))
    }

    fn begin(&mut self, follows: Option<MessageId>) -> Result<Strand<'a>> {
        let base = follows.map(|id| self.places.get(&id).copied().ok_or_else(|| unplaced(id))).transpose()?;
        (self.end, self.received.head) = (follows, base);
        let batch = self.arrival.batch(&self.received.session);
        Ok(Strand::new(self.arrival, batch, base))
    }

    /// Why a message stands beside the path, with the number that the other has now.
    async fn renumbered(&mut self, why: Beside) -> Result<Beside> {
        let Beside::Overlay(over) = why else { return Ok(why) };
        if !self.places.contains_key(&over) {
            self.commit().await?;
        }
        self.places.get(&over).map(|place| Beside::Overlay(place.id)).ok_or_else(|| unplaced(over))
    }

    async fn commit(&mut self) -> Result<()> {
        let Some(strand) = self.strand.take() else { return Ok(()) };
        let added = self.received.added;
        self.log.append(&mut self.received, strand.end()).await?;
        self.received.added += added;
        let positions = std::mem::take(&mut self.received.fresh).into_iter().filter_map(|stored| stored.position());
        self.places.extend(std::mem::take(&mut self.links).into_iter().zip(positions));
        Ok(())
    }
}

fn unplaced(id: MessageId) -> Error {
    Error::Invalid(format!("{id} is not among the messages that came before"))
}
