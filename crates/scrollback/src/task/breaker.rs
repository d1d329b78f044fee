//! The breaker: a helper that keeps failing is left alone for a while, counted in tasks: one that nobody asks need not
//! be tried again.
//!
//! While it is open, tasks are refused; after a pause one is let through as a trial. A failed trial doubles the pause,
//! a success closes the breaker. A trial that is abandoned leaves the next one to come after another pause, so nothing
//! gets stuck.

use super::run::TaskSettings;

/// Whether a task may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// As usual.
    Usual,
    /// To see whether the helper is well again.
    Trial,
    /// Not now.
    Refused,
}

/// Counts failures in a row.
#[derive(Debug)]
pub(super) struct Breaker {
    settings: TaskSettings,
    failures: u32,
    /// How many tasks each pause lasts; `None` while closed.
    pause: Option<u32>,
    /// How many tasks are still to be refused.
    left: u32,
}

impl Breaker {
    pub(super) fn new(settings: TaskSettings) -> Self {
        Self { settings, failures: 0, pause: None, left: 0 }
    }

    pub(super) fn is_open(&self) -> bool {
        self.pause.is_some()
    }

    /// A task comes.
    pub(super) fn enter(&mut self) -> Entry {
        let Some(pause) = self.pause else { return Entry::Usual };
        if self.left > 0 {
            self.left -= 1;
            return Entry::Refused;
        }
        self.left = pause;
        Entry::Trial
    }

    /// The helper answered a task. Whether the breaker was open.
    pub(super) fn succeeded(&mut self) -> bool {
        let was_open = self.is_open();
        (self.failures, self.pause, self.left) = (0, None, 0);
        was_open
    }

    /// The helper failed a task. Tasks that were under way when the breaker opened change nothing. Whether it opens
    /// now.
    pub(super) fn failed(&mut self, entry: Entry) -> bool {
        let was_open = self.is_open();
        self.failures = self.failures.saturating_add(1);
        let pause = match (self.pause, entry) {
            (Some(pause), Entry::Trial) => pause.saturating_mul(2).min(self.settings.most_pause_tasks),
            (None, Entry::Usual | Entry::Trial) if self.failures >= self.settings.breaker_after => {
                self.settings.pause_tasks
            }
            (None | Some(_), Entry::Usual | Entry::Trial | Entry::Refused) => return false,
        };
        (self.pause, self.left) = (Some(pause), pause);
        !was_open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened() -> Breaker {
        let settings =
            TaskSettings { breaker_after: 2, pause_tasks: 3, most_pause_tasks: 10, ..TaskSettings::default() };
        let mut breaker = Breaker::new(settings);
        for _ in 0..2 {
            assert_eq!(breaker.enter(), Entry::Usual);
            breaker.failed(Entry::Usual);
        }
        breaker
    }

    fn refused(breaker: &mut Breaker) -> usize {
        std::iter::repeat_with(|| breaker.enter()).take_while(|entry| *entry == Entry::Refused).count()
    }

    #[test]
    fn pauses_double_up_to_a_bound() {
        let mut breaker = opened();
        for pause in [3, 6, 10, 10] {
            assert_eq!(refused(&mut breaker), pause);
            breaker.failed(Entry::Trial);
        }
    }

    #[test]
    fn a_success_closes_it_and_starts_the_count_anew() {
        let mut breaker = opened();
        assert_eq!(refused(&mut breaker), 3);
        breaker.succeeded();
        assert_eq!(breaker.enter(), Entry::Usual);
        breaker.failed(Entry::Usual);
        assert!(!breaker.is_open());
        breaker.failed(Entry::Usual);
        assert_eq!(refused(&mut breaker), 3);
    }

    #[test]
    fn stragglers_and_abandoned_trials_change_nothing() {
        let mut breaker = opened();
        breaker.failed(Entry::Usual);
        assert_eq!(refused(&mut breaker), 3);
        assert_eq!(refused(&mut breaker), 3, "the trial before was never heard of again");
    }
}
