//! What changed from one version of an artifact to the next, line by line.
//!
//! Lines are compared as long as there are few enough; of more, whole sections are.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Artifact, Section};

/// How many lines, or sections, of a version are compared one by one.
const COMPARED: usize = 2_000;

/// A line of either version, or of both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// Where it stands.
    pub sign: Sign,
    /// The line.
    pub line: String,
}

/// Which version a line stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// In both.
    Same,
    /// Only in the one before.
    Less,
    /// Only in the one after.
    More,
}

/// How to get from one version to another: all lines of both, in order, those that go before those that come.
pub fn changes(before: &Artifact, after: &Artifact) -> Vec<Change> {
    let (old, new) = (before.markdown(), after.markdown());
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    if old.len() <= COMPARED && new.len() <= COMPARED {
        return steps(&old, &new).into_iter().map(|(sign, line)| change(sign, line)).collect();
    }
    let (old, new) = (pieces(before), pieces(after));
    let steps = steps(&old, &new);
    steps.into_iter().flat_map(|(sign, piece)| piece.lines().map(move |line| change(sign, line))).collect()
}

fn change(sign: Sign, line: &str) -> Change {
    Change { sign, line: line.to_owned() }
}

/// A version in pieces that are compared whole: its head, and its sections. Together they have the lines of its
/// Markdown.
fn pieces(artifact: &Artifact) -> Vec<String> {
    let head = Artifact { sections: Vec::new(), ..artifact.clone() }.markdown();
    let mut all: Vec<String> = std::iter::once(head.trim_end_matches('\n').to_owned())
        .chain(artifact.sections.iter().map(Section::markdown))
        .collect();
    let last = all.len() - 1;
    all[..last].iter_mut().for_each(|piece| *piece += "\n\n");
    all
}

/// The steps from some lines to others.
fn steps<'a, T: PartialEq>(old: &'a [T], new: &'a [T]) -> Vec<(Sign, &'a T)> {
    let same = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let (old_rest, new_rest) = (&old[same..], &new[same..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(one, other)| one == other).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let begin = old[..same].iter().map(|line| (Sign::Same, line));
    let middle = compared(&old[same..old_end], &new[same..new_end]);
    begin.chain(middle).chain(old[old_end..].iter().map(|line| (Sign::Same, line))).collect()
}

/// The steps by the longest common run of lines; of too many, all go and all come.
fn compared<'a, T: PartialEq>(old: &'a [T], new: &'a [T]) -> Vec<(Sign, &'a T)> {
    let all = |lines: &'a [T], sign: Sign, range: Range<usize>| lines[range].iter().map(move |line| (sign, line));
    if old.len() > COMPARED || new.len() > COMPARED {
        return all(old, Sign::Less, 0..old.len()).chain(all(new, Sign::More, 0..new.len())).collect();
    }
    let common = common(old, new);
    let (mut i, mut j, mut steps) = (0, 0, Vec::with_capacity(old.len() + new.len()));
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            steps.push((Sign::Same, &old[i]));
            (i, j) = (i + 1, j + 1);
        } else if common[i + 1][j] >= common[i][j + 1] {
            steps.push((Sign::Less, &old[i]));
            i += 1;
        } else {
            steps.push((Sign::More, &new[j]));
            j += 1;
        }
    }
    steps.extend(all(old, Sign::Less, i..old.len()).chain(all(new, Sign::More, j..new.len())));
    steps
}

/// How many lines the rests of both from each place on have in common at most.
fn common<T: PartialEq>(old: &[T], new: &[T]) -> Vec<Vec<u16>> {
    let mut common = vec![vec![0_u16; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let longest = common[i + 1][j].max(common[i][j + 1]);
            common[i][j] = if old[i] == new[j] { common[i + 1][j + 1] + 1 } else { longest };
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::super::ArtifactId;
    use super::*;
    use crate::ids::MessageId;
    use crate::note::Author;
    use proptest::prelude::*;

    fn artifact(summary: &str, texts: &[String]) -> Artifact {
        let sections =
            (1..).zip(texts).map(|(at, text)| Section::new(&format!("S{at}"), text, [MessageId(at)])).collect();
        let (id, title) = (ArtifactId(MessageId(1)), "T".to_owned());
        Artifact { id, version: 1, title, summary: summary.to_owned(), sections, by: Author::Offline }
    }

    fn side(changes: &[Change], not: Sign) -> String {
        let lines = changes.iter().filter(|change| change.sign != not).map(|change| change.line.clone() + "\n");
        lines.collect()
    }

    #[test]
    fn a_changed_line_goes_before_the_new_one_comes() {
        let (before, after) = (artifact("s", &["one\ntwo".to_owned()]), artifact("s", &["one\nthree".to_owned()]));
        let told: Vec<(Sign, String)> =
            changes(&before, &after).into_iter().skip(5).map(|change| (change.sign, change.line)).collect();
        assert_eq!(
            told,
            [(Sign::Same, "one"), (Sign::Less, "two"), (Sign::More, "three")].map(|(s, l)| (s, l.to_owned()))
        );
        assert!(changes(&before, &before).iter().all(|change| change.sign == Sign::Same));
    }

    #[test]
    fn long_versions_are_compared_by_sections() {
        let long = |word: &str| vec![word.to_owned(), "x\n".repeat(3_000), "tail".to_owned()];
        let (before, after) = (artifact("s", &long("one")), artifact("s", &long("two")));
        let told = changes(&before, &after);
        assert_eq!(told.iter().filter(|change| change.sign == Sign::Less && !change.line.is_empty()).count(), 2);
        assert_eq!((side(&told, Sign::More), side(&told, Sign::Less)), (before.markdown(), after.markdown()));
    }

    proptest! {
        #[test]
        fn both_versions_can_be_had_back(
            summaries in ("[ab]{0,2}", "[ab]{0,2}"),
            old in prop::collection::vec("[abc\n`#]{0,12}", 0..5),
            new in prop::collection::vec("[abc\n`#]{0,12}", 0..5),
        ) {
            let (before, after) = (artifact(&summaries.0, &old), artifact(&summaries.1, &new));
            let told = changes(&before, &after);
            prop_assert_eq!(side(&told, Sign::More), before.markdown());
            prop_assert_eq!(side(&told, Sign::Less), after.markdown());
        }
    }
}
