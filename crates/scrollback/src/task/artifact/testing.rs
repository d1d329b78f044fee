//! Messages, artifacts and mangled replies for the tests of artifacts.

use proptest::prelude::*;

use super::super::testing;
use super::Drafted;
use crate::artifact::{Artifact, ArtifactId, Section};
use crate::ids::MessageId;
use crate::note::Author;
use crate::store::Stored;

/// A heading, a text and the numbers of its sources.
type Told<'a> = (&'a str, &'a str, &'a [u32]);

/// Messages from m101 on.
pub(super) fn said(texts: &[(&str, &str)]) -> Vec<Stored> {
    testing::said(101, texts)
}

pub(super) fn drafted(title: &str, summary: &str, sections: &[Told<'_>]) -> Drafted {
    let section = |(heading, text, ids): &Told<'_>| Section::new(heading, text, ids.iter().copied().map(MessageId));
    let sections = sections.iter().map(section).collect();
    Drafted { title: title.to_owned(), summary: summary.to_owned(), sections }
}

pub(super) fn artifact(number: u32, title: &str, summary: &str, sections: &[Told<'_>]) -> Artifact {
    drafted(title, summary, sections).artifact(ArtifactId(MessageId(number)), 1, Author::Helper)
}

/// A good reply, mangled: lines lost, doubled and turned around, scraps put in, cut, prose, fences and JSON around.
pub(super) fn mangled(good: &'static str) -> impl Strategy<Value = String> {
    let scraps = [
        "```",
        "~~~\n",
        "````md\n",
        "\n# ",
        "\n#### x",
        "<!-- sources: m999 -->",
        "<!-- source",
        "-->",
        "<!--",
        "m1–m9999",
        "`",
        "来源：m101",
        "\r\n",
        "{",
        "\"}",
        "</think>",
        "word",
        "a40",
        "none",
        "\n## Feeding\n",
    ];
    let edit = (0..4_usize, any::<prop::sample::Index>(), prop::sample::select(scraps.to_vec()));
    let around = [
        ("", ""),
        ("Sure:\n```markdown\n", "\n```\nDone."),
        ("<think>hm\n# no</think>", ""),
        ("```\n", ""),
        ("{\"title\": \"T\", \"artifact\": \"", "\"}"),
        ("Here it is.\n\n", "\n\nAnything else?"),
    ];
    let around = prop::sample::select(around.to_vec());
    (prop::collection::vec(edit, 0..8), around, any::<prop::sample::Index>()).prop_map(
        move |(edits, (before, after), cut)| {
            let mut lines: Vec<String> = good.split_inclusive('\n').map(str::to_owned).collect();
            for (edit, place, scrap) in edits {
                let at = place.index(lines.len().max(1));
                let Some(line) = lines.get(at).cloned() else { continue };
                match edit {
                    0 => drop(lines.remove(at)),
                    1 => lines[at].insert_str(line.floor_char_boundary(place.index(line.len() + 1)), scrap),
                    2 => lines.rotate_left(at),
                    _ => lines.insert(at, line),
                }
            }
            let whole = format!("{before}{}{after}", lines.concat());
            // One in four is cut.
            let keep = if cut.index(4) == 0 { cut.index(whole.len() + 1) } else { whole.len() };
            whole[..whole.floor_char_boundary(keep)].to_owned()
        },
    )
}
