//! Scale: what a turn takes at the end of ever longer conversations, and what it takes to keep them.
//!
//! One conversation is played turn by turn and looked at whenever it has reached the next size. Times are those of this
//! machine.

use std::path::Path;
use std::time::{Duration, Instant};

use scrollback::engine::EngineSettings;
use scrollback::{Result, Role};

use crate::fixture::{Chatter, Language};
use crate::meter::ratio;
use crate::player::{Line, Player, Room};
use crate::table::{Column, Good, Line as Drawn, Plot, Row, Table};

/// The sizes, unless told otherwise.
pub const SIZES: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];
/// The model's limit, unless told otherwise.
pub const LIMIT: u32 = 32_000;
/// How many steps measuring takes.
pub const STEPS: u64 = 100;
/// How many turns before a size is reached count for it.
const LAST: usize = 200;
/// How many words a reply has.
const REPLY_WORDS: usize = 240;
/// Bytes in a page of memory.
const PAGE: u64 = 4_096;

/// What was measured at a size.
struct Reached {
    size: u64,
    tokens: u64,
    times: Vec<Duration>,
    memory: Option<u64>,
    disk: u64,
    took: Duration,
}

/// Plays a conversation with the strategy of the settings, for a model with a limit, up to the last of the sizes;
/// `step` is called [`STEPS`] times.
pub fn measure(settings: &EngineSettings, limit: u32, sizes: &[u64], step: impl FnMut()) -> Result<Vec<Table>> {
    let reached = crate::player::run(played(settings, limit, sizes, step))?;
    Ok(vec![table(settings, limit, &reached)])
}

async fn played(settings: &EngineSettings, limit: u32, sizes: &[u64], mut step: impl FnMut()) -> Result<Vec<Reached>> {
    let mut player = Player::durable(settings.clone())?;
    let (room, mut chatter) = (Room::of_model(settings.strategy, limit), Chatter::new(Language::English, 1));
    let (last, mut steps) = (sizes.last().copied().unwrap_or(0), 0);
    let (mut tokens, mut times, mut reached) = (0, Vec::new(), Vec::new());
    let mut took = Duration::ZERO;
    for &size in sizes {
        while tokens < size {
            let (question, reply) = (chatter.question(), chatter.text(REPLY_WORDS));
            let begun = Instant::now();
            let turn = player.ask(&[Line::text(&Role::User, None, &question)], room).await?;
            times.push(begun.elapsed());
            tokens += u64::from(turn.new_tokens());
            let stored = player.reply(turn, Line::text(&Role::Assistant, None, &reply)).await?;
            took += begun.elapsed();
            tokens += stored.map_or(0, |stored| u64::from(stored.measure.tokens));
            while steps < STEPS * tokens.min(last) / last {
                steps += 1;
                step();
            }
        }
        times.drain(..times.len().saturating_sub(LAST));
        let (memory, disk) = (resident(), on_disk(player.folder()));
        reached.push(Reached { size, tokens, times: times.clone(), memory, disk, took });
    }
    Ok(reached)
}

/// The memory this process takes, where the system tells.
fn resident() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/self/statm").ok()?;
    told.split(' ').nth(1)?.parse::<u64>().ok().map(|pages| pages * PAGE)
}

/// The bytes of the files in a folder.
fn on_disk(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|told| told.len()).sum()
}

fn table(settings: &EngineSettings, limit: u32, reached: &[Reached]) -> Table {
    let columns = [
        ("turn, median ms", Good::Low, 2),
        ("turn, 99 % ms", Good::Low, 2),
        ("memory, MB", Good::Low, 0),
        ("disk, bytes per token", Good::Low, 2),
        ("taken in, tokens per s", Good::High, 0),
    ];
    let column = |(name, good, digits): (&str, Good, usize)| Column { name: name.to_owned(), good, digits };
    let about = format!(
        "A conversation played turn by turn with {} for a model with {limit} tokens. A turn is what lays out its window, the newest \
         {LAST} at each size, safe on the disk before it goes on; memory is that of the whole process; what is taken in includes replies and tidying up.",
        settings.strategy
    );
    Table {
        title: format!("Scale, {}", settings.strategy),
        about,
        columns: columns.into_iter().map(column).collect(),
        rows: reached.iter().map(row).collect(),
        plot: Some(plot(reached)),
    }
}

fn row(reached: &Reached) -> Row {
    let Reached { size, tokens, memory, disk, took, .. } = reached;
    let (median, most) = (millis(reached, 50), millis(reached, 99));
    let rate = ratio(*tokens, 1) / took.as_secs_f64().max(f64::EPSILON);
    let cells =
        [Some(median), Some(most), memory.map(|bytes| ratio(bytes, 1 << 20)), Some(ratio(*disk, *tokens)), Some(rate)];
    Row { name: format!("{size} tokens"), ours: true, limit: false, cells: cells.into() }
}

fn plot(reached: &[Reached]) -> Plot {
    let line = |name: &str, share: usize| {
        let points = reached.iter().map(|reached| (ratio(reached.tokens, 1), millis(reached, share)));
        Drawn { name: name.to_owned(), ours: true, points: points.collect() }
    };
    let lines = vec![line("median", 50), line("99 %", 99)];
    Plot { x: "tokens".into(), y: "a turn, ms".into(), logarithmic: true, lines }
}

/// What a share of turns takes at most, in milliseconds.
fn millis(reached: &Reached, share: usize) -> f64 {
    let mut times = reached.times.clone();
    times.sort_unstable();
    let at = times.get((times.len().saturating_sub(1)) * share / 100);
    at.map_or(0.0, |time| time.as_secs_f64() * 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_reached_and_measured() {
        let mut taken = 0;
        let tables = measure(&EngineSettings::default(), 4_000, &[2_000, 20_000], || taken += 1).unwrap();
        let (rows, cells) = (&tables[0].rows, |row: usize, cell: usize| tables[0].rows[row].cells[cell].unwrap());
        assert_eq!((rows.len(), taken), (2, STEPS));
        assert!(cells(0, 0) <= cells(0, 1) && cells(1, 0) > 0.0);
        assert!(cells(1, 3) > 1.0 && cells(1, 4) > 100.0, "{:?}", rows[1]);
        let again = measure(&EngineSettings::default(), 4_000, &[2_000, 20_000], || ()).unwrap();
        assert_eq!(
            again[0].rows.iter().map(|row| &row.name).collect::<Vec<_>>(),
            rows.iter().map(|row| &row.name).collect::<Vec<_>>()
        );
    }
}
