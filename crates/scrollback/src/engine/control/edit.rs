//! Notes in a person's own words, and folds that a person asks for. Both are folds like any other: they can be undone.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::artifact::{Artifact, ArtifactId};
use crate::engine::Engine;
use crate::engine::lanes::Lane;
use crate::engine::lay::Occasion;
use crate::engine::tidy::Upkeep;
use crate::error::{Error, Result};
use crate::ids::{At, SessionKey};
use crate::note::{Author, Fold};
use crate::store::Position;
use crate::strategy::Scene;
use crate::window::{Budget, grouped, tokens_of};

/// A note, as people call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteName {
    /// An entry of the contents page: #42.
    Page(u32),
    /// A summary: s60.
    Summary(u32),
    /// An artifact: a12.
    Artifact(ArtifactId),
}

impl fmt::Display for NoteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Page(number) => write!(f, "#{number}"),
            Self::Summary(number) => write!(f, "s{number}"),
            Self::Artifact(id) => write!(f, "{id}"),
        }
    }
}

impl FromStr for NoteName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || Error::Invalid(format!("“{text}” is no note: they are written #42, s60 or a12"));
        let text = text.trim();
        let number = |sign: char| text.strip_prefix(sign).and_then(|digits| digits.parse::<u32>().ok());
        let page = number('#').or_else(|| text.parse().ok()).map(Self::Page);
        let artifact = number('a').map(|_| text.parse()).transpose()?.map(Self::Artifact);
        page.or(number('s').map(Self::Summary)).or(artifact).ok_or_else(bad)
    }
}

/// Where something is folded: a path, and how its windows are laid out.
#[derive(Clone, Copy, Debug)]
pub struct Folding<'a> {
    /// The session.
    pub session: &'a SessionKey,
    /// The end of the path.
    pub head: Position,
    /// The strategy and the model's limit, `pages@128000`.
    pub layout: &'a str,
    /// The model, where that matters.
    pub model: &'a str,
    /// What a window may cost.
    pub budget: Budget,
    /// Whether the model can recall; if not, no note names a tool.
    pub recalls: bool,
}

impl Engine {
    /// Puts a person's words in the place of a note, as a fold of its own. Of a page, the first line is the title.
    pub fn edit<'a>(
        &'a self,
        folding: Folding<'a>,
        note: NoteName,
        text: &'a str,
        at: At,
    ) -> BoxFuture<'a, Result<Fold>> {
        Box::pin(async move {
            if text.trim().is_empty() {
                return Err(Error::Invalid("a note needs words".into()));
            }
            let mut lane = self.lane_at(folding, at).await?;
            let mut fold = Fold::clone(&lane.folded.fold);
            match note {
                NoteName::Page(number) => edit_page(&mut fold, number, text)?,
                NoteName::Summary(number) => edit_summary(&mut fold, number, text)?,
                NoteName::Artifact(id) => lane.artifacts = self.edit_artifact(folding.session, &lane, id, text).await?,
            }
            let kept = lane.kept_over(&fold, folding.budget);
            let scene = Scene { kept: kept.as_ref(), fold: &fold, ..lane.scene(folding.budget) };
            let edited = self.strategy(lane.strategy).file(&scene, Vec::new()).knowing(&fold);
            whole(note, text, &edited)?;
            self.put_fold(folding.session, &mut lane, edited, at).await?;
            self.lanes.forget(Some(folding.session.id));
            Ok(Fold::clone(&lane.folded.fold))
        })
    }

    async fn edit_artifact(
        &self,
        session: &SessionKey,
        lane: &Lane,
        id: ArtifactId,
        text: &str,
    ) -> Result<Arc<Vec<crate::strategy::Filed>>> {
        let known = lane.folded.fold.artifacts.iter().find(|edition| edition.id == id);
        let missing = || Error::NotFound(format!("there is no artifact {id} of what is folded"));
        let old = self.issued(session, *known.ok_or_else(missing)?).await?;
        let edited = Artifact { by: Author::Person, ..old.rewritten(text) };
        self.filed_with(session, lane, vec![edited]).await
    }

    /// Folds now what would be folded when the window is full, by the helper where there is one. `None` if nothing is
    /// old enough.
    pub fn compress<'a>(&'a self, folding: Folding<'a>, at: At) -> BoxFuture<'a, Result<Option<Fold>>> {
        Box::pin(async move {
            let Folding { session, budget, .. } = folding;
            // Who asks for a fold waits for what it tells.
            self.tell_unread(folding, at).await?;
            let mut lane = self.lane_at(folding, at).await?;
            if self.tasks.has_helper() {
                let mut asked = Vec::new();
                let written = self.write_ahead(&Upkeep { session, lane: &lane, budget, at }, true, &mut asked).await;
                self.keep_asked(session, &asked, at).await?;
                written?;
            }
            let occasion = Occasion { session, budget, at, forced: true, summed: None, begins: false };
            let mut asked = Vec::new();
            let due = self.due_fold(&mut lane, &occasion, &mut asked).await;
            self.keep_asked(session, &asked, at).await?;
            let Some(fold) = due?.fold else { return Ok(None) };
            let fold = Fold { budget: budget.tokens, ..fold };
            self.put_fold(session, &mut lane, fold, at).await?;
            self.lanes.forget(Some(session.id));
            Ok(Some(Fold::clone(&lane.folded.fold)))
        })
    }
}

/// A note is shown as it was written, or not taken: nobody's words are cut, and none push their page off the list.
fn whole(note: NoteName, text: &str, edited: &Fold) -> Result<()> {
    let tokens = grouped(tokens_of(text));
    match note {
        NoteName::Page(number) if !edited.listed.iter().any(|note| note.number() == number) => Err(Error::TooLarge(
            format!("the contents page has no room for {tokens} tokens of {note}: make it shorter"),
        )),
        NoteName::Summary(_) if !edited.text.contains(text.trim()) => {
            let most = grouped(edited.tokens);
            Err(Error::TooLarge(format!(
                "{note} has room for about {most} tokens, and yours has {tokens}: make it shorter"
            )))
        }
        NoteName::Page(_) | NoteName::Summary(_) | NoteName::Artifact(_) => Ok(()),
    }
}

fn edit_page(fold: &mut Fold, number: u32, text: &str) -> Result<()> {
    let missing = || Error::NotFound(format!("page #{number} is not on the contents page"));
    let note = fold.listed.iter_mut().find(|note| note.number() == number).ok_or_else(missing)?;
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned);
    note.title = lines.next().unwrap_or_default();
    note.lines = lines.collect();
    note.by = Author::Person;
    Ok(())
}

fn edit_summary(fold: &mut Fold, number: u32, text: &str) -> Result<()> {
    let missing = || Error::NotFound(format!("s{number} is not the summary in the window"));
    let summary = fold.summary.as_mut().filter(|summary| summary.covers.last.0 == number).ok_or_else(missing)?;
    text.trim().clone_into(&mut summary.text);
    summary.lost.retain(|thing| !text.contains(thing.as_str()));
    summary.by = Author::Person;
    Ok(())
}
