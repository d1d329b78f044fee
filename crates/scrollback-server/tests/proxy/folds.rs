//! Summaries and documents through the proxy: long conversations fold, fit, keep their rules and open up again.

use std::sync::Arc;

use scrollback::control::Change;
use scrollback::engine::{Engine, EngineSettings};
use scrollback::store::Which;
use scrollback::strategy::StrategyName;
use scrollback::task::Tasks;
use scrollback::{At, PostgresOptions, PostgresStore, SessionKey, SqliteOptions, SqliteStore, Store, Tenant};
use serde_json::{Value, json};

use crate::scene::{Said, Server, Upstream, chat, reply, says, user};
use crate::talk::{FACTS, RULE, cost, messages, offered, question, say, shown, talk, talk_slowly, words};

const WINDOW: &str = "[window]\ntokens = 5000\nreply_tokens = 300\n";

fn settings(strategy: &str) -> String {
    format!("{WINDOW}strategy = \"{strategy}\"\n[artifacts]\narchive_at = 16\nkeep = 8\n")
}

/// A model that opens a summary when it is told to.
fn opening(_: usize, asked: &Said) -> Vec<Option<Vec<u8>>> {
    let messages = messages(asked);
    let last = messages.last().unwrap();
    if !words(last).starts_with("OPEN ") {
        return reply(&says("Noted, and I will remember it."));
    }
    let text = shown(asked);
    let name = text.split("Summary s").nth(1).unwrap().chars().take_while(char::is_ascii_digit).collect::<String>();
    let arguments = json!({"id": format!("s{name}"), "words": words(last)[5..]}).to_string();
    let call =
        json!({"id": "own_1", "type": "function", "function": {"name": "expand_summary", "arguments": arguments}});
    reply(&json!({"role": "assistant", "content": null, "tool_calls": [call]}))
}

fn fits(upstream: &Upstream) {
    for (number, asked) in upstream.asked().iter().enumerate() {
        assert!(cost(asked) + 300 <= 5000, "request {number} costs {}", cost(asked));
    }
}

#[test]
fn a_long_conversation_is_summed_up_and_opens_again() {
    let upstream = Upstream::new(opening);
    let server = Server::new(upstream.port, &settings("summary"));
    let mut history = Vec::new();
    talk(&server, &mut history, 0..40);
    let last = upstream.asked().pop().unwrap();
    assert!(words(&messages(&last)[0]).contains("Never give distances in miles"), "{}", shown(&last));
    assert!(shown(&last).contains("<summary-") && !shown(&last).contains(&question(1)), "{}", shown(&last));
    assert_eq!(offered(&last), ["expand_summary", "load_tool_history", "search_history"]);
    say(&server, &mut history, "OPEN lamp Larsen crowns");
    let told = upstream.asked().pop().unwrap();
    let result = messages(&told).pop().unwrap();
    assert_eq!(result["role"], "tool");
    assert!(words(&result).contains(question(0).trim()), "word for word: {}", words(&result));
    fits(&upstream);
    assert_eq!(server.messages().len(), 82);
}

#[test]
fn a_long_conversation_is_worked_into_documents() {
    let upstream = Upstream::new(opening);
    let server = Server::new(upstream.port, &settings("artifacts"));
    let mut history = Vec::new();
    talk(&server, &mut history, 0..40);
    let last = upstream.asked().pop().unwrap();
    assert!(shown(&last).contains("<artifacts-") && shown(&last).contains(RULE), "{}", shown(&last));
    assert!(!shown(&last).contains(&question(1)));
    assert_eq!(offered(&last), ["recall_page", "load_tool_history", "search_history"]);
    let known = FACTS.iter().filter(|(_, fact)| shown(&last).contains(fact)).count();
    assert!(known >= 3, "the documents hold {known} facts: {}", shown(&last));
    fits(&upstream);
}

/// Lays a session's windows out in another way; the server is not running.
fn switch(store: std::path::PathBuf, session: &str, strategy: Option<StrategyName>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store: Arc<dyn Store> = if crate::scene::NODES > 1 {
        let options = PostgresOptions::new(store.to_str().unwrap());
        Arc::new(runtime.block_on(PostgresStore::open(&options)).unwrap())
    } else {
        Arc::new(SqliteStore::open(&SqliteOptions::new(store)).unwrap())
    };
    let engine = Engine::new(store.clone(), Tasks::offline(), EngineSettings::default());
    runtime.block_on(async {
        let found = store
            .sessions(&Tenant::local(), Which::Named { name: session.to_owned(), skip: 0, limit: 10 })
            .await
            .unwrap();
        let key = SessionKey { tenant: Tenant::local(), id: found[0].id };
        engine.change(&key, &Change::Strategy(strategy), At(1)).await.unwrap();
    });
}

#[test]
fn a_session_is_offered_the_tools_of_its_own_strategy() {
    let upstream = Upstream::new(|_, _| reply(&says("Noted.")));
    let mut server = Server::new(upstream.port, &settings("pages"));
    let history = [user("The lamp is red.")];
    let session = server.ask(&chat(&history)).header("x-scrollback-session").unwrap().to_owned();
    let history = [history[0].clone(), says("Noted."), user("And the door?")];
    server.restart(|store| switch(store, &session, Some(StrategyName::Summary)));
    server.ask(&chat(&history));
    server.ask(&chat(&[user("Another conversation.")]));
    server.restart(|store| switch(store, &session, None));
    let mut longer = history.to_vec();
    longer.extend([says("Noted."), user("And the roof?")]);
    server.ask(&chat(&longer));
    let asked: Vec<Vec<String>> = upstream.asked().iter().map(offered).collect();
    let summary = ["expand_summary", "load_tool_history", "search_history"];
    let pages = ["recall_page", "load_tool_history", "search_history"];
    assert_eq!(asked, [pages, summary, pages, pages]);
}

#[test]
fn results_are_held_only_where_they_can_be_loaded() {
    let result = "The tide gauge at the pier reads two metres. ".repeat(300);
    let call = json!({"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}});
    let history = [
        user("Look at the gauge."),
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "c1", "content": result}),
        says("Two metres."),
        user("And at night?"),
    ];
    // Where nothing can be loaded a result is shown as long as it fits, and then it is held all the same.
    for (recall, tokens, is_held) in
        [("tools", 32_000, true), ("text", 32_000, true), ("off", 32_000, false), ("off", 2_000, true)]
    {
        let upstream = Upstream::new(|_, _| reply(&says("Noted.")));
        let window = format!("recall = \"{recall}\"\n[window]\ntokens = {tokens}\nreply_tokens = 300\n");
        let server = Server::new(upstream.port, &window);
        assert_eq!(server.ask(&chat(&history)).status(), 200);
        let asked = upstream.asked().pop().unwrap();
        let whole = messages(&asked).iter().any(|message| words(message) == result);
        assert_eq!(!whole, is_held, "{recall} in {tokens}: {}", shown(&asked));
    }
}

#[test]
fn a_result_that_ends_in_half_a_character_is_held_like_any_other() {
    let upstream = Upstream::new(|_, _| reply(&says("Noted.")));
    let server = Server::new(upstream.port, "");
    let result = "The tide gauge at the pier reads two metres. ".repeat(300) + "CUT";
    let call = json!({"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}});
    let history = [
        user("Look at the gauge."),
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "c1", "content": result}),
        says("Two metres."),
        user("And at night?"),
    ];
    let body = chat(&history).to_string().replace("CUT", r"\ud83d");
    assert_eq!(server.send("POST /v1/chat/completions", "", &body).status(), 200);
    let sent = messages(&upstream.asked().pop().unwrap());
    assert_eq!((sent.len(), &sent[2]["tool_call_id"]), (5, &json!("c1")), "{sent:?}");
    assert!(words(&sent[2]).starts_with("[Tool result h"), "{sent:?}");
}

fn of_model(model: &str, messages: &[Value]) -> Value {
    let mut body = chat(messages);
    body["model"] = json!(model);
    body
}

/// Talks with a model and says how many of all that was said the last window shows.
fn shows(settings: &str, model: &str) -> (usize, usize) {
    let upstream = Upstream::new(|_, _| reply(&says("Noted.")));
    let server = Server::new(upstream.port, settings);
    let mut history = Vec::new();
    for turn in 0..24 {
        history.push(user(&question(turn)));
        let answer = server.ask(&of_model(model, &history));
        history.push(answer.json()["choices"][0]["message"].clone());
    }
    let last = upstream.asked().pop().unwrap();
    (messages(&last).len(), history.len() - 1)
}

#[test]
fn a_model_with_no_known_limit_is_passed_through() {
    let unknown = "[window]\nstrategy = \"summary\"\nunknown_tokens = 3000\nreply_tokens = 300\n";
    let (shown, said) = shows(unknown, "nobody-knows-it");
    assert_eq!(shown, said, "everything is shown");
    let known = format!("{unknown}[summary.models.\"nobody-*\"]\nlimit = 3000\n");
    let (shown, said) = shows(&known, "nobody-knows-it");
    assert!(shown < said, "{shown} of {said}");
    let before = format!("{unknown}[summary.models.\"gpt-4o\"]\nlimit = 3000\n");
    let (shown, said) = shows(&before, "gpt-4o");
    assert!(shown < said, "it goes before the catalogue: {shown} of {said}");
    let pages = unknown.replace("summary", "pages");
    let (shown, said) = shows(&pages, "nobody-knows-it");
    assert!(shown < said, "other strategies assume one: {shown} of {said}");
}

/// The model that summarises is the one that the settings of the asked model name.
#[test]
fn some_models_have_a_helper_of_their_own() {
    let upstream = Upstream::new(|_, _| reply(&says("Noted.")));
    let helper =
        "[helper]\nmodel = \"small\"\ntimeout_seconds = 2\n[summary.models.\"gpt-4*\"]\nhelper = \"smaller\"\n";
    let server = Server::new(upstream.port, &format!("{}{helper}", settings("summary")));
    let mut history = Vec::new();
    talk_slowly(&server, &mut history, 0..32);
    let models: Vec<Value> = upstream.asked().iter().map(|asked| asked.json()["model"].clone()).collect();
    assert!(models.contains(&json!("smaller")) && !models.contains(&json!("small")), "{models:?}");
}

/// Nobody knows its limit until it says that it was reached.
#[test]
fn a_model_that_tells_its_limit_by_refusing_is_answered_smaller() {
    let upstream = Upstream::new(|_, asked| {
        if cost(asked) > 3000 {
            let body = "{\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"too long\"}}";
            return crate::scene::plain("400 Bad Request", "content-type: application/json\r\n", body);
        }
        reply(&says("Noted."))
    });
    let server = Server::new(upstream.port, "[window]\nstrategy = \"summary\"\n");
    let mut history = Vec::new();
    for turn in 0..60 {
        history.push(user(&question(turn)));
        let answer = server.ask(&of_model("nobody-knows-it", &history));
        assert_eq!(answer.status(), 200, "turn {turn}: {}", answer.text());
        history.push(answer.json()["choices"][0]["message"].clone());
    }
    let last = upstream.asked().pop().unwrap();
    assert!(shown(&last).contains("<summary-") && shown(&last).contains("Never give distances in miles"));
}

/// A helper that does what it is asked to: it tells every note that it is shown, and every fact.
fn helping(_: usize, asked: &Said) -> Vec<Option<Vec<u8>>> {
    let said = messages(asked);
    let (system, shown) = (words(&said[0]), words(said.last().unwrap()));
    let notes = shown.split("Note ").skip(1).filter_map(|rest| rest.split(' ').next());
    let notes: std::collections::BTreeSet<&str> = notes.filter(|note| note.parse::<u8>().is_ok()).collect();
    let facts: Vec<&str> = FACTS.iter().map(|(_, fact)| *fact).collect();
    let notes = Vec::from_iter(notes).join(", Note ");
    let told = format!("{RULE} {} Note {notes}.", facts.join(" "));
    let text = match () {
        () if asked.json()["model"] != "small" => "Noted.".to_owned(),
        () if system.contains("<summary>") => {
            format!("<summary>\nAll told by the helper: Larsen sold the lamp [m0].\n{told}\n</summary>")
        }
        () if system.contains("<!-- sources:") => {
            format!("# The harbour\n\nAll told by the helper.\n\n## Lamp and ferry <!-- sources: m0-m99 -->\n{told}\n")
        }
        () => "{\"artifact\": null}".to_owned(),
    };
    reply(&says(&text))
}

#[test]
fn what_a_helper_writes_is_in_the_window() {
    for strategy in ["summary", "artifacts"] {
        let upstream = Upstream::new(helping);
        let helper = "[helper]\nmodel = \"small\"\ntimeout_seconds = 2\n";
        let server = Server::new(upstream.port, &format!("{}{helper}", settings(strategy)));
        let mut history = Vec::new();
        talk_slowly(&server, &mut history, 0..32);
        let asked = upstream.asked();
        let last = asked.iter().rfind(|asked| asked.json()["model"] == "gpt-4o").unwrap();
        assert!(shown(last).contains("All told by the helper"), "{strategy}: {}", shown(last));
        assert!(asked.iter().filter(|asked| asked.json()["model"] == "gpt-4o").all(|asked| cost(asked) + 300 <= 5000));
    }
}
