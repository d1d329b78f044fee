//! What a person sees: the reply as it comes, and beside it, more quietly, what happens to the window.

use std::io::{IsTerminal, Write};

use super::status::Status;
use crate::cli::terminal::{harmless, shown, talk_styled};

/// How wide a line is where nobody knows.
const COLUMNS: usize = 80;

/// Who looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Audience {
    /// A person who talks.
    Person,
    /// A program, or a person who asked one thing: the reply goes to standard output, and nothing else.
    Pipe,
    /// A program that wants JSON, once the reply is there.
    Json,
}

/// Where a reply is shown.
pub(super) struct Screen {
    pub(super) audience: Audience,
    pub(super) colour: bool,
    /// What was written last, on a line that has not ended.
    open: Open,
}

/// What stands on the line that is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Nothing,
    /// A sign that something is awaited, which goes when something comes.
    Waiting,
    Thinking,
    Text,
}

impl Screen {
    pub(super) fn new(audience: Audience, colour: bool) -> Self {
        Self { audience, colour, open: Open::Nothing }
    }

    /// Shows that something is awaited.
    pub(super) fn wait(&mut self) -> anyhow::Result<()> {
        if self.audience == Audience::Person && self.colour {
            put(&painted("…", "2", true))?;
            self.open = Open::Waiting;
        }
        Ok(())
    }

    /// A piece of the reply.
    pub(super) fn text(&mut self, text: &str) -> anyhow::Result<()> {
        if self.audience == Audience::Json {
            return Ok(());
        }
        if self.open != Open::Text {
            self.close()?;
        }
        put(&shown(text))?;
        self.open = if text.ends_with('\n') { Open::Nothing } else { Open::Text };
        Ok(())
    }

    /// A piece of what the model thinks, for whoever talks with it.
    pub(super) fn thinking(&mut self, text: &str) -> anyhow::Result<()> {
        if self.audience != Audience::Person {
            return Ok(());
        }
        if self.open != Open::Thinking {
            self.close()?;
        }
        put(&painted(&shown(text), "2", self.colour))?;
        self.open = Open::Thinking;
        Ok(())
    }

    /// A word on what happened, on a line of its own.
    pub(super) fn aside(&mut self, text: &str) -> anyhow::Result<()> {
        let line = painted(&harmless(text), "2", self.colour);
        self.beside(&line)
    }

    /// A word on what is wrong with a reply, which whoever asked one thing is told as well.
    pub(super) fn notice(&mut self, text: &str) -> anyhow::Result<()> {
        if self.audience != Audience::Pipe {
            return self.aside(text);
        }
        self.close()?;
        talk_styled(&painted(&harmless(text), "2", self.colour));
        Ok(())
    }

    /// What the reply took.
    pub(super) fn status(&mut self, status: &Status) -> anyhow::Result<()> {
        let line = status.line(columns(), self.colour);
        self.beside(&line)?;
        // Turns are easier told apart with a line between them.
        if self.audience == Audience::Person { put("\n") } else { Ok(()) }
    }

    /// What went wrong.
    pub(super) fn error(&mut self, error: &anyhow::Error) -> anyhow::Result<()> {
        self.close()?;
        let said = harmless(&format!("error: {}", crate::told(error)));
        talk_styled(&painted(&said, "31", self.colour));
        Ok(())
    }

    /// Ends the line that is being written.
    pub(super) fn close(&mut self) -> anyhow::Result<()> {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => Ok(()),
            Open::Waiting => put("\r\u{1b}[K"),
            Open::Thinking | Open::Text => put("\n"),
        }
    }

    /// A line that is no part of the reply.
    fn beside(&mut self, line: &str) -> anyhow::Result<()> {
        match self.audience {
            Audience::Person => {
                self.close()?;
                put(&format!("{line}\n"))
            }
            Audience::Pipe if std::io::stderr().is_terminal() => {
                self.close()?;
                talk_styled(line);
                Ok(())
            }
            Audience::Pipe | Audience::Json => Ok(()),
        }
    }
}

/// Writes to whoever reads, at once.
fn put(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// How wide the terminal is now.
pub(super) fn columns() -> usize {
    crate::cli::columns().unwrap_or(COLUMNS)
}

/// How many columns a text takes.
pub(super) fn columns_of(text: &str) -> usize {
    text.chars().map(crate::cli::columns_of).sum()
}

/// A text in a colour or weight of the terminal.
pub(super) fn painted(text: &str, code: &str, colour: bool) -> String {
    if colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}
