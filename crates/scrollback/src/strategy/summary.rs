//! Summary: the beginning of the conversation is told in few words; the newest messages are shown whole.
//!
//! Nothing happens until the window is nearly full and long enough to be worth it; then all but the newest messages go
//! under one summary, which is made from the one before and what was said since, ahead of need where there is a helper.
//! Questions of the person and code stand beside it word for word, and what it lost is named, so that the model knows
//! what it can expand.

use std::collections::BTreeMap;

use super::holds::HoldSettings;
use super::showing::{Holding, Layout, costs, more_tokens, room, untold, usual_or_least};
use super::{Scene, Strategy, Stretch};
use crate::error::Result;
use crate::note::{Author, Covers, Fold, Note};
use crate::recall::{RecallTool, fence};
use crate::summary::{Quote, Summary};
use crate::window::{Window, grouped, tokens_of};

/// Tokens that the fence and the fixed lines cost.
const DRESS: u32 = 110;
/// How many of the things a summary lost are named in the window.
const NAMED: usize = 16;

/// How eagerly it is summarised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Late, keeping twice as much open, in more words.
    Conservative,
    /// As the settings say.
    #[default]
    Auto,
    /// Early, keeping half as much open, in fewer words.
    Aggressive,
}

/// How summaries are made. Shares are hundredths of the budget.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SummarySettings {
    /// Whether anything is summarised at all before it must be.
    pub enabled: bool,
    /// How eagerly.
    pub mode: Mode,
    /// When the window is fuller than this, it is summarised.
    pub margin: u32,
    /// From here on, the summary is prepared in the background.
    pub ahead: u32,
    /// So many of the newest messages are never summarised, if they fit.
    pub keep_recent: usize,
    /// Shorter conversations are not summarised.
    pub minimum: u32,
    /// How many messages are summarised at a time.
    pub segment: usize,
    /// How much of the window the summary and its quotes may take.
    pub share: u32,
    /// Whether code stays word for word.
    pub keep_code: bool,
    /// Whether the person's questions do.
    pub keep_questions: bool,
    /// Which prompt: `auto`, `general`, `technical`, or the words of a prompt.
    pub prompt: String,
    /// What is different for some models, by their name or its beginning (`gpt-4*`).
    pub models: BTreeMap<String, ModelSummary>,
}

/// What is different for a model.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSummary {
    /// Its limit, in tokens.
    pub limit: Option<u32>,
    /// The model that summarises for it.
    pub helper: Option<String>,
    /// Its prompt.
    pub prompt: Option<String>,
    /// Its margin.
    pub margin: Option<u32>,
    /// Its segment.
    pub segment: Option<usize>,
}

impl Default for SummarySettings {
    fn default() -> Self {
        Self {
            enabled: true,
            mode: Mode::Auto,
            margin: 80,
            ahead: 60,
            keep_recent: 10,
            minimum: 20,
            segment: 5,
            share: 25,
            keep_code: true,
            keep_questions: true,
            prompt: "auto".into(),
            models: BTreeMap::new(),
        }
    }
}

impl SummarySettings {
    /// What is different for a model: by its whole name, or by the longest beginning that fits.
    pub fn of(&self, model: &str) -> ModelSummary {
        let fits = |name: &&String| match name.strip_suffix('*') {
            Some(beginning) => model.starts_with(beginning),
            None => **name == model,
        };
        let found = self.models.keys().filter(fits).max_by_key(|name| (!name.ends_with('*'), name.len()));
        found.and_then(|name| self.models.get(name)).cloned().unwrap_or_default()
    }

    /// How full a model's window is when it is summarised.
    pub(crate) fn margin_of(&self, model: &str) -> u32 {
        let margin = self.of(model).margin.unwrap_or(self.margin);
        match self.mode {
            Mode::Conservative => (margin + 10).min(95).max(margin),
            Mode::Auto => margin,
            Mode::Aggressive => margin.saturating_sub(20).max(20),
        }
    }

    /// How full it is when the summary is begun in the background: well before it is needed.
    fn ahead_of(&self, model: &str) -> u32 {
        self.ahead.min(self.margin_of(model) * 3 / 4)
    }

    /// Whether it is as full as that, and long enough.
    pub(crate) fn is_near(&self, scene: &Scene<'_>, holds: &HoldSettings) -> bool {
        let shown = scene.fixed() + scene.fold.tokens + scene.open_tokens(holds);
        let filled = shown > scene.budget.share(self.ahead_of(scene.model));
        filled && self.enabled && scene.path() >= self.minimum
    }

    /// How many tokens a window may have before it is summarised.
    fn over(&self, scene: &Scene<'_>) -> u32 {
        let late = scene.undone || !self.enabled || scene.path() < self.minimum;
        if late { scene.budget.tokens } else { scene.budget.share(self.margin_of(scene.model)) }
    }

    /// How many of them may be open beside a summary as long as it may be.
    pub(crate) fn most_open(&self, scene: &Scene<'_>) -> u32 {
        let told = scene.budget.share(self.share).max(scene.fold.tokens);
        self.over(scene).saturating_sub(scene.fixed() + told)
    }

    /// How many messages stay open.
    pub(crate) fn recent(&self) -> usize {
        match self.mode {
            Mode::Conservative => self.keep_recent * 2,
            Mode::Auto => self.keep_recent,
            Mode::Aggressive => (self.keep_recent / 2).max(2),
        }
    }

    /// How long a summary of so many tokens of talk may be, within a window.
    pub(crate) fn length(&self, original: u32, share: u32) -> u32 {
        let percent = match self.mode {
            Mode::Conservative => 30,
            Mode::Auto => 20,
            Mode::Aggressive => 10,
        };
        (original / 100 * percent).clamp(200, (share / 2).max(200))
    }
}

/// The strategy.
pub(super) struct Summaries {
    settings: SummarySettings,
    holds: HoldSettings,
}

impl Summaries {
    pub(super) fn new(settings: SummarySettings, holds: HoldSettings) -> Self {
        Self { settings, holds }
    }

    fn limit(&self, scene: &Scene<'_>) -> u32 {
        scene.budget.share(self.settings.share)
    }

    fn is_time(&self, scene: &Scene<'_>, tokens: u32) -> bool {
        scene.is_asked() || tokens > self.settings.over(scene)
    }
}

impl Strategy for Summaries {
    fn recalls(&self) -> &'static [RecallTool] {
        &[RecallTool::Summary, RecallTool::Hold, RecallTool::Search]
    }

    fn fold(&self, scene: &Scene<'_>) -> Vec<Stretch> {
        let costs = costs(scene, &self.holds, Holding::Usual);
        let fixed = scene.fixed() + scene.fold.tokens;
        if !self.is_time(scene, fixed + costs.iter().sum::<u32>()) {
            return Vec::new();
        }
        // However much is fixed, the next turn need not fold again.
        scene.all_but(&costs, self.settings.recent(), self.settings.most_open(scene) / 2)
    }

    fn file(&self, scene: &Scene<'_>, notes: Vec<Note>) -> Fold {
        let limit = self.limit(scene);
        let Some((covers, last)) = scene.covered_with(&notes).zip(notes.last()) else {
            let Some(summary) = scene.fold.summary.clone() else { return scene.fold.clone() };
            let open: u32 = costs(scene, &self.holds, Holding::All).iter().sum();
            let room = scene.budget.tokens.saturating_sub(scene.fixed()).saturating_sub(open);
            return told(scene, summary, scene.fold.turns, limit.min(room));
        };
        let as_before = || {
            let before = scene.fold.summary.clone();
            let nothing = Summary {
                covers,
                text: String::new(),
                kept: Vec::new(),
                media: Vec::new(),
                lost: Vec::new(),
                by: Author::Offline,
            };
            before.unwrap_or(nothing)
        };
        let summary = Summary { covers, ..scene.summary.cloned().unwrap_or_else(as_before) };
        told(scene, summary, last.turn, limit)
    }

    fn room(&self, scene: &Scene<'_>) -> u32 {
        room(scene, &self.holds)
    }

    fn fit(&self, scene: &Scene<'_>) -> Result<Window> {
        usual_or_least(scene, &self.holds, Layout::Tail)
    }
}

/// A fold with a summary.
fn told(scene: &Scene<'_>, summary: Summary, turns: u32, limit: u32) -> Fold {
    let untold = scene.fold.untold.clone();
    let text = written(scene.offering(&how(&summary)), &summary, &untold, limit);
    let tokens = tokens_of(&text);
    Fold { covers: Some(summary.covers), turns, text, tokens, summary: Some(summary), untold, ..Fold::default() }
}

/// Writes the text of a fold anew after its summary changed; it costs no more than before.
pub(crate) fn rewrite_summary(fold: &mut Fold) {
    if let Some(summary) = &fold.summary {
        let how = Some(how(summary)).filter(|how| fold.text.contains(how)).unwrap_or_default();
        fold.text = written(&how, summary, &fold.untold, fold.tokens);
        fold.tokens = tokens_of(&fold.text);
    }
}

/// How the messages themselves can be seen.
fn how(summary: &Summary) -> String {
    let name = summary.name();
    format!(
        " expand_summary(id = \"{name}\", words = …) or (id = \"{name}\", from = \"m12\") shows the messages themselves, \
         search_history(words) finds any message."
    )
}

/// The summary as the model sees it, in at most about so many tokens: its text, then as many quotes as fit, the newest
/// first.
fn written(how: &str, summary: &Summary, unread: &[Covers], limit: u32) -> String {
    let (name, count) = (summary.name(), grouped(summary.covers.count()));
    let unread = untold(unread).unwrap_or_default();
    let head = format!(
        "The first {count} messages of this conversation, up to {}, are kept word for word; this is what they come to.{unread}{how}",
        summary.covers.last
    );
    let mut room = limit.saturating_sub(DRESS + more_tokens(&unread));
    let text = within(&summary.text, room);
    room = room.saturating_sub(tokens_of(&text));
    let quotes = quoted(&summary.kept, &mut room);
    let named: Vec<&str> = summary.lost.iter().take(NAMED).map(String::as_str).collect();
    let lost = (!named.is_empty()).then(|| format!("Not told above: {}", named.join(" · ")));
    let lost = lost.filter(|line| tokens_of(line) <= room);
    let mut lines = vec![head];
    lines.extend((!text.is_empty()).then_some(text));
    if !quotes.is_empty() {
        lines.push("Word for word:".to_owned());
        lines.extend(quotes);
    }
    lines.extend(lost);
    fence("summary", &format!("Summary {name}"), &lines.join("\n"))
}

/// The newest quotes that fit, in their order.
fn quoted(kept: &[Quote], room: &mut u32) -> Vec<String> {
    let lines = kept.iter().rev().map(|quote| format!("[{}] {}", quote.message, quote.text));
    let fits = |line: &String| {
        let rest = room.checked_sub(tokens_of(line));
        *room = rest.unwrap_or(0);
        rest.is_some()
    };
    let mut fitting: Vec<String> = lines.take_while(fits).collect();
    fitting.reverse();
    fitting
}

/// The beginning of a text that fits.
fn within(text: &str, room: u32) -> String {
    if tokens_of(text) <= room {
        return text.to_owned();
    }
    let mut end = text.len();
    while end > 0 && tokens_of(&text[..end]) >= room {
        end = text.floor_char_boundary(end * 9 / 10);
    }
    if end == 0 { String::new() } else { format!("{}…", &text[..end]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_conservative_never_folds_earlier() {
        for margin in 1..=100 {
            let of = |mode| SummarySettings { mode, margin, ..SummarySettings::default() }.margin_of("gpt-5");
            assert!(of(Mode::Conservative) >= of(Mode::Auto), "{margin}");
        }
    }

    #[test]
    fn written_anew_it_names_the_tools_it_named() {
        let (first, from) = (crate::ids::MessageId(0), crate::ids::Depth(0));
        let covers = Covers { first, from, last: crate::ids::MessageId(9), to: crate::ids::Depth(9) };
        let summary = Summary {
            covers,
            text: "Larsen sold the lamp [m2].".to_owned(),
            kept: Vec::new(),
            media: Vec::new(),
            lost: Vec::new(),
            by: Author::Offline,
        };
        for offered in [how(&summary), String::new()] {
            let text = written(&offered, &summary, &[], 500);
            let mut fold =
                Fold { covers: Some(covers), text, tokens: 500, summary: Some(summary.clone()), ..Fold::default() };
            rewrite_summary(&mut fold);
            assert_eq!(fold.text.contains("search_history"), !offered.is_empty(), "{}", fold.text);
        }
    }
}
