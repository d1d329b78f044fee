//! Finding sections by their words: those whose headings name what is looked for, then those whose texts do.

use std::borrow::Borrow;
use std::collections::HashSet;

use super::{Artifact, ArtifactId, Section};
use crate::quote::keys;
use crate::search::{folded, terms};

/// A heading that holds this part of what is looked for names it.
const NAMED_PART: f64 = 0.5;
/// What a word in a heading counts, where the heading does not name all of it; one in the text counts 1.
const HEADING_WEIGHT: f64 = 2.0;
/// What a word in the title of the artifact counts.
const TITLE_WEIGHT: f64 = 0.5;

/// The sections of artifacts that words are about, the best first: those with the words in their headings before those
/// that only have them in their texts; rare words count more.
pub fn find<'a, A: Borrow<Artifact>>(artifacts: &'a [A], words: &str) -> Vec<(ArtifactId, &'a Section)> {
    let wanted = wanted(words);
    let phrase = folded(words.trim());
    let places: Vec<Place<'a>> = artifacts.iter().flat_map(|artifact| Place::all(artifact.borrow())).collect();
    let weights = weights(&wanted, &places);
    let mut found: Vec<(f64, &Place<'a>)> =
        places.iter().map(|place| (place.worth(&weights, &phrase), place)).collect();
    found.retain(|(worth, _)| *worth > 0.0);
    // The order of the artifacts holds among equals.
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    found.into_iter().map(|(_, place)| (place.artifact, place.section)).collect()
}

/// The words to look for: those that tell anything, if there are any.
fn wanted(words: &str) -> Vec<String> {
    let telling = keys(words);
    if telling.is_empty() { terms(words) } else { telling }
}

/// A section and its words.
struct Place<'a> {
    artifact: ArtifactId,
    section: &'a Section,
    title: HashSet<String>,
    heading: HashSet<String>,
    text: HashSet<String>,
}

impl<'a> Place<'a> {
    fn all(artifact: &'a Artifact) -> impl Iterator<Item = Self> {
        let all = |text: &str| keys(text).into_iter().chain(terms(text)).collect::<HashSet<String>>();
        artifact.sections.iter().map(move |section| Self {
            artifact: artifact.id,
            section,
            title: all(&artifact.title),
            heading: all(&section.heading),
            text: all(&section.text),
        })
    }

    fn has(&self, word: &str) -> bool {
        [&self.title, &self.heading, &self.text].iter().any(|words| words.contains(word))
    }

    /// What it is worth; whatever is named by its heading is worth more than anything that is not.
    fn worth(&self, weights: &[(&String, f64)], phrase: &str) -> f64 {
        let sum = |words: &HashSet<String>| -> f64 {
            weights.iter().filter(|(word, _)| words.contains(*word)).map(|(_, weight)| weight).sum()
        };
        let all: f64 = weights.iter().map(|(_, weight)| weight).sum::<f64>().max(1.0);
        let has = |text: &str| if !phrase.is_empty() && folded(text).contains(phrase) { all } else { 0.0 };
        let heading = sum(&self.heading) + has(&self.section.heading);
        let text = sum(&self.text) + has(&self.section.text);
        let named = if heading >= all * NAMED_PART && heading > 0.0 { all * 10.0 } else { 0.0 };
        named + heading * HEADING_WEIGHT + text + sum(&self.title) * TITLE_WEIGHT
    }
}

/// What each word weighs: the fewer sections have it, the more.
#[expect(clippy::cast_precision_loss, reason = "sections are few")]
fn weights<'w>(wanted: &'w [String], places: &[Place<'_>]) -> Vec<(&'w String, f64)> {
    let weight = |word: &'w String| {
        let having = places.iter().filter(|place| place.has(word)).count().max(1);
        (word, (1.0 + places.len() as f64 / having as f64).ln())
    };
    wanted.iter().map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::MessageId;
    use crate::note::Author;

    fn artifact(number: u32, title: &str, sections: &[(&str, &str)]) -> Artifact {
        let section = |(heading, text): &(&str, &str)| Section::new(heading, text, [MessageId(number)]);
        Artifact {
            id: ArtifactId(MessageId(number)),
            version: 1,
            title: title.to_owned(),
            summary: String::new(),
            sections: sections.iter().map(section).collect(),
            by: Author::Offline,
        }
    }

    fn all() -> [Artifact; 2] {
        let python = [
            ("Async", "List comprehensions were not used; the list of tasks is gathered."),
            ("List comprehensions", "An expression, then for."),
            ("列表推导式", "基本语法。"),
        ];
        let docker = [("Base image", "We take the slim image."), ("部署步骤", "先构建镜像，再写列表推导式的脚本。")];
        [artifact(1, "Python", &python), artifact(9, "Docker", &docker)]
    }

    fn check(words: &str, expected: &[&str]) {
        let all = all();
        let found: Vec<&str> = find(&all, words).iter().map(|(_, section)| section.heading.as_str()).collect();
        assert_eq!(found, expected, "{words}");
    }

    #[test]
    fn headings_come_before_texts() {
        check("list comprehension", &["List comprehensions", "Async"]);
        check("列表推导式", &["列表推导式", "部署步骤"]);
        check("the slim image, please", &["Base image"]);
        check("像", &["部署步骤"]);
        check("gathered expression", &["Async", "List comprehensions"]);
        check("Docker", &["Base image", "部署步骤"]);
        check("weather", &[]);
        check("", &[]);
    }

    #[test]
    fn artifacts_are_named() {
        let all = all();
        let found: Vec<ArtifactId> = find(&all, "镜像").into_iter().map(|(id, _)| id).collect();
        assert_eq!(found, [ArtifactId(MessageId(9))]);
        assert!(find::<&Artifact>(&[], "a").is_empty());
    }
}
