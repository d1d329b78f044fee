//! What is told where quotations answer though nobody asked for them.

use axum::http::Method;
use serde_json::Value;

use super::server::Server;
use crate::api::Ask;
use crate::config::KnownUpstream;
use crate::upstream::QUOTE;

/// The settings that say who answers where nobody is named.
const NAMING: [&str; 3] = ["chat.upstream", "serve.upstream", "serve.messages_upstream"];

/// Why quotations answer, and what to do about it; `None` if a model would.
pub(super) async fn hint(server: &Server) -> anyhow::Result<Option<String>> {
    let models = server.ask(&Ask::new(Method::GET, &["models"])).await?;
    if models["upstream"] != QUOTE {
        return Ok(None);
    }
    let settings = server.ask(&Ask::new(Method::GET, &["settings"])).await?;
    let named = NAMING.iter().filter_map(|setting| in_force(&settings, setting));
    let upstreams: Vec<(&str, &str)> = named.map(|name| (name, address(&models, name))).collect();
    Ok(Some(told(&upstreams, server.elsewhere())))
}

/// Why quotations answer whatever model is named; `None` if the model would.
pub(super) async fn hint_for_all(server: &Server) -> anyhow::Result<Option<String>> {
    let settings = server.ask(&Ask::new(Method::GET, &["settings"])).await?;
    let is_quote = in_force(&settings, "serve.upstream") == Some(QUOTE)
        && in_force(&settings, "chat.upstream").is_none_or(|name| name == QUOTE);
    Ok(is_quote.then(|| told(&[(QUOTE, "")], None)))
}

fn in_force<'a>(settings: &'a Value, name: &str) -> Option<&'a str> {
    let line = settings["settings"].as_array()?.iter().find(|line| line["name"] == name)?;
    line["value"].as_str().filter(|value| !value.is_empty())
}

/// Where an upstream is.
fn address<'a>(models: &'a Value, name: &str) -> &'a str {
    let line = models["upstreams"].as_array().and_then(|all| all.iter().find(|line| line["name"] == name));
    line.and_then(|line| line["url"].as_str()).unwrap_or_default()
}

/// What may help: a key for one of some upstreams, each with its address, where the server reads it.
fn told(upstreams: &[(&str, &str)], elsewhere: Option<&str>) -> String {
    let other = "name an upstream with --upstream and --model";
    if upstreams.iter().any(|(name, _)| *name == QUOTE) {
        return format!("the settings send this to `quote`, so quotations of what was said answer: {other}");
    }
    let mut keys: Vec<String> = Vec::new();
    for (name, url) in upstreams {
        let known = KnownUpstream::at(name, url).map(|known| known.key_env.to_owned());
        let key = known.unwrap_or_else(|| format!("upstreams.{name}.key_env in scrollback.toml"));
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let where_read = elsewhere.map(|url| format!(" for the server at {url}, and start it again,")).unwrap_or_default();
    let keys = keys.join(" or ");
    format!("no model is set up, so quotations of what was said answer: set {keys}{where_read} or {other}")
}

#[cfg(test)]
mod tests {
    use super::told;

    #[test]
    fn the_key_that_helps_is_named_and_who_reads_it() {
        let theirs = ("anthropic", "https://api.anthropic.com/v1");
        let usual = told(&[("openai", "https://api.openai.com/v1"), theirs], None);
        assert!(usual.contains("set OPENAI_API_KEY or ANTHROPIC_API_KEY or name"), "{usual}");
        let moved = told(&[("openai", "https://proxy.example/v1"), theirs], None);
        assert!(moved.contains("set upstreams.openai.key_env in scrollback.toml or ANTHROPIC_API_KEY"), "{moved}");
        let groq = ("groq", "https://api.groq.com/openai/v1");
        let elsewhere = told(&[groq, groq], Some("http://127.0.0.1:4141"));
        assert!(elsewhere.contains("set upstreams.groq.key_env in scrollback.toml for the server"), "{elsewhere}");
        assert!(elsewhere.contains("http://127.0.0.1:4141, and start it again"), "{elsewhere}");
        assert!(!told(&[("quote", ""), ("quote", "")], None).contains("_KEY"), "no key would help");
    }
}
