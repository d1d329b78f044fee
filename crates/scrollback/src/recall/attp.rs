//! ATTP, tool calls written as TOML: `[tool_call]` with a `code` of plain calls.
//!
//! Only a closed grammar is understood: `name(literal, key = literal)`, one a line or after `;`, perhaps behind
//! `__result__ =`. It is read, never run; anything else is refused with a complaint. What follows the block is cut.

use serde_json::{Map, Value};

use super::reader::{Escapes, Reader};
use super::{RecallCall, RecallTool};

const TABLE: &str = "[tool_call]";
const GRAMMAR: &str = "write one call on a line, such as recall_page(42) or search_history(words = \"door colour\"), with \
                       quoted text and whole numbers only";

/// Whether a reply is in this dialect, as far as its beginning tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// It is, or tries to be.
    Call,
    /// It is not.
    Prose,
    /// Too little has been seen.
    Unknown,
}

/// Judges a reply by its beginning; more text never changes a verdict other than `Unknown`.
pub(super) fn opening(text: &str) -> Opening {
    let text = text.trim_start();
    if !text.starts_with("```") {
        return if "```".starts_with(text) { Opening::Unknown } else { opening_bare(text) };
    }
    let begins = |text: &str| ["```toml\r", "```attp\r", "```\r"].iter().any(|fence| fence.starts_with(text));
    match text.split_once('\n') {
        Some((line, rest)) if is_fence(line) => opening_bare(rest.trim_start()),
        None if begins(text) => Opening::Unknown,
        Some(_) | None => Opening::Prose,
    }
}

fn opening_bare(text: &str) -> Opening {
    if text.starts_with(TABLE) {
        return Opening::Call;
    }
    match text.strip_prefix("thought").map(|rest| rest.trim_start_matches([' ', '\t'])) {
        Some(rest) if rest.starts_with('=') => Opening::Call,
        Some("") => Opening::Unknown,
        None if TABLE.starts_with(text) || "thought".starts_with(text) => Opening::Unknown,
        Some(_) | None => Opening::Prose,
    }
}

fn is_fence(line: &str) -> bool {
    matches!(line.strip_suffix('\r').unwrap_or(line), "```" | "```toml" | "```attp")
}

/// The calls of a complete reply; none if it is not in this dialect.
pub(super) fn calls(reply: &str) -> Option<Vec<Result<RecallCall, String>>> {
    if opening(reply) != Opening::Call {
        return None;
    }
    let reply = reply.trim_start();
    let fenced = reply.starts_with("```");
    let block = if fenced { reply.split_once('\n')?.1 } else { reply };
    let table = table(block)?;
    // A fenced block with an answer below it is an example.
    let tail = table.rest.trim_start().strip_prefix("```").unwrap_or(table.rest);
    if fenced && !tail.trim().is_empty() {
        return None;
    }
    Some(match table.code {
        Some(Ok(code)) => statements(&code),
        Some(Err(complaint)) => vec![Err(complaint)],
        None => vec![Err(format!("[tool_call] has no `code`: {GRAMMAR}, or answer in plain words"))],
    })
}

struct Table<'a> {
    code: Option<Result<String, String>>,
    rest: &'a str,
}

/// Reads keys until the table ends; keys that mean nothing to us are passed over.
fn table(block: &str) -> Option<Table<'_>> {
    let mut reader = Reader { rest: block };
    let (mut inside, mut code) = (false, None);
    loop {
        reader.skip(char::is_whitespace);
        if reader.takes("#") {
            reader.skip(|c| c != '\n');
        } else if !inside && reader.takes(TABLE) {
            inside = true;
        } else {
            let before = reader.rest;
            let Some((key, value)) = reader.entry() else {
                return inside.then_some(Table { code, rest: before });
            };
            let broken = value.is_err();
            if inside && key == "code" {
                code = Some(value.map(Option::unwrap_or_default));
            }
            if broken {
                return inside.then_some(Table { code, rest: "" });
            }
        }
    }
}

fn statements(code: &str) -> Vec<Result<RecallCall, String>> {
    let mut reader = Reader { rest: code };
    let mut calls = Vec::new();
    loop {
        reader.skip(|c| c.is_whitespace() || c == ';');
        if reader.takes("#") {
            reader.skip(|c| c != '\n');
        } else if reader.rest.is_empty() || calls.len() == super::CALLS_MAX {
            break;
        } else {
            let Some(call) = reader.statement() else {
                calls.push(Err(format!("the code was not understood and nothing was run: {GRAMMAR}")));
                break;
            };
            calls.push(call);
        }
    }
    if calls.is_empty() {
        calls.push(Err(format!("`code` is empty: {GRAMMAR}, or answer in plain words")));
    }
    calls
}

impl<'a> Reader<'a> {
    /// `key = value`; a value that is not a text is passed over, a text that does not end is an error.
    fn entry(&mut self) -> Option<(&'a str, Result<Option<String>, String>)> {
        let key = self.name()?;
        self.spaces();
        if !self.takes("=") {
            return None;
        }
        self.spaces();
        if !self.rest.starts_with(['"', '\'']) {
            self.skip(|c| c != '\n');
            return Some((key, Ok(None)));
        }
        let literal = self.rest.starts_with('\'');
        let text = self.string(if literal { Escapes::Kept } else { Escapes::Read });
        Some((key, text.map(Some).ok_or_else(|| format!("the text of `{key}` does not end: {GRAMMAR}"))))
    }

    /// A call, or nothing if this is not one.
    fn statement(&mut self) -> Option<Result<RecallCall, String>> {
        let mut name = self.name()?;
        self.spaces();
        if name == "__result__" && self.takes("=") {
            self.spaces();
            name = self.name()?;
            self.spaces();
        }
        if !self.takes("(") {
            return None;
        }
        let (ordered, named) = self.arguments()?;
        self.spaces();
        let ends = self.rest.is_empty() || self.rest.starts_with(['\n', '\r', ';', '#']);
        ends.then(|| call(name, ordered, named))
    }

    fn arguments(&mut self) -> Option<(Vec<Value>, Map<String, Value>)> {
        let (mut ordered, mut named) = (Vec::new(), Map::new());
        loop {
            self.skip(char::is_whitespace);
            if self.takes(")") {
                return Some((ordered, named));
            }
            if self.rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                let key = self.name()?;
                self.skip(char::is_whitespace);
                if !self.takes("=") {
                    return None;
                }
                self.skip(char::is_whitespace);
                named.insert(key.to_owned(), self.literal()?);
            } else if named.is_empty() {
                ordered.push(self.literal()?);
            } else {
                return None;
            }
            self.skip(char::is_whitespace);
            if !self.takes(",") && !self.rest.starts_with(')') {
                return None;
            }
        }
    }
}

fn call(name: &str, ordered: Vec<Value>, named: Map<String, Value>) -> Result<RecallCall, String> {
    let Some(tool) = RecallTool::of_name(name) else {
        let known = RecallTool::ALL.map(RecallTool::name).join(", ");
        return Err(format!("there is no `{name}`; there are {known}"));
    };
    if ordered.len() > tool.parameters().len() {
        return Err(format!("{tool} takes {}", tool.parameters().join(", ")));
    }
    let in_order = tool.parameters().iter().map(|name| (*name).to_owned()).zip(ordered);
    let fields: Map<String, Value> = in_order.chain(named).collect();
    RecallCall::read(tool, &Value::Object(fields).to_string())
}

#[cfg(test)]
mod tests {
    use super::super::Part;
    use super::*;

    fn code(code: &str) -> Vec<Result<RecallCall, String>> {
        calls(&format!("thought = \"x\"\n[tool_call]\ncode = '''\n{code}\n'''")).unwrap()
    }

    fn page(number: u32) -> RecallCall {
        RecallCall::Page { number, from: None }
    }

    fn found(words: &str) -> RecallCall {
        RecallCall::Search { words: words.into(), since: None, until: None, archived: false }
    }

    #[test]
    fn calls_are_read_from_the_closed_grammar() {
        let many = code("recall_page(42)\n__result__ = recall_page(index = 7); search_history(\"a (b), c\") # why");
        assert_eq!(many, [Ok(page(42)), Ok(page(7)), Ok(found("a (b), c"))]);
        let hold = code("load_tool_history(\n  'h12',\n  part = \"10-80\",\n)");
        assert_eq!(hold, [Ok(RecallCall::Hold { id: "h12".into(), part: Part::Lines { first: 10, last: 80 } })]);
        assert_eq!(code("search_history(\"\"\"潮位 \\\"计\\\" \\u6f6e\"\"\")"), [Ok(found("潮位 \"计\" 潮"))]);
    }

    #[test]
    fn everything_else_is_refused() {
        for refused in [
            "import os",
            "x = recall_page(1)",
            "print(recall_page(1))",
            "recall_page(1 + 1)",
            "recall_page(int('1'))",
            "recall_page(1).text",
            "[recall_page(i) for i in range(9)]",
            "recall_page(index = 1, 2)",
            "recall_page(1) recall_page(2)",
            "search_history(f'{x}')",
            "search_history('a\nb')",
            "recall_page(",
            "recall_page(True)",
            "",
        ] {
            let read = code(refused);
            assert!(read.len() == 1 && read[0].is_err(), "{refused}: {read:?}");
        }
        assert!(code("rm(1)")[0].as_ref().unwrap_err().contains("recall_page"));
        assert!(code("recall_page(1, 2, 3)")[0].is_err());
        let partly = code("recall_page(1)\nimport os\nrecall_page(2)");
        assert!(partly.len() == 2 && partly[0] == Ok(page(1)) && partly[1].is_err());
    }

    #[test]
    fn a_thousand_calls_are_eight() {
        assert_eq!(code(&"recall_page(1)\n".repeat(1_000)).len(), super::super::CALLS_MAX);
    }

    #[test]
    fn hazards_of_the_block() {
        let ticks = "```toml\nthought = '''because'''\n[tool_call]\ncode = '''search_history(\"a ``` b\")'''\n```\n";
        assert_eq!(calls(ticks), Some(vec![Ok(found("a ``` b"))]));
        let stray =
            "[tool_call]\nstatus = \"success\"\nlevel = 3\ntarget = \"x\"\ncode = \"recall_page(1)\"\n\nHere is more.";
        assert_eq!(calls(stray), Some(vec![Ok(page(1))]));
        let two = "[tool_call]\ncode = 'recall_page(1)'\n[other]\ncode = 'recall_page(2)'";
        assert_eq!(calls(two), Some(vec![Ok(page(1))]));
        assert_eq!(calls("Write `[tool_call]` like so:\n[tool_call]\ncode = 'recall_page(1)'"), None);
        assert_eq!(calls("```toml\n[tool_call]\ncode = 'recall_page(1)'\n```\nThis is how it is written."), None);
        assert_eq!(calls("thought = \"only thinking\"\nand then an answer"), None);
        assert!(calls("[tool_call]\nstatus = 'fail'\nmessage = 'cannot'").unwrap()[0].is_err());
        assert!(calls("[tool_call]\ncode = '''recall_page(1)").unwrap()[0].is_err());
    }
}
