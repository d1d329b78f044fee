//! The summary without a model: what was summed up before, and a line for each message, quoted by its most telling
//! sentences.
//!
//! Where room is short, lines become shorter; then those that tell least are left out, the oldest first. Nothing is
//! invented, and the same messages always give the same text.

use super::super::sentences::{brief, sentences, shortened};
use super::cues::kind_of;
use super::facts::facts;
use super::talk::told;
use crate::ids::MessageId;
use crate::store::Stored;
use crate::window::tokens_of;

/// How long a message's line may be, at first and in the end.
const LINE_CHARS: [usize; 6] = [420, 280, 180, 120, 80, 48];
/// A line of the summary before that is longer gives way sentence by sentence.
const LONG_CHARS: usize = 240;
/// How much of one sentence is kept.
const SENTENCE_CHARS: usize = 400;
/// What a message says that has no words.
const NO_WORDS: &str = "(no words)";

/// A text of at most so many tokens that stands for messages and what was summed up before them.
pub(super) fn digest(before: Option<&str>, messages: &[Stored], most_tokens: u32) -> String {
    let before = before.map(str::trim).unwrap_or_default();
    // What is new has at least half of the room, and more where what was before leaves it.
    let free = most_tokens.saturating_sub(if before.is_empty() { 0 } else { tokens_of(before) });
    let new = told_within(messages, free.max(most_tokens / 2));
    let left = most_tokens.saturating_sub(tokens_of(&new));
    let old = if tokens_of(before) <= left { before.to_owned() } else { trimmed(parted(before), left) };
    let whole = [old, new].into_iter().filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join("\n");
    if tokens_of(&whole) <= most_tokens { whole } else { trimmed(lines_of(&whole), most_tokens) }
}

/// A line for each message, in at most so many tokens.
fn told_within(messages: &[Stored], most_tokens: u32) -> String {
    let mut texts: Vec<String> = messages.iter().map(|stored| told(&stored.message())).collect();
    for most_chars in LINE_CHARS {
        texts = texts.iter().map(|text| brief(text, most_chars)).collect();
        let lines: Vec<String> = messages.iter().zip(&texts).map(|(stored, text)| line(stored, text)).collect();
        let whole = lines.join("\n");
        if tokens_of(&whole) <= most_tokens {
            return whole;
        }
    }
    let lines = messages.iter().zip(&texts).map(|(stored, text)| line(stored, text));
    trimmed(lines.collect(), most_tokens)
}

fn line(stored: &Stored, text: &str) -> String {
    let role: String = stored.role.as_str().chars().filter(|c| !c.is_control()).take(20).collect();
    format!("- [{}] {role}: {}", stored.id, if text.is_empty() { NO_WORDS } else { text })
}

/// The message that a line of such a text tells.
pub(crate) fn told_in(line: &str) -> Option<MessageId> {
    line.strip_prefix("- [")?.split_once("] ")?.0.strip_prefix('m')?.parse().ok().map(MessageId)
}

fn lines_of(text: &str) -> Vec<String> {
    text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

/// The lines of a text, the long ones sentence by sentence. Each goes on telling which message it is of, so that it is
/// known what to leave out with that message.
fn parted(text: &str) -> Vec<String> {
    let part = |line: String| {
        if line.chars().count() <= LONG_CHARS {
            return vec![line];
        }
        let head = told_in(&line).map(|id| format!("- [{id}] ")).unwrap_or_default();
        let headed = |piece: String| if told_in(&piece).is_some() { piece } else { format!("{head}{piece}") };
        sentences(&line).iter().map(|sentence| headed(shortened(sentence, SENTENCE_CHARS))).collect()
    };
    lines_of(text).into_iter().flat_map(part).collect()
}

/// As many lines as have room, in their order: those that tell least go first, and of those the oldest.
fn trimmed(lines: Vec<String>, most_tokens: u32) -> String {
    let costs: Vec<u32> = lines.iter().map(|line| tokens_of(line)).collect();
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_cached_key(|&at| (telling(&lines[at]), at));
    let mut cost: u64 = costs.iter().copied().map(u64::from).sum();
    let mut gone = vec![false; lines.len()];
    let mut leaving = order.into_iter();
    while cost > u64::from(most_tokens) {
        let Some(at) = leaving.next() else { break };
        gone[at] = true;
        cost -= u64::from(costs[at]);
    }
    without_bare_headings(lines.into_iter().zip(gone).filter(|(_, gone)| !gone).map(|(line, _)| line).collect())
}

/// What a line is worth: what binds what follows most, then what names something, then the rest.
fn telling(line: &str) -> u8 {
    match kind_of(line) {
        Some(_) => 3,
        None if line.starts_with('#') => 2,
        None => u8::from(!facts(line).is_empty()),
    }
}

/// Lines without headings that have nothing under them any more.
fn without_bare_headings(lines: Vec<String>) -> String {
    let mut kept: Vec<String> = Vec::new();
    for line in lines.into_iter().rev() {
        let followed = kept.last().is_some_and(|next| !next.starts_with('#'));
        if followed || !line.starts_with('#') {
            kept.push(line);
        }
    }
    kept.reverse();
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{said, scraps};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_are_quoted_under_what_was_before() {
        let messages = said(&[("user", "Who mends the gauge?"), ("assistant", "Ann, on Friday."), ("user", "")]);
        let text = digest(Some("## So far\nThe gauge failed [m3].\n"), &messages, 200);
        let expected = "## So far\nThe gauge failed [m3].\n- [m11] user: Who mends the gauge?\n- [m12] assistant: Ann, on Friday.\n- [m13] user: (no words)";
        assert_eq!(text, expected);
        assert_eq!(digest(None, &[], 200), "");
        let told: Vec<Option<u32>> = text.lines().map(|line| told_in(line).map(|id| id.0)).collect();
        assert_eq!(told, [None, None, Some(11), Some(12), Some(13)]);
    }

    #[test]
    fn every_sentence_of_a_long_line_tells_which_message_it_is_of() {
        let long = format!("- [m6] user: Look at the boat house. {}The code is QX-7731.", "It has a door. ".repeat(20));
        let lines = parted(&format!("## So far\n{long}\nThe gauge failed."));
        let of: Vec<Option<u32>> = lines.iter().map(|line| told_in(line).map(|id| id.0)).collect();
        assert!(of.len() > 4 && of[1..of.len() - 1].iter().all(|id| *id == Some(6)), "{lines:?}");
        assert_eq!((of[0], of[of.len() - 1]), (None, None));
        assert_eq!(lines[lines.len() - 2], "- [m6] The code is QX-7731.");
    }

    #[test]
    fn what_tells_least_goes_first() {
        let idle = |day: usize| format!("- it was a nice morning and nothing else came up ({day})\n");
        let idle = (0..40).map(idle).collect::<Vec<_>>().concat();
        let rule = "## Rules\n- The gauge must never be asked more than once a minute [m2].\n";
        let before = format!("## Talk\n{idle}{rule}");
        let messages = said(&[("user", "Who mends the gauge?")]);
        let text = digest(Some(&before), &messages, 120);
        assert!(tokens_of(&text) <= 120 && text.contains("## Rules\n- The gauge must never"), "{text}");
        assert!(text.contains("(39)") && !text.contains("(0)") && text.ends_with("Who mends the gauge?"), "{text}");
        let endless = "我们必须在周五之前修好潮位计。今天天气不错。".repeat(200);
        let text = digest(Some(&endless), &messages, 120);
        assert!(tokens_of(&text) <= 120 && text.contains("必须在周五"), "{text}");
    }

    #[test]
    fn summing_up_again_and_again_stays_within_bounds() {
        let mut text = String::new();
        for round in 0..60 {
            let said_now = format!("In round {round} the gauge read {round} cm and Ann noted it in tides_{round}.csv.");
            text = digest(Some(&text), &said(&[("user", &said_now), ("assistant", "Noted.")]), 300);
            assert!(tokens_of(&text) <= 300 && text.contains(&format!("round {round} ")), "{text}");
        }
        assert!(text.contains("tides_55.csv"), "{text}");
    }

    proptest! {
        #[test]
        fn it_is_never_longer_than_it_may_be(texts in prop::collection::vec(scraps(), 0..8), before in scraps(), most in 0..400_u32) {
            let all: Vec<(&str, &str)> = texts.iter().map(|text| ("user", text.as_str())).collect();
            let messages = said(&all);
            let text = digest(Some(&before), &messages, most);
            prop_assert!(text.is_empty() || tokens_of(&text) <= most, "{}", text);
            prop_assert_eq!(&text, &digest(Some(&before), &messages, most));
        }
    }

    #[test]
    fn large_messages_end_soon() {
        let huge = "High water was at nine. 高潮在九点。\n".repeat(10_000);
        let messages = said(&[("user", huge.as_str()); 5]);
        assert!(tokens_of(&digest(Some(&huge), &messages, 500)) <= 500);
    }
}
