//! A session as one line of JSON that [`crate::import`] reads back, all of it at its place.
//!
//! `messages` is the path of the branch that was written to last, for whoever reads nothing else. The `scrollback`
//! object beside it says where each of them stood, and holds the others and what a person decided.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::whole::{Whole, in_pieces};
use crate::control::Controls;
use crate::ids::{At, MessageId};
use crate::store::{Beside, Place};

/// Where a message of a line stood.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Placed<'a> {
    /// Its number.
    pub(crate) id: MessageId,
    /// When it was said.
    #[serde(default, deserialize_with = "time")]
    pub(crate) at: Option<At>,
    /// The message it follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) follows: Option<MessageId>,
    /// Why it is on no path, if it is on none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) beside: Option<Beside>,
    /// The message, unless it is one of `messages`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<Cow<'a, RawValue>>,
    /// Its exact text, if that has line breaks, which a line cannot have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) exact: Option<Cow<'a, str>>,
}

/// A time that cannot be read is not known.
fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<At>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.and_then(|text| At::parse(&text)))
}

/// A part of a line, made when it is written.
enum Piece {
    Text(String),
    /// The message of this number as it came,
    Message(usize),
    /// where it stood,
    Place(usize),
    /// or both.
    Other(usize),
}

impl Whole {
    /// The session as one line, piece by piece.
    pub fn jsonl(self) -> impl Iterator<Item = String> + Send {
        let pieces = self.line();
        let whole = Arc::new(self);
        in_pieces(pieces.into_iter().map(move |piece| whole.text(piece)))
    }

    fn line(&self) -> Vec<Piece> {
        let (newest, others) = self.divided();
        if newest.is_empty() {
            return Vec::new();
        }
        let known: HashSet<MessageId> = newest.iter().chain(&others).map(|at| self.all[*at].id).collect();
        let controls = self.controls.renumbered(|id| known.contains(&id).then_some(id));
        let mut pieces = vec![Piece::Text("{\"messages\":[".to_owned())];
        list(&mut pieces, newest.iter().map(|at| Piece::Message(*at)));
        let session =
            json!({"session": self.session.id, "declared": self.session.declared, "title": self.session.title});
        let session = session.to_string();
        pieces.push(Piece::Text(format!("],\"scrollback\":{},\"places\":[", session.trim_end_matches('}'))));
        list(&mut pieces, newest.iter().map(|at| Piece::Place(*at)));
        if !others.is_empty() {
            pieces.push(Piece::Text("],\"others\":[".to_owned()));
            list(&mut pieces, others.into_iter().map(Piece::Other));
        }
        pieces.push(Piece::Text("]".to_owned()));
        if controls != Controls::default() {
            pieces.push(Piece::Text(format!(",\"controls\":{}", json!(controls))));
        }
        pieces.push(Piece::Text("}}\n".to_owned()));
        pieces
    }

    /// The messages of the newest branch, and the others that are written.
    fn divided(&self) -> (Vec<usize>, Vec<usize>) {
        let on_paths = self.on_paths();
        let newest = self.newest().map(|newest| self.full_path(newest)).unwrap_or_default();
        let newest: HashSet<MessageId> = newest.iter().map(|stored| stored.id).collect();
        // Where nothing was said but instructions, those are all there is.
        let is_wanted = |owner: MessageId| on_paths.contains(&owner) || self.find(owner).is_none();
        let is_written = |at: &usize| on_paths.is_empty() || self.owners[*at].is_none_or(is_wanted);
        let is_newest = |at: &usize| newest.is_empty() || newest.contains(&self.all[*at].id);
        (0..self.all.len()).filter(is_written).partition(is_newest)
    }

    fn text(&self, piece: Piece) -> String {
        let written = |placed: Placed<'_>| serde_json::to_string(&placed).expect("plain fields are valid JSON");
        match piece {
            Piece::Text(text) => text,
            Piece::Message(at) => flat(self.all[at].raw.get()).into_owned(),
            Piece::Place(at) => written(self.placed(at)),
            Piece::Other(at) => {
                let placed = self.placed(at);
                let message = placed.exact.is_none().then(|| Cow::Borrowed(&*self.all[at].raw));
                written(Placed { message, ..placed })
            }
        }
    }

    fn placed(&self, at: usize) -> Placed<'_> {
        let stored = &self.all[at];
        let (beside, follows) = match stored.place {
            Place::Path(_) => (None, self.before(stored)),
            // What it stood in for is lost.
            Place::Beside(Beside::Overlay(over)) if self.find(over).is_none() => (Some(Beside::Insert), None),
            Place::Beside(why) if stored.parent.is_none() => (Some(why), None),
            // Reasoning follows what the message follows that it led to.
            Place::Beside(why) => {
                let owner = self.owners[at].and_then(|owner| self.find(owner));
                (Some(why), owner.and_then(|owner| self.before(owner)))
            }
        };
        let exact = Some(stored.raw.get()).filter(|raw| is_broken(raw)).map(Cow::Borrowed);
        let follows = follows.map(|follows| follows.id);
        Placed { id: stored.id, at: Some(stored.at), follows, beside, message: None, exact }
    }
}

fn list(pieces: &mut Vec<Piece>, all: impl Iterator<Item = Piece>) {
    for (at, piece) in all.enumerate() {
        if at > 0 {
            pieces.push(Piece::Text(",".to_owned()));
        }
        pieces.push(piece);
    }
}

fn is_broken(raw: &str) -> bool {
    raw.contains(['\n', '\r'])
}

/// JSON on one line. A line break in it is always space between tokens; inside a string it is written as an escape.
fn flat(raw: &str) -> Cow<'_, str> {
    if is_broken(raw) { raw.replace(['\n', '\r'], " ").into() } else { raw.into() }
}
