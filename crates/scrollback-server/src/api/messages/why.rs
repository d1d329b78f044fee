//! Why a message was in a window, or why it was not and how to get it back, in a word and in a sentence.

use schemars::JsonSchema;
use scrollback::engine::Recorded;
use scrollback::ids::BranchId;
use scrollback::store::{Place, Session, Stored};
use scrollback::topic::TopicId;
use scrollback::view::{Standing, reason_word};
use scrollback::window::{Block, Body, Ours, Reason, Tells};
use scrollback::{At, Engine, MessageId, Result, SessionKey};
use serde::Serialize;

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
    pub(crate) parts: Parts,
}

/// What that sentence is about, for whoever says it in other words.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "StandingParts")]
pub(crate) struct Parts {
    /// Why it was shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    /// Why it is kept however old it is: for a pin, an earlier request of the turn, a rule or a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<&'static str>,
    /// The page of the contents page it is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<u32>,
    /// The notes that tell of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<Telling>,
    /// The number of the fold in which it went under its note.
    #[serde(skip_serializing_if = "Option::is_none")]
    fold: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    folded_at: Option<At>,
    /// The topic it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<TopicId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic_name: Option<String>,
    /// The branch it is on, where the window was made for another.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<BranchId>,
}

impl Said {
    fn new(word: &'static str, why: impl Into<String>) -> Self {
        Self { word, why: why.into(), parts: Parts::default() }
    }

    fn with(self, parts: Parts) -> Self {
        Self { parts, ..self }
    }
}

impl Case<'_> {
    /// How it stood, in a word and in a sentence.
    pub(crate) async fn said(&self) -> Result<Said> {
        let standing = self.engine.standing(self.key, &self.recorded.view, self.stored.id).await?;
        self.told(standing.as_ref()).await
    }

    async fn told(&self, standing: Option<&Standing>) -> Result<Said> {
        let id = self.stored.id;
        let name = &self.session.id.to_string()[..12];
        Ok(match standing {
            Some(Standing::Shown(Reason::TooLarge)) => Said::new(
                "held",
                format!(
                    "held. Its {} tokens are too large to show again and again, so a placeholder stands in its place.\n\
                     To read it: `scrollback recall {name} hold h{}{}`; the model calls load_tool_history.",
                    self.stored.measure.tokens,
                    id.0,
                    self.branch()
                ),
            ),
            Some(Standing::Shown(reason)) => {
                let why = format!("shown as it came: {}.", reason_word(*reason));
                Said::new("shown", why).with(Parts { reason: Some(*reason), ..Parts::default() })
            }
            Some(Standing::Listed { .. } | Standing::Searchable) => self.under_notes(standing).await?,
            Some(Standing::Quoted) => {
                let parts = self.folded().await?;
                let folded = self.folded_words(&parts);
                let why = format!("quoted word for word, because it matters to this turn{folded}.");
                Said::new("quoted", why).with(parts)
            }
            Some(Standing::LeftOut) => {
                let how = format!("`scrollback include {name} {id}{}` shows it again.", self.branch());
                Said::new("left out", format!("not shown: the person wants it left out.\n{how}"))
            }
            Some(Standing::Later) => {
                Said::new("later", format!("not shown: it was said later, {}.", (self.time)(self.stored.at)))
            }
            Some(Standing::Dropped) => {
                Said::new("dropped", format!("not shown: {} drops what does not fit.", self.recorded.view.layout))
            }
            None => self.elsewhere(),
        })
    }

    /// A message that is folded: kept all the same, left out, or under a note.
    async fn under_notes(&self, standing: Option<&Standing>) -> Result<Said> {
        let Self { engine, key, recorded, stored, .. } = self;
        let (id, name) = (stored.id, &self.session.id.to_string()[..12]);
        let fold = engine.fold_of(key, &recorded.view).await?;
        let parts = Parts { notes: tellings(engine, key, &fold, stored).await?, ..self.folded().await? };
        let (told, folded) = (&parts.notes, self.folded_words(&parts));
        let within = if told.is_empty() { String::new() } else { format!(" It is told of in {}.", places(told)) };
        if let Some((kept, why)) = self.kept().await? {
            let why = format!("{why}{folded}.{within}");
            return Ok(Said::new("kept", why).with(Parts { kept: Some(kept), ..parts }));
        }
        if engine.controls(key).await?.excluded.contains(&id) {
            let how = format!("`scrollback include {name} {id}{}` lets it be recalled again.", self.branch());
            let why = format!("not shown: the person wants it left out{folded}.{within}\n{how}");
            return Ok(Said::new("left out", why).with(parts));
        }
        let place = self.place().await?;
        let by_page = |page: u32| format!("To read it: `scrollback recall {name} page {page}{place}`; the model");
        Ok(match (standing, told.first()) {
            (Some(Standing::Listed { page }), _) => {
                let how = format!("{} calls recall_page({page}).", by_page(*page));
                let why = format!("not shown. It is on page #{page} of the contents page{folded}.\n{how}");
                Said::new("listed", why).with(Parts { page: Some(*page), ..parts })
            }
            (_, Some(Telling { note, section: None })) => {
                let how = format!(
                    "To read it: `scrollback recall {name} summary {note} --from {id}{place}`; the model calls \
                     expand_summary."
                );
                Said::new("told", format!("not shown. It is told in summary {note}{folded}.\n{how}")).with(parts)
            }
            (_, Some(_)) => {
                let how = format!("{} finds it with search_history.", by_page(id.0));
                let why = format!("not shown. It is a source of {}{folded}.\n{how}", places(told));
                Said::new("source", why).with(parts)
            }
            (_, None) => {
                let how = format!("{} finds it with search_history.", by_page(id.0));
                Said::new("searchable", format!("not shown{folded}. No list names it.\n{how}")).with(parts)
            }
        })
    }

    /// Why a message is in the block that every window has, if it is.
    async fn kept(&self) -> Result<Option<(&'static str, &'static str)>> {
        if self.recorded.view.kept.is_none() {
            return Ok(None);
        }
        let window = self.engine.window_of(self.key, &self.recorded.view).await?;
        let mut kept = window.blocks().iter().filter(|block| block.reason == Reason::Kept);
        Ok(kept.find_map(|block| why_kept(block, self.stored.id)))
    }

    /// In which fold it went under its note, and in which topic it is.
    async fn folded(&self) -> Result<Parts> {
        let Some(position) = self.stored.position() else { return Ok(Parts::default()) };
        let (fold, folded_at) = self.engine.folded_in(self.key, &self.recorded.view, position.depth).await?.unzip();
        let card = self.engine.topic_of(self.key, self.recorded.view.head, position).await?;
        let (topic, topic_name) = card.map(|card| (card.id, card.name)).unzip();
        Ok(Parts { fold: fold.map(|fold| fold.epoch), folded_at, topic, topic_name, ..Parts::default() })
    }

    fn folded_words(&self, parts: &Parts) -> String {
        let folded = parts.fold.zip(parts.folded_at);
        let folded = folded.map(|(fold, at)| format!(", folded in fold {fold} at {}", (self.time)(at)));
        let topic = parts.topic.zip(parts.topic_name.as_ref());
        let topic = topic.map(|(topic, name)| format!(", in the topic {topic} “{name}”"));
        folded.into_iter().chain(topic).collect()
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

    fn elsewhere(&self) -> Said {
        match self.stored.place {
            Place::Path(position) => {
                let why = format!(
                    "not shown: it is on branch {}, and this window was made for branch {}. No branch sees another.",
                    position.branch.0, self.recorded.view.head.branch.0
                );
                Said::new("elsewhere", why).with(Parts { branch: Some(position.branch), ..Parts::default() })
            }
            Place::Beside(_) => Said::new(
                "elsewhere",
                "not shown: it is kept beside the path (instructions of another request, a client's own version of a \
                 message, or reasoning).",
            ),
        }
    }
}

/// Why a message is in a block of what is kept, if it is: in a word and in a sentence.
fn why_kept(block: &Block, id: MessageId) -> Option<(&'static str, &'static str)> {
    match &block.body {
        Body::Note(Ours { tells: Tells::Kept(words), .. }) if words.pinned.contains(&id) => {
            Some(("pin", "kept word for word, however old it is, because it is pinned"))
        }
        Body::Note(Ours { tells: Tells::Kept(words), .. }) if words.earlier.contains(&id) => {
            Some(("turn", "its own words are kept, however old they are, because the turn goes on from them"))
        }
        Body::Note(Ours { tells: Tells::Kept(words), .. }) if words.rules.contains(&id) => {
            Some(("rule", "not shown whole, but the rule it states is kept word for word"))
        }
        Body::Original(stored) if stored.id == id => {
            Some(("file", "shown as it came, however old it is: no words can stand for its image or file"))
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
