//! The line a person writes on: edited, completed, remembered. A backslash at the end, Alt+Enter or a paste go on with
//! a new line of the same message.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Context, Event, EventContext, EventHandler, Helper, KeyCode,
    KeyEvent, Modifiers, Movement, RepeatCount,
};
use scrollback::strategy::StrategyName;

use super::commands::COMMANDS;
use super::screen::painted;

/// How many lines are remembered.
const REMEMBERED: usize = 1_000;
const PROMPT: &str = "› ";

/// Where lines are written.
pub(super) struct Editor {
    lines: rustyline::Editor<Guide, FileHistory>,
    history: Option<PathBuf>,
    /// Whether that file was there.
    was_there: bool,
    colour: bool,
}

/// The file that what was written is remembered in.
pub(in crate::cli) fn history_of(store: &Path) -> PathBuf {
    PathBuf::from(format!("{}.history", store.display()))
}

impl Editor {
    pub(super) fn new(history: Option<PathBuf>, colour: bool) -> anyhow::Result<Self> {
        let config = Config::builder().max_history_size(REMEMBERED)?.completion_type(CompletionType::List).build();
        let mut lines = rustyline::Editor::with_config(config).context("the terminal cannot be written to")?;
        lines.set_helper(Some(Guide));
        let newline = EventHandler::Simple(Cmd::Newline);
        lines.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), newline);
        lines.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::NONE), EventHandler::Conditional(Box::new(GoOn)));
        lines.bind_sequence(KeyEvent::ctrl('C'), EventHandler::Conditional(Box::new(Clear)));
        let known = history.as_ref().filter(|file| file.exists());
        let was_there = known.is_some();
        if let Some(file) = known {
            // What cannot be read is not worth a complaint: it is only what the arrow keys bring back.
            let _ = lines.load_history(file);
        }
        Ok(Self { lines, history, was_there, colour })
    }

    /// The next line; `None` when the person leaves.
    pub(super) fn read(&mut self) -> anyhow::Result<Option<String>> {
        let styled = painted(PROMPT, "1;36", self.colour);
        match self.lines.readline(&(PROMPT, styled)) {
            Ok(line) => {
                let line = unmarked(&line);
                self.remember(&line);
                Ok(Some(line))
            }
            Err(ReadlineError::Eof | ReadlineError::Interrupted) => Ok(None),
            Err(error) => Err(error).context("the terminal cannot be read"),
        }
    }

    fn remember(&mut self, line: &str) {
        // A line that cannot be remembered is said all the same.
        if self.was_there && self.history.as_ref().is_some_and(|file| !file.exists()) {
            // Somebody erased a conversation, and what was typed about it.
            let _ = self.lines.clear_history();
        }
        let is_new = self.lines.add_history_entry(line).unwrap_or_default();
        if let Some(file) = self.history.as_ref().filter(|_| is_new) {
            self.was_there = self.lines.append_history(file).is_ok();
        }
    }
}

/// Ctrl-C takes back what is written; where nothing is, it leaves.
struct Clear;

impl ConditionalEventHandler for Clear {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext) -> Option<Cmd> {
        Some(if context.line().is_empty() { Cmd::Interrupt } else { Cmd::Kill(Movement::WholeBuffer) })
    }
}

/// Enter behind a backslash at the end goes on with a new line in its place. What is pasted stays as it is, so a mark
/// that nobody sees or types tells one from the other.
struct GoOn;

const TYPED: char = '\u{2060}';

impl ConditionalEventHandler for GoOn {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext) -> Option<Cmd> {
        let goes_on = context.pos() == context.line().len() && context.line().ends_with('\\');
        goes_on.then(|| Cmd::Insert(1, format!("{TYPED}\n")))
    }
}

/// A line without what stands in it for its new lines.
fn unmarked(line: &str) -> String {
    line.replace(&format!("\\{TYPED}\n"), "\n").replace(TYPED, "")
}

/// Completes commands.
struct Guide;

impl Helper for Guide {}
impl Highlighter for Guide {}
impl Validator for Guide {}
impl Hinter for Guide {
    type Hint = String;
}

impl Completer for Guide {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(completed(&line[..at]))
    }
}

/// Where a word begins that could be completed, and what it could be.
fn completed(line: &str) -> (usize, Vec<String>) {
    if let Some(name) = line.strip_prefix("/strategy ") {
        let names = StrategyName::ALL.iter().map(|name| name.as_str()).chain(["default"]);
        return (line.len() - name.len(), names.filter(|known| known.starts_with(name)).map(str::to_owned).collect());
    }
    let Some(name) = line.strip_prefix('/').filter(|name| !name.contains(char::is_whitespace)) else {
        return (line.len(), Vec::new());
    };
    let known = COMMANDS.iter().filter(|command| command.name.starts_with(name));
    let whole = |space: bool, name: &str| format!("/{name}{}", if space { " " } else { "" });
    (0, known.map(|command| whole(!command.takes.is_empty(), command.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_is_taken_away_only_where_enter_was_typed_behind_it() {
        assert_eq!(unmarked("one\\\u{2060}\ntwo \\\nthree \\\u{2060}"), "one\ntwo \\\nthree \\");
    }

    #[test]
    fn commands_and_strategies_are_completed() {
        assert_eq!(completed("/com"), (0, vec!["/compress".to_owned()]));
        assert_eq!(completed("/p"), (0, vec!["/pin ".to_owned(), "/pins".to_owned()]));
        assert_eq!(completed("/strategy su"), (10, vec!["summary".to_owned()]));
        assert!(completed("what is /com").1.is_empty());
    }
}
