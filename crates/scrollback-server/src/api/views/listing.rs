//! Listing the views of a session: the newest, those of a branch, those after one, or those around one.

use scrollback::SessionKey;
use scrollback::engine::Recorded;
use scrollback::store::{Lineage, Place, Session};
use serde_json::Value;

use super::{Line, Page, named};
use crate::api::ask::{Page as Wanted, VIEW_KEY};
use crate::api::place::{Place as Asked, branch};
use crate::api::{Ask, Refusal, Room};

/// So many more views are read at once where only some are wanted.
const STEP: usize = 64;

/// Some views, newest first, and where the next page begins.
type Stretch = (Vec<Recorded>, Option<String>);

/// Lists the views of a session.
pub(in crate::api) async fn list(room: &Room, ask: &Ask, name: &str) -> Result<Value, Refusal> {
    let (session, key) = room.session(name).await?;
    let page = ask.page()?;
    goes_on(ask, &page)?;
    let (found, next) = match (ask.text("after"), ask.text("around"), ask.number("branch")?) {
        (None, None, None) => before(room, &key, page.key(VIEW_KEY)?, page.count).await?,
        (None, None, Some(number)) => {
            let mut found = of_branch(room, &key, &session, number, &page).await?;
            let next = page.rest(&mut found, |last| last.key.clone());
            (found, next)
        }
        (Some(view), None, None) => after(room, &key, view, page.count).await?,
        (None, Some(view), None) => around(room, &key, view, page.count).await?,
        _ => return Err(Refusal::invalid("name one of after, around and branch, not more")),
    };
    Ok(serde_json::to_value(Page { views: found.iter().map(Line::of).collect(), next })?)
}

/// That a cursor is not named beside what takes none: it would be ignored, and the same page come again for ever.
fn goes_on(ask: &Ask, page: &Wanted) -> Result<(), Refusal> {
    if page.cursor.is_empty() {
        return Ok(());
    }
    match (ask.text("after"), ask.text("around")) {
        (Some(_), _) => {
            Err(Refusal::invalid("“after” takes no cursor: name the `next` of the page before as the next “after”"))
        }
        (None, Some(_)) => {
            Err(Refusal::invalid("“around” takes no cursor: go on with “cursor” alone, without “around”"))
        }
        (None, None) => Ok(()),
    }
}

/// The views of the path of a branch: a page of them and one more.
async fn of_branch(
    room: &Room,
    key: &SessionKey,
    session: &Session,
    number: u32,
    page: &Wanted,
) -> Result<Vec<Recorded>, Refusal> {
    let Some(branch) = branch(session, Some(number))? else { return Ok(Vec::new()) };
    let lineage = Lineage::of(branch.head, &session.branches);
    let (mut found, mut cursor) = (Vec::new(), page.key(VIEW_KEY)?.to_owned());
    while found.len() <= page.count {
        let views = room.engine.views_before(key, &cursor, page.count + STEP).await?;
        let Some(last) = views.last() else { break };
        cursor.clone_from(&last.key);
        found.extend(views.into_iter().filter(|one| lineage.holds(&Place::Path(one.view.head))));
    }
    found.truncate(page.count + 1);
    Ok(found)
}

/// The newest view of a path.
pub(in crate::api) async fn newest_on(room: &Room, place: &Asked) -> Result<Option<Recorded>, Refusal> {
    let lineage = Lineage::of(place.head, &place.session.branches);
    let is_on = |one: &Recorded| lineage.holds(&Place::Path(one.view.head));
    if let Some(newest) = place.newest.as_ref().filter(|newest| is_on(newest)) {
        return Ok(Some(newest.clone()));
    }
    let mut cursor = String::new();
    loop {
        let views = room.engine.views_before(&place.key, &cursor, STEP).await?;
        let Some(last) = views.last() else { return Ok(None) };
        cursor.clone_from(&last.key);
        if let Some(found) = views.into_iter().find(|one| is_on(one)) {
            return Ok(Some(found));
        }
    }
}

async fn before(room: &Room, key: &SessionKey, cursor: &str, count: usize) -> Result<Stretch, Refusal> {
    let mut found = room.engine.views_before(key, cursor, count + 1).await?;
    let more = found.len() > count;
    found.truncate(count);
    let next = found.last().filter(|_| more).map(|last| last.key.clone());
    Ok((found, next))
}

async fn after(room: &Room, key: &SessionKey, view: &str, count: usize) -> Result<Stretch, Refusal> {
    let last = named(room, key, view).await?;
    let mut found = room.engine.views_after(key, &last.key, count + 1).await?;
    let more = found.len() > count;
    found.truncate(count);
    found.reverse();
    let next = found.first().filter(|_| more).map(|newest| newest.name.clone());
    Ok((found, next))
}

async fn around(room: &Room, key: &SessionKey, view: &str, count: usize) -> Result<Stretch, Refusal> {
    let middle = named(room, key, view).await?;
    let newer = (count - 1) / 2;
    let mut found = room.engine.views_after(key, &middle.key, newer).await?;
    found.reverse();
    let (older, next) = before(room, key, &middle.key, count - 1 - newer).await?;
    let next = if count == 1 { Some(middle.key.clone()) } else { next };
    found.push(middle);
    found.extend(older);
    Ok((found, next))
}
