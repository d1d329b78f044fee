//! Markdown line by line: what is a heading, what is code, and which comments name sources.
//!
//! Inside a code fence nothing is a heading and no comment is read. Fences may stand as deep as a list puts them.

use super::sources::parted;

/// A line of Markdown.
pub(super) struct Line<'a> {
    /// Where it begins.
    pub(super) start: usize,
    /// As it is written.
    pub(super) raw: &'a str,
    /// Without comments that name sources.
    pub(super) text: String,
    /// What those comments say.
    pub(super) told: Vec<String>,
    /// Its level and its words, if it is a heading.
    pub(super) heading: Option<(usize, String)>,
    /// What it does to a fence.
    pub(super) edge: Option<Edge>,
}

/// The ends of a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// Code begins after it.
    Opens,
    /// Code ended before it.
    Closes,
}

/// The lines of a text.
pub(super) struct Lines<'a> {
    text: &'a str,
    next: Option<usize>,
    /// The mark that closes the fence we are in.
    fence: Option<String>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, next: Some(0), fence: None }
    }

    /// What closes the fence that is open here.
    pub(super) fn closing(&self) -> Option<String> {
        self.fence.clone()
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let start = self.next?;
        let length = self.text[start..].find('\n');
        let raw = &self.text[start..length.map_or(self.text.len(), |length| start + length)];
        self.next = length.map(|length| start + length + 1);
        if let Some(fence) = &self.fence {
            let edge = closes(raw.trim(), fence).then_some(Edge::Closes);
            self.fence.take_if(|_| edge.is_some());
            return Some(Line { start, raw, text: raw.to_owned(), told: Vec::new(), heading: None, edge });
        }
        let (text, told) = parted(raw);
        self.fence = opening(&text);
        let edge = self.fence.as_ref().map(|_| Edge::Opens);
        let heading = heading_of(&text);
        Some(Line { start, raw, text, told, heading, edge })
    }
}

/// The run of backticks or tildes a text begins with.
fn marks(text: &str) -> &str {
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'));
    let end = text.find(|c| Some(c) != mark).unwrap_or(text.len());
    if mark.is_some() { &text[..end] } else { "" }
}

/// The marks that open a fence in a line.
fn opening(line: &str) -> Option<String> {
    let bare = line.trim_start();
    let marks = marks(bare);
    let spans = marks.starts_with('`') && bare[marks.len()..].contains('`');
    (marks.len() >= 3 && !spans).then(|| marks.to_owned())
}

/// Whether a line has nothing but the marks of a fence, at least as many.
fn closes(bare: &str, fence: &str) -> bool {
    bare.starts_with(fence) && marks(bare).len() == bare.len()
}

/// The level and the words of a heading; `##Words` will do, `#words` will not.
fn heading_of(line: &str) -> Option<(usize, String)> {
    let bare = line.trim_start_matches(' ');
    let indent = line.len() - bare.len();
    let level = bare.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &bare[level..];
    let parted = rest.is_empty() || rest.starts_with(char::is_whitespace);
    let is_heading =
        indent < 4 && (1..=6).contains(&level) && (parted || level > 1 && rest.starts_with(char::is_alphabetic));
    is_heading.then(|| (level, words_of(rest)))
}

/// The words of a heading on one line, without marks at its end.
pub(super) fn words_of(heading: &str) -> String {
    let mut words: Vec<&str> = heading.split_whitespace().collect();
    while words.last().is_some_and(|word| word.bytes().all(|byte| byte == b'#')) {
        words.pop();
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_told_from_code_and_tags() {
        let text =
            "# A #\n##B\n#c\n    # d\n```sh\n# e <!-- sources: m1 -->\n````\n~~~~ x\n# f\n~~~\n~~~~\n   ### g C#\n#";
        let headings: Vec<(usize, String)> = Lines::new(text).filter_map(|line| line.heading).collect();
        let expected = [(1, "A"), (2, "B"), (3, "g C#"), (1, "")].map(|(level, words)| (level, words.to_owned()));
        assert_eq!(headings, expected);
        assert!(Lines::new(text).all(|line| line.told.is_empty()));
    }

    #[test]
    fn an_open_fence_is_known() {
        for (text, closing) in [("a\n  ````rust\nx\n```", Some("````")), ("~~~\n~~~", None), ("``` a ```", None)] {
            let mut lines = Lines::new(text);
            assert!(lines.by_ref().last().is_some());
            assert_eq!(lines.closing().as_deref(), closing, "{text}");
        }
    }
}
