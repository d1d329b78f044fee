//! Settings that cannot be meant are refused before anything runs, each by its name.

use anyhow::bail;
use scrollback::strategy::{ArtifactSettings, ModelSummary, QuoteSettings, SummarySettings};

/// Refuses settings of summaries that make no sense.
pub(super) fn summary(said: &SummarySettings, has_helper: bool) -> anyhow::Result<()> {
    for (name, share) in [("margin", said.margin), ("ahead", said.ahead), ("share", said.share)] {
        is_share(&format!("summary.{name}"), share)?;
    }
    is_some("summary.segment", said.segment)?;
    for (model, of) in &said.models {
        let name = format!("summary.models.\"{model}\"");
        of_model(&name, of, has_helper)?;
    }
    Ok(())
}

fn of_model(name: &str, said: &ModelSummary, has_helper: bool) -> anyhow::Result<()> {
    said.margin.map_or(Ok(()), |margin| is_share(&format!("{name}.margin"), margin))?;
    said.segment.map_or(Ok(()), |segment| is_some(&format!("{name}.segment"), segment))?;
    if said.limit == Some(0) {
        bail!("{name}.limit is a number of tokens, at least 1; leave it out if it is not known");
    }
    match &said.helper {
        Some(helper) if helper.is_empty() => bail!("{name}.helper is empty; leave it out for the usual helper"),
        Some(helper) if !has_helper => {
            bail!(
                "{name}.helper is “{helper}”, but there is no helper: set helper.model, whose upstream it is asked at"
            )
        }
        Some(_) | None => Ok(()),
    }
}

/// Refuses a model that sorts into topics where there is nobody to ask it at.
pub(super) fn split_model(model: &str, has_helper: bool) -> anyhow::Result<()> {
    if !model.is_empty() && !has_helper {
        bail!(
            "topics.split_model is “{model}”, but there is no helper: set helper.model, whose upstream it is asked at"
        );
    }
    Ok(())
}

/// Refuses settings of artifacts that make no sense.
pub(super) fn artifacts(said: &ArtifactSettings) -> anyhow::Result<()> {
    for (name, share) in [("fold_over", said.fold_over), ("share", said.share)] {
        is_share(&format!("artifacts.{name}"), share)?;
    }
    is_before(("artifacts.share", said.share), ("artifacts.fold_over", said.fold_over))?;
    let (at, keep) = (said.archive_at, said.keep);
    if at <= keep {
        bail!("artifacts.archive_at is {at}: it must be more than artifacts.keep, which is {keep}");
    }
    Ok(())
}

/// Refuses settings of quotes that make no sense.
pub(super) fn quotes(said: &QuoteSettings) -> anyhow::Result<()> {
    is_share("quotes.share", said.share)?;
    if !(0.0..=1.0).contains(&said.missing) {
        bail!("quotes.missing is a share from 0 to 1, not {}", said.missing);
    }
    Ok(())
}

fn is_share(name: &str, share: u32) -> anyhow::Result<()> {
    if !(1..=100).contains(&share) {
        bail!("{name} is a share of the window in hundredths, from 1 to 100, not {share}");
    }
    Ok(())
}

/// Refuses a share that leaves nothing before another is reached.
fn is_before((name, share): (&str, u32), (other, most): (&str, u32)) -> anyhow::Result<()> {
    if share >= most {
        bail!("{name} is {share}: it must be less than {other}, which is {most}");
    }
    Ok(())
}

fn is_some(name: &str, count: usize) -> anyhow::Result<()> {
    if count == 0 {
        bail!("{name} is a number of messages, at least 1");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::said::Said;

    fn complaint(settings: &str) -> String {
        let said: Said = toml::from_str(settings).unwrap();
        let has_helper = !said.helper.model.is_empty();
        let checked = summary(&said.summary, has_helper)
            .and_then(|()| split_model(&said.topics.split_model, has_helper))
            .and_then(|()| artifacts(&said.artifacts))
            .and_then(|()| quotes(&said.quotes));
        checked.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_cannot_be_meant_is_named() {
        for (settings, named) in [
            ("[summary]\nmargin = 0", "summary.margin"),
            ("[summary]\nahead = 101", "summary.ahead"),
            ("[summary]\nshare = 0", "summary.share"),
            ("[summary]\nsegment = 0", "summary.segment"),
            ("[summary.models.\"gpt-4*\"]\nmargin = 0", "summary.models.\"gpt-4*\".margin"),
            ("[summary.models.a]\nsegment = 0", "summary.models.\"a\".segment"),
            ("[summary.models.a]\nlimit = 0", "summary.models.\"a\".limit"),
            ("[summary.models.a]\nhelper = \"b\"", "helper.model"),
            ("[summary.models.a]\nhelper = \"\"\n[helper]\nmodel = \"c\"", "summary.models.\"a\".helper"),
            ("[topics]\nsplit_model = \"b\"", "topics.split_model"),
            ("[artifacts]\narchive_at = 20", "artifacts.archive_at"),
            ("[artifacts]\nkeep = 40", "artifacts.keep"),
            ("[artifacts]\nshare = 200", "artifacts.share"),
            ("[artifacts]\nfold_over = 0", "artifacts.fold_over"),
            ("[artifacts]\nshare = 100", "artifacts.share is 100: it must be less than artifacts.fold_over"),
            ("[quotes]\nshare = 0", "quotes.share"),
            ("[quotes]\nmissing = 1.5", "quotes.missing"),
            ("[artifacts]\nshare = 40\nfold_over = 40", "artifacts.share is 40"),
        ] {
            let complaint = complaint(settings);
            assert!(complaint.contains(named), "{settings}: {complaint}");
        }
    }

    #[test]
    fn what_can_be_meant_passes() {
        assert_eq!(complaint(""), "");
        assert_eq!(complaint("[summary.models.a]\nhelper = \"b\"\n[helper]\nmodel = \"c\""), "");
        assert_eq!(complaint("[topics]\nsplit_model = \"b\"\n[helper]\nmodel = \"c\""), "");
        assert_eq!(complaint("[artifacts]\narchive_at = 2\nkeep = 1\nshare = 79"), "");
    }
}
