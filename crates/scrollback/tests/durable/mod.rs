//! What the durability tests share: a child that is the same test program once more, and messages to send.

use std::process::{Command, Stdio};

use scrollback::log::{Arrival, History, Received};
use scrollback::{At, Error, Log, Tenant};

/// The environment variable that tells a child what to do; without it a child's test does nothing.
pub(crate) const ERRAND: &str = "SCROLLBACK_TEST_ERRAND";

/// This test program once more, to run the one test named.
pub(crate) fn child(test: &str, errand: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a running program has a path"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(ERRAND, errand);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// What a child was told to do, if this is one.
pub(crate) fn errand() -> Option<String> {
    std::env::var(ERRAND).ok()
}

/// A message's JSON.
pub(crate) fn said(role: &str, text: &str) -> String {
    serde_json::json!({"role": role, "content": text}).to_string()
}

/// A history's JSON.
pub(crate) fn array(messages: &[String]) -> String {
    format!("[{}]", messages.join(","))
}

/// Sends a history to a log.
pub(crate) async fn receive(log: &Log, declared: Option<&str>, history: &str) -> Result<Received, Error> {
    let tenant = Tenant::local();
    log.receive(Arrival::new(&tenant, declared, "gpt-5", At(0)), &History::parse(history)?).await
}
