//! What we add to a request so that the model can ask for what it cannot see: tools after the client's own, the same bytes in
//! every request of a conversation, or an instruction for models without tools.

use scrollback::recall::{RecallTool, instructions};
use serde_json::Value;

use super::request::Request;
use crate::config::RecallBy;

/// Put before our tools' names where the client has tools of the same names.
const PREFIX: &str = "scrollback_";

/// What a request offers its model.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    by: RecallBy,
    tools: &'static [RecallTool],
    renamed: bool,
}

impl Offer {
    /// What can be offered with a request.
    pub(crate) fn new(by: RecallBy, tools: &'static [RecallTool], request: &Request) -> Self {
        let theirs = names(&request.value("tools"));
        let ours = |name: &String| tools.iter().any(|tool| name == tool.name());
        // A client that mounts our tools itself resolves them itself.
        let mounted = theirs.iter().any(|name| tools.iter().any(|tool| name.ends_with(&format!("__{}", tool.name()))));
        let by = if mounted || tools.is_empty() { RecallBy::Off } else { by };
        Self { by, tools, renamed: theirs.iter().any(ours) }
    }

    pub(crate) fn by(&self) -> RecallBy {
        self.by
    }

    /// The tool that a model means, if it is one of ours.
    pub(crate) fn tool(&self, name: &str) -> Option<RecallTool> {
        let name = if self.renamed { name.strip_prefix(PREFIX)? } else { name };
        let found = RecallTool::of_name(name).filter(|tool| self.tools.contains(tool));
        found.filter(|_| self.by == RecallBy::Tools)
    }

    /// Whether a tool of ours has a longer name that begins so.
    pub(crate) fn begins(&self, name: &str) -> bool {
        let prefix = if self.renamed { PREFIX } else { "" };
        let longer = |tool: &RecallTool| format!("{prefix}{}", tool.name()).starts_with(name);
        self.by == RecallBy::Tools && self.tools.iter().any(longer) && self.tool(name).is_none()
    }

    /// The client's tools and ours.
    pub(crate) fn tools(&self, theirs: Option<&str>) -> Option<String> {
        if self.by != RecallBy::Tools {
            return None;
        }
        let ours: Vec<String> = self.tools.iter().map(|tool| self.spec(*tool)).collect();
        let theirs = theirs.map(|tools| tools.trim().trim_start_matches('[').trim_end_matches(']').trim());
        let head = theirs.filter(|tools| !tools.is_empty()).map(|tools| format!("{tools},")).unwrap_or_default();
        Some(format!("[{head}{}]", ours.join(",")))
    }

    fn spec(&self, tool: RecallTool) -> String {
        let name = format!("\"name\":\"{}\"", tool.name());
        let renamed = format!("\"name\":\"{PREFIX}{}\"", tool.name());
        if self.renamed { tool.spec().replacen(&name, &renamed, 1) } else { tool.spec().to_owned() }
    }

    /// What a model without tools is told, as a message.
    pub(crate) fn instruction(&self) -> Option<String> {
        (self.by == RecallBy::Text)
            .then(|| serde_json::json!({"role": "system", "content": instructions()}).to_string())
    }
}

fn names(tools: &Value) -> Vec<String> {
    let name = |tool: &Value| tool["function"]["name"].as_str().or(tool["name"].as_str()).map(str::to_owned);
    tools.as_array().map(|tools| tools.iter().filter_map(name).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(tools: &str) -> Offer {
        let body = format!("{{\"messages\":[],\"tools\":{tools}}}").into();
        Offer::new(RecallBy::Tools, &RecallTool::ALL, &Request::read(&body, |_| Some(2)).unwrap())
    }

    #[test]
    fn ours_come_after_the_clients() {
        let theirs = r#"[ {"type":"function","function":{"name":"look"}} ]"#;
        let tools: Value = serde_json::from_str(&offered(theirs).tools(Some(theirs)).unwrap()).unwrap();
        let ours = RecallTool::ALL.map(RecallTool::name);
        assert_eq!(names(&tools), [&["look"][..], &ours].concat());
        let alone: Value = serde_json::from_str(&offered("[]").tools(Some("[]")).unwrap()).unwrap();
        assert_eq!(alone.as_array().unwrap().len(), RecallTool::ALL.len());
    }

    #[test]
    fn names_that_collide_are_ours_to_change() {
        let offer = offered(r#"[{"type":"function","function":{"name":"search_history"}}]"#);
        assert!(offer.tool("search_history").is_none());
        assert_eq!(offer.tool("scrollback_search_history"), Some(RecallTool::Search));
        let tools: Value = serde_json::from_str(&offer.tools(None).unwrap()).unwrap();
        assert_eq!(names(&tools)[1], "scrollback_recall_page");
    }

    #[test]
    fn a_client_that_mounts_our_tools_gets_none() {
        let offer = offered(r#"[{"type":"function","function":{"name":"mcp__scrollback__recall_page"}}]"#);
        assert_eq!((offer.by(), offer.tools(None)), (RecallBy::Off, None));
    }
}
