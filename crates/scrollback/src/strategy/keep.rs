//! What is shown in every window, however old it is: rules the person stated and messages the person pinned, word for
//! word, and images that no words can stand for.
//!
//! Rules are the person's own words. What is pinned may be anybody's, so that it is a record in a fence of its own (law
//! 9); so is what nobody pinned and a turn cannot do without.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{Hash128, MessageId};
use crate::recall::{fence, fence_as, heading};
use crate::rule::{Rule, own_words};
use crate::store::Stored;
use crate::window::{Budget, grouped, tokens_of};

/// What the rules say of themselves. They are the person's own words, in the person's own role.
const OF_THE_PERSON: &str = "What the person said earlier and wants kept in mind, word for word.";
/// What stands above them.
const STATED: &str = "Rules the person stated; they hold until the person says otherwise:";
/// What stands above what the person said since the turn began that goes on.
const SINCE: &str = "Said in the person's role while the work that goes on was under way, the newest last; where the \
                     person's own words differ from what that work began with, they hold:";
/// How much of that is told at most, in tokens.
const SINCE_MOST: u32 = 1_000;
/// How what does not fit is found.
const FOUND: &str = "; search_history finds them.";
/// Tokens that a fence and its headings cost, and the line on what does not fit.
const DRESS: u32 = 60;
/// Words have seldom more characters a token.
const TOKEN_CHARS: usize = 8;
/// Tokens below which it is not worth showing the beginning of one.
const PIN_LEAST: u32 = 60;

/// How much of a window is kept as a rule, in hundredths: rules and images, and those with what a person pinned.
const USUAL: [u32; 2] = [15, 40];

/// How many tokens may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepLimits {
    /// For rules and images: they are found, nobody asked for each of them.
    pub found: u32,
    /// For these and what a person pinned; with 0, nothing but the person's own words is kept.
    pub all: u32,
}

impl KeepLimits {
    /// So many hundredths of a budget.
    pub fn shares(budget: Budget, [found, all]: [u32; 2]) -> Self {
        Self { found: budget.share(found), all: budget.share(all) }
    }

    /// As a rule.
    pub fn usual(budget: Budget) -> Self {
        Self::shares(budget, USUAL)
    }
}

/// What the words of such a block come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeptWords {
    /// The messages whose rules it states, one for each rule.
    pub rules: Vec<MessageId>,
    /// Rules that do not fit.
    pub rules_missing: u32,
    /// What the turn cannot do without.
    pub earlier: Vec<MessageId>,
    /// What the person pinned.
    pub pinned: Vec<MessageId>,
}

/// A block that goes into every window.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its words; empty if there are only images.
    pub text: Arc<str>,
    /// What they come from.
    pub words: KeptWords,
    /// Messages that are shown as they came.
    pub media: Vec<Arc<Stored>>,
    tokens: u32,
}

impl Kept {
    /// The block of a view, as it was.
    pub fn recorded(text: &str, words: KeptWords, media: Vec<Arc<Stored>>) -> Self {
        let told = if text.is_empty() { 0 } else { tokens_of(text) };
        let tokens = told + media.iter().map(|stored| stored.measure.tokens).sum::<u32>();
        Self { text: text.into(), words, media, tokens }
    }

    /// What it costs.
    pub fn tokens(&self) -> u32 {
        self.tokens
    }

    /// What its words cost.
    pub fn text_tokens(&self) -> u32 {
        self.tokens - self.media.iter().map(|stored| stored.measure.tokens).sum::<u32>()
    }

    /// What it is recorded under: the same words are recorded once.
    pub fn hash(&self) -> Hash128 {
        let media: Vec<u8> = self.media.iter().flat_map(|stored| stored.id.0.to_le_bytes()).collect();
        Hash128::of("kept", &[self.text.as_bytes(), &media])
    }

    /// The messages it shows as they came.
    pub fn media_ids(&self) -> Vec<MessageId> {
        self.media.iter().map(|stored| stored.id).collect()
    }
}

/// What is to be kept of what is folded, each in the order it was said.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keeping<'a> {
    /// Rules that hold.
    pub rules: &'a [&'a Rule],
    /// Messages in which the person spoke again in a turn that goes on: only those words are told of them.
    pub said: &'a [Arc<Stored>],
    /// What must stand as it came: instructions from the middle of a talk, and what began a turn that goes on.
    pub needed: &'a [Arc<Stored>],
    /// What is needed as well and would take too much as it came: it is quoted.
    pub quoted: &'a [Arc<Stored>],
    /// What a person pinned.
    pub pinned: &'a [Arc<Stored>],
    /// Messages with images that nobody pinned.
    pub images: &'a [Arc<Stored>],
    /// Whether the model can recall nothing: then no tool is named.
    pub no_tools: bool,
}

/// The block of what is kept, within limits; `None` if there is nothing to keep. The person's own words come first,
/// then what is needed, what is pinned, and images. Where not all of a kind fits, the newest does; of what is quoted or
/// pinned, each is cut.
pub fn kept(keeping: &Keeping<'_>, limits: KeepLimits) -> Option<Kept> {
    let Keeping { said, quoted, pinned, images, no_tools, .. } = *keeping;
    let rules: Vec<String> = keeping.rules.iter().map(|rule| format!("[{}] {}", rule.name(), rule.text)).collect();
    let (since, taken) = since(said, limits, no_tools);
    let (stated, spent) = stated(&rules, limits, taken);
    // What is needed takes no more than half of the room from what is quoted or pinned.
    let half = if quoted.is_empty() && pinned.is_empty() { limits.all } else { limits.all / 2 };
    let needed = newest(keeping.needed, &mut limits.found.min(half).saturating_sub(spent), cost);
    // What of it does not fit is quoted, and cut where it must be.
    let left = &keeping.needed[..keeping.needed.len() - needed.len()];
    let mut told: Vec<Arc<Stored>> = left.iter().chain(quoted).chain(pinned).cloned().collect();
    told.sort_by_key(|stored| stored.id);
    let own = !stated.is_empty() || !since.is_empty();
    let fences = [own, told.len() > pinned.len(), !pinned.is_empty()].map(u32::from);
    let between = fences.iter().sum::<u32>().saturating_sub(1) * DRESS;
    let found = spent + needed.iter().map(cost).sum::<u32>();
    let (shown, words) = pins(&told, limits.all.saturating_sub(found + between), no_tools);
    let quoted = between + words.iter().map(|(_, piece)| tokens_of(piece)).sum::<u32>();
    let all = found + quoted + shown.iter().map(cost).sum::<u32>();
    let mut rest = limits.found.min(limits.all).saturating_sub(found).min(limits.all.saturating_sub(all));
    let images = newest(images, &mut rest, cost);
    let others = told.len() - shown.len() - words.len() + said.len() - since.len();
    let missing = missing_line([rules.len() - stated.len(), others], no_tools);
    let (pins, earlier): (Vec<_>, Vec<_>) =
        words.into_iter().partition(|(id, _)| pinned.iter().any(|stored| stored.id == *id));
    let (pinned, pins): (_, Vec<String>) = pins.into_iter().unzip();
    let (mut earlier, pieces): (Vec<MessageId>, Vec<String>) = earlier.into_iter().unzip();
    earlier.extend(said[said.len() - since.len()..].iter().map(|stored| stored.id));
    let text = written([stated, &since], [&pieces, &pins], missing.as_ref());
    let (left_out, stated) = keeping.rules.split_at(rules.len() - stated.len());
    let rules = stated.iter().map(|rule| rule.message).collect();
    let rules_missing = u32::try_from(left_out.len()).unwrap_or(u32::MAX);
    let mut media: Vec<Arc<Stored>> = needed.iter().chain(&shown).chain(images).cloned().collect();
    media.sort_by_key(|stored| stored.id);
    let words = KeptWords { rules, rules_missing, earlier, pinned };
    (!text.is_empty() || !media.is_empty()).then(|| Kept::recorded(&text, words, media))
}

/// The newest of what the person said since, in at most half of the room for rules, and what it takes with what stands
/// above it. Long ones are cut where they must be.
fn since(said: &[Arc<Stored>], limits: KeepLimits, no_tools: bool) -> (Vec<String>, u32) {
    let most = SINCE_MOST.min(limits.found.saturating_sub(DRESS) / 2);
    let room = most.saturating_sub(tokens_of(SINCE));
    let told = shared_out(said, room, no_tools);
    let mut left = room;
    let fitting = newest(&told, &mut left, |piece| tokens_of(piece)).to_vec();
    let taken = if fitting.is_empty() { 0 } else { most - left };
    (fitting, taken)
}

/// What messages say in the person's own words: the short ones whole, so that a long one pushes none of them out.
fn shared_out(said: &[Arc<Stored>], mut room: u32, no_tools: bool) -> Vec<String> {
    let mut by_size: Vec<usize> = (0..said.len()).collect();
    by_size.sort_by_key(|place| own_words(&said[*place].message()).len());
    let mut told = vec![String::new(); said.len()];
    for (others, place) in (1..=by_size.len()).rev().zip(by_size) {
        let share = room / u32::try_from(others).unwrap_or(u32::MAX);
        told[place] = spoken(&said[place], share, no_tools);
        room = room.saturating_sub(tokens_of(&told[place]));
    }
    told
}

/// What a message says in the person's own words, in at most so many tokens, as long as its name fits.
fn spoken(stored: &Stored, tokens: u32, no_tools: bool) -> String {
    let (words, id) = (own_words(&stored.message()), stored.id);
    cut_within(tokens, chars_within(stored, tokens), |chars| match words.char_indices().nth(chars) {
        None => format!("[{id}] {words}"),
        Some((end, _)) => format!("[{id}] {}\n{}", &words[..end], cut_line(stored, no_tools)),
    })
}

/// The newest rules that fit where so much is taken already, and what all of that takes with its fence.
fn stated(rules: &[String], limits: KeepLimits, taken: u32) -> (&[String], u32) {
    let mut room = limits.found.saturating_sub(DRESS + taken);
    let stated = newest(rules, &mut room, |line| tokens_of(line));
    (stated, (limits.found - room).max(DRESS))
}

/// What a message costs as it came.
fn cost(stored: &Arc<Stored>) -> u32 {
    stored.measure.tokens
}

/// What is quoted or pinned, in so many tokens: messages with images as they came, in half of the room if others are to
/// be quoted, and the words of all others.
fn pins(pinned: &[Arc<Stored>], room: u32, no_tools: bool) -> (Vec<Arc<Stored>>, Vec<(MessageId, String)>) {
    let (seen, mut told): (Vec<_>, Vec<_>) = pinned.iter().cloned().partition(|stored| stored.message().brings_media());
    let shown = newest(&seen, &mut if told.is_empty() { room } else { room / 2 }, cost);
    told.extend(seen[..seen.len() - shown.len()].iter().cloned());
    told.sort_by_key(|stored| stored.id);
    let spent = shown.iter().map(cost).sum::<u32>();
    let words = quotes(&told, room.saturating_sub(spent), no_tools);
    let newest = told[told.len() - words.len()..].iter().map(|stored| stored.id);
    (shown.to_vec(), newest.zip(words).collect())
}

/// The words of what is pinned, in so many tokens: whole if all of it fits, or else a share of the room for each, or
/// for the newest if there are too many for that.
fn quotes(pinned: &[Arc<Stored>], room: u32, no_tools: bool) -> Vec<String> {
    let whole: Vec<String> = pinned.iter().map(|stored| quoted(stored, chars_within(stored, room), no_tools)).collect();
    let count = whole.len().min((room / PIN_LEAST) as usize);
    let fitting = newest(&whole, &mut room.clone(), |piece| tokens_of(piece));
    if fitting.len() >= count { fitting.to_vec() } else { shares(pinned, count, room, no_tools) }
}

/// The newest of what is pinned, so many, each cut to an equal share of the room; what small ones leave, larger ones
/// have.
fn shares(pinned: &[Arc<Stored>], count: usize, mut room: u32, no_tools: bool) -> Vec<String> {
    let newest = &pinned[pinned.len() - count..];
    let mut by_size: Vec<usize> = (0..count).collect();
    by_size.sort_by_key(|i| cost(&newest[*i]));
    let mut shown = vec![String::new(); count];
    for (done, i) in by_size.into_iter().enumerate() {
        let share = room / u32::try_from(count - done).unwrap_or(u32::MAX);
        shown[i] = cut_to(&newest[i], share, no_tools);
        room = room.saturating_sub(tokens_of(&shown[i]));
    }
    shown
}

/// A pinned message in at most so many tokens, as long as a heading fits.
fn cut_to(stored: &Stored, tokens: u32, no_tools: bool) -> String {
    cut_within(tokens, chars_within(stored, tokens), |chars| quoted(stored, chars, no_tools))
}

/// A text cut to so many tokens, or to nothing, by what it is with so many characters.
fn cut_within(tokens: u32, mut chars: usize, text: impl Fn(usize) -> String) -> String {
    loop {
        let piece = text(chars);
        let cost = tokens_of(&piece);
        if cost <= tokens || chars == 0 {
            return piece;
        }
        // A little less than in proportion, so that few tries are needed.
        chars = chars.min(piece.chars().count()) * tokens as usize / (cost as usize + 1) * 9 / 10;
    }
}

/// How many characters of a message are worth counting where so many tokens are left for it.
fn chars_within(stored: &Stored, tokens: u32) -> usize {
    if stored.measure.tokens <= tokens { usize::MAX } else { tokens as usize * TOKEN_CHARS }
}

/// The newest of some pieces that fit.
fn newest<'a, T>(all: &'a [T], room: &mut u32, cost: impl Fn(&T) -> u32) -> &'a [T] {
    let fits = |piece: &&T| {
        let rest = room.checked_sub(cost(piece));
        *room = rest.unwrap_or(*room);
        rest.is_some()
    };
    let count = all.iter().rev().take_while(fits).count();
    &all[all.len() - count..]
}

/// Rules with what the person said since, then what was said earlier, then pins, each in its fence; the last of them
/// says what is missing.
fn written([rules, since]: [&[String]; 2], [earlier, pins]: [&[String]; 2], missing: Option<&String>) -> String {
    let headed = |head: &str, lines: &[String]| (!lines.is_empty()).then(|| format!("{head}\n{}", lines.join("\n")));
    let own: Vec<String> = [headed(STATED, rules), headed(SINCE, since)].into_iter().flatten().collect();
    let all = [&own[..], earlier, pins];
    let last = all.iter().rposition(|pieces| !pieces.is_empty());
    let fences = all.into_iter().enumerate().filter(|(_, pieces)| !pieces.is_empty()).map(|(kind, pieces)| {
        let missing = missing.filter(|_| last == Some(kind));
        let text = pieces.iter().chain(missing).map(String::as_str).collect::<Vec<_>>().join("\n");
        match kind {
            0 => fence_as("kept", OF_THE_PERSON, "Kept", &text),
            1 => fence("earlier", "Said earlier in this conversation", &text),
            _ => fence("pinned", "Pinned by the person", &text),
        }
    });
    fences.collect::<Vec<_>>().join("\n")
}

/// What is said of rules and of others that do not fit.
fn missing_line([rules, others]: [usize; 2], no_tools: bool) -> Option<String> {
    let [rules, all] = [rules, rules + others].map(|count| count as u64);
    let of_them = if rules > 0 { format!(", {} of them rules", grouped(rules)) } else { String::new() };
    let how = if no_tools { "." } else { FOUND };
    (all > 0).then(|| format!("{} more do not fit here{of_them}{how}", grouped(all)))
}

/// Where a quoted or pinned message stands in such a block.
pub(crate) fn quoted_in(text: &str, stored: &Stored) -> Option<std::ops::Range<usize>> {
    let whole = quoted(stored, usize::MAX, false);
    if let Some(start) = text.find(&whole) {
        return Some(start..start + whole.len());
    }
    let start = text.find(&heading(stored.id, &stored.role, stored.at))?;
    let end = |line: String| Some(text[start..].rfind(&line)? + line.len());
    let end = [false, true].into_iter().find_map(|no_tools| end(cut_line(stored, no_tools)))?;
    Some(start..start + end)
}

fn cut_line(stored: &Stored, no_tools: bool) -> String {
    let id = stored.id;
    if no_tools {
        return format!("[cut: the rest of {id} does not fit here]");
    }
    format!("[cut: load_tool_history(id = \"h{}\", part = lines) reads the rest]", id.0)
}

/// A pinned message as the block shows it, up to so many characters.
fn quoted(stored: &Stored, most_chars: usize, no_tools: bool) -> String {
    let (message, id) = (stored.message(), stored.id);
    let why = if message.brings_media() { "does not fit here" } else { "is not shown here" };
    let text = message.told(|kind| format!("[{kind} of {id} {why}]"));
    let head = heading(stored.id, &stored.role, stored.at);
    match text.char_indices().nth(most_chars) {
        None => format!("{head}\n{text}"),
        Some((end, _)) => format!("{head}\n{}\n{}", &text[..end], cut_line(stored, no_tools)),
    }
}

#[cfg(test)]
mod tests;
