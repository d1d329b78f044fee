//! Plays the conversation and watches: what is folded, what is held, what is recalled, what it cost, that nothing is
//! lost.

use std::time::Duration;

use anyhow::{Context, bail};
use scrollback::engine::Recorded;
use scrollback::ids::Depth;
use scrollback::ledger::Totals;
use scrollback::store::{Span, Which};
use scrollback::view::Standing;
use scrollback::window::Body;
use scrollback::{Engine, SessionKey};

use super::super::{Desk, grouped};
use super::client::{Client, Reply};
use super::script::{Script, Turn};
use super::tell::Teller;
use super::{PRICED_AS, WINDOW_TOKENS};

/// The last questions are about the beginning; they are shown with their answers.
const SHOWN: usize = 7;
/// So long a turn takes at least where somebody watches.
const PACE: Duration = Duration::from_millis(50);
/// So long a view may take to be recorded after its reply.
const PATIENCE: u32 = 1_000;

pub(super) struct Play<'a> {
    engine: &'a Engine,
    desk: &'a Desk,
    client: Client,
    script: Script,
    teller: Teller,
    before: Option<Recorded>,
}

impl<'a> Play<'a> {
    pub(super) fn new(engine: &'a Engine, desk: &'a Desk, client: Client, script: Script) -> Self {
        let teller = Teller::new(script.turns.len());
        Self { engine, desk, client, script, teller, before: None }
    }

    pub(super) async fn run(mut self) -> anyhow::Result<()> {
        self.open()?;
        self.client.history.push(self.script.instructions.clone());
        let turns = std::mem::take(&mut self.script.turns);
        let asked_from = turns.len() - SHOWN;
        for (i, turn) in turns.iter().enumerate() {
            if i == asked_from {
                self.teller.heading("Asked now, answered from the beginning")?;
            }
            self.turn(i + 1, turn, i >= asked_from).await?;
        }
        self.teller.done();
        self.ledger().await?;
        self.nothing_lost(&turns).await?;
        self.next()
    }

    fn open(&self) -> anyhow::Result<()> {
        self.teller.heading("Scrollback, between a chat client and a model")?;
        let (turns, window) = (self.script.turns.len(), grouped(WINDOW_TOKENS));
        self.teller.wrapped(
            &format!(
                "{turns} turns about a ferry and a guest house, in English and Chinese, go through the real proxy to \
                 a model with a window of {window} tokens. There is no key and no network: in the model's place \
                 stands `quote`, which answers in quotations only, and calls the same tools."
            ),
            "",
        )?;
        self.teller.heading("The conversation grows, the window does not")
    }

    async fn turn(&mut self, number: usize, turn: &Turn, is_shown: bool) -> anyhow::Result<()> {
        let begun = std::time::Instant::now();
        self.client.history.extend(turn.messages.iter().cloned());
        let reply = self.client.ask().await?;
        let recorded = self.recorded(&reply.view).await?;
        if is_shown && self.before.as_ref().is_some_and(|before| before.view.fold != recorded.view.fold) {
            self.teller.say("")?;
        }
        self.folded(number, &recorded).await?;
        self.held(number, turn, &recorded).await?;
        if is_shown {
            self.answered(turn, &reply, &recorded)?;
        }
        self.before = Some(recorded);
        self.teller.turn();
        if self.teller.is_watched() {
            tokio::time::sleep(PACE.saturating_sub(begun.elapsed())).await;
        }
        Ok(())
    }

    /// The view of a reply; it is recorded a moment after the reply is on its way.
    async fn recorded(&self, name: &str) -> anyhow::Result<Recorded> {
        let key = self.key().await?;
        for _ in 0..PATIENCE {
            let found = self.engine.views(&key).await?.into_iter().find(|recorded| recorded.name == name);
            if let Some(recorded) = found {
                return Ok(recorded);
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        bail!("the view {name} was not recorded")
    }

    async fn key(&self) -> anyhow::Result<SessionKey> {
        let store = self.engine.log().store();
        let sessions = store.sessions(&self.desk.tenant, Which::Page { skip: 0, limit: 1 }).await?;
        let id = sessions.first().context("nothing was kept")?.id;
        Ok(SessionKey { tenant: self.desk.tenant.clone(), id })
    }

    /// The first fold is drawn, before and after; later ones are told.
    async fn folded(&self, number: usize, after: &Recorded) -> anyhow::Result<()> {
        let Some(before) = self.before.as_ref().filter(|before| before.view.fold != after.view.fold) else {
            return Ok(());
        };
        let (key, teller) = (self.key().await?, &self.teller);
        let (old, new) =
            (self.engine.window_of(&key, &before.view).await?, self.engine.window_of(&key, &after.view).await?);
        let (from, to) = (grouped(before.view.tokens()), grouped(after.view.tokens()));
        let epoch = after.view.fold.map_or(0, |fold| fold.epoch);
        if before.view.fold.is_some() {
            let covers = self.engine.fold_of(&key, &after.view).await?.covers;
            let last = covers.map(|covers| covers.last.to_string()).unwrap_or_default();
            return teller.say(&format!(
                "  turn {number}: fold {epoch}, {from} → {to} tokens; m1–{last} are under the contents page"
            ));
        }
        teller.say(&format!("  turn {}, the window before its first fold:\n", number - 1))?;
        teller.sketch(&old)?;
        teller.say(&format!("\n  turn {number}, after it: the oldest pages are a list now\n"))?;
        teller.sketch(&new)?;
        teller.say("")
    }

    /// A result that was too large for the window.
    async fn held(&self, number: usize, turn: &Turn, recorded: &Recorded) -> anyhow::Result<()> {
        let Some(tool) = &turn.tool else { return Ok(()) };
        let window = self.engine.window_of(&self.key().await?, &recorded.view).await?;
        let placeholder = window.blocks().iter().find_map(|block| match &block.body {
            Body::Held(stored, placeholder) if stored.id == recorded.view.head.id => Some((stored, placeholder)),
            Body::Held(..)
            | Body::Original(_)
            | Body::Whole(..)
            | Body::Round(_)
            | Body::Note(_)
            | Body::Nothing(_) => None,
        });
        let Some((stored, placeholder)) = placeholder else { return Ok(()) };
        let (tokens, chars) = (grouped(stored.measure.tokens), grouped(tool.chars as u64));
        let told = format!("  turn {number}: {} answers {chars} characters, {tokens} tokens.", tool.name);
        self.teller.say(&format!("{told}\n  It is kept whole and held; the window has this in its place:"))?;
        placeholder.text.lines().try_for_each(|line| self.teller.cut(&format!("    {line}")))
    }

    fn answered(&self, turn: &Turn, reply: &Reply, recorded: &Recorded) -> anyhow::Result<()> {
        let (on, off) = super::super::bold();
        self.teller.say("")?;
        self.teller.say(&format!("  {on}{}{off}", turn.said))?;
        let quoted = reply.text.split("\n\n").nth(1).unwrap_or(&reply.text);
        self.teller.wrapped(quoted, "    ")?;
        recorded.view.recalls.iter().try_for_each(|call| self.teller.cut(&format!("    recalled by {call}")))
    }

    async fn ledger(&self) -> anyhow::Result<()> {
        let views = self.engine.views(&self.key().await?).await?;
        let totals: Totals = views.iter().flat_map(|recorded| &recorded.view.calls).collect();
        let teller = &self.teller;
        teller.heading("What it would have cost")?;
        teller.say("                          with Scrollback   sending everything")?;
        let (input, without) = (grouped(totals.input), grouped(totals.without_input));
        teller.say(&format!("  tokens of input         {input:>17}   {without:>18}"))?;
        let (cost, without) = (totals.cost.to_string(), totals.without_cost.to_string());
        teller.say(&format!("  cost as {PRICED_AS:<15} {cost:>17}   {without:>18}"))?;
        let cached = totals.cached_percent();
        teller.wrapped(
            &format!(
                "{} calls, recalls included; {cached:.0} % of the input from the cache, {:.0} % saved. A model of \
                 list prices and of the provider's cache, not a bill: `quote` is free.",
                totals.calls,
                totals.saved_percent()
            ),
            "  ",
        )
    }

    /// Counts: every message is there as it was sent, shown or reachable, and sending it all again adds nothing.
    async fn nothing_lost(&self, turns: &[Turn]) -> anyhow::Result<()> {
        let (key, store) = (self.key().await?, self.engine.log().store());
        let newest = self.before.as_ref().context("nothing was played")?;
        let path = store.read(&key, Span::path(newest.view.head, Depth(0))).await?;
        let sent: Vec<&str> = turns.iter().flat_map(|turn| &turn.messages).map(|raw| raw.get()).collect();
        let same = sent.iter().filter(|raw| path.iter().any(|stored| stored.raw.get() == **raw)).count();
        let fold = self.engine.fold_of(&key, &newest.view).await?;
        let at = |depth| newest.view.standing(Depth(depth), &fold);
        let shown = (0..=newest.view.head.depth.0).filter(|depth| matches!(at(*depth), Standing::Shown(_))).count();
        let lost = (0..=newest.view.head.depth.0).filter(|depth| at(*depth) == Standing::Dropped).count();
        let before = self.kept().await?;
        self.client.send_again().await?;
        let added = self.kept().await? - before;
        let teller = &self.teller;
        teller.heading("Nothing lost")?;
        teller.say(&format!("  {same} of {} messages and results came back byte for byte", sent.len()))?;
        teller.say(&format!(
            "  {} messages: {shown} in the last window, {} folded and in reach, {lost} lost",
            path.len(),
            path.len() - shown - lost
        ))?;
        teller.say(&format!("  the whole history sent once more adds {added} messages"))
    }

    async fn kept(&self) -> anyhow::Result<u32> {
        let sessions = self.engine.log().store().sessions(&self.desk.tenant, Which::Page { skip: 0, limit: 9 }).await?;
        Ok(sessions.iter().map(|session| session.messages).sum())
    }

    fn next(&self) -> anyhow::Result<()> {
        let teller = &self.teller;
        teller.heading("Next")?;
        teller.say("  scrollback serve                       then set your client's base URL:")?;
        teller.say("    OPENAI_BASE_URL=http://127.0.0.1:4141/v1   (your key stays in the client)")?;
        teller.say("    ANTHROPIC_BASE_URL=http://127.0.0.1:4141")?;
        teller.say("  scrollback serve --upstream quote      the same with no model at all")?;
        teller.say("  scrollback import conversations.json   what you said elsewhere before")?;
        teller.say("  scrollback show SESSION --view         what the model was shown, and why")
    }
}
