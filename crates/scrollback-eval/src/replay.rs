//! Every call of a conversation once more, in a room of its own, and what it takes to send them.

use scrollback::engine::EngineSettings;
use scrollback::ledger::Link;
use scrollback::window::Window;
use scrollback::{At, Error, Result, Role};

use crate::meter::{Meter, chain};
use crate::player::{Line, Player, Room, oldest, tool_tokens};

/// A conversation with the places where a model was called.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// What was said.
    pub lines: Vec<Line>,
    /// How many lines each call was shown, if it was shown all: more than the call before.
    pub calls: Vec<usize>,
    /// The lines as a provider's cache sees them.
    pub links: Vec<Link>,
}

impl Script {
    /// A conversation whose calls are known.
    pub async fn new(lines: Vec<Line>, calls: Vec<usize>) -> Result<Self> {
        let links = if calls.is_empty() { Vec::new() } else { links(&lines).await? };
        Ok(Self { lines, calls, links })
    }

    /// A conversation in which every message of the model answers what was said since the one before.
    pub async fn of_replies(lines: Vec<Line>) -> Result<Self> {
        let speaks = |i: usize| *lines[i].message.role() == Role::Assistant;
        let calls = (1..lines.len()).filter(|&i| speaks(i) && !speaks(i - 1)).collect();
        Self::new(lines, calls).await
    }

    /// The model's message that answers a call, unless the next call is shown nothing beyond it.
    pub(crate) fn reply(&self, call: usize) -> Option<&Line> {
        let (place, next) = (self.calls[call], self.calls.get(call + 1));
        let is_last = next.is_some_and(|next| *next == place + 1);
        self.lines.get(place).filter(|line| !is_last && *line.message.role() == Role::Assistant)
    }

    /// When a call was made, if that is known.
    pub fn at(&self, call: usize) -> Option<At> {
        self.calls[call].checked_sub(1).and_then(|last| self.lines.get(last)?.at)
    }

    /// All that was said before a call.
    pub fn before(&self, call: usize) -> &[Link] {
        &self.links[..self.calls[call]]
    }
}

async fn links(lines: &[Line]) -> Result<Vec<Link>> {
    let mut player = Player::new(EngineSettings::default())?;
    let turn = player.ask(lines, Room::boundless()).await?;
    let mut links = chain(turn.window(), 0);
    for link in &mut links {
        link.marked = false;
    }
    if links.len() == lines.len() { Ok(links) } else { Err(Error::Invalid("instructions must come first".into())) }
}

/// Plays a conversation in a room and sends every call; `seen` is shown each call's number and window. A call that no
/// window can hold is sent as it came, and has none.
pub async fn replay(
    script: &Script,
    (settings, room): (&EngineSettings, Room),
    meter: &mut Meter,
    mut seen: impl FnMut(usize, Option<&Window>),
) -> Result<()> {
    let settings = EngineSettings { strategy: room.strategy, ..settings.clone() };
    let (mut player, tools) = (Player::new(settings)?, tool_tokens(room.strategy));
    let (mut said, mut first) = (0, None);
    meter.part();
    for (call, &upto) in script.calls.iter().enumerate() {
        meter.wait(script.at(call));
        let begun = player.ask(&script.lines[said..upto], room).await;
        said = upto;
        let turn = match begun {
            Ok(turn) => turn,
            Err(Error::TooLarge(_)) => {
                meter.refused += 1;
                meter.send(script.before(call));
                seen(call, None);
                continue;
            }
            Err(error) => return Err(error),
        };
        let before = std::mem::replace(&mut first, oldest(turn.window()));
        meter.folds += u64::from(before.is_some() && first > before);
        meter.send(&chain(turn.window(), tools));
        seen(call, Some(turn.window()));
        if let Some(reply) = script.reply(call) {
            player.reply(turn, reply.clone()).await?;
            said += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Tariff;
    use scrollback::strategy::StrategyName;

    #[test]
    fn a_call_may_be_shown_nothing_but_the_reply_before_it() {
        let script = crate::player::run(Script::new(talk(3), vec![1, 2, 5])).unwrap();
        let mut meter = Meter::new(&[Tariff::plain()]);
        let (settings, room) = (EngineSettings::default(), Room::of_model(StrategyName::Pages, 9_000));
        crate::player::run(replay(&script, (&settings, room), &mut meter, |_, _| {})).unwrap();
        assert_eq!((meter.calls, meter.refused), (3, 0));
    }

    fn talk(turns: usize) -> Vec<Line> {
        let long = |i: usize| format!("About {i}: {}", "the tide comes in and goes out again. ".repeat(10));
        let turn = |i: usize| {
            [Line::text(&Role::User, None, &format!("What of {i}?")), Line::text(&Role::Assistant, None, &long(i))]
        };
        (0..turns).flat_map(turn).collect()
    }

    #[test]
    fn calls_are_sent_whole_or_folded() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let script = Script::of_replies(talk(40)).await.unwrap();
            assert_eq!((script.calls.len(), script.calls[1]), (40, 3));
            let settings = EngineSettings::default();
            let mut measured = Vec::new();
            for room in [Room::boundless(), Room::of_model(StrategyName::Pages, 2_500)] {
                let mut meter = Meter::new(&[Tariff::plain()]);
                let mut windows = 0;
                let count = |_: usize, window: Option<&Window>| windows += usize::from(window.is_some());
                replay(&script, (&settings, room), &mut meter, count).await.unwrap();
                assert_eq!((windows, meter.calls), (40, 40));
                measured.push(meter);
            }
            let all: u64 = (0..40).flat_map(|call| script.before(call)).map(|link| u64::from(link.tokens)).sum();
            assert_eq!((measured[0].tokens, measured[0].folds), (all, 0));
            assert!(measured[1].folds > 0 && measured[1].largest <= 2_500 && measured[1].tokens < all);
            assert!(measured[0].hits()[0] > 0.9);
        });
    }
}
