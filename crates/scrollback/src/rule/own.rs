//! A person's own sentences: what is left of a text without code, quotations and records that programs put there.
//!
//! Each sentence is a slice of the text. Lines that were broken to a width are one sentence; a line that ends short
//! ends its sentence too.

use super::block::{Blocks, Ends, blocks, end_in, outside};
use crate::phrase::closing;

/// A line shorter than this was not broken to a width.
const BROKEN_CHARS: usize = 50;
/// What begins and ends a block of code.
const FENCES: [&str; 2] = ["```", "~~~"];
/// Words that end in a dot and no sentence.
const ABBREVIATED: [&str; 9] = ["e.g.", "i.e.", "etc.", "vs.", "mr.", "mrs.", "dr.", "no.", "approx."];

/// The sentences of a text that are its author's own, without the marks of lists.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for paragraph in paragraphs(text) {
        divide(paragraph, &mut found);
    }
    found
}

/// A text from somewhere within a line on, without the rest of the code that this is in. Blocks of programs are not
/// followed up to there.
pub(super) fn since(text: &str, from: usize) -> &str {
    let (before, rest) = text.split_at(from);
    let mut open: Option<&str> = None;
    for line in before.lines().map(str::trim_start) {
        open = match open {
            Some(mark) => Some(mark).filter(|mark| !line.starts_with(mark)),
            None => FENCES.into_iter().find(|mark| line.starts_with(mark)),
        };
    }
    let Some(mark) = open else { return rest };
    let mut lines = rest.split_inclusive('\n');
    let mut end = lines.next().map_or(0, str::len);
    for line in lines {
        end += line.len();
        if line.trim_start().starts_with(mark) {
            return &rest[end..];
        }
    }
    ""
}

/// A text without the blocks that programs put there. Code is as it came.
pub(super) fn without_blocks(text: &str) -> String {
    let ends = Ends::of(text);
    let (mut said, mut code, mut open, mut at) = (String::new(), None::<&str>, None::<&str>, 0);
    for line in text.split_inclusive('\n') {
        let mark = FENCES.into_iter().find(|mark| line.trim_start().starts_with(mark)).filter(|_| open.is_none());
        if code.is_some() || mark.is_some() {
            said.push_str(line);
            code = match code {
                None => mark,
                Some(_) if code == mark => None,
                Some(_) => code,
            };
        } else {
            let (own, now) = outside(line, at, &ends, open);
            said.push_str(&own);
            open = now;
        }
        at += line.len();
    }
    said
}

/// Where in a text we are.
#[derive(Clone, Copy)]
enum Inside<'a> {
    /// The author speaks.
    Own,
    /// Code, until a line begins with this.
    Code(&'static str),
    /// A block of a program, until the end of that name.
    Block(&'a str),
}

/// Runs of lines that belong together.
fn paragraphs(text: &str) -> Vec<&str> {
    let ends = Ends::of(text);
    let (mut inside, mut found, mut start, mut at) = (Inside::Own, Vec::new(), None::<usize>, 0);
    for line in text.split_inclusive('\n') {
        let was_own = matches!(inside, Inside::Own);
        let (now, own) = after(inside, line, at, &ends);
        inside = now;
        let speaks = was_own && own && matches!(inside, Inside::Own) && !is_quotation(line);
        let goes_on = start.is_some_and(|start| continues(&text[start..at], line));
        if !(speaks && goes_on) {
            found.extend(start.take().map(|start| &text[start..at]));
            start = speaks.then_some(at);
        }
        at += line.len();
    }
    found.extend(start.map(|start| &text[start..]));
    found
}

/// Where we are after a line that begins somewhere, and whether the author speaks in it if we were not inside of
/// anything.
fn after<'a>(inside: Inside<'a>, line: &'a str, at: usize, ends: &Ends<'_>) -> (Inside<'a>, bool) {
    let begins = line.trim_start();
    let block = |found: Blocks<'a>| (found.open.map_or(Inside::Own, Inside::Block), !found.any);
    match inside {
        Inside::Own => {
            let code = FENCES.into_iter().find(|mark| begins.starts_with(mark));
            code.map_or_else(|| block(blocks(line, 0, at, ends)), |mark| (Inside::Code(mark), false))
        }
        Inside::Code(mark) if begins.starts_with(mark) => (Inside::Own, false),
        Inside::Block(name) => match end_in(line, name) {
            Some(end) => block(blocks(line, end, at, ends)),
            None => (inside, false),
        },
        Inside::Code(_) => (inside, false),
    }
}

fn is_quotation(line: &str) -> bool {
    line.trim_start().starts_with('>')
}

/// Whether a line goes on with the sentence of those before it, which were broken to a width.
fn continues(before: &str, line: &str) -> bool {
    let last = before.trim_end_matches('\n').rsplit('\n').next().unwrap_or(before);
    line.starts_with(|c: char| c.is_lowercase()) && last.chars().nth(BROKEN_CHARS).is_some()
}

/// Divides a paragraph at the ends of its sentences, but not inside quotations.
fn divide<'a>(paragraph: &'a str, found: &mut Vec<&'a str>) {
    let (mut start, mut close) = (0, None);
    let mut chars = paragraph.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        if close == Some(c) {
            close = None;
        } else if let Some(mark) = closing(c).filter(|mark| close.is_none() && closes(&paragraph[end..], *mark)) {
            close = Some(mark);
        } else if close.is_none() && ends(c, chars.peek().map(|(_, next)| *next), &paragraph[start..end]) {
            found.extend(bare(&paragraph[start..end]));
            start = end;
        }
    }
    found.extend(bare(&paragraph[start..]));
}

/// Whether a quotation is closed before long.
fn closes(rest: &str, mark: char) -> bool {
    rest.chars().take(super::MOST_CHARS).take_while(|c| *c != '\n').any(|c| c == mark)
}

/// Whether a sentence ends with a character that is followed by another.
fn ends(c: char, next: Option<char>, sentence: &str) -> bool {
    let spaced = next.is_none_or(|next| next.is_whitespace() || matches!(next, ')' | '”' | '*' | '_'));
    match c {
        '。' | '！' | '？' | '；' => true,
        '!' | '?' => spaced,
        '.' => spaced && !is_abbreviated(sentence),
        _ => false,
    }
}

/// Whether a sentence so far ends in an abbreviation, or is only the number of a list.
fn is_abbreviated(sentence: &str) -> bool {
    let word = sentence.trim_start().rsplit(char::is_whitespace).next().unwrap_or(sentence);
    let number = sentence.trim().trim_end_matches('.');
    ABBREVIATED.iter().any(|short| word.eq_ignore_ascii_case(short)) || number.chars().all(|c| c.is_ascii_digit())
}

/// A sentence without the marks of lists and headings; none if it has no words.
fn bare(sentence: &str) -> Option<&str> {
    let mut rest = sentence.trim();
    loop {
        let unmarked = number(marked(rest));
        if unmarked.len() == rest.len() {
            break;
        }
        rest = unmarked;
    }
    rest.contains(char::is_alphanumeric).then_some(rest)
}

/// A line without the mark that it begins with; what emphasises its first word stays.
fn marked(line: &str) -> &str {
    let line = line.trim_start_matches([')', '”', '•', '·']).trim_start();
    let rest = line.trim_start_matches(['-', '*', '#', '+', '_', '—', '–']);
    if rest.starts_with(char::is_whitespace) { rest.trim_start() } else { line }
}

/// A line without the number that it begins with, as in `1.`, `2)`, `(3)` and `四、`.
fn number(line: &str) -> &str {
    let digits = line.trim_start_matches(['(', '（']);
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit() || "一二三四五六七八九十".contains(c));
    let marked = rest.strip_prefix(['.', ')', '、', '）', '．']).filter(|_| rest.len() < digits.len());
    marked.map_or(line, str::trim_start)
}
