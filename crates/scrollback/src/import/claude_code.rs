//! Claude Code's session files: one JSON object a line, linked by `uuid` and `parentUuid`.
//!
//! The messages come out as Claude Code sends them to the model, so that an imported session goes on when it is live
//! again: the lines of one reply (same `message.id`) are one message, and so are the results of calls made at once,
//! each of which names its own line of the reply as its parent. Sub-agents (sidechains) are conversations of their own.
//! Files that were attached or changed, and what commands printed, are messages of the person; progress, error notices
//! and the like are links of the chain and no messages. What follows a compaction follows what was said before it, and
//! the summary stands between as it was shown.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::entries::{Fields, kept, lines, listed, raw, text};
use super::tree::Tree;
use super::{Conversation, Import, Timed};
use crate::ids::At;
use crate::message::value_of;

/// The model's name on messages that Claude Code wrote itself.
const SYNTHETIC: &str = "<synthetic>";

pub(super) fn read(text: &str) -> Import {
    let entries = lines(text);
    let mut session = Session { skipped: entries.skipped, ..Session::default() };
    for entry in &entries.read {
        let taken = entry.fields().ok_or("is not an object").and_then(|line| session.take(&line));
        if let Err(what) = taken {
            session.skipped.push(entry.complaint(what));
        }
    }
    session.finish()
}

/// What a line says.
struct Said<'a> {
    role: String,
    content: Cow<'a, RawValue>,
    reply: Option<String>,
    model: Option<String>,
    /// Whether it tells why the reply ended.
    is_done: bool,
}

impl<'a> Said<'a> {
    fn by_user(content: Cow<'a, RawValue>) -> Self {
        Self { role: "user".into(), content, reply: None, model: None, is_done: true }
    }
}

/// One message, or a line that is only a link of the chain.
#[derive(Default)]
struct Node<'a> {
    uuid: String,
    parent: Option<usize>,
    session: Option<String>,
    is_side: bool,
    at: Option<At>,
    role: String,
    model: Option<String>,
    /// The content of each of its lines.
    contents: Vec<Cow<'a, RawValue>>,
    /// Whether one of its lines tells why it ended.
    is_done: bool,
    /// The calls it answers, if it holds nothing but results.
    answers: HashSet<String>,
    /// The message at it or above it.
    nearest: Option<usize>,
}

impl Node<'_> {
    fn says(&self) -> bool {
        !self.contents.is_empty()
    }
}

/// A session, as far as it has been read.
#[derive(Default)]
struct Session<'a> {
    nodes: Vec<Node<'a>>,
    by_uuid: HashMap<String, usize>,
    by_reply: HashMap<(bool, String), usize>,
    /// The message with the results of a message's calls.
    by_calls: HashMap<usize, usize>,
    last: HashMap<bool, usize>,
    /// The title a person gave.
    named: Option<String>,
    /// Titles the model gave, with the message each was written for.
    titles: Vec<(Option<String>, String)>,
    /// Kinds of attachments that are not kept, and how many there were.
    unkept: BTreeMap<String, usize>,
    /// Likewise of what Claude Code noted for the person alone.
    noted: BTreeMap<String, usize>,
    skipped: Vec<String>,
}

impl<'a> Session<'a> {
    fn take(&mut self, line: &Fields<'a>) -> Result<(), &'static str> {
        let kind = line.text("type").unwrap_or_default();
        self.named = line.text("customTitle").or(self.named.take());
        if kind == "summary" || kind == "ai-title" {
            let title = line.text("summary").or_else(|| line.text("aiTitle"));
            self.titles.extend(title.map(|title| (line.text("leafUuid"), title)));
            return Ok(());
        }
        let said = match line.object("attachment") {
            _ if line.is_true("isApiErrorMessage") => None,
            Some(attached) => self.attached(line, &attached),
            None if kind == "system" => self.noted(line),
            None => said(&kind, line)?,
        };
        let uuid = line.text("uuid").unwrap_or_default();
        let is_repeated = self.by_uuid.contains_key(&uuid);
        match said {
            Some(said) if is_repeated => self.repeat(&uuid, &said),
            Some(said) => {
                let node = self.place(self.node(&uuid, line), said);
                self.know(uuid, node);
                Ok(())
            }
            None if uuid.is_empty() || is_repeated => Ok(()),
            None => {
                let node = self.push(self.node(&uuid, line));
                self.know(uuid, node);
                Ok(())
            }
        }
    }

    /// What an attachment says. Kinds that Claude Code fills in by itself are counted.
    fn attached(&mut self, line: &Fields<'a>, attached: &Fields<'a>) -> Option<Said<'a>> {
        let kind = attached.text("type").unwrap_or_default();
        let content = match kind.as_str() {
            "queued_command" => attached.raw("prompt").map(Cow::Borrowed),
            "file" | "edited_text_file" | "selected_lines_in_ide" | "directory" => {
                line.raw("attachment").map(|raw| Cow::Owned(file(raw)))
            }
            _ => None,
        };
        if content.is_none() {
            *self.unkept.entry(kind).or_default() += 1;
        }
        content.map(Said::by_user)
    }

    /// What a command printed, as it is sent to the model. Other notes with words are counted: no model reads them.
    fn noted(&mut self, line: &Fields<'a>) -> Option<Said<'a>> {
        let kind = line.text("subtype").filter(|kind| kind != "compact_boundary")?;
        line.text("content")?;
        if kind == "local_command" {
            return line.raw("content").map(|words| Said::by_user(Cow::Borrowed(words)));
        }
        *self.noted.entry(kind).or_default() += 1;
        None
    }

    /// A line seen before is passed over, unless it says something else now.
    fn repeat(&self, uuid: &str, said: &Said<'_>) -> Result<(), &'static str> {
        let known = &self.nodes[self.by_uuid[uuid]].contents;
        let is_known = known.iter().any(|content| content.get() == said.content.get());
        if is_known { Ok(()) } else { Err("has the “uuid” of an earlier line, but other words") }
    }

    fn node(&self, uuid: &str, line: &Fields<'_>) -> Node<'a> {
        let is_side = line.is_true("isSidechain");
        Node {
            uuid: uuid.to_owned(),
            parent: self.parent(line, is_side),
            session: line.text("sessionId"),
            is_side,
            at: line.text("timestamp").and_then(|time| At::parse(&time)),
            ..Node::default()
        }
    }

    /// The node a line names, if it is of the same chain. A parent that is not in the file was lost with a bad line:
    /// then the line before takes its place. Behind a compaction the chain begins anew, and another field tells what it
    /// follows.
    fn parent(&self, line: &Fields<'_>, is_side: bool) -> Option<usize> {
        let last = self.last.get(&is_side).copied();
        match line.text("parentUuid") {
            Some(uuid) => match self.by_uuid.get(&uuid).copied() {
                Some(parent) => Some(parent).filter(|parent| self.nodes[*parent].is_side == is_side),
                None => last,
            },
            None if line.has("parentUuid") => {
                let before = line.text("logicalParentUuid").and_then(|uuid| self.by_uuid.get(&uuid).copied());
                before.filter(|before| self.nodes[*before].is_side == is_side)
            }
            None => last,
        }
    }

    /// Puts what a line says where it belongs: to the reply or the results it is part of, else to a message of its own.
    fn place(&mut self, mut node: Node<'a>, said: Said<'a>) -> usize {
        let reply = said.reply.filter(|_| said.role == "assistant").map(|id| (node.is_side, id));
        if let Some(&known) = reply.as_ref().and_then(|reply| self.by_reply.get(reply)) {
            self.nodes[known].is_done |= said.is_done;
            return self.append(known, said.content);
        }
        node.answers = answers(&said.content);
        let calls = node.parent.filter(|_| !node.answers.is_empty()).and_then(|parent| self.nodes[parent].nearest);
        if let Some(known) = calls.and_then(|calls| self.results(calls, &node.answers)) {
            self.nodes[known].answers.extend(node.answers);
            return self.append(known, said.content);
        }
        (node.role, node.model, node.contents) = (said.role, said.model, vec![said.content]);
        node.is_done = said.is_done;
        let number = self.push(node);
        self.by_reply.extend(reply.map(|reply| (reply, number)));
        self.by_calls.extend(calls.map(|calls| (calls, number)));
        number
    }

    /// The message that further results belong to: at `calls` or below it, and without an answer to the same call.
    fn results(&self, calls: usize, answers: &HashSet<String>) -> Option<usize> {
        let is_results = !self.nodes[calls].answers.is_empty();
        let results = if is_results { Some(calls) } else { self.by_calls.get(&calls).copied() };
        results.filter(|results| self.nodes[*results].answers.is_disjoint(answers))
    }

    fn append(&mut self, node: usize, content: Cow<'a, RawValue>) -> usize {
        let contents = &mut self.nodes[node].contents;
        if contents.iter().all(|known| known.get() != content.get()) {
            contents.push(content);
        }
        node
    }

    fn push(&mut self, mut node: Node<'a>) -> usize {
        let number = self.nodes.len();
        let above = node.parent.and_then(|parent| self.nodes[parent].nearest);
        node.nearest = if node.says() { Some(number) } else { above };
        self.nodes.push(node);
        number
    }

    fn know(&mut self, uuid: String, node: usize) {
        self.last.insert(self.nodes[node].is_side, node);
        if !uuid.is_empty() {
            self.by_uuid.insert(uuid, node);
        }
    }

    /// Whether the last thing said is a reply that does not tell why it ended, as the others do: it may still be growing.
    fn is_unfinished(&self) -> bool {
        let says = || self.nodes.iter().filter(|node| node.says());
        let replies: Vec<bool> = says().filter(|node| node.role == "assistant").map(|node| node.is_done).collect();
        let is_last = says().next_back().is_some_and(|node| node.role == "assistant");
        is_last && matches!(&replies[..], [others @ .., false] if !others.is_empty() && !others.contains(&false))
    }

    fn remarks(&self) -> Vec<String> {
        let left = [
            ("attachments without words of anybody", &self.unkept),
            ("what Claude Code noted for the person alone", &self.noted),
        ];
        let left = left.into_iter().filter(|(_, kinds)| !kinds.is_empty());
        let left = left.map(|(what, kinds)| format!("left out: {what}: {}", listed(kinds)));
        let grows = "the last reply is there as far as it was written; import the file again when it is finished";
        left.chain(self.is_unfinished().then(|| grows.to_owned())).collect()
    }

    fn finish(self) -> Import {
        let tree = Tree::new(self.nodes.iter().map(|node| (node.parent, node.says())));
        let found = tree.paths(None, |leaf| leaf);
        let mut remarks = self.remarks();
        remarks.extend(found.told().map(|told| format!("the session {told}")));
        let mut paths = found.kept;
        paths.sort_by_key(|path| path.last().is_none_or(|leaf| !self.nodes[*leaf].is_side));
        let title = self.title();
        let told: Vec<Option<Arc<RawValue>>> =
            self.nodes.iter().map(|node| node.says().then(|| message(node))).collect();
        let conversations = paths.iter().map(|path| {
            let nodes: Vec<&Node<'_>> = path.iter().map(|node| &self.nodes[*node]).collect();
            let messages = path.iter().filter_map(|node| Some((told[*node].clone()?, self.nodes[*node].at))).collect();
            conversation(&nodes, &self.nodes[tree.root(path[0])], title, messages)
        });
        let conversations = conversations.collect();
        Import { conversations, skipped: self.skipped.clone(), remarks }
    }

    /// The person's title, else the newest one written for a message of this file, else the newest.
    fn title(&self) -> Option<&str> {
        let is_ours = |leaf: &Option<String>| leaf.as_ref().is_none_or(|leaf| self.by_uuid.contains_key(leaf));
        let ours = self.titles.iter().rfind(|(leaf, _)| is_ours(leaf)).or(self.titles.last());
        self.named.as_deref().or(ours.map(|(_, title)| title.as_str()))
    }
}

fn conversation(path: &[&Node<'_>], root: &Node<'_>, title: Option<&str>, messages: Vec<Timed>) -> Conversation {
    let session = path.iter().rev().find_map(|node| node.session.clone());
    let is_side = root.is_side;
    let declared = session.map(|id| if is_side { format!("{id}/sidechain-{}", root.uuid) } else { id });
    Conversation {
        declared,
        title: title.filter(|_| !is_side).map(str::to_owned),
        model: path.iter().rev().find_map(|node| node.model.clone()),
        messages,
        ..Conversation::default()
    }
}

/// What a line says; `None` for the many kinds of lines that are no messages.
fn said<'a>(kind: &str, line: &Fields<'a>) -> Result<Option<Said<'a>>, &'static str> {
    let Some(message) = line.object("message") else {
        let is_turn = kind == "user" || kind == "assistant" || kind.is_empty();
        return if is_turn { Err("has no “message”") } else { Ok(None) };
    };
    let content = Cow::Borrowed(message.raw("content").ok_or("has a “message” without content")?);
    let role = message.text("role").unwrap_or_else(|| kind.to_owned());
    let model = message.text("model").filter(|model| model != SYNTHETIC);
    Ok(Some(Said { role, content, reply: message.text("id"), model, is_done: message.text("stop_reason").is_some() }))
}

/// A file as content: its text below its name, or the whole attachment if it has none.
fn file(attached: &RawValue) -> Box<RawValue> {
    let attached = value_of(attached.get()).unwrap_or(Value::Null);
    let words = ["/content/file/content", "/snippet", "/content"];
    let words = words.iter().find_map(|place| attached.pointer(place)?.as_str());
    let block = match (text(&attached, "filename").or_else(|| text(&attached, "path")), words) {
        (Some(name), Some(words)) => json!({"type": "text", "text": format!("{name}\n\n{words}")}),
        _ => kept("claude-code.file", &attached),
    };
    raw(&json!([block]))
}

/// The calls that content answers, if it is nothing but results.
fn answers(content: &RawValue) -> HashSet<String> {
    let blocks: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
    let call = |block: &&RawValue| Fields::of(block).and_then(|block| block.text("tool_use_id"));
    blocks.iter().map(call).collect::<Option<_>>().unwrap_or_default()
}

/// The message as Claude Code sends it: role and content, the blocks of all its lines together.
fn message(node: &Node<'_>) -> Arc<RawValue> {
    let content = match &node.contents[..] {
        [one] => one.get().to_owned(),
        several => format!("[{}]", several.iter().flat_map(|content| blocks(content)).collect::<Vec<_>>().join(",")),
    };
    let role = Value::from(node.role.as_str());
    RawValue::from_string(format!("{{\"role\":{role},\"content\":{content}}}"))
        .expect("role and content are valid JSON")
        .into()
}

fn blocks(content: &RawValue) -> Vec<String> {
    match serde_json::from_str::<Vec<&RawValue>>(content.get()) {
        Ok(blocks) => blocks.into_iter().map(|block| block.get().to_owned()).collect(),
        Err(_) => vec![format!("{{\"type\":\"text\",\"text\":{}}}", content.get())],
    }
}

#[cfg(test)]
mod tests;
