//! Sessions by what a person said at their beginning: what lists show of those without a title. Only the first messages
//! are looked for, however long the sessions are.

use std::collections::HashSet;

use futures_util::future::BoxFuture;

use super::rank::query_terms;
use super::words::is_term_char;
use super::{Need, Probe, Reach};
use crate::error::Result;
use crate::ids::{SessionId, Tenant};
use crate::store::Store;

/// So many messages are looked at, for so many of the words.
const LOOKED_AT: usize = 200;
const TERMS: usize = 64;

/// The sessions in whose first messages a person said all of some words, the youngest first. Of the last word its
/// beginning is enough: people look while they type.
pub fn begun_with<'a>(
    store: &'a dyn Store,
    tenant: &'a Tenant,
    words: &'a str,
) -> BoxFuture<'a, Result<Vec<SessionId>>> {
    Box::pin(async move {
        let mut terms = query_terms(words);
        terms.truncate(TERMS);
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(last) = terms.last_mut().filter(|_| words.ends_with(is_term_char)) {
            last.prefix = true;
        }
        let probe = Probe::new(terms, Need::All, Reach::Beginnings, LOOKED_AT);
        let probe = Probe { speaker: Some("user".into()), ..probe };
        let mut seen = HashSet::new();
        let found = store.matching(tenant, probe).await?.messages.into_iter().map(|(session, _)| session);
        Ok(found.filter(|session| seen.insert(*session)).collect())
    })
}
