//! What is observed of a topic that competes for a unit: which signals are there, and how strong.

use super::people::Person;
use super::reading::Reading;
use super::signals::{Signal, Signals, Talk};
use super::sorting::{BY_WORDS, Rival, Sorting};

/// Which part of a unit's words any topic has by chance.
const CHANCE_PART: f64 = 0.05;
/// How far ahead a topic must be by words to be half a lead.
const CLEAR_LEAD: f64 = 3.0;
/// What a unit says that says little.
const SCANT: f64 = 2.0;
/// How heavy shared words are to be half of all evidence.
const HALF_EVIDENCE: f64 = 0.7;
/// How many of the next units are looked at.
const AHEAD_UNITS: usize = 2;
/// Farther back than this makes no difference, in units; known topics are that far.
const FAR_UNITS: usize = 6;
/// A longer run of one topic makes no difference.
const LONG_RUN: u32 = 4;
/// Micros in a minute.
const MINUTE: f64 = 60_000_000.0;

#[expect(clippy::cast_precision_loss, reason = "counts of units and minutes are small")]
impl Sorting<'_> {
    /// What speaks for a topic that is there.
    pub(super) fn old(&self, unit: usize, number: usize) -> Rival {
        let (reading, topic) = (&self.readings.units[unit], &self.topics[number]);
        let mut signals = Signals::none();
        let shared = (self.shared[number] - self.chance(number).max(CHANCE_PART * reading.content)).max(0.0);
        signals.note(Signal::Overlap, shared / (reading.content + 1.0));
        signals.note(Signal::Evidence, shared / (shared + HALF_EVIDENCE * (reading.content + 1.0).sqrt()));
        let latest = || topic.last.iter().chain(&topic.earlier);
        let echoes = latest().map(|&last| reading.overlap(&self.readings.units[last]));
        signals.note(Signal::Echo, echoes.fold(0.0, f64::max));
        let ahead = latest().map(|&last| self.ahead(unit, last)).fold(0.0, f64::max);
        signals.note(Signal::Ahead, ahead * SCANT / (SCANT + reading.content));
        let distance = topic.last.map_or(FAR_UNITS, |last| unit - last);
        signals.note(
            Signal::Distance,
            (distance.min(if self.talk == Talk::AmongSeveral { usize::MAX } else { FAR_UNITS }) as f64).ln(),
        );
        signals.note(Signal::Silence, self.minutes(unit, topic.at).ln_1p());
        let rival = self.leaders.iter().find(|leader| leader.0 != number).map_or(0.0, |leader| leader.1);
        let own = self.shared[number];
        signals.note(Signal::Lead, ((own - rival) / (own + rival + CLEAR_LEAD)).max(0.0));
        signals.note(Signal::Size, f64::from(self.index.size(number)).ln());
        if topic.last.is_some() && topic.last == self.before {
            self.adjacent(&mut signals, reading);
            self.exchanged(&mut signals, unit);
        }
        if self.talk == Talk::AmongSeveral {
            self.among(&mut signals, unit, number);
        }
        Rival { topic: number, signals }
    }

    /// What a topic would share by chance: what others share that come close.
    fn chance(&self, number: usize) -> f64 {
        let others = self.leaders.iter().filter(|leader| leader.0 != number);
        others.skip(1).map(|leader| leader.1).sum::<f64>() / (BY_WORDS - 2) as f64
    }

    fn adjacent(&self, signals: &mut Signals, reading: &Reading) {
        let awaits = self.before.is_some_and(|before| self.readings.units[before].awaits);
        signals.mark(Signal::Adjacent, true);
        signals.note(Signal::AdjacentScant, 1.0 / (1.0 + reading.content));
        signals.mark(Signal::AdjacentFollows, reading.follows);
        signals.mark(Signal::AdjacentRefers, reading.refers);
        signals.mark(Signal::AdjacentAnswer, awaits && !reading.begins_asking);
        signals.note(Signal::AdjacentRun, f64::from(self.run.min(LONG_RUN)).ln());
    }

    /// What greetings and closings say: whether an exchange goes on here, or is over.
    fn exchanged(&self, signals: &mut Signals, unit: usize) {
        let readings = &self.readings.units;
        let offered = self.before.is_some_and(|before| readings[before].awaits && readings[before].closes);
        signals.mark(Signal::AdjacentAfterOffer, offered);
        signals.mark(Signal::AdjacentGreets, readings[unit].greets);
        signals.mark(Signal::AdjacentCloses, readings[unit].closes);
        signals.mark(Signal::AdjacentNextCloses, readings.get(unit + 1).is_some_and(|next| next.closes));
    }

    /// Which part of the words of the next units, as far as they are known, another unit has.
    fn ahead(&self, unit: usize, other: usize) -> f64 {
        let next = self.readings.units.iter().skip(unit + 1).take(AHEAD_UNITS);
        let overlaps = next.map(|next| next.overlap(&self.readings.units[other]));
        overlaps.fold(0.0, f64::max)
    }

    /// What speaks for a topic by who speaks to whom.
    fn among(&self, signals: &mut Signals, unit: usize, number: usize) {
        let (reading, topic) = (&self.readings.units[unit], &self.topics[number]);
        if let Some(to) = reading.to {
            let there = self.habits[to].spoke.is_some_and(|(_, topic)| topic == number);
            let since = topic.spoke.get(&to).map_or(0.0, |&last| self.minutes(unit, self.units[last].at.0));
            signals.mark(Signal::Addressee, there);
            signals.note(Signal::AddresseeSilence, since.ln_1p());
            signals.mark(Signal::AddresseeBefore, !there && topic.spoke.contains_key(&to));
            signals.mark(Signal::AddresseeAway, !topic.spoke.contains_key(&to));
        }
        if let Some(speaker) = reading.speaker {
            self.own(signals, unit, number, speaker);
        }
        let now = |person: &Person| self.habits[*person].spoke.is_some_and(|(_, topic)| topic == number);
        signals.mark(Signal::Mention, reading.mentions.iter().any(now));
        let unanswered = reading.to.is_none() && topic.asked.is_some_and(|asker| Some(asker) != reading.speaker);
        signals.mark(Signal::Unanswered, unanswered);
        let last_to = topic.last.and_then(|last| self.readings.units[last].to);
        signals.mark(Signal::Private, last_to.is_some_and(|to| Some(to) != reading.speaker && Some(to) != reading.to));
    }

    fn own(&self, signals: &mut Signals, unit: usize, number: usize, speaker: Person) {
        let (reading, topic, habit) = (&self.readings.units[unit], &self.topics[number], self.habits[speaker]);
        let spoke = habit.spoke.map_or(0, |(last, _)| last + 1);
        signals.mark(Signal::Called, habit.called.is_some_and(|(call, topic)| topic == number && call >= spoke));
        let partner = habit.partner.and_then(|partner| self.habits[partner].spoke);
        signals.mark(Signal::Partner, partner.is_some_and(|(_, topic)| topic == number));
        match habit.spoke {
            Some((last, there)) if there == number => {
                signals.mark(Signal::Own, true);
                signals.note(Signal::OwnSilence, self.minutes(unit, self.units[last].at.0).ln_1p());
                signals.note(Signal::OwnDistance, ((unit - last) as f64).ln());
                signals.mark(Signal::OwnAdjacent, self.before == Some(last));
                signals.note(Signal::OwnScant, 1.0 / (1.0 + reading.content));
                signals.mark(Signal::OwnAsks, reading.asks && reading.to.is_none());
            }
            Some(_) | None => signals.mark(Signal::OwnBefore, topic.spoke.contains_key(&speaker)),
        }
    }

    /// What speaks for a new topic.
    pub(super) fn fresh(&self, unit: usize) -> Signals {
        let reading = &self.readings.units[unit];
        let mut signals = Signals::none();
        signals.mark(Signal::Fresh, true);
        signals.mark(Signal::FreshAsks, reading.asks);
        signals.mark(Signal::FreshRequests, reading.requests);
        signals.mark(Signal::FreshOpens, reading.opens);
        signals.mark(Signal::FreshAfterClose, self.before.is_some_and(|before| self.readings.units[before].closes));
        let unsaid = reading.terms.iter().filter(|term| !self.index.has(term.0));
        signals.note(Signal::FreshNovelty, unsaid.map(|term| term.1).sum::<f64>() / (reading.content + 1.0));
        signals.note(Signal::FreshScant, 1.0 / (1.0 + reading.content));
        signals.note(Signal::FreshAhead, self.ahead(unit, unit));
        let silence = self.before.map_or(0.0, |before| self.minutes(unit, self.units[before].at.0));
        signals.note(Signal::FreshSilence, silence.ln_1p());
        signals.mark(Signal::FreshFollows, reading.follows);
        if let Some(speaker) = reading.speaker.filter(|_| self.talk == Talk::AmongSeveral) {
            let own = self.habits[speaker].spoke;
            signals.mark(Signal::FreshAddressed, reading.to.is_some());
            signals.mark(Signal::FreshSpeaker, own.is_none());
            let silence = own.map_or(0.0, |(last, _)| self.minutes(unit, self.units[last].at.0));
            signals.note(Signal::FreshOwnSilence, silence.ln_1p());
            signals.mark(Signal::FreshOpenQuestion, reading.asks && reading.to.is_none());
        }
        signals
    }

    fn minutes(&self, unit: usize, since: i64) -> f64 {
        self.units[unit].at.0.saturating_sub(since).max(0) as f64 / MINUTE
    }
}
