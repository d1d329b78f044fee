//! Items that a request names by their ids alone, as clients do that leave it to their provider to keep what was said.
//! The log has what was said here, so that a window can hold it.

use std::borrow::Cow;
use std::collections::HashMap;

use scrollback::{Message, SessionId, SessionKey, Tenant};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::items::name;
use super::{Incoming, Proxy};
use crate::proxy::plan::declared;
use crate::wire::edit::array;
use crate::wire::request::Request;
use crate::wire::responses::REFERS;
use crate::wire::{Opened, Wire};

/// The type of an item that is only a name.
const REFERENCE: &str = "item_reference";
/// How the ids of reasoning begin.
const REASONING: &str = "rs_";

/// An item, as far as it has to be known.
#[derive(Default, Deserialize)]
pub(super) struct Named<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
}

impl<'a> Named<'a> {
    pub(super) fn read(item: &'a RawValue) -> Self {
        serde_json::from_str(item.get()).unwrap_or_default()
    }

    /// What it stands for, if it is only a name.
    fn refers(self) -> Option<Cow<'a, str>> {
        self.id.filter(|_| self.kind.as_deref() == Some(REFERENCE))
    }

    /// Its name, if it is more than that.
    pub(super) fn says(self) -> Option<Cow<'a, str>> {
        self.id.filter(|_| self.kind.as_deref() != Some(REFERENCE))
    }
}

impl Proxy {
    /// What a request says beside its messages; and those, if it only names some that the log knows.
    pub(in crate::proxy) async fn opened(
        &self,
        wire: &dyn Wire,
        request: &Request,
        incoming: &Incoming,
    ) -> (Opened, Option<String>) {
        let mut opened = wire.opened(request, &incoming.headers);
        let items = self.resolved_items(request, incoming, &opened).await;
        opened.untouched = opened.untouched.filter(|_| items.is_none());
        (opened, items)
    }

    /// The items of a request that names some, with those of the log in their places; `None` if it does not know all.
    async fn resolved_items(&self, request: &Request, incoming: &Incoming, opened: &Opened) -> Option<String> {
        if opened.untouched != Some(REFERS) || opened.follows.is_some() {
            return None;
        }
        let items: Vec<&RawValue> = serde_json::from_str(request.raw("input")?).ok()?;
        let tenant = &incoming.tenant;
        let id = match declared(request, incoming).session {
            Some(name) => self.meant_by(tenant, &name).await.ok()?,
            None => begun(tenant, &items)?,
        };
        let session = SessionKey { tenant: tenant.clone(), id };
        let wanted: Vec<_> = items.iter().filter_map(|item| Named::read(item).refers()).collect();
        let found = self.items.of(&**self.engine.log().store(), &session, &wanted).await.ok()?;
        let known: HashMap<_, _> = found.iter().filter_map(|item| Some((name(item)?, item.raw.get()))).collect();
        let mut told = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let Some(id) = Named::read(item).refers() else {
                told.push(item.get());
                continue;
            };
            // What a model thought before it recalled goes with that, and the client has seen it all the same.
            let goes_on = || items.get(at + 1).is_some_and(|next| Named::read(next).refers().is_some());
            match known.get(&id) {
                Some(item) => told.push(item),
                None if id.starts_with(REASONING) && goes_on() => {}
                None => return None,
            }
        }
        Some(array(told.into_iter().map(Into::into)))
    }
}

/// The session that begins as these items do.
fn begun(tenant: &Tenant, items: &[&RawValue]) -> Option<SessionId> {
    let mut messages = items.iter().map(|item| Message::new((*item).to_owned()));
    let first = messages.find(|message| !message.role().instructs() && !message.is_aside())?;
    Some(SessionId::opening(tenant, first.strong()))
}
