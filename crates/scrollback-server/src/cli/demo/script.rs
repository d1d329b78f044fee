//! The shipped conversation as a client would hold it: turn by turn, what a person says and what tools answered.

use anyhow::Context;
use serde::Deserialize;
use serde_json::value::RawValue;

const SAMPLE: &str = include_str!("../../../../../fixtures/samples/petrel.jsonl");

/// The conversation.
pub(super) struct Script {
    pub(super) instructions: Box<RawValue>,
    pub(super) turns: Vec<Turn>,
}

/// What the client adds to its history in one turn: a question, and perhaps a call and its result.
pub(super) struct Turn {
    pub(super) messages: Vec<Box<RawValue>>,
    pub(super) said: String,
    /// The tool whose result comes with it.
    pub(super) tool: Option<Tool>,
}

/// A tool's result.
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) chars: usize,
}

#[derive(Deserialize)]
struct Sample {
    messages: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Read {
    role: String,
    content: Option<String>,
    #[serde(default)]
    tool_calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
}

impl Script {
    /// Reads the sample.
    pub(super) fn read() -> anyhow::Result<Self> {
        let sample: Sample = serde_json::from_str(SAMPLE).context("the sample is not what it was")?;
        let mut messages = sample.messages.into_iter();
        let instructions = messages.next().context("the sample is empty")?;
        let mut script = Self { instructions, turns: Vec::new() };
        for raw in messages {
            script.add(raw)?;
        }
        Ok(script)
    }

    fn add(&mut self, raw: Box<RawValue>) -> anyhow::Result<()> {
        let read: Read = serde_json::from_str(raw.get())?;
        let said = read.content.unwrap_or_default();
        if read.role == "user" {
            self.turns.push(Turn { messages: vec![raw], said, tool: None });
            return Ok(());
        }
        let turn = self.turns.last_mut().context("the sample begins with a question")?;
        turn.messages.push(raw);
        match (read.tool_calls.into_iter().next(), &mut turn.tool) {
            (Some(call), _) => turn.tool = Some(Tool { name: call.function.name, chars: 0 }),
            (None, Some(tool)) => tool.chars = said.chars().count(),
            (None, None) => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_long_and_has_large_results() {
        let script = Script::read().unwrap();
        assert_eq!(script.turns.len(), 64);
        let large = script.turns.iter().filter_map(|turn| turn.tool.as_ref()).filter(|tool| tool.chars > 20_000);
        assert_eq!(large.count(), 2);
    }
}
