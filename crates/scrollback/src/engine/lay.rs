//! Laying out a turn's window: fold if it is time, let topics say what matters, fit; then record the fold.

use super::Engine;
use super::control::LESS_KEPT;
use super::folds::Folds;
use super::lanes::Lane;
use super::quotes::Call;
use super::topics::{Consultation, Consulted};
use super::turn::Ask;
use super::writing::editions;
use crate::error::{Error, Result};
use crate::ids::{At, Depth, MessageId, SessionKey};
use crate::log::{Outcome, Received, Sums};
use crate::note::{Author, Fold};
use crate::store::{Position, Span, unkept};
use crate::strategy::{KeepLimits, Kept, QuoteNeed, Scene, StrategyName, turns};
use crate::task;
use crate::window::{Budget, Reason, Window};

/// How often folding is tried again when another request folded the same branch meanwhile.
const TRIES: usize = 4;

/// A request whose window is laid out: for the first time, or once more.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) ask: &'a Ask<'a>,
    pub(super) received: &'a Received,
    /// Its last message.
    pub(super) head: Position,
    /// What was found for it when it was laid out before.
    pub(super) consulted: Option<&'a Consulted>,
    /// How many tokens of its budget are not for its window: recalls have taken them, or are going to.
    pub(super) taken: u32,
}

/// A turn laid out.
pub(super) struct Laid {
    pub(super) lane: Lane,
    pub(super) window: Window,
    pub(super) consulted: Option<Consulted>,
    pub(super) quoted: Quoted,
    pub(super) asked: Vec<task::Asked>,
    /// Whether more of the path went under notes.
    pub(super) folded: bool,
}

/// A window that fits, and what it was made with.
pub(super) struct Fitted {
    pub(super) window: Window,
    quoted: Quoted,
    kept: Option<Kept>,
    /// A fold that is to be recorded.
    fold: Option<Fold>,
}

/// What a window may cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budgets {
    /// All of it.
    pub(super) whole: Budget,
    /// What is left of that for what a strategy shows: the client never saw the rest, which is put back around it.
    pub(super) shown: Budget,
}

impl Budgets {
    /// For a window of a lane.
    pub(super) fn of(lane: &Lane, whole: Budget) -> Self {
        let hidden: u32 = lane.hidden_now().map(|(_, hidden)| hidden.tokens()).sum();
        Self { whole, shown: Budget { tokens: whole.tokens.saturating_sub(hidden) } }
    }
}

/// What the window of a lane is made from.
#[derive(Clone, Copy)]
struct Ingredients<'a> {
    /// A fold that is not recorded yet, if there is one.
    fold: Option<&'a Fold>,
    kept: Option<&'a Kept>,
    consulted: Option<&'a Consulted>,
}

/// On what occasion a lane is folded, if its strategy wants that.
#[derive(Clone, Copy)]
pub(super) struct Occasion<'a> {
    pub(super) session: &'a SessionKey,
    /// What its window may cost.
    pub(super) budget: Budget,
    pub(super) at: At,
    /// Whether somebody asked for a fold: it need not be time.
    pub(super) forced: bool,
    /// Where its client's own summary of all that was said before stands, if it has just brought one.
    pub(super) summed: Option<Depth>,
    /// Whether a turn begins, which may call for quotes.
    pub(super) begins: bool,
}

/// What is to be folded now.
pub(super) struct DueFold {
    /// One fold over all of it; it is not recorded yet.
    pub(super) fold: Option<Fold>,
    /// What the turn asks of the past and how much of it, if that was looked at.
    call: Option<(Call, QuoteNeed)>,
}

/// What a window quotes.
#[derive(Clone, Debug, Default)]
pub(super) struct Quoted {
    /// How much room there was.
    pub(super) room: u32,
    pub(super) messages: Vec<MessageId>,
}

impl Engine {
    /// Lays out a lane. If that fails, nobody will finish the turn, so what the helper was asked goes into the ledger
    /// at once.
    pub(super) async fn lay(&self, lane: Result<Lane>, request: &Request<'_>) -> Result<Laid> {
        let mut asked = Vec::new();
        let laid = self.lay_until_kept(lane, request, &mut asked).await;
        if laid.is_err() {
            self.keep_asked(&request.received.session, &asked, request.ask.arrival.at).await?;
        }
        laid.map(|laid| Laid { asked, ..laid })
    }

    /// Lays out a lane. If another request has folded or held something meanwhile, what counts is read from the store.
    async fn lay_until_kept(
        &self,
        mut lane: Result<Lane>,
        request: &Request<'_>,
        asked: &mut Vec<task::Asked>,
    ) -> Result<Laid> {
        for _ in 1..TRIES {
            let laid = match lane {
                Ok(lane) => self.lay_out(lane, request, asked).await,
                Err(error) => Err(error),
            };
            if !matches!(laid, Err(Error::Conflict(_))) {
                return laid;
            }
            self.lanes.forget(Some(request.received.session.id));
            lane = self.reload(request).await;
        }
        self.lay_out(lane?, request, asked).await
    }

    async fn reload(&self, request: &Request<'_>) -> Result<Lane> {
        let Request { ask, received, head, .. } = *request;
        let controls = ask.governed(self.controls(&received.session).await?);
        let layout = self.layout_with(&controls, ask.limit_tokens);
        let lane = self.load(ask, received, head, layout).await?;
        self.instructed(lane, ask, received).await
    }

    /// Folds as often as the strategy wants to, then fits. Always ends, because every fold covers more of the path.
    async fn lay_out(&self, mut lane: Lane, request: &Request<'_>, asked: &mut Vec<task::Asked>) -> Result<Laid> {
        let Request { ask, received, consulted: found, taken, .. } = *request;
        let (session, at) = (&received.session, ask.arrival.at);
        // Somebody else may have erased it since its messages came.
        let begun = lane.open.get(turns::last(&lane.open)).ok_or_else(|| unkept(session))?.stored.id;
        (lane.model, lane.recalls, lane.reserved) = (ask.arrival.model.into(), ask.recalls, ask.reserved);
        self.settle(session, &lane).await?;
        self.shelve(session, &mut lane).await?;
        self.decide(session, &mut lane).await?;
        let budgets = Budgets::of(&lane, Budget { tokens: ask.budget.tokens.saturating_sub(taken) });
        // A client that has summed up its past wants it out of sight, and its summary in sight.
        let summed = received.summed;
        let forced = ask.forced || received.outcome == Outcome::Compacted && summed.is_none();
        let begins = found.is_none() && lane.head.id == begun;
        let occasion = Occasion { session, budget: budgets.shown, at, forced, summed, begins };
        let DueFold { fold: folded, call } = self.due_fold(&mut lane, &occasion, asked).await?;
        // What recalls take is free again with the next turn, and the fold stays: it is made for the whole budget.
        let folded = folded.map(|fold| Fold { budget: ask.budget.tokens, ..fold });
        let before = lane.folded.fold.clone();
        let known = folded.as_ref().unwrap_or(&before);
        let consulted = if let Some(found) = found {
            Some(found.clone().without(lane.excluded()))
        } else {
            let wanted = Consultation { session, fold: known, call: call.as_ref(), budget: budgets.shown, at };
            self.consult(&mut lane, &wanted, asked).await?
        };
        let Fitted { window, quoted, kept, fold } = self.fit(&lane, folded, consulted.as_ref(), budgets)?;
        // Nothing is recorded before it is known that the request can be answered.
        self.keep_shown(session, &lane, &window).await?;
        let folded = fold.as_ref().is_some_and(|fold| fold.open() > lane.folded.fold.open());
        if let Some(fold) = fold {
            self.put_fold(session, &mut lane, fold, at).await?;
        }
        self.record_kept(session, &mut lane, kept.as_ref(), at).await?;
        Ok(Laid { lane, window, consulted, quoted, asked: Vec::new(), folded })
    }

    /// Records a fold of a lane, with the artifacts it made, and goes on from it.
    pub(super) async fn put_fold(&self, session: &SessionKey, lane: &mut Lane, fold: Fold, at: At) -> Result<()> {
        let (folds, read) = (Folds { store: self.store(), session, layout: &lane.layout }, lane.results());
        let covered = (fold.open().0 - lane.folded.fold.open().0) as usize;
        let editions = editions(session, &lane.artifacts, &lane.folded.fold, &fold, at);
        let folded = folds.put(lane.head, &lane.folded, (fold, editions), at).await;
        // A database whose answer was lost may have written the fold: then the lanes in memory are out of date.
        let folded = folded.inspect_err(|_| self.lanes.forget(Some(session.id)))?;
        lane.pinned_for = (lane.controlled.version, folded.id);
        lane.fold_to(folded, covered);
        self.renew_lane(lane);
        self.unquote_erased(session, lane, &read).await
    }

    /// The window over a fold. If it does not fit, the fold's list is shortened, then fewer rules, pins and images are
    /// kept: the client's own messages come first.
    pub(super) fn fit(
        &self,
        lane: &Lane,
        fold: Option<Fold>,
        consulted: Option<&Consulted>,
        budgets: Budgets,
    ) -> Result<Fitted> {
        let fit = |fold: Option<&Fold>, kept: Option<&Kept>| {
            self.fit_with(lane, Ingredients { fold, kept, consulted }, budgets)
        };
        let less = LESS_KEPT.into_iter().map(|shares| KeepLimits::shares(budgets.shown, shares));
        let usual = self.keep_limits(lane, fold.as_ref(), budgets);
        for limits in std::iter::once(usual).chain(less) {
            let kept = lane.kept_within(fold.as_ref().unwrap_or(&lane.folded.fold), limits);
            if let Ok((window, quoted)) = fit(fold.as_ref(), kept.as_ref()) {
                return Ok(Fitted { window, quoted, kept, fold });
            }
            let shorter = self.shorter_list(lane, fold.as_ref(), kept.as_ref(), budgets.shown);
            if let Some(Ok((window, quoted))) = shorter.as_ref().map(|shorter| fit(Some(shorter), kept.as_ref())) {
                return Ok(Fitted { window, quoted, kept, fold: shorter });
            }
        }
        // Nothing is kept.
        let least = self.shorter_list(lane, fold.as_ref(), None, budgets.shown).or(fold);
        fit(least.as_ref(), None).map(|(window, quoted)| Fitted { window, quoted, kept: None, fold: least })
    }

    /// How much is kept over a fold: as much as when it was made, even if a later request has another budget, so that
    /// what is kept does not change; less if there would be no room for what is shown.
    fn keep_limits(&self, lane: &Lane, fold: Option<&Fold>, budgets: Budgets) -> KeepLimits {
        let now = KeepLimits::usual(budgets.shown);
        let scene = lane.scene_after(fold, budgets.shown);
        let made_for = if scene.fold.budget > 0 { Budget { tokens: scene.fold.budget } } else { budgets.whole };
        let then = KeepLimits::usual(made_for);
        let kept = if then == now { None } else { lane.kept_within(scene.fold, then) };
        let fits = || self.strategy(lane.strategy).room(&Scene { kept: kept.as_ref(), ..scene }) > 0;
        if then != now && fits() { then } else { now }
    }

    /// The window over a fold, with what the client never saw put back, and what it quotes from topics.
    fn fit_with(
        &self,
        lane: &Lane,
        Ingredients { fold, kept, consulted }: Ingredients<'_>,
        Budgets { whole, shown }: Budgets,
    ) -> Result<(Window, Quoted)> {
        let strategy = self.strategy(lane.strategy);
        let mut scene = Scene { kept, ..lane.scene_after(fold, shown) };
        let room = consulted.map_or(0, |consulted| self.most(consulted, shown).min(strategy.room(&scene)));
        let excerpt = consulted.and_then(|consulted| self.excerpt_within(consulted, room));
        scene.excerpt = excerpt.as_ref();
        let fitted = match strategy.fit(&scene) {
            Ok(window) => {
                let window = window.within(whole);
                lane.hidden_now().fold(window, |window, (id, hidden)| window.with_hidden(id, hidden))
            }
            // What was recalled earlier in the turn can be recalled again, so the client's own messages come first.
            Err(_) if shown != whole => strategy.fit(&Scene { budget: whole, ..scene })?,
            Err(error) => return Err(error),
        };
        let is_quoted = fitted.blocks().iter().any(|block| block.reason == Reason::Relevant);
        let messages = excerpt.filter(|_| is_quoted).map(|excerpt| excerpt.quoted).unwrap_or_default();
        Ok((fitted, Quoted { room, messages }))
    }

    /// A fold with a list as short as this budget needs; `None` if its list is no longer than that already.
    fn shorter_list(&self, lane: &Lane, fold: Option<&Fold>, kept: Option<&Kept>, budget: Budget) -> Option<Fold> {
        let scene = Scene { kept, ..lane.scene_after(fold, budget) };
        let shorter = self.strategy(lane.strategy).file(&scene, Vec::new()).knowing(scene.fold);
        (shorter.tokens < scene.fold.tokens).then_some(shorter)
    }

    /// What the strategy wants to fold now, all of it in one. Notes what the helper was asked, also if something fails.
    pub(super) async fn due_fold(
        &self,
        lane: &mut Lane,
        occasion: &Occasion<'_>,
        asked: &mut Vec<task::Asked>,
    ) -> Result<DueFold> {
        let Occasion { session, budget, at, mut forced, begins, .. } = *occasion;
        let mut summed = occasion.summed.map_or(0, |depth| lane.open_before(depth));
        let strategy = self.strategy(lane.strategy);
        let (mut fold, mut covered, mut call) = (None::<Fold>, 0, None);
        let before = lane.folded.fold.clone();
        loop {
            let known = fold.as_ref().unwrap_or(&before);
            if call.is_none() && begins && known.covers.is_some() {
                call = self.call(session, lane).await?;
            }
            let need = call.as_ref().map(|call| self.need(call, lane, known.open(), budget));
            let called = need.filter(|need| *need != QuoteNeed::Little);
            let called = called.map_or(0, |need| self.settings.strategies.quotes.room(need, budget));
            let kept = lane.kept_over(known, budget);
            let scene = Scene {
                kept: kept.as_ref(),
                forced,
                summed,
                called,
                fold: known,
                open: &lane.open[covered..],
                ..lane.scene(budget)
            };
            let mut stretches = strategy.fold(&scene);
            let Some(last) = stretches.last().copied() else {
                return Ok(DueFold { fold, call: call.zip(need) });
            };
            if lane.strategy == StrategyName::Topics {
                self.sort_upto(lane, occasion, last.covers.to, asked).await?;
            }
            let scene = Scene { fold: known, open: &lane.open[covered..], ..lane.scene(budget) };
            let filing = self.filing(session, lane, &scene, last).await?;
            if let Some(last) = stretches.last_mut() {
                *last = filing.stretch;
            }
            self.look_through(session, lane, filing.stretch.covers.to.plus(1), at).await?;
            lane.artifacts = filing.artifacts;
            let mut counted = self.counted(session, known).await?;
            self.leave_out(session, lane, &mut counted).await?;
            let open = &lane.open[covered..];
            let scene = Scene { forced, summary: filing.summary.as_ref(), fold: &counted, open, ..lane.scene(budget) };
            let notes = self.digested(session, &scene, &stretches).await?;
            let mut folded = strategy.file(&scene, notes).knowing(known);
            let count = (folded.open().0 - known.open().0) as usize;
            folded.original_tokens =
                open[..count].iter().fold(known.original_tokens, |sum, leaf| sum.saturating_add(leaf.tokens()));
            let is_parted = open.get(count).is_some_and(|leaf| !leaf.begins_turn);
            let sums = if is_parted { Sums::of(self.store(), session).await? } else { Sums::default() };
            let folded = folded.needing(known, &lane.pinned, open.split_at(count), &sums);
            covered += count;
            lane.pinned = self.pinned(session, lane, &folded).await?;
            fold = Some(folded);
            // What was asked for once is done once.
            forced &= summed > 0;
            summed = summed.saturating_sub(count);
        }
    }

    /// Takes the lines of messages that were left out since off the list. A title that may quote one of them is found
    /// anew, unless a person wrote it; a page of which nothing is left has none.
    async fn leave_out(&self, session: &SessionKey, lane: &Lane, fold: &mut Fold) -> Result<()> {
        let of = |line: &str| line.strip_prefix('m')?.split(' ').next()?.parse().ok().map(MessageId);
        for note in &mut fold.listed {
            let before = note.lines.len();
            note.lines.retain(|line| of(line).is_none_or(|id| !lane.excluded().contains(&id)));
            if note.lines.len() < before && note.by != Author::Person {
                let span = Span::Path { head: lane.head, from: note.covers.from, to: note.covers.to };
                let mut said = self.store().read(session, span).await?;
                said.retain(|stored| !lane.excluded().contains(&stored.id));
                note.title = if said.is_empty() { String::new() } else { task::digest(&said).title };
            }
        }
        Ok(())
    }
}
