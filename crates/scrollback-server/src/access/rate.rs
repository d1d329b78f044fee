//! How often a token may ask: a bucket that a minute fills. Whoever empties it waits for the next drop. It has no clock
//! of its own.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a token may ask, and how often it has.
#[derive(Debug)]
pub(super) struct Rate {
    per_minute: u32,
    bucket: Mutex<Bucket>,
}

impl Rate {
    /// So many requests a minute, and none so far; no limit for `0`.
    pub(super) fn new(per_minute: u32, now: Instant) -> Self {
        Self { per_minute, bucket: Mutex::new(Bucket::full(per_minute, now)) }
    }

    /// How many it can ever count at once, if there is a limit.
    pub(super) fn most(&self) -> Option<u32> {
        (self.per_minute > 0).then_some(self.per_minute)
    }

    /// Counts some requests, or says how long to wait for as many.
    pub(super) fn take(&self, requests: u32, now: Instant) -> Result<(), Duration> {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        bucket.take(requests, self.per_minute, now)
    }
}

/// What is left of a minute's requests.
#[derive(Debug)]
struct Bucket {
    left: f64,
    since: Instant,
}

impl Bucket {
    /// A full one.
    fn full(per_minute: u32, now: Instant) -> Self {
        Self { left: f64::from(per_minute), since: now }
    }

    /// Takes some requests out, all or none, or says how long to wait for them.
    fn take(&mut self, requests: u32, per_minute: u32, now: Instant) -> Result<(), Duration> {
        if per_minute == 0 {
            return Ok(());
        }
        let (most, wanted) = (f64::from(per_minute), f64::from(requests));
        let a_second = most / 60.0;
        let passed = now.saturating_duration_since(self.since).as_secs_f64();
        (self.left, self.since) = ((self.left + passed * a_second).min(most), now);
        if self.left < wanted {
            return Err(Duration::from_secs_f64((wanted - self.left) / a_second));
        }
        self.left -= wanted;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minutes_requests_may_come_at_once_and_no_more() {
        let start = Instant::now();
        let mut bucket = Bucket::full(60, start);
        assert!((0..60).all(|_| bucket.take(1, 60, start).is_ok()));
        let wait = bucket.take(1, 60, start).unwrap_err();
        assert!((wait.as_secs_f64() - 1.0).abs() < 1e-6, "{wait:?}");
        assert!(bucket.take(1, 60, start + Duration::from_millis(900)).is_err());
        assert!(bucket.take(1, 60, start + Duration::from_millis(1100)).is_ok());
        let later = start + Duration::from_hours(1);
        assert_eq!(
            (0..100).filter(|_| bucket.take(1, 60, later).is_ok()).count(),
            60,
            "it holds a minute's, not an hour's"
        );
    }

    #[test]
    fn without_a_limit_nobody_waits() {
        let now = Instant::now();
        let mut bucket = Bucket::full(0, now);
        assert!((0..10_000).all(|_| bucket.take(1, 0, now).is_ok()));
    }

    #[test]
    fn many_at_once_count_as_many_or_not_at_all() {
        let start = Instant::now();
        let rate = Rate::new(60, start);
        assert!(rate.take(49, start).is_ok());
        let wait = rate.take(49, start).unwrap_err();
        assert!((wait.as_secs_f64() - 38.0).abs() < 1e-6, "{wait:?}");
        assert!(rate.take(11, start).is_ok() && rate.take(1, start).is_err() && rate.take(0, start).is_ok());
    }
}
