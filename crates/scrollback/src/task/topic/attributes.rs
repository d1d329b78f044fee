//! The inside of a tag: its attributes with or without quotes, and the entities texts are written with.

/// A tag that does not end within so many bytes does not end at all.
const TAG_BYTES: usize = 4_000;
/// How many attributes of a tag are looked at.
const ATTRIBUTES: usize = 16;

/// Where the attributes that a text begins with end, and where the tag does.
pub(super) fn end_of_tag(text: &str) -> (usize, usize) {
    let near = &text[..text.floor_char_boundary(TAG_BYTES)];
    let (mut at, mut values) = (0, 0);
    while let Some(found) = near[at..].find(['=', '>', '<']) {
        let here = at + found;
        values += 1;
        match near.as_bytes()[here] {
            b'>' => return (here, here + 1),
            b'<' => return (here, here),
            _ if values > ATTRIBUTES => at = here + 1,
            _ => at = here + 1 + value_length(&near[here + 1..]),
        }
    }
    let line = near.find('\n').unwrap_or(near.len());
    (line, line)
}

/// How long a quoted value is that a text begins with, after spaces; 0 if there is none.
fn value_length(text: &str) -> usize {
    let quoted = text.trim_start();
    quote_length(quoted).map_or(0, |length| text.len() - quoted.len() + length)
}

fn quote_length(text: &str) -> Option<usize> {
    let open = text.chars().next()?;
    let close = closing(open)?;
    let ends = |after: &str| after.is_empty() || after.starts_with(|c: char| c.is_whitespace() || c == '/' || c == '>');
    let mut places = text.match_indices(close).map(|(at, _)| at + close.len_utf8());
    places.find(|&after| after > open.len_utf8() && ends(&text[after..]))
}

fn closing(open: char) -> Option<char> {
    match open {
        '"' | '\'' => Some(open),
        '“' | '”' => Some('”'),
        '‘' | '’' => Some('’'),
        _ => None,
    }
}

/// The attributes of a tag, in their order. A word without a value has an empty one.
pub(super) fn attributes(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut rest = text.trim();
    let mut quoted = true;
    while !rest.is_empty() && found.len() < ATTRIBUTES {
        let (before, after) = rest.split_once('=').map_or((rest, None), |(before, after)| (before.trim(), Some(after)));
        let name = after.and(before.split_whitespace().next_back()).unwrap_or_default();
        let loose = before.strip_suffix(name).unwrap_or_default().trim();
        match found.last_mut() {
            // Words go on with a value that has no quotes.
            Some((_, value)) if !quoted && !loose.is_empty() => *value = format!("{value} {loose}"),
            _ => found.extend(loose.split_whitespace().map(|word| (word.to_owned(), String::new()))),
        }
        let Some(after) = after else { break };
        let (value, next) = value_of(after.trim_start());
        quoted = quote_length(after.trim_start()).is_some();
        found.push((name.to_owned(), value.to_owned()));
        rest = next.trim_start();
    }
    found.into_iter().map(|(name, value)| (name, decoded(value.trim()))).collect()
}

/// The value a text begins with, up to the next space if it has no quotes, and the rest.
fn value_of(text: &str) -> (&str, &str) {
    if let Some(length) = quote_length(text) {
        let open = text.chars().next().map_or(0, char::len_utf8);
        let close = text[..length].chars().next_back().map_or(0, char::len_utf8);
        return (&text[open..length - close], &text[length..]);
    }
    let (value, rest) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    (value.trim_matches(|c| closing(c).is_some()), rest)
}

/// A text with entities and the marks of quoted text resolved.
pub(super) fn decoded(text: &str) -> String {
    let text = text.replace("<![CDATA[", "").replace("]]>", "");
    let mut pieces = text.split('&');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let resolved = piece.split_once(';').and_then(|(name, rest)| Some((entity(name)?, rest)));
        let (c, rest) = resolved.unwrap_or(('&', piece));
        out.push(c);
        out += rest;
    }
    out
}

fn entity(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        _ if name.len() > 8 => None,
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?).filter(|c| !c.is_control())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_with_any_quotes() {
        let check = |text: &str, expected: &[(&str, &str)]| {
            let all = attributes(text);
            let all: Vec<(&str, &str)> = all.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(all, expected, "{text}");
        };
        check(r#" id="t12" new='Ann"s bread'"#, &[("id", "t12"), ("new", "Ann\"s bread")]);
        check("new=Sourdough schedule relevance=high", &[("new", "Sourdough schedule"), ("relevance", "high")]);
        check("new = “a > b” id=t1", &[("new", "a > b"), ("id", "t1")]);
        check("new", &[("new", "")]);
        check(r#"new id="t1""#, &[("new", ""), ("id", "t1")]);
        check("new=Ann's bread", &[("new", "Ann's bread")]);
        check("a=&lt;b&#33;", &[("a", "<b!")]);
        check("", &[]);
    }

    #[test]
    fn tags_end_outside_quotes() {
        assert_eq!(end_of_tag(r#" new="a > b">m1"#), (12, 13));
        assert_eq!(end_of_tag(" new=Ann's>m1"), (10, 11));
        assert_eq!(end_of_tag(" new=\"a\nm1 <b>"), (11, 11));
        assert_eq!(end_of_tag(" new"), (4, 4));
    }

    #[test]
    fn entities_are_resolved_once() {
        assert_eq!(decoded("a &lt; b &amp;lt; &unknown; & &#x4e2d;&#0;"), "a < b &lt; &unknown; & 中&#0;");
    }
}
