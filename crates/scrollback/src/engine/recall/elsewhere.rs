//! Tool results of other sessions of the same person, where that is allowed. What was said beside them is not.

use super::{FINDS, Sight};
use crate::engine::Engine;
use crate::error::Result;
use crate::ids::{MessageId, SessionKey};
use crate::message::{Message, Part, Role};
use crate::search::{Found, Query, Reach, find};
use crate::store::Stored;
use crate::strategy::result_of;

/// Among how many finds those of other sessions are looked for.
const AMONG: usize = 256;

impl Engine {
    /// Tool results of other sessions.
    pub(super) async fn elsewhere(&self, sight: &Sight<'_>, query: &Query) -> Result<Vec<String>> {
        let tenant = &sight.session.tenant;
        let mut lines = Vec::new();
        for found in self.results_elsewhere(sight.session, query).await? {
            let other = SessionKey { tenant: tenant.clone(), id: found.session };
            let (id, name) = (found.message.id, &found.session.to_string()[..8]);
            if lines.len() < FINDS && !self.leaves_out(sight, &other, id).await? {
                let (number, at, text) = (id.0, found.message.at, &found.snippet.text);
                lines.push(format!("h{number}@{name} · another session · {at} · {text}"));
            }
        }
        Ok(lines)
    }

    /// Finds in tool results of other sessions. What this one says takes no place from them, unless it says very much.
    async fn results_elsewhere(&self, session: &SessionKey, query: &Query) -> Result<Vec<Found>> {
        let role = Some(Role::Tool.as_str().to_owned());
        let query = Query { reach: Reach::Everywhere, role, limit: AMONG, ..query.clone() };
        let found = find(self.store(), &session.tenant, &query).await?;
        let others = found.into_iter().filter(|found| found.session != session.id);
        Ok(others.filter_map(|found| in_results(found, &query)).collect())
    }

    /// Whether the person of another session wants a message of it left out. A person sees it.
    pub(super) async fn leaves_out(&self, sight: &Sight<'_>, other: &SessionKey, id: MessageId) -> Result<bool> {
        Ok(!sight.is_person && self.controlled(other).await?.controls.excluded.contains(&id))
    }
}

/// A find, if it is in a tool's result: what a person says beside one stays in its own session.
fn in_results(found: Found, query: &Query) -> Option<Found> {
    let message = found.message.message();
    let result = result_of(&message);
    if result.is_empty() || message.parts().iter().all(|part| matches!(part, Part::Result { .. })) {
        return Some(found).filter(|_| !result.is_empty());
    }
    let alone = Stored { raw: Message::text(&Role::User, &result).raw().clone(), ..found.message };
    Some(Found::other(found.session, alone, query)).filter(|found| !found.snippet.marks.is_empty())
}
