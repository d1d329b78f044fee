//! Longer notes without what was erased: summaries and artifacts, and what is kept in every window.
//!
//! Nobody can say which words of a summary come from which message. One that covers something erased is written anew,
//! without a model, from the newest messages it covers; a section that cites it says so, and keeps its sources. What a
//! person wrote stays unless it repeats something of it.

use std::collections::{BTreeSet, HashMap};

use serde_json::value::RawValue;

use super::{ERASED, Erased, json};
use crate::artifact::{Artifact, Section};
use crate::engine::control::{KeptRecord, controlled};
use crate::engine::folds::FoldRecord;
use crate::engine::writing::{EditionRecord, edition_key};
use crate::error::Result;
use crate::ids::{Depth, MessageId, SessionKey};
use crate::note::{Author, Fold};
use crate::recall::heading;
use crate::store::{Branch, Lineage, Position, Record, Span, Store, Stored, Which};
use crate::strategy::{self, quoted_in};
use crate::summary::Summary;
use crate::task::{Style, Summarise, Task, shortened};
use crate::window::tokens_of;

/// What a note says whose words are gone.
const GONE: &str = "What was told here came in part from a tool result that was erased by its owner, on request.";
/// How many of the newest messages are told again.
const NEWEST: u32 = 64;
/// How many tokens that may take.
const MOST_TOKENS: u32 = 1_200;
/// How long the summary of an artifact may be.
const SUMMARY_CHARS: usize = 400;

/// What longer notes say once something is erased.
#[derive(Default)]
pub(super) struct Retold {
    /// Texts of summaries that cover it, by the last message they cover.
    summaries: HashMap<MessageId, String>,
    /// Versions of artifacts by their keys, and whether they are others now.
    artifacts: HashMap<String, (EditionRecord, bool)>,
}

impl Retold {
    /// What the notes of a session say instead.
    pub(super) async fn of(
        store: &dyn Store,
        session: &SessionKey,
        notes: &[Record],
        erased: &Erased<'_>,
    ) -> Result<Self> {
        let mut retold = Self::default();
        for record in notes.iter().filter(|record| record.key.starts_with("artifact/")) {
            let mut issued: EditionRecord = record.read()?;
            let changed = erased.take_out_of(&mut issued.artifact);
            retold.artifacts.insert(record.key.clone(), (issued, changed));
        }
        let listed = store.sessions(&session.tenant, Which::Id(session.id)).await?.pop();
        let branches = listed.map(|session| session.branches).unwrap_or_default();
        let excluded = &controlled(store, session).await?.controls.excluded;
        let telling = Telling { store, session, branches, excluded, erased };
        for record in notes.iter().filter(|record| record.key.starts_with("fold/")) {
            let Some(summary) = record.read::<FoldRecord>()?.fold.summary else { continue };
            if let Some(text) = telling.instead_of(&summary, &retold.summaries).await? {
                retold.summaries.insert(summary.covers.last, text);
            }
        }
        Ok(retold)
    }

    /// A version of an artifact as it is now, if it is another.
    pub(super) fn artifact(&self, key: &str) -> Option<&EditionRecord> {
        self.artifacts.get(key).filter(|(_, changed)| *changed).map(|(issued, _)| issued)
    }

    /// Writes a fold anew that tells of what was erased. Whether it did.
    pub(super) fn retell(&self, erased: &Erased<'_>, fold: &mut Fold) -> bool {
        let text = fold.summary.as_ref().and_then(|summary| self.summaries.get(&summary.covers.last));
        if let Some((summary, text)) = fold.summary.as_mut().zip(text) {
            erased.take_out(summary, text);
            strategy::rewrite_summary(fold);
            return true;
        }
        let listed = fold.artifacts.iter().map(|edition| (edition.branch, self.artifacts.get(&edition_key(*edition))));
        let listed: Vec<_> = listed.filter_map(|(branch, found)| Some((branch, found?))).collect();
        let changed = listed.iter().any(|(_, (_, changed))| *changed);
        if changed {
            let filed = listed.iter().map(|(branch, (issued, _))| (*branch, issued.artifact.clone().into()));
            strategy::rewrite_artifacts(fold, &filed.collect::<Vec<_>>());
        }
        changed
    }
}

/// How summaries are told again.
struct Telling<'a> {
    store: &'a dyn Store,
    session: &'a SessionKey,
    branches: Vec<Branch>,
    excluded: &'a BTreeSet<MessageId>,
    erased: &'a Erased<'a>,
}

impl Telling<'_> {
    /// What a summary says instead, if it covers what was erased and nobody knows yet.
    async fn instead_of(&self, summary: &Summary, known: &HashMap<MessageId, String>) -> Result<Option<String>> {
        let last = summary.covers.last;
        if known.contains_key(&last) || !self.erased.is_among(MessageId(0), last) {
            return Ok(None);
        }
        let head =
            self.store.read(self.session, Span::Ids(vec![last])).await?.pop().and_then(|stored| stored.position());
        let Some(head) = head.filter(|head| self.covers(*head)) else { return Ok(None) };
        let from = Depth(head.depth.0.saturating_sub(NEWEST - 1));
        let mut messages = self.store.read(self.session, Span::Path { head, from, to: head.depth }).await?;
        messages.retain(|stored| !self.erased.results.contains(&stored.id) && !self.excluded.contains(&stored.id));
        Ok(Some(format!("{GONE}\n{}", told(&messages, tokens_of(&summary.text))).trim_end().to_owned()))
    }

    /// Whether the path to a message has something of what was erased.
    fn covers(&self, head: Position) -> bool {
        let lineage = Lineage::of(head, &self.branches);
        self.erased.stored.iter().any(|stored| lineage.holds(&stored.place))
    }
}

/// What messages come to, without a model.
fn told(messages: &[Stored], tokens: u32) -> String {
    let most_tokens = tokens.clamp(100, MOST_TOKENS);
    let (before, before_count, style, missing) = (None, 0, Style::General, &[]);
    if messages.is_empty() {
        return String::new();
    }
    Summarise { before, before_count, messages, style, most_tokens, missing }.offline()
}

impl Erased<'_> {
    /// Takes it out of a summary that covers it.
    fn take_out(&self, summary: &mut Summary, text: &str) {
        if summary.by != Author::Person || self.tells(&summary.text) {
            (summary.text, summary.by) = (text.to_owned(), Author::Offline);
        }
        summary.kept.retain(|quote| !self.results.contains(&quote.message));
        summary.lost.retain(|thing| !self.says(thing));
    }

    /// Takes it out of an artifact. Whether there was anything of it.
    fn take_out_of(&self, artifact: &mut Artifact) -> bool {
        let before = artifact.clone();
        if !artifact.sources().iter().any(|id| self.results.contains(id)) {
            return false;
        }
        let own = artifact.by == Author::Person;
        artifact.sections.iter_mut().for_each(|section| self.take_out_of_section(section, own));
        if self.tells(&artifact.title) {
            ERASED.clone_into(&mut artifact.title);
        }
        if !own || self.tells(&artifact.summary) {
            let headings: Vec<&str> = artifact.sections.iter().map(|section| section.heading.as_str()).collect();
            artifact.summary = shortened(&format!("{GONE} Its sections: {}", headings.join("; ")), SUMMARY_CHARS);
        }
        *artifact != before
    }

    fn take_out_of_section(&self, section: &mut Section, own: bool) {
        let cites = section.sources.iter().any(|id| self.results.contains(id));
        if cites && !own || self.tells(&section.text) {
            GONE.clone_into(&mut section.text);
        }
        if self.tells(&section.heading) {
            ERASED.clone_into(&mut section.heading);
        }
    }

    /// What is kept in every window, without what it quotes; `None` if it quotes nothing of it.
    pub(super) fn kept(&self, record: &Record) -> Result<Option<Box<RawValue>>> {
        let mut kept: KeptRecord = record.read()?;
        let before = kept.text.clone();
        for stored in self.stored {
            let head = heading(stored.id, &stored.role, stored.at);
            let instead = format!("{head}\n[{ERASED}]");
            while let Some(place) = quoted_in(&kept.text, stored).filter(|place| kept.text[place.clone()] != instead) {
                kept.text.replace_range(place, &instead);
            }
            // Whoever wrote it did so in another way.
            if kept.text.contains(&head) && !kept.text.contains(&instead) {
                ERASED.clone_into(&mut kept.text);
            }
        }
        Ok((kept.text != before).then(|| json(&kept)))
    }
}
