//! Reading over HTTP: pages of messages, search, held results, files; what has not changed is not sent again.

use serde_json::{Value, json};

use crate::home::{Home, Server};

const SETTINGS: &str = "[window]\ntokens = 6000\nreply_tokens = 500\n";

/// A conversation with a branch, dates and a large result: imported from a line of our own export.
fn exported(id: &str, messages: &[Value]) -> String {
    let times: Vec<String> = (0..messages.len()).map(|i| format!("2026-03-{:02}T09:00:00Z", i + 1)).collect();
    json!({"id": id, "messages": messages, "scrollback": {"declared": id, "title": id, "times": times}}).to_string()
        + "\n"
}

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

fn ids(page: &Value) -> Vec<String> {
    let messages = page["messages"].as_array().unwrap();
    messages.iter().map(|message| message["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_page_of_large_messages_ends_early() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    let picture = |i: usize| {
        let url = format!("data:image/png;base64,{}{i}", "A".repeat(500_000));
        json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]})
    };
    let messages: Vec<Value> =
        (0..13).flat_map(|i| [picture(i), said("assistant", &format!("Picture {i}."))]).collect();
    server.bytes("POST /api/import", "host: localhost\r\n", &exported("album", &messages));
    let all: Vec<String> = (0..26).map(|i| format!("m{i}")).collect();
    let page = |query: &str| server.asks(&format!("GET /api/sessions/album/messages?count=100{query}"), "");
    let newest = page("");
    assert_eq!((ids(&newest), &newest["start"], &newest["end"]), (all[6..].to_vec(), &json!(false), &json!(true)));
    let rest = page("&before=m6");
    assert_eq!((ids(&rest), &rest["start"]), (all[..6].to_vec(), &json!(true)));
    let after = page("&after=m0");
    assert_eq!((ids(&after), &after["end"]), (all[1..21].to_vec(), &json!(false)));
    assert_eq!(ids(&page("&after=m20")), all[21..]);
}

#[test]
fn pages_before_and_after_instructions_miss_nothing() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    let talk = [said("system", "Be brief."), said("user", "How deep is it?"), said("assistant", "Four metres.")];
    server.bytes("POST /api/import", "host: localhost\r\n", &exported("pilot", &talk));
    let page = |query: &str| ids(&server.asks(&format!("GET /api/sessions/pilot/messages?{query}"), ""));
    assert_eq!(page("count=100"), ["m0", "m1", "m2"]);
    assert_eq!(page("after=m0"), ["m1", "m2"]);
    assert_eq!(page("after=m1"), ["m2"]);
    assert_eq!(page("before=m2"), ["m0", "m1"]);
    assert_eq!(page("before=m1"), ["m0"]);
    assert!(page("before=m0").is_empty());
    assert_eq!(page("around=m0&count=1"), ["m0", "m1"]);
}

#[test]
fn a_session_is_found_by_its_whole_name_among_many_that_begin_so() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    let names = std::iter::once("zeal".to_owned()).chain((0..120).map(|i| format!("zeal-{i}")));
    let file: String = names.map(|name| exported(&name, &[said("user", &format!("Hello, {name}."))])).collect();
    server.bytes("POST /api/import", "host: localhost\r\n", &file);
    let found = server.asks("GET /api/sessions/zeal", "");
    assert_eq!(found["declared"], "zeal");
    let (status, told) = server.refuses("GET /api/sessions/zeal-", "");
    assert!(status == 404 && told.contains("Did you mean") && told.contains("and more?"), "{told}");
    let told = home.complains(&["show", "zeal-"]);
    assert!(told.contains("several sessions") && told.contains("and more"), "{told}");
    let (mut listed, mut next) = (0, Some(String::new()));
    while let Some(cursor) = next {
        let page = server.asks(&format!("GET /api/sessions?q=zeal&cursor={cursor}"), "");
        listed += page["sessions"].as_array().unwrap().len();
        next = page["next"].as_str().map(str::to_owned);
    }
    assert_eq!(listed, 121);
}

#[test]
fn the_name_of_a_session_that_is_erased_never_means_another() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    let users = [("user-1", "I am Alice."), ("user-12", "I am Bert, and my card is 4929-1111.")];
    let file: String = users.map(|(name, text)| exported(name, &[said("user", text)])).concat();
    server.bytes("POST /api/import", "host: localhost\r\n", &file);
    server.asks("DELETE /api/sessions/user-1", "");
    let bert = server.asks("GET /api/sessions/user-12", "")["id"].as_str().unwrap().to_owned();
    let recall = json!({"session": "user-1", "name": "search_history", "arguments": {"words": "card"}}).to_string();
    let chat = json!({"session": "user-1", "message": "What is my card?"}).to_string();
    for (line, body) in [
        ("GET /api/sessions/user-1", ""),
        ("PUT /api/sessions/user-1/excluded/m0", ""),
        ("DELETE /api/sessions/user-1", ""),
        ("GET /api/sessions/user-1/export", ""),
        ("GET /api/search?words=card&session=user-1", ""),
        ("GET /api/events?session=user-1", ""),
        ("POST /v1/context/recall", &recall),
        ("POST /api/chat", &chat),
        ("GET /api/sessions/I%20am%20Bert", ""),
        (&format!("GET /api/sessions/{}", &bert[..7]), ""),
    ] {
        let (status, told) = server.refuses(line, body);
        assert!(status == 404 && !told.contains("card"), "{line}: {told}");
        let has_suggestion = !line.contains("Bert");
        assert_eq!(told.contains(&format!("Did you mean {} “user-12”", &bert[..12])), has_suggestion, "{line}: {told}");
    }
    assert_eq!(server.asks("GET /api/sessions/user-12/messages", "")["total"], 1);
    for short in [8, 12, 31] {
        assert_eq!(server.asks(&format!("GET /api/sessions/{}", &bert[..short]), "")["declared"], "user-12");
    }
    // Who types at a terminal sees what they got.
    for beginning in ["user-1", &bert[..3]] {
        assert!(home.says(&["show", beginning]).contains("4929"), "{beginning}");
        assert!(home.says(&["pin", beginning, "m0"]).contains("m0"), "{beginning}");
    }
}

#[test]
fn what_an_id_begins_with_names_nothing_where_something_else_begins_so() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    let tides = server.asks("GET /api/sessions/tides", "")["id"].as_str().unwrap()[..8].to_owned();
    let other = exported(&format!("{tides}-4a1e"), &[said("user", "Hello.")]);
    server.bytes("POST /api/import", "host: localhost\r\n", &other);
    let (status, told) = server.refuses(&format!("GET /api/sessions/{tides}"), "");
    assert!(status == 404 && told.contains("“tides”") && told.contains("-4a1e”"), "{told}");
}

#[test]
fn results_that_windows_hold_because_there_are_many_are_said_to_be_held() {
    let home = Home::new("");
    let server = Server::start(&home);
    let mut talk = vec![said("user", "Read the logs.")];
    for i in 0..4 {
        let call =
            json!({"id": format!("c{i}"), "type": "function", "function": {"name": "read_log", "arguments": "{}"}});
        talk.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        talk.push(
            json!({"role": "tool", "tool_call_id": format!("c{i}"), "content": format!("entry {i} ").repeat(500)}),
        );
    }
    talk.push(said("assistant", "Read."));
    server.chat(&mut talk, "What do they say?");
    assert_eq!(server.asks("GET /api/sessions/harbour/messages/m2", "")["held"], "h2");
    let all = server.asks("GET /api/sessions/harbour/messages", "");
    let held = all["messages"].as_array().unwrap().iter().filter(|message| message["held"].is_string());
    assert_eq!((held.count(), &all["total"]), (4, &json!(12)));
}

#[test]
fn pages_hold_every_message_once_however_long_they_are() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    let whole = server.asks("GET /api/sessions/petrel/messages?count=500", "");
    let all = ids(&whole);
    assert_eq!((whole["start"].as_bool(), whole["end"].as_bool()), (Some(true), Some(true)));
    let total = usize::try_from(whole["total"].as_u64().unwrap()).unwrap();
    assert!(total > 50 && all.len() == total, "{total} {}", all.len());
    for count in [1, 2, 7, total - 1, total, total + 1] {
        let page = |query: &str| server.asks(&format!("GET /api/sessions/petrel/messages?count={count}{query}"), "");
        let (mut newest, mut back) = (page(""), Vec::new());
        assert_eq!(newest["end"], true);
        loop {
            back.splice(0..0, ids(&newest));
            if newest["start"] == true {
                break;
            }
            newest = page(&format!("&before={}", back[0]));
        }
        assert_eq!(back, all, "backwards, {count} at a time");
        let (mut forth, mut next) = (all[..2].to_vec(), page(&format!("&after={}", all[1])));
        loop {
            forth.extend(ids(&next));
            if next["end"] == true {
                break;
            }
            next = page(&format!("&after={}", forth[forth.len() - 1]));
        }
        assert_eq!(forth, all, "forwards, {count} at a time");
    }
    let around = ids(&server.asks("GET /api/sessions/petrel/messages?count=5&around=m30", ""));
    assert_eq!(around, ["m28", "m29", "m30", "m31", "m32"]);
    let (status, told) = server.refuses("GET /api/sessions/petrel/messages?before=m3&after=m9", "");
    assert!(status == 400 && told.contains("one of before, after and around"), "{told}");
    assert_eq!(server.refuses("GET /api/sessions/petrel/messages?around=m999", "").0, 404);
}

#[test]
fn lists_page_by_their_cursor() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    for i in 0..7 {
        server.bytes("POST /api/import", "host: localhost\r\n", &exported(&format!("s{i}"), &[said("user", "Hello.")]));
    }
    let whole = server.asks("GET /api/sessions", "");
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = server.asks(&format!("GET /api/sessions?count=2&cursor={cursor}"), "");
        seen.extend(page["sessions"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_str() else { break };
        next.clone_into(&mut cursor);
    }
    assert_eq!((&Value::from(seen), whole["sessions"].as_array().unwrap().len()), (&whole["sessions"], 9));
    assert_eq!(server.refuses("GET /api/sessions?cursor=50", "").0, 400);
    server.chat(&mut Vec::new(), "Where does the spare key hang?");
    for words in ["spare%20ke", "KEY%20hang", "harb"] {
        let begun = server.asks(&format!("GET /api/sessions?q={words}"), "");
        let names: Vec<&Value> = begun["sessions"].as_array().unwrap().iter().map(|one| &one["declared"]).collect();
        assert_eq!(names, ["harbour"], "{words}");
    }
    let begins = server.asks("GET /api/sessions?q=tid", "");
    assert_eq!((begins["sessions"].as_array().unwrap().len(), &begins["sessions"][0]["title"]), (1, &json!("Tides")));
    let has = server.asks("GET /api/sessions?q=IDES", "");
    assert_eq!((has["sessions"].as_array().unwrap().len(), &has["sessions"][0]["title"]), (1, &json!("Tides")));
}

#[test]
fn whoever_erases_page_by_page_leaves_nothing_behind() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    let file: String = (0..12).map(|i| exported(&format!("bob-{i}"), &[said("user", "Hello.")])).collect();
    server.bytes("POST /api/import", "host: localhost\r\n", &file);
    for (query, left) in [("q=bob&", 2), ("", 0)] {
        let mut cursor = String::new();
        loop {
            let page = server.asks(&format!("GET /api/sessions?{query}count=4&cursor={cursor}"), "");
            for session in page["sessions"].as_array().unwrap() {
                server.asks(&format!("DELETE /api/sessions/{}", session["id"].as_str().unwrap()), "");
            }
            let Some(next) = page["next"].as_str() else { break };
            next.clone_into(&mut cursor);
        }
        assert_eq!(server.asks("GET /api/sessions", "")["sessions"].as_array().unwrap().len(), left);
    }
}

#[test]
fn what_has_not_changed_is_not_sent_again() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    let get = |tag: &str| {
        server.bytes("GET /api/sessions/tides", &format!("host: localhost\r\nif-none-match: {tag}\r\n"), "")
    };
    let tag = |head: &str| head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
    let (head, body) = get("\"none\"");
    assert!(head.starts_with("HTTP/1.1 200") && !body.is_empty(), "{head}");
    let first = tag(&head);
    let (head, body) = get(&format!("\"x\", {first}"));
    assert!(head.starts_with("HTTP/1.1 304") && body.is_empty() && tag(&head) == first, "{head}");
    server.asks("PUT /api/sessions/tides/pins/m0", "");
    let (head, _) = get(&first);
    assert!(head.starts_with("HTTP/1.1 200") && tag(&head) != first, "{head}");
}

#[test]
fn what_is_decided_shows_in_messages() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    let marks = || {
        let page = server.asks("GET /api/sessions/tides/messages", "");
        let marked = |field: &str| {
            let marked = page["messages"].as_array().unwrap().iter().filter(|one| one[field] == true);
            marked.map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        (marked("pinned"), marked("excluded"))
    };
    assert_eq!(marks(), (vec![], vec![]));
    server.asks("PUT /api/sessions/tides/pins/m3", "");
    server.asks("PUT /api/sessions/tides/excluded/m2", "");
    assert_eq!(marks(), (vec!["m3".into()], vec!["m1".into(), "m2".into()]), "a call goes with its result");
    assert_eq!(server.asks("GET /api/sessions/tides/messages/m2", "")["excluded"], true);
    server.asks("DELETE /api/sessions/tides/pins/m3", "");
    server.asks("DELETE /api/sessions/tides/excluded/m1", "");
    assert_eq!(marks(), (vec![], vec![]));
    let call = server.asks("GET /api/sessions/tides/messages/m2", "");
    assert_eq!((&call["parts"][0]["kind"], &call["parts"][0]["name"]), (&json!("result"), &json!("read_gauge")));
    assert_eq!((&call["standing"]["word"], &call["depth"]), (&json!("unsent"), &json!(2)));
}

#[test]
fn search_by_words_days_and_roles() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    let messages = [
        said("user", "The deposit for the slip is due."),
        said("assistant", "The deposit is 40 percent."),
        said("user", "保险箱的密码写在茶叶罐底的纸条上。"),
        said("assistant", "The deposit was paid."),
    ];
    let (head, told) =
        server.bytes("POST /api/import?name=x.jsonl", "host: localhost\r\n", &exported("yard", &messages));
    assert!(head.starts_with("HTTP/1.1 200") && told.contains("event: done"), "{head} {told}");
    let found = |query: &str| {
        let found = server.asks(&format!("GET /api/search?session=yard&{query}"), "");
        let mut ids: Vec<String> =
            found["found"].as_array().unwrap().iter().map(|hit| hit["message"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    };
    assert_eq!(found("words=deposit"), ["m0", "m1", "m3"]);
    assert_eq!(found("words=deposit&role=user"), ["m0"]);
    assert_eq!(found("words=deposit&from=2026-03-02&to=2026-03-02"), ["m1"]);
    assert_eq!(found("words=deposit&to=2026-03-01T09:00:00Z"), ["m0"], "an exact time is within");
    assert_eq!(found("words=deposit&from=2026-03-05"), [""; 0]);
    assert_eq!(found("words=%E8%8C%B6%E5%8F%B6%E7%BD%90"), ["m2"], "茶叶罐");
    let hit = &server.asks("GET /api/search?session=yard&words=%E5%AF%86%E7%A0%81", "")["found"][0];
    let marked: Vec<&Value> = hit["snippet"].as_array().unwrap().iter().filter(|piece| piece["hit"] == true).collect();
    assert!(marked.iter().any(|piece| piece["text"].as_str().unwrap().contains("密码")), "{hit}");
    assert_eq!(hit["declared"], "yard", "{hit}");
    for (query, part) in
        [("", "what to look for"), ("words=a&from=soon", "a day such as"), ("words=a&count=101", "at most 100")]
    {
        let (status, told) = server.refuses(&format!("GET /api/search?{query}"), "");
        assert!(status == 400 && told.contains(part), "{query}: {told}");
    }
}

#[test]
fn whoever_was_just_answered_finds_the_answer() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    let mut history = Vec::new();
    for turn in 0..30 {
        server.chat(&mut history, &format!("What about berth {turn}?"));
        let session = server.asks("GET /api/sessions/harbour", "");
        let last = format!("v{}", history.len() - 2);
        assert_eq!((&session["messages"], &session["view"]), (&json!(history.len()), &json!(last)));
    }
}

#[test]
fn what_another_changed_meanwhile_is_not_changed() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    let folded = server.asks("POST /api/sessions/petrel/compress", "");
    let note = format!("/api/sessions/petrel/notes/{}", folded["notes"][0].as_str().unwrap().trim_start_matches('#'));
    let seen = || {
        let (head, _) = server.bytes(&format!("GET {note}"), "host: localhost\r\n", "");
        let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
        format!("host: localhost\r\nif-match: {tag}\r\n")
    };
    let put = |headers: &str, text: &str| {
        server.send_with(&format!("PUT {note}"), headers, &json!({"text": text}).to_string())
    };
    let tag = seen();
    let (status, first) = put(&tag, "Mine");
    assert_eq!((status, &first["text"]), (200, &json!("Mine")));
    let (status, refused) = put(&tag, "Yours");
    assert_eq!((status, &refused["code"]), (412, &json!("changed")));
    assert_eq!(server.asks(&format!("GET {note}"), "")["text"], "Mine");
    assert_eq!(put(&seen(), "Yours").0, 200);
    assert_eq!(put("host: localhost\r\nif-match: *\r\n", "Ours").0, 200);
    // Of those who saw the same at once, one changes it, and each is told what they wrote.
    let (tag, statuses) = (seen(), std::sync::Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for i in 0..4 {
            let (put, tag, statuses) = (&put, &tag, &statuses);
            scope.spawn(move || statuses.lock().unwrap().push(put(tag, &format!("At once {i}")).0));
        }
    });
    let mut statuses = statuses.into_inner().unwrap();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412, 412, 412]);
    let pin = "PUT /api/sessions/petrel/pins/m1";
    assert_eq!(server.send_with(pin, "host: localhost\r\nif-match: \"old\"\r\n", "").0, 200, "nothing to see");
    let (status, refused) = server.send_with("DELETE /api/sessions", "host: localhost\r\nif-match: \"old\"\r\n", "");
    assert_eq!((status, &refused["code"]), (405, &json!("method_not_allowed")), "nobody looks for what cannot be done");
}

#[test]
fn held_results_are_read_by_lines_and_words() {
    let home = Home::new(&format!("{SETTINGS}strategy = \"pages\"\n"));
    let server = Server::start(&home);
    let lines: Vec<String> =
        (1..=900).map(|i| format!("entry {i}: the crane of berth {i} moved {i}0 crates")).collect();
    let mut history = vec![
        said("user", "Read the log of the crane."),
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read_log", "arguments": "{}"}}]}),
        json!({"role": "tool", "tool_call_id": "c1", "content": lines.join("\n")}),
        said("assistant", "I have read it."),
    ];
    server.chat(&mut history, "Thank you.");
    server.chat(&mut history, "What about berth 77?");
    let listed = server.asks("GET /api/sessions/harbour/holds", "");
    let hold = &listed["holds"][0];
    assert_eq!((&hold["id"], &hold["tool"], &listed["next"]), (&json!("h2"), &json!("read_log"), &json!(null)));
    let part = server.asks("GET /api/sessions/harbour/holds/h2?from_line=10&lines=3", "");
    assert_eq!((part["text"].as_str().unwrap().trim_end(), &part["more"]), (&*lines[9..12].join("\n"), &json!(true)));
    let last = server.asks("GET /api/sessions/harbour/holds/h2?from_line=899", "");
    assert_eq!((&last["more"], &last["lines"]), (&json!(false), &json!(900)));
    let words = server.asks("GET /api/sessions/harbour/holds/h2?words=berth+512", "");
    assert!(words["text"].as_str().unwrap().contains("berth 512 moved"), "{words}");
    assert_eq!(server.refuses("GET /api/sessions/harbour/holds/h1", "").0, 404);
    assert_eq!(server.refuses("GET /api/sessions/harbour/holds/h2?lines=0", "").0, 400);
    let message = server.asks("GET /api/sessions/harbour/messages?around=m2&count=1", "");
    assert_eq!(message["messages"].as_array().unwrap().last().unwrap()["held"], "h2");
}

#[test]
fn files_come_back_as_they_went() {
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    let export = |format: &str| {
        server.bytes(&format!("GET /api/sessions/tides/export?format={format}"), "host: localhost\r\n", "")
    };
    let (head, ours) = export("jsonl");
    assert!(head.contains("content-type: application/jsonl") && head.contains("attachment; filename="), "{head}");
    let (_, told) = server.bytes("POST /api/import", "host: localhost\r\n", &ours);
    assert!(told.contains("\"added\":0"), "what is known is not stored twice: {told}");
    let (_, openai) = export("openai");
    let line: Value = serde_json::from_str(openai.trim()).unwrap();
    assert_eq!((&line["title"], line["messages"].as_array().unwrap().len()), (&json!("Tides"), 5));
    assert_eq!(line["messages"][1]["tool_calls"][0]["function"]["name"], "read_gauge");
    assert_eq!(home.says(&["export", "tides", "--format", "openai"]), openai);
    assert!(export("markdown").1.starts_with("# Tides\n"));
    assert!(server.bytes("GET /api/sessions/tides/export?format=pdf", "host: localhost\r\n", "").0.contains(" 400 "));
    let (head, told) = server.bytes("POST /api/import?format=codex", "host: localhost\r\n", "no conversation at all");
    assert!(head.contains("problem+json") || told.contains("\"conversations\":0"), "{head} {told}");
}
