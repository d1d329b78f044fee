//! A window as text, one line a block: for snapshots in tests, for `scrollback show --view`, for people.

use std::fmt::Write;

use crate::recall::{Heading, Piece, pieces};
use crate::strategy::rules_missing;
use crate::window::{Block, Body, Reason, Window, grouped};

/// How much of a caption is shown.
const CAPTION_COLUMNS: usize = 52;
/// How many columns stand around it.
const AROUND_CAPTION: usize = 29;

/// Draws a window.
pub fn sketch(window: &Window) -> String {
    let mut out = String::new();
    for block in window.blocks() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", line(block));
    }
    out + &summary(window)
}

/// What a window comes to, in a line.
pub fn summary(window: &Window) -> String {
    let (blocks, tokens, budget) =
        (counted(window.blocks().len(), "block"), grouped(window.tokens()), grouped(window.budget().tokens));
    let lost = match window.lost() {
        0 => "nothing lost".to_owned(),
        lost => format!("{} lost", grouped(lost)),
    };
    let mut kept = window.blocks().iter().filter(|block| block.reason == Reason::Kept);
    let rules = kept.find_map(|block| rules_missing(block.text()));
    let rules = rules.map(|count| format!("\n{count} more rules do not fit")).unwrap_or_default();
    format!("{blocks}, {tokens} of {budget} tokens, {lost}{rules}")
}

/// Draws a block.
pub fn line(block: &Block) -> String {
    captioned(block, CAPTION_COLUMNS)
}

/// Draws a block where there are fewer columns.
pub fn line_within(block: &Block, columns: usize) -> String {
    captioned(block, columns.saturating_sub(AROUND_CAPTION).clamp(8, CAPTION_COLUMNS))
}

fn captioned(block: &Block, columns: usize) -> String {
    let (numbers, role) = (numbers(block), fitted(block.speaker(), 10));
    format!("{numbers:<9} {role} {} {:>7}", fitted(&caption(block), columns), grouped(block.tokens))
}

fn numbers(block: &Block) -> String {
    match (block.covers, block.message()) {
        (Some(covers), _) if covers.first == covers.last => covers.first.0.to_string(),
        (Some(covers), _) => format!("{}–{}", covers.first.0, covers.last.0),
        (None, Some(stored)) => stored.id.0.to_string(),
        (None, None) => String::new(),
    }
}

/// What a block says, in one line for people.
pub fn caption(block: &Block) -> String {
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    match &block.body {
        Body::Original(stored) | Body::Whole(stored, _) => flat(&stored.message().to_text()),
        Body::Held(stored, _) => {
            format!("held h{} · {} tokens · load_tool_history", stored.id.0, grouped(stored.measure.tokens))
        }
        Body::Round(raw) => flat(&crate::Message::new(raw.clone()).to_text()),
        Body::Note(text) if block.reason == Reason::Relevant => {
            let topics = text.lines().filter(|line| line.starts_with("[t") && line.contains(" · relevance ")).count();
            let quoted = text.lines().filter(|line| Heading::read(line).is_some()).count();
            let of = if topics > 0 { format!("{} · ", counted(topics, "topic")) } else { String::new() };
            format!("{of}{} quoted word for word", counted(quoted, "message"))
        }
        Body::Nothing(stored) => format!("left out · {}", flat(&stored.message().to_text())),
        Body::Note(text) if block.reason == Reason::Kept => {
            let [rules, pins, earlier] = kept(text);
            let earlier = if earlier > 0 { format!(" · earlier {earlier}") } else { String::new() };
            format!("rules {rules} · pins {pins}{earlier} · word for word")
        }
        Body::Note(text) if text.starts_with("<summary-") => {
            let name = text.lines().find_map(|line| line.strip_prefix("Summary ")).unwrap_or_default();
            format!("{name} · expand_summary shows what it was made from")
        }
        Body::Note(text) if text.starts_with("<artifacts-") => {
            let shown = text.lines().filter(|line| line.starts_with("[a")).count();
            format!("{} · every source found by search", counted(shown, "artifact"))
        }
        Body::Note(text) if text.starts_with("<topics-") => {
            let listed = text.lines().filter(|line| line.starts_with("[t")).count();
            format!("index · {} listed, all found by search", counted(listed, "topic"))
        }
        Body::Note(text) => {
            let listed = text.lines().filter(|line| line.starts_with("[#")).count();
            format!("contents · {} listed, all found by search", counted(listed, "page"))
        }
    }
}

/// A count with its noun: "1 block", "2 blocks".
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// How many rules, pinned messages and messages from earlier a text shows, each in its own fence.
fn kept(text: &str) -> [usize; 3] {
    let fenced = |wanted: &str, counts: fn(&str) -> bool| {
        let texts = pieces(text).into_iter().filter_map(|piece| match piece {
            Piece::Fenced { kind, text } if kind == wanted => Some(text),
            Piece::Fenced { .. } | Piece::Plain(_) => None,
        });
        texts.flat_map(str::lines).filter(|line| counts(line)).count()
    };
    let is_heading = |line: &str| Heading::read(line).is_some();
    [fenced("kept", |line| line.starts_with("[r")), fenced("pinned", is_heading), fenced("earlier", is_heading)]
}

/// A text cut or padded to a number of columns; wide characters take two.
fn fitted(text: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let width = if crate::search::is_unspaced(c) || is_wide(c) { 2 } else { 1 };
        if used + width > columns - 1 {
            out.push('…');
            used += 1;
            break;
        }
        out.push(c);
        used += width;
    }
    out + &" ".repeat(columns - used.min(columns))
}

fn is_wide(c: char) -> bool {
    matches!(u32::from(c), 0x3000..=0x303F | 0xFF00..=0xFF60 | 0x1F300..=0x1FAFF)
}
