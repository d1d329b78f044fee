//! `scrollback artifacts SESSION [aID]`: the documents a conversation was worked into, their versions and what changed.

use std::process::ExitCode;

use axum::http::Method;
use clap::Args;
use scrollback::MessageId;
use scrollback::artifact::{ArtifactId, Change, Sign};

use super::Where;
use super::door::read;
use crate::api::{Artifacts as Listed, Compared, Versions, WholeArtifact};
use crate::cli::terminal::{green, red};
use crate::cli::{Desk, local, say, say_json, shortened, table, talk};

/// How many columns of a title are shown.
const TITLE_COLUMNS: usize = 60;

#[derive(Debug, Args)]
pub(in crate::cli) struct Artifacts {
    #[command(flatten)]
    place: Where,
    /// An artifact, such as a12; shown whole, as Markdown
    artifact: Option<ArtifactId>,
    /// Its versions, with the messages each was the first to be made from
    #[arg(long, requires = "artifact", conflicts_with_all = ["diff", "version"])]
    versions: bool,
    /// What changed from one version to another
    #[arg(long, requires = "artifact", num_args = 2, value_names = ["FROM", "TO"], conflicts_with = "version")]
    diff: Option<Vec<u32>>,
    /// One of its versions
    #[arg(long, requires = "artifact", value_name = "VERSION")]
    version: Option<u32>,
}

impl Artifacts {
    pub(in crate::cli) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        match (&self.artifact, &self.diff) {
            (None, _) => self.list(desk).await?,
            (Some(id), Some(diff)) => self.diff(desk, *id, diff).await?,
            (Some(id), None) if self.versions => self.versions(desk, *id).await?,
            (Some(id), None) => self.one(desk, *id).await?,
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn list(&self, desk: &Desk) -> anyhow::Result<()> {
        let Listed { layout, artifacts } = desk.asked(&self.place.ask(Method::GET, &["artifacts"])).await?;
        if desk.json {
            return artifacts.iter().try_for_each(say_json);
        }
        if artifacts.is_empty() {
            talk(&format!("there are no artifacts ({layout})"));
            return Ok(());
        }
        let mut lines = table(&["artifact", "version", "sources", "title"], &[1, 2]);
        for one in &artifacts {
            let (version, sources) = (one.version.to_string(), one.sources.len().to_string());
            lines.add_row([one.id.to_string(), version, sources, shortened(&one.title, TITLE_COLUMNS)]);
        }
        say(lines.trim_fmt())
    }

    async fn one(&self, desk: &Desk, id: ArtifactId) -> anyhow::Result<()> {
        let ask = self.place.ask(Method::GET, &["artifacts", &id.to_string()]).with("version", self.version);
        let answer = desk.ask(&ask).await?;
        if desk.json {
            return say_json(&answer);
        }
        let whole: WholeArtifact = read(answer)?;
        say(whole.markdown.trim_end())
    }

    async fn versions(&self, desk: &Desk, id: ArtifactId) -> anyhow::Result<()> {
        let ask = self.place.ask(Method::GET, &["artifacts", &id.to_string(), "versions"]);
        let Versions { versions } = desk.asked(&ask).await?;
        if desk.json {
            return versions.iter().try_for_each(say_json);
        }
        let mut lines = table(&["version", "branch", "time", "added", "title"], &[0, 1]);
        for one in &versions {
            let (version, branch) = (one.version.to_string(), one.branch.0.to_string());
            let title = shortened(&one.title, TITLE_COLUMNS);
            lines.add_row([version, branch, local(one.at), ranges(&one.added), title]);
        }
        say(lines.trim_fmt())
    }

    async fn diff(&self, desk: &Desk, id: ArtifactId, between: &[u32]) -> anyhow::Result<()> {
        let ask = self.place.ask(Method::GET, &["artifacts", &id.to_string(), "diff"]);
        let ask = ask.with("from", between.first()).with("to", between.last());
        let answer = desk.ask(&ask).await?;
        if desk.json {
            return say_json(&answer);
        }
        let compared: Compared = read(answer)?;
        let ((less, same), (more, _)) = (red(), green());
        compared.changes.iter().try_for_each(|Change { sign, line }| match sign {
            Sign::Same => say(format!("  {line}")),
            Sign::Less => say(format!("{less}- {line}{same}")),
            Sign::More => say(format!("{more}+ {line}{same}")),
        })
    }
}

/// Messages as ranges: m1–m4, m9.
pub(in crate::cli) fn ranges(ids: &[MessageId]) -> String {
    let mut runs: Vec<(MessageId, MessageId)> = Vec::new();
    for id in ids {
        match runs.last_mut() {
            Some((_, last)) if last.0 + 1 == id.0 => *last = *id,
            _ => runs.push((*id, *id)),
        }
    }
    let run = |(first, last): (MessageId, MessageId)| {
        if first == last { first.to_string() } else { format!("{first}–{last}") }
    };
    runs.into_iter().map(run).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_range() {
        assert_eq!(ranges(&[1, 2, 3, 9].map(MessageId)), "m1–m3, m9");
        assert_eq!(ranges(&[]), "");
    }
}
