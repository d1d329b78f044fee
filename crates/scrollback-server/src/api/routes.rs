//! Every route: a method, a path, and what it is. `docs/api.md` tells them all; a test keeps it so.

use axum::http::StatusCode;
use serde_json::Value;

use super::{Ask, Refusal, Room, artifacts, controls, expansion, folds, jobs, notes, rules, sessions, views};
use folds::Direction;

/// What a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    Sessions,
    Session,
    Controls,
    Pin,
    Unpin,
    Exclude,
    Include,
    Rules,
    DropRule,
    RestoreRule,
    Undo,
    Redo,
    Compress,
    Strategy,
    Notes,
    Note,
    Edit,
    Artifacts,
    Artifact,
    Versions,
    Diff,
    Summary,
    Views,
    Jobs,
}

const ROUTES: [(&str, &str, Route); 24] = [
    ("GET", "/sessions", Route::Sessions),
    ("GET", "/sessions/{id}", Route::Session),
    ("GET", "/sessions/{id}/controls", Route::Controls),
    ("PUT", "/sessions/{id}/pins/{m}", Route::Pin),
    ("DELETE", "/sessions/{id}/pins/{m}", Route::Unpin),
    ("PUT", "/sessions/{id}/excluded/{m}", Route::Exclude),
    ("DELETE", "/sessions/{id}/excluded/{m}", Route::Include),
    ("GET", "/sessions/{id}/rules", Route::Rules),
    ("DELETE", "/sessions/{id}/rules/{r}", Route::DropRule),
    ("PUT", "/sessions/{id}/rules/{r}", Route::RestoreRule),
    ("POST", "/sessions/{id}/undo", Route::Undo),
    ("POST", "/sessions/{id}/redo", Route::Redo),
    ("POST", "/sessions/{id}/compress", Route::Compress),
    ("PUT", "/sessions/{id}/strategy", Route::Strategy),
    ("GET", "/sessions/{id}/notes", Route::Notes),
    ("GET", "/sessions/{id}/notes/{name}", Route::Note),
    ("PUT", "/sessions/{id}/notes/{name}", Route::Edit),
    ("GET", "/sessions/{id}/artifacts", Route::Artifacts),
    ("GET", "/sessions/{id}/artifacts/{a}", Route::Artifact),
    ("GET", "/sessions/{id}/artifacts/{a}/versions", Route::Versions),
    ("GET", "/sessions/{id}/artifacts/{a}/diff", Route::Diff),
    ("GET", "/sessions/{id}/summary/{s}", Route::Summary),
    ("GET", "/sessions/{id}/views", Route::Views),
    ("GET", "/jobs", Route::Jobs),
];

/// Answers a request.
pub(super) async fn answer(room: &Room, ask: &Ask) -> Result<Value, Refusal> {
    let (route, named) = find(ask)?;
    let name = |index: usize| named.get(index).copied().unwrap_or_default();
    let (session, thing) = (name(0), name(1));
    match route {
        Route::Sessions => sessions::list(room, ask).await,
        Route::Session => sessions::one(room, ask, session).await,
        Route::Controls => controls::show(room, ask, session).await,
        Route::Pin => controls::change(room, ask, (session, thing), controls::Verb::Pin).await,
        Route::Unpin => controls::change(room, ask, (session, thing), controls::Verb::Unpin).await,
        Route::Exclude => controls::change(room, ask, (session, thing), controls::Verb::Exclude).await,
        Route::Include => controls::change(room, ask, (session, thing), controls::Verb::Include).await,
        Route::Rules => rules::list(room, ask, session).await,
        Route::DropRule => rules::change(room, ask, (session, thing), rules::Verb::Drop).await,
        Route::RestoreRule => rules::change(room, ask, (session, thing), rules::Verb::Restore).await,
        Route::Undo => folds::moved(room, ask, session, Direction::Back).await,
        Route::Redo => folds::moved(room, ask, session, Direction::Forward).await,
        Route::Compress => folds::compress(room, ask, session).await,
        Route::Strategy => folds::strategy(room, ask, session).await,
        Route::Notes => notes::list(room, ask, session).await,
        Route::Note => notes::one(room, ask, session, thing).await,
        Route::Edit => notes::edit(room, ask, session, thing).await,
        Route::Artifacts => artifacts::list(room, ask, session).await,
        Route::Artifact => artifacts::one(room, ask, session, thing).await,
        Route::Versions => artifacts::versions(room, ask, session, thing).await,
        Route::Diff => artifacts::diff(room, ask, session, thing).await,
        Route::Summary => expansion::expand(room, ask, session, thing).await,
        Route::Views => views::list(room, session).await,
        Route::Jobs => jobs::list(room).await,
    }
}

/// The route of a request, and what stands in the places that its path leaves open.
fn find(ask: &Ask) -> Result<(Route, Vec<&str>), Refusal> {
    let mut methods = Vec::new();
    for (method, pattern, route) in ROUTES {
        let Some(named) = fits(pattern, &ask.path) else { continue };
        if ask.method.as_str() == method {
            return Ok((route, named));
        }
        methods.push(method);
    }
    let path = ask.path.join("/");
    if methods.is_empty() {
        return Err(Refusal::not_found(format!("there is no /api/{path}: docs/api.md lists what there is")));
    }
    let what = format!("/api/{path} takes {}, not {}", methods.join(" or "), ask.method);
    Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", what))
}

fn fits<'a>(pattern: &str, path: &'a [String]) -> Option<Vec<&'a str>> {
    let parts: Vec<&str> = pattern.split('/').skip(1).collect();
    let same = |(part, given): (&&str, &String)| part.starts_with('{') || *part == given;
    let fits = parts.len() == path.len() && parts.iter().zip(path).all(same);
    let named = parts.iter().zip(path).filter(|(part, _)| part.starts_with('{')).map(|(_, given)| given.as_str());
    fits.then(|| named.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_tells_every_route() {
        let told = include_str!("../../../../docs/api.md");
        for (method, pattern, _) in ROUTES {
            assert!(
                told.contains(&format!("`{method} /api{pattern}`")),
                "{method} /api{pattern} is not in docs/api.md"
            );
        }
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let ask = |method: &str, path: &str| {
            let ask = Ask::read(&method.parse().unwrap(), path, bytes::Bytes::new()).unwrap();
            find(&ask).map(|(route, _)| route).map_err(|refusal| (refusal.status.as_u16(), refusal.message))
        };
        assert_eq!(ask("PUT", "/api/sessions/x/pins/m1"), Ok(Route::Pin));
        assert_eq!(ask("GET", "/api/nothing").unwrap_err().0, 404);
        let (status, told) = ask("GET", "/api/sessions/x/pins/m1").unwrap_err();
        assert!(status == 405 && told.contains("takes PUT or DELETE, not GET"), "{told}");
    }
}
