//! The web UI: plain files that are part of the program. They hold no conversation; what they show they ask of the API,
//! as whoever opens them. A page may run only our own scripts and talk only to us.

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use axum::routing::get;
use rust_embed::{EmbeddedFile, RustEmbed};

/// Everything under `ui`; while the program is being developed it is read from there each time.
#[derive(RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/src/web/ui"]
struct Files;

/// The page that everything begins with.
const PAGE: &str = "index.html";

/// What a page of ours may do: run our scripts, draw with our styles, show pictures that are in the conversation
/// itself, and ask us. Nothing from elsewhere, nothing inline, no frames.
const MAY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                   connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                   require-trusted-types-for 'script'; trusted-types scrollback";

/// What every file is sent with.
const SENT_WITH: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, MAY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-cache"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The routes, for a server.
pub(crate) fn router() -> Router {
    Router::new().route("/", get(|headers: HeaderMap| async move { answer(PAGE, &headers) })).route(
        "/ui/{*path}",
        get(|Path(path): Path<String>, headers: HeaderMap| async move { answer(&path, &headers) }),
    )
}

fn answer(path: &str, headers: &HeaderMap) -> Response<Body> {
    let Some(file) = Files::get(path) else {
        let mut response = Response::new(Body::from("there is no such file\n"));
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    };
    let tag = tag(&file);
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = Response::new(if known { Body::empty() } else { Body::from(file.data.into_owned()) });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let sent = response.headers_mut();
    sent.extend(SENT_WITH.map(|(name, value)| (name, HeaderValue::from_static(value))));
    sent.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind(path)));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        sent.insert(header::ETAG, tag);
    }
    response
}

fn tag(file: &EmbeddedFile) -> String {
    let hash = file.metadata.sha256_hash();
    let (first, _) = hash.split_first_chunk().expect("a hash has 32 bytes");
    format!("\"{:032x}\"", u128::from_be_bytes(*first))
}

fn kind(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("json" | "webmanifest") => "application/json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_run_no_script_but_ours() {
        let page = String::from_utf8(Files::get(PAGE).unwrap().data.into_owned()).unwrap();
        assert!(!page.contains("style=") && !page.contains(" on"), "nothing inline");
        for script in page.split("<script").skip(1) {
            assert!(script.contains("src=\"/ui/"), "no inline script: {script}");
        }
        let response = answer(PAGE, &HeaderMap::new());
        let may = response.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(!may.contains("unsafe") && !may.contains("http"), "{may}");
    }

    /// Files name each other; a name that leads nowhere would break a screen.
    #[test]
    fn every_file_that_is_named_is_there() {
        for path in Files::iter() {
            let text = String::from_utf8_lossy(&Files::get(&path).unwrap().data).into_owned();
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            for named in text.split(['"', '\'']).filter(|word| is_file(word)) {
                let whole = named.strip_prefix("/ui/").map_or_else(|| joined(folder, named), str::to_owned);
                assert!(Files::get(&whole).is_some(), "{path} names {named}, which is not there");
            }
        }
    }

    fn is_file(word: &str) -> bool {
        let local = word.starts_with("./") || word.starts_with("../") || word.starts_with("/ui/");
        let named = [".js", ".css", ".svg"].iter().any(|ending| word.ends_with(ending));
        local && named && !word.contains(['$', '{', ' '])
    }

    fn joined(folder: &str, named: &str) -> String {
        let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        for part in named.split('/') {
            match part {
                "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        parts.join("/")
    }

    #[test]
    fn what_is_known_is_not_sent_again() {
        let first = answer(PAGE, &HeaderMap::new());
        let headers = HeaderMap::from_iter([(header::IF_NONE_MATCH, first.headers()[header::ETAG].clone())]);
        assert_eq!(answer(PAGE, &headers).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(answer("../mod.rs", &HeaderMap::new()).status(), StatusCode::NOT_FOUND);
        assert_eq!(answer("/etc/passwd", &HeaderMap::new()).status(), StatusCode::NOT_FOUND);
    }
}
