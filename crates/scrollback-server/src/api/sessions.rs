//! Sessions: all of them, newest first, or one with what a person decided about it.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use scrollback::ids::{BranchId, Depth};
use scrollback::note::Covers;
use scrollback::search::begun_with;
use scrollback::store::{Branch, Mark, Session, Span, Stored, Which};
use scrollback::strategy::StrategyName;
use scrollback::title::first_words;
use scrollback::{At, Error, MessageId, SessionId, SessionKey, Store, Tenant};
use serde::Serialize;
use serde_json::Value;

use super::place::{Dates, Place, branch};
use super::{Ask, Refusal, Room};
use crate::salvage;

/// Among so many messages the first words of a person are looked for.
const BEGINNING: u32 = 16;
/// How much of a title is shown.
const TITLE_CHARS: usize = 120;

/// A page of sessions.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionPage")]
pub(super) struct Page {
    sessions: Vec<Line>,
    /// Where the next page begins.
    next: Option<String>,
}

/// A session in a line.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionLine")]
struct Line {
    id: SessionId,
    /// What its client calls it.
    declared: Option<String>,
    /// Its title, else how it begins, else what its client calls it.
    title: String,
    born: At,
    last: At,
    messages: u32,
    branches: usize,
}

/// A session, whole.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Session")]
pub(super) struct Whole {
    id: SessionId,
    declared: Option<String>,
    title: String,
    born: At,
    last: At,
    messages: u32,
    branches: Vec<BranchLine>,
    /// The branch that is meant.
    branch: BranchId,
    /// How its next window is laid out.
    layout: String,
    /// The strategy that was chosen for it; `null` if it is the one of the settings.
    strategy: Option<StrategyName>,
    /// The model's limit, in tokens.
    limit: u32,
    controls: Decided,
    /// The first and last message that is folded.
    folded: Option<[MessageId; 2]>,
    /// The newest view.
    view: Option<String>,
}

/// A branch.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Branch")]
struct BranchLine {
    id: BranchId,
    /// The message it leaves another branch at.
    fork: Option<MessageId>,
    /// Its last message.
    head: MessageId,
    /// How many messages its path has.
    messages: u32,
    /// When its last message was said.
    last: At,
}

/// What a person decided.
#[derive(Serialize, JsonSchema)]
struct Decided {
    pinned: BTreeSet<MessageId>,
    excluded: BTreeSet<MessageId>,
    dropped_rules: BTreeSet<String>,
}

impl BranchLine {
    fn of(branch: &Branch, last: At) -> Self {
        let Branch { id, fork, head } = branch;
        Self { id: *id, fork: fork.map(|fork| fork.id), head: head.id, messages: head.depth.0 + 1, last }
    }
}

/// Lists the sessions.
pub(super) async fn list(room: &Room, ask: &Ask) -> Result<Value, Refusal> {
    let (store, page) = (room.engine.log().store(), ask.page()?);
    let text = ask.text("q").unwrap_or_default();
    let mut found = titled(&**store, &room.tenant, text, (page.mark()?, page.count + 1)).await?;
    let next = page.rest(&mut found, |last| last.mark.to_string());
    let mut sessions = Vec::with_capacity(found.len());
    for session in found {
        let title = line(&title_of(&**store, &room.tenant, &session).await?);
        let Session { id, declared, born, last, messages, branches, .. } = session;
        sessions.push(Line { id, declared, title, born, last, messages, branches: branches.len() });
    }
    Ok(serde_json::to_value(Page { sessions, next })?)
}

/// A page of the sessions that people may mean who write some words: by their names and titles, or else by the first words
/// that they are listed by.
async fn titled(
    store: &dyn Store,
    tenant: &Tenant,
    text: &str,
    (after, limit): (Option<Mark>, usize),
) -> scrollback::Result<Vec<Session>> {
    let which = Which::Titled { text: text.to_owned(), after, limit };
    let mut found = store.sessions(tenant, which).await?;
    let words = one_line(text, usize::MAX).to_lowercase();
    if words.is_empty() {
        return Ok(found);
    }
    let begun = untitled(store, tenant, &words, |title| title.contains(&words)).await?.into_iter();
    let begun = begun.map(|(session, _)| session).filter(|session| after.is_none_or(|after| session.mark < after));
    found.extend(begun);
    found.sort_by_key(|session| Reverse(session.mark));
    found.dedup_by_key(|session| session.id);
    found.truncate(limit);
    Ok(found)
}

/// Sessions without a title by words of a person at their beginning, each with what it is listed by, if that, in small
/// letters, is one that is meant.
pub(super) async fn untitled(
    store: &dyn Store,
    tenant: &Tenant,
    words: &str,
    is_meant: impl Fn(&str) -> bool,
) -> scrollback::Result<Vec<(Session, String)>> {
    let mut found = Vec::new();
    for id in begun_with(store, tenant, words).await? {
        let Some(session) = store.sessions(tenant, Which::Id(id)).await?.pop() else { continue };
        if session.title.as_ref().is_some_and(|title| !title.is_empty()) {
            continue;
        }
        let title = title_of(store, tenant, &session).await?;
        if is_meant(&one_line(&title, usize::MAX).to_lowercase()) {
            found.push((session, title));
        }
    }
    Ok(found)
}

/// One session, how its next window is laid out, and what a person decided about it.
pub(super) async fn one(room: &Room, ask: &Ask, name: &str) -> Result<Value, Refusal> {
    let place = room.place(ask, name).await?;
    let title = line(&title_of(&**room.engine.log().store(), &room.tenant, &place.session).await?);
    let (folded, view) =
        (room.fold(&place).await?.covers.map(Covers::ends), place.newest.as_ref().map(|newest| newest.name.clone()));
    let branches = branches(room, &place).await?;
    let Session { id, declared, born, last, messages, .. } = place.session;
    let controls = place.controls;
    let whole = Whole {
        id,
        declared,
        title,
        born,
        last,
        messages,
        branches,
        branch: place.head.branch,
        layout: place.layout.to_string(),
        strategy: controls.strategy,
        limit: place.limit,
        controls: Decided {
            pinned: controls.pinned,
            excluded: controls.excluded,
            dropped_rules: controls.dropped_rules,
        },
        folded,
        view,
    };
    Ok(serde_json::to_value(whole)?)
}

/// The branches of a session, and when each was written to last.
async fn branches(room: &Room, place: &Place) -> Result<Vec<BranchLine>, Refusal> {
    let branches = &place.session.branches;
    let end = |branch: &Branch| [branch.head.id, branch.head.id];
    let said = Dates::read(room, &place.key, branches.iter().map(end)).await?;
    let last = |branch: &Branch| said.of(end(branch)).map_or(place.session.last, |[last, _]| last);
    Ok(branches.iter().map(|branch| BranchLine::of(branch, last(branch))).collect())
}

/// A title in one line.
pub(super) fn line(title: &str) -> String {
    one_line(title, TITLE_CHARS)
}

/// The beginning of a text in one line; where there is more of it, it says so.
pub(crate) fn one_line(text: &str, most_chars: usize) -> String {
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if whole.chars().nth(most_chars).is_none() {
        return whole;
    }
    let begin: String = whole.chars().take(most_chars.saturating_sub(1)).collect();
    format!("{}…", begin.trim_end())
}

/// What a session is called: its title, else how it begins, else its declared name.
pub(crate) async fn title_of(store: &dyn Store, tenant: &Tenant, session: &Session) -> scrollback::Result<String> {
    title_without(store, tenant, session, &BTreeSet::new()).await
}

/// The same for a model, which is not told what a person wants left out.
pub(crate) async fn title_without(
    store: &dyn Store,
    tenant: &Tenant,
    session: &Session,
    excluded: &BTreeSet<MessageId>,
) -> scrollback::Result<String> {
    if let Some(title) = session.title.as_ref().filter(|title| !title.is_empty()) {
        return Ok(title.clone());
    }
    let mut first = beginning(store, tenant, session).await?;
    first.retain(|stored| !excluded.contains(&stored.id));
    let begins = first_words(first.iter().map(Stored::message));
    let others = || first.first().map(|stored| stored.message().to_text()).filter(|text| !text.trim().is_empty());
    Ok(begins.or_else(others).or_else(|| session.declared.clone()).unwrap_or_default())
}

/// The first messages of the newest branch: agents begin others for tasks of their own, such as to make up a title.
async fn beginning(store: &dyn Store, tenant: &Tenant, session: &Session) -> scrollback::Result<Vec<Stored>> {
    let key = SessionKey { tenant: tenant.clone(), id: session.id };
    let Some(Branch { head, .. }) = branch(session, None)? else { return Ok(Vec::new()) };
    let to = Depth(head.depth.0.min(BEGINNING - 1));
    match store.read(&key, Span::Path { head, from: Depth(0), to }).await {
        // A damaged message must not keep the others from being listed.
        Err(Error::Damaged(_)) => {
            Ok(salvage::messages(store, &key, BEGINNING.min(session.messages)).await?.path(session, head))
        }
        read => read,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use scrollback::log::{Arrival, History};
    use scrollback::{Log, MemoryStore};

    use super::*;

    #[tokio::test]
    async fn an_agents_conversation_is_called_by_its_persons_words() {
        let (store, tenant) = (Arc::new(MemoryStore::default()), Tenant::local());
        let log = Log::new(store.clone());
        let reminded = r"<system-reminder>\nBe brief.\n</system-reminder>\nMend the pier.";
        for talk in [
            r#"[{"role":"user","content":"Generate a title for this conversation:"}]"#.to_owned(),
            format!(r#"[{{"role":"user","content":"{reminded}"}},{{"role":"assistant","content":"Done."}}]"#),
        ] {
            let arrival = Arrival::new(&tenant, Some("agent"), "gpt-5", At(1));
            log.receive(arrival, &History::parse(&talk).unwrap()).await.unwrap();
        }
        let session = store.sessions(&tenant, Which::Page { skip: 0, limit: 9 }).await.unwrap().remove(0);
        assert_eq!(session.branches.len(), 2);
        assert_eq!(title_of(store.as_ref(), &tenant, &session).await.unwrap(), "Mend the pier.");
        let said = BTreeSet::from([session.branches[1].fork.map_or(MessageId(1), |fork| fork.id)]);
        assert_eq!(title_without(store.as_ref(), &tenant, &session, &said).await.unwrap(), "Done.");
    }
}
