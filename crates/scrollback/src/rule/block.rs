//! Blocks that programs put among a person's words, `<name …>` to `</name>`: our own records and those of whatever
//! client there is.
//!
//! Whatever its name, what begins a line is a block, and so is what a line opens and a later one ends. What is left are
//! signs that people write in a sentence: `Option<T>`, `<name>` for a name to be put in, `<b>` around a word.

use std::collections::HashMap;

/// Blocks that are known to be a program's wherever they stand, beside our own records.
const PROGRAMS: [&str; 5] =
    ["system-reminder", "environment_context", "user_instructions", "local-command-stdout", "command-message"];
/// Marks that people put around words of a sentence.
const INLINE: [&str; 12] = ["a", "b", "code", "del", "em", "i", "kbd", "s", "strong", "sub", "sup", "u"];
/// Marks that have no end.
const ENDLESS: [&str; 4] = ["br", "hr", "img", "wbr"];

/// Where in a text each name ends for the last time.
pub(super) struct Ends<'a>(HashMap<&'a str, usize>);

impl<'a> Ends<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let ends = text.match_indices("</").filter_map(|(at, _)| {
            let rest = &text[at + 2..];
            let name = name(rest)?;
            rest[name.len()..].starts_with('>').then_some((name, at))
        });
        Self(ends.collect())
    }

    fn is_after(&self, name: &str, at: usize) -> bool {
        self.0.get(name).is_some_and(|end| *end > at)
    }
}

/// What a line has of blocks.
pub(super) struct Blocks<'a> {
    /// Whether there is any, be it only its beginning.
    pub(super) any: bool,
    /// The block that the line begins and does not end.
    pub(super) open: Option<&'a str>,
}

/// The blocks in the rest of a line that begins somewhere in its text.
pub(super) fn blocks<'a>(line: &'a str, from: usize, at: usize, ends: &Ends<'_>) -> Blocks<'a> {
    let (mut any, mut from) = (false, from);
    while let Some(open) = line[from..].find('<').map(|open| from + open) {
        let inside = &line[open + 1..];
        from = open + 1;
        let Some(name) = opened(inside) else { continue };
        from += name.len();
        let begins = line[..open].trim().is_empty();
        let closed = if ends.is_after(name, at + open) { end_in(&line[from..], name) } else { None };
        match closed {
            Some(_) if INLINE.contains(&name) => {}
            Some(end) => (any, from) = (true, from + end),
            None if ENDLESS.contains(&name) => {}
            None if ends_itself(inside) => any |= begins,
            None if begins || is_known(name) || ends.is_after(name, at + open) => {
                return Blocks { any: true, open: Some(name) };
            }
            None => {}
        }
    }
    Blocks { any, open: None }
}

/// Where in a line a block has ended.
pub(super) fn end_in(line: &str, name: &str) -> Option<usize> {
    let end = format!("</{name}>");
    line.find(&end).map(|at| at + end.len())
}

/// What of a line stands outside of programs' blocks, where `open` goes on from the line before; and the block that
/// goes on after it. Here a block has an end, and is known or begins a line: what is left is shown, so that nothing of
/// a person's may be lost.
pub(super) fn outside<'a>(
    line: &'a str,
    at: usize,
    ends: &Ends<'_>,
    mut open: Option<&'a str>,
) -> (String, Option<&'a str>) {
    let (mut said, mut from) = (String::new(), 0);
    loop {
        if let Some(name) = open {
            let Some(end) = end_in(&line[from..], name) else { return (said, open) };
            from += end;
        }
        let Some((begin, name)) = closing_block(line, from, at, ends) else {
            said.push_str(&line[from..]);
            return (said, None);
        };
        said.push_str(&line[from..begin]);
        (from, open) = (begin + 1 + name.len(), Some(name));
    }
}

/// Where in the rest of a line the next such block begins, and its name.
fn closing_block<'a>(line: &'a str, from: usize, at: usize, ends: &Ends<'_>) -> Option<(usize, &'a str)> {
    let signs = line[from..].match_indices('<').map(|(sign, _)| from + sign);
    let mut named = signs.filter_map(|sign| Some((sign, opened(&line[sign + 1..])?)));
    named.find(|(sign, name)| {
        let begins = line[from..*sign].trim().is_empty() && !INLINE.contains(name);
        (begins || is_known(name)) && ends.is_after(name, at + sign)
    })
}

/// The name of a block, if what stands after `<` begins one.
fn opened(inside: &str) -> Option<&str> {
    let name = name(inside)?;
    let next = inside[name.len()..].chars().next();
    next.is_none_or(|next| next.is_whitespace() || matches!(next, '>' | '/')).then_some(name)
}

/// The name that a text begins with.
fn name(text: &str) -> Option<&str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    let name = &text[..text.find(|c| !is_part(c)).unwrap_or(text.len())];
    // An address such as `<https://example.org>` is none.
    (name.starts_with(char::is_alphabetic) && !name.ends_with(':')).then_some(name)
}

/// Whether a block has no inside: `<name … />`.
fn ends_itself(inside: &str) -> bool {
    inside.find('>').is_some_and(|end| inside[..end].ends_with('/'))
}

/// Whether a block is a known program's, or a record of ours.
fn is_known(name: &str) -> bool {
    let is_ours = name.rsplit_once('-').is_some_and(|(kind, tag)| {
        let is_tag = tag.len() == 8 && tag.chars().all(|c| c.is_ascii_hexdigit());
        is_tag && !kind.is_empty() && kind.chars().all(|c| c.is_ascii_lowercase())
    });
    is_ours || PROGRAMS.contains(&name)
}
