//! Windows as the engine lays them out: a conversation is played turn by turn, then every question is asked at its end.

use std::sync::Arc;

use scrollback::embed::{EmbedSettings, Embedder};
use scrollback::engine::{EngineSettings, Turn};
use scrollback::{Error, Message, MessageId, Result, Role};

use crate::dataset::recall::{Asked, Said, Talk};
use crate::player::{Line, Player, Room, Shown};

/// How many messages people write to each other before a window is laid out.
const ABREAST: usize = 16;
/// In a conversation of more messages than this, a window is laid out for as many of them, whoever writes them.
const LONG: usize = 500;

/// What an engine is made with.
#[derive(Clone)]
pub struct With<'a> {
    /// Its settings.
    pub settings: &'a EngineSettings,
    /// What makes vectors, if anything does.
    pub embedding: Option<Embedding>,
}

/// What makes vectors, and how they are used.
#[derive(Clone)]
pub struct Embedding {
    /// What makes them.
    pub embedder: Arc<dyn Embedder>,
    /// How they are used. Here questions wait for them however long it takes.
    pub settings: EmbedSettings,
}

/// What numbers depend on.
impl std::fmt::Debug for Embedding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let EmbedSettings { passages, reply_passages, .. } = self.settings;
        write!(f, "{}, {passages} passages, {reply_passages} of replies", self.embedder.name())
    }
}

/// Plays a conversation in each room, and asks its questions there: for each question, for each room, the places of the
/// messages that its window holds word for word. Every room has a store of its own, so that none depends on the others.
pub async fn play(talk: &Talk, with: &With<'_>, rooms: &[Room]) -> Result<Vec<Vec<Vec<usize>>>> {
    let mut windows = vec![Vec::with_capacity(rooms.len()); talk.questions.len()];
    for room in rooms {
        for (of_question, window) in windows.iter_mut().zip(play_in(talk, with, *room).await?) {
            of_question.push(window);
        }
    }
    Ok(windows)
}

async fn play_in(talk: &Talk, with: &With<'_>, room: Room) -> Result<Vec<Vec<usize>>> {
    let mut player = Player::new(with.settings.clone())?;
    if let Some(Embedding { embedder, settings }) = &with.embedding {
        player = player.with_embedder(embedder.clone(), settings);
    }
    let ids = told(&mut player, talk, room).await?;
    player.embed().await?;
    let mut windows = Vec::with_capacity(talk.questions.len());
    for asked in &talk.questions {
        windows.push(window(&player, (talk, &ids), asked, room).await?);
    }
    Ok(windows)
}

/// Says a whole conversation; the numbers its messages have, in order. A window is laid out for every
/// message of a model; where people talk among themselves, and in a long conversation, for every so many messages.
pub(super) async fn told(player: &mut Player, talk: &Talk, room: Room) -> Result<Vec<MessageId>> {
    let mut ids = Vec::with_capacity(talk.messages.len());
    let (mut turn, mut new) = (None, Vec::new());
    let is_long = talk.messages.len() > LONG;
    for (place, said) in talk.messages.iter().enumerate() {
        if let Some(begun) = turn.take() {
            ids.extend(player.reply(begun, line(said)).await?.map(|stored| stored.id));
            continue;
        }
        new.push(line(said));
        let is_answered = !is_long && talk.messages.get(place + 1).is_some_and(|next| next.is_reply);
        let is_time = new.len() >= ABREAST && (!said.is_reply || new.len() == 2 * ABREAST);
        if is_answered || is_time {
            turn = match player.ask(&new, room).await {
                Ok(turn) => Some(turn).filter(|_| is_answered),
                Err(Error::TooLarge(_)) => None,
                Err(error) => return Err(error),
            };
            ids.extend(player.fresh());
            new.clear();
        }
    }
    if !new.is_empty() {
        player.say(&new).await?;
        ids.extend(player.fresh());
    }
    Ok(ids)
}

fn line(said: &Said) -> Line {
    let role = if said.is_reply { Role::Assistant } else { Role::User };
    Line::text(&role, said.name(), &said.text).at(said.at)
}

async fn window(player: &Player, (talk, ids): (&Talk, &[MessageId]), asked: &Asked, room: Room) -> Result<Vec<usize>> {
    let turn = match player.ask_aside(&question(talk, asked), room).await {
        Ok(turn) => turn,
        // A window that cannot hold the question holds nothing else.
        Err(Error::TooLarge(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    Ok(held(&turn, (talk, ids)))
}

/// A question in these words, as it is asked after the last message.
pub(super) fn question(talk: &Talk, asked: &Asked) -> Line {
    let at = asked.at.or_else(|| talk.messages.last().and_then(|said| said.at));
    Line::new(Message::text(&Role::User, &asked.text)).at(at)
}

/// The places of the messages that a window holds word for word.
pub(super) fn held(turn: &Turn, (talk, ids): (&Talk, &[MessageId])) -> Vec<usize> {
    let shown = Shown::of(turn.window());
    let holds = |place: &usize| shown.holds(ids[*place], &talk.messages[*place].text);
    (0..talk.messages.len()).filter(holds).collect()
}
