//! Measure Scrollback: datasets, metrics, baselines, reports.
//!
//! A `suite` runs what we do beside baselines over a `dataset`, scores both with `metrics`, and hands back a `report`. Gold labels
//! never reach what is measured. Nothing here prints; the command line does.

pub mod baseline;
pub mod dataset;
pub mod index;
pub mod metrics;
pub mod report;
pub mod suite;
pub mod window;
