//! `scrollback topics SESSION`: the topics of a conversation as a tree. `show` tells all of one, `export` and `import`
//! write them to files and read them back; `simulate` plays a written story of scores and needs no store.

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use scrollback::engine::{TopicLine, TopicState};
use scrollback::store::{Position, Span};
use scrollback::strategy::topics::activation::ActivationSettings;
use scrollback::strategy::topics::plot::{to_svg, to_text};
use scrollback::strategy::topics::simulate::Script;
use scrollback::topic::TopicId;
use scrollback::{Engine, SessionKey};
use serde::Serialize;

use super::control::typed;
use super::show::{branch, print};
use super::topic_files::{Export, Import};
use super::{Desk, counted, grouped, local, say, say_json, shortened, table, talk};

/// How many columns of a name are shown.
const NAME_COLUMNS: usize = 48;
/// Scores from nothing to one.
const BARS: [char; 5] = ['▁', '▂', '▃', '▅', '▇'];

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Topics {
    #[command(subcommand)]
    command: Option<TopicsCommand>,
    /// The session: its name, its id, or the beginning of either
    session: Option<String>,
    /// Archived topics too
    #[arg(long)]
    archived: bool,
}

#[derive(Debug, Subcommand)]
enum TopicsCommand {
    /// Show a topic: its brief, its summary, what it refers to, its messages
    Show(ShowOne),
    /// Write the topics to files, one each
    Export(Export),
    /// Read topics back from files, edited or not
    Import(Import),
    /// Play a story of scores: who wakes, who sleeps, and why
    Simulate(Simulate),
}

#[derive(Debug, Args)]
struct ShowOne {
    /// The session: its name, its id, or the beginning of either
    session: String,
    /// The topic, such as t42
    topic: TopicId,
}

#[derive(Debug, Args)]
struct Simulate {
    /// The story; a line such as `turn: t1=0.9 t2=0.1 asked t7` is a turn
    file: PathBuf,
    /// Draw it as SVG into this file
    #[arg(long, value_name = "OUT")]
    svg: Option<PathBuf>,
}

/// Which topics are listed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Listed {
    All,
    NotArchived,
}

/// A topic as JSON.
#[derive(Serialize)]
struct Line<'a> {
    topic: String,
    parent: Option<String>,
    name: &'a str,
    state: &'a str,
    average: Option<f32>,
    scores: &'a [f32],
    messages: u32,
    tokens: u32,
    first: String,
    last: String,
    importance: Option<f32>,
    archived: Option<String>,
    brief: &'a str,
    summary: &'a str,
    refers: Vec<String>,
}

impl<'a> Line<'a> {
    fn of(line: &'a TopicLine) -> Self {
        let TopicLine { card, state, average, scores, summary, importance, archived, .. } = line;
        Self {
            topic: card.id.to_string(),
            parent: card.parent.map(|parent| parent.to_string()),
            name: &card.name,
            state: state.as_str(),
            average: *average,
            scores,
            messages: card.messages,
            tokens: card.tokens,
            first: card.first.to_string(),
            last: card.last.to_string(),
            importance: *importance,
            archived: archived.map(|at| at.to_string()),
            brief: &card.brief,
            summary,
            refers: card.refers.iter().map(ToString::to_string).collect(),
        }
    }
}

impl Topics {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        match (self.command, self.session) {
            (Some(TopicsCommand::Simulate(command)), _) => command.run(desk),
            (Some(TopicsCommand::Show(command)), _) => command.run(desk).await,
            (Some(TopicsCommand::Export(command)), _) => command.run(desk).await,
            (Some(TopicsCommand::Import(command)), _) => command.run(desk).await,
            (None, Some(name)) => {
                let (engine, key, head) = opened(desk, &name).await?;
                let listed = if self.archived { Listed::All } else { Listed::NotArchived };
                list(desk, &engine, &key, head, listed).await
            }
            (None, None) => bail!("name a session: `scrollback sessions` lists them"),
        }
    }
}

/// A session for reading, and the end of its newest branch.
pub(super) async fn opened(desk: &Desk, name: &str) -> anyhow::Result<(Engine, SessionKey, Position)> {
    let store = desk.reading().await?;
    let session = desk.session(&store, name).await?;
    let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
    let head = branch(&session, None)?.context("the session has no messages")?.head;
    Ok((desk.engine(store), key, head))
}

/// Lists the topics of a path as a tree.
pub(super) async fn list(
    desk: &Desk,
    engine: &Engine,
    key: &SessionKey,
    head: Position,
    listed: Listed,
) -> anyhow::Result<ExitCode> {
    let all = engine.topics(key, head).await?;
    let hidden =
        all.iter().filter(|topic| listed == Listed::NotArchived && topic.state == TopicState::Archived).count();
    let shown: Vec<TopicLine> =
        all.into_iter().filter(|topic| listed == Listed::All || topic.state != TopicState::Archived).collect();
    if desk.json {
        shown.iter().try_for_each(|topic| say_json(&Line::of(topic)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut lines = table(&["topic", "name", "state", "score", "", "messages", "tokens", "last"], &[3, 5, 6]);
    for (topic, level) in tree(&shown) {
        lines.add_row([
            topic.card.id.to_string(),
            format!("{}{}", "  ".repeat(level), shortened(&topic.card.name, NAME_COLUMNS)),
            topic.state.as_str().to_owned(),
            topic.average.map_or("–".into(), |average| format!("{average:.2}")),
            topic.scores.iter().map(|score| bar(*score)).collect(),
            grouped(topic.card.messages),
            grouped(topic.card.tokens),
            topic.card.last.to_string().chars().take(10).collect(),
        ]);
    }
    say(lines.trim_fmt())?;
    talk(&counted(shown.len() as u64, "topic"));
    if hidden > 0 {
        talk(&format!("{hidden} archived; --archived shows them"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Topics with their parts below them, and how deep each lies.
fn tree(topics: &[TopicLine]) -> Vec<(&TopicLine, usize)> {
    let listed = |id: TopicId| topics.iter().any(|topic| topic.card.id == id);
    let is_root = |topic: &&TopicLine| topic.card.parent.is_none_or(|parent| !listed(parent));
    let (mut ordered, mut seen) = (Vec::with_capacity(topics.len()), HashSet::new());
    // Topics that lie below one another have no root; the first of them stands for one.
    for root in topics.iter().filter(is_root).chain(topics) {
        let mut waiting = vec![(root, 0)];
        while let Some((topic, level)) = waiting.pop() {
            if seen.insert(topic.card.id) {
                ordered.push((topic, level));
                let parts = topics.iter().rev().filter(|part| part.card.parent == Some(topic.card.id));
                waiting.extend(parts.map(|part| (part, level + 1)));
            }
        }
    }
    ordered
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a score is from 0 to 1")]
fn bar(score: f32) -> char {
    BARS[((score.clamp(0.0, 1.0) * 5.0) as usize).min(BARS.len() - 1)]
}

/// Lists what happened to topics.
pub(super) async fn events(desk: &Desk, engine: &Engine, key: &SessionKey) -> anyhow::Result<ExitCode> {
    let events = engine.events(key).await?;
    for (at, event) in &events {
        if desk.json {
            say_json(&serde_json::json!({"at": at.to_string(), "event": event}))?;
        } else {
            say(format!("{}  {event}", local(*at)))?;
        }
    }
    talk(&counted(events.len() as u64, "event"));
    Ok(ExitCode::SUCCESS)
}

impl ShowOne {
    async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let (engine, key, head) = opened(desk, &self.session).await?;
        let found = engine.topics(&key, head).await?.into_iter().find(|line| line.card.id == self.topic);
        let missing =
            || format!("there is no topic {}: `scrollback topics {}` lists them", self.topic, typed(&self.session));
        let line = found.with_context(missing)?;
        let ids = engine.topic_messages(&key, head, self.topic).await?;
        let messages = engine.log().store().read(&key, Span::Ids(ids)).await?;
        if desk.json {
            say_json(&Line::of(&line))?;
            return messages
                .iter()
                .try_for_each(|stored| say_json(&super::show::Line::of(stored)))
                .map(|()| ExitCode::SUCCESS);
        }
        say(format!("{} {} · {}", line.card.id, line.card.name, line.state.as_str()))?;
        let refers: Vec<String> = line.card.refers.iter().map(ToString::to_string).collect();
        let told = [("brief", &line.card.brief), ("summary", &line.summary), ("refers to", &refers.join(", "))];
        for (what, text) in told.iter().filter(|(_, text)| !text.is_empty()) {
            say(format!("\n{what}: {text}"))?;
        }
        messages.iter().try_for_each(print)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Simulate {
    fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let file = self.file.display();
        let text = std::fs::read_to_string(&self.file).with_context(|| format!("{file} cannot be read"))?;
        let script =
            Script::read(&text, ActivationSettings::default()).with_context(|| format!("{file} is no story"))?;
        let rows = script.run();
        if let Some(svg) = &self.svg {
            std::fs::write(svg, to_svg(&script, &rows))
                .with_context(|| format!("{} cannot be written", svg.display()))?;
            talk(&format!("{} is drawn", svg.display()));
        }
        if desk.json {
            rows.iter().try_for_each(say_json)?;
        } else {
            say(to_text(&script, &rows).trim_end())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use scrollback::MessageId;
    use scrollback::topic::Card;

    use super::*;

    fn line(id: u32, parent: Option<u32>) -> TopicLine {
        let topic = |number| TopicId(MessageId(number));
        let (name, brief, summary) = (format!("Topic {id}"), String::new(), String::new());
        let (messages, tokens, first, last, refers) = Default::default();
        let (average, scores, importance, reviewed, archived) = Default::default();
        let card =
            Card { id: topic(id), parent: parent.map(topic), name, brief, messages, tokens, first, last, refers };
        let state = TopicState::Dormant;
        TopicLine { card, state, average, scores, summary, importance, reviewed, archived }
    }

    #[test]
    fn every_topic_is_in_the_tree_even_in_a_circle() {
        let lines = [line(1, Some(2)), line(2, Some(1)), line(3, None), line(4, Some(3)), line(5, Some(99))];
        let drawn: Vec<(u32, usize)> = tree(&lines).iter().map(|(topic, level)| (topic.card.id.0.0, *level)).collect();
        assert_eq!(drawn, [(3, 0), (4, 1), (5, 0), (1, 0), (2, 1)]);
    }
}
