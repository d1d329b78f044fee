//! Texts of ours in a window, and what they tell.

use std::sync::Arc;

use crate::ids::MessageId;
use crate::note::{Fold, Lists};
use crate::strategy::KeptWords;

/// A text of ours.
#[derive(Clone, Debug)]
pub struct Ours {
    /// The text.
    pub text: Arc<str>,
    /// What it tells.
    pub tells: Tells,
}

/// What a text of ours tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tells {
    /// It lists so many pages.
    Pages(usize),
    /// It lists so many topics.
    Topics(u32),
    /// It shows so many documents.
    Documents(u32),
    /// It sums up everything to this message.
    Summary(MessageId),
    /// It says what is kept however old it is.
    Kept(KeptWords),
    /// It quotes messages word for word.
    Quotes {
        /// From so many topics; none where they were found one by one.
        topics: usize,
        /// So many.
        messages: usize,
    },
}

impl Tells {
    /// What the text of a fold tells.
    pub(super) fn of(fold: &Fold) -> Self {
        match (&fold.summary, fold.lists) {
            (Some(summary), _) => Self::Summary(summary.covers.last),
            (None, Lists::Pages) => Self::Pages(fold.listed.len()),
            (None, Lists::Topics(count)) => Self::Topics(count),
            (None, Lists::Documents(count)) => Self::Documents(count),
        }
    }

    /// In a word.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Pages(_) | Self::Topics(_) => "contents",
            Self::Documents(_) => "documents",
            Self::Summary(_) => "summary",
            Self::Kept(_) => "kept",
            Self::Quotes { .. } => "topics",
        }
    }
}
