//! Every route: a method, a path, what it is asked with, what it answers, and who answers. The lists are in one file
//! for each kind of thing; `docs/api.md` tells them all, and `openapi` describes them for programs. Tests keep both so.

mod conversations;
mod line;
mod notes;
mod reading;
mod records;
mod server;

use axum::http::StatusCode;
use axum::http::header::ALLOW;
use serde_json::Value;

use super::{Ask, Refusal, Room, streams};
pub(super) use line::{Kind, Line, Param, Shape, shape};

/// Every route.
pub(super) const ROUTES: [&[Line]; 5] =
    [conversations::LINES, reading::LINES, notes::LINES, records::LINES, server::LINES];

/// Answers a request.
pub(super) async fn answer(room: &Room, ask: &Ask) -> Result<(StatusCode, Value), Refusal> {
    let (line, named) = find(ask)?;
    line.asks.iter().try_for_each(|param| param.checked(ask))?;
    Ok((line.status, (line.does)(room, ask, named).await?))
}

/// That there is a route for a request.
pub(super) fn known(ask: &Ask) -> Result<(), Refusal> {
    find(ask).map(|_| ())
}

/// All routes, one by one.
pub(super) fn lines() -> impl Iterator<Item = &'static Line> {
    ROUTES.into_iter().flatten()
}

/// The route of a request, and what stands in the places that its path leaves open.
fn find(ask: &Ask) -> Result<(&'static Line, [&str; 2]), Refusal> {
    let mut methods = Vec::new();
    let mut found: Option<(&'static Line, [&str; 2])> = None;
    for line in lines() {
        let Some(named) = fits(line.path, &ask.path) else { continue };
        if ask.method.as_str() != line.method {
            methods.push(line.method);
        } else if found.is_none_or(|(known, _)| known.path.matches('{').count() > line.path.matches('{').count()) {
            // What is named by its own word goes before what any word could stand for.
            found = Some((line, named));
        }
    }
    let streams = streams::ALL.iter().filter(|stream| fits(stream.path, &ask.path).is_some());
    methods.extend(streams.map(|stream| stream.method));
    found.ok_or_else(|| unknown(ask, &methods))
}

fn unknown(ask: &Ask, methods: &[&str]) -> Refusal {
    let path = ask.path.join("/");
    if methods.is_empty() {
        return Refusal::not_found(format!("there is no /api/{path}: /api/openapi.json lists what there is"));
    }
    let what = format!("/api/{path} takes {}, not {}", methods.join(" or "), ask.method);
    // What answers GET answers HEAD, which nobody needs to be told in words.
    let allowed = methods
        .iter()
        .flat_map(|method| if *method == "GET" { &["GET", "HEAD"][..] } else { std::slice::from_ref(method) });
    let allowed = allowed.copied().collect::<Vec<_>>().join(", ");
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", what).with(ALLOW, allowed)
}

fn fits<'a>(pattern: &str, path: &'a [String]) -> Option<[&'a str; 2]> {
    let parts: Vec<&str> = pattern.split('/').skip(1).collect();
    let same = |(part, given): (&&str, &String)| if part.starts_with('{') { !given.is_empty() } else { *part == given };
    if parts.len() != path.len() || !parts.iter().zip(path).all(same) {
        return None;
    }
    let mut named = parts.iter().zip(path).filter(|(part, _)| part.starts_with('{')).map(|(_, given)| given.as_str());
    Some([named.next().unwrap_or_default(), named.next().unwrap_or_default()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_tells_every_route() {
        let told = include_str!("../../../../../docs/api.md");
        let streams = streams::ALL.iter().map(|stream| (stream.method, stream.path));
        for (method, path) in lines().map(|line| (line.method, line.path)).chain(streams) {
            let route = format!("`{method} /api{path}`");
            assert!(told.contains(&route), "{route} is not in docs/api.md");
        }
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let ask = |method: &str, path: &str| {
            let ask = Ask::read(&method.parse().unwrap(), path, bytes::Bytes::new()).unwrap();
            find(&ask)
                .map(|(line, named)| (line.path, named.map(str::to_owned)))
                .map_err(|refusal| (refusal.status.as_u16(), refusal.message))
        };
        let pinned = ask("PUT", "/api/sessions/x/pins/m1").unwrap();
        assert_eq!(pinned, ("/sessions/{id}/pins/{m}", ["x".to_owned(), "m1".to_owned()]));
        assert_eq!(ask("GET", "/api/sessions/x/topics/events").unwrap().0, "/sessions/{id}/topics/events");
        for path in ["/api/nothing", "/api/sessions/", "/api/sessions//notes", "/api", "/api/"] {
            assert_eq!(ask("GET", path).unwrap_err().0, 404, "{path}");
        }
        let (status, told) = ask("GET", "/api/sessions/x/pins/m1").unwrap_err();
        assert!(status == 405 && told.contains("takes PUT or DELETE, not GET"), "{told}");
        let posted = Ask::read(&"POST".parse().unwrap(), "/api/sessions/x", bytes::Bytes::new()).unwrap();
        assert_eq!(find(&posted).err().unwrap().header.unwrap().1, "GET, HEAD, DELETE");
    }
}
