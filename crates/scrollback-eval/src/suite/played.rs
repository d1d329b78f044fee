//! Windows as the engine lays them out: a conversation is played turn by turn, then every question is asked at its end.

use scrollback::engine::EngineSettings;
use scrollback::{Error, Message, MessageId, Result, Role};

use crate::dataset::recall::{Asked, Said, Talk};
use crate::player::{Line, Player, Room, Shown};

/// Plays a conversation in each room, and asks its questions there: for each question, for each room, the places of the messages
/// that its window holds word for word.
pub async fn play(talk: &Talk, settings: &EngineSettings, rooms: &[Room]) -> Result<Vec<Vec<Vec<usize>>>> {
    let mut player = Player::new(settings.clone())?;
    let mut ids = Vec::new();
    for room in rooms {
        player.rewind();
        ids = told(&mut player, talk, *room).await?;
    }
    let mut windows = Vec::with_capacity(talk.questions.len());
    for asked in &talk.questions {
        let mut of_question = Vec::with_capacity(rooms.len());
        for room in rooms {
            of_question.push(window(&mut player, (talk, &ids), asked, *room).await?);
        }
        windows.push(of_question);
    }
    Ok(windows)
}

/// Says a whole conversation; the numbers its messages have, in order.
async fn told(player: &mut Player, talk: &Talk, room: Room) -> Result<Vec<MessageId>> {
    let mut ids = Vec::with_capacity(talk.messages.len());
    let mut turn = None;
    for said in &talk.messages {
        let line = line(said);
        turn = match turn.take() {
            Some(begun) if *line.message.role() == Role::Assistant => {
                let stored = player.reply(begun, line).await?;
                ids.extend(stored.map(|stored| stored.id));
                None
            }
            _ => {
                let begun = player.ask(&[line], room).await.ok();
                ids.extend(player.head());
                begun
            }
        };
    }
    Ok(ids)
}

fn line(said: &Said) -> Line {
    let role = if said.is_reply { Role::Assistant } else { Role::User };
    Line::text(&role, said.name(), &said.text).at(said.at)
}

async fn window(
    player: &mut Player,
    (talk, ids): (&Talk, &[MessageId]),
    asked: &Asked,
    room: Room,
) -> Result<Vec<usize>> {
    let question = Line::new(Message::text(&Role::User, &asked.text)).at(talk.messages.last().and_then(|said| said.at));
    let turn = match player.ask_aside(&question, room).await {
        Ok(turn) => turn,
        // A window that cannot hold the question holds nothing else.
        Err(Error::TooLarge(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let shown = Shown::of(turn.window());
    let holds = |place: &usize| shown.holds(ids[*place], &talk.messages[*place].text);
    Ok((0..talk.messages.len()).filter(holds).collect())
}
