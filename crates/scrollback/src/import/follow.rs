//! A conversation that goes on from messages which its file does not hold: they are taken from the log.

use super::{Conversation, Timed};
use crate::error::Result;
use crate::ids::{At, Depth, SessionId, SessionKey, Tenant};
use crate::log::Log;
use crate::message::Message;
use crate::store::{Span, Stored};

/// The messages of a conversation, behind its instructions those that it goes on from, if any are stored.
pub(super) async fn whole(log: &Log, tenant: &Tenant, conversation: &Conversation) -> Result<Vec<Timed>> {
    let messages = &conversation.messages;
    let head = messages.iter().take_while(|(raw, _)| Message::new(raw.clone()).role().instructs()).count();
    let Some(began) = messages[head..].iter().find_map(|(_, at)| *at) else { return Ok(messages.clone()) };
    for name in &conversation.follows {
        let before = said_before(log, tenant, name, began).await?;
        if !before.is_empty() {
            return Ok([&messages[..head], &before, &messages[head..]].concat());
        }
    }
    Ok(messages.clone())
}

/// What was said in a session before a moment, on the path that was written to last. So a file that is read again finds
/// itself where it is.
async fn said_before(log: &Log, tenant: &Tenant, name: &str, began: At) -> Result<Vec<Timed>> {
    let key = SessionKey { tenant: tenant.clone(), id: SessionId::declared(tenant, name) };
    let last = log.store().read(&key, Span::Last).await?;
    let Some(head) = last.first().and_then(Stored::position) else { return Ok(Vec::new()) };
    let path = log.store().read(&key, Span::path(head, Depth(0))).await?;
    let before = path.into_iter().take_while(|stored| stored.at < began);
    before.map(|stored| stored.sound().map(|stored| (stored.raw, Some(stored.at)))).collect()
}
