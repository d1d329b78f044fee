//! Who may ask, and what they get: tokens and tenants, hostile clients, and how answers are sent.

mod answers;
mod climbs;
mod hostile;
mod tenants;
mod tokens;

use std::process::{Command, Output};

use serde_json::Value;

use crate::scene::{Said, Server};

/// A caller from elsewhere, as far as the server can tell.
const ELSEWHERE: &str = "x-forwarded-for: 203.0.113.9\r\n";

impl Server {
    /// A command over the store of the server.
    pub(crate) fn command(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
        command.arg("--config").arg(self.folder.path().join("scrollback.toml")).arg("--store").arg(self.store());
        command.args(arguments).output().unwrap()
    }

    /// Makes a token of a tenant with its name.
    pub(crate) fn token(&self, name: &str) -> String {
        self.token_with(&[name])
    }

    pub(crate) fn token_with(&self, arguments: &[&str]) -> String {
        let output = self.command(&[&["tokens", "add"], arguments].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Asks the model with a token.
    pub(crate) fn ask_as(&self, token: &str, body: &Value) -> Said {
        self.send("POST /v1/chat/completions", &bearer(token), &body.to_string())
    }

    pub(crate) fn get_as(&self, token: &str, path: &str) -> Said {
        self.send(&format!("GET {path}"), &bearer(token), "")
    }
}

pub(crate) fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n{ELSEWHERE}")
}

/// What a refusal says, in whichever shape.
pub(crate) fn code(said: &Said) -> String {
    let value = said.json();
    let code = [&value["code"], &value["error"]["code"]].into_iter().find_map(Value::as_str);
    code.unwrap_or_else(|| panic!("no code: {value}")).to_owned()
}
