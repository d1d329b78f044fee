//! How many connections there are at once: fewer than the files that the system lets us open, as each request may need
//! another to its upstream, and the store needs some. Whoever comes when all seats are taken waits for one, as the
//! system lets them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// Files for the store, the log and whatever else is not a connection.
const OTHERS: usize = 64;
/// Connections are never fewer, and never more: each takes memory too.
const SEATS: (usize, usize) = (16, 10_000);
/// What is assumed where the system does not tell, as many have it.
const USUAL_FILES: usize = 256;
/// How often it is told that all seats are taken.
const TOLD_EVERY: Duration = Duration::from_mins(1);

pub(super) struct Crowd {
    seats: Arc<Semaphore>,
    told: Option<Instant>,
}

impl Crowd {
    pub(super) fn of(most: usize) -> Self {
        Self { seats: Arc::new(Semaphore::new(most)), told: None }
    }

    /// A seat for the next connection; `None` is never given, as nobody closes the house.
    pub(super) async fn seat(&mut self) -> Option<OwnedSemaphorePermit> {
        let full = self.seats.available_permits() == 0;
        if full && self.told.is_none_or(|told| told.elapsed() > TOLD_EVERY) {
            tracing::warn!("as many connections are open as there may be; whoever comes now waits");
            self.told = Some(Instant::now());
        }
        self.seats.clone().acquire_owned().await.ok()
    }
}

/// How many connections there may be.
pub(super) fn most() -> usize {
    let files = std::fs::read_to_string("/proc/self/limits").ok().and_then(|limits| open_files(&limits));
    seats(files.unwrap_or(USUAL_FILES))
}

fn seats(files: usize) -> usize {
    (files.saturating_sub(OTHERS) / 2).clamp(SEATS.0, SEATS.1)
}

/// How many files may be open, as the system tells it.
fn open_files(limits: &str) -> Option<usize> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let soft = line.split_whitespace().next()?;
    if soft == "unlimited" { Some(usize::MAX) } else { soft.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_everything_else() {
        let limits = |soft: &str| {
            format!(
                "Limit   Soft Limit   Hard Limit   Units\nMax open files   {soft}   1048576   files\nMax locked memory   1   1   bytes\n"
            )
        };
        assert_eq!((open_files(&limits("1024")), open_files(&limits("unlimited"))), (Some(1024), Some(usize::MAX)));
        assert_eq!(open_files("something else"), None);
        assert_eq!([120, 1024, usize::MAX, 0].map(seats), [28, 480, 10_000, 16]);
        assert!((SEATS.0..=SEATS.1).contains(&most()));
    }
}
