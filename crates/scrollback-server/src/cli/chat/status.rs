//! The line after a reply: the window as a bar, to scale, and what it took.

use scrollback::window::grouped;
use serde::Deserialize;

use super::screen::{columns_of, painted};
use crate::cli::{counted, shortened};

/// The widest and the narrowest bar.
const BAR: (usize, usize) = (24, 8);

/// What a reply took.
#[derive(Debug, Deserialize)]
pub(super) struct Status {
    pub(super) view: String,
    tokens: u32,
    budget: u32,
    layout: String,
    recalls: Vec<String>,
    cost: Option<f64>,
    kinds: Kinds,
    #[serde(default)]
    pub(super) model: String,
}

/// What a window was made of, in tokens.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Kinds {
    instructions: u32,
    contents: u32,
    kept: u32,
    topics: u32,
    open: u32,
    current: u32,
    held: u32,
    recalled: u32,
    reasoning: u32,
}

/// How a stretch of the bar is drawn: what is there word for word, what stands for something, what was brought back.
const WORDS: char = '█';
const NOTES: char = '▓';
const RECALLED: char = '▒';
const FREE: char = '░';

impl Kinds {
    /// In the order of a window: how many tokens, drawn how, in which colour.
    fn drawn(&self) -> [(u32, char, &'static str); 9] {
        [
            (self.instructions, WORDS, "34"),
            (self.contents, NOTES, "35"),
            (self.kept, WORDS, "33"),
            (self.topics, NOTES, "36"),
            (self.reasoning, WORDS, "90"),
            (self.held, NOTES, "33"),
            (self.open, WORDS, "32"),
            (self.current, WORDS, "92"),
            (self.recalled, RECALLED, "95"),
        ]
    }
}

impl Status {
    /// The line, within so many columns.
    pub(super) fn line(&self, columns: usize, colour: bool) -> String {
        let told = self.told(columns.saturating_sub(BAR.1 + 3));
        let room = columns.saturating_sub(columns_of(&told) + 3).clamp(BAR.1, BAR.0);
        format!("▕{}▏{}", self.bar(room, colour), painted(&format!(" {told}"), "2", colour))
    }

    /// In words, as much as there is room for; what matters least goes first.
    fn told(&self, room: usize) -> String {
        let size = format!("{} of {}", grouped(self.tokens), grouped(self.budget));
        let strategy = self.layout.split('@').next().unwrap_or_default().to_owned();
        let recalls = Some(counted(self.recalls.len() as u64, "recall")).filter(|_| !self.recalls.is_empty());
        let cost = self.cost.filter(|dollars| *dollars > 0.0).map(|dollars| format!("${dollars:.4}"));
        let mut told = [Some(size), Some(strategy), Some(self.model.clone()), recalls, cost];
        for gone in [None, Some(1), Some(2), Some(3), Some(4)] {
            if let Some(gone) = gone {
                told[gone] = None;
            }
            let line = told.iter().flatten().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(" · ");
            if columns_of(&line) <= room {
                return line;
            }
        }
        shortened(told[0].as_deref().unwrap_or_default(), room.max(2))
    }

    /// The window to scale.
    fn bar(&self, cells: usize, colour: bool) -> String {
        let whole = u64::from(self.budget.max(self.tokens).max(1));
        let drawn = self.kinds.drawn();
        (0..cells as u64).map(|cell| (2 * cell + 1) * whole / (2 * cells as u64)).fold(String::new(), |bar, middle| {
            let mut end = 0;
            let kind = drawn.iter().find(|(tokens, ..)| {
                end += u64::from(*tokens);
                middle < end
            });
            let (glyph, code) = kind.map_or((FREE, "2"), |(_, glyph, code)| (*glyph, *code));
            bar + &painted(&glyph.to_string(), code, colour)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        let kinds =
            Kinds { instructions: 100, contents: 300, open: 400, current: 100, recalled: 100, ..Kinds::default() };
        Status {
            view: "v12".into(),
            tokens: 1_000,
            budget: 2_000,
            layout: "pages@3000".into(),
            recalls: vec!["recall_page(4)".into(), "recall_page(9)".into()],
            cost: Some(0.001_04),
            kinds,
            model: "gpt-5".into(),
        }
    }

    #[test]
    fn the_bar_is_to_scale_and_says_what_it_took() {
        let line = status().line(80, false);
        assert_eq!(line, "▕█▓▓▓▓██████▒░░░░░░░░░░░░▏ 1,000 of 2,000 · pages · gpt-5 · 2 recalls · $0.0010");
    }

    #[test]
    fn it_fits_the_terminal_and_drops_what_matters_least() {
        for columns in 30..120 {
            let line = status().line(columns, false);
            assert!(columns_of(&line) <= columns, "{columns}: {line}");
            assert!(line.contains("1,000 of 2,000"), "{columns}: {line}");
        }
        assert!(status().line(60, false).ends_with("gpt-5 · 2 recalls · $0.0010"));
        assert!(status().line(40, false).ends_with("2,000 · $0.0010"));
    }

    #[test]
    fn colours_are_for_terminals_alone() {
        assert!(!status().line(80, false).contains('\u{1b}'));
        assert!(status().line(80, true).contains("\u{1b}[35m▓\u{1b}[0m"));
    }

    #[test]
    fn a_window_larger_than_its_budget_is_drawn_full() {
        let full = Status { budget: 500, ..status() };
        assert!(!full.line(80, false).contains(FREE));
    }
}
