//! Which session a name means. For a program it means one session and no other: users called `user-1` and `user-12`
//! are two people, also after one of them was erased. A person at a terminal sees what they got, and may write any
//! beginning that only one session has.

use scrollback::store::{Session, Which};
use scrollback::{Error, SessionId, Store, Tenant};

use super::sessions::untitled;
use super::{one_line, title_of};

/// What a program is told that names a session that is not there.
pub(crate) const LISTED: &str = "GET /api/sessions lists them";
/// What a person is told.
const LISTED_HERE: &str = "`scrollback sessions` lists them";

/// Lists shorten ids to twelve digits, and people to fewer; what is shorter than this is no beginning of one.
const LEAST_DIGITS: usize = 8;
/// So many of the sessions that a name could mean are looked at: one that is called just so may be older than many
/// that begin like it.
const NAMED: usize = 10_000;
/// So many of them are told.
const SEVERAL: usize = 5;
/// So much of the id and of the name of each.
const ID_DIGITS: usize = 12;
const NAME_CHARS: usize = 40;
/// How much of a time is its day.
const DAY_CHARS: usize = 10;
/// So much is said again of a name that nobody has.
const SAID_CHARS: usize = 200;

/// The session that a program names: by its whole id or declared name, or by the beginning of its id where nothing else
/// begins so.
pub(super) async fn exactly(store: &dyn Store, tenant: &Tenant, name: &str) -> scrollback::Result<Session> {
    if let Some(session) = whole(store, tenant, name, LISTED).await? {
        return Ok(session);
    }
    let alike = store.sessions(tenant, Which::Named { name: name.to_owned(), skip: 0, limit: SEVERAL + 1 }).await?;
    match &alike[..] {
        [one] if is_short_for(name, one.id) => Ok(one.clone()),
        [] => Err(unknown(name, LISTED)),
        _ => {
            let names = alike.iter().take(SEVERAL).map(|session| told(session, called(session, name).cloned()));
            let (names, more) = listed(&names.collect::<Vec<_>>(), alike.len());
            let said = one_line(name, SAID_CHARS);
            let what = format!("no session is called “{said}”: {LISTED}. Did you mean {names}{more}?");
            Err(Error::NotFound(what))
        }
    }
}

/// The one session a person means: by its whole name, by the beginning of its name or id, or by its first words, where
/// it is listed by these.
pub(crate) async fn find_session(store: &dyn Store, tenant: &Tenant, name: &str) -> scrollback::Result<Session> {
    if let Some(session) = whole(store, tenant, name, LISTED_HERE).await? {
        return Ok(session);
    }
    let mut found = alike(store, tenant, name).await?;
    let only = match (&found[..], &called_so(&found, name)[..]) {
        ([_], _) => 0,
        (_, [only]) => *only,
        ([], _) => return Err(unknown(name, LISTED_HERE)),
        (several, _) => {
            let (names, more) = told_apart(store, tenant, several, name).await?;
            return Err(Error::Invalid(format!(
                "“{name}” could be several sessions: {names}{more}. Write more of it, or the id of one"
            )));
        }
    };
    Ok(found.swap_remove(only).0)
}

/// The one session that a person has changed for good without being asked: by its whole name or title, or by its id,
/// of which a beginning is enough. A script that is run again must not come upon another that only begins like it.
pub(crate) async fn find_whole(store: &dyn Store, tenant: &Tenant, name: &str) -> scrollback::Result<Session> {
    if let Some(session) = whole(store, tenant, name, LISTED_HERE).await? {
        return Ok(session);
    }
    let mut found = alike(store, tenant, name).await?;
    let called = called_so(&found, name);
    let is_meant = |at: &usize| called.contains(at) || is_short_for(name, found[*at].0.id);
    let meant: Vec<usize> = (0..found.len()).filter(is_meant).collect();
    match meant[..] {
        [only] => Ok(found.swap_remove(only).0),
        _ if found.is_empty() => Err(unknown(name, LISTED_HERE)),
        _ => {
            let (names, more) = told_apart(store, tenant, &found, name).await?;
            Err(Error::NotFound(format!(
                "no one session is called just “{}”. Did you mean {names}{more}? Write the whole name, or the id",
                one_line(name, SAID_CHARS)
            )))
        }
    }
}

/// The sessions that a person's name could mean, each with its title.
async fn alike(store: &dyn Store, tenant: &Tenant, name: &str) -> scrollback::Result<Vec<(Session, String)>> {
    let found = store.sessions(tenant, Which::Named { name: name.to_owned(), skip: 0, limit: NAMED }).await?;
    if found.is_empty() {
        return begun_with(store, tenant, name).await;
    }
    let titled = |session: Session| {
        let title = session.title.clone().unwrap_or_default();
        (session, title)
    };
    Ok(found.into_iter().map(titled).collect())
}

/// Which of them have a name for their whole title.
fn called_so(found: &[(Session, String)], name: &str) -> Vec<usize> {
    let words = |text: &str| one_line(text, usize::MAX).to_lowercase();
    let name = words(name);
    (0..found.len()).filter(|at| words(&found[*at].1) == name).collect()
}

/// The session that has just this id or declared name.
async fn whole(store: &dyn Store, tenant: &Tenant, name: &str, listed: &str) -> scrollback::Result<Option<Session>> {
    if name.trim().is_empty() {
        return Err(Error::Invalid(format!("a session has to be named: {listed}")));
    }
    let by_id = async |id| Ok(store.sessions(tenant, Which::Id(id)).await?.pop());
    // Programs name sessions by their whole ids, and need not wait until all names are looked through.
    if let Ok(id) = name.parse().map(SessionId)
        && let Some(session) = by_id(id).await?
    {
        return Ok(Some(session));
    }
    by_id(SessionId::declared(tenant, name)).await
}

fn is_short_for(name: &str, id: SessionId) -> bool {
    name.len() >= LEAST_DIGITS && id.to_string().starts_with(&name.to_ascii_lowercase())
}

fn unknown(name: &str, listed: &str) -> Error {
    Error::NotFound(format!("no session is called “{}”: {listed}", one_line(name, SAID_CHARS)))
}

/// Some of several sessions, and whether there are more.
fn listed(names: &[String], several: usize) -> (String, &'static str) {
    (names.join(", "), if several > names.len() { " and more" } else { "" })
}

/// Sessions without a name whose first message begins with some words, each with what it is listed by.
async fn begun_with(store: &dyn Store, tenant: &Tenant, words: &str) -> scrollback::Result<Vec<(Session, String)>> {
    let begins = one_line(words, usize::MAX).trim_end_matches('…').to_lowercase();
    untitled(store, tenant, &begins, |title| title.starts_with(&begins)).await
}

/// Some of the sessions that a name could mean, each by what it is called, or by what it is about; and whether there
/// are more.
async fn told_apart(
    store: &dyn Store,
    tenant: &Tenant,
    found: &[(Session, String)],
    meant: &str,
) -> scrollback::Result<(String, &'static str)> {
    let mut names = Vec::new();
    for (session, _) in found.iter().take(SEVERAL) {
        let called = match called(session, meant) {
            Some(name) => name.clone(),
            None => title_of(store, tenant, session).await?,
        };
        names.push(told(session, Some(called)));
    }
    Ok(listed(&names, found.len()))
}

/// A session's own name or title, whichever begins with what was meant, or else its name.
fn called<'a>(session: &'a Session, meant: &str) -> Option<&'a String> {
    let begins = |called: &&String| called.to_ascii_lowercase().starts_with(&meant.to_ascii_lowercase());
    let (declared, title) = (session.declared.as_ref(), session.title.as_ref());
    declared.filter(begins).or(title.filter(begins)).or(declared)
}

/// The beginning of a session's id, what it is called, and a day.
fn told(session: &Session, called: Option<String>) -> String {
    // Exports have many conversations of the same title; when each was last written to tells them apart.
    let day: String = session.last.to_string().chars().take(DAY_CHARS).collect();
    let shortened =
        |name: String| name.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(NAME_CHARS).collect();
    let called = called.map(shortened).map(|name: String| format!(" “{name}”")).unwrap_or_default();
    format!("{}{called} of {day}", &session.id.to_string()[..ID_DIGITS])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use scrollback::import::{self, Conversation, Format};
    use scrollback::{At, Log, MemoryStore};

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

    /// Conversations that their programs named, and what was said in them first.
    async fn told(conversations: [(&str, &str); 3]) -> (Arc<MemoryStore>, Tenant) {
        let (store, tenant) = (Arc::new(MemoryStore::default()), Tenant::local());
        let log = Log::new(store.clone());
        for (minute, (name, words)) in (0..).zip(conversations) {
            let text = format!(r#"{{"id":"{name}","messages":[{{"role":"user","content":"{words}"}}]}}"#);
            let read = import::read(Format::OpenAi, &text).unwrap().conversations.remove(0);
            import::store(&log, &tenant, &read, At(minute * 60_000_000)).await.unwrap();
        }
        (store, tenant)
    }

    #[tokio::test]
    async fn whole_first_words_are_found_among_those_that_begin_like_them() {
        let talks = [("a", "Where is the key?"), ("b", "Where is the key? I lost it."), ("c", "Where is the keyhole?")];
        let (store, tenant) = told(talks).await;
        let found = find_session(store.as_ref(), &tenant, "where is  the key?").await.unwrap();
        assert_eq!(found.declared.as_deref(), Some("a"));
        let error = find_session(store.as_ref(), &tenant, "Where is the").await.unwrap_err().to_string();
        assert!(error.contains("several sessions"), "{error}");
    }

    #[tokio::test]
    async fn what_is_changed_for_good_has_to_be_named_whole() {
        let (store, tenant) = told([("user-12", "Hello."), ("user-2", "Hello, harbour."), ("user-3", "Bye.")]).await;
        let found = async |name: &str| find_whole(store.as_ref(), &tenant, name).await;
        for (name, meant) in [("user-12", "user-12"), ("hello.", "user-12"), ("Hello, harbour.", "user-2")] {
            assert_eq!(found(name).await.unwrap().declared.as_deref(), Some(meant), "{name}");
        }
        let id = found("user-3").await.unwrap().id.to_string();
        assert_eq!(found(&id[..LEAST_DIGITS]).await.unwrap().id.to_string(), id);
        for name in ["user-1", "Hello, h", &id[..LEAST_DIGITS - 1]] {
            let error = found(name).await.unwrap_err().to_string();
            assert!(error.contains("Did you mean"), "{name}: {error}");
        }
        assert!(found("user-1").await.unwrap_err().to_string().contains("“user-12”"));
        assert!(found("nobody").await.unwrap_err().to_string().contains("no session is called “nobody”"));
    }
}
