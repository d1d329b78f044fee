//! Erasing tool results with all that was written about them. A person's command: no engine does it, and none needs to.

use serde_json::value::{RawValue, to_raw_value};

use super::folds::FoldRecord;
use super::holds::Held;
use super::load::Parked;
use crate::error::{Error, Result};
use crate::ids::{At, MessageId, SessionKey};
use crate::note::Note;
use crate::store::{Batch, Expect, Forget, Keys, Kind, Put, Record, Scope, Span, Store};
use crate::task::Digest;
use crate::window::tokens_of;

/// What notes say of a result that was erased.
const ERASED: &str = "erased by its owner, on request";

/// Erases what tool results of a session say, in the log and in every note that quotes them, so that no word of them is left.
/// The messages keep their places: a client that sends its history again finds them there. Returns how many were erased.
pub async fn erase_results<S: Store + Forget>(
    store: &S,
    session: &SessionKey,
    results: &[MessageId],
    at: At,
) -> Result<u32> {
    let scope = Scope::Session(session.clone());
    let all = || Keys::After(String::new(), usize::MAX >> 1);
    let stored = store.read(session, Span::Ids(results.to_vec())).await?;
    let erased = Erased { results, texts: stored.iter().map(|stored| stored.message().to_text()).collect() };
    let mut puts = Vec::new();
    for record in store.records(&scope, Kind::Note, all()).await? {
        if let Some(body) = erased.note(&record)? {
            puts.push(put(&scope, Kind::Note, record, body));
        }
    }
    // What a model was shown of earlier results in a turn that waits for its client; it can recall again.
    for record in store.records(&scope, Kind::Round, all()).await? {
        puts.push(put(&scope, Kind::Round, record, json(&Parked::default())));
    }
    store.commit(Batch::of_records(session.clone(), puts)).await?;
    store.forget_results(session, results, at).await
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
    texts: Vec<String>,
}

impl Erased<'_> {
    /// A note without what it quotes; `None` if it quotes nothing of it.
    fn note(&self, record: &Record) -> Result<Option<Box<RawValue>>> {
        let (kind, _) = record.key.split_once('/').unwrap_or_default();
        match kind {
            "fold" => {
                let mut kept: FoldRecord = read(record)?;
                let mut changed = Vec::new();
                kept.fold.listed.iter_mut().for_each(|note| changed.extend(self.listed(note)));
                for (old, new) in &changed {
                    kept.fold.text = kept.fold.text.replace(old, new);
                }
                kept.fold.tokens = tokens_of(&kept.fold.text);
                Ok((!changed.is_empty()).then(|| json(&kept)))
            }
            "digest" => {
                let mut digest: Digest = read(record)?;
                let changed = self.lines(&mut digest.title, &mut digest.lines);
                Ok((!changed.is_empty()).then(|| json(&digest)))
            }
            "hold" => {
                let held: Held = read(record)?;
                Ok(self.results.contains(&held.id).then(|| json(&held.erased(ERASED))))
            }
            _ => Ok(None),
        }
    }

    fn listed(&self, note: &mut Note) -> Vec<(String, String)> {
        self.lines(&mut note.title, &mut note.lines)
    }

    /// Takes out what a title and lines quote; what was there before, and what is there now.
    fn lines(&self, title: &mut String, lines: &mut [String]) -> Vec<(String, String)> {
        let mut changed = Vec::new();
        for line in lines {
            let label = line.split_once(": ").map(|(label, _)| label.to_owned());
            let id = label.as_deref().and_then(|label| label.split(' ').next()?.parse().ok());
            if let (Some(label), Some(true)) = (label, id.map(|id| self.results.contains(&id))) {
                let new = format!("{label}: {ERASED}");
                changed.push((std::mem::replace(line, new.clone()), new));
            }
        }
        let quoted = title.trim_end_matches('…');
        if !quoted.is_empty() && self.texts.iter().any(|text| text.contains(quoted)) {
            changed.push((std::mem::replace(title, ERASED.to_owned()), ERASED.to_owned()));
        }
        changed
    }
}

fn read<T: serde::de::DeserializeOwned>(record: &Record) -> Result<T> {
    let damaged = |cause| Error::Damaged(format!("the record “{}” is unreadable: {cause}", record.key));
    serde_json::from_str(record.body.get()).map_err(damaged)
}
