//! What we add to a request so that the model can ask for what it cannot see: tools after the client's own, the same
//! bytes in every request of a conversation, or an instruction for models without tools.

use scrollback::recall::{RecallTool, instructions};

use super::{Opened, Toolbox, Wire};
use crate::config::RecallBy;

/// Put before our tools' names where the client has tools of the same names.
const PREFIX: &str = "scrollback_";

/// What the last answers end with that a model gets in a turn.
pub(crate) const NO_MORE: &str = "\nNo more can be recalled in this turn: answer now.";

/// What a request offers its model.
#[derive(Clone)]
pub(crate) struct Offer {
    by: RecallBy,
    tools: &'static [RecallTool],
    renamed: bool,
    elsewhere: bool,
    toolbox: &'static dyn Toolbox,
}

impl Offer {
    /// What can be offered with a request.
    pub(crate) fn new(by: RecallBy, tools: &'static [RecallTool], opened: &Opened, wire: &dyn Wire) -> Self {
        let theirs = &opened.tools;
        let ours = |name: &String| tools.iter().any(|tool| name == tool.name());
        // A client that mounts our tools itself resolves them itself.
        let mounted = theirs.iter().any(|name| is_mounted(name, tools));
        let no_tools = by == RecallBy::Tools && opened.sealed;
        let by = if mounted || no_tools || tools.is_empty() { RecallBy::Off } else { by };
        // Where tools cannot be added, they can only be mounted, though nothing may tell of it.
        let elsewhere = mounted || no_tools;
        Self { by, tools, renamed: theirs.iter().any(ours), elsewhere, toolbox: wire.toolbox() }
    }

    /// The same for a model that takes no tools.
    pub(crate) fn in_text(self) -> Self {
        Self { by: RecallBy::Text, ..self }
    }

    pub(crate) fn by(&self) -> RecallBy {
        self.by
    }

    /// Whether our tools are called where we do not see it, if they are: through the client's own.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.elsewhere
    }

    /// The tool that a model means, if it is one of ours.
    pub(crate) fn tool(&self, name: &str) -> Option<RecallTool> {
        let name = if self.renamed { name.strip_prefix(PREFIX)? } else { name };
        let found = RecallTool::of_name(name).filter(|tool| self.tools.contains(tool));
        found.filter(|_| self.by == RecallBy::Tools)
    }

    /// Whether a model means one of our tools.
    pub(crate) fn is_ours(&self, name: &str) -> bool {
        self.tool(name).is_some()
    }

    /// Whether a tool of ours has a longer name that begins so.
    pub(crate) fn begins(&self, name: &str) -> bool {
        let longer = |tool: &RecallTool| self.name(*tool).starts_with(name);
        self.by == RecallBy::Tools && self.tools.iter().any(longer) && self.tool(name).is_none()
    }

    /// The client's tools and ours.
    pub(crate) fn tools(&self, theirs: Option<&str>) -> Option<String> {
        if self.by != RecallBy::Tools {
            return None;
        }
        let ours: Vec<String> = self.tools.iter().map(|tool| self.toolbox.spec(*tool, &self.name(*tool))).collect();
        let theirs = theirs.map(|tools| tools.trim().trim_start_matches('[').trim_end_matches(']').trim());
        let head = theirs.filter(|tools| !tools.is_empty()).map(|tools| format!("{tools},")).unwrap_or_default();
        Some(format!("[{head}{}]", ours.join(",")))
    }

    /// What a tool of ours is called here.
    fn name(&self, tool: RecallTool) -> String {
        format!("{}{}", if self.renamed { PREFIX } else { "" }, tool.name())
    }

    /// What a model without tools is told.
    pub(crate) fn instruction(&self) -> Option<&'static str> {
        (self.by == RecallBy::Text).then(instructions)
    }
}

/// Whether a name is that of one of our tools under the prefix of a client's server of tools.
fn is_mounted(name: &str, tools: &[RecallTool]) -> bool {
    RecallTool::of_name(name).is_none() && RecallTool::called(name).is_some_and(|tool| tools.contains(&tool))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::wire::chat::Chat;

    fn offered(tools: &[&str]) -> Offer {
        let tools = tools.iter().map(|name| (*name).to_owned()).collect();
        Offer::new(RecallBy::Tools, &RecallTool::ALL, &Opened { tools, ..Opened::default() }, &Chat)
    }

    fn names(tools: &str) -> Vec<String> {
        let tools: Vec<Value> = serde_json::from_str(tools).unwrap();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn ours_come_after_the_clients() {
        let theirs = r#"[ {"type":"function","function":{"name":"look"}} ]"#;
        let ours = RecallTool::ALL.map(RecallTool::name);
        assert_eq!(names(&offered(&["look"]).tools(Some(theirs)).unwrap()), [&["look"][..], &ours].concat());
        assert_eq!(names(&offered(&[]).tools(Some("[]")).unwrap()).len(), RecallTool::ALL.len());
    }

    #[test]
    fn names_that_collide_are_ours_to_change() {
        let offer = offered(&["search_history"]);
        assert!(offer.tool("search_history").is_none());
        assert_eq!(offer.tool("scrollback_search_history"), Some(RecallTool::Search));
        assert_eq!(names(&offer.tools(None).unwrap())[1], "scrollback_recall_page");
    }

    #[test]
    fn a_client_that_mounts_our_tools_gets_none() {
        for name in ["mcp__scrollback__recall_page", "scrollback_search_history"] {
            let offer = offered(&[name]);
            assert_eq!((offer.by(), offer.tools(None), offer.is_elsewhere()), (RecallBy::Off, None, true), "{name}");
        }
        for other in ["research_history", "mcp__slack__search_history"] {
            assert!(!offered(&[other]).is_elsewhere(), "{other}");
        }
    }
}
