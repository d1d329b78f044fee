//! Giving every message a section and every section a message.
//!
//! A message that no section cites goes to the section whose words it shares; one that says little goes where its
//! neighbour is; what fits nowhere is told in a section of its own. Afterwards the sources are exactly the messages
//! given.

use std::collections::{BTreeSet, HashMap};

use super::{Artifact, Section};
use crate::ids::MessageId;
use crate::message::Role;
use crate::quote::keys;
use crate::search::is_chinese;
use crate::store::Stored;
use crate::task::brief;

/// How much of a message is read.
const READ_BYTES: usize = 20_000;
/// A message with fewer telling words than this says little.
const LITTLE: usize = 3;
/// So many words have to be shared, or all of them.
const SHARED: usize = 2;
/// How much of a message is told where no section tells it.
const LINE_CHARS: usize = 200;

impl Artifact {
    /// Sections whose sources together are exactly these messages, each with at least one if there is any message.
    pub fn complete(mut sections: Vec<Section>, messages: &[Stored]) -> Vec<Section> {
        let spoken: Vec<Spoken> = messages.iter().map(Spoken::new).collect();
        let known: BTreeSet<MessageId> = spoken.iter().map(|spoken| spoken.id).collect();
        for section in &mut sections {
            section.sources.retain(|id| known.contains(id));
        }
        let index = Index::new(&sections);
        cite_closest(&mut sections, &spoken, &index);
        let mut rest = Vec::new();
        let cited: BTreeSet<MessageId> = sections.iter().flat_map(|section| section.sources.clone()).collect();
        for message in spoken.iter().filter(|spoken| !cited.contains(&spoken.id)) {
            match index.closest(&message.keys).or_else(|| message.beside(&sections)) {
                Some(at) => sections[at].cite(message.id),
                None => rest.push(message),
            }
        }
        sections.extend(also_said(&rest));
        sections
    }
}

impl Section {
    fn cite(&mut self, id: MessageId) {
        if let Err(at) = self.sources.binary_search(&id) {
            self.sources.insert(at, id);
        }
    }
}

/// A message and its telling words.
struct Spoken {
    id: MessageId,
    text: String,
    keys: Vec<String>,
    /// Whether it means little by itself: few words, or what a tool returned.
    leans: bool,
}

impl Spoken {
    fn new(stored: &Stored) -> Self {
        let mut text = stored.message().words().collect::<Vec<_>>().join("\n");
        text.truncate(text.floor_char_boundary(READ_BYTES));
        let keys = keys(&text);
        Self { id: stored.id, leans: keys.len() < LITTLE || stored.role == Role::Tool, keys, text }
    }

    /// The section of the message before it, or after it, if it means little by itself.
    fn beside(&self, sections: &[Section]) -> Option<usize> {
        if !self.leans {
            return None;
        }
        let all =
            || sections.iter().enumerate().flat_map(|(at, section)| section.sources.iter().map(move |id| (*id, at)));
        let before = all().filter(|(id, _)| *id < self.id).max_by_key(|(id, _)| *id);
        before.or_else(|| all().min_by_key(|(id, _)| *id)).map(|(_, at)| at)
    }
}

/// Which sections a word stands in.
struct Index {
    sections: HashMap<String, Vec<usize>>,
    count: usize,
}

impl Index {
    fn new(all: &[Section]) -> Self {
        let mut sections: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, section) in all.iter().enumerate() {
            for key in keys(&format!("{}\n{}", section.heading, section.text)) {
                sections.entry(key).or_default().push(at);
            }
        }
        Self { sections, count: all.len() }
    }

    /// How many words each section shares with some, and what they weigh: the rarer, the more.
    #[expect(clippy::cast_precision_loss, reason = "sections are few")]
    fn shared(&self, keys: &[String]) -> Vec<(usize, f64)> {
        let mut shared = vec![(0, 0.0); self.count];
        for among in keys.iter().filter_map(|key| self.sections.get(key)) {
            for &at in among {
                shared[at].0 += 1;
                shared[at].1 += (1.0 + self.count as f64 / among.len() as f64).ln();
            }
        }
        shared
    }

    /// The section that shares most with some words, if it shares enough.
    fn closest(&self, keys: &[String]) -> Option<usize> {
        let enough = |count: usize| count >= SHARED || count > 0 && count == keys.len();
        let shared = self.shared(keys).into_iter().enumerate().filter(|(_, (count, _))| enough(*count));
        shared.reduce(|best, next| if next.1.1 > best.1.1 { next } else { best }).map(|(at, _)| at)
    }
}

/// Sections without sources cite the message that shares most of their words.
fn cite_closest(sections: &mut [Section], spoken: &[Spoken], index: &Index) {
    let empty: Vec<usize> = (0..sections.len()).filter(|at| sections[*at].sources.is_empty()).collect();
    let mut best: HashMap<usize, (f64, MessageId)> = HashMap::new();
    for message in spoken {
        let shared = if empty.is_empty() { Vec::new() } else { index.shared(&message.keys) };
        for (at, weight) in empty.iter().filter_map(|at| Some((*at, shared.get(*at)?.1))) {
            let known = best.entry(at).or_insert((weight, message.id));
            if weight > known.0 {
                *known = (weight, message.id);
            }
        }
    }
    for (at, (_, id)) in best {
        sections[at].cite(id);
    }
}

/// A section that tells messages in a line each.
fn also_said(messages: &[&Spoken]) -> Option<Section> {
    let ids = messages.iter().map(|message| message.id);
    let told = messages.iter().map(|message| brief(&message.text, LINE_CHARS)).filter(|line| !line.is_empty());
    let text = told.map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n");
    let heading = if is_chinese(&text) { "另外提到" } else { "Also said" };
    (!messages.is_empty()).then(|| Section::new(heading, &text, ids))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::testing;
    use proptest::prelude::*;

    fn said(texts: &[&str]) -> Vec<Stored> {
        testing::said(11, &texts.iter().map(|text| ("user", *text)).collect::<Vec<_>>())
    }

    fn section(heading: &str, text: &str, sources: &[u32]) -> Section {
        Section::new(heading, text, sources.iter().copied().map(MessageId))
    }

    fn numbers(sections: &[Section]) -> Vec<Vec<u32>> {
        sections.iter().map(|section| section.sources.iter().map(|id| id.0).collect()).collect()
    }

    #[test]
    fn messages_go_where_their_words_are() {
        let talk = said(&[
            "Feed the rye starter on Fridays.",
            "Thanks!",
            "The linker flag was missing in the build.",
            "My aunt visits Lisbon in October with three friends.",
        ]);
        let sections = vec![
            section("Starter", "The rye starter is fed on Fridays.", &[]),
            section("Build", "A linker flag was missing.", &[99]),
        ];
        let sections = Artifact::complete(sections, &talk);
        assert_eq!(numbers(&sections), [vec![11, 12], vec![13], vec![14]]);
        assert_eq!((sections[2].heading.as_str(), sections[2].text.contains("Lisbon")), ("Also said", true));
        let chinese = Artifact::complete(Vec::new(), &said(&["黑麦酵头每周五喂一次，放在冰箱里。"]));
        assert_eq!(chinese[0].heading, "另外提到");
        let japanese = Artifact::complete(Vec::new(), &said(&["ライ麦の種は毎週金曜日に冷蔵庫から出します。"]));
        assert_eq!(japanese[0].heading, "Also said");
        assert!(Artifact::complete(Vec::new(), &[]).is_empty());
    }

    proptest! {
        #[test]
        fn sources_are_exactly_the_messages(
            texts in prop::collection::vec("(rye|starter|linker|flag|port|酵头|港口|ok| ){0,8}", 0..8),
            all in prop::collection::vec(("(rye|flag|酵头| ){0,4}", prop::collection::vec(8..22_u32, 0..4)), 0..5),
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let messages = said(&texts);
            let sections = all.iter().map(|(text, ids)| section(text, text, ids)).collect();
            let complete = Artifact::complete(sections, &messages);
            let cited: BTreeSet<MessageId> = complete.iter().flat_map(|section| section.sources.clone()).collect();
            prop_assert_eq!(cited, messages.iter().map(|stored| stored.id).collect::<BTreeSet<_>>());
            prop_assert!(messages.is_empty() || complete.iter().all(|section| !section.sources.is_empty()));
        }
    }
}
