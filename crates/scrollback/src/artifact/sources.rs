//! The comments in which sections name their sources, `<!-- sources: m12, m13 -->`, as models happen to write them.
//!
//! Comments in code spans are text. Ids may be written `m12`, `msg_12`, `12`, `m12–m15`; those nobody knows are
//! dropped.

use std::collections::BTreeSet;

use crate::ids::MessageId;

/// How such a comment begins.
const NAMES: [&str; 7] = ["sources", "source", "来源", "來源", "出处", "消息", "messages"];
/// What may stand between ids, and before their numbers.
const WORDS: [&str; 15] =
    ["m", "msg", "msgs", "message", "messages", "id", "ids", "and", "to", "through", "和", "与", "及", "至", "到"];
/// What makes a range of two ids.
const TO: [&str; 12] = ["-", "–", "—", "−", "~", "～", "..", "…", "to", "through", "至", "到"];
/// What may stand before the second number of a range.
const BEFORE: [&str; 8] = ["", "m", "msg", "msg_", "msg-", "message", "#", "m_"];

/// What stands around a comment may become one when it is taken out, if somebody means mischief; so often we look
/// again.
const PASSES: usize = 4;

/// A line without the comments that name sources, and what those say.
pub(super) fn parted(line: &str) -> (String, Vec<String>) {
    let (mut kept, mut told) = (line.to_owned(), Vec::new());
    for _ in 0..PASSES {
        let (next, bodies) = parted_once(&kept);
        if bodies.is_empty() {
            return (kept, told);
        }
        told.extend(bodies.into_iter().map(str::to_owned));
        kept = next;
    }
    (kept.replace("<!--", "<! --"), told)
}

fn parted_once(line: &str) -> (String, Vec<&str>) {
    let (mut kept, mut told, mut from, mut at) = (String::new(), Vec::new(), 0, 0);
    while let Some(next) = line[at..].find(['`', '<']) {
        at += next;
        if line[at..].starts_with('`') {
            at = after_code(line, at);
        } else if let Some((body, length)) = comment_at(&line[at..]) {
            kept.extend([&line[from..at], " "]);
            told.push(body);
            at += length;
            from = at;
        } else {
            at += 1;
        }
    }
    kept += &line[from..];
    (kept.trim().to_owned(), told)
}

/// Where the code span that begins here ends; after the marks if nothing ends it.
fn after_code(line: &str, at: usize) -> usize {
    let run = |from: usize| line[from..].bytes().take_while(|byte| *byte == b'`').count();
    let length = run(at);
    let start = at + length;
    let mut next = start;
    while let Some(found) = line[next..].find('`') {
        let closing = run(next + found);
        next += found + closing;
        if closing == length {
            return next;
        }
    }
    start
}

/// What the sources comment that a text begins with says, and how long it is; its end may be missing if it holds only
/// ids.
fn comment_at(text: &str) -> Option<(&str, usize)> {
    let inner = text.strip_prefix("<!--")?.trim_start();
    let begins = |name: &&&str| inner.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
    let rest = &inner[NAMES.iter().find(begins)?.len()..];
    let room = &rest[..rest.find("<!--").unwrap_or(rest.len())];
    let end = room.find("-->");
    let body = &room[..end.unwrap_or(room.len())];
    let named = end.is_some() && body.trim_start().starts_with([':', '：', '=']);
    let length = text.len() - rest.len() + body.len() + end.map_or(0, |_| "-->".len());
    (named || is_list(body)).then_some((body, length))
}

/// Whether a text holds nothing but ids.
fn is_list(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.all(|word| WORDS.contains(&word.to_lowercase().as_str()))
}

/// The known messages that a text names.
pub(crate) fn ids(text: &str, known: &BTreeSet<MessageId>) -> BTreeSet<MessageId> {
    let mut found = BTreeSet::new();
    let mut before: Option<(u32, usize)> = None;
    for (value, start, end) in numbers(text) {
        match before {
            Some((first, after)) if first < value && is_range(&text[after..start]) => {
                found.extend(known.range(MessageId(first)..=MessageId(value)));
            }
            _ => found.extend(known.get(&MessageId(value))),
        }
        before = Some((value, end));
    }
    found
}

/// Ids in order, several in a row as a range, in so many entries at most, and how many more there are.
pub(super) fn listed(ids: &[MessageId], most: usize) -> String {
    let (mut entries, mut told) = (Vec::new(), 0);
    while told < ids.len() && entries.len() < most {
        let (first, rest) = (ids[told], &ids[told..]);
        let row = (first.0..).zip(rest).take_while(|(number, id)| id.0 == *number).count();
        // Two in a row are as short by themselves.
        let (entry, taken) =
            if row > 2 { (format!("{first}–{}", rest[row - 1]), row) } else { (first.to_string(), 1) };
        entries.push(entry);
        told += taken;
    }
    let more = if told < ids.len() { format!(" and {} more", ids.len() - told) } else { String::new() };
    entries.join(", ") + &more
}

/// The numbers in a text and where they stand.
fn numbers(text: &str) -> Vec<(u32, usize, usize)> {
    let mut found = Vec::new();
    let mut end = 0;
    while let Some(next) = text[end..].find(|c: char| c.is_ascii_digit()) {
        let start = end + next;
        end = start + text[start..].find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - start);
        found.extend(text[start..end].parse().ok().map(|value| (value, start, end)));
    }
    found
}

fn is_range(between: &str) -> bool {
    if between.len() > 40 {
        return false;
    }
    let marks = between.to_lowercase().replace([' ', '[', ']', '`'], "");
    BEFORE.iter().any(|before| marks.strip_suffix(before).is_some_and(|mark| TO.contains(&mark)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, text: &str, numbers: &[u32]) {
        let known: BTreeSet<MessageId> = (10..20).map(MessageId).collect();
        let (kept, told) = parted(line);
        let found: BTreeSet<MessageId> = told.iter().flat_map(|body| ids(body, &known)).collect();
        assert_eq!(kept, text, "{line}");
        assert_eq!(found.into_iter().map(|id| id.0).collect::<Vec<_>>(), numbers, "{line}");
    }

    #[test]
    fn sources_are_read_as_models_write_them() {
        check("## A <!-- sources: m12, m13 -->", "## A", &[12, 13]);
        check("A<!--Source m12-->", "A", &[12]);
        check("A <!-- 来源：m12，m14、15 -->", "A", &[12, 14, 15]);
        check("A <!-- sources: m12–m15 -->", "A", &[12, 13, 14, 15]);
        check("A <!-- SOURCES = [msg_012, msg-13] and 18-19 -->", "A", &[12, 13, 18, 19]);
        check("A <!-- sources: m1, m12, m99, m99999999999 -->", "A", &[12]);
        check("A <!-- sources: m12, m13", "A", &[12, 13]);
        check("A <!-- sources: m18 to m4000000000 -->", "A", &[18, 19]);
        check("A <!-- sources: m12 --> b <!-- source: m13 -->", "A   b", &[12, 13]);
    }

    #[test]
    fn other_comments_and_code_are_text() {
        for line in
            ["A <!-- source code follows -->", "use `<!-- sources: m12 -->` there", "a <!-- todo: m12 -->", "a < b"]
        {
            check(line, line, &[]);
        }
        check("a ` b <!-- sources: m12 -->", "a ` b", &[12]);
        check("a <!-- b <!-- sources: m12 -->", "a <!-- b", &[12]);
    }

    #[test]
    fn hostile_lines_end_soon() {
        for scrap in ["<!-- sources", "`a``", "<!-- sources: m1 ", "<", "m1-"] {
            let line = scrap.repeat(100_000);
            let _ = parted(&line);
            let _ = ids(&line, &BTreeSet::from([MessageId(1)]));
        }
    }
}
