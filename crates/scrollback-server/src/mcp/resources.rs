//! What there is to read: every session, and through templates what was made of each.

use axum::http::StatusCode;
use rmcp::ErrorData;
use rmcp::model::{Annotations, ListResourcesResult, Resource, ResourceTemplate};

use super::sessions::{self, Line, MOST};
use super::{Reader, unreadable};

/// Where every address begins.
pub(super) const SCHEME: &str = "scrollback://";
/// What everything is read as.
pub(super) const TEXT: &str = "text/plain";

/// A page of the resources: first the list of sessions, then each of them.
pub(super) async fn list(reader: &Reader, cursor: Option<String>) -> Result<ListResourcesResult, ErrorData> {
    let mut resources = Vec::new();
    if cursor.is_none() {
        resources.push(all());
    }
    // Where nothing is kept yet there is nothing to list; whoever reads is told why.
    let room = match reader.room().await {
        Ok(room) => room,
        Err(refusal) if refusal.status == StatusCode::NOT_FOUND => {
            return Ok(ListResourcesResult::with_all_items(resources));
        }
        Err(refusal) => return Err(unreadable(refusal)),
    };
    let page = sessions::page(&room, cursor.as_deref(), MOST).await.map_err(unreadable)?;
    resources.extend(page.sessions.iter().map(of_session));
    Ok(ListResourcesResult { next_cursor: page.next, ..ListResourcesResult::with_all_items(resources) })
}

fn all() -> Resource {
    let resource = Resource::new(format!("{SCHEME}sessions"), "sessions").with_title("Conversations");
    resource.with_description("The conversations that are kept, the newest first").with_mime_type(TEXT)
}

fn of_session(line: &Line) -> Resource {
    let mut changed = Annotations::default();
    changed.last_modified = Some(line.last.clone());
    let name = line.name.as_ref().unwrap_or(&line.session);
    Resource::new(format!("{SCHEME}sessions/{}", line.session), name)
        .with_title(&line.title)
        .with_description(format!("{} messages, word for word", line.messages))
        .with_mime_type(TEXT)
        .with_annotations(changed)
}

/// What can be read of each session.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let of = |path: &str, name: &str, title: &str, what: &str| {
        let template = ResourceTemplate::new(format!("{SCHEME}sessions{path}"), name).with_title(title);
        template.with_description(what).with_mime_type(TEXT)
    };
    vec![
        of("{?after}", "sessions", "Conversations", "The conversations that are kept, the newest first"),
        of(
            "/{id}{?from}",
            "messages",
            "Messages",
            "A conversation word for word, a page at a time; each page names the next",
        ),
        of("/{id}/window", "window", "Window", "The newest window that a model was shown of it, a line for each block"),
        of("/{id}/views", "views", "Views", "The windows that models were shown of it"),
        of("/{id}/views/{view}", "view", "View", "One of these windows, such as v42"),
        of("/{id}/notes", "notes", "Notes", "What stands for the messages that are folded"),
    ]
}
