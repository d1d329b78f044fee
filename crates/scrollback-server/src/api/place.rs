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
use scrollback::search::{Query, find};
use scrollback::store::{Branch, Position, Session, Span, Which};
use scrollback::window::Budget;
use scrollback::{At, Error, MessageId, SessionId, SessionKey, Store, Tenant};

use super::sessions::BEGINNING;
use super::{Ask, Refusal, Room, one_line, title_of};
use crate::config::RecallBy;

/// A smaller window holds nothing.
pub(super) const LEAST_LIMIT: u32 = 500;

/// So many of the sessions that a name could mean are looked at: one that is called just so may be older than many
/// that begin like it,
const NAMED: usize = 10_000;
/// and so many messages, where none is called so.
const LOOKED_AT: usize = 100;
/// So many of them are told.
const SEVERAL: usize = 5;
/// So much of the id and of the name of each.
const ID_DIGITS: usize = 12;
const NAME_CHARS: usize = 40;
/// How much of a time is its day.
const DAY_CHARS: usize = 10;
/// So much is said again of a name that nobody has.
const SAID_CHARS: usize = 200;

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

/// The one session a person means: by its whole name, by the beginning of its name or id, or by its first words, where
/// it is listed by these.
pub(crate) async fn find_session(store: &dyn Store, tenant: &Tenant, name: &str) -> scrollback::Result<Session> {
    if name.trim().is_empty() {
        return Err(Error::Invalid("a session has to be named: `scrollback sessions` lists them".into()));
    }
    // Programs name sessions by their whole ids, and need not wait until all names are looked through.
    if let Ok(id) = name.parse().map(SessionId)
        && let Some(session) = store.sessions(tenant, Which::Id(id)).await?.pop()
    {
        return Ok(session);
    }
    let exact = store.sessions(tenant, Which::Id(SessionId::declared(tenant, name))).await?.pop();
    if let Some(session) = exact {
        return Ok(session);
    }
    let mut found = store.sessions(tenant, Which::Named { name: name.to_owned(), skip: 0, limit: NAMED }).await?;
    if found.is_empty() {
        found = begun_with(store, tenant, name).await?;
    }
    let is_whole = |session: &&Session| session.title.as_ref().is_some_and(|title| title.eq_ignore_ascii_case(name));
    if let [one] = &found.iter().filter(is_whole).collect::<Vec<_>>()[..] {
        return Ok(Session::clone(one));
    }
    match found.len() {
        0 => {
            let name = one_line(name, SAID_CHARS);
            Err(Error::NotFound(format!("no session is called “{name}”: `scrollback sessions` lists them")))
        }
        1 => Ok(found.remove(0)),
        several => {
            let mut names = Vec::new();
            for session in found.iter().take(SEVERAL) {
                names.push(told_apart(store, tenant, session, name).await?);
            }
            let (names, more) = (names.join(", "), if several > SEVERAL { " and more" } else { "" });
            Err(Error::Invalid(format!(
                "“{name}” could be several sessions: {names}{more}. Write more of it, or the id of one"
            )))
        }
    }
}

/// Sessions without a name whose first message begins with some words.
async fn begun_with(store: &dyn Store, tenant: &Tenant, words: &str) -> scrollback::Result<Vec<Session>> {
    let hits = match find(store, tenant, &Query { limit: LOOKED_AT, ..Query::new(words) }).await {
        Ok(hits) => hits,
        // It has no words.
        Err(Error::Invalid(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let begins = one_line(words, usize::MAX).trim_end_matches('…').to_lowercase();
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    for hit in hits.into_iter().filter(|hit| hit.message.position().is_some_and(|at| at.depth.0 < BEGINNING)) {
        if !seen.insert(hit.session) {
            continue;
        }
        let Some(session) = store.sessions(tenant, Which::Id(hit.session)).await?.pop() else { continue };
        let title = title_of(store, tenant, &session).await?;
        if one_line(&title, usize::MAX).to_lowercase().starts_with(&begins) {
            found.push(session);
        }
    }
    Ok(found)
}

/// A session among others that a name could mean: the beginning of its id, and its own name or the title, whichever
/// begins so, or what it is about.
async fn told_apart(store: &dyn Store, tenant: &Tenant, session: &Session, meant: &str) -> scrollback::Result<String> {
    let begins = |called: &&String| called.to_ascii_lowercase().starts_with(&meant.to_ascii_lowercase());
    let (declared, title) = (session.declared.as_ref(), session.title.as_ref());
    let called = match declared.filter(begins).or(title.filter(begins)).or(declared) {
        Some(name) => name.clone(),
        None => title_of(store, tenant, session).await?,
    };
    let called: String = called.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(NAME_CHARS).collect();
    // Exports have many conversations of the same title; when each was last written to tells them apart.
    let day: String = session.last.to_string().chars().take(DAY_CHARS).collect();
    Ok(format!("{} “{called}” of {day}", &session.id.to_string()[..ID_DIGITS]))
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

#[cfg(test)]
mod tests {
    use scrollback::import::{self, Conversation, Format};
    use scrollback::{Log, MemoryStore};

    use super::*;

    #[tokio::test]
    async fn a_whole_title_is_found_among_many_that_begin_like_it() {
        let (store, tenant) = (Arc::new(MemoryStore::default()), Tenant::local());
        let log = Log::new(store.clone());
        for number in 0..150 {
            let title = if number == 0 { "Boats".to_owned() } else { format!("Boats, part {number}") };
            let text = format!(r#"{{"id":"chat-{number}","messages":[{{"role":"user","content":"hi"}}]}}"#);
            let read = import::read(Format::OpenAi, &text).unwrap().conversations.remove(0);
            let conversation = Conversation { title: Some(title), ..read };
            import::store(&log, &tenant, &conversation, At(number * 60_000_000)).await.unwrap();
        }
        let found = find_session(store.as_ref(), &tenant, "boats").await.unwrap();
        assert_eq!(found.declared.as_deref(), Some("chat-0"));
        let error = find_session(store.as_ref(), &tenant, "boats, p").await.unwrap_err().to_string();
        assert!(error.contains("“Boats, part 149”") && error.contains("and more"), "{error}");
    }
}
