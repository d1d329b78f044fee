//! Codex's rollout files: a line each for what happened; the items sent to and from the model are the messages.
//!
//! Items keep their bytes. Turns that were taken back are a branch of their own. The summary of a compaction stands
//! where it was made, a plan where it was told, and the instructions at the head. Files of early versions have bare
//! items below a first line with the session's id. A file that goes on from another (`base`) holds only what is new.

mod base;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::entries::{Entry, Fields, lines, listed, owned, shared};
use super::{Conversation, Import, Others, Timed};
use crate::ids::{At, Fingerprint};
use crate::message::{Message, value_of};
use crate::title::{first_words, is_asked};

/// Lines that are no messages, beside those that have a meaning here.
const SILENT: [&str; 5] =
    ["turn_context", "world_state", "security_risk_score", "inter_agent_communication_metadata", "token_usage_record"];
/// Lines that are no messages whatever is in them: what tools the model had, and where it was asked.
const UNSAID: [&str; 2] = ["tool_manifest", "sampling_boundary"];
/// How long a title may be.
const TITLE_CHARS: usize = 80;
/// Among how many messages a plan is looked for.
const LATELY: usize = 8;

pub(super) fn read(text: &str, others: Others<'_>) -> Import {
    let entries = lines(text);
    let mut rollout = Rollout { skipped: entries.skipped, ..Rollout::default() };
    for entry in &entries.read {
        match entry.fields() {
            Some(fields) => rollout.take(entry, &fields),
            None => rollout.skipped.push(entry.complaint("is not an object")),
        }
        if let Some(base) = rollout.base.take() {
            rollout.follow(base, others);
        }
    }
    rollout.finish()
}

/// A rollout, as far as it has been read.
#[derive(Default)]
struct Rollout {
    declared: Option<String>,
    began: Option<At>,
    title: Option<String>,
    model: Option<String>,
    messages: Vec<Timed>,
    /// The paths that were taken back.
    undone: Vec<Vec<Timed>>,
    /// How many messages of the path are on one of those as well.
    shared: usize,
    /// Where it goes on from, until that has been read.
    base: Option<base::Base>,
    /// Sessions that it may go on from, if the file with their messages is not at hand.
    follows: Vec<String>,
    /// Kinds of lines that say nothing, and how many there were.
    unsaid: BTreeMap<String, usize>,
    skipped: Vec<String>,
}

impl Rollout {
    fn take(&mut self, entry: &Entry<'_>, line: &Fields<'_>) {
        let at = line.text("timestamp").and_then(|time| At::parse(&time));
        let kind = line.text("type").unwrap_or_default();
        match (kind.as_str(), line.object("payload")) {
            ("session_meta", Some(meta)) => self.begin(&meta, at),
            ("response_item", Some(_)) => self.messages.extend(line.raw("payload").map(|raw| (owned(raw), at))),
            ("turn_context", Some(turn)) => self.model = turn.text("model").or(self.model.take()),
            ("event_msg", Some(event)) => self.happened(&event, at),
            ("compacted", Some(done)) => self.compacted(&done, at),
            ("inter_agent_communication", Some(sent)) => self.messages.extend(sent_by_agent(&sent).map(|it| (it, at))),
            ("event_msg" | "compacted", None) => {}
            (kind, _) if SILENT.contains(&kind) => {}
            ("", None) if line.has("record_type") => {}
            ("", None) if line.has("id") => self.begin(line, at),
            ("", _) => self.skipped.push(entry.complaint("has no “type”")),
            (_, None) if !line.has("payload") => self.messages.push((owned(entry.raw), at.or(self.began))),
            (kind, _) if UNSAID.contains(&kind) || !line.raw("payload").is_some_and(has_words) => {
                *self.unsaid.entry(kind.to_owned()).or_default() += 1;
            }
            (kind, _) => self.skipped.push(entry.complaint(format!("of type “{kind}” is not known"))),
        }
    }

    /// The first line names the session and tells its instructions; a fork repeats its parent's further on.
    fn begin(&mut self, meta: &Fields<'_>, at: Option<At>) {
        if self.declared.is_some() {
            return;
        }
        self.declared = meta.text("id");
        self.began = at;
        self.base = base::Base::of(meta);
        let base =
            meta.object("base_instructions").and_then(|base| base.text("text")).or(meta.text("base_instructions"));
        let told = [base, meta.text("instructions")].into_iter().flatten();
        self.messages.extend(told.map(|text| (shared(&json!({"role": "system", "content": text})), at)));
    }

    fn happened(&mut self, event: &Fields<'_>, at: Option<At>) {
        match event.text("type").as_deref() {
            Some("user_message") if self.title.is_none() => {
                self.title = event.text("message").as_deref().and_then(title);
            }
            Some("item_completed") => self.completed(event, at),
            Some("thread_rolled_back") => {
                let turns = event.raw("num_turns").and_then(|raw| raw.get().parse().ok());
                self.roll_back(turns.unwrap_or(0));
            }
            _ => {}
        }
    }

    /// What newer versions tell of an item beside the history: the question, which gives the title, and a plan.
    fn completed(&mut self, event: &Fields<'_>, at: Option<At>) {
        let Some(item) = event.object("item") else { return };
        match item.text("type").as_deref() {
            Some("UserMessage") if self.title.is_none() => self.title = asked(&item).as_deref().and_then(title),
            Some("Plan") => {
                let unsaid = item.text("text").filter(|plan| !self.said_lately(plan));
                self.messages.extend(unsaid.map(|plan| (written("assistant", "output_text", &plan), at)));
            }
            _ => {}
        }
    }

    /// Whether one of the last messages has these words: most plans stand in a reply as well.
    fn said_lately(&self, words: &str) -> bool {
        let mut last = self.messages.iter().rev().take(LATELY);
        last.any(|(raw, _)| Message::new(raw.clone()).to_text().contains(words.trim()))
    }

    /// A compaction leaves its summary in place of what was said before, or messages: of those the new ones, as the
    /// summary is among them.
    fn compacted(&mut self, done: &Fields<'_>, at: Option<At>) {
        if let Some(text) = done.text("message") {
            self.messages.push((written("user", "input_text", &text), at));
            return;
        }
        let strong = |raw: &Arc<RawValue>| Message::new(raw.clone()).strong();
        let said: HashSet<Fingerprint> = self.messages.iter().map(|(raw, _)| strong(raw)).collect();
        let left = done.array("replacement_history").unwrap_or_default().into_iter();
        let left = left.filter(|raw| Fields::of(raw).is_some_and(|item| item.has("role"))).map(owned);
        self.messages.extend(left.filter(|raw| !said.contains(&strong(raw))).map(|raw| (raw, at)));
    }

    /// Takes back the last turns: what was said in them stays a branch.
    fn roll_back(&mut self, turns: usize) {
        let asked = |(number, (raw, _)): (usize, &Timed)| is_asked(&Message::new(raw.clone())).then_some(number);
        let asked: Vec<usize> = self.messages.iter().enumerate().filter_map(asked).collect();
        if let Some(&cut) = asked.get(asked.len().saturating_sub(turns)) {
            let kept = self.messages[..cut].to_vec();
            self.undone.push(std::mem::replace(&mut self.messages, kept));
            self.shared = cut;
        }
    }

    fn finish(mut self) -> Import {
        let mut paths = std::mem::take(&mut self.undone);
        if paths.is_empty() || self.messages.len() > self.shared {
            paths.push(std::mem::take(&mut self.messages));
        }
        let spoken =
            paths.into_iter().filter(|path| path.iter().any(|(raw, _)| !Message::new(raw.clone()).role().instructs()));
        let conversations = spoken.map(|messages| {
            let (declared, follows, model) = (self.declared.clone(), self.follows.clone(), self.model.clone());
            let title = self.title.clone().or_else(|| first_question(&messages));
            Conversation { declared, title, model, messages, follows, ..Conversation::default() }
        });
        Import { conversations: conversations.collect(), skipped: self.skipped.clone(), remarks: self.remarks() }
    }

    fn remarks(&self) -> Vec<String> {
        let unsaid =
            (!self.unsaid.is_empty()).then(|| format!("left out: lines that say nothing: {}", listed(&self.unsaid)));
        let alone = self.follows.first().map(|base| {
            format!(
                "it goes on from the file rollout-…{base}.jsonl, which is not here: it was put after what is stored of \
                 that session, if anything is; to be exact, import the folder with both"
            )
        });
        unsaid.into_iter().chain(alone).collect()
    }
}

/// Whether something in it is more than a name or a number.
fn has_words(raw: &RawValue) -> bool {
    fn says(value: &Value) -> bool {
        match value {
            Value::String(text) => text.trim().contains(char::is_whitespace) || !text.is_ascii(),
            Value::Array(items) => items.iter().any(says),
            Value::Object(fields) => fields.values().any(says),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    value_of(raw.get()).is_ok_and(|value| says(&value))
}

/// What one agent tells another. A model said it, so it is shown to models as one's reply, as Codex does.
fn sent_by_agent(sent: &Fields<'_>) -> Option<Arc<RawValue>> {
    let (words, whose) = (sent.text("content")?, [sent.text("author"), sent.text("recipient")]);
    let [author, recipient] = whose.map(Option::unwrap_or_default);
    Some(shared(&json!({"role": "assistant", "content": format!("{author} → {recipient}:\n{words}")})))
}

/// What a person asked, as newer versions tell it.
fn asked(item: &Fields<'_>) -> Option<String> {
    item.array("content")?.into_iter().find_map(|block| Fields::of(block)?.text("text"))
}

/// The title that the first question gives.
fn first_question(messages: &[Timed]) -> Option<String> {
    title(&first_words(messages.iter().map(|(raw, _)| Message::new(raw.clone())))?)
}

/// A message as Codex writes it.
fn written(role: &str, kind: &str, text: &str) -> Arc<RawValue> {
    shared(&json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
}

/// The first line of what a person said.
fn title(said: &str) -> Option<String> {
    let line = said.lines().map(str::trim).find(|line| !line.is_empty())?;
    let short: String = line.chars().take(TITLE_CHARS).collect();
    Some(if short.len() < line.len() { short + "…" } else { short })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Import {
        super::read(text, &|_| None)
    }

    #[test]
    fn early_files_have_bare_items() {
        let text = concat!(
            "{\"id\":\"s1\",\"timestamp\":\"2025-06-01T10:00:00Z\",\"instructions\":null}\n",
            "{\"record_type\":\"state\"}\n",
            "{\"type\":\"message\", \"role\":\"user\",\"content\":[]}\n",
            "{\"type\":\"function_call\",\"call_id\":\"c\"}\n",
            "{\"odd\":1}\n",
        );
        let import = read(text);
        let [one] = &import.conversations[..] else { panic!("{import:?}") };
        assert_eq!(one.declared.as_deref(), Some("s1"));
        assert_eq!(one.messages[0].0.get(), "{\"type\":\"message\", \"role\":\"user\",\"content\":[]}");
        assert_eq!(one.messages[1].1, At::parse("2025-06-01T10:00:00Z"));
        assert_eq!(import.skipped, ["line 5 has no “type”"]);
    }

    fn line(kind: &str, payload: &str) -> String {
        format!("{{\"timestamp\":\"2026-02-01T10:00:00Z\",\"type\":\"{kind}\",\"payload\":{payload}}}\n")
    }

    fn said(role: &str, text: &str) -> String {
        line("response_item", &format!(r#"{{"type":"message","role":"{role}","content":"{text}"}}"#))
    }

    fn check(text: &str, paths: &[&str]) -> Import {
        let import = read(text);
        let words = |one: &Conversation| {
            let texts = one.messages.iter().map(|(raw, _)| Message::new(raw.clone()).to_text());
            texts.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(import.conversations.iter().map(words).collect::<Vec<_>>(), paths);
        assert!(import.skipped.is_empty(), "{import:?}");
        import
    }

    #[test]
    fn turns_that_were_taken_back_are_a_branch() {
        let rolled =
            |turns: usize| line("event_msg", &format!(r#"{{"type":"thread_rolled_back","num_turns":{turns}}}"#));
        let head = said("user", "<environment_context>x</environment_context>")
            + &said("user", "q1")
            + &said("assistant", "a1");
        let undone = head.clone() + &said("user", "q2") + &said("assistant", "a2");
        let shown = "<environment_context>x</environment_context>";
        let after = undone.clone() + &rolled(1) + &said("user", "q3");
        check(&after, &[&format!("{shown} q1 a1 q2 a2"), &format!("{shown} q1 a1 q3")]);
        check(&(undone.clone() + &rolled(1)), &[&format!("{shown} q1 a1 q2 a2")]);
        check(&(undone + &rolled(7) + &said("user", "q4")), &[&format!("{shown} q1 a1 q2 a2"), &format!("{shown} q4")]);
    }

    #[test]
    fn instructions_summaries_and_the_first_question_are_kept() {
        let meta = r#"{"id":"s","base_instructions":{"text":"base"},"instructions":"agents"}"#;
        let told = line("event_msg", r#"{"type":"user_message","message":"\nWhy is it slow?\nSee the log."}"#);
        let text = line("session_meta", meta)
            + &said("user", "q1")
            + &told
            + &said("assistant", "a1")
            + &line("compacted", r#"{"message":"the sum"}"#)
            + &line("compacted", r#"{"message":""}"#)
            + &line("world_state", "{}")
            + &said("user", "q2");
        let import = check(&text, &["base agents q1 a1 the sum q2"]);
        assert_eq!(import.conversations[0].title.as_deref(), Some("Why is it slow?"));
        check(&line("session_meta", meta), &[]);
    }

    #[test]
    fn lines_that_say_nothing_are_counted_and_are_no_errors() {
        let text = said("user", "q1")
            + &line("token_usage_record", r#"{"usage":{"input_tokens":9}}"#)
            + &line("tool_manifest", r#"{"tools":[{"description":"Reads a file."}]}"#)
            + &line("novelty", r#"{"id":"x","count":[1]}"#)
            + &line("novelty", "{}");
        let import = check(&text, &["q1"]);
        assert_eq!(import.remarks, ["left out: lines that say nothing: 2 × novelty, 1 × tool_manifest"]);
        let words = read(&(said("user", "q1") + &line("novelty", r#"{"said":"two words"}"#)));
        assert_eq!(words.skipped, ["line 2 of type “novelty” is not known"]);
    }

    #[test]
    fn what_one_agent_tells_another_is_kept() {
        let sent =
            r#"{"author":"/root/worker","recipient":"/root","content":"The pier is closed.","trigger_turn":false}"#;
        let text = said("user", "q1") + &line("inter_agent_communication", sent);
        check(&text, &["q1 /root/worker → /root:\nThe pier is closed."]);
    }

    #[test]
    fn plans_and_summaries_are_kept_that_stand_beside_the_history() {
        let plan = line("event_msg", r#"{"type":"item_completed","item":{"type":"Plan","text":"First the pier."}}"#);
        let left = r#"{"message":"","replacement_history":[{"type":"message","role":"user","id":"m9","content":"q1"},
            {"type":"message","role":"user","content":"They asked about piers."},{"type":"compaction","encrypted_content":"gA"}]}"#;
        let text = said("user", "q1") + &plan + &line("compacted", &left.replace('\n', "")) + &said("user", "q2");
        check(&text, &["q1 First the pier. They asked about piers. q2"]);
        let reply = said("assistant", "<plan>First the pier.</plan>");
        check(&(reply + &plan), &["<plan>First the pier.</plan>"]);
    }

    #[test]
    fn the_title_is_what_a_person_asked_first() {
        let title = |text: &str| read(text).conversations[0].title.clone().unwrap_or_default();
        let told = said("user", "<environment_context>x</environment_context>");
        let item = r#"{"type":"item_completed","item":{"type":"UserMessage","content":[{"type":"text","text":"Which pier?"}]}}"#;
        let reply = item.replace("UserMessage", "AgentMessage");
        let text = told + &line("event_msg", &reply) + &said("user", "Which boat?");
        assert_eq!(title(&text), "Which boat?");
        assert_eq!(title(&(text + &line("event_msg", item))), "Which pier?");
    }
}
