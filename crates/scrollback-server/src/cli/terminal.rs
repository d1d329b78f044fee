//! The one way to whoever looks: everything that is printed passes here. Where that is a terminal, stored words may not
//! steer it, and lines are as wide as it is; where it is a pipe or a file, not a byte is changed.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

/// What emphasis begins and ends with until it is written. Unicode keeps these characters for the inside of programs,
/// so that ours can be told from escapes that somebody else said; in words of theirs they are bold at worst.
const MARKS: [(char, &str); 4] =
    [('\u{FDD0}', "\u{1b}[1m"), ('\u{FDD1}', "\u{1b}[31m"), ('\u{FDD2}', "\u{1b}[32m"), ('\u{FDD3}', "\u{1b}[0m")];

/// Lines are not made narrower than this.
const LEAST: usize = 10;

/// Says something to the person.
pub(crate) fn talk(text: &str) {
    let is_terminal = std::io::stderr().is_terminal();
    talk_styled(&if is_terminal { written(text).into() } else { Cow::Borrowed(text) });
}

/// Says something that has its colours already: whoever calls has seen to the words in it.
pub(super) fn talk_styled(text: &str) {
    // If even stderr is gone there is nobody to tell.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Writes a line of output.
pub(super) fn say(text: impl std::fmt::Display) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout().lock(), "{}", shown(&text.to_string()))?)
}

/// Writes a JSON value on a line.
pub(super) fn say_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    say(serde_json::to_string(value)?)
}

/// A text as standard output gets it.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    if std::io::stdout().is_terminal() { written(text).into() } else { text.into() }
}

/// Words for a terminal: nothing in them may steer it.
pub(super) fn harmless(text: &str) -> String {
    text.chars().filter(|c| !steers(*c)).collect()
}

/// The same, with the emphasis that we put there.
fn written(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !steers(*c)) {
        match MARKS.iter().find(|(mark, _)| *mark == c) {
            Some((_, code)) => out.push_str(code),
            None => out.push(c),
        }
    }
    out
}

/// Whether a character moves the cursor, colours, rings or turns the direction of what follows.
fn steers(c: char) -> bool {
    let is_turning = matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    is_turning || c.is_control() && !matches!(c, '\n' | '\t')
}

/// Bold where a person looks at a terminal, plain elsewhere: what it begins and ends with.
pub(super) fn bold() -> (&'static str, &'static str) {
    emphasis("\u{FDD0}")
}

/// The same for what was taken away.
pub(super) fn red() -> (&'static str, &'static str) {
    emphasis("\u{FDD1}")
}

/// And for what was added.
pub(super) fn green() -> (&'static str, &'static str) {
    emphasis("\u{FDD2}")
}

fn emphasis(mark: &'static str) -> (&'static str, &'static str) {
    if is_coloured(std::io::stdout().is_terminal()) { (mark, "\u{FDD3}") } else { ("", "") }
}

/// Whether what is shown may have colours and weights: where a terminal shows them, unless somebody wants none.
pub(super) fn is_coloured(seen: bool) -> bool {
    seen && takes_colours(|name| std::env::var_os(name))
}

fn takes_colours(set: impl Fn(&str) -> Option<OsString>) -> bool {
    let is_dumb = set("TERM").is_none_or(|term| term == "dumb");
    !is_dumb && set("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// How wide the terminal is now; `None` if there is none, or it does not say.
pub(super) fn columns() -> Option<usize> {
    Table::new().width().filter(|columns| *columns > 0).map(usize::from)
}

/// How many columns a character takes.
pub(super) fn columns_of(c: char) -> usize {
    if u32::from(c) >= 0x1100 && !('\u{2000}'..='\u{2E7F}').contains(&c) { 2 } else { 1 }
}

/// A text on one line, cut if it takes more columns; wide characters take two.
pub(super) fn shortened(text: &str, columns: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let all: usize = line.chars().map(columns_of).sum();
    if all <= columns {
        return line;
    }
    let mut room = columns - 1;
    let fitting = line.chars().take_while(|c| {
        let fits = columns_of(*c) <= room;
        room = room.saturating_sub(columns_of(*c));
        fits
    });
    fitting.chain(['…']).collect()
}

/// Writes a line; where it is wider than the terminal it goes on below.
pub(super) fn say_fitted(line: &str) -> anyhow::Result<()> {
    say(fitted(line, columns().unwrap_or(usize::MAX)).join("\n"))
}

/// A line in as many as it takes, each behind the same margin.
pub(super) fn fitted(line: &str, columns: usize) -> Vec<String> {
    if line.chars().map(columns_of).sum::<usize>() <= columns {
        return vec![line.to_owned()];
    }
    let words = line.trim_start();
    let margin = &line[..line.len() - words.len()];
    let parts = wrap(words, columns.saturating_sub(margin.len()).max(LEAST));
    parts.into_iter().map(|part| format!("{margin}{part}")).collect()
}

/// Parts a line where words end; characters of languages without spaces may stand at any end.
pub(super) fn wrap(line: &str, columns: usize) -> Vec<String> {
    let (mut lines, mut now, mut used) = (Vec::new(), String::new(), 0);
    for word in words(line) {
        let width: usize = word.chars().map(columns_of).sum();
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

fn stands_alone(c: char) -> bool {
    let punctuation = ('\u{3000}'..='\u{303F}').contains(&c) || ('\u{FF00}'..='\u{FF60}').contains(&c);
    scrollback::search::is_unspaced(c) || punctuation
}

/// Words, spaces and single characters of languages without spaces.
fn words(line: &str) -> Vec<&str> {
    let (mut words, mut start) = (Vec::new(), 0);
    for (at, c) in line.char_indices() {
        let ends = c == ' ' || stands_alone(c);
        if ends {
            words.extend((start < at).then(|| &line[start..at]));
            words.push(&line[at..at + c.len_utf8()]);
            start = at + c.len_utf8();
        }
    }
    words.extend((start < line.len()).then(|| &line[start..]));
    words
}

/// A table without borders; some of its columns hold numbers. Those, and the first, which tells rows apart, are never
/// parted.
pub(super) fn table(head: &[&str], numbers: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(head);
    if let Some(columns) = columns() {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::try_from(columns).unwrap_or(u16::MAX));
    }
    for column in [0].iter().chain(numbers) {
        if let Some(column) = table.column_mut(*column) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    for column in numbers {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_do_not_steer() {
        let said = "a\u{1b}[31mb\u{7}\0\r\u{9b}c\u{202e}d\u{2066}e\u{2069}\tf\n外婆é";
        assert_eq!(harmless(said), "a[31mbcde\tf\n外婆é");
        assert_eq!(written(said), harmless(said));
    }

    #[test]
    fn our_own_emphasis_is_kept() {
        assert_eq!(written("\u{FDD0}a\u{1b}[5m\u{FDD3}b"), "\u{1b}[1ma[5m\u{1b}[0mb");
    }

    #[test]
    fn who_wants_no_colours_gets_none() {
        let takes = |term: Option<&str>, plain: Option<&str>| {
            takes_colours(|name| if name == "TERM" { term } else { plain }.map(OsString::from))
        };
        assert!(takes(Some("xterm"), None) && takes(Some("xterm"), Some("")));
        assert!(!takes(Some("xterm"), Some("1")) && !takes(Some("dumb"), None) && !takes(None, None));
    }

    #[test]
    fn lines_end_between_words_and_wide_characters() {
        assert_eq!(wrap("the key hangs behind", 9), ["the key", "hangs", "behind"]);
        assert_eq!(wrap("茶叶罐在 2F 书柜", 8), ["茶叶罐在", "2F 书柜"]);
    }

    #[test]
    fn what_goes_on_below_keeps_its_margin() {
        assert_eq!(fitted("  the key hangs behind", 13), ["  the key", "  hangs", "  behind"]);
        assert_eq!(fitted("  the key", 13), ["  the key"]);
    }
}
