//! Measure Scrollback: datasets, metrics, baselines, reports.
//!
//! A `suite` runs what we do beside baselines over a `dataset`, scores both with `metrics`, and hands back a `report`.
//! Gold labels never reach what is measured. Nothing here prints; the command line does.

pub mod abreast;
pub mod baseline;
pub mod dataset;
pub mod embedded;
pub mod fixture;
pub mod index;
pub mod judge;
pub mod kept;
pub mod meter;
pub mod metrics;
pub mod models;
pub mod player;
pub mod replay;
pub mod report;
pub mod scorecard;
pub mod suite;
pub mod table;
pub mod window;
