//! What speaks for a topic, and how much.
//!
//! Every signal has two weights: one for talk of two, in which units bear no names, and one for talk among several. A
//! topic's score is the sum of its signals, each times its weight; a new topic has signals of its own. The weights were
//! fitted once, on public conversations.

/// Whose talk it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Talk {
    /// One asks and the other answers; units bear no names.
    OfTwo,
    /// Several people speak; what nobody says is a notice, and belongs to nothing.
    AmongSeveral,
}

/// Something that speaks for a topic or against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// Which part of the unit's words the topic has.
    Overlap,
    /// How much the words they share weigh, beside how much the unit says; up to 1.
    Evidence,
    /// Which part of the unit's words one of the topic's last two units has.
    Echo,
    /// Which part of the next units' words the topic's last two units have; counts where the unit itself says little.
    Ahead,
    /// The unit before is of the topic.
    Adjacent,
    /// The same, and the unit says little of its own.
    AdjacentScant,
    /// The same, and the unit begins as what goes on begins.
    AdjacentFollows,
    /// The same, and the unit refers to something by a pronoun.
    AdjacentRefers,
    /// The same, and the unit before ends with a question, and this one does not begin with one.
    AdjacentAnswer,
    /// The same, and how many in a row were of the topic.
    AdjacentRun,
    /// The same, and the unit closes.
    AdjacentCloses,
    /// The same, and the next unit closes.
    AdjacentNextCloses,
    /// The same, and the unit before asks whether that was all.
    AdjacentAfterOffer,
    /// The same, and the unit begins with a greeting.
    AdjacentGreets,
    /// How many units ago the topic was spoken of.
    Distance,
    /// How many minutes ago.
    Silence,
    /// How far the topic is ahead of all others by the words it shares with the unit.
    Lead,
    /// How many units the topic has.
    Size,
    /// The last to be addressed, by the unit's speaker, is in the topic: the one the unit is addressed to speaks there
    /// now.
    Addressee,
    /// How long ago the addressee spoke there, in minutes.
    AddresseeSilence,
    /// The addressee has spoken there, and is elsewhere now.
    AddresseeBefore,
    /// The addressee is not there.
    AddresseeAway,
    /// Someone spoke to the speaker there, after the speaker's own last words.
    Called,
    /// The speaker's last words are there.
    Own,
    /// How long ago, in minutes.
    OwnSilence,
    /// How many units ago.
    OwnDistance,
    /// The speaker has spoken there, and is elsewhere now.
    OwnBefore,
    /// The speaker said the unit before, there.
    OwnAdjacent,
    /// The speaker's last words are there, and the unit says little of its own.
    OwnScant,
    /// The speaker's last words are there, and the unit asks without addressing anyone.
    OwnAsks,
    /// Someone the unit names speaks there now.
    Mention,
    /// Whom the speaker last spoke to is there now.
    Partner,
    /// Someone else asked there, and nobody answered yet.
    Unanswered,
    /// The last words there were for someone else.
    Private,
    /// A new topic.
    Fresh,
    /// The unit asks.
    FreshAsks,
    /// The unit requests something.
    FreshRequests,
    /// The unit announces another subject.
    FreshOpens,
    /// The unit before closes.
    FreshAfterClose,
    /// Which part of the unit's words was never said before.
    FreshNovelty,
    /// How little the unit says.
    FreshScant,
    /// Which part of the unit's words the next units have.
    FreshAhead,
    /// How long nobody spoke, in minutes.
    FreshSilence,
    /// The unit begins as what goes on begins.
    FreshFollows,
    /// The unit is addressed to someone.
    FreshAddressed,
    /// The speaker was silent so far.
    FreshSpeaker,
    /// How long the speaker was silent, in minutes.
    FreshOwnSilence,
    /// The unit is addressed to nobody, and asks.
    FreshOpenQuestion,
}

/// How many signals there are.
pub(super) const COUNT: usize = Signal::FreshOpenQuestion as usize + 1;

/// What was observed of a topic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signals(pub(super) [f64; COUNT]);

impl Signals {
    /// Nothing observed.
    pub(super) const fn none() -> Self {
        Self([0.0; COUNT])
    }

    /// Notes how strong a signal is.
    pub(super) fn note(&mut self, signal: Signal, strength: f64) {
        self.0[signal as usize] = strength;
    }

    /// Notes a signal that is there or is not.
    pub(super) fn mark(&mut self, signal: Signal, there: bool) {
        self.note(signal, f64::from(u8::from(there)));
    }

    /// What all signals are worth together, in talk of two or among several.
    pub(super) fn worth(&self, talk: Talk) -> f64 {
        let weight = |&(_, of_two, among_several): &(Signal, f64, f64)| match talk {
            Talk::OfTwo => of_two,
            Talk::AmongSeveral => among_several,
        };
        self.0.iter().zip(&WEIGHTS).map(|(strength, weights)| strength * weight(weights)).sum()
    }
}

/// The weights of all signals, in their order: in talk of two, and among several.
const WEIGHTS: [(Signal, f64, f64); COUNT] = [
    (Signal::Overlap, -1.34, 1.4),
    (Signal::Evidence, 7.12, 3.73),
    (Signal::Echo, 3.18, 2.27),
    (Signal::Ahead, 3.79, 1.65),
    (Signal::Adjacent, 1.14, -0.98),
    (Signal::AdjacentScant, 1.19, 0.81),
    (Signal::AdjacentFollows, 0.69, 0.08),
    (Signal::AdjacentRefers, 0.15, -0.25),
    (Signal::AdjacentAnswer, 1.57, 0.11),
    (Signal::AdjacentRun, -0.34, 0.64),
    (Signal::AdjacentCloses, 1.3, 0.0),
    (Signal::AdjacentNextCloses, 0.86, 0.0),
    (Signal::AdjacentAfterOffer, -1.82, 0.0),
    (Signal::AdjacentGreets, -1.7, 0.0),
    (Signal::Distance, -0.44, -1.0),
    (Signal::Silence, -0.05, -0.58),
    (Signal::Lead, 3.97, 1.53),
    (Signal::Size, 0.0, -0.2),
    (Signal::Addressee, 0.0, 2.56),
    (Signal::AddresseeSilence, 0.0, 0.09),
    (Signal::AddresseeBefore, 0.0, 0.84),
    (Signal::AddresseeAway, 0.0, -3.28),
    (Signal::Called, 0.0, 1.61),
    (Signal::Own, 0.0, 2.19),
    (Signal::OwnSilence, 0.0, -0.11),
    (Signal::OwnDistance, 0.0, 0.11),
    (Signal::OwnBefore, 0.0, 1.26),
    (Signal::OwnAdjacent, 0.0, 1.2),
    (Signal::OwnScant, 0.0, 1.46),
    (Signal::OwnAsks, 0.0, 0.35),
    (Signal::Mention, 0.0, 3.11),
    (Signal::Partner, 0.0, -0.02),
    (Signal::Unanswered, 0.0, -0.19),
    (Signal::Private, 0.0, -0.99),
    (Signal::Fresh, 0.14, -0.38),
    (Signal::FreshAsks, 0.42, 1.02),
    (Signal::FreshRequests, 0.97, 0.68),
    (Signal::FreshOpens, 0.8, -0.14),
    (Signal::FreshAfterClose, 0.45, -0.05),
    (Signal::FreshNovelty, 1.98, -0.6),
    (Signal::FreshScant, -1.97, -0.32),
    (Signal::FreshAhead, 2.13, 0.18),
    (Signal::FreshSilence, 0.1, -0.53),
    (Signal::FreshFollows, -0.8, -0.84),
    (Signal::FreshAddressed, 0.0, -2.2),
    (Signal::FreshSpeaker, 0.0, 1.48),
    (Signal::FreshOwnSilence, 0.0, 0.26),
    (Signal::FreshOpenQuestion, 0.0, 0.66),
];
