//! Paths that lead elsewhere than they say: an account that several people share opens nothing of others by them.

use serde_json::json;

use super::{bearer, code};
use crate::scene::{Server, Upstream, plain};

const SHARED: &str = "key_env = \"MOCK_KEY\"\n";

#[test]
fn a_path_that_climbs_goes_nowhere() {
    let upstream = Upstream::new(|_, _| plain("200 OK", "content-type: application/json\r\n", "{\"data\":[]}"));
    let server = Server::new(upstream.port, SHARED);
    let token = server.token("ann");
    for path in [
        "/v1/models/../files",
        "/v1/models/%2e%2e/files",
        "/v1/models/.%2E/files",
        "/v1/models/..\\files",
        "/v1/models\\..\\files",
        "/v1/models/..%2ffiles",
        "/v1/models/./x",
        "/mock/v1/models/../files",
    ] {
        let refused = server.get_as(&token, path);
        assert_eq!((refused.status(), code(&refused)), (400, "path_climbs".into()), "{path}");
        let posted = server.send(&format!("POST {}", path.replace("models", "embeddings")), &bearer(&token), "{}");
        assert_eq!(posted.status(), 400, "{path}");
    }
    assert!(upstream.asked().is_empty(), "nothing went to the provider");
    assert_eq!(server.get_as(&token, "/v1/models/gpt-4.1?of=../x").status(), 200);
}

#[test]
fn what_is_stored_with_a_shared_account_cannot_be_acted_on() {
    let upstream = Upstream::new(|_, _| plain("200 OK", "content-type: application/json\r\n", "{}"));
    let server = Server::new(upstream.port, SHARED);
    let token = server.token("ann");
    for path in ["/v1/responses/resp_1/cancel", "/v1/responses/resp_1", "/v1/messages/batches/b1/cancel"] {
        let refused = server.send(&format!("POST {path}"), &bearer(&token), &json!({}).to_string());
        assert_eq!((refused.status(), code(&refused)), (403, "shared_account".into()), "{path}");
    }
    let messages = json!([{"role": "user", "content": "Hello?"}]);
    let thread = json!({"type": "continue", "previous_message_id": "msg_1"});
    for (name, value) in [("thread", thread), ("container", json!("container_1"))] {
        let body = json!({"model": "claude", "max_tokens": 9, "messages": messages, name: value});
        let refused = server.send("POST /v1/messages", &bearer(&token), &body.to_string());
        assert_eq!(refused.status(), 403, "{name}: {}", refused.text());
    }
    assert!(upstream.asked().is_empty());
}
