//! A chat request taken apart: the question, the passages in sight, what could be recalled, what was recalled already.
//!
//! Text inside a fence is a record of earlier conversation, whoever's message carries it; instructions are read for
//! nothing else.

use std::collections::HashMap;

use serde_json::Value;

use super::{say, words};
use crate::ids::MessageId;
use crate::message::{Message, Part, Role};
use crate::recall::{Heading, Hit, Piece, RecallCall, RecallTool, pieces};
use crate::strategy::HELD;

/// Lines up to this width are quoted whole; longer ones by the sentence.
const LINE_WIDTH: usize = 200;

/// All that the responder goes by.
#[derive(Debug, Default)]
pub(super) struct Visible {
    pub(super) question: String,
    pub(super) passages: Vec<Passage>,
    pub(super) leads: Vec<Lead>,
    pub(super) offered: Vec<RecallTool>,
    /// Calls of this turn.
    pub(super) made: Vec<RecallCall>,
    /// The question that was asked last, while reading.
    asked: String,
}

/// A line or a sentence, word for word.
#[derive(Clone, Debug)]
pub(super) struct Passage {
    pub(super) text: String,
    pub(super) speaker: Speaker,
    /// The passages before and after it.
    pub(super) near: String,
    /// The question it begins to answer.
    pub(super) answers: String,
    /// Whether it was cut before it came here.
    pub(super) partial: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Speaker {
    pub(super) role: Role,
    pub(super) id: Option<MessageId>,
    pub(super) at: Option<String>,
}

impl Speaker {
    fn unnamed(role: &Role) -> Self {
        Self { role: role.clone(), id: None, at: None }
    }
}

/// Something that is not shown but can be.
#[derive(Debug)]
pub(super) struct Lead {
    pub(super) to: Target,
    pub(super) text: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    Page(u32),
    Hold(String),
}

/// Reads a request.
pub(super) fn request(request: &Value) -> Visible {
    let said = request["messages"].as_array().or_else(|| request["input"].as_array());
    let alone = request["input"].as_str().map(|text| Message::text(&Role::User, text));
    let messages: Vec<Message> = said.into_iter().flatten().map(message).chain(alone).collect();
    let asked = messages.iter().rposition(|message| *message.role() == Role::User && !own_words(message).is_empty());
    let mut visible = Visible { offered: offered(request), ..Visible::default() };
    let mut recalls = HashMap::new();
    for (i, message) in messages.iter().enumerate() {
        if Some(i) == asked {
            visible.question = own_words(message);
            visible.made.clear();
        }
        visible.message(message, Some(i) == asked, &mut recalls);
    }
    visible
}

fn message(value: &Value) -> Message {
    Message::from_json(&value.to_string()).unwrap_or_else(|_| Message::text(&Role::User, ""))
}

fn offered(request: &Value) -> Vec<RecallTool> {
    if request["tool_choice"] == "none" || request["tool_choice"]["type"] == "none" {
        return Vec::new();
    }
    let tools = request["tools"].as_array().into_iter().flatten();
    let names = tools.filter_map(|tool| tool["function"]["name"].as_str().or(tool["name"].as_str()));
    names.filter_map(RecallTool::of_name).collect()
}

/// What a message says outside of fences.
fn own_words(message: &Message) -> String {
    let texts = message.parts().iter().filter_map(|part| if let Part::Text(text) = part { Some(text) } else { None });
    let outside = texts.flat_map(|text| pieces(text)).filter_map(|piece| match piece {
        Piece::Plain(text) => Some(text.trim()),
        Piece::Fenced { .. } => None,
    });
    outside.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

impl Visible {
    fn message(&mut self, message: &Message, is_question: bool, recalls: &mut HashMap<String, RecallTool>) {
        let role = message.role();
        for part in message.parts() {
            match part {
                Part::Call { id, name, arguments } => {
                    if let Some(tool) = RecallTool::of_name(name) {
                        recalls.extend(id.clone().map(|id| (id, tool)));
                        self.made.extend(RecallCall::read(tool, &arguments.to_string()));
                    }
                }
                // What a recall answers outside of a fence is a complaint, not a record.
                Part::Result { call, text, .. } => {
                    let ours = call.as_ref().is_some_and(|id| recalls.contains_key(id));
                    match text.strip_prefix(HELD) {
                        Some(held) => self.held(held, text),
                        None if ours => self.text(text, &Role::Tool, true),
                        // A page or a program may say anything: a fence in what they return is no record.
                        None => self.said(text, &Speaker::unnamed(&Role::Tool)),
                    }
                }
                Part::Text(text) => self.text(text, role, role.instructs() || is_question),
                Part::Image(_) | Part::File(_) | Part::Thinking(_) | Part::Other(_) => {}
            }
        }
    }

    fn text(&mut self, text: &str, role: &Role, fenced_only: bool) {
        for piece in pieces(text) {
            match piece {
                Piece::Fenced { kind: "contents", text } => self.contents(text),
                Piece::Fenced { kind: "topics", text } => self.topics(text),
                Piece::Fenced { kind: "quotes", text } => self.topics(&format!("\n{text}")),
                Piece::Fenced { kind: "kept", text } => self.kept(text, role),
                Piece::Fenced { text, .. } => self.record(text, role),
                Piece::Plain(text) if !fenced_only && !say::is_ours(text) => self.said(text, &Speaker::unnamed(role)),
                Piece::Plain(_) => {}
            }
        }
    }

    fn held(&mut self, after: &str, text: &str) {
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        self.leads.push(Lead { to: Target::Hold(format!("h{digits}")), text: text.to_owned() });
        if !self.offered.contains(&RecallTool::Hold) {
            self.said(text, &Speaker::unnamed(&Role::Tool));
        }
    }

    /// Entries begin with `[#42] `; their lines follow.
    fn contents(&mut self, text: &str) {
        for line in text.lines() {
            let entry = line.strip_prefix("[#").and_then(|rest| rest.split_once("] "));
            match (entry.and_then(|(number, _)| number.parse().ok()), self.leads.last_mut()) {
                (Some(number), _) => self.leads.push(Lead { to: Target::Page(number), text: line.to_owned() }),
                (None, Some(lead)) if line.starts_with("  ") => lead.text.extend(["\n", line.trim()]),
                (None, _) => {}
            }
        }
        if !self.offered.contains(&RecallTool::Page) {
            self.said(text, &Speaker::unnamed(&Role::Other("contents".into())));
        }
    }

    /// Rules begin with `[r12.1] ` and lead to their message.
    fn kept(&mut self, text: &str, role: &Role) {
        for line in text.lines() {
            let rule = line.strip_prefix("[r").and_then(|rest| rest.split_once("] "));
            let of = rule.and_then(|(name, words)| Some((name.split_once('.')?.0.parse().ok()?, words)));
            match of {
                Some((number, words)) if self.offered.contains(&RecallTool::Page) => {
                    self.leads.push(Lead { to: Target::Page(number), text: words.to_owned() });
                }
                Some((number, words)) => {
                    self.said(words, &Speaker { role: role.clone(), id: Some(MessageId(number)), at: None });
                }
                None => {}
            }
        }
    }

    /// Quotes from topics: what stands between a topic's name and its first message is ours and not said by anybody.
    fn topics(&mut self, text: &str) {
        for topic in text.split("\n[t") {
            if let Some(first) = topic.match_indices("\n[m").find(|(at, _)| is_heading(&topic[at + 1..])) {
                self.record(&topic[first.0 + 1..], &Role::User);
            }
        }
    }

    /// Messages under their headings, and finds of a search.
    fn record(&mut self, text: &str, role: &Role) {
        let (mut speaker, mut lines) = (Speaker::unnamed(role), String::new());
        for line in text.lines() {
            if let Some(heading) = Heading::read(line) {
                self.said(&std::mem::take(&mut lines), &speaker);
                let at = heading.at_after(speaker.at.as_deref());
                speaker = Speaker { role: heading.role.unwrap_or(speaker.role), id: Some(heading.id), at };
            } else if let Some(hit) = Hit::read(line) {
                self.hit(hit);
            } else {
                lines.extend([line, "\n"]);
            }
        }
        self.said(&lines, &speaker);
    }

    fn hit(&mut self, hit: Hit) {
        let to = match (hit.held, hit.page) {
            (true, _) => Some(Target::Hold(format!("h{}", hit.id.0))),
            (false, page) => page.map(Target::Page),
        };
        let partial = to.is_some() && (hit.text.starts_with('…') || hit.text.ends_with('…'));
        self.leads.extend(to.map(|to| Lead { to, text: hit.text.clone() }));
        let speaker = Speaker { role: hit.role, id: Some(hit.id), at: Some(hit.day) };
        self.passages.push(Passage { text: hit.text, speaker, near: String::new(), answers: String::new(), partial });
    }

    /// Adds what somebody said, passage by passage.
    fn said(&mut self, text: &str, speaker: &Speaker) {
        let parts: Vec<&str> = text.lines().flat_map(|line| passages(line, &speaker.role)).collect();
        let near = |i: usize| {
            let before = i.checked_sub(1).map_or("", |before| parts[before]);
            [before, parts.get(i + 1).copied().unwrap_or("")].join("\n")
        };
        let asked = if speaker.role == Role::Assistant { self.asked.as_str() } else { "" };
        let passage = |(i, text): (usize, &&str)| {
            let answers = if i == 0 { asked } else { "" }.to_owned();
            let (text, speaker) = ((*text).to_owned(), speaker.clone());
            Passage { text, speaker, near: near(i), answers, partial: false }
        };
        self.passages.extend(parts.iter().enumerate().map(passage));
        if speaker.role == Role::User && !text.trim().is_empty() {
            let question = parts.iter().rfind(|part| words::is_question(part));
            self.asked = question.map_or_else(String::new, |part| (*part).to_owned());
        }
    }
}

fn is_heading(text: &str) -> bool {
    text.lines().next().and_then(Heading::read).is_some()
}

/// A line, or its sentences if it is long prose or ends in a question. Tools write lines: those stay whole.
fn passages<'a>(line: &'a str, role: &Role) -> Vec<&'a str> {
    let width: usize = line.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum();
    let prose = *role != Role::Tool && !line.contains(['|', '\t']);
    let parted = width > LINE_WIDTH && prose || width > 4 * LINE_WIDTH || words::is_question(line);
    let parts = if parted { sentences(line) } else { vec![line] };
    parts.into_iter().map(str::trim).filter(|part| part.chars().any(char::is_alphanumeric)).collect()
}

fn sentences(line: &str) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let ends = matches!(c, '。' | '！' | '？')
            || matches!(c, '.' | '!' | '?') && chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        if ends {
            parts.push(&line[start..at + c.len_utf8()]);
            start = at + c.len_utf8();
        }
    }
    parts.push(&line[start..]);
    parts
}
