//! Who asks: the answer that every door works with. The layer puts one into each request; nothing behind it looks at
//! keys.

use std::sync::Arc;
use std::time::{Duration, Instant};

use scrollback::Tenant;
use tokio::sync::{Semaphore, watch};

use super::rate::Rate;

/// How many streams of events may be open at once with one token.
pub(super) const SEATS: usize = 32;

/// Somebody who may ask.
#[derive(Clone, Debug)]
pub(crate) struct Guest {
    /// Whose conversations they see, and no others.
    pub(crate) tenant: Tenant,
    /// The name of their token, if they came with one.
    pub(crate) token: Option<Arc<str>>,
    /// Whether they sit at this machine.
    pub(crate) is_local: bool,
    /// Whether they may give tokens to others and take them back.
    pub(crate) is_admin: bool,
    /// Ends when their token is taken back.
    pub(crate) revoked: Revoked,
    /// For how many more they may listen with the same token.
    pub(super) seats: Arc<Semaphore>,
    /// How often they may ask, if they came with a token.
    pub(super) rate: Option<Arc<Rate>>,
}

impl Guest {
    /// The person at this machine.
    pub(crate) fn local() -> Self {
        let (tenant, revoked, seats) = (Tenant::local(), Revoked::never(), Self::seats());
        Self { tenant, token: None, is_local: true, is_admin: true, revoked, seats, rate: None }
    }

    /// Counts some requests with their token, or says how long to wait for as many.
    pub(super) fn asks(&self, requests: u32, now: Instant) -> Result<(), Duration> {
        self.rate.as_ref().map_or(Ok(()), |rate| rate.take(requests, now))
    }

    /// How many it may count at once at most, if there is a limit.
    pub(super) fn most_at_once(&self) -> Option<u32> {
        self.rate.as_ref().and_then(|rate| rate.most())
    }

    /// All seats of a token, free.
    pub(super) fn seats() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(SEATS))
    }
}

/// Whether a token was taken back, for those who have to stop then.
#[derive(Clone, Debug)]
pub(crate) struct Revoked(Option<watch::Receiver<bool>>);

impl Revoked {
    /// Of somebody without a token.
    pub(crate) fn never() -> Self {
        Self(None)
    }

    /// Of a token whose end is told there.
    pub(crate) fn told_by(told: watch::Receiver<bool>) -> Self {
        Self(Some(told))
    }

    /// Whether it is by now.
    pub(crate) fn is_told(&self) -> bool {
        self.0.as_ref().is_some_and(|told| *told.borrow() || told.has_changed().is_err())
    }

    /// Waits until it is; for ever, if nobody can.
    pub(crate) async fn wait(mut self) {
        match &mut self.0 {
            // Whoever no longer keeps the token does not know it either.
            Some(told) => drop(told.wait_for(|revoked| *revoked).await),
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_with_the_token_and_not_before() {
        let (teller, told) = watch::channel(false);
        let (revoked, soon) = (Revoked::told_by(told), Duration::from_secs(1));
        assert!(tokio::time::timeout(soon, revoked.clone().wait()).await.is_err());
        assert!(tokio::time::timeout(soon, Guest::local().revoked.wait()).await.is_err());
        assert!(!revoked.is_told() && !Guest::local().revoked.is_told());
        teller.send(true).unwrap();
        assert!(revoked.is_told());
        assert!(tokio::time::timeout(soon, revoked.wait()).await.is_ok());
    }
}
