//! The messages that a summary names, as in `[m12]` and `[m12, m15]`: those that do not exist are taken out.

use crate::ids::MessageId;

/// Brackets that hold more are not ids.
const IDS_BYTES: usize = 200;

/// A text in which brackets name only messages that are known.
pub(super) fn with_known(text: &str, known: impl Fn(MessageId) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut in_code) = (text, false);
    while let Some(at) = rest.find('[') {
        let (before, bracket) = rest.split_at(at);
        out += before;
        let end = bracket.bytes().take(IDS_BYTES).position(|byte| byte == b']').map(|end| end + 1);
        let inside = end.map(|end| &bracket[1..end - 1]).filter(|inside| begins_with_id(inside));
        // In `list[m9]` the bracket is not ours.
        in_code ^= before.matches('`').count() % 2 == 1;
        let ours = inside.filter(|_| !in_code);
        let Some((inside, end)) = ours.zip(end) else {
            out.push('[');
            rest = &bracket[1..];
            continue;
        };
        push_known(&mut out, inside, &known);
        rest = &bracket[end..];
    }
    out + rest
}

fn begins_with_id(inside: &str) -> bool {
    let mut chars = inside.trim_start().chars();
    chars.next().is_some_and(|c| ['m', 'M'].contains(&c)) && chars.next().is_some_and(|c| c.is_ascii_digit())
}

/// The ids in a bracket as they stand if all are known, otherwise those that are.
fn push_known(out: &mut String, inside: &str, known: impl Fn(MessageId) -> bool) {
    let words = inside.split(|c: char| !c.is_alphanumeric()).filter(|word| begins_with_id(word));
    let ids: Vec<Option<MessageId>> = words.map(|word| word[1..].parse().ok().map(MessageId)).collect();
    let good: Vec<String> = ids.iter().flatten().filter(|id| known(**id)).map(MessageId::to_string).collect();
    if good.len() == ids.len() {
        out.extend(["[", inside, "]"]);
    } else if good.is_empty() {
        out.truncate(out.trim_end_matches(' ').len());
    } else {
        out.extend(["[", &good.join(", "), "]"]);
    }
}
