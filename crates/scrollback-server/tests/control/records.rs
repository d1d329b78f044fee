//! What was recorded, over HTTP: views and what differs between them, the ledger, topics and what happened to them.

use serde_json::{Value, json};

use crate::home::{Home, Server};

/// A conversation of so many turns in a small window.
fn played(strategy: &str, turns: usize) -> (Home, Server) {
    let home = Home::new(&format!("[window]\ntokens = 3000\nreply_tokens = 400\nstrategy = \"{strategy}\"\n"));
    let server = Server::start(&home);
    let mut history: Vec<Value> = Vec::new();
    for turn in 0..turns {
        let about = ["the crane of berth", "the bread of bakery", "the roof of house"][turn / 5 % 3];
        let more =
            "It was looked at twice, written down by the clerk, and read out to everybody who was there. ".repeat(8);
        server.chat(
            &mut history,
            &format!("Note {turn}: {about} {turn} was seen to by somebody at {turn} o'clock. {more}"),
        );
    }
    let began = std::time::Instant::now();
    while views(&server, "?count=500").len() < turns {
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "the last view is not recorded");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    (home, server)
}

fn views(server: &Server, query: &str) -> Vec<Value> {
    server.asks(&format!("GET /api/sessions/harbour/views{query}"), "")["views"].as_array().unwrap().clone()
}

#[test]
fn views_and_what_differs() {
    let (_home, server) = played("pages", 16);
    let all = views(&server, "");
    let first = server.asks("GET /api/sessions/harbour/views?count=5", "");
    let rest = server
        .asks(&format!("GET /api/sessions/harbour/views?count=500&cursor={}", first["next"].as_str().unwrap()), "");
    let joined: Vec<Value> = [first, rest].iter().flat_map(|page| page["views"].as_array().unwrap().clone()).collect();
    assert_eq!(joined, all, "two pages are the whole");
    assert_eq!(views(&server, "?branch=0"), all);
    for view in &all {
        let one = server.asks(&format!("GET /api/sessions/harbour/views/{}", view["view"].as_str().unwrap()), "");
        let sum: u64 = one["blocks"].as_array().unwrap().iter().map(|block| block["tokens"].as_u64().unwrap()).sum();
        let kinds: u64 = view["kinds"].as_object().unwrap().values().map(|tokens| tokens.as_u64().unwrap()).sum();
        assert_eq!((one["tokens"].as_u64(), one["lost"].as_u64()), (Some(sum), Some(0)), "{one}");
        assert_eq!(view["tokens"].as_u64(), Some(kinds), "{view}");
    }
    let (newest, oldest) = (all[0]["view"].as_str().unwrap(), all[15]["view"].as_str().unwrap());
    let diff = server.asks(&format!("GET /api/sessions/harbour/views/newest/diff?with={oldest}"), "");
    assert_eq!((&diff["from"], &diff["to"]), (&json!(oldest), &json!(newest)));
    let reasons = |side: &str| {
        diff[side]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block["reason"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(reasons("more").contains(&"covers".to_owned()) && !reasons("less").is_empty(), "{diff}");
    let same = server.asks(&format!("GET /api/sessions/harbour/views/{newest}/diff?with={newest}"), "");
    assert_eq!((&same["more"], &same["less"]), (&json!([]), &json!([])));
    for unknown in ["v999", "v1.18446744073709551615", "v1.9000000000", "v1.0"] {
        assert_eq!(server.refuses(&format!("GET /api/sessions/harbour/views/{unknown}"), "").0, 404, "{unknown}");
    }
    assert_eq!(server.refuses("GET /api/sessions/harbour/views/newest/diff", "").0, 400);
    let texts = server.asks("GET /api/sessions/harbour/views/newest?text=true", "");
    assert!(texts["blocks"].as_array().unwrap().iter().all(|block| block["text"].is_string()), "{texts}");
    assert_eq!(server.refuses("GET /api/sessions/harbour/views/newest?text=perhaps", "").0, 400);
    folded_pages(&server);
}

/// The contents page lists pages, and each holds the messages it covers.
fn folded_pages(server: &Server) {
    let contents = server.asks("GET /api/sessions/harbour/contents", "");
    let pages = contents["pages"].as_array().unwrap();
    assert!(!pages.is_empty() && contents["covers"].is_array(), "{contents}");
    let page = &pages[0];
    let number = page["page"].as_u64().unwrap();
    let one = server.asks(&format!("GET /api/sessions/harbour/pages/{number}"), "");
    assert_eq!(
        (&one["title"], one["messages"].as_array().unwrap().len()),
        (&page["title"], usize::try_from(page["messages"].as_u64().unwrap()).unwrap())
    );
    assert_eq!(one["messages"][0]["folded"], true);
    let standing = &server.asks(&format!("GET /api/sessions/harbour/messages/m{number}"), "")["standing"];
    assert!(["listed", "searchable"].contains(&standing["word"].as_str().unwrap()), "{standing}");
}

#[test]
fn the_ledger_sums_up_and_pages() {
    let (home, server) = played("pages", 9);
    let whole = server.asks("GET /api/sessions/harbour/ledger?count=500&totals=true", "");
    let calls = whole["calls"].as_array().unwrap();
    assert_eq!((calls.len(), &whole["totals"]["windows"], &whole["totals"]["whole"]), (9, &json!(9), &json!(true)));
    let input: u64 = calls.iter().map(|call| call["input"].as_u64().unwrap()).sum();
    assert_eq!(whole["totals"]["input"].as_u64(), Some(input));
    let first = server.asks("GET /api/sessions/harbour/ledger?count=4", "");
    assert_eq!(first["totals"], whole["totals"], "nine windows are few");
    let rest = server
        .asks(&format!("GET /api/sessions/harbour/ledger?count=500&cursor={}", first["next"].as_str().unwrap()), "");
    assert_eq!((&rest["totals"], &rest["next"]), (&json!(null), &json!(null)), "sums are on the first page");
    let joined: Vec<&Value> = [&first, &rest].iter().flat_map(|page| page["calls"].as_array().unwrap()).collect();
    assert_eq!(joined, calls.iter().collect::<Vec<_>>());
    drop(server);
    let told = home.json(&["show", "harbour", "--ledger"]);
    assert_eq!(told.last().unwrap()["totals"]["input"].as_u64(), Some(input), "the command says the same");
}

#[test]
fn topics_and_what_happened_to_them() {
    let (_home, server) = played("topics", 30);
    let began = std::time::Instant::now();
    let topics = loop {
        let listed = server.asks("GET /api/sessions/harbour/topics", "");
        let topics = listed["topics"].as_array().unwrap().clone();
        if !topics.is_empty() {
            break topics;
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(30), "nothing is sorted into topics");
        std::thread::sleep(std::time::Duration::from_millis(100));
    };
    let id = topics[0]["id"].as_str().unwrap();
    let one = server.asks(&format!("GET /api/sessions/harbour/topics/{id}"), "");
    assert_eq!((&one["name"], &one["id"]), (&topics[0]["name"], &topics[0]["id"]));
    assert!(!one["members"].as_array().unwrap().is_empty() && one["history"].is_array(), "{one}");
    let whole = server.asks("GET /api/sessions/harbour/topics/events?count=500", "");
    let events = whole["events"].as_array().unwrap();
    assert!(events.iter().any(|event| event["kind"] == "sorted"), "{whole}");
    let first = server.asks("GET /api/sessions/harbour/topics/events?count=1", "");
    assert_eq!(first["events"][0], events[0], "newest first");
    assert_eq!(first["next"].is_string(), events.len() > 1);
    let files = server.asks("GET /api/sessions/harbour/topics/files", "");
    assert!(files["files"].as_array().unwrap().iter().any(|file| file["path"] == topics[0]["file"]), "{files}");
    assert_eq!(server.refuses("GET /api/sessions/harbour/topics/t999", "").0, 404);
    assert_eq!(server.refuses("GET /api/sessions/harbour/topics/what", "").0, 400);
}
