//! What a request is about: a session, a branch of it, and how windows of that path are laid out.
//!
//! The limit is the one a person names, else that of the newest window that was sent, else what the settings say. Whatever
//! the strategy of that window was, what counts is how the next one will be laid out.

use std::sync::Arc;

use scrollback::control::Controls;
use scrollback::engine::{Folding, Recorded};
use scrollback::ids::BranchId;
use scrollback::note::Fold;
use scrollback::store::{Branch, Position, Session, Which};
use scrollback::window::Budget;
use scrollback::{Error, MessageId, SessionKey, Store, Tenant};

use super::{Ask, Refusal, Room};

/// A smaller window holds nothing.
const LEAST_LIMIT: u32 = 500;

/// A path and how its windows are laid out.
pub(crate) struct Place {
    pub(crate) session: Session,
    pub(crate) key: SessionKey,
    pub(crate) head: Position,
    pub(crate) controls: Controls,
    pub(crate) layout: Arc<str>,
    model: String,
    budget: Budget,
}

impl Place {
    /// Where something is folded.
    pub(crate) fn folding(&self) -> Folding<'_> {
        let Self { key, head, layout, model, budget, .. } = self;
        Folding { session: key, head: *head, layout, model, budget: *budget }
    }
}

impl Room {
    /// The session that a request names.
    pub(crate) async fn session(&self, name: &str) -> Result<(Session, SessionKey), Refusal> {
        let session = find_session(&**self.engine.log().store(), &self.tenant, name).await?;
        let key = SessionKey { tenant: self.tenant.clone(), id: session.id };
        Ok((session, key))
    }

    /// What a request is about.
    pub(crate) async fn place(&self, ask: &Ask, name: &str) -> Result<Place, Refusal> {
        let (session, key) = self.session(name).await?;
        let nothing = || Refusal::invalid("the session has no messages");
        let head = branch(&session, ask.number("branch")?)?.ok_or_else(nothing)?.head;
        let controls = self.engine.controls(&key).await?;
        let newest = self.engine.views(&key).await?.into_iter().max_by_key(|recorded| recorded.at);
        let limit =
            ask.number("limit")?.or_else(|| newest.as_ref().and_then(limit_of)).unwrap_or_else(|| self.usual_limit());
        if limit < LEAST_LIMIT {
            return Err(Refusal::invalid(format!(
                "a limit of {limit} tokens holds nothing: name at least {LEAST_LIMIT}"
            )));
        }
        let budget = self.budget(newest.as_ref(), limit);
        let layout = self.engine.layout_with(&controls, limit);
        let model =
            newest.and_then(|newest| newest.view.calls.last().map(|call| call.model.clone())).unwrap_or_default();
        Ok(Place { session, key, head, controls, layout, model, budget })
    }

    /// The fold that counts at a place.
    pub(crate) async fn fold(&self, place: &Place) -> Result<Fold, Refusal> {
        Ok(self.engine.fold_at(&place.key, place.head, &place.layout).await?.1)
    }

    fn usual_limit(&self) -> u32 {
        if self.window.tokens > 0 { self.window.tokens } else { self.window.unknown_tokens }
    }

    /// What a window may cost: as much as the newest one of that limit, or what the reply leaves.
    fn budget(&self, newest: Option<&Recorded>, limit: u32) -> Budget {
        let same = newest.filter(|newest| limit_of(newest) == Some(limit)).map(|newest| newest.view.budget);
        let tokens = same.unwrap_or_else(|| limit - self.window.reply_tokens.min(limit / 2));
        Budget { tokens }
    }
}

/// The limit that a window was laid out for.
fn limit_of(recorded: &Recorded) -> Option<u32> {
    recorded.view.layout.rsplit_once('@').and_then(|(_, limit)| limit.parse().ok())
}

/// The one session a person means: by its whole name, or by the beginning of its name or id.
pub(crate) async fn find_session(store: &dyn Store, tenant: &Tenant, name: &str) -> scrollback::Result<Session> {
    let mut found = store.sessions(tenant, Which::Named(name.to_owned())).await?;
    if let Some(exact) = found.iter().position(|session| session.declared.as_deref() == Some(name)) {
        return Ok(found.swap_remove(exact));
    }
    match found.len() {
        0 => Err(Error::NotFound(format!("no session is called “{name}”: `scrollback sessions` lists them"))),
        1 => Ok(found.remove(0)),
        several => {
            let names: Vec<String> = found.iter().take(5).map(|session| session.id.to_string()).collect();
            let names = names.join(", ");
            Err(Error::Invalid(format!("“{name}” could be {several} sessions: {names}. Write more of it")))
        }
    }
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

/// The ends of what a fold covers.
pub(super) fn ends(fold: &Fold) -> Option<[MessageId; 2]> {
    fold.covers.map(|covers| [covers.first, covers.last])
}
