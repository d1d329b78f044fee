//! Numbers for Prometheus. All are there from the start, so that rates begin at nothing.

use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use crate::helper::OUTCOMES;
use crate::store::Pulse;

/// What is counted.
const COUNTERS: [&str; 6] = [
    "scrollback_requests_total",
    "scrollback_refused_total",
    "scrollback_trouble_total",
    "scrollback_failed_turns_total",
    "scrollback_store_failures_total",
    "scrollback_recalls_total",
];
/// How often what was measured is summed up; otherwise it would be kept piece by piece until somebody asks.
const EVERY: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub(super) struct Numbers {
    handle: PrometheusHandle,
    pulse: Arc<Pulse>,
}

impl Numbers {
    pub(super) fn begin(pulse: Arc<Pulse>) -> Self {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        // A second server in one process counts into the first one's numbers.
        let _ = metrics::set_global_recorder(recorder);
        for name in COUNTERS {
            metrics::counter!(name).increment(0);
        }
        for outcome in OUTCOMES {
            metrics::counter!("scrollback_helper_total", "outcome" => outcome).increment(0);
        }
        let _ = metrics::histogram!("scrollback_commit_seconds");
        Self { handle, pulse }
    }

    /// All of them, as they are now.
    pub(super) fn told(&self) -> String {
        if let Some((all, idle)) = self.pulse.connections() {
            metrics::gauge!("scrollback_store_connections").set(count(all));
            metrics::gauge!("scrollback_store_connections_idle").set(count(idle));
        }
        self.handle.render()
    }

    /// Sums up what was measured, for ever.
    pub(super) async fn keep_up(self) {
        loop {
            tokio::time::sleep(EVERY).await;
            self.handle.run_upkeep();
        }
    }
}

/// A small number for a gauge.
fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::INFINITY, f64::from)
}
