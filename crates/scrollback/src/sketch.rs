//! A window as text, one line a block: for snapshots in tests, for `scrollback show --view`, for people.

use std::fmt::Write;

use crate::strategy::KeptWords;
use crate::window::{Block, Body, Ours, Tells, Window, grouped};

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
    let missing: u32 = window.blocks().iter().map(rules_missing).sum();
    let rules = if missing > 0 { format!("\n{} more rules do not fit", grouped(missing)) } else { String::new() };
    format!("{blocks}, {tokens} of {budget} tokens, {lost}{rules}")
}

fn rules_missing(block: &Block) -> u32 {
    match &block.body {
        Body::Note(Ours { tells: Tells::Kept(words), .. }) => words.rules_missing,
        Body::Note(_) | Body::Original(_) | Body::Held(..) | Body::Whole(..) | Body::Round(_) | Body::Nothing(_) => 0,
    }
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
        Body::Nothing(stored) => format!("left out · {}", flat(&stored.message().to_text())),
        Body::Note(ours) => told(&ours.tells),
    }
}

/// What a text of ours tells, in one line.
fn told(tells: &Tells) -> String {
    match tells {
        Tells::Pages(count) => format!("contents · {} listed, all found by search", counted(*count, "page")),
        Tells::Topics(count) => format!("index · {} listed, all found by search", counted(*count as usize, "topic")),
        Tells::Documents(count) => {
            format!("{} · every source found by search", counted(*count as usize, "artifact"))
        }
        Tells::Summary(last) => format!("s{} · expand_summary shows what it was made from", last.0),
        Tells::Kept(KeptWords { rules, pinned, earlier, .. }) => {
            let earlier = if earlier.is_empty() { String::new() } else { format!(" · earlier {}", earlier.len()) };
            format!("rules {} · pins {}{earlier} · word for word", rules.len(), pinned.len())
        }
        Tells::Quotes { topics, messages } => {
            let of = if *topics > 0 { format!("{} · ", counted(*topics, "topic")) } else { String::new() };
            format!("{of}{} quoted word for word", counted(*messages, "message"))
        }
    }
}

/// A count with its noun: "1 block", "2 blocks".
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
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
