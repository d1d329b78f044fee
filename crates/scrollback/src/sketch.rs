//! A window as text, one line a block: for snapshots in tests, for `scrollback window`, for people.

use std::fmt::Write;

use crate::window::{Block, Window, grouped};

/// How much of a caption is shown.
const CAPTION_COLUMNS: usize = 52;

/// Draws a window.
pub fn sketch(window: &Window) -> String {
    let mut out = String::new();
    for block in window.blocks() {
        let caption = fitted(&block.caption, CAPTION_COLUMNS);
        let (numbers, role) = (numbers(block), fitted(&block.role, 10));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{numbers:<9} {role} {caption} {:>7}", grouped(block.tokens));
    }
    let (count, tokens, budget) = (window.blocks().len(), grouped(window.tokens()), grouped(window.budget().tokens));
    let lost = match window.lost() {
        0 => "nothing lost".to_owned(),
        lost => format!("{} lost", grouped(lost)),
    };
    let _ = write!(out, "{count} blocks, {tokens} of {budget} tokens, {lost}");
    out
}

fn numbers(block: &Block) -> String {
    match (block.covers, block.message) {
        (Some(covers), _) if covers.first == covers.last => covers.first.0.to_string(),
        (Some(covers), _) => format!("{}–{}", covers.first.0, covers.last.0),
        (None, Some(id)) => id.0.to_string(),
        (None, None) => String::new(),
    }
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
