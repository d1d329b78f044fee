//! Constraints: how many of the rules a person stated stand in the window, word for word, after many folds.
//!
//! Each conversation states some rules at its beginning and then goes on about other things. A window that drops the
//! oldest messages loses them sooner or later.

use scrollback::engine::EngineSettings;
use scrollback::strategy::StrategyName;
use scrollback::{Result, Role};

use crate::abreast::abreast;
use crate::fixture::{CHINESE, Chatter, ENGLISH, Language};
use crate::player::{Line, Player, Room, oldest, run, says};
use crate::table::{Column, Good, Line as Drawn, Plot, Row, Table};

/// After how many folds it is looked.
pub const FOLDS: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// The sizes of the windows, unless told otherwise.
pub const LIMITS: [u32; 3] = [4_000, 8_000, 16_000];
/// The strategies that fold, the baseline first.
pub const STRATEGIES: [StrategyName; 5] =
    [StrategyName::Truncate, StrategyName::Artifacts, StrategyName::Summary, StrategyName::Topics, StrategyName::Pages];
/// How many rules a conversation states, one in a turn.
pub(super) const RULES: usize = 8;
/// A turn takes about this part of the window: sixteen of them fill it.
const TURNS: u32 = 16;
/// How many turns a fold may take before nobody waits for it any longer.
const PATIENCE: usize = 64;

/// How many steps measuring takes.
pub fn steps(strategies: &[StrategyName], limits: &[u32]) -> usize {
    2 * strategies.len() * limits.len()
}

/// Measures strategies at windows of these sizes, after so many [`FOLDS`]; `step` is called [`steps`] times.
pub fn measure(
    settings: &EngineSettings,
    strategies: &[StrategyName],
    limits: &[u32],
    step: impl FnMut(),
) -> Result<Vec<Table>> {
    let folds = &FOLDS;
    let rooms =
        strategies.iter().copied().flat_map(|name| limits.iter().map(move |limit| Room::of_window(name, *limit)));
    let rooms: Vec<Room> = rooms.collect();
    let spoken: [(Language, &[&str]); 2] = [(Language::English, &ENGLISH), (Language::Chinese, &CHINESE)];
    let jobs: Vec<_> = spoken.into_iter().flat_map(|spoken| rooms.iter().map(move |room| (spoken, *room))).collect();
    let work = |(spoken, room): &((Language, &[&str]), Room), step: &dyn Fn()| {
        let found = run(kept(settings, *room, *spoken, folds))?;
        step();
        let Room { strategy, limit_tokens, .. } = room;
        let (name, ours) = (format!("{strategy}, {limit_tokens}"), super::is_ours(*strategy));
        let cells = found.iter().copied().map(Found::percent).collect();
        Ok((Row { name, ours, limit: false, cells }, found))
    };
    let rows = abreast(&jobs, work, step)?;
    let languages = spoken.iter().zip(rows.chunks(rooms.len().max(1)));
    let tables = languages.map(|((language, rules), rows)| table(*language, folds, rows, rules.chunks(RULES).count()));
    Ok(tables.collect())
}

/// What some conversations had after so many folds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Found {
    /// How many of them folded so often.
    talks: usize,
    /// How many rules those stated.
    stated: usize,
    /// How many of these stand in their windows.
    shown: usize,
}

impl Found {
    /// The share of rules that stand in the window; none if no conversation folded so often.
    fn percent(self) -> Option<f64> {
        (self.stated > 0).then(|| 100.0 * crate::meter::ratio(self.shown as u64, self.stated as u64))
    }
}

/// Which rules stand in the window after so many folds, over some conversations.
async fn kept(
    settings: &EngineSettings,
    room: Room,
    (language, rules): (Language, &[&str]),
    folds: &[usize],
) -> Result<Vec<Found>> {
    let mut found = vec![Found::default(); folds.len()];
    for (seed, stated) in (1..).zip(rules.chunks(RULES)) {
        let mut talk = Talk::new(settings, room, language, seed)?;
        for rule in stated {
            talk.turn(Some(rule)).await?;
        }
        for (look, found) in folds.iter().zip(&mut found) {
            if let Some(shown) = talk.rules_after(*look, stated).await? {
                let (talks, stated, shown) = (found.talks + 1, found.stated + stated.len(), found.shown + shown);
                *found = Found { talks, stated, shown };
            }
        }
    }
    Ok(found)
}

/// A conversation that goes on and on.
pub(super) struct Talk {
    pub(super) player: Player,
    room: Room,
    chatter: Chatter,
    first: Option<scrollback::MessageId>,
    folds: usize,
}

impl Talk {
    fn new(settings: &EngineSettings, room: Room, language: Language, seed: u64) -> Result<Self> {
        let settings = EngineSettings { strategy: room.strategy, ..settings.clone() };
        Ok(Self::with(Player::new(settings)?, room, language, seed))
    }

    /// A conversation that somebody else has begun.
    pub(super) fn with(player: Player, room: Room, language: Language, seed: u64) -> Self {
        Self { player, room, chatter: Chatter::new(language, seed), first: None, folds: 0 }
    }

    /// One turn, in which a rule may be stated, and its window.
    pub(super) async fn turn(&mut self, rule: Option<&str>) -> Result<scrollback::window::Window> {
        let question = self.chatter.question();
        let said = rule.map_or_else(|| question.clone(), |rule| format!("{question} {rule}"));
        let turn = self.player.ask(&[Line::text(&Role::User, None, &said)], self.room).await?;
        let window = turn.window().clone();
        let before = std::mem::replace(&mut self.first, oldest(&window));
        self.folds += usize::from(before.is_some() && self.first > before);
        let words = self.room.window_tokens / TURNS / 2;
        let reply = self.chatter.text(words as usize);
        self.player.reply(turn, Line::text(&Role::Assistant, None, &reply)).await?;
        Ok(window)
    }

    /// How many rules the window shows once so many folds were made; nothing if that takes too long.
    async fn rules_after(&mut self, folds: usize, rules: &[&str]) -> Result<Option<usize>> {
        let window = self.reach(folds).await?;
        Ok(window.map(|window| rules.iter().filter(|rule| says(&window, rule)).count()))
    }

    /// Goes on until so many folds were made: the window then; nothing if that takes too long.
    pub(super) async fn reach(&mut self, folds: usize) -> Result<Option<scrollback::window::Window>> {
        for _ in 0..PATIENCE * folds {
            let window = self.turn(None).await?;
            if self.folds >= folds {
                return Ok(Some(window));
            }
        }
        Ok(None)
    }
}

fn named(folds: usize) -> String {
    if folds == 1 { "1 fold".to_owned() } else { format!("{folds} folds") }
}

fn table(language: Language, folds: &[usize], rows: &[(Row, Vec<Found>)], talks: usize) -> Table {
    let column = |count: &usize| Column { name: named(*count), good: Good::High, digits: 1 };
    let about = format!(
        "Share of {} rules, stated {RULES} to a conversation, that stand in the window word for word after so many folds, in percent. \
         Rows name the strategy and the size of the window in tokens. {}",
        talks * RULES,
        reached(folds, rows, talks)
    );
    let rows: Vec<Row> = rows.iter().map(|(row, _)| row.clone()).collect();
    let plot = Plot {
        x: "folds".into(),
        y: "rules in the window, %".into(),
        logarithmic: true,
        lines: rows.iter().map(|row| drawn(row, folds)).collect(),
    };
    Table {
        title: format!("Constraints, {}", language.name()),
        about,
        columns: folds.iter().map(column).collect(),
        rows,
        plot: Some(plot),
    }
}

/// How many conversations folded so often, where it was not all of them.
fn reached(folds: &[usize], rows: &[(Row, Vec<Found>)], talks: usize) -> String {
    let mut fewer = Vec::new();
    for (row, found) in rows {
        let short = folds.iter().zip(found).filter(|(_, found)| found.talks < talks);
        fewer.extend(short.map(|(folds, found)| format!("{} of “{}” to {}", found.talks, row.name, named(*folds))));
    }
    if fewer.is_empty() {
        return format!("All {talks} conversations of every row came to so many folds.");
    }
    let fewer = fewer.join("; ");
    format!("Fewer than {talks} conversations came to so many folds, and only those count: {fewer}.")
}

#[expect(clippy::cast_precision_loss, reason = "folds are few")]
fn drawn(row: &Row, folds: &[usize]) -> Drawn {
    let points = folds.iter().zip(&row.cells).filter_map(|(folds, cell)| Some((*folds as f64, (*cell)?)));
    Drawn { name: row.name.clone(), ours: row.ours, points: points.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_outlive_folds_but_not_truncation() {
        let (settings, room) = (EngineSettings::default(), |strategy| Room::of_window(strategy, 3_000));
        let share = |strategy| {
            let rules = (Language::English, &["Never put tomatoes into my soup.", "All times must be in UTC."][..]);
            run(kept(&settings, room(strategy), rules, &[1, 3])).unwrap()
        };
        assert_eq!(share(StrategyName::Pages), [Found { talks: 1, stated: 2, shown: 2 }; 2]);
        let truncated = share(StrategyName::Truncate);
        assert!(truncated[1].percent() < Some(100.0), "{truncated:?}");
    }

    #[test]
    fn every_strategy_has_a_row_and_a_line() {
        let row = Row { name: "pages, 4000".into(), ours: true, limit: false, cells: vec![Some(100.0), None] };
        let whole = Found { talks: 3, stated: 24, shown: 24 };
        let drawn = table(Language::Chinese, &[1, 2], &[(row.clone(), vec![whole, Found::default()])], 3);
        assert_eq!(drawn.columns[1].name, "2 folds");
        assert!(drawn.about.ends_with("only those count: 0 of “pages, 4000” to 2 folds."), "{}", drawn.about);
        assert_eq!(drawn.plot.unwrap().lines[0].points, [(1.0, 100.0)]);
        let about = table(Language::Chinese, &[1], &[(row, vec![whole])], 3).about;
        assert!(about.starts_with("Share of 24 rules") && about.contains("All 3 conversations"), "{about}");
        assert_eq!(steps(&STRATEGIES, &[4_000]), 10);
    }
}
