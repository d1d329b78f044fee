//! Settings that cannot be meant are refused before anything runs, each by its name.

use std::path::Path;

use anyhow::bail;
use scrollback::strategy::{
    ArtifactSettings, ModelSummary, PageSettings, QuoteSettings, SummarySettings, TopicSettings,
};

use super::said::SaidHelper;
use crate::store::Place;
use crate::upstream::QUOTE;

/// Nothing can be laid out in fewer tokens.
const LEAST_WINDOW: u32 = 500;
/// No topic or batch of them is smaller, in tokens.
const LEAST_TOPIC: u32 = 1_000;
/// A million of them are a terabyte, which no machine takes at once.
const MOST_MEGABYTES: usize = 1 << 20;

/// Refuses settings of pages that make no sense.
pub(super) fn pages(said: &PageSettings) -> anyhow::Result<()> {
    for (name, share) in [("fold_over", said.fold_over), ("fold_to", said.fold_to), ("page_share", said.page_share)] {
        is_share(&format!("pages.{name}"), share)?;
    }
    is_before(("pages.fold_to", said.fold_to), ("pages.fold_over", said.fold_over))?;
    if said.keep_pages == 0 {
        bail!("pages.keep_pages is a number of pages, at least 1");
    }
    Ok(())
}

/// Refuses settings of topics that make no sense.
pub(super) fn topics(said: &TopicSettings) -> anyhow::Result<()> {
    let shares = [("fold_over", said.fold_over), ("fold_to", said.fold_to), ("excerpt_share", said.excerpt_share)];
    for (name, share) in shares {
        is_share(&format!("topics.{name}"), share)?;
    }
    is_before(("topics.fold_to", said.fold_to), ("topics.fold_over", said.fold_over))?;
    for (name, tokens) in [("topic_tokens", said.topic_tokens), ("batch_tokens", said.batch_tokens)] {
        if tokens < LEAST_TOPIC {
            bail!("topics.{name} is a number of tokens, at least {LEAST_TOPIC}, not {tokens}");
        }
    }
    let activation = &said.activation;
    let (least, usual, most) = (activation.least, activation.usual, activation.most);
    if least > usual || usual > most || most == 0 {
        bail!(
            "topics.active_least, active_usual and active_most are {least}, {usual} and {most}: none may be more than the next, \
             and the last is at least 1"
        );
    }
    if activation.average_over == 0 {
        bail!("topics.average_over is a number of scores, at least 1");
    }
    let parts = [
        ("floor", activation.floor),
        ("floor_each", activation.floor_each),
        ("sleep_share", activation.sleep_share),
        ("deep_share", activation.deep_share),
    ];
    parts.into_iter().try_for_each(|(name, part)| is_part(&format!("topics.{name}"), f64::from(part)))
}

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
    said.limit.map_or(Ok(()), |limit| is_limit(&format!("{name}.limit"), limit))?;
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

/// Refuses a helper that would be asked where nothing but quotations answers.
pub(super) fn helper(said: &SaidHelper, upstream: &str) -> anyhow::Result<()> {
    if said.upstream == QUOTE {
        bail!("helper.upstream is “{QUOTE}”, which quotes and helps nobody: name an upstream with a model");
    }
    if !said.model.is_empty() && said.upstream.is_empty() && upstream == QUOTE {
        bail!(
            "helper.model is “{}”, but serve.upstream is “{QUOTE}”, which helps nobody: name an upstream that has the \
             model with helper.upstream",
            said.model
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
    is_part("quotes.missing", said.missing)
}

/// Refuses addresses of replicas that are none; they are not repeated, because they hold passwords.
pub(super) fn replicas(said: &[String]) -> anyhow::Result<()> {
    if !said.iter().all(|address| Place::is_database(Path::new(address))) {
        bail!("store.replicas lists addresses of databases, such as postgres://user:password@host:5432/name");
    }
    Ok(())
}

/// Megabytes as bytes.
pub(super) fn bytes(name: &str, megabytes: usize) -> anyhow::Result<usize> {
    if !(1..=MOST_MEGABYTES).contains(&megabytes) {
        bail!("{name} is a number of megabytes, from 1 to {MOST_MEGABYTES}, not {megabytes}");
    }
    Ok(megabytes << 20)
}

/// Refuses a limit that nothing fits in; 0 stands for none.
pub(super) fn is_window(name: &str, tokens: u32) -> anyhow::Result<()> {
    if tokens == 0 { Ok(()) } else { is_limit(name, tokens) }
}

/// The same for one that there has to be.
pub(super) fn is_limit(name: &str, tokens: u32) -> anyhow::Result<()> {
    if tokens < LEAST_WINDOW {
        bail!("{name} is a number of tokens, at least {LEAST_WINDOW}, not {tokens}");
    }
    Ok(())
}

/// Refuses a time in which nothing can be done.
pub(super) fn is_seconds(name: &str, seconds: u64) -> anyhow::Result<()> {
    if seconds == 0 {
        bail!("{name} is a number of seconds, at least 1");
    }
    Ok(())
}

/// Refuses a part of a whole that is none.
fn is_part(name: &str, part: f64) -> anyhow::Result<()> {
    if !(0.0..=1.0).contains(&part) {
        bail!("{name} is a share from 0 to 1, not {part}");
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
        let checked = pages(&said.pages)
            .and_then(|()| topics(&said.topics.meant()))
            .and_then(|()| summary(&said.summary, has_helper))
            .and_then(|()| split_model(&said.topics.split_model, has_helper))
            .and_then(|()| helper(&said.helper, &said.serve.upstream))
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
            (
                "[summary.models.a]\nlimit = 499",
                "summary.models.\"a\".limit is a number of tokens, at least 500, not 499",
            ),
            ("[summary.models.a]\nhelper = \"b\"", "helper.model"),
            ("[summary.models.a]\nhelper = \"\"\n[helper]\nmodel = \"c\"", "summary.models.\"a\".helper"),
            ("[topics]\nsplit_model = \"b\"", "topics.split_model"),
            ("[helper]\nupstream = \"quote\"", "helper.upstream"),
            ("[serve]\nupstream = \"quote\"\n[helper]\nmodel = \"c\"", "serve.upstream"),
            ("[artifacts]\narchive_at = 20", "artifacts.archive_at"),
            ("[artifacts]\nkeep = 40", "artifacts.keep"),
            ("[artifacts]\nshare = 200", "artifacts.share"),
            ("[artifacts]\nfold_over = 0", "artifacts.fold_over"),
            ("[artifacts]\nshare = 100", "artifacts.share is 100: it must be less than artifacts.fold_over"),
            ("[quotes]\nshare = 0", "quotes.share"),
            ("[quotes]\nmissing = 1.5", "quotes.missing"),
            ("[artifacts]\nshare = 40\nfold_over = 40", "artifacts.share is 40"),
            ("[pages]\nfold_over = 0", "pages.fold_over"),
            ("[pages]\nfold_over = 1000", "pages.fold_over"),
            ("[pages]\nfold_to = 90", "pages.fold_to is 90"),
            ("[pages]\nkeep_pages = 0", "pages.keep_pages"),
            ("[pages]\npage_share = 0", "pages.page_share"),
            ("[topics]\nfold_over = 1000", "topics.fold_over"),
            ("[topics]\nfold_to = 95", "topics.fold_to is 95"),
            ("[topics]\nexcerpt_share = 0", "topics.excerpt_share"),
            ("[topics]\ntopic_tokens = 5", "topics.topic_tokens"),
            ("[topics]\nactive_least = 30", "topics.active_least"),
            ("[topics]\nactive_usual = 21", "active_usual"),
            ("[topics]\naverage_over = 0", "topics.average_over"),
            ("[topics]\nfloor = nan", "topics.floor"),
            ("[topics]\nfloor_each = 2.0", "topics.floor_each"),
            ("[topics]\nsleep_share = -0.5", "topics.sleep_share"),
            ("[topics]\ndeep_share = inf", "topics.deep_share"),
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
        assert_eq!(complaint("[serve]\nupstream = \"quote\""), "");
        assert_eq!(complaint("[serve]\nupstream = \"quote\"\n[helper]\nmodel = \"c\"\nupstream = \"openai\""), "");
    }
}
