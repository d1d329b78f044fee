//! Law 7 for every strategy: a helper that refuses, hangs or talks nonsense for the whole run changes no turn.

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

macro_rules! troubles {
    ($($strategy:ident),*) => {$(
        mod $strategy {
            #[test]
            fn goes_on_while_its_helper_refuses() {
                super::check(stringify!($strategy), super::refuses);
            }

            #[test]
            fn goes_on_while_its_helper_hangs() {
                super::check(stringify!($strategy), super::hangs);
            }

            #[test]
            fn goes_on_while_its_helper_babbles() {
                super::check(stringify!($strategy), super::babbles);
            }
        }
    )*};
}

troubles!(pages, topics, summary, artifacts);
