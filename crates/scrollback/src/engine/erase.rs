//! Erasing tool results with all that was written about them. A person's command: no engine does it, and none needs to.
//! `written` are longer notes, `meanwhile` is what an engine wrote of them while somebody else erased them.

mod meanwhile;
mod written;

use std::collections::{HashMap, HashSet};

use serde_json::value::{RawValue, to_raw_value};
use written::Retold;

use super::folds::FoldRecord;
use super::holds::{Held, PREFIX as HOLD};
use super::load::Parked;
use super::tidy::Digested;
use super::topics::{self, Event};
use crate::error::{Error, Result};
use crate::ids::{At, MessageId, SessionKey};
use crate::note::Note;
use crate::store::{Batch, Expect, Forget, Keys, Kind, Put, Record, Scope, Span, Store, Stored};
use crate::task::{Digest, facts};
use crate::topic::TopicId;
use crate::view::View;
use crate::window::tokens_of;

/// How often it is tried again when others change the same notes.
const TRIES: usize = 8;
/// What notes say of a result that was erased.
const ERASED: &str = "erased by its owner, on request";

/// Erases what tool results of a session say, in the log and in every note that quotes them, so that no word of them is
/// left. The messages keep their places: a client that sends its history again finds them there. Returns how many were
/// erased.
pub async fn erase_results<S: Store + Forget>(
    store: &S,
    session: &SessionKey,
    results: &[MessageId],
    at: At,
) -> Result<u32> {
    let stored = store.read(session, Span::Ids(results.to_vec())).await?;
    let Unquoted { others, .. } = Unquoted::of(store, session, results, &stored).await?;
    store.commit(Batch::of_records(session.clone(), others)).await?;
    let erased = store.forget_results(session, results, at).await?;
    // Where others write too, they may have quoted them meanwhile. Whoever does from now on finds that out.
    unquote(store, session, results, &stored).await?;
    Ok(erased)
}

/// Takes what results said out of all notes, also where others change the same notes: once the words are gone, nobody
/// else knows what to look for. A result counts as erased once its words are: whoever is cut short in between finds it
/// again.
async fn unquote(store: &dyn Store, session: &SessionKey, results: &[MessageId], stored: &[Stored]) -> Result<()> {
    let mut outcome = Ok(());
    for _ in 0..TRIES {
        let Unquoted { holds, others } = Unquoted::of(store, session, results, stored).await?;
        outcome = store.commit(Batch::of_records(session.clone(), [others, holds].concat())).await.map(drop);
        if !matches!(outcome, Err(Error::Conflict(_))) {
            break;
        }
    }
    outcome
}

/// What is to be written over so that nothing quotes some results.
struct Unquoted {
    /// What stands for them.
    holds: Vec<Put>,
    /// All other notes, views and events.
    others: Vec<Put>,
}

impl Unquoted {
    /// For results and what they said.
    async fn of(store: &dyn Store, session: &SessionKey, results: &[MessageId], stored: &[Stored]) -> Result<Self> {
        let puts = unquoting(store, session, results, stored).await?;
        let (holds, others) = puts.into_iter().partition(|put| put.key.starts_with(HOLD));
        Ok(Self { holds, others })
    }
}

async fn unquoting(
    store: &dyn Store,
    session: &SessionKey,
    results: &[MessageId],
    stored: &[Stored],
) -> Result<Vec<Put>> {
    let scope = Scope::Session(session.clone());
    let all = || Keys::After(String::new(), usize::MAX >> 1);
    let notes = store.records(&scope, Kind::Note, all()).await?;
    let mut erased = Erased::new(results, stored, topics::holding(&notes, results)?);
    erased.retold = Retold::of(store, session, &notes, &erased).await?;
    let mut puts = Vec::new();
    for record in notes {
        if let Some(body) = erased.note(&record)? {
            puts.push(put(&scope, Kind::Note, record, body));
        }
    }
    for record in store.records(&scope, Kind::View, all()).await? {
        if let Some(body) = erased.view(&record)? {
            puts.push(put(&scope, Kind::View, record, body));
        }
    }
    for record in store.records(&scope, Kind::Event, all()).await? {
        if let Some(body) = erased.event(&record)? {
            puts.push(put(&scope, Kind::Event, record, body));
        }
    }
    // What a model was shown of earlier results in a turn that waits for its client; it can recall again.
    for record in store.records(&scope, Kind::Round, all()).await? {
        puts.push(put(&scope, Kind::Round, record, json(&Parked::default())));
    }
    Ok(puts)
}

fn put(scope: &Scope, kind: Kind, record: Record, body: Box<RawValue>) -> Put {
    let expect = Expect::Version(record.version);
    Put { scope: scope.clone(), kind, key: record.key, at: record.at, body, expect }
}

fn json(value: &impl serde::Serialize) -> Box<RawValue> {
    to_raw_value(value).expect("our records are JSON")
}

/// What is erased, and what it said.
struct Erased<'a> {
    results: &'a [MessageId],
    stored: &'a [Stored],
    texts: Vec<String>,
    /// Topics that hold some of it.
    topics: HashSet<TopicId>,
    /// Names of theirs that quote it, the longest first: one may begin with another.
    names: Vec<(TopicId, String)>,
    /// What longer notes that tell of it say instead.
    retold: Retold,
}

impl<'a> Erased<'a> {
    fn new(results: &'a [MessageId], stored: &'a [Stored], topics: HashMap<TopicId, HashSet<String>>) -> Self {
        let texts = stored.iter().map(|stored| stored.message().to_text()).collect();
        let (names, retold) = (Vec::new(), Retold::default());
        let mut erased = Self { results, stored, texts, topics: topics.keys().copied().collect(), names, retold };
        let names = topics.into_iter().flat_map(|(topic, names)| names.into_iter().map(move |name| (topic, name)));
        erased.names = names.filter(|(_, name)| erased.tells(name)).collect();
        erased.names.sort_by_key(|(_, name)| std::cmp::Reverse(name.len()));
        erased
    }

    /// A note without what it quotes; `None` if it quotes nothing of it.
    fn note(&self, record: &Record) -> Result<Option<Box<RawValue>>> {
        let (kind, _) = record.key.split_once('/').unwrap_or_default();
        match kind {
            "fold" => self.fold(record),
            "ahead" => Ok(Some(json(&serde_json::Map::new()))),
            "artifact" => Ok(self.retold.artifact(&record.key).map(|retold| json(&retold))),
            "kept" => self.kept(record),
            "digest" => {
                let mut digested: Digested = record.read()?;
                let Digest { title, lines } = &mut digested.digest;
                let changed = self.lines(title, lines, self.is_within(&record.key));
                Ok((!changed.is_empty()).then(|| json(&digested)))
            }
            "hold" => {
                let held: Held = record.read()?;
                Ok(self.results.contains(&held.id).then(|| json(&held.erased(ERASED))))
            }
            "topic" if topics::topic_in(&record.key).is_some_and(|topic| self.topics.contains(&topic)) => {
                Ok(Some(json(&topics::unwritten(record, |name| self.tells(name))?)))
            }
            _ => Ok(None),
        }
    }

    fn fold(&self, record: &Record) -> Result<Option<Box<RawValue>>> {
        let mut kept: FoldRecord = record.read()?;
        let mut changed = Vec::new();
        kept.fold.listed.iter_mut().for_each(|note| changed.extend(self.listed(note)));
        // An index of topics names them.
        let quoted = |(topic, name): &(TopicId, String)| (format!("[{topic}] {name}"), format!("[{topic}] {topic}"));
        changed.extend(self.names.iter().map(quoted).filter(|(old, _)| kept.fold.text.contains(old)));
        for (old, new) in &changed {
            kept.fold.text = kept.fold.text.replace(old, new);
        }
        kept.fold.tokens = tokens_of(&kept.fold.text);
        let retold = self.retold.retell(self, &mut kept.fold);
        Ok((retold || !changed.is_empty()).then(|| json(&kept)))
    }

    /// A view without what was read out of topics that hold some of it; `None` if it quotes nothing of it.
    fn view(&self, record: &Record) -> Result<Option<Box<RawValue>>> {
        let before: View = record.read()?;
        let mut view = before.clone();
        for shown in view.topics.iter_mut().filter(|shown| self.topics.contains(&shown.topic)) {
            shown.reading.summary.clear();
        }
        if let Some(remark) = &mut view.remark {
            for (topic, name) in &self.names {
                *remark = remark.replace(&format!("“{name}”"), &format!("“{topic}”"));
            }
        }
        Ok((view != before).then(|| json(&view)))
    }

    /// An event without a name that quotes it; `None` if it has none.
    fn event(&self, record: &Record) -> Result<Option<Box<RawValue>>> {
        let mut event: Event = record.read()?;
        let Event::Sorted { topic, name, .. } = &mut event else { return Ok(None) };
        if !self.names.iter().any(|(of, quoting)| of == topic && quoting == name) {
            return Ok(None);
        }
        *name = topic.to_string();
        Ok(Some(json(&event)))
    }

    /// Whether it said a text, perhaps cut at its end.
    fn says(&self, text: &str) -> bool {
        let quoted = text.trim_end_matches('…');
        !quoted.is_empty() && self.texts.iter().any(|text| text.contains(quoted))
    }

    /// Whether a text that tells of it among other things says something that it said: all of the text, or a name, a
    /// number or the like.
    fn tells(&self, text: &str) -> bool {
        self.says(text) || facts(text).iter().any(|fact| self.says(&fact.text))
    }

    /// Whether a digest with this key covers it.
    fn is_within(&self, key: &str) -> bool {
        let ends = key.split_once('/').and_then(|(_, ends)| ends.split_once('-'));
        let ends = ends.and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
        ends.is_some_and(|(first, last)| self.is_among(MessageId(first), MessageId(last)))
    }

    fn is_among(&self, first: MessageId, last: MessageId) -> bool {
        self.results.iter().any(|id| (first..=last).contains(id))
    }

    fn listed(&self, note: &mut Note) -> Vec<(String, String)> {
        let within = self.is_among(note.covers.first, note.covers.last);
        self.lines(&mut note.title, &mut note.lines, within)
    }

    /// Takes out what a title and lines quote; what was there before, and what is there now.
    fn lines(&self, title: &mut String, lines: &mut [String], within: bool) -> Vec<(String, String)> {
        let mut changed = Vec::new();
        for line in lines {
            let label = line.split_once(": ").map(|(label, _)| label.to_owned());
            let id = label.as_deref().and_then(|label| label.split(' ').next()?.parse().ok());
            if let (Some(label), Some(true)) = (label, id.map(|id| self.results.contains(&id))) {
                let new = format!("{label}: {ERASED}");
                changed.push((std::mem::replace(line, new.clone()), new));
            }
        }
        if self.says(title) || within && self.tells(title) {
            changed.push((std::mem::replace(title, ERASED.to_owned()), ERASED.to_owned()));
        }
        changed
    }
}
