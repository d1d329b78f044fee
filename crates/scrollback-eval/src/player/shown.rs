//! What a window holds.

use std::collections::{BTreeMap, BTreeSet};

use scrollback::MessageId;
use scrollback::recall::Heading;
use scrollback::window::{Body, Window};

/// What a window holds, message by message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Messages that are shown as they came.
    pub whole: BTreeSet<MessageId>,
    /// Messages that a note quotes, with what stands under their headings.
    pub quoted: BTreeMap<MessageId, String>,
    /// What all of it costs, notes included.
    pub tokens: u32,
}

impl Shown {
    /// What a window holds.
    pub fn of(window: &Window) -> Self {
        let mut shown = Self { tokens: window.tokens(), ..Self::default() };
        for block in window.blocks() {
            match &block.body {
                Body::Original(stored) | Body::Whole(stored, _) => drop(shown.whole.insert(stored.id)),
                Body::Note(ours) => shown.quoted.extend(quotes(&ours.text)),
                Body::Held(..) | Body::Round(_) | Body::Nothing(_) => {}
            }
        }
        shown
    }

    /// Whether it holds a message word for word.
    pub fn holds(&self, id: MessageId, text: &str) -> bool {
        self.whole.contains(&id) || self.quoted.get(&id).is_some_and(|quoted| quoted.contains(text.trim()))
    }
}

/// What a note quotes: everything under a heading, or under several in a row, up to the next.
fn quotes(note: &str) -> BTreeMap<MessageId, String> {
    let (mut quotes, mut current, mut is_heading) = (BTreeMap::<MessageId, String>::new(), Vec::new(), false);
    for line in note.lines() {
        if let Some(heading) = Heading::read(line) {
            if !std::mem::replace(&mut is_heading, true) {
                current.clear();
            }
            current.push(heading.id);
            continue;
        }
        is_heading = false;
        for id in &current {
            let quote = quotes.entry(*id).or_default();
            quote.push_str(line);
            quote.push('\n');
        }
    }
    quotes
}

/// The oldest message of the path that a window shows; what is older is folded or dropped.
pub fn oldest(window: &Window) -> Option<MessageId> {
    let on_path = window.blocks().iter().filter(|block| block.covers.is_some());
    on_path.filter_map(|block| block.message()).map(|stored| stored.id).min()
}

/// Whether words stand anywhere in a window, in a message or in a note.
pub fn says(window: &Window, words: &str) -> bool {
    window.blocks().iter().any(|block| match &block.body {
        Body::Original(stored) | Body::Whole(stored, _) => stored.message().to_text().contains(words),
        Body::Held(..) | Body::Round(_) | Body::Note(_) | Body::Nothing(_) => block.text().contains(words),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_read_from_under_their_headings() {
        let note = "<topics-01234567>\nEarlier\n[m3 user 2026-03-01T09:30:00Z]\nfirst\nsecond\n\
                    [m9 assistant 2026-03-01T09:31:00Z]\n[m12]\nthird\n</topics-01234567>";
        let shown = Shown { quoted: quotes(note), ..Shown::default() };
        assert!(shown.holds(MessageId(3), "first\nsecond\n") && shown.holds(MessageId(9), "third"));
        assert!(shown.holds(MessageId(12), "third") && !shown.holds(MessageId(3), "third"), "said twice");
        assert!(!shown.holds(MessageId(3), "third") && !shown.holds(MessageId(4), "first"));
    }
}
