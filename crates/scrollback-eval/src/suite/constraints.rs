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
        let cells = run(kept(settings, *room, *spoken, folds))?;
        step();
        let Room { strategy, limit_tokens, .. } = room;
        let (name, ours) = (format!("{strategy}, {limit_tokens}"), super::is_ours(*strategy));
        Ok(Row { name, ours, limit: false, cells })
    };
    let rows = abreast(&jobs, work, step)?;
    let languages = spoken.iter().zip(rows.chunks(rooms.len().max(1)));
    Ok(languages.map(|((language, _), rows)| table(*language, folds, rows.to_vec())).collect())
}

/// The share of rules that stand in the window after so many folds, over some conversations, in hundredths.
async fn kept(
    settings: &EngineSettings,
    room: Room,
    (language, rules): (Language, &[&str]),
    folds: &[usize],
) -> Result<Vec<Option<f64>>> {
    let mut found = vec![(0, 0); folds.len()];
    for (seed, stated) in (1..).zip(rules.chunks(RULES)) {
        let mut talk = Talk::new(settings, room, language, seed)?;
        for rule in stated {
            talk.turn(Some(rule)).await?;
        }
        for (look, found) in folds.iter().zip(&mut found) {
            if let Some(shown) = talk.rules_after(*look, stated).await? {
                *found = (found.0 + shown, found.1 + stated.len());
            }
        }
    }
    let share = |(shown, all): (usize, usize)| (all > 0).then(|| 100.0 * crate::meter::ratio(shown as u64, all as u64));
    Ok(found.into_iter().map(share).collect())
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

fn table(language: Language, folds: &[usize], rows: Vec<Row>) -> Table {
    let name = |count: &usize| if *count == 1 { "1 fold".to_owned() } else { format!("{count} folds") };
    let column = |count: &usize| Column { name: name(count), good: Good::High, digits: 1 };
    let about = format!(
        "Share of {} rules, stated {RULES} to a conversation, that stand in the window word for word after so many folds, in percent. \
         Rows name the strategy and the size of the window in tokens.",
        3 * RULES
    );
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
        assert_eq!(share(StrategyName::Pages), [Some(100.0); 2]);
        let truncated = share(StrategyName::Truncate);
        assert!(truncated[1] < Some(100.0), "{truncated:?}");
    }

    #[test]
    fn every_strategy_has_a_row_and_a_line() {
        let rows = vec![Row { name: "pages, 4000".into(), ours: true, limit: false, cells: vec![Some(100.0), None] }];
        let table = table(Language::Chinese, &[1, 2], rows);
        assert_eq!(table.columns[1].name, "2 folds");
        assert_eq!(table.plot.unwrap().lines[0].points, [(1.0, 100.0)]);
        assert_eq!(steps(&STRATEGIES, &[4_000]), 10);
    }
}
