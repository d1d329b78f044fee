//! Where a request belongs: to the session it names, by a name of its own or by the id that our replies tell.

use scrollback::log::{After, Arrival, History, Received};
use scrollback::store::{Session, Which};
use scrollback::{Error, SessionId, Tenant};

use super::Proxy;
use super::later::all;
use super::plan::Plan;
use crate::clock::now;
use crate::wire::Follows;

impl Proxy {
    /// The session that a request names by its id, as replies tell it.
    pub(super) async fn named_by_id(&self, plan: &Plan) -> scrollback::Result<Option<Session>> {
        match &plan.session {
            Some(name) => self.with_id(&plan.tenant, name).await,
            None => Ok(None),
        }
    }

    /// The session that is meant by a name: the one that has it for its id, or the one that a client calls so. Clients
    /// have names, too, that look like ids.
    pub(super) async fn meant_by(&self, tenant: &Tenant, name: &str) -> scrollback::Result<SessionId> {
        let known = self.with_id(tenant, name).await?;
        Ok(known.map_or_else(|| SessionId::declared(tenant, name), |session| session.id))
    }

    async fn with_id(&self, tenant: &Tenant, name: &str) -> scrollback::Result<Option<Session>> {
        let Ok(id) = name.parse() else { return Ok(None) };
        Ok(self.engine.log().store().sessions(tenant, Which::Id(SessionId(id))).await?.pop())
    }

    /// Waits for the replies to a conversation that are being kept, but for those that a request brings back.
    pub(super) async fn catch_up(&self, history: &History<'_>, plan: &Plan) {
        // A client may be back with a reply before it is kept, and words it in its own way: it would be taken for
        // another.
        self.later.replies(&plan.conversation, |reply| history.ends_with(reply)).await;
    }

    /// Waits for what a request brings back where its place depends on that: of a history that was cut, the newest reply
    /// may be all that tells which conversation it goes on with.
    pub(super) async fn wait_for_place(&self, arrival: Arrival<'_>, after: Option<After<'_>>, history: &History<'_>) {
        let brought = self.later.brought(arrival.tenant, || history.replies());
        if !brought.is_empty() && after.is_none() && !self.engine.log().continues(arrival, history).await {
            all(brought).await;
        }
    }

    /// Takes what a request says into the log, and lays out no window.
    pub(super) async fn received(&self, history: &History<'_>, plan: &Plan) -> scrollback::Result<Received> {
        self.catch_up(history, plan).await;
        let known = self.named_by_id(plan).await?;
        let (arrival, after) = Self::arrival(plan, known.as_ref())?;
        self.wait_for_place(arrival, after, history).await;
        match after {
            None => self.engine.log().receive(arrival, history).await,
            Some(after) => self.engine.log().receive_new(arrival, after, history).await,
        }
    }

    /// Whose a request is, and what it follows if it holds only new messages.
    pub(super) fn arrival<'a>(
        plan: &'a Plan,
        known: Option<&'a Session>,
    ) -> scrollback::Result<(Arrival<'a>, Option<After<'a>>)> {
        let name = known.map_or(plan.session.as_deref(), |known| known.declared.as_deref());
        if let Some(ours) = &plan.ours {
            return Ok((Arrival::new(&plan.tenant, name, &plan.model, now()), Some(ours.after())));
        }
        let after = match (&plan.follows, plan.only_new, name) {
            (Some(Follows::Response(id) | Follows::Compaction(id)), ..) => Some(After::Response(id)),
            (Some(Follows::Conversation(name)), ..) => Some(After::Last(name)),
            (None, false, _) => None,
            (None, true, Some(name)) => Some(After::Last(name)),
            (None, true, None) if known.is_some() => known.map(after_all),
            (None, true, None) => {
                let what = "a request with only new messages must name its session, for example with the header \
                            x-scrollback-session";
                return Err(Error::Invalid(what.into()));
            }
        };
        Ok((Arrival { shared: plan.shared, ..Arrival::new(&plan.tenant, name, &plan.model, now()) }, after))
    }
}

/// After what was said last in a session.
fn after_all(session: &Session) -> After<'static> {
    let last = session.branches.iter().map(|branch| branch.head.id).max();
    After::Place { session: session.id, message: last }
}
