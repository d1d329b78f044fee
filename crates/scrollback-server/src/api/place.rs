//! What a request is about: a session, a branch of it, and how windows of that path are laid out.
//!
//! The limit is the one a person names, else that of the newest window that was sent, else what the settings say.
//! Whatever the strategy of that window was, what counts is how the next one will be laid out.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use scrollback::control::Controls;
use scrollback::engine::{Folding, Recorded};
use scrollback::ids::BranchId;
use scrollback::note::Fold;
use scrollback::store::{Branch, Position, Session, Span};
use scrollback::window::Budget;
use scrollback::{At, Error, MessageId, SessionKey};

use super::{Ask, Refusal, Room, named};
use crate::config::RecallBy;

/// A smaller window holds nothing.
pub(super) const LEAST_LIMIT: u32 = 500;

/// A path and how its windows are laid out.
pub(crate) struct Place {
    pub(crate) session: Session,
    pub(crate) key: SessionKey,
    pub(crate) head: Position,
    pub(crate) controls: Controls,
    pub(crate) layout: Arc<str>,
    /// The model's limit.
    pub(crate) limit: u32,
    /// The view that was made last.
    pub(crate) newest: Option<Recorded>,
    model: String,
    budget: Budget,
    /// Whether the model can recall.
    recalls: bool,
}

impl Place {
    /// Where something is folded.
    pub(crate) fn folding(&self) -> Folding<'_> {
        let Self { key, head, layout, model, budget, recalls, .. } = self;
        Folding { session: key, head: *head, layout, model, budget: *budget, recalls: *recalls }
    }
}

impl Room {
    /// The session that a request names.
    pub(crate) async fn session(&self, name: &str) -> Result<(Session, SessionKey), Refusal> {
        let mut session = named::exactly(self.store(), &self.tenant, name).await?;
        // Whoever was just answered asks about a session that has the answer.
        if let Some(proxy) = &self.proxy
            && proxy.keeps_more_in(session.id).await
        {
            session = named::exactly(self.store(), &self.tenant, &session.id.to_string()).await?;
        }
        let key = SessionKey { tenant: self.tenant.clone(), id: session.id };
        Ok((session, key))
    }

    /// What a request is about.
    pub(crate) async fn place(&self, ask: &Ask, name: &str) -> Result<Place, Refusal> {
        let (session, key) = self.session(name).await?;
        let nothing = || Refusal::invalid("the session has no messages");
        let head = branch(&session, ask.number("branch")?)?.ok_or_else(nothing)?.head;
        let controls = self.engine.controls(&key).await?;
        let newest = self.engine.newest_view(&key).await?;
        let limit =
            ask.number("limit")?.or_else(|| newest.as_ref().and_then(limit_of)).unwrap_or_else(|| self.usual_limit());
        if limit < LEAST_LIMIT {
            return Err(Refusal::invalid(format!(
                "a limit of {limit} tokens holds nothing: name at least {LEAST_LIMIT}"
            )));
        }
        let budget = self.budget(newest.as_ref(), limit);
        let layout = self.engine.layout_with(&controls, limit);
        let last = newest.as_ref().and_then(|newest| newest.view.calls.last());
        let model = last.map(|call| call.model.clone()).unwrap_or_default();
        let upstream = last.and_then(|call| self.serve.upstreams.get(&call.upstream));
        let recalls = upstream.is_none_or(|upstream| upstream.recall != RecallBy::Off);
        Ok(Place { session, key, head, controls, layout, limit, newest, model, budget, recalls })
    }

    /// The fold that counts at a place.
    pub(crate) async fn fold(&self, place: &Place) -> Result<Fold, Refusal> {
        Ok(self.engine.fold_at(&place.key, place.head, &place.layout).await?.1)
    }

    fn usual_limit(&self) -> u32 {
        if self.serve.window.tokens > 0 { self.serve.window.tokens } else { self.serve.window.unknown_tokens }
    }

    /// What a window may cost: as much as the newest one of that limit, or what the reply leaves.
    fn budget(&self, newest: Option<&Recorded>, limit: u32) -> Budget {
        let same = newest.filter(|newest| limit_of(newest) == Some(limit)).map(|newest| newest.view.budget);
        let tokens = same.unwrap_or_else(|| limit - self.serve.window.reply_tokens.min(limit / 2));
        Budget { tokens }
    }
}

/// The limit that a window was laid out for.
pub(super) fn limit_of(recorded: &Recorded) -> Option<u32> {
    recorded.view.layout.rsplit_once('@').and_then(|(_, limit)| limit.parse().ok())
}

/// The branch a person asks for, or the one written to last.
pub(crate) fn branch(session: &Session, number: Option<u32>) -> scrollback::Result<Option<Branch>> {
    let Some(number) = number else {
        return Ok(session.branches.iter().max_by_key(|branch| branch.head.id).copied());
    };
    let found = session.branches.iter().find(|branch| branch.id == BranchId(number)).copied();
    let (id, count) = (session.id, session.branches.len());
    let missing = || Error::NotFound(format!("session {id} has no branch {number}; it has {count}, from 0"));
    found.map(Some).ok_or_else(missing)
}

/// A message that a request names.
pub(super) fn message_id(text: &str) -> Result<MessageId, Refusal> {
    Ok(text.parse()?)
}

/// When messages came.
pub(super) struct Dates(HashMap<MessageId, At>);

impl Dates {
    /// Reads when the first and the last message of some stretches came.
    pub(super) async fn read(
        room: &Room,
        key: &SessionKey,
        stretches: impl Iterator<Item = [MessageId; 2]>,
    ) -> Result<Self, Refusal> {
        let ids: BTreeSet<MessageId> = stretches.flatten().collect();
        let stored = room.engine.log().store().read(key, Span::Ids(ids.into_iter().collect())).await?;
        Ok(Self(stored.into_iter().map(|stored| (stored.id, stored.at)).collect()))
    }

    pub(super) fn of(&self, [first, last]: [MessageId; 2]) -> Option<[At; 2]> {
        Some([*self.0.get(&first)?, *self.0.get(&last)?])
    }
}
