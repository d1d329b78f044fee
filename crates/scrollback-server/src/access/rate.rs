//! How often a token may ask: a bucket that a minute fills. Whoever empties it waits for the next drop. It has no clock
//! of its own.

use std::time::{Duration, Instant};

/// What is left of a minute's requests.
#[derive(Debug)]
pub(super) struct Bucket {
    left: f64,
    since: Instant,
}

impl Bucket {
    /// A full one.
    pub(super) fn full(per_minute: u32, now: Instant) -> Self {
        Self { left: f64::from(per_minute), since: now }
    }

    /// Takes a request out, or says how long to wait for the next.
    pub(super) fn take(&mut self, per_minute: u32, now: Instant) -> Result<(), Duration> {
        if per_minute == 0 {
            return Ok(());
        }
        let most = f64::from(per_minute);
        let a_second = most / 60.0;
        let passed = now.saturating_duration_since(self.since).as_secs_f64();
        (self.left, self.since) = ((self.left + passed * a_second).min(most), now);
        if self.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - self.left) / a_second));
        }
        self.left -= 1.0;
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
        assert!((0..60).all(|_| bucket.take(60, start).is_ok()));
        let wait = bucket.take(60, start).unwrap_err();
        assert!((wait.as_secs_f64() - 1.0).abs() < 1e-6, "{wait:?}");
        assert!(bucket.take(60, start + Duration::from_millis(900)).is_err());
        assert!(bucket.take(60, start + Duration::from_millis(1100)).is_ok());
        let later = start + Duration::from_hours(1);
        assert_eq!(
            (0..100).filter(|_| bucket.take(60, later).is_ok()).count(),
            60,
            "it holds a minute's, not an hour's"
        );
    }

    #[test]
    fn without_a_limit_nobody_waits() {
        let now = Instant::now();
        let mut bucket = Bucket::full(0, now);
        assert!((0..10_000).all(|_| bucket.take(0, now).is_ok()));
    }
}
