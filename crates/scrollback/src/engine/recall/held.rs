//! Bringing back held tool results: whole, some lines, or the passages with some words.

use super::Sight;
use super::passages::{self, Passages, lines_of, passages};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::{MessageId, SessionKey};
use crate::message;
use crate::recall::{Part, fence, heading, said};
use crate::store::{Session, Span, Which};
use crate::window::grouped;

impl Engine {
    /// A held result, or a part of it.
    pub(super) async fn hold(&self, sight: &Sight<'_>, id: &str, part: &Part, room: u32) -> Result<String> {
        let (session, message) = self.held_message(sight, id).await?;
        let unknown = || Error::NotFound(format!("There is no tool result {id} in this conversation."));
        let stored = self.store().read(&session, Span::Ids(vec![message])).await?.pop().ok_or_else(unknown)?;
        let read = stored.message();
        let result = crate::strategy::result_of(&read);
        if result.is_empty() && session != *sight.session {
            return Err(unknown());
        }
        // Words may stand beside results, and documents in them; whoever is led here has seen neither.
        let words_alone = |part: &_| matches!(part, message::Part::Result { other, .. } if other.is_empty());
        let alone = read.parts().iter().all(words_alone);
        // What a person says beside a result stays in its own session.
        let is_mixed = read.parts().iter().any(|part| !matches!(part, message::Part::Result { .. }));
        let results_alone = alone || is_mixed && session != *sight.session;
        let text = if results_alone && !result.is_empty() { result } else { said(stored.id, &read) };
        let lines = lines_of(&text);
        let count = u32::try_from(lines.len()).unwrap_or(u32::MAX);
        let whole = |text: String| Passages { text, complaint: None };
        let Passages { text: shown, complaint } = match part {
            Part::Whole => whole(passages::lines(&lines, 1, count, room)),
            Part::Lines { first, last } => whole(passages::lines(&lines, *first, *last, room)),
            Part::Words(words) => {
                let found = passages(&lines, words, room);
                let text = format!("{}\n{}", heading(stored.id, &stored.role, stored.at), found.text);
                Passages { text, ..found }
            }
        };
        let title = format!("{id}, {}, {} lines, {}", stored.role, grouped(count), stored.at);
        Ok(complaint.into_iter().chain([fence("result", &title, &shown)]).collect::<Vec<_>>().join("\n"))
    }

    /// Where a held result is: on the path, or in another session if that is allowed (`h12@1f2e3d4c`).
    async fn held_message(&self, sight: &Sight<'_>, id: &str) -> Result<(SessionKey, MessageId)> {
        let unknown = || Error::NotFound(format!("There is no tool result {id} in this conversation."));
        let (number, elsewhere) = id.split_once('@').map_or((id, None), |(number, session)| (number, Some(session)));
        let message = MessageId(number.trim_start_matches('h').parse().map_err(|_| unknown())?);
        let session = sight.session;
        if let Some(other) = elsewhere {
            if !self.settings.across_sessions {
                return Err(unknown());
            }
            let found = self
                .store()
                .sessions(&session.tenant, Which::Named { name: other.to_owned(), skip: 0, limit: 2 })
                .await?;
            // What only begins like a name is another's.
            let is_meant =
                |found: &Session| found.id.to_string().starts_with(other) || found.declared.as_deref() == Some(other);
            let [found] = &found[..] else { return Err(unknown()) };
            if !is_meant(found) {
                return Err(unknown());
            }
            let other = SessionKey { tenant: session.tenant.clone(), id: found.id };
            let seen = !self.leaves_out(sight, &other, message).await?;
            return seen.then_some((other, message)).ok_or_else(unknown);
        }
        let lineage = self.store().lineage(sight.session, sight.head).await?;
        self.on_path(session, &lineage, message).await?.ok_or_else(unknown)?;
        if sight.excluded.contains(&message) {
            return Err(unknown());
        }
        Ok((session.clone(), message))
    }
}
