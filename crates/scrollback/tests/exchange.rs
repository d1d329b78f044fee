//! Conversations from other programs' files, into the log and out again. The files are in `fixtures/exports`.

#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use std::sync::Arc;

use scrollback::export::Whole;
use scrollback::import::{self, Conversation, Format, Import, Opened};
use scrollback::log::{Arrival, History, Log, Outcome, array_of};
use scrollback::store::{Origin, Session, Span, Stored, Which};
use scrollback::{At, MemoryStore, Message, MessageId, SessionKey, SqliteOptions, SqliteStore, Store, Tenant, ids};
use serde_json::Value;

const NOW: At = At(1_800_000_000_000_000);

fn fixture(format: Format) -> &'static str {
    match format {
        Format::OpenAi => include_str!("../../../fixtures/exports/openai.jsonl"),
        Format::ChatGpt => include_str!("../../../fixtures/exports/chatgpt.json"),
        Format::Claude => include_str!("../../../fixtures/exports/claude.json"),
        Format::ClaudeCode => include_str!("../../../fixtures/exports/claude-code.jsonl"),
        Format::Codex => include_str!("../../../fixtures/exports/codex.jsonl"),
    }
}

fn read(format: Format) -> Import {
    import::read(format, fixture(format)).unwrap()
}

fn new_log() -> Log {
    Log::new(Arc::new(MemoryStore::default()))
}

/// Stores everything and says how many messages that added.
async fn store_all(log: &Log, conversations: &[Conversation]) -> usize {
    let mut added = 0;
    for conversation in conversations {
        added += import::store(log, &Tenant::local(), conversation, NOW).await.unwrap().added;
    }
    added
}

async fn sessions(log: &Log) -> Vec<Session> {
    log.store().sessions(&Tenant::local(), Which::Page { skip: 0, limit: 100 }).await.unwrap()
}

fn key(session: &Session) -> SessionKey {
    SessionKey { tenant: Tenant::local(), id: session.id }
}

async fn whole(log: &Log, session: &Session) -> Whole {
    Whole::read(&**log.store(), &key(session), session.clone()).await.unwrap()
}

/// Every session, oldest first, as it is exported.
async fn exported(log: &Log) -> String {
    let mut text = String::new();
    for session in sessions(log).await.iter().rev() {
        text.extend(whole(log, session).await.jsonl());
    }
    text
}

/// Every session with the path of each of its branches.
async fn paths(log: &Log) -> Vec<(Session, Vec<Stored>)> {
    let mut paths = Vec::new();
    for session in sessions(log).await {
        for branch in &session.branches {
            let span = Span::path(branch.head, ids::Depth(0));
            paths.push((session.clone(), log.store().read(&key(&session), span).await.unwrap()));
        }
    }
    paths
}

async fn all_words(log: &Log) -> String {
    let mut words = String::new();
    for session in sessions(log).await {
        let everything = Span::Arrival { from: MessageId(0), limit: 1_000 };
        for stored in log.store().read(&key(&session), everything).await.unwrap() {
            assert_eq!(stored.origin, Origin::Import);
            words += &stored.message().to_text();
            words.push('\n');
        }
    }
    words
}

/// A conversation as text: what it is called, then one line a message.
fn outline(conversation: &Conversation) -> String {
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "-".into());
    let head = [&conversation.declared, &conversation.title, &conversation.model].map(name).join(" | ");
    let lines = conversation.messages.iter().map(|(raw, _)| {
        let message = Message::new(raw.clone());
        format!("\n{}: {}", message.role(), message.to_text().replace('\n', " / "))
    });
    head + &lines.collect::<String>()
}

fn check(format: Format, conversations: &[&str], skipped: &[&str]) {
    let import = read(format);
    let outlines: Vec<String> = import.conversations.iter().map(outline).collect();
    assert_eq!(outlines, conversations);
    assert_eq!(import.skipped, skipped);
}

#[test]
fn every_format_is_known_by_its_content() {
    for format in Format::ALL {
        assert_eq!(Format::guess(fixture(format)), Some(format));
    }
}

#[test]
fn openai_lines() {
    check(
        Format::OpenAi,
        &[
            "bakery-1 | Sourdough | gpt-5\nsystem: You are a patient baker.\nuser: Why is my sourdough so flat?\nassistant: Most often the starter is too young. How old is yours?",
            "- | - | -\nuser: 这张照片里是什么鸟？ / https://example.org/bird.jpg\nassistant: 看起来是一只白鹡鸰。",
            "trains-7 | - | -\nuser: Is the 9:40 to Basel late?\nassistant: departures / to Basel\ntool: 9:40 platform 7, on time\nassistant: No, it leaves on time from platform 7.",
        ],
        &["line 5 is not JSON from column 2 on", "line 6 is cut off", "line 3 has “messages” that are no array"],
    );
}

#[test]
fn chatgpt_branches() {
    let standing = "\nsystem: I garden on a balcony. / Answer briefly.";
    let shared = format!("{standing}\nuser: What grows in deep shade?\nassistant: Ferns, hostas and sweet woodruff.");
    check(
        Format::ChatGpt,
        &[
            &format!(
                "chatgpt:c-garden | Garden plan | gpt-4o{shared}\nuser: And in full sun?\nassistant: Lavender, thyme and tomatoes."
            ),
            &format!(
                "chatgpt:c-garden | Garden plan | gpt-5{shared}\nuser: balcony.png / 半阴的阳台种什么好？\nassistant: 看光照 / 阳台朝东，上午有光。\nassistant: ```python / hours = 4 / print(hours * 7) / ```\ntool: 28\nassistant: 一周约二十八小时光照， / 适合薄荷和绣球。"
            ),
            &format!(
                "chatgpt:c-garden | Garden plan | gpt-5{shared}\nuser: And in full sun?\nassistant: Rosemary loves it, and so do figs."
            ),
            "chatgpt:c-peak | Lookups | -\nuser: How high is the Säntis?\ntool: Old map / https://example.org/a / 2504 m\nassistant: An old map says 2504 metres.",
            "chatgpt:c-peak | Lookups | -\nuser: How high is the Säntis?\ntool: Survey / https://example.org/b / 2501.9 m\nassistant: 2501.9 metres above the sea.",
        ],
        &["entry 1 has a node “odd” whose message has no role", "entry 2 is no conversation: it has no “mapping”"],
    );
    assert_eq!(read(Format::ChatGpt).remarks, ["entry 4 has no messages"]);
    let tool = &read(Format::ChatGpt).conversations[4].messages[1];
    assert!(tool.0.get().starts_with(r#"{"role":"tool","name":"browser","content":[{"type":"chatgpt.tether_quote","#));
    assert_eq!(tool.1, Some(At::from_seconds(1_763_200_003.25)));
}

const KINDS: &str = include_str!("../../../fixtures/exports/chatgpt-kinds.json");

#[test]
fn every_kind_of_chatgpts_is_read_as_what_it_says() {
    let import = import::read(Format::ChatGpt, KINDS).unwrap();
    let told = outline(&import.conversations[0]);
    let (_, said) = told.split_once('\n').unwrap();
    let expected = "system: I sail from Bergen. / Be brief.
user: Sum the numbers below ten.
system:\u{20}
assistant: Planning / A sieve is too much here. /  / Adding / Just add them.
assistant: Thought for 12 seconds
assistant: ``` / print(sum(range(10))) / ```
tool: 45
assistant: The sum is 45 \u{e200}cite\u{e202}turn0search1\u{e201}.
user: boat.jpg / What is on this picture? / tides.pdf
assistant: A boat.
tool: Model set context updated.
assistant: ```json / {\"prompt\":\"a boat\",\"size\":\"1024x1024\"} / ```
tool: a red boat at dusk
tool: # Harbour news
tool: Pier / https://example.org/q / The pier is closed.
tool: tool_error: the page did not load
user: Can you hear me?
assistant: audio 1.2 s
tool: Tides / https://example.org/s / High water at six.
assistant: Notes / draft.md
assistant: High water is at six.";
    assert_eq!(said, expected);
}

/// A store that was filled before anybody could read those blocks is gone on with: nothing in it changes its place.
#[tokio::test]
async fn what_chatgpts_blocks_say_changes_no_node() {
    let (log, import) = (new_log(), import::read(Format::ChatGpt, KINDS).unwrap());
    assert_eq!(store_all(&log, &import.conversations).await, 21);
    let (session, path) = paths(&log).await.remove(0);
    assert_eq!((path.len(), session.messages), (20, 21), "all but the instructions are on the path");
    let node = path.last().and_then(Stored::position).unwrap().node;
    assert_eq!(node.0.to_string(), "1a61bda331b05a7025d0c330f1f879e1");
    log.forget_recent();
    assert_eq!(store_all(&log, &import.conversations).await, 0);
}

#[test]
fn claude_branches_and_attachments() {
    let shared =
        "\nuser: How do I tune a violin?\nassistant: Fifths, from A. / Start with A at 440 Hz, then D, G and E.";
    check(
        Format::Claude,
        &[
            &format!(
                "claude:k-violin | Violin practice | -{shared}\nuser: And a viola?\nassistant: C, G, D and A, a fifth lower."
            ),
            &format!(
                "claude:k-violin | Violin practice | -{shared}\nuser: 大提琴呢？\nassistant: web_search / query 大提琴 定弦 / C2 G2 D3 A3 / 大提琴定弦为 C、G、D、A，比中提琴低八度。"
            ),
            "claude:k-notes | - | -\nuser: Summarise my notes. / notes.txt /  / Buy oats. / Call the plumber. / type claude.file file_name kitchen.jpg\nassistant: Oats and a plumber.",
        ],
        &["entry 2 has a message, number 2, without a sender", "entry 4 is no conversation: it has no “chat_messages”"],
    );
}

const CODE: &str = "5e551017-0000-4000-8000-00000000c0de";

#[test]
fn claude_code_replies_results_branches_and_sidechains() {
    let shared = "\nuser: Prices are rounded wrongly in cart.py. Please fix it.\nassistant: Look at the file first. / I will read the code and its tests. / Read / file_path cart.py / Read / file_path test_cart.py\nuser: def total(items): return round(sum(items), 1) / assert total([0.25]) == 0.25\nassistant: total() rounds to one digit; it should be two.";
    let name = "Fix the price rounding | claude-sonnet-4-5";
    check(
        Format::ClaudeCode,
        &[
            &format!(
                "{CODE}/sidechain-s1 | - | claude-sonnet-4-5\nuser: Find every caller of total().\nassistant: It is called from checkout.py only."
            ),
            &format!("{CODE} | {name}{shared}\nuser: 用两位小数，谢谢。\nassistant: 好的，已经改为两位小数。"),
            &format!(
                "{CODE} | {name}{shared}\nuser: Use Decimal instead, see this shot.\nassistant: Done: total() now uses Decimal.\nuser: Also round the tax.\nassistant: The tax is rounded the same way now."
            ),
        ],
        &["line 14 is cut off", "line 26 is cut off", "line 25 has a “message” without content"],
    );
    let import = read(Format::ClaudeCode);
    let results: Value = serde_json::from_str(import.conversations[2].messages[2].0.get()).unwrap();
    assert_eq!(results["content"].as_array().unwrap().len(), 2, "calls made at once are answered in one message");
}

#[test]
fn codex_items_keep_their_bytes() {
    check(
        Format::Codex,
        &[
            "0199c0de-7000-7000-8000-000000000001 | Which port does the server use? | gpt-5-codex\ndeveloper: Work in small steps.\nuser: Which port does the server use?\nassistant: Search the configuration.\nassistant: shell / command rg port\ntool: config.toml: port = 8088\nassistant: 服务器使用 8088 端口。\nuser: They asked about the port.\nuser: Make it 9099.",
        ],
        &["line 9 is cut off"],
    );
    assert_eq!(read(Format::Codex).remarks, ["left out: lines that say nothing: 1 × novelty"]);
    let (raw, at) = &read(Format::Codex).conversations[0].messages[1];
    assert!(fixture(Format::Codex).contains(raw.get()) && raw.get().starts_with(r#"{"type":"message", "role""#));
    assert_eq!(*at, At::parse("2026-05-03T14:00:09Z"));
}

#[tokio::test]
async fn importing_twice_adds_nothing() {
    for format in Format::ALL {
        let (log, import) = (new_log(), read(format));
        assert!(store_all(&log, &import.conversations).await > 0);
        assert_eq!(store_all(&log, &import.conversations).await, 0, "{format}");
        log.forget_recent();
        assert_eq!(store_all(&log, &import.conversations).await, 0, "{format}");
    }
}

#[tokio::test]
async fn every_word_is_in_the_log() {
    for format in Format::ALL {
        let (log, import) = (new_log(), read(format));
        store_all(&log, &import.conversations).await;
        let words = all_words(&log).await;
        for message in import.conversations.iter().flat_map(|conversation| &conversation.messages) {
            let text = Message::new(message.0.clone()).to_text();
            assert!(words.contains(&text), "{format}: {text}");
        }
    }
}

#[tokio::test]
async fn branches_share_what_they_have_in_common_and_the_selected_is_the_newest() {
    let (log, import) = (new_log(), read(Format::ChatGpt));
    store_all(&log, &import.conversations).await;
    for (declared, branches, messages, newest) in
        [("chatgpt:c-garden", 3, 11, "Rosemary"), ("chatgpt:c-peak", 2, 5, "2501.9 metres")]
    {
        let listed = log
            .store()
            .sessions(&Tenant::local(), Which::Named { name: declared.into(), skip: 0, limit: 10 })
            .await
            .unwrap();
        assert_eq!((listed[0].branches.len(), listed[0].messages), (branches, messages), "{declared}");
        let last = log.store().read(&key(&listed[0]), Span::Last).await.unwrap();
        assert!(last[0].raw.get().contains(newest), "{declared}: {last:?}");
    }
}

#[tokio::test]
async fn what_is_exported_comes_back_byte_for_byte() {
    for format in Format::ALL {
        let log = new_log();
        store_all(&log, &read(format).conversations).await;
        let file = exported(&log).await;
        assert_eq!(Format::guess(&file), Some(Format::OpenAi));
        let back = import::read(Format::OpenAi, &file).unwrap();
        for (session, back) in sessions(&log).await.iter().rev().zip(&back.conversations) {
            assert_eq!((&back.declared, &back.title), (&session.declared, &session.title));
            let everything = Span::Arrival { from: MessageId(0), limit: 1_000 };
            let stored = log.store().read(&key(session), everything).await.unwrap();
            let theirs: Vec<_> = back.messages.iter().map(|(raw, at)| (raw.get(), *at)).collect();
            assert_eq!(theirs, stored.iter().map(|stored| (stored.raw.get(), Some(stored.at))).collect::<Vec<_>>());
        }
        assert_eq!(store_all(&log, &back.conversations).await, 0, "{format}");
        let elsewhere = new_log();
        store_all(&elsewhere, &back.conversations).await;
        assert_eq!(sessions(&elsewhere).await, sessions(&log).await, "{format}");
        assert_eq!(exported(&elsewhere).await, file, "{format}");
    }
}

#[tokio::test]
async fn an_imported_claude_code_session_goes_on_live() {
    let (log, import) = (new_log(), read(Format::ClaudeCode));
    store_all(&log, &import.conversations).await;
    log.forget_recent();
    let mut messages: Vec<_> =
        import.conversations.last().unwrap().messages.iter().map(|(raw, _)| raw.clone()).collect();
    messages.push(
        Message::from_json(r#"{"role":"user","content":[{"type":"text","text":"Thanks. Run the tests."}]}"#)
            .unwrap()
            .raw()
            .clone(),
    );
    let text = array_of(messages.iter().map(|raw| &**raw));
    let tenant = Tenant::local();
    let arrival = Arrival::new(&tenant, Some(CODE), "claude-sonnet-4-5", NOW);
    let received = log.receive(arrival, &History::parse(&text).unwrap()).await.unwrap();
    assert_eq!((received.outcome, received.added), (Outcome::Continue, 1));
}

#[tokio::test]
async fn an_imported_session_that_was_compacted_goes_on_live() {
    let said = |kind: &str, uuid: &str, parent: &str, content: &str| {
        format!(
            r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":"{parent}","sessionId":"s","message":{{"role":"{kind}","content":{content}}}}}"#
        )
    };
    let call =
        |id: &str| format!(r#"[{{"type":"tool_use","id":"{id}","name":"Read","input":{{"path":"{}.py"}}}}]"#, &id[..9]);
    let result = |id: &str| format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":"x = {id}"}}]"#);
    let (before, after) = ("toolu_01A09q90qw90lq917835lq9", "toolu_01B77w23kk18xz512204mn7");
    let summary = "\"This session is being continued. Summary: main.py was looked at.\"";
    let lines = [
        said("user", "a", "", "\"Fix main.py\"").replace("\"parentUuid\":\"\"", "\"parentUuid\":null"),
        said("assistant", "b", "a", &call(before)),
        said("user", "c", "b", &result(before)),
        said("assistant", "d", "c", "\"Done.\""),
        r#"{"type":"system","subtype":"compact_boundary","uuid":"x","parentUuid":null,"logicalParentUuid":"d","sessionId":"s"}"#.to_owned(),
        said("user", "e", "x", summary).replace("\"sessionId\"", "\"isCompactSummary\":true,\"sessionId\""),
        said("user", "f", "e", "\"Now the tests\""),
        said("assistant", "g", "f", &call(after)),
        said("user", "h", "g", &result(after)),
        said("assistant", "i", "h", "\"They pass.\""),
    ];
    let (log, import) = (new_log(), import::read(Format::ClaudeCode, &lines.join("\n")).unwrap());
    assert_eq!(import.conversations.len(), 1, "one path through the compaction");
    assert_eq!(store_all(&log, &import.conversations).await, 9);
    log.forget_recent();
    // As it is sent on: from the summary on, what the person says one message with it.
    let first = format!(
        r#"{{"role":"user","content":[{{"type":"text","text":{summary}}},{{"type":"text","text":"Now the tests"}}]}}"#
    );
    let rest = import.conversations[0].messages[6..].iter().map(|(raw, _)| raw.get());
    let all: Vec<&str> =
        std::iter::once(first.as_str()).chain(rest).chain([r#"{"role":"user","content":"Thanks."}"#]).collect();
    let (tenant, text) = (Tenant::local(), format!("[{}]", all.join(",")));
    let arrival = Arrival::new(&tenant, Some("s"), "claude-sonnet-4-5", NOW);
    let received = log.receive(arrival, &History::parse(&text).unwrap()).await.unwrap();
    assert_eq!(received.outcome, Outcome::Compacted);
    let [(_, path)] = &paths(&log).await[..] else { panic!("one branch") };
    assert!(path.len() == 10 && path[9].raw.get().contains("Thanks."), "{path:?}");
}

/// Imports editions of one file one after another; how many messages each added, and how many branches there are in the
/// end.
async fn editions(format: Format, editions: &[String]) -> (Vec<usize>, usize) {
    let (log, mut added) = (new_log(), Vec::new());
    for text in editions {
        added.push(store_all(&log, &import::read(format, text).unwrap().conversations).await);
        log.forget_recent();
    }
    (added, paths(&log).await.len())
}

#[tokio::test]
async fn a_reply_that_grew_since_is_added_whole() {
    let said = |kind: &str, [uuid, parent]: [&str; 2], about: &str, content: &str| {
        format!(
            r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":"{parent}","sessionId":"s","message":{{"role":"{kind}",{about}"content":{content}}}}}"#
        )
    };
    let text = |words: &str| format!(r#"[{{"type":"text","text":"{words}"}}]"#);
    let lines = [
        said("user", ["a", ""], "", "\"Hello\"").replace("\"parentUuid\":\"\"", "\"parentUuid\":null"),
        said("assistant", ["b", "a"], r#""id":"m1","stop_reason":"end_turn","#, &text("Hi.")),
        said("user", ["c", "b"], "", "\"Write an essay\""),
        said("assistant", ["d", "c"], r#""id":"m2","stop_reason":null,"#, &text("Tides come")),
        said("assistant", ["e", "d"], r#""id":"m2","stop_reason":"end_turn","#, &text("and go.")),
    ];
    let [cut, whole] = [4, 5].map(|count| lines[..count].join("\n"));
    let told = editions(Format::ClaudeCode, &[cut.clone(), cut, whole.clone(), whole]).await;
    assert_eq!(told, (vec![4, 0, 1, 0], 2), "what there was of it stays a branch");
}

#[tokio::test]
async fn a_codex_file_whose_beginning_is_elsewhere_follows_what_is_stored() {
    let line = |minute: usize, kind: &str, payload: &str| {
        format!("{{\"timestamp\":\"2026-09-01T10:{minute:02}:00Z\",\"type\":\"{kind}\",\"payload\":{payload}}}\n")
    };
    let said = |minute: usize, role: &str, words: &str| {
        line(minute, "response_item", &format!(r#"{{"type":"message","role":"{role}","content":"{words}"}}"#))
    };
    let meta = |minute: usize, base: &str| {
        line(minute, "session_meta", &format!(r#"{{"id":"t","base_instructions":{{"text":"Be brief."}}{base}}}"#))
    };
    let base = |end: usize| format!(r#","history_base":{{"thread_id":"t","end_byte_offset":{end}}}"#);
    let first = meta(0, "") + &said(1, "user", "Which pier?") + &said(2, "assistant", "Pier two.");
    let resumed = meta(3, &base(first.len())) + &said(4, "user", "And when?");
    let told = editions(Format::Codex, &[first.clone(), resumed.clone(), resumed.clone(), first.clone()]).await;
    assert_eq!(told, (vec![3, 1, 0, 0], 1));
    let alone = editions(Format::Codex, &[resumed.clone(), resumed.clone()]).await;
    assert_eq!(alone, (vec![2, 0], 1), "its own words are kept where nothing came before");
    let beside = |id: &str| (id == "t").then(|| first.clone().into_bytes());
    let Opened::Read(_, import) = import::open_among(resumed.as_bytes(), None, 0, &beside).unwrap() else {
        panic!("a rollout")
    };
    let (log, before) = (new_log(), import::read(Format::Codex, &first).unwrap());
    assert_eq!(store_all(&log, &before.conversations).await, 3);
    assert_eq!((store_all(&log, &import.conversations).await, paths(&log).await.len()), (1, 1));
}

#[tokio::test]
async fn a_newer_export_adds_what_is_new_in_it() {
    let said = |at: usize, sender: &str, blocks: &str, file: &str| {
        format!(
            r#"{{"sender":"{sender}","created_at":"2025-03-01T10:0{at}:00Z","content":[{blocks}],"files":[{file}]}}"#
        )
    };
    let old = [
        said(0, "human", r#"{"type":"text","text":"How do I tune?"}"#, r#"{"file_name":"a.png"}"#),
        said(1, "assistant", r#"{"type":"token_budget"},{"type":"text","text":"With fifths."}"#, ""),
    ];
    let new = [
        said(
            0,
            "human",
            r#"{"type":"text","text":"How do I tune?","start_timestamp":"t"}"#,
            r#"{"file_name":"a.png","file_uuid":"f"}"#,
        ),
        said(
            1,
            "assistant",
            r#"{"type":"token_budget","start_timestamp":"t"},{"type":"text","text":"With fifths.","flags":[1]}"#,
            "",
        ),
    ];
    let more = said(2, "human", r#"{"type":"text","text":"Thanks"}"#, "");
    // An edit of the question changes nothing but the picture: it is another message, said at another time.
    let edited = said(3, "human", r#"{"type":"text","text":"How do I tune?"}"#, r#"{"file_name":"b.png"}"#);
    let file =
        |messages: &[String]| format!(r#"[{{"uuid":"c","name":"Violin","chat_messages":[{}]}}]"#, messages.join(","));
    let longer = file(&[new[0].clone(), new[1].clone(), more.clone()]);
    let told =
        editions(Format::Claude, &[file(&old), file(&new), longer.clone(), longer, file(&old), file(&[edited])]).await;
    assert_eq!(told, (vec![2, 0, 1, 0, 0, 1], 2));
}

#[tokio::test]
async fn another_address_of_a_picture_makes_no_other_message() {
    let file = |pointer: &str, attachments: &str| {
        format!(
            r#"[{{"id":"g","mapping":{{"a":{{"parent":null,"message":{{"author":{{"role":"user"}},"create_time":5.5,"content":{{"content_type":"multimodal_text","parts":[{{"content_type":"image_asset_pointer","asset_pointer":"{pointer}"}},"look"]}},"metadata":{{"attachments":[{attachments}]}}}}}},"b":{{"parent":"a","message":{{"author":{{"role":"assistant"}},"create_time":6.5,"content":{{"content_type":"text","parts":["a boat"]}}}}}}}}}}]"#
        )
    };
    let [old, new, slim] = [("file-service://a", "{\"id\":1}"), ("sediment://a", "{\"id\":1}"), ("sediment://a", "")];
    let all = [old, new, slim, old].map(|(pointer, attachments)| file(pointer, attachments));
    assert_eq!(editions(Format::ChatGpt, &all).await, (vec![2, 0, 0, 0], 1));
}

#[tokio::test]
async fn what_a_newer_export_tells_beside_the_words_makes_no_other_message() {
    let file = |about: &str, summary: &str| {
        format!(
            r#"[{{"id":"g","mapping":{{"a":{{"parent":null,"message":{{"author":{{"role":"user"}},"create_time":5.5,"content":"How deep?"}}}},"b":{{"parent":"a","message":{{"author":{{"role":"assistant"}},"create_time":6.5,"content":{{"content_type":"thoughts","thoughts":[{{"summary":"{summary}","content":"Ask the chart."{about}}}]}}}}}},"c":{{"parent":"b","message":{{"author":{{"role":"assistant"}},"create_time":7.5,"content":"Nine metres."}}}}}}}}]"#
        )
    };
    let (old, new) = (file("", "Depth"), file(r#","chunks":["Ask"],"finished":true"#, "Depth"));
    let told = editions(Format::ChatGpt, &[old.clone(), new, old, file("", "Width")]).await;
    assert_eq!(told, (vec![3, 0, 0, 2], 2), "other thoughts are another message");
    let found = |about: &str, words: &str| {
        format!(
            r#"[{{"uuid":"c","chat_messages":[{{"sender":"assistant","created_at":"2026-03-01T10:00:00Z","content":[{{"type":"tool_result","tool_use_id":"t","content":[{{"type":"knowledge","title":"Chart","url":"https://e.org","text":"{words}"{about}}}]}}]}}]}}]"#
        )
    };
    let (old, new) = (found("", "Nine."), found(r#","is_citable":true,"metadata":{"type":"page"}"#, "Nine."));
    let told = editions(Format::Claude, &[old.clone(), new, old, found("", "Ten.")]).await;
    assert_eq!(told, (vec![1, 0, 0, 1], 2));
}

#[tokio::test]
async fn a_conversation_can_be_read_as_markdown() {
    let text = r#"{"title":"Tides\n and moon","messages":[
        {"role":"user","content":[{"type":"text","text":"When is high tide?"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]},
        {"role":"assistant","content":[{"type":"thinking","thinking":"Look it up.\nThen answer."},{"type":"tool_use","id":"t","name":"tides","input":{"at":"Brest"}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"```\n06:12\n```"}]},
        {"role":"assistant","content":"At 06:12.\n\n- and again at 18:40"}],
        "scrollback":{"times":["2026-11-15T09:30:00Z","2026-11-15T09:31:00Z",null,"2026-11-15T09:32:00Z"]}}"#;
    let log = new_log();
    store_all(&log, &import::read(Format::OpenAi, text).unwrap().conversations).await;
    let [session] = &sessions(&log).await[..] else { panic!("one session") };
    let expected = "# Tides and moon

## m0 · user · 2026-11-15 09:30 UTC

When is high tide?

[image: image/png]

## m1 · assistant · 2026-11-15 09:31 UTC

> Look it up.
> Then answer.

Calls tides:

```json
{
  \"at\": \"Brest\"
}
```

## m2 · user · 2026-11-15 09:31 UTC

Result:

````
```
06:12
```
````

## m3 · assistant · 2026-11-15 09:32 UTC

At 06:12.

- and again at 18:40
";
    assert_eq!(whole(&log, session).await.markdown().collect::<String>(), expected);
}

/// An export whose conversation has these answers, the last of them in use.
fn titled(title: &str, said: &[(&str, i64)]) -> Conversation {
    let message = |(text, at): &(&str, i64)| {
        let role = if text.ends_with('?') { "user" } else { "assistant" };
        (Message::text(&role.into(), text).raw().clone(), Some(At(*at)))
    };
    let (declared, messages) = (Some("chatgpt:one".to_owned()), said.iter().map(message).collect());
    Conversation { declared, title: Some(title.to_owned()), messages, ..Conversation::default() }
}

#[tokio::test]
async fn a_title_that_was_changed_is_taken_from_an_export_that_is_not_older() {
    let folder = tempfile::tempdir().unwrap();
    let file = SqliteStore::open(&SqliteOptions::new(folder.path().join("log.db"))).unwrap();
    for store in [Arc::new(MemoryStore::default()) as Arc<dyn Store>, Arc::new(file)] {
        let log = Log::new(store);
        let (short, long) = ([("Tea?", 1), ("Yes.", 2)], [("Tea?", 1), ("Yes.", 2), ("Milk?", 3)]);
        for (conversation, added, title) in [
            (titled("New chat", &short), 2, "New chat"),
            (titled("Tea", &short), 0, "Tea"),
            (titled("Tea with milk", &long), 1, "Tea with milk"),
            (titled("New chat", &short), 0, "Tea with milk"),
            (Conversation { updated: Some(At(4)), ..titled("Milk", &short) }, 0, "Milk"),
            (Conversation { title: None, ..titled("", &long) }, 0, "Milk"),
        ] {
            assert_eq!(store_all(&log, &[conversation]).await, added, "{title}");
            assert_eq!(sessions(&log).await[0].title.as_deref(), Some(title));
        }
    }
}
