//! The API over HTTP: every route, and what it refuses.

use serde_json::json;

use crate::home::{Home, Server};

const SETTINGS: &str = "[window]\ntokens = 6000\nreply_tokens = 500\n[serve]\nbody_megabytes = 1\n";

#[test]
fn sessions_and_controls() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    let listed = server.asks("GET /api/sessions", "");
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2);
    let next = server.asks("GET /api/sessions?count=1", "")["next"].as_str().unwrap().to_owned();
    let rest = server.asks(&format!("GET /api/sessions?count=1&cursor={next}"), "");
    assert_eq!((&rest["sessions"][0], &rest["next"]), (&listed["sessions"][1], &json!(null)));
    let one = server.asks("GET /api/sessions/tides", "");
    assert_eq!((&one["title"], &one["layout"], &one["messages"]), (&json!("Tides"), &json!("pages@6000"), &json!(5)));
    assert_eq!(server.asks("GET /api/sessions/tides?limit=9000", "")["layout"], "pages@9000");
    assert_eq!(server.asks("PUT /api/sessions/tides/pins/m0", "")["pinned"], json!(["m0"]));
    let left = server.asks("PUT /api/sessions/tides/excluded/m1", "");
    assert_eq!((&left["messages"], &left["changed"]), (&json!(["m1", "m2"]), &json!(true)));
    let controls = server.asks("GET /api/sessions/tides/controls", "");
    assert_eq!((&controls["pinned"][0]["message"], &controls["excluded"][1]["role"]), (&json!("m0"), &json!("tool")));
    assert_eq!(server.asks("DELETE /api/sessions/tides/pins/m0", "")["pinned"], json!([]));
    assert_eq!(server.asks("DELETE /api/sessions/tides/excluded/m2", "")["excluded"], json!([]));
    assert_eq!(server.asks("GET /api/sessions/tides/rules", "")["rules"][0]["rule"], "r0.1");
    assert_eq!(server.asks("DELETE /api/sessions/tides/rules/r0.1", "")["holds"], false);
    assert_eq!(server.asks("PUT /api/sessions/tides/rules/r0.1", "")["holds"], true);
}

#[test]
fn folds_and_notes() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    let folded = server.asks("POST /api/sessions/petrel/compress", "");
    assert!(folded["folded"].as_u64().unwrap() > 20, "{folded}");
    assert_eq!(server.asks("POST /api/sessions/petrel/undo", "")["after"], json!(null));
    assert_eq!(server.asks("POST /api/sessions/petrel/redo", "")["after"], folded["after"]);
    let notes = server.asks("GET /api/sessions/petrel/notes", "");
    let (dates, contents) = (&notes["notes"][0]["at"], server.asks("GET /api/sessions/petrel/contents", ""));
    assert!(dates[0].as_str().unwrap() <= dates[1].as_str().unwrap(), "{notes}");
    assert_eq!(&contents["pages"][0]["at"], dates);
    let page = notes["notes"][0]["name"].as_str().unwrap().trim_start_matches('#').to_owned();
    let path = format!("/api/sessions/petrel/notes/{page}");
    assert!(server.asks(&format!("GET {path}"), "")["text"].is_string());
    let edited = server.asks(&format!("PUT {path}"), r#"{"text": "Mine\nand more"}"#);
    assert_eq!((&edited["title"], &edited["by"]), (&json!("Mine"), &json!("person")));
    assert_eq!(server.asks(&format!("GET /api/sessions/petrel/notes/%23{page}"), "")["text"], "Mine\nand more");
    let chosen = server.asks("PUT /api/sessions/petrel/strategy", r#"{"strategy": "summary"}"#);
    assert_eq!(chosen, json!({"strategy": "summary", "layout": "summary@6000"}));
    let summary = server.asks("POST /api/sessions/petrel/compress", "")["notes"][0].as_str().unwrap().to_owned();
    let words = server.asks(&format!("GET /api/sessions/petrel/summary/{summary}?words=Gardner+engine"), "");
    assert!(words["text"].as_str().unwrap().contains("Gardner 6LXB"), "{words}");
    let from = server.asks(&format!("GET /api/sessions/petrel/summary/{summary}?from=m50"), "");
    assert!(from["text"].as_str().unwrap().contains("[m50 "), "{from}");
    let (status, told) = server.refuses(&format!("GET /api/sessions/petrel/summary/{summary}?from=m99999"), "");
    assert!(status == 404 && told.contains("m99999"), "{status} {told}");
    assert_eq!(server.asks("PUT /api/sessions/petrel/strategy", r#"{"strategy": "default"}"#)["strategy"], json!(null));
    assert_eq!(server.asks("GET /api/sessions/petrel/views", "")["views"], json!([]));
    assert!(server.asks("GET /api/jobs", "")["jobs"].is_array());
}

#[test]
fn artifacts_and_what_changed() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    server.asks("PUT /api/sessions/petrel/strategy", r#"{"strategy": "artifacts"}"#);
    server.asks("POST /api/sessions/petrel/compress", "");
    let listed = server.asks("GET /api/sessions/petrel/artifacts", "");
    assert!(listed["artifacts"].as_array().unwrap().iter().any(|one| one["id"] == "a1"), "{listed}");
    server.asks("PUT /api/sessions/petrel/notes/a1", r##"{"text": "# Ferry\n\nBuilt in 1987."}"##);
    assert!(server.asks("GET /api/sessions/petrel/artifacts/a1", "")["markdown"].as_str().unwrap().contains("# Ferry"));
    let first = server.asks("GET /api/sessions/petrel/artifacts/a1?version=1", "");
    assert!(!first["markdown"].as_str().unwrap().contains("# Ferry"));
    let versions = server.asks("GET /api/sessions/petrel/artifacts/a1/versions", "");
    assert_eq!(versions["versions"].as_array().unwrap().len(), 2);
    let diff = server.asks("GET /api/sessions/petrel/artifacts/a1/diff?from=1&to=2", "");
    assert!(diff["changes"].as_array().unwrap().contains(&json!({"sign": "more", "line": "# Ferry"})), "{diff}");
    let (status, told) = server.refuses("GET /api/sessions/petrel/artifacts/a1/diff?from=1", "");
    assert!(status == 400 && told.contains("from=1&to=2"), "{told}");
    assert_eq!(server.refuses("GET /api/sessions/petrel/artifacts/a1/diff?from=1&to=5", "").0, 404);
    assert_eq!(server.refuses("GET /api/sessions/petrel/artifacts/a77", "").0, 404);
    assert_eq!(server.refuses("GET /api/sessions/petrel/artifacts/what/versions", "").0, 400);
}

#[test]
fn what_cannot_be_done_is_refused_with_a_word() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    for (line, body, status, part) in [
        ("GET /api/nothing", "", 404, "/api/openapi.json"),
        ("GET /api/sessions/nobody", "", 404, "no session is called “nobody”"),
        ("POST /api/sessions", "", 405, "takes GET, not POST"),
        ("GET /api/sessions?count=many", "", 400, "whole number"),
        ("GET /api/sessions?count=501", "", 400, "at most 500"),
        ("GET /api/sessions?cursor=x", "", 400, "no cursor"),
        ("GET /api/sessions/petrel/views?cursor=zzz", "", 400, "no cursor"),
        ("GET /api/sessions/petrel/views?branch=0&cursor=zzz", "", 400, "no cursor"),
        ("GET /api/sessions/petrel/views?after=v42&cursor=v92", "", 400, "as the next “after”"),
        ("GET /api/sessions/petrel/views?around=v42&cursor=x", "", 400, "go on with “cursor” alone"),
        ("GET /api/sessions/petrel/ledger?cursor=zzz", "", 400, "no cursor"),
        ("GET /api/sessions/petrel/topics/events?cursor=zzz", "", 400, "no cursor"),
        ("GET /api", "", 404, "/api/openapi.json"),
        ("GET /api/", "", 404, "/api/openapi.json"),
        ("GET /nothing", "", 404, "/api/openapi.json"),
        ("GET /api/search", "", 400, "words=deposit"),
        ("GET /api/chat", "", 405, "takes POST, not GET"),
        ("POST /api/sessions/tides/export", "", 405, "takes GET, not POST"),
        ("GET /api/sessions/tides/messages?render=pdf", "", 400, "“render” is html"),
        ("GET /api/sessions/petrel?branch=9", "", 404, "no branch 9"),
        ("GET /api/sessions/petrel?limit=3", "", 400, "at least 500"),
        ("PUT /api/sessions/petrel/pins/m999", "", 404, "no message m999"),
        ("PUT /api/sessions/petrel/pins/first", "", 400, "message id such as m42"),
        ("DELETE /api/sessions/tides/rules/r0.9", "", 404, "states no rule"),
        ("POST /api/sessions/petrel/undo", "", 404, "nothing to undo"),
        ("POST /api/sessions/petrel/redo", "", 404, "nothing was undone"),
        ("PUT /api/sessions/petrel/strategy", "{}", 400, "looks like"),
        ("PUT /api/sessions/petrel/strategy", r#"{"strategy": "magic"}"#, 400, "there are pages"),
        ("GET /api/sessions/petrel/notes/s9", "", 404, "nothing is folded"),
        ("GET /api/sessions/petrel/notes/what", "", 400, "written #42"),
        ("PUT /api/sessions/petrel/notes/s9", "no json", 400, "looks like"),
        ("GET /api/sessions/petrel/summary/s999", "", 404, "no summary s999"),
        ("GET /api/sessions/petrel/summary/s20", "", 404, "no summary s20"),
        ("GET /api/search?words=engine&role=foo", "", 404, "“foo”"),
        ("GET /api/search?words=engine&session=", "", 400, "“session” is given, but says nothing"),
        ("GET /api/search?words=engine&from=", "", 400, "“from” is given"),
        ("GET /api/events?session=", "", 400, "“session” is given, but says nothing"),
        ("GET /api/sessions/petrel/messages?before", "", 400, "“before” is given"),
        ("GET /api/sessions/%ff", "", 400, "UTF-8"),
    ] {
        let (got, told) = server.refuses(line, body);
        assert!(got == status && told.contains(part), "{line}: {got} {told}");
    }
    assert_eq!(server.refuses("PUT /api/sessions/petrel/notes/s9", &" ".repeat(2 << 20)).0, 413);
}

#[test]
fn a_page_elsewhere_decides_nothing() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    for headers in ["host: evil.example\r\n", "host: localhost\r\norigin: https://evil.example\r\n"] {
        for line in ["GET /api/sessions", "PUT /api/sessions/tides/pins/m0", "POST /v1/summarize"] {
            let (status, value) = server.send_with(line, headers, "");
            assert_eq!((status, &value["code"]), (403, &json!("host_not_allowed")), "{line}");
        }
    }
    let own = server.send_with("GET /api/sessions", "host: localhost\r\norigin: http://localhost:3000\r\n", "");
    assert_eq!(own.0, 200);
    assert_eq!(server.asks("GET /api/sessions/tides/controls", "")["pinned"], json!([]));
}
