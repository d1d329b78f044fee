//! A folder with data in it, where `scrollback eval` is run.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::upstream::Upstream;

/// What came of a run.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) aside: String,
}

impl Ran {
    /// The first table of a suite, from JSON.
    pub(crate) fn table(&self) -> Value {
        let line = self.out.lines().next().unwrap_or_else(|| panic!("nothing was said: {}", self.aside));
        serde_json::from_str::<Value>(line).unwrap()["tables"][0].clone()
    }

    /// A number in the first row of the first table.
    pub(crate) fn number(&self, column: &str) -> Value {
        cell(&self.table(), 0, column)
    }
}

/// A number of a table.
pub(crate) fn cell(table: &Value, row: usize, column: &str) -> Value {
    let columns = table["columns"].as_array().unwrap();
    let place = columns.iter().position(|one| one["name"] == column).unwrap_or_else(|| panic!("no {column}: {table}"));
    table["rows"][row]["cells"][place].clone()
}

pub(crate) struct Desk(tempfile::TempDir);

impl Desk {
    /// With a dataset of so many questions, each about a pet of its own.
    pub(crate) fn new(questions: usize) -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        let message = |i: usize| {
            json!({"id": i.to_string(), "role": if i.is_multiple_of(2) { "user" } else { "assistant" }, "name": null, "time": null,
                   "text": format!("Pet number {i} is called Miso{i} and sleeps on the sill.")})
        };
        let ask = |i: usize| {
            json!({"id": i.to_string(), "kind": if i.is_multiple_of(2) { "even" } else { "odd" }, "text": format!("What is pet number {i} called?"),
                   "evidence": [i.to_string()], "answer": format!("Miso{i}")})
        };
        let messages: Vec<Value> = (0..questions.max(4)).map(message).collect();
        let asks: Vec<Value> = (0..questions).map(ask).collect();
        desk.write("sets/recall/pets.jsonl", &json!({"id": "1", "messages": messages, "questions": asks}).to_string());
        desk
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The lines of a transcript.
    pub(crate) fn transcript(&self, name: &str) -> Vec<Value> {
        self.read(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Runs a suite with a model.
    pub(crate) fn run(&self, suite: &str, upstream: &Upstream, more: &[&str]) -> Ran {
        let mut arguments = vec!["eval", suite, "--data", "sets", "--upstream", &upstream.url, "--json"];
        arguments.extend(more);
        if !more.contains(&"--model") {
            arguments.extend(["--model", "gpt-4o-mini"]);
        }
        if !more.contains(&"--strategy") {
            arguments.extend(["--strategy", "pages"]);
        }
        self.scrollback(&arguments)
    }

    /// Runs the program.
    pub(crate) fn scrollback(&self, arguments: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
        command.args(arguments).current_dir(self.0.path()).env_clear().env("HOME", self.0.path());
        let output = command.env("LAB_KEY", "sk-lab").stdin(Stdio::null()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code().unwrap(), out: text(output.stdout), aside: text(output.stderr) }
    }

    /// The same, and it must go well.
    pub(crate) fn runs(&self, suite: &str, upstream: &Upstream, more: &[&str]) -> Ran {
        let ran = self.run(suite, upstream, more);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.aside);
        ran
    }
}
