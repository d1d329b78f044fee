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
        "/v1/models/%252e%252e/files",
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

#[test]
fn what_is_stored_with_a_shared_account_cannot_be_named() {
    let upstream = Upstream::new(|_, _| plain("200 OK", "content-type: application/json\r\n", "{}"));
    let server = Server::new(upstream.port, SHARED);
    let token = server.token("ann");
    let post = |path: &str, body: &str| server.send(&format!("POST /v1{path}"), &bearer(&token), body);
    let said = |more: &str| format!("{{\"model\":\"gpt-5\",\"input\":\"Hello?\",{more}}}");
    for more in [
        r#""prompt":{"id":"pmpt_1"}"#,
        r#""tools":[{"type":"file_search","vector_store_ids":["vs_1"]}]"#,
        r#""tools":[{"type":"code_interpreter","container":"cntr_1"}]"#,
        r#""tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":["file_1"]}}]"#,
        r#""previous_response_id":"resp_1","previous_response_id":null"#,
        r#""conversation":"conv_1","conversation":null"#,
        r#""previous_response_id":5"#,
        r#""background":true,"prompt":{"id":"pmpt_1"}"#,
    ] {
        let refused = post("/responses", &said(more));
        assert_eq!((refused.status(), code(&refused)), (403, "shared_account".into()), "{more}");
        assert_ne!(post("/responses/input_tokens", &said(more)).status(), 500, "{more}");
    }
    for path in ["/audio/voices", "/audio/voice_consents/c1", "/completions_stored/x"] {
        assert_eq!(post(path, "{}").status(), 403, "{path}");
    }
    let chat = r#"{"model":"gpt-5","messages":[{"role":"user","content":"Hello?"}],"previous_response_id":"resp_1"}"#;
    assert_eq!(post("/chat/completions", chat).status(), 403);
    assert_eq!(server.get_as(&token, "/v1/models//files").status(), 403);
    assert!(upstream.asked().is_empty(), "{:?}", upstream.asked());
    let auto = said(r#""tools":[{"type":"code_interpreter","container":{"type":"auto"}}]"#);
    assert_eq!(post("/responses", &auto).status(), 200);
    assert_eq!(upstream.asked().len(), 1);
}

#[test]
fn whose_part_of_a_shared_account_is_asked_is_not_for_clients_to_say() {
    let upstream = Upstream::new(|_, _| plain("200 OK", "content-type: application/json\r\n", "{\"data\":[]}"));
    let parts = "openai-organization: org-1\r\nopenai-project: proj-1\r\n";
    let sent = |settings: &str| {
        let server = Server::new(upstream.port, settings);
        let headers = format!("{}{parts}", bearer(&server.token("ann")));
        assert_eq!(server.send("GET /v1/models", &headers, "").status(), 200);
        upstream.asked().last().unwrap().clone()
    };
    let shared = sent(SHARED);
    assert_eq!((shared.header("openai-organization"), shared.header("openai-project")), (None, None));
    assert_eq!(sent("").header("openai-project"), Some("proj-1"), "beside a key of their own it is");
}
