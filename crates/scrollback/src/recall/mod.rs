//! Recall: how a model asks for what is no longer in its window, and how the answer is shown to it.
//!
//! Tools and text dialects end in one [`RecallCall`]; carrying it out is the engine's work. `arguments` reads what a
//! model passes to a tool, `text` and `attp` what it writes when it has no tools, `fence` how recalled text is shown.
//! Nothing a model writes is ever run, and only its own reply is read for calls.

mod arguments;
mod attp;
mod fence;
mod reader;
mod text;

pub(crate) use arguments::WORDS_CHARS;
pub use fence::{Heading, Hit, Piece, fence, heading, pieces};
pub(crate) use fence::{fence_as, said, short_heading};
pub use text::{Finished, Sieve, calls_in, instructions};

use std::fmt;

use crate::ids::{At, MessageId};

/// No more calls than this are taken from one reply.
pub const CALLS_MAX: usize = 8;

/// A tool that brings something back into the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecallTool {
    /// Brings back a topic.
    Topic,
    /// Shows a folded page whole.
    Page,
    /// Shows messages that a summary tells of.
    Summary,
    /// Shows a held tool result, or a part of it.
    Hold,
    /// Finds messages by their words.
    Search,
}

impl RecallTool {
    /// Every tool, in the order they are offered in.
    pub const ALL: [Self; 5] = [Self::Topic, Self::Page, Self::Summary, Self::Hold, Self::Search];

    /// What a model calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Topic => "activate_topic",
            Self::Page => "recall_page",
            Self::Summary => "expand_summary",
            Self::Hold => "load_tool_history",
            Self::Search => "search_history",
        }
    }

    /// The tool that a model calls so.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The tool that a client calls so: by its name, or under that of a server of tools which is ours, as in
    /// `mcp__scrollback__recall_page`.
    pub fn called(name: &str) -> Option<Self> {
        let ours = |server: &str| server.ends_with('_') && server.to_ascii_lowercase().contains("scrollback");
        let is = |tool: &Self| name.strip_suffix(tool.name()).is_some_and(|server| server.is_empty() || ours(server));
        Self::ALL.into_iter().find(is)
    }

    /// Its definition as an OpenAI function tool. These bytes never change: they stand at the head of every cached
    /// prefix.
    pub fn spec(self) -> &'static str {
        match self {
            Self::Topic => include_str!("../../prompts/activate_topic.json").trim_ascii_end(),
            Self::Page => include_str!("../../prompts/recall_page.json").trim_ascii_end(),
            Self::Summary => include_str!("../../prompts/expand_summary.json").trim_ascii_end(),
            Self::Hold => include_str!("../../prompts/load_tool_history.json").trim_ascii_end(),
            Self::Search => include_str!("../../prompts/search_history.json").trim_ascii_end(),
        }
    }

    /// Its parameters in the order of a call without names; the first is the one it needs.
    fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Topic => &["topic", "from", "to"],
            Self::Page => &["index", "from"],
            Self::Summary => &["id", "words", "from"],
            Self::Hold => &["id", "part"],
            Self::Search => &["words", "from", "to", "archived"],
        }
    }
}

impl fmt::Display for RecallTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a model asks to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecallCall {
    /// A topic.
    Topic {
        /// Its id, or words about it.
        words: String,
        /// Only if it was spoken of at this time or later.
        since: Option<At>,
        /// Only if it was spoken of before this time.
        until: Option<At>,
    },
    /// A page, whole.
    Page {
        /// Its number on the contents page.
        number: u32,
        /// Where to go on in a page that was too long to be shown at once.
        from: Option<MessageId>,
    },
    /// Messages that a summary tells of.
    Summary {
        /// The last message it covers: 60 for s60.
        number: u32,
        /// Only messages with these words.
        words: Option<String>,
        /// Where to begin; otherwise with its first message.
        from: Option<MessageId>,
    },
    /// A held tool result.
    Hold {
        /// Its id, always written `h12`; in another session `h12@1f2e3d4c`.
        id: String,
        /// How much of it.
        part: Part,
    },
    /// Messages by their words.
    Search {
        /// The words.
        words: String,
        /// Only what was said at this time or later.
        since: Option<At>,
        /// Only what was said before this time.
        until: Option<At>,
        /// Also what is in archived topics.
        archived: bool,
    },
}

impl RecallCall {
    /// Reads the arguments a model gave a tool, as tolerantly as they can be understood; the error is a complaint that
    /// the model can act on.
    pub fn read(tool: RecallTool, arguments: &str) -> Result<Self, String> {
        arguments::read(tool, arguments)
    }
}

/// How much of a held result is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// Some lines, counted from 1, both included.
    Lines {
        /// The first.
        first: u32,
        /// The last.
        last: u32,
    },
    /// The passages that hold these words.
    Words(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_sorted(value: &serde_json::Value) -> bool {
        let Some(fields) = value.as_object() else { return true };
        fields.keys().is_sorted() && fields.values().all(is_sorted)
    }

    #[test]
    fn tools_describe_themselves_with_sorted_keys_on_one_line() {
        for tool in RecallTool::ALL {
            let spec: serde_json::Value = serde_json::from_str(tool.spec()).unwrap();
            assert_eq!(spec["type"], "function");
            assert_eq!(spec["function"]["name"], tool.name());
            assert!(is_sorted(&spec) && !tool.spec().contains('\n'), "{tool}");
            assert_eq!(spec.to_string(), tool.spec(), "{tool} is not written in its shortest form");
            let named: Vec<&String> =
                spec["function"]["parameters"]["properties"].as_object().unwrap().keys().collect();
            assert!(tool.parameters().iter().all(|name| named.iter().any(|known| known == name)), "{tool}");
            assert_eq!(spec["function"]["parameters"]["required"][0], tool.parameters()[0]);
            assert_eq!(RecallTool::of_name(tool.name()), Some(tool));
        }
        assert_eq!(RecallTool::of_name("rm"), None);
    }

    #[test]
    fn tools_are_ours_under_the_name_of_our_server_too() {
        let ours =
            ["recall_page", "scrollback_recall_page", "mcp__scrollback__recall_page", "mcp_Scrollback_recall_page"];
        for name in ours {
            assert_eq!(RecallTool::called(name), Some(RecallTool::Page), "{name}");
        }
        let theirs = ["mcp__slack__search_history", "research_history", "scrollbacksearch_history", "scrollback_rm"];
        for name in theirs {
            assert_eq!(RecallTool::called(name), None, "{name}");
        }
    }
}
