//! What a person decides about a conversation: pins and exclusions, rules, notes in their own words, folds taken back,
//! taken up again or made now, and the strategy.
//!
//! Every command here is a request to the API (`door`), so that it does the same whether a server holds the store or
//! not.

mod artifacts;
mod compress;
mod door;
mod edit;
mod notes;
mod pins;
mod rules;
mod strategy;
mod undo;

pub(super) use artifacts::{Artifacts, ranges};
pub(super) use compress::Compress;
pub(super) use door::read;
pub(super) use edit::Edit;
pub(super) use notes::Notes;
pub(super) use pins::{Chosen, EXCLUDE, INCLUDE, PIN, Pins, UNPIN};
pub(super) use rules::Rules;
pub(super) use strategy::Strategy;
pub(super) use undo::{Redo, Undo};

use std::borrow::Cow;

use axum::http::Method;
use clap::Args;

use crate::api::Ask;

/// Which path, and which model's windows.
#[derive(Clone, Debug, Args)]
pub(super) struct Where {
    /// The session: its name, its id, or the beginning of either
    pub(super) session: String,
    /// Which branch; the newest if not given
    #[arg(long)]
    branch: Option<u32>,
    /// The limit of the model whose windows are meant, in tokens; that of the newest window if not given
    #[arg(long, value_name = "TOKENS")]
    limit: Option<u32>,
}

impl Where {
    /// A branch of a session, in windows of a limit.
    pub(super) fn on(session: &str, branch: Option<u32>, limit: Option<u32>) -> Self {
        Self { session: session.to_owned(), branch, limit }
    }

    /// A request about something of the session.
    pub(super) fn ask(&self, method: Method, thing: &[&str]) -> Ask {
        let path = [&["sessions", self.session.as_str()], thing].concat();
        Ask::new(method, &path).with("branch", self.branch).with("limit", self.limit)
    }

    /// The same on the command line, for whoever is told what to type.
    pub(super) fn typed(&self) -> String {
        let flag = |name: &str, value: Option<u32>| value.map(|value| format!(" --{name} {value}")).unwrap_or_default();
        format!("{}{}{}", typed(&self.session), flag("branch", self.branch), flag("limit", self.limit))
    }
}

/// A name as a shell takes it for one word.
pub(super) fn typed(name: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:@%+,".contains(c);
    if name.chars().all(is_plain) { name.into() } else { format!("'{}'", name.replace('\'', r"'\''")).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_typed_as_one_word() {
        let typed = |session: &str| Where::on(session, None, Some(500)).typed();
        assert_eq!(typed("chatgpt:c-garden"), "chatgpt:c-garden --limit 500");
        assert_eq!(typed("Garden plan"), "'Garden plan' --limit 500");
        assert_eq!(typed("Lia's $5 & 外婆"), r"'Lia'\''s $5 & 外婆' --limit 500");
    }
}
