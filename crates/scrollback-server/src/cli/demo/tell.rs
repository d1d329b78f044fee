//! How the demo speaks: few words, headings, and lines that fit in 80 columns.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use scrollback::sketch::{line_within, summary};
use scrollback::window::Window;

use super::super::{bold, say, shortened};

/// How wide the text is.
const COLUMNS: usize = 79;
/// How many lines of a sketch are shown at its head and at its end.
const SKETCHED: usize = 4;

/// What writes, above a bar that shows how far the conversation has come.
pub(super) struct Teller {
    bar: ProgressBar,
}

impl Teller {
    pub(super) fn new(turns: usize) -> Self {
        if !std::io::stdout().is_terminal() {
            return Self { bar: ProgressBar::hidden() };
        }
        let bar = ProgressBar::new(turns as u64).with_message("playing");
        let style = ProgressStyle::with_template("{msg} {bar:40} turn {pos} of {len}");
        Self { bar: style.map_or_else(|_| bar.clone(), |style| bar.clone().with_style(style)) }
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

    pub(super) fn say(&self, text: &str) -> anyhow::Result<()> {
        self.bar.suspend(|| say(text))
    }

    pub(super) fn heading(&self, text: &str) -> anyhow::Result<()> {
        let (on, off) = bold();
        self.say(&format!("\n{on}{text}{off}"))
    }

    /// A long text, line by line between margins.
    pub(super) fn wrapped(&self, text: &str, margin: &str) -> anyhow::Result<()> {
        text.lines().flat_map(|line| wrap(line, COLUMNS - margin.len())).try_for_each(|line| {
            let line = format!("{margin}{line}");
            self.say(line.trim_end())
        })
    }

    /// A window, its middle left out.
    pub(super) fn sketch(&self, window: &Window) -> anyhow::Result<()> {
        let lines: Vec<String> = window.blocks().iter().map(|block| line_within(block, COLUMNS - 2)).collect();
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
        self.say(&format!("{}{}", &text[..indent], shortened(text, COLUMNS - indent)))
    }
}

/// Parts a line where words end; characters of languages without spaces may stand at any end.
fn wrap(line: &str, columns: usize) -> Vec<String> {
    let (mut lines, mut now, mut used) = (Vec::new(), String::new(), 0);
    for word in words(line) {
        let width: usize = word.chars().map(|c| if c.is_ascii() { 1 } else { wide(c) }).sum();
        if used + width > columns && !now.is_empty() {
            lines.push(std::mem::take(&mut now).trim_end().to_owned());
            used = 0;
        }
        if !(now.is_empty() && word == " ") {
            now.push_str(word);
            used += width;
        }
    }
    lines.push(now);
    lines
}

fn wide(c: char) -> usize {
    let punctuation = ('\u{3000}'..='\u{303F}').contains(&c) || ('\u{FF00}'..='\u{FF60}').contains(&c);
    if scrollback::search::is_unspaced(c) || punctuation { 2 } else { 1 }
}

/// Words, spaces and single characters of languages without spaces.
fn words(line: &str) -> Vec<&str> {
    let (mut words, mut start) = (Vec::new(), 0);
    for (at, c) in line.char_indices() {
        let ends = c == ' ' || wide(c) == 2;
        if ends {
            words.extend((start < at).then(|| &line[start..at]));
            words.push(&line[at..at + c.len_utf8()]);
            start = at + c.len_utf8();
        }
    }
    words.extend((start < line.len()).then(|| &line[start..]));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_between_words_and_wide_characters() {
        assert_eq!(wrap("the key hangs behind", 9), ["the key", "hangs", "behind"]);
        assert_eq!(wrap("茶叶罐在 2F 书柜", 8), ["茶叶罐在", "2F 书柜"]);
    }
}
