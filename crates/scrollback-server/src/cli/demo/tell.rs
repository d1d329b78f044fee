//! How the demo speaks: few words, headings, and lines that fit in 80 columns.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use scrollback::sketch::{line_within, summary};
use scrollback::window::Window;

use super::super::terminal::{fitted, wrap};
use super::super::{bold, columns, say, shortened};

/// How wide the text is at most.
const COLUMNS: usize = 79;
/// And at least.
const LEAST: usize = 20;
/// How many lines of a sketch are shown at its head and at its end.
const SKETCHED: usize = 4;

/// What writes, above a bar that shows how far the conversation has come.
pub(super) struct Teller {
    bar: ProgressBar,
    columns: usize,
}

impl Teller {
    pub(super) fn new(turns: usize) -> Self {
        if !std::io::stdout().is_terminal() {
            return Self { bar: ProgressBar::hidden(), columns: COLUMNS };
        }
        let columns = columns().map_or(COLUMNS, |columns| columns.clamp(LEAST, COLUMNS));
        let bar = ProgressBar::new(turns as u64).with_message("playing");
        let style = ProgressStyle::with_template("{msg} {bar:40} turn {pos} of {len}");
        Self { bar: style.map_or_else(|_| bar.clone(), |style| bar.clone().with_style(style)), columns }
    }

    pub(super) fn turn(&self) {
        self.bar.inc(1);
    }

    pub(super) fn done(&self) {
        self.bar.finish_and_clear();
    }

    /// Whether somebody watches, and should be able to follow.
    pub(super) fn is_watched(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// Some lines; those that are wider than the terminal go on below, between words.
    pub(super) fn say(&self, text: &str) -> anyhow::Result<()> {
        let lines: Vec<String> = text.split('\n').flat_map(|line| fitted(line, self.columns)).collect();
        self.bar.suspend(|| say(lines.join("\n")))
    }

    pub(super) fn heading(&self, text: &str) -> anyhow::Result<()> {
        let (on, off) = bold();
        self.say(&format!("\n{on}{text}{off}"))
    }

    /// A long text, line by line between margins.
    pub(super) fn wrapped(&self, text: &str, margin: &str) -> anyhow::Result<()> {
        text.lines().flat_map(|line| wrap(line, self.columns - margin.len())).try_for_each(|line| {
            let line = format!("{margin}{line}");
            self.say(line.trim_end())
        })
    }

    /// A window, its middle left out.
    pub(super) fn sketch(&self, window: &Window) -> anyhow::Result<()> {
        let lines: Vec<String> = window.blocks().iter().map(|block| line_within(block, self.columns - 2)).collect();
        let between = lines.len().saturating_sub(2 * SKETCHED);
        for (i, line) in lines.iter().enumerate() {
            match i {
                SKETCHED if between > 1 => self.say(&format!("  … {between} more blocks"))?,
                _ if between > 1 && (SKETCHED..SKETCHED + between).contains(&i) => {}
                _ => self.say(&format!("  {line}"))?,
            }
        }
        self.say(&format!("  {}", summary(window)))
    }

    /// A line that is cut where the terminal ends.
    pub(super) fn cut(&self, text: &str) -> anyhow::Result<()> {
        let indent = text.len() - text.trim_start().len();
        self.say(&format!("{}{}", &text[..indent], shortened(text, self.columns - indent)))
    }
}
