//! Artifacts as Markdown, and Markdown as models write it read into sections.
//!
//! What is written can be read back: headings and source comments inside a section's text, outside of code, would end
//! it, so [`Section::new`] turns the former into bold lines and takes the latter out.

use std::collections::BTreeSet;

use super::lines::{Edge, Line, Lines, words_of};
use super::sources::{ids, listed, parted};
use super::{Artifact, Section};
use crate::ids::MessageId;
use crate::task::shortened;

/// How long the heading of a text without one may be.
const HEADING_CHARS: usize = 60;
/// How many sources a window shows of a section; several in a row count as one.
const SHOWN: usize = 12;
/// How much a model may say before a document it puts into a fence.
const LEAD_CHARS: usize = 400;

impl Artifact {
    /// The whole as Markdown: its title, its summary, and each section with its sources in a comment.
    pub fn markdown(&self) -> String {
        self.written(Section::markdown)
    }

    /// The same for a window: of many sources, the first.
    pub fn shown(&self) -> String {
        self.written(Section::shown)
    }

    fn written(&self, section: fn(&Section) -> String) -> String {
        let head = format!("# {}", heading(&self.title)).trim_end().to_owned();
        let summary = plain(&self.summary);
        let pieces = [head, summary].into_iter().chain(self.sections.iter().map(section));
        pieces.filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join("\n\n") + "\n"
    }

    /// The sections of Markdown that a model or a person wrote, with those of their sources that are known. A title of
    /// the first level and what stands under it is no section; text before the first heading is.
    #[cfg(test)]
    pub(crate) fn sections_in(markdown: &str, known: &BTreeSet<MessageId>) -> Vec<Section> {
        let document = Document::read(markdown, known);
        document.lead.into_iter().chain(document.sections).collect()
    }
}

impl Section {
    /// A section that can be written and read back; its sources are put in order.
    pub fn new(heading: &str, text: &str, sources: impl IntoIterator<Item = MessageId>) -> Self {
        let sources: BTreeSet<MessageId> = sources.into_iter().collect();
        Self { heading: self::heading(heading), text: plain(text), sources: sources.into_iter().collect() }
    }

    /// Its heading with its sources, and its text.
    pub fn markdown(&self) -> String {
        let ids: Vec<String> = self.sources.iter().map(MessageId::to_string).collect();
        self.written(&ids.join(", "))
    }

    /// The same for a window: of many sources, the first.
    pub fn shown(&self) -> String {
        self.written(&listed(&self.sources, SHOWN))
    }

    fn written(&self, sources: &str) -> String {
        let sources = if sources.is_empty() { String::new() } else { format!(" <!-- sources: {sources} -->") };
        let line = format!("## {}{sources}", heading(&self.heading)).trim_end().to_owned();
        format!("{line}\n{}", plain(&self.text)).trim_end_matches('\n').to_owned()
    }
}

/// Markdown, read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Document {
    /// What stands before the first heading.
    pub(crate) lead: Option<Section>,
    /// The first heading, if it is of the first level and names no sources.
    pub(crate) title: Option<String>,
    /// What stands under the title.
    pub(crate) summary: String,
    /// Everything else.
    pub(crate) sections: Vec<Section>,
}

impl Document {
    /// Reads Markdown, also where all of it was put into a fence.
    pub(crate) fn read(markdown: &str, known: &BTreeSet<MessageId>) -> Self {
        let markdown = unix(markdown);
        let mut blocks = vec![Block::default()];
        for line in Lines::new(unwrapped(&markdown)) {
            if line.heading.is_some() {
                blocks.push(Block::default());
            }
            if let Some(block) = blocks.last_mut() {
                block.take(line, known);
            }
        }
        let mut blocks = blocks.into_iter().peekable();
        let lead = blocks.next().filter(Block::says_something).map(Block::lead);
        let title = blocks.next_if(|block| block.level == 1 && block.sources.is_empty());
        let (title, summary) =
            title.map(|block| (Some(block.heading.clone()), plain(&block.lines.join("\n")))).unwrap_or_default();
        Self { lead, title, summary, sections: blocks.map(Block::section).collect() }
    }
}

/// A heading and what stands under it.
#[derive(Default)]
struct Block {
    level: usize,
    heading: String,
    lines: Vec<String>,
    sources: BTreeSet<MessageId>,
}

impl Block {
    fn take(&mut self, line: Line<'_>, known: &BTreeSet<MessageId>) {
        self.sources.extend(line.told.iter().flat_map(|body| ids(body, known)));
        match line.heading {
            Some((level, heading)) => (self.level, self.heading) = (level, heading),
            None => self.lines.push(line.text),
        }
    }

    fn says_something(&self) -> bool {
        self.lines.iter().any(|line| !line.trim().is_empty())
    }

    fn section(self) -> Section {
        Section::new(&self.heading, &self.lines.join("\n"), self.sources)
    }

    /// Text without a heading is called by its first words.
    fn lead(mut self) -> Section {
        let first = self.lines.iter().find(|line| line.chars().any(char::is_alphanumeric));
        self.heading = first.map(|line| shortened(line, HEADING_CHARS)).unwrap_or_default();
        self.section()
    }
}

/// A heading on one line, naming no sources.
fn heading(text: &str) -> String {
    words_of(&parted(&words_of(text)).0)
}

/// A text in which nothing ends a section and every fence is closed.
fn plain(text: &str) -> String {
    let text = unix(text);
    let mut lines = Lines::new(&text);
    let mut kept: Vec<String> = Vec::new();
    for line in lines.by_ref() {
        kept.push(line.heading.map_or(line.text, |(_, words)| bold(&words)));
    }
    kept.extend(lines.closing());
    let says = |line: &String| !line.trim().is_empty();
    let first = kept.iter().position(says).unwrap_or(kept.len());
    let last = kept.iter().rposition(says).map_or(first, |last| last + 1);
    kept[first..last].join("\n")
}

fn bold(words: &str) -> String {
    let words = words.trim_matches(|c: char| c == '*' || c.is_whitespace());
    if words.is_empty() { String::new() } else { format!("**{words}**") }
}

fn unix(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// What stands in a fence that a model put around its whole document, otherwise all of it.
fn unwrapped(text: &str) -> &str {
    let opening = Lines::new(text).find(|line| line.heading.is_some() || line.edge.is_some());
    let Some(opening) = opening.filter(|line| line.heading.is_none()) else { return text };
    let inner = &text[text.len().min(opening.start + opening.raw.len() + 1)..];
    let name = opening.raw.trim().trim_matches(['`', '~', ' ']).to_lowercase();
    let first = Lines::new(inner).find(|line| !line.text.trim().is_empty());
    let wraps = ["", "md", "markdown"].contains(&name.as_str())
        && text[..opening.start].chars().count() <= LEAD_CHARS
        && first.is_some_and(|line| line.heading.is_some());
    if wraps { &inner[..end_of_wrapping(inner)] } else { text }
}

/// Where the outer fence ends: there one opens that nothing closes, if every inner one is closed.
fn end_of_wrapping(inner: &str) -> usize {
    let mut open = None;
    for line in Lines::new(inner) {
        match line.edge {
            Some(Edge::Opens) => open = Some((line.start, line.raw)),
            Some(Edge::Closes) => open = None,
            None => {}
        }
    }
    let unnamed = open.filter(|(_, raw)| raw.trim().trim_matches(['`', '~']).is_empty());
    let last = unnamed.filter(|(at, raw)| Lines::new(&inner[at + raw.len()..]).all(|line| line.heading.is_none()));
    last.map_or(inner.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::super::ArtifactId;
    use super::*;
    use crate::note::Author;
    use proptest::prelude::*;

    fn known() -> BTreeSet<MessageId> {
        (1..40).map(MessageId).collect()
    }

    fn section(heading: &str, text: &str, sources: &[u32]) -> Section {
        Section::new(heading, text, sources.iter().copied().map(MessageId))
    }

    fn artifact(title: &str, summary: &str, sections: Vec<Section>) -> Artifact {
        let (id, by) = (ArtifactId(MessageId(1)), Author::Offline);
        Artifact { id, version: 1, title: title.to_owned(), summary: summary.to_owned(), sections, by }
    }

    #[test]
    fn an_artifact_is_written() {
        let all = vec![section("Fault", "A flag.\n\n# Not a heading", &[13, 12, 12]), section("Open", "", &[])];
        assert_eq!(
            artifact("Linker", "Why it fails.", all).markdown(),
            "# Linker\n\nWhy it fails.\n\n## Fault <!-- sources: m12, m13 -->\nA flag.\n\n**Not a heading**\n\n## Open\n"
        );
    }

    #[test]
    fn a_window_shows_some_of_many_sources() {
        let shown = |sources: &[u32]| section("A", "Text.", sources).shown();
        assert_eq!(shown(&[12]), "## A <!-- sources: m12 -->\nText.");
        assert_eq!(shown(&[12, 13, 15, 16, 17, 20]), "## A <!-- sources: m12, m13, m15–m17, m20 -->\nText.");
        let odd: Vec<u32> = (0..52).map(|i| 2 * i + 1).collect();
        let told = shown(&odd);
        assert!(told.contains("m21, m23 and 40 more -->"), "{told}");
        let all: Vec<u32> = (1..2_000).collect();
        assert_eq!(shown(&all), "## A <!-- sources: m1–m1999 -->\nText.");
        // People are shown all of them, so that what they edit keeps them.
        let whole = artifact("T", "S", vec![section("A", "Text.", &odd)]);
        let ids: BTreeSet<MessageId> = odd.iter().copied().map(MessageId).collect();
        assert_eq!(whole.rewritten(&whole.markdown()).sections, whole.sections);
        assert_eq!(Artifact::sections_in(&whole.markdown(), &ids), whole.sections);
        assert!(whole.shown().len() < whole.markdown().len() / 2, "{}", whole.shown());
        let few = artifact("T", "S", vec![section("A", "Text.", &[1, 2, 3, 9])]);
        assert_eq!(Artifact::sections_in(&few.shown(), &known()), few.sections);
    }

    #[test]
    fn markdown_is_read_as_models_write_it() {
        let read = |text: &str| Artifact::sections_in(text, &known());
        let good = [section("Fault", "A flag.", &[12, 13]), section("Fix", "```sh\n# run\n```", &[14])];
        for text in [
            "# T\nsum\n## Fault <!-- sources: m12, m13 -->\nA flag.\n### Fix <!-- source: 14 -->\n```sh\n# run\n```",
            "## Fault\n<!-- 来源：m12–m13 -->\nA flag.\n\n#### Fix ##\r\n\r\n<!-- sources: msg_14, m99 -->\n```sh\n# run\n```\n",
            "Sure:\n```markdown\n# T\n## Fault <!-- sources: m12, m13 -->\nA flag.\n## Fix <!-- sources: m14 -->\n```sh\n# run\n```\n```\nDone.",
            "# Fault <!-- sources: m12, m13 -->\nA flag.\n# Fix <!-- sources: m14 -->\n```sh\n# run",
        ] {
            assert_eq!(read(text), good, "{text}");
        }
        assert_eq!(read("Only words. <!-- sources: m3 -->"), [section("Only words.", "Only words.", &[3])]);
        assert!(read("").is_empty() && read("# T\n\nsum").is_empty());
        let sample = "Intro\n```md\nx\n```\n## A\n```\n<!-- sources: m1 -->\n```";
        assert_eq!(read(sample)[1], section("A", "```\n<!-- sources: m1 -->\n```", &[]));
    }

    /// Scraps of Markdown, on lines and beside each other.
    fn scraps() -> impl Strategy<Value = String> {
        let scraps = [
            "# ",
            "## a",
            "```",
            "~~~~",
            "````x",
            "<!-- sources: m1 -->",
            "<!-- source",
            "<!--",
            "-->",
            "\n",
            "\n",
            "\r",
            " ",
            "    ",
            "`",
            "``",
            "来源：m3",
            "**",
            "word",
            "。",
            "m12",
            "-",
            "#",
            "```md\n# x",
            "\u{3000}",
            "\\",
        ];
        prop::collection::vec(prop::sample::select(scraps.to_vec()), 0..14).prop_map(|all| all.concat())
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            title in scraps(),
            summary in scraps(),
            all in prop::collection::vec((scraps(), scraps(), prop::collection::vec(1..40_u32, 0..4)), 0..4),
        ) {
            let sections: Vec<Section> = all.iter().map(|(heading, text, ids)| section(heading, text, ids)).collect();
            let markdown = artifact(&title, &summary, sections.clone()).markdown();
            prop_assert_eq!(Artifact::sections_in(&markdown, &known()), sections, "{}", markdown);
        }

        #[test]
        fn only_known_sources_are_read(text in scraps()) {
            let known = BTreeSet::from([MessageId(1)]);
            for section in Artifact::sections_in(&text, &known) {
                prop_assert!(section.sources.iter().all(|id| known.contains(id)));
                prop_assert_eq!(Section::new(&section.heading, &section.text, section.sources.clone()), section);
            }
        }
    }
}
