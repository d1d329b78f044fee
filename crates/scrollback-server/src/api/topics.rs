//! Topics: what a conversation is about, how awake each topic is, what it holds, and what happened to them.

use schemars::JsonSchema;
use scrollback::engine::{Event, Happened, TopicLine, TopicState, day_index};
use scrollback::strategy::topics::activation::{Became, Change};
use scrollback::topic::TopicId;
use scrollback::{At, MessageId, SessionKey};
use serde::Serialize;
use serde_json::{Value, json};

use super::ask::EVENT_KEY;
use super::{Ask, Refusal, Room};

/// The history of a topic goes back so many turns that were scored.
const HISTORY: usize = 500;
/// So many events are read at once, and so many times.
const EVENTS: usize = 500;
const EVENTS_TIMES: usize = 4;
/// When which topics were spoken of.
const DAYS: &str = "topics/index.jsonl";

/// The topics of a branch.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Topics")]
pub(super) struct Listed {
    topics: Vec<Line>,
}

/// A topic.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TopicLine")]
struct Line {
    id: TopicId,
    /// The topic it is a part of.
    parent: Option<TopicId>,
    name: String,
    brief: String,
    state: TopicState,
    messages: u32,
    tokens: u32,
    first: At,
    last: At,
    /// The average of its last scores.
    average: Option<f64>,
    /// Its last scores, newest last.
    scores: Vec<f64>,
    summary: String,
    importance: Option<f64>,
    /// Since when it is archived.
    archived: Option<At>,
    refers: Vec<TopicId>,
    /// The file it is written to.
    file: String,
}

/// A topic, whole.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Topic")]
pub(super) struct Whole {
    #[serde(flatten)]
    line: Line,
    members: Vec<MessageId>,
    /// How it was scored, oldest first.
    history: Vec<Score>,
}

/// A score.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TopicScore")]
#[expect(clippy::struct_field_names, reason = "the names of the answer")]
struct Score {
    /// The message that was answered.
    turn: MessageId,
    at: At,
    score: f64,
}

/// A page of what happened to topics, newest first.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TopicEvents")]
pub(super) struct Events {
    events: Vec<EventLine>,
    /// Where the next page begins.
    next: Option<String>,
}

/// Something that happened.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TopicEvent")]
struct EventLine {
    at: At,
    kind: &'static str,
    topics: Vec<TopicId>,
    /// In a sentence.
    text: String,
    /// What became of a topic that woke or fell asleep.
    change: Option<ChangeLine>,
    /// How many messages were sorted in or read from a file.
    messages: Option<u32>,
}

/// What became of a topic.
#[derive(Serialize, JsonSchema)]
struct ChangeLine {
    became: TopicState,
    /// `score`, `asked`, `cue`, `split` or `few` for what woke, `low` or `crowded` for what fell asleep.
    why: Value,
    /// The average of its scores at that time.
    average: f64,
}

/// Topics as files.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TopicFiles")]
pub(super) struct Files {
    files: Vec<File>,
}

/// A file.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TopicFile")]
struct File {
    path: String,
    text: String,
}

impl Line {
    fn of(line: TopicLine) -> Self {
        let TopicLine { card, state, average, scores, summary, importance, archived, reviewed: _ } = line;
        Self {
            file: card.file(),
            id: card.id,
            parent: card.parent,
            name: card.name,
            brief: card.brief,
            state,
            messages: card.messages,
            tokens: card.tokens,
            first: card.first,
            last: card.last,
            average: average.map(rounded),
            scores: scores.into_iter().map(rounded).collect(),
            summary,
            importance: importance.map(rounded),
            archived,
            refers: card.refers,
        }
    }
}

impl EventLine {
    fn of(Happened { at, event, .. }: Happened) -> Self {
        let (change, messages) = match &event {
            Event::Changed(change) => (Some(ChangeLine::of(change)), None),
            Event::Sorted { messages, .. } | Event::Imported { messages, .. } => (None, Some(*messages)),
            Event::Scored { .. }
            | Event::Cue { .. }
            | Event::Activated { .. }
            | Event::Divided { .. }
            | Event::Merged { .. }
            | Event::Reviewed { .. }
            | Event::Archived { .. } => (None, None),
        };
        Self { at, kind: event.kind(), topics: event.topics(), text: event.to_string(), change, messages }
    }
}

impl ChangeLine {
    fn of(change: &Change) -> Self {
        let (became, why) = match change.became {
            Became::Awake(why) => (TopicState::Active, json!(why)),
            Became::Asleep(tired) => (TopicState::Dormant, json!(tired)),
        };
        Self { became, why, average: rounded(change.average) }
    }
}

/// A score as people write it.
fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1e4).round() / 1e4
}

/// Lists the topics of a branch, in the order they began.
pub(super) async fn list(room: &Room, ask: &Ask, name: &str) -> Result<Value, Refusal> {
    let place = room.place(ask, name).await?;
    let topics = room.engine.topics(&place.key, place.head).await?;
    Ok(serde_json::to_value(Listed { topics: topics.into_iter().map(Line::of).collect() })?)
}

/// Shows a topic whole.
pub(super) async fn one(room: &Room, ask: &Ask, name: &str, topic: &str) -> Result<Value, Refusal> {
    let (id, place) = (topic.parse::<TopicId>()?, room.place(ask, name).await?);
    let found = room.engine.topics(&place.key, place.head).await?.into_iter().find(|line| line.card.id == id);
    let missing = || Refusal::not_found(format!("there is no topic {id} on this branch: its topics list them"));
    let line = Line::of(found.ok_or_else(missing)?);
    let members = room.engine.topic_messages(&place.key, place.head, id).await?;
    let history = history(room, &place.key, id).await?;
    Ok(serde_json::to_value(Whole { line, members, history })?)
}

/// How a topic was scored, in the newest turns.
async fn history(room: &Room, key: &SessionKey, topic: TopicId) -> Result<Vec<Score>, Refusal> {
    let (mut scored, mut cursor, mut history) = (0, String::new(), Vec::new());
    for _ in 0..EVENTS_TIMES {
        let events = room.engine.events_before(key, &cursor, EVENTS).await?;
        let whole = events.len() == EVENTS;
        cursor = events.last().map(|last| last.key.clone()).unwrap_or_default();
        for Happened { at, event, .. } in events {
            if let Event::Scored { turn, scores, .. } = event {
                scored += 1;
                let own = scores.into_iter().find(|(known, _)| *known == topic);
                history.extend(own.filter(|_| scored <= HISTORY).map(|(_, score)| (turn, at, score)));
            }
        }
        if !whole || scored >= HISTORY {
            break;
        }
    }
    Ok(history.into_iter().rev().map(|(turn, at, score)| Score { turn, at, score: rounded(score) }).collect())
}

/// Lists what happened to topics.
pub(super) async fn events(room: &Room, ask: &Ask, name: &str) -> Result<Value, Refusal> {
    let (_, key) = room.session(name).await?;
    let page = ask.page()?;
    let mut found = room.engine.events_before(&key, page.key(EVENT_KEY)?, page.count + 1).await?;
    let next = page.rest(&mut found, |last| last.key.clone());
    Ok(serde_json::to_value(Events { events: found.into_iter().map(EventLine::of).collect(), next })?)
}

/// The topics of a branch as files that people can edit and give back, and the days on which each was spoken of.
pub(super) async fn files(room: &Room, ask: &Ask, name: &str) -> Result<Value, Refusal> {
    let place = room.place(ask, name).await?;
    let files = room.engine.topic_files(&place.key, place.head).await?;
    let text = |lines: &[String]| lines.iter().flat_map(|line| [line, "\n"]).collect();
    let days = (!files.is_empty()).then(|| File { path: DAYS.to_owned(), text: text(&day_index(&files)) });
    let files = files.iter().map(|file| File { path: file.path.clone(), text: text(&file.lines) }).chain(days);
    Ok(serde_json::to_value(Files { files: files.collect() })?)
}
