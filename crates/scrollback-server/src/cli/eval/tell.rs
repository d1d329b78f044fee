//! Shows what was measured: Markdown or JSON on stdout, and a page if one is asked for.

use anyhow::Context;
use scrollback_eval::report::{Finding, Report, html, markdown};
use scrollback_eval::scorecard::Scored;

use super::super::{Desk, say, say_json, talk};
use super::Options;

pub(super) fn everything(desk: &Desk, options: &Options, findings: &[Finding], goals: &[Scored]) -> anyhow::Result<()> {
    let report = Report { version: env!("CARGO_PKG_VERSION"), note: options.note.as_deref(), findings, goals };
    if let Some(path) = &options.html {
        std::fs::write(path, html::page(&report)).with_context(|| format!("{} cannot be written", path.display()))?;
        talk(&format!("{} is written", path.display()));
    }
    if !desk.json {
        return say(markdown::report(&report).trim_end());
    }
    findings.iter().try_for_each(say_json)?;
    goals.iter().try_for_each(say_json)
}
