//! A text parted into prose and fenced code, every piece exactly as it stands.

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Anything but fenced code.
    Prose(&'a str),
    /// A code block with its fences; one that nobody closes goes to the end.
    Code(&'a str),
}

/// The pieces of a text, in order.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut start, mut at) = (Vec::new(), 0, 0);
    let mut open: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let next = at + line.len();
        match open {
            None => {
                open = mark(line);
                if open.is_some() {
                    pieces.push(Piece::Prose(&text[start..at]));
                    start = at;
                }
            }
            Some(mark) if closes(line, mark) => {
                pieces.push(Piece::Code(&text[start..next]));
                (open, start) = (None, next);
            }
            Some(_) => {}
        }
        at = next;
    }
    pieces.push(if open.is_some() { Piece::Code(&text[start..]) } else { Piece::Prose(&text[start..]) });
    pieces.retain(|piece| !matches!(piece, Piece::Prose(text) if text.trim().is_empty()));
    pieces
}

/// The prose of a text, line by line.
pub(super) fn prose_lines(text: &str) -> impl Iterator<Item = &str> {
    let prose = pieces(text).into_iter().filter_map(|piece| match piece {
        Piece::Prose(text) => Some(text),
        Piece::Code(_) => None,
    });
    prose.flat_map(str::lines)
}

/// The backticks or tildes that begin a code block.
pub(super) fn mark(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let first = line.chars().next().filter(|c| ['`', '~'].contains(c))?;
    let end = line.find(|c| c != first).unwrap_or(line.len());
    (end >= 3 && !(first == '`' && line[end..].contains('`'))).then(|| &line[..end])
}

fn closes(line: &str, open: &str) -> bool {
    let line = line.trim();
    line.len() >= open.len() && line.bytes().all(|byte| open.as_bytes().first() == Some(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_told_from_prose() {
        let text = "Try:\n```rust\nlet x = 1;\n```\nor ```this``` or\n~~~~\n~~~\n```\n~~~~\nDone.";
        let expected = [
            Piece::Prose("Try:\n"),
            Piece::Code("```rust\nlet x = 1;\n```\n"),
            Piece::Prose("or ```this``` or\n"),
            Piece::Code("~~~~\n~~~\n```\n~~~~\n"),
            Piece::Prose("Done."),
        ];
        assert_eq!(pieces(text), expected);
        assert_eq!(pieces("a\n```\nb"), [Piece::Prose("a\n"), Piece::Code("```\nb")]);
        assert_eq!(pieces(""), []);
        assert_eq!(prose_lines(text).collect::<Vec<_>>(), ["Try:", "or ```this``` or", "Done."]);
    }

    proptest::proptest! {
        #[test]
        fn nothing_but_blank_prose_is_left_out(text in "(```|~~~|`|rust|\n| |潮){0,30}") {
            let all: String = pieces(&text).iter().map(|piece| match piece {
                Piece::Prose(text) | Piece::Code(text) => *text,
            }).collect();
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            proptest::prop_assert_eq!(bare(&all), bare(&text));
        }
    }
}
