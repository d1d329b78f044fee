//! What agents did: sessions of models that call tools.
//!
//! `{"id", "events": [{"role", "name", "text"}]}` tells everything that was said, in order; a call of the model is each
//! stretch of its words and of the tools it calls.
//! `{"id", "messages": [{"role", "text"}], "calls": [{"input": [places], "output"}]}` tells for every call what it was
//! shown; calls that go on from one another are one thread.

use std::path::Path;

use serde::Deserialize;

use super::{Error, name, rows};

/// A file of sessions.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The name of the file, without its ending.
    pub name: String,
    /// Its threads.
    pub threads: Vec<Thread>,
}

/// A conversation of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// What was said and done.
    pub steps: Vec<Step>,
    /// The calls of the model.
    pub calls: Vec<Called>,
}

/// A message of an agent's conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Standing instructions.
    Instructed(String),
    /// A person speaks.
    Asked(String),
    /// The model speaks, and calls tools.
    Answered {
        /// What it says.
        text: String,
        /// The tools, and what they are told.
        tools: Vec<(String, String)>,
    },
    /// A tool answers the oldest call that waits.
    Returned(String),
}

impl Step {
    /// Its words.
    pub fn text(&self) -> String {
        match self {
            Self::Instructed(text) | Self::Asked(text) | Self::Returned(text) => text.clone(),
            Self::Answered { text, tools } => {
                let told = tools.iter().map(|(_, told)| told.as_str());
                std::iter::once(text.as_str()).chain(told).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// A call of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// How many messages it was shown.
    pub shown: usize,
    /// What it said.
    pub output: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Events { events: Vec<Event> },
    Calls { messages: Vec<Event>, calls: Vec<Call> },
}

#[derive(Deserialize)]
struct Event {
    role: String,
    #[serde(default)]
    name: Option<String>,
    text: String,
}

#[derive(Deserialize)]
struct Call {
    input: Vec<usize>,
    output: String,
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Dataset, Error> {
    let threads = rows(path)?.into_iter().flat_map(|line| match line {
        Line::Events { events } => vec![told(&events.iter().collect::<Vec<_>>())],
        Line::Calls { messages, calls } => threads(&messages, &calls),
    });
    let threads = threads.filter(|thread| !thread.calls.is_empty()).collect();
    Ok(Dataset { name: name(path), threads })
}

/// A session told event by event: a call for each stretch of the model's.
fn told(events: &[&Event]) -> Thread {
    let steps = steps(events);
    let called = |(shown, step): (usize, &Step)| {
        matches!(step, Step::Answered { .. }).then(|| Called { shown, output: step.text() })
    };
    // Nobody calls a model with nothing.
    let calls = steps.iter().enumerate().skip(1).filter_map(called).collect();
    Thread { steps, calls }
}

/// Calls that go on from one another, with what they were shown.
fn threads(messages: &[Event], calls: &[Call]) -> Vec<Thread> {
    let mut groups: Vec<Vec<&Call>> = Vec::new();
    let shown = |call: &Call| steps(&of(messages, call)).len();
    for call in calls.iter().filter(|call| !call.input.is_empty()) {
        let follows = |last: &&&Call| call.input.starts_with(&last.input) && shown(call) > shown(last);
        let goes_on = |group: &Vec<&Call>| group.last().is_some_and(|last| follows(&last));
        match groups.iter_mut().rev().find(|group| goes_on(group)) {
            Some(group) => group.push(call),
            None => groups.push(vec![call]),
        }
    }
    groups.iter().map(|group| thread(messages, group)).collect()
}

fn thread(messages: &[Event], calls: &[&Call]) -> Thread {
    let called = |call: &&Call| Called { shown: steps(&of(messages, call)).len(), output: call.output.clone() };
    let steps = calls.last().map(|last| steps(&of(messages, last))).unwrap_or_default();
    Thread { steps, calls: calls.iter().map(called).collect() }
}

/// What a call was shown.
fn of<'a>(messages: &'a [Event], call: &Call) -> Vec<&'a Event> {
    call.input.iter().filter_map(|place| messages.get(*place)).collect()
}

/// Events as messages: what the model says and the tools it calls without waiting are one.
fn steps(events: &[&Event]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for event in events {
        let text = event.text.clone();
        match event.role.as_str() {
            "system" if steps.is_empty() => steps.push(Step::Instructed(text)),
            "assistant" => match steps.last_mut() {
                Some(Step::Answered { text: said, tools }) if tools.is_empty() => {
                    said.push_str("\n\n");
                    said.push_str(&text);
                }
                _ => steps.push(Step::Answered { text, tools: Vec::new() }),
            },
            "tool_call" | "tool-call" => {
                let call = (event.name.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| "tool".into()), text);
                match steps.last_mut() {
                    Some(Step::Answered { tools, .. }) => tools.push(call),
                    _ => steps.push(Step::Answered { text: String::new(), tools: vec![call] }),
                }
            }
            "tool_result" | "tool-response" => steps.push(Step::Returned(text)),
            _ => steps.push(Step::Asked(text)),
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_line(line: &str) -> Vec<Thread> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agents.jsonl");
        std::fs::write(&path, line.replace('\n', " ")).unwrap();
        read(&path).unwrap().threads
    }

    #[test]
    fn a_call_is_a_stretch_of_the_models() {
        let line = r#"{"id":"1","events":[
            {"role":"user","name":"","text":"Why does it fail?"},
            {"role":"assistant","name":"","text":"I will look."},
            {"role":"tool_call","name":"Read","text":"log.txt"},
            {"role":"tool_result","name":"Read","text":"out of memory"},
            {"role":"tool_call","name":"Read","text":"more.txt"},
            {"role":"tool_result","name":"Read","text":"nothing"},
            {"role":"assistant","name":"","text":"It ran out of memory."}]}"#;
        let threads = read_line(line);
        let calls = &threads[0].calls;
        assert_eq!(calls.iter().map(|call| call.shown).collect::<Vec<_>>(), [1, 3, 5]);
        assert_eq!(calls[0].output, "I will look.\nlog.txt");
        assert_eq!(threads[0].steps[2], Step::Returned("out of memory".into()));
        assert_eq!(threads[0].steps.len(), 6);
    }

    #[test]
    fn calls_that_go_on_from_one_another_are_one_thread() {
        let line = r#"{"id":"1","messages":[{"role":"system","text":"Be brief."},{"role":"user","text":"Sum it up."},
            {"role":"assistant","text":"Let me see."},{"role":"tool-call","text":"sum()"},{"role":"tool-response","text":"12"},
            {"role":"user","text":"Plan."}],
            "calls":[{"input":[0,1],"output":"Let me see."},{"input":[5],"output":"A plan."},{"input":[0,1,2,3,4],"output":"12."},
            {"input":[0,1,2,3,4],"output":"Twelve."}]}"#;
        let threads = read_line(line);
        let shown = |thread: &Thread| thread.calls.iter().map(|call| call.shown).collect::<Vec<_>>();
        assert_eq!(
            threads.iter().map(shown).collect::<Vec<_>>(),
            [vec![2, 4], vec![1], vec![4]],
            "what is asked again is not shown more"
        );
        assert_eq!(threads[0].steps[0], Step::Instructed("Be brief.".into()));
        let Step::Answered { text, tools } = &threads[0].steps[2] else { panic!("the model speaks") };
        assert_eq!((text.as_str(), tools.as_slice()), ("Let me see.", &[("tool".into(), "sum()".into())][..]));
    }
}
