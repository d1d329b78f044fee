//! Law 7 for every strategy: a helper that refuses, hangs or talks nonsense for the whole run changes no turn. Each of
//! these for each strategy is in the library's tests (`ahead`), where no clock has to be waited for.

use std::time::Duration;

use crate::scene::{Said, Server, Upstream, plain, reply, says};
use crate::talk::{cost, say, shown, talk_slowly};

const LIMIT: usize = 5000;

fn refuses(_: usize, _: &Said) -> Vec<Option<Vec<u8>>> {
    plain("500 Oops", "content-type: application/json\r\n", "{\"error\":{\"message\":\"no\"}}")
}

fn hangs(_: usize, _: &Said) -> Vec<Option<Vec<u8>>> {
    std::thread::sleep(Duration::from_secs(40));
    vec![None]
}

fn babbles(number: usize, _: &Said) -> Vec<Option<Vec<u8>>> {
    let texts = [
        "I would rather talk about boats.",
        "{\"summary\": [1, {\"m999\": null}]}",
        "",
        "# \n<!-- sources: m9999 -->\n```",
    ];
    reply(&says(texts[number % texts.len()]))
}

fn check(strategy: &str, helper: fn(usize, &Said) -> Vec<Option<Vec<u8>>>) {
    let (upstream, helper) = (Upstream::new(|_, _| reply(&says("Noted."))), Upstream::new(helper));
    let settings = format!(
        "[upstreams.aux]\nurl = \"http://127.0.0.1:{}/v1\"\n[helper]\nupstream = \"aux\"\nmodel = \"small\"\ntimeout_seconds = 1\n\
         [topics]\ndeadline_seconds = 1\n[artifacts]\narchive_at = 16\nkeep = 8\n\
         [window]\nstrategy = \"{strategy}\"\ntokens = {LIMIT}\nreply_tokens = 300\n",
        helper.port
    );
    let server = Server::new(upstream.port, &settings);
    let mut history = Vec::new();
    talk_slowly(&server, &mut history, 0..30);
    assert!(!helper.asked().is_empty(), "{strategy}: the helper was asked");
    let asked = upstream.asked();
    assert_eq!(asked.len(), 30);
    for (number, asked) in asked.iter().enumerate() {
        assert!(cost(asked) + 300 <= LIMIT, "{strategy}: request {number} costs {}", cost(asked));
    }
    assert!(shown(&asked[29]).contains("Never give distances in miles"), "{}", shown(&asked[29]));
    assert_eq!(server.messages().len(), 60);
    assert_eq!(say(&server, &mut history, "And then?"), "Noted.");
}

/// How often something became of a task that the helper could answer.
fn outcomes(server: &Server, outcome: &str) -> u32 {
    let name = format!("scrollback_helper_total{{outcome=\"{outcome}\"}} ");
    let told = server.send("GET /metrics", "", "").text();
    told.lines().find_map(|line| line.strip_prefix(&name)?.parse().ok()).unwrap_or_default()
}

fn helped(upstream: &Upstream, helper: &Upstream, more: &str) -> Server {
    let settings = format!(
        "[upstreams.aux]\nurl = \"http://127.0.0.1:{}/v1\"\n[helper]\nupstream = \"aux\"\nmodel = \"small\"\n{more}\
         [window]\ntokens = {LIMIT}\nreply_tokens = 300\n",
        helper.port
    );
    Server::new(upstream.port, &settings)
}

/// How many lines of the log say something, once all of it is read.
fn lines(server: &Server, words: &str) -> usize {
    std::thread::sleep(Duration::from_millis(500));
    server.log().lines().filter(|line| line.contains(words)).count()
}

/// Otherwise nobody would know that everything is quoted.
#[test]
fn a_helper_that_is_left_alone_is_told_of_once() {
    let (upstream, helper) = (Upstream::new(|_, _| reply(&says("Noted."))), Upstream::new(refuses));
    let server = helped(&upstream, &helper, "");
    let mut history = Vec::new();
    for part in 0..8 {
        talk_slowly(&server, &mut history, part * 10..(part + 1) * 10);
        if lines(&server, "it is left alone") > 0 {
            break;
        }
    }
    talk_slowly(&server, &mut history, 80..85);
    assert_eq!(lines(&server, "it is left alone"), 1, "{}", server.log());
    let log = server.log();
    let line = log.lines().find(|line| line.contains("it is left alone")).unwrap();
    assert!(line.contains("WARN") && line.contains("500"), "{line}");
    assert!(outcomes(&server, "failed") >= 5, "{}", server.send("GET /metrics", "", "").text());
}

#[test]
fn a_helper_that_has_spent_all_is_told_of_once() {
    let dear = |_: usize, _: &Said| {
        let body = "{\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"[\\\"A page.\\\"]\"}}],\
                    \"usage\":{\"prompt_tokens\":30000,\"completion_tokens\":9,\"total_tokens\":30009}}";
        plain("200 OK", "content-type: application/json\r\n", body)
    };
    let (upstream, helper) = (Upstream::new(|_, _| reply(&says("Noted."))), Upstream::new(dear));
    let server = helped(&upstream, &helper, "tokens_per_hour = 30000\n");
    let mut history = Vec::new();
    talk_slowly(&server, &mut history, 0..40);
    assert!(outcomes(&server, "spent") > 1, "{}", server.send("GET /metrics", "", "").text());
    assert_eq!(lines(&server, "has spent what it may"), 1, "{}", server.log());
}

#[test]
fn pages_go_on_while_their_helper_refuses() {
    check("pages", refuses);
}

#[test]
fn topics_go_on_while_their_helper_hangs() {
    check("topics", hangs);
}

#[test]
fn summaries_go_on_while_their_helper_babbles() {
    check("summary", babbles);
}

#[test]
fn artifacts_go_on_while_their_helper_babbles() {
    check("artifacts", babbles);
}
