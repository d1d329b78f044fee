//! `scrollback pin`, `unpin`, `exclude`, `include` and `pins`: which messages every window has, and which none has.

use std::process::ExitCode;

use axum::http::Method;
use clap::Args;
use scrollback::MessageId;

use super::Where;
use super::door::read;
use crate::api::{Controlled, Effect, MessageLine, places};
use crate::cli::{Desk, say, say_json, shortened, table, talk};

/// How many columns of a message are shown.
const TEXT_COLUMNS: usize = 60;

#[derive(Debug, Args)]
pub(in crate::cli) struct Chosen {
    #[command(flatten)]
    place: Where,
    /// The messages, such as m12 m40
    #[arg(required = true, value_name = "MESSAGE")]
    messages: Vec<MessageId>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Pins {
    #[command(flatten)]
    place: Where,
}

/// What is done, and how it is told.
pub(in crate::cli) struct Deed {
    method: Method,
    of: &'static str,
    /// After “m12 is” or “m12, m13 are”.
    done: &'static str,
    already: &'static str,
}

/// Shows messages in every window.
pub(in crate::cli) const PIN: Deed = Deed {
    method: Method::PUT,
    of: "pins",
    done: "in every window from now on, word for word",
    already: "pinned already",
};

/// Shows them only where they belong.
pub(in crate::cli) const UNPIN: Deed = Deed {
    method: Method::DELETE,
    of: "pins",
    done: "pinned no more: shown while open, then folded like the rest",
    already: "not pinned",
};

/// Leaves messages out of every window.
pub(in crate::cli) const EXCLUDE: Deed = Deed {
    method: Method::PUT,
    of: "excluded",
    done: "left out of every window from now on, and out of every recall; the log keeps what was said",
    already: "left out already",
};

/// Shows them again.
pub(in crate::cli) const INCLUDE: Deed =
    Deed { method: Method::DELETE, of: "excluded", done: "shown again like the rest", already: "not left out" };

impl Chosen {
    /// Does it to each of the messages.
    pub(in crate::cli) async fn run(self, desk: &Desk, deed: &Deed) -> anyhow::Result<ExitCode> {
        for message in &self.messages {
            let answer = desk.ask(&self.place.ask(deed.method.clone(), &[deed.of, &message.to_string()])).await?;
            if desk.json {
                say_json(&answer)?;
            } else {
                tell(&self.place.typed(), deed, &read(answer)?)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn tell(place: &str, deed: &Deed, changed: &Effect) -> anyhow::Result<()> {
    let names: Vec<String> = changed.messages.iter().map(ToString::to_string).collect();
    let (names, are) = (names.join(", "), if changed.messages.len() == 1 { "is" } else { "are" });
    say(format!("{names} {are} {}", if changed.changed { deed.done } else { deed.already }))?;
    if changed.messages.len() > 1 {
        say("a call and its results belong together")?;
    }
    if changed.messages.iter().any(|id| changed.pinned.contains(id) && changed.excluded.contains(id)) {
        talk("pinned and left out: as long as it is left out, no window has it");
    }
    if changed.told.is_empty() {
        return Ok(());
    }
    say(format!("already told of in {}", places(&changed.told)))?;
    talk(&hint(place, &changed.told[0].note));
    Ok(())
}

/// How to change what is told of a message. To a shell, what follows a number sign is a comment.
fn hint(place: &str, note: &str) -> String {
    let note = note.trim_start_matches('#');
    format!("`scrollback edit {place} {note}` puts your words there; `scrollback undo {place}` takes the fold back")
}

impl Pins {
    pub(in crate::cli) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let answer = desk.ask(&self.place.ask(Method::GET, &["controls"])).await?;
        if desk.json {
            say_json(&answer)?;
            return Ok(ExitCode::SUCCESS);
        }
        let controlled: Controlled = read(answer)?;
        if controlled.pinned.is_empty() && controlled.excluded.is_empty() {
            talk("nothing is pinned and nothing is left out");
            return Ok(ExitCode::SUCCESS);
        }
        let mut lines = table(&["message", "is", "role", "text"], &[]);
        let row = |is: &str, line: &MessageLine| {
            let text = shortened(&line.text, TEXT_COLUMNS);
            [line.message.to_string(), is.to_owned(), line.role.clone(), text]
        };
        lines.add_rows(controlled.pinned.iter().map(|line| row("pinned", line)));
        lines.add_rows(controlled.excluded.iter().map(|line| row("left out", line)));
        say(lines.trim_fmt())?;
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn a_hint_can_be_typed_into_a_shell() {
        assert!(hint("harbour", "#3").starts_with("`scrollback edit harbour 3` "));
        assert!(hint("harbour", "s60").starts_with("`scrollback edit harbour s60` "));
    }
}
