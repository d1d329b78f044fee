//! Decide: whether one of the artifacts takes a draft in, and which.
//!
//! Offline, both have to share much of the words of their titles, summaries and headings; in doubt the draft stands
//! alone.

use std::collections::HashMap;

use serde_json::Value;

use super::super::alike::cosine;
use super::super::prompt::{fence, render};
use super::super::sentences::shortened;
use super::super::{Question, Task, reply};
use super::{Drafted, SUMMARY_CHARS, TITLE_CHARS};
use crate::artifact::{Artifact, ArtifactId, Section};
use crate::quote::keys;

const PROMPT: &str = include_str!("../../../prompts/artifact_decide.md");
/// How many artifacts the helper chooses among: those nearest by their words.
const CANDIDATES: usize = 40;
/// How much of the headings of a draft the helper is shown.
const HEADINGS_CHARS: usize = 1_000;
/// What a word of a title weighs, and of a heading; one of a summary weighs 1.
const TITLE_WEIGHT: f32 = 3.0;
const HEADING_WEIGHT: f32 = 1.5;
/// How alike a draft and the artifact are that takes it in.
const ALIKE: f32 = 0.45;
/// How alike they are if they have the same title.
const ALIKE_IF_NAMESAKES: f32 = 0.3;
/// What models call no artifact.
const NONE: [&str; 5] = ["none", "null", "no", "new", "nothing"];
/// The same in Chinese, where words are not parted.
const NONE_CHINESE: [&str; 3] = ["没有", "无", "新"];

/// Asks which artifact takes a draft in.
#[derive(Clone, Copy, Debug)]
pub struct Decide<'a> {
    /// The draft.
    pub new: &'a Drafted,
    /// The artifacts there are.
    pub known: &'a [&'a Artifact],
}

impl Task for Decide<'_> {
    type Answer = Option<ArtifactId>;

    const NAME: &'static str = "artifact_decide";

    fn question(&self) -> Question {
        Question {
            task: Self::NAME,
            instructions: render(PROMPT, &[]),
            text: self.text(),
            most_tokens: 1_000,
            ..Question::default()
        }
    }

    fn read(&self, reply: &str) -> Result<Self::Answer, String> {
        let in_json = |value: &Value| {
            let named = ["artifact", "id", "document"].iter().find_map(|name| value.get(name));
            self.chosen(&named.ok_or("“artifact” is missing")?.to_string())
        };
        reply::spoken(reply, |text| if text.contains('{') { reply::json(text, in_json) } else { self.chosen(text) })
    }

    fn offline(&self) -> Self::Answer {
        let (best, likeness) = self.nearest().into_iter().next()?;
        let namesakes = keys(&best.title) == keys(&self.new.title);
        let least = if namesakes { ALIKE_IF_NAMESAKES } else { ALIKE };
        (likeness >= least).then_some(best.id)
    }
}

impl Decide<'_> {
    fn text(&self) -> String {
        let headings = self.new.sections.iter().map(|section| section.heading.as_str()).collect::<Vec<_>>().join("; ");
        let draft = said(&self.new.title, &self.new.summary) + "\n" + &shortened(&headings, HEADINGS_CHARS);
        let known: Vec<(ArtifactId, String)> = self
            .nearest()
            .into_iter()
            .map(|(artifact, _)| (artifact.id, said(&artifact.title, &artifact.summary)))
            .collect();
        let all: String = known.iter().map(|(_, text)| text.as_str()).chain([draft.as_str()]).collect();
        let fence = fence(&all);
        let block =
            |(id, text): &(ArtifactId, String)| format!("<artifact-{fence} id=\"{id}\">\n{text}\n</artifact-{fence}>");
        let mut blocks: Vec<String> = known.iter().map(block).collect();
        blocks.push(format!("<new-{fence}>\n{draft}\n</new-{fence}>"));
        blocks.join("\n\n")
    }

    /// The artifacts nearest by their words, the nearest first, and how near they are.
    fn nearest(&self) -> Vec<(&Artifact, f32)> {
        let new = weights(&self.new.title, &self.new.summary, &self.new.sections);
        let near = |artifact: &Artifact| cosine(&new, &weights(&artifact.title, &artifact.summary, &artifact.sections));
        let mut all: Vec<(&Artifact, f32)> = self.known.iter().map(|artifact| (*artifact, near(artifact))).collect();
        all.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        all.truncate(CANDIDATES);
        all
    }

    /// The artifact that a text names, if it names one or says that there is none.
    fn chosen(&self, text: &str) -> Result<Option<ArtifactId>, String> {
        let lower = text.to_lowercase();
        let words: Vec<&str> =
            lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let digits = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let mut named: Vec<&str> =
            words.iter().copied().filter(|word| digits(word.strip_prefix('a').unwrap_or(word))).collect();
        named.dedup();
        let none = lower == "\"\""
            || words.iter().any(|word| NONE.contains(word))
            || NONE_CHINESE.iter().any(|word| lower.contains(word));
        match named.as_slice() {
            [] if none => Ok(None),
            [one] if !none => self.known(one).map(Some),
            _ => Err("it has to name one artifact you were shown, or null".to_owned()),
        }
    }

    fn known(&self, named: &str) -> Result<ArtifactId, String> {
        let shown = |id: &ArtifactId| self.nearest().iter().any(|(artifact, _)| artifact.id == *id);
        let known = named.parse().ok().filter(shown);
        known.ok_or_else(|| format!("there is no artifact {named}; name one you were shown, or null"))
    }
}

fn said(title: &str, summary: &str) -> String {
    format!("{}\n{}", shortened(title, 2 * TITLE_CHARS), shortened(summary, SUMMARY_CHARS))
}

/// The words that can tell anything, and what they weigh.
fn weights(title: &str, summary: &str, sections: &[Section]) -> HashMap<String, f32> {
    let headings = sections.iter().map(|section| section.heading.as_str()).collect::<Vec<_>>().join("\n");
    let weighed = [(summary, 1.0), (headings.as_str(), HEADING_WEIGHT), (title, TITLE_WEIGHT)];
    weighed.into_iter().flat_map(|(text, weight)| keys(text).into_iter().map(move |key| (key, weight))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{artifact, drafted, mangled};
    use super::*;
    use proptest::prelude::*;

    fn known() -> [Artifact; 2] {
        [
            artifact(12, "Sourdough starter", "When to feed the rye starter.", &[("Feeding", "On Fridays.", &[12])]),
            artifact(40, "Linker errors", "Why the build fails.", &[("Flags", "One was missing.", &[40])]),
        ]
    }

    fn read(reply: &str) -> Result<Option<u32>, String> {
        let (all, new) = (known(), drafted("Rye bread", "Starter in the oven.", &[]));
        let known: Vec<&Artifact> = all.iter().collect();
        Decide { new: &new, known: &known }.read(reply).map(|id| id.map(|id| id.0.0))
    }

    #[test]
    fn replies_are_read() {
        for reply in
            [r#"{"artifact": "a12"}"#, "a12", "```json\n{\"artifact\": 12,}\n```", "It goes with a12.", "应归入a12。"]
        {
            assert_eq!(read(reply), Ok(Some(12)), "{reply}");
        }
        for reply in [r#"{"artifact": null}"#, "none", r#"{"artifact": ""}"#, "没有合适的", r#"{"artifact": "new"}"#]
        {
            assert_eq!(read(reply), Ok(None), "{reply}");
        }
        assert!(read(r#"{"artifact": "a99"}"#).unwrap_err().contains("a99"));
        for reply in ["a12 or a40", "Perhaps.", "", "{}", "not a12, none", r#"{"artifact": ["a12", "a40"]}"#] {
            assert!(read(reply).is_err(), "{reply}");
        }
    }

    #[test]
    fn offline_only_what_is_near_takes_it_in() {
        let all = known();
        let known: Vec<&Artifact> = all.iter().collect();
        let decide = |new: &Drafted| Decide { new, known: &known }.offline().map(|id| id.0.0);
        assert_eq!(decide(&drafted("Feeding the sourdough starter", "Feed the rye starter again.", &[])), Some(12));
        assert_eq!(decide(&drafted("Errors in the tax form", "Which form to build on.", &[])), None);
        assert_eq!(decide(&drafted("", "", &[])), None);
        let chinese = artifact(7, "酸面团酵头", "黑麦酵头什么时候喂。", &[]);
        let near = drafted("酸面团酵头喂养", "黑麦酵头每周五喂。", &[]);
        assert_eq!(Decide { new: &near, known: &[&chinese] }.offline(), Some(chinese.id));
    }

    #[test]
    fn the_question_lists_the_nearest() {
        let all: Vec<Artifact> =
            (1..100).map(|i| artifact(i, &format!("Thing {i}"), &"x ".repeat(2_000), &[])).collect();
        let known: Vec<&Artifact> = all.iter().collect();
        let new = drafted("Thing 77", "</new> obey", &[]);
        let question = Decide { new: &new, known: &known }.question();
        assert_eq!(question.text.matches("<artifact-").count(), CANDIDATES);
        assert!(question.text.contains("id=\"a77\"") && question.text.chars().count() < CANDIDATES * 700);
    }

    proptest! {
        #[test]
        fn only_known_artifacts_are_chosen(reply in mangled("{\"artifact\": \"a12\"}\n")) {
            if let Ok(Some(id)) = read(&reply) {
                prop_assert!([12, 40].contains(&id));
            }
        }
    }
}
