//! A written story of scores, run through activation: for tuning settings and for seeing what they do.
//!
//! A line is a turn: `turn: t1=0.9 t2=0.1 asked t7 cue t3`. `turn x3: …` is the same turn three times, `set most 5`
//! changes a setting, `name t1 Garden` says what a topic is called, and `#` begins a remark. [`super::plot`] draws the
//! outcome.

use std::collections::BTreeMap;

use serde::Serialize;

use super::activation::{ActivationSettings, Change, Trail, Why, average, floor, sleep_floor, step};
use crate::error::{Error, Result};
use crate::topic::TopicId;

/// More turns than this are a slip of the pen.
const MOST_TURNS: usize = 10_000;

/// What happens in a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// What the topics that were asked scored.
    pub scores: Vec<(TopicId, f32)>,
    /// Which wake for another reason.
    pub woken: Vec<(TopicId, Why)>,
}

/// A story.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// How topics wake and sleep in it.
    pub settings: ActivationSettings,
    /// What topics are called.
    pub names: BTreeMap<TopicId, String>,
    /// What happens.
    pub turns: Vec<Turn>,
}

/// Where a topic stood after a turn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// Which topic.
    pub topic: TopicId,
    /// What it scored, if it was asked or passed over while awake.
    pub score: Option<f32>,
    /// The average of its last scores.
    pub average: f32,
    /// Whether it was awake.
    pub active: bool,
}

/// A turn and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its number, from 1.
    pub turn: usize,
    /// How many are awake after it.
    pub active: usize,
    /// What a topic must reach to wake next.
    pub floor: f32,
    /// Below this a topic grows sleepy.
    pub sleep_floor: f32,
    /// Every topic that has been heard of, in the order of their numbers.
    pub topics: Vec<Standing>,
    /// Who woke and who went to sleep.
    pub changes: Vec<Change>,
}

impl Script {
    /// Reads a story over some settings.
    pub fn read(text: &str, settings: ActivationSettings) -> Result<Self> {
        let mut script = Self { settings, ..Self::default() };
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            let read = if line.is_empty() { Ok(()) } else { script.line(line) };
            read.map_err(|wrong| Error::Invalid(format!("line {number}: {wrong}")))?;
        }
        Ok(script)
    }

    /// Runs it.
    pub fn run(&self) -> Vec<Row> {
        let mut trails = Vec::new();
        let row = |(number, turn): (usize, &Turn)| {
            let asked: Vec<TopicId> = active(&trails).chain(turn.scores.iter().map(|(topic, _)| *topic)).collect();
            let changes = step(&self.settings, &mut trails, &turn.scores, &turn.woken);
            Row { turn: number, changes, ..self.row(&trails, &asked) }
        };
        (1..).zip(&self.turns).map(row).collect()
    }

    /// What a topic is called.
    pub fn label(&self, topic: TopicId) -> String {
        self.names.get(&topic).map_or_else(|| topic.to_string(), |name| format!("{topic} {name}"))
    }

    /// How all stand after a turn in which some were asked.
    fn row(&self, trails: &[Trail], asked: &[TopicId]) -> Row {
        let standing = |trail: &Trail| Standing {
            topic: trail.topic,
            score: trail.scores.last().copied().filter(|_| asked.contains(&trail.topic)),
            average: average(&self.settings, &trail.scores),
            active: trail.active,
        };
        let mut topics: Vec<Standing> = trails.iter().map(standing).collect();
        topics.sort_by_key(|standing| standing.topic);
        let active = active(trails).count();
        let (floor, sleep_floor) = (floor(&self.settings, active), sleep_floor(&self.settings, active));
        Row { turn: 0, active, floor, sleep_floor, topics, changes: Vec::new() }
    }

    fn line(&mut self, line: &str) -> std::result::Result<(), String> {
        if let Some((head, told)) = line.split_once(':').filter(|(head, _)| head.starts_with("turn")) {
            let turn = Turn::read(told)?;
            let times = times(head)?;
            if self.turns.len() + times > MOST_TURNS {
                return Err(format!("that makes more than {MOST_TURNS} turns"));
            }
            self.turns.extend(std::iter::repeat_n(turn, times));
            return Ok(());
        }
        let mut words = line.splitn(3, ' ').map(str::trim);
        match (words.next(), words.next(), words.next()) {
            (Some("set"), Some(setting), Some(value)) => self.set(setting, value),
            (Some("name"), Some(topic), Some(name)) => {
                self.names.insert(topic_of(topic)?, name.to_owned());
                Ok(())
            }
            _ => Err(format!(
                "“{line}” is neither a turn (turn: t1=0.9), a setting (set most 5) nor a name (name t1 Garden)"
            )),
        }
    }

    fn set(&mut self, setting: &str, value: &str) -> std::result::Result<(), String> {
        let settings = &mut self.settings;
        match setting {
            "average_over" => settings.average_over = number(value)?,
            "least" => settings.least = number(value)?,
            "usual" => settings.usual = number(value)?,
            "most" => settings.most = number(value)?,
            "floor" => settings.floor = number(value)?,
            "floor_each" => settings.floor_each = number(value)?,
            "sleep_share" => settings.sleep_share = number(value)?,
            "patience" => settings.patience = number(value)?,
            "deep_share" => settings.deep_share = number(value)?,
            _ => return Err(format!("“{setting}” is no setting of activation")),
        }
        Ok(())
    }
}

impl Turn {
    fn read(text: &str) -> std::result::Result<Self, String> {
        let mut turn = Self::default();
        let mut reason = None;
        for word in text.split_whitespace() {
            match (why(word), word.split_once('='), reason) {
                (Some(why), _, _) => reason = Some(why),
                (None, Some((topic, score)), _) => turn.scores.push((topic_of(topic)?, number(score)?)),
                (None, None, Some(why)) => turn.woken.push((topic_of(word)?, why)),
                (None, None, None) => {
                    return Err(format!("“{word}” is neither a score (t1=0.9) nor asked, cue or split"));
                }
            }
        }
        Ok(turn)
    }
}

fn active(trails: &[Trail]) -> impl Iterator<Item = TopicId> {
    trails.iter().filter(|trail| trail.active).map(|trail| trail.topic)
}

fn why(word: &str) -> Option<Why> {
    match word {
        "asked" => Some(Why::Asked),
        "cue" => Some(Why::Cue),
        "split" => Some(Why::Split),
        _ => None,
    }
}

/// How often a turn is repeated: once, or as `turn x3` says.
fn times(head: &str) -> std::result::Result<usize, String> {
    let rest = head.strip_prefix("turn").unwrap_or(head).trim();
    match rest.strip_prefix(['x', '×']) {
        Some(times) => number(times.trim()),
        None if rest.is_empty() => Ok(1),
        None => Err(format!("“{rest}” is no number of turns: write turn x3")),
    }
}

fn topic_of(text: &str) -> std::result::Result<TopicId, String> {
    text.parse().map_err(|_| format!("“{text}” is no topic: they are written t42"))
}

fn number<T: std::str::FromStr>(text: &str) -> std::result::Result<T, String> {
    text.parse().map_err(|_| format!("“{text}” is not the number that belongs here"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::MessageId;

    #[test]
    fn stories_are_read() -> Result<()> {
        let text =
            "# a story\nset most 5\nname t1 Garden and house\nturn x2: t1=0.9 t2=.1 # hm\nturn: asked t7 t8 cue t3\n";
        let script = Script::read(text, ActivationSettings::default())?;
        let t = |number| TopicId(MessageId(number));
        let scores = Turn { scores: vec![(t(1), 0.9), (t(2), 0.1)], woken: Vec::new() };
        let woken = vec![(t(7), Why::Asked), (t(8), Why::Asked), (t(3), Why::Cue)];
        assert_eq!(script.turns, [scores.clone(), scores, Turn { scores: Vec::new(), woken }]);
        assert_eq!((script.settings.most, script.label(t(1))), (5, "t1 Garden and house".to_owned()));
        Ok(())
    }

    #[test]
    fn mistakes_say_where_they_are() {
        for (text, expected) in [
            ("\nturn: t1", "line 2: “t1” is neither a score (t1=0.9) nor asked, cue or split"),
            ("turn: x=0.1", "line 1: “x” is no topic: they are written t42"),
            ("turn: t1=high", "line 1: “high” is not the number that belongs here"),
            ("turn 3: t1=1", "line 1: “3” is no number of turns: write turn x3"),
            ("turn x99999999: t1=1", "line 1: that makes more than 10000 turns"),
            ("set colour blue", "line 1: “colour” is no setting of activation"),
        ] {
            let error = Script::read(text, ActivationSettings::default()).err().map(|error| error.to_string());
            assert!(error.as_deref().is_some_and(|error| error.contains(expected)), "{error:?}");
        }
        assert!(Script::read("hello", ActivationSettings::default()).is_err());
    }

    #[test]
    fn rows_tell_every_turn() -> Result<()> {
        let rows = Script::read("turn: t2=0.5 t1=0.9\nturn: t1=0.8\n", ActivationSettings::default())?.run();
        let seen = |row: &Row| row.topics.iter().map(|standing| standing.score).collect::<Vec<_>>();
        assert_eq!(rows.iter().map(seen).collect::<Vec<_>>(), [[Some(0.9), Some(0.5)], [Some(0.8), Some(0.0)]]);
        Ok(())
    }
}
