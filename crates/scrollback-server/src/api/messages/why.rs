//! Why a message was in a window, or why it was not and how to get it back, in a word and in a sentence.

use scrollback::engine::Recorded;
use scrollback::store::{Place, Session, Stored};
use scrollback::view::{Standing, reason_word};
use scrollback::window::{Block, Body, Ours, Reason, Tells};
use scrollback::{At, Engine, MessageId, Result, SessionKey};

use crate::api::place::limit_of;
use crate::api::{Telling, tellings};

/// A message and the view it is asked about.
pub(crate) struct Case<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) key: &'a SessionKey,
    pub(crate) session: &'a Session,
    pub(crate) recorded: &'a Recorded,
    pub(crate) stored: &'a Stored,
    /// How times are written.
    pub(crate) time: fn(At) -> String,
}

/// How a message stood.
pub(crate) struct Said {
    pub(crate) word: &'static str,
    pub(crate) why: String,
}

impl Case<'_> {
    /// How it stood, in a word and in a sentence.
    pub(crate) async fn said(&self) -> Result<Said> {
        let standing = self.engine.standing(self.key, &self.recorded.view, self.stored.id).await?;
        let (word, why) = self.told(standing.as_ref()).await?;
        Ok(Said { word, why })
    }

    async fn told(&self, standing: Option<&Standing>) -> Result<(&'static str, String)> {
        let id = self.stored.id;
        let name = &self.session.id.to_string()[..12];
        Ok(match standing {
            Some(Standing::Shown(Reason::TooLarge)) => (
                "held",
                format!(
                    "held. Its {} tokens are too large to show again and again, so a placeholder stands in its place.\n\
                     To read it: `scrollback recall {name} hold h{}{}`; the model calls load_tool_history.",
                    self.stored.measure.tokens,
                    id.0,
                    self.branch()
                ),
            ),
            Some(Standing::Shown(reason)) => ("shown", format!("shown as it came: {}.", reason_word(*reason))),
            Some(Standing::Listed { .. } | Standing::Searchable) => self.under_notes(standing).await?,
            Some(Standing::Quoted) => {
                ("quoted", format!("quoted word for word, because it matters to this turn{}.", self.folded().await?))
            }
            Some(Standing::LeftOut) => {
                let how = format!("`scrollback include {name} {id}{}` shows it again.", self.branch());
                ("left out", format!("not shown: the person wants it left out.\n{how}"))
            }
            Some(Standing::Later) => {
                ("later", format!("not shown: it was said later, {}.", (self.time)(self.stored.at)))
            }
            Some(Standing::Dropped) => {
                ("dropped", format!("not shown: {} drops what does not fit.", self.recorded.view.layout))
            }
            None => ("elsewhere", self.elsewhere()),
        })
    }

    /// A message that is folded: kept all the same, left out, or under a note.
    async fn under_notes(&self, standing: Option<&Standing>) -> Result<(&'static str, String)> {
        let Self { engine, key, recorded, stored, .. } = self;
        let (id, name, folded) = (stored.id, &self.session.id.to_string()[..12], self.folded().await?);
        let fold = engine.fold_of(key, &recorded.view).await?;
        let told = tellings(engine, key, &fold, stored).await?;
        let within = if told.is_empty() { String::new() } else { format!(" It is told of in {}.", places(&told)) };
        if let Some(why) = self.kept().await? {
            return Ok(("kept", format!("{why}{folded}.{within}")));
        }
        if engine.controls(key).await?.excluded.contains(&id) {
            let how = format!("`scrollback include {name} {id}{}` lets it be recalled again.", self.branch());
            return Ok(("left out", format!("not shown: the person wants it left out{folded}.{within}\n{how}")));
        }
        let place = self.place().await?;
        let by_page = |page: u32| format!("To read it: `scrollback recall {name} page {page}{place}`; the model");
        Ok(match (standing, told.first()) {
            (Some(Standing::Listed { page }), _) => {
                let how = format!("{} calls recall_page({page}).", by_page(*page));
                ("listed", format!("not shown. It is on page #{page} of the contents page{folded}.\n{how}"))
            }
            (_, Some(Telling { note, section: None })) => {
                let how = format!(
                    "To read it: `scrollback recall {name} summary {note} --from {id}{place}`; the model calls \
                     expand_summary."
                );
                ("told", format!("not shown. It is told in summary {note}{folded}.\n{how}"))
            }
            (_, Some(_)) => {
                let how = format!("{} finds it with search_history.", by_page(id.0));
                ("source", format!("not shown. It is a source of {}{folded}.\n{how}", places(&told)))
            }
            (_, None) => {
                let how = format!("{} finds it with search_history.", by_page(id.0));
                ("searchable", format!("not shown{folded}. No list names it.\n{how}"))
            }
        })
    }

    /// Why a message is in the block that every window has, if it is.
    async fn kept(&self) -> Result<Option<&'static str>> {
        if self.recorded.view.kept.is_none() {
            return Ok(None);
        }
        let window = self.engine.window_of(self.key, &self.recorded.view).await?;
        let mut kept = window.blocks().iter().filter(|block| block.reason == Reason::Kept);
        Ok(kept.find_map(|block| why_kept(block, self.stored.id)))
    }

    /// In which fold it went under its note, and in which topic it is.
    async fn folded(&self) -> Result<String> {
        let Some(position) = self.stored.position() else { return Ok(String::new()) };
        let folded = self.engine.folded_in(self.key, &self.recorded.view, position.depth).await?;
        let folded = folded.map(|(fold, at)| format!(", folded in fold {} at {}", fold.epoch, (self.time)(at)));
        let topic = self.engine.topic_of(self.key, self.recorded.view.head, position).await?;
        let topic = topic.map(|card| format!(", in the topic {} “{}”", card.id, card.name));
        Ok(folded.into_iter().chain(topic).collect())
    }

    /// What a command needs to look where the view does, if that is not where it would look by itself.
    async fn place(&self) -> Result<String> {
        let newest = self.engine.newest_view(self.key).await?;
        let limit = limit_of(self.recorded).filter(|limit| newest.as_ref().and_then(limit_of) != Some(*limit));
        let limit = limit.map(|limit| format!(" --limit {limit}")).unwrap_or_default();
        Ok(self.branch() + &limit)
    }

    /// The same for a command that only needs the branch.
    fn branch(&self) -> String {
        let newest = self.session.branches.iter().max_by_key(|branch| branch.head.id).map(|branch| branch.id);
        let own = self.recorded.view.head.branch;
        if newest == Some(own) { String::new() } else { format!(" --branch {}", own.0) }
    }

    fn elsewhere(&self) -> String {
        match self.stored.place {
            Place::Path(position) => format!(
                "not shown: it is on branch {}, and this window was made for branch {}. No branch sees another.",
                position.branch.0, self.recorded.view.head.branch.0
            ),
            Place::Beside(_) => {
                "not shown: it is kept beside the path (instructions of another request, a client's own \
                                 version of a message, or reasoning)."
                    .to_owned()
            }
        }
    }
}

/// Why a message is in a block of what is kept, if it is.
fn why_kept(block: &Block, id: MessageId) -> Option<&'static str> {
    match &block.body {
        Body::Note(Ours { tells: Tells::Kept(words), .. }) if words.pinned.contains(&id) => {
            Some("kept word for word, however old it is, because it is pinned")
        }
        Body::Note(Ours { tells: Tells::Kept(words), .. }) if words.earlier.contains(&id) => {
            Some("its own words are kept, however old they are, because the turn goes on from them")
        }
        Body::Note(Ours { tells: Tells::Kept(words), .. }) if words.rules.contains(&id) => {
            Some("not shown whole, but the rule it states is kept word for word")
        }
        Body::Original(stored) if stored.id == id => {
            Some("shown as it came, however old it is: no words can stand for its image or file")
        }
        Body::Note(_) | Body::Original(_) | Body::Held(..) | Body::Whole(..) | Body::Round(_) | Body::Nothing(_) => {
            None
        }
    }
}

/// Notes and sections, in words.
pub(crate) fn places(tellings: &[Telling]) -> String {
    let named = |telling: &Telling| match &telling.section {
        Some(section) => format!("{} § {section}", telling.note),
        None => telling.note.clone(),
    };
    tellings.iter().map(named).collect::<Vec<_>>().join(", ")
}
