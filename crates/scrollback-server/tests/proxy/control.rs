//! `/compress`: the conversation is folded now, no model is asked, and nothing of it is seen in later windows.

use serde_json::{Value, json};

use crate::scene::{Server, Upstream, chat, plain, reply, says, user};
use crate::talk::{messages, say, shown, streamed, streaming, talk};

fn settings(strategy: &str) -> String {
    format!("[window]\nstrategy = \"{strategy}\"\ntokens = 20000\nreply_tokens = 300\n")
}

fn begun(settings: &str) -> (Upstream, Server, Vec<Value>) {
    let upstream = Upstream::new(|_, _| reply(&says("Noted.")));
    let server = Server::new(upstream.port, settings);
    let mut history = Vec::new();
    talk(&server, &mut history, 0..15);
    (upstream, server, history)
}

#[test]
fn every_strategy_folds_when_it_is_told_to() {
    for (strategy, note) in [
        ("summary", "the summary s"),
        ("artifacts", "documents (a"),
        ("pages", "contents page (#"),
        ("topics", "topics"),
    ] {
        let (upstream, server, mut history) = begun(&settings(strategy));
        let before = upstream.asked().len();
        let told = say(&server, &mut history, " /compress\n");
        assert_eq!(upstream.asked().len(), before, "{strategy}: no model is asked");
        assert!(told.starts_with("Folded: ") && told.contains(note), "{strategy}: {told}");
        assert!(told.contains("`scrollback notes ") && told.contains("`scrollback undo "), "{told}");
        say(&server, &mut history, "And now?");
        let asked = upstream.asked().pop().unwrap();
        assert!(!shown(&asked).contains("/compress") && !shown(&asked).contains("Folded: "), "{}", shown(&asked));
        assert!(messages(&asked).len() < 26, "{strategy}: {} messages", messages(&asked).len());
        let kept: Vec<Value> = server.messages();
        assert_eq!(kept.len(), 34, "{strategy}: all of it is kept");
        assert_eq!(kept[30], user(" /compress\n"));
    }
}

#[test]
fn the_answer_has_the_shape_of_a_models() {
    let (_, server, mut history) = begun(&settings("summary"));
    history.push(json!({"role": "user", "content": [{"type": "text", "text": "/compress"}]}));
    let answer = server.ask(&chat(&history));
    let body = answer.json();
    assert_eq!((&body["object"], &body["model"]), (&json!("chat.completion"), &json!("gpt-4o")));
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
    assert_eq!(body["usage"], json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}));
    assert!(answer.header("x-scrollback-session").is_some());
}

#[test]
fn it_is_streamed_to_whoever_wants_a_stream() {
    let (upstream, server, mut history) = begun(&settings("summary"));
    history.push(user("/compress"));
    let mut body = streaming(&history);
    body["stream_options"] = json!({"include_usage": true});
    let answer = server.ask(&body);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert!(streamed(&answer).starts_with("Folded: "), "{}", answer.text());
    assert!(answer.text().contains("\"total_tokens\":0") && answer.text().ends_with("data: [DONE]\n\n"));
    history.extend([says(&streamed(&answer)), user("And now?")]);
    server.ask(&chat(&history));
    assert!(!shown(&upstream.asked().pop().unwrap()).contains("Folded: "));
    assert_eq!(server.messages().len(), 34);
}

#[test]
fn a_young_conversation_is_left_alone() {
    let upstream = Upstream::new(|_, _| reply(&says("Noted.")));
    let server = Server::new(upstream.port, &settings("summary"));
    let mut history = Vec::new();
    assert!(say(&server, &mut history, "/compress").starts_with("Nothing was folded"));
    assert!(say(&server, &mut history, "/compress").starts_with("Nothing was folded"));
    say(&server, &mut history, "What does /compress do?");
    assert_eq!(upstream.asked().len(), 1, "only the question is asked");
    assert_eq!(messages(&upstream.asked()[0]), [user("What does /compress do?")]);
}

#[test]
fn a_chinese_conversation_is_answered_in_chinese() {
    let upstream = Upstream::new(|_, _| reply(&says("好的。")));
    let server = Server::new(upstream.port, &settings("summary"));
    let mut history = Vec::new();
    for turn in 0..12 {
        say(
            &server,
            &mut history,
            &format!("第{turn}条：灯塔的灯是红色的，渡轮六点二十分开。{}", "我们在码头边散步。".repeat(20)),
        );
    }
    let told = say(&server, &mut history, "/compress");
    assert!(told.starts_with("已压缩") && told.contains("摘要 s"), "{told}");
}

#[test]
fn what_goes_wrong_is_told_as_an_answer() {
    let upstream = Upstream::new(|_, _| reply(&says("Noted.")));
    let server = Server::new(upstream.port, &settings("summary"));
    let body = chat(&[user("/compress")]).to_string();
    let answer = server.send("POST /v1/chat/completions", "x-scrollback-history: new\r\n", &body);
    assert_eq!(answer.status(), 200);
    let told = answer.json()["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    assert!(told.contains("something went wrong") && told.contains("must name its session"), "{told}");
}

#[test]
fn a_history_that_is_neither_whole_nor_new_is_refused() {
    let upstream = Upstream::new(|_, _| reply(&says("Noted.")));
    let server = Server::new(upstream.port, "");
    let headers = "x-scrollback-session: s\r\nx-scrollback-history: bogus\r\n";
    let answer = server.send("POST /v1/chat/completions", headers, &chat(&[user("hello")]).to_string());
    assert_eq!(answer.status(), 400);
    assert!(answer.text().contains("x-scrollback-history"), "{}", answer.text());
    assert!(upstream.asked().is_empty() && server.messages().is_empty());
}

/// A helper that fails is no reason not to fold.
#[test]
fn it_folds_without_its_helper() {
    let upstream = Upstream::new(|_, asked| {
        if asked.json()["model"] == "small" { plain("500 Oops", "", "no") } else { reply(&says("Noted.")) }
    });
    let settings = format!("{}[helper]\nmodel = \"small\"\ntimeout_seconds = 1\n", settings("summary"));
    let server = Server::new(upstream.port, &settings);
    let mut history = Vec::new();
    talk(&server, &mut history, 0..15);
    assert!(say(&server, &mut history, "/compress").starts_with("Folded: "));
}

/// Neither the command nor its answer comes back when what was said around it is folded.
#[test]
fn it_stays_out_of_sight_once_it_is_folded() {
    for strategy in ["summary", "artifacts", "pages", "topics"] {
        let upstream = Upstream::new(|_, _| reply(&says("Noted.")));
        let settings = "tokens = 5000\nreply_tokens = 300\n[artifacts]\narchive_at = 16\nkeep = 8\n";
        let server = Server::new(upstream.port, &format!("[window]\nstrategy = \"{strategy}\"\n{settings}"));
        let mut history = Vec::new();
        talk(&server, &mut history, 0..12);
        assert!(say(&server, &mut history, "/compress").contains("olded"));
        talk(&server, &mut history, 12..40);
        for asked in upstream.asked() {
            let text = shown(&asked);
            assert!(!text.contains("/compress") && !text.contains("olded: "), "{strategy}: {text}");
        }
    }
}

/// A helper that hangs keeps nobody waiting for long.
#[test]
fn it_does_not_wait_for_a_helper_that_hangs() {
    for strategy in ["summary", "artifacts"] {
        let upstream = Upstream::new(|_, asked| {
            if asked.json()["model"] == "small" {
                std::thread::sleep(std::time::Duration::from_secs(30));
            }
            reply(&says("Noted."))
        });
        let helper = "[helper]\nmodel = \"small\"\ntimeout_seconds = 1\n";
        let server = Server::new(upstream.port, &format!("{}{helper}", settings(strategy)));
        let mut history = Vec::new();
        talk(&server, &mut history, 0..15);
        let began = std::time::Instant::now();
        assert!(say(&server, &mut history, "/compress").starts_with("Folded: "));
        assert!(began.elapsed().as_secs() < 12, "{strategy}: {:?}", began.elapsed());
    }
}

/// What the answer says can be typed can be typed, beside the running server.
#[test]
fn the_commands_it_names_do_what_it_says() {
    for strategy in ["summary", "artifacts", "pages", "topics"] {
        let (upstream, server, mut history) = begun(&settings(strategy));
        let told = say(&server, &mut history, "/compress");
        let typed: Vec<&str> = told.split('`').skip(1).step_by(2).collect();
        assert_eq!(typed.len(), 2, "{told}");
        for command in typed {
            let mut arguments = command.split(' ');
            assert_eq!(arguments.next(), Some("scrollback"), "{told}");
            let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_scrollback"));
            program.args(arguments).arg("--store").arg(server.store());
            let output = program.arg("--config").arg(server.folder.path().join("scrollback.toml")).output().unwrap();
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            assert!(output.status.success() && said.contains('m'), "{strategy}: {command}: {said}");
        }
        say(&server, &mut history, "And now?");
        let asked = upstream.asked().pop().unwrap();
        assert!(messages(&asked).len() >= 31, "{strategy}: it is taken back, {} messages", messages(&asked).len());
    }
}
