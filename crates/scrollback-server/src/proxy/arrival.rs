//! Where a request belongs: to the session it names, by a name of its own or by the id that our replies tell.

use scrollback::log::{After, Arrival};
use scrollback::store::{Session, Which};
use scrollback::{Error, SessionId};

use super::Proxy;
use super::plan::Plan;
use crate::clock::now;
use crate::wire::Follows;

impl Proxy {
    /// The session that a request names by its id, as replies tell it.
    pub(super) async fn named_by_id(&self, plan: &Plan) -> scrollback::Result<Option<Session>> {
        let Some(Ok(id)) = plan.session.as_ref().map(|name| name.parse()) else { return Ok(None) };
        Ok(self.engine.log().store().sessions(&plan.tenant, Which::Id(SessionId(id))).await?.pop())
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
        Ok((Arrival::new(&plan.tenant, name, &plan.model, now()), after))
    }
}

/// After what was said last in a session.
fn after_all(session: &Session) -> After<'static> {
    let last = session.branches.iter().map(|branch| branch.head.id).max();
    After::Place { session: session.id, message: last }
}
