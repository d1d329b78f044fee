//! OpenAI messages in every shape files keep them: conversations a line, arrays of messages, one message a line.
//!
//! Messages keep their bytes. Our own export is such a file, with a `scrollback` object beside `messages`.

use serde_json::value::RawValue;

use super::entries::{Entries, Entry, Fields, elements, lines, owned};
use super::{Conversation, Import, Timed, ours};
use crate::ids::At;

pub(super) fn read(text: &str) -> Import {
    let entries = entries(text);
    let mut reading = Import { skipped: entries.skipped, ..Import::default() };
    let mut loose = Vec::new();
    for entry in &entries.read {
        match read_entry(entry) {
            Ok(Read::Conversation(conversation, complaint)) => {
                reading.conversations.push(*conversation);
                reading.skipped.extend(complaint);
            }
            Ok(Read::Message) => {
                loose.push((owned(entry.raw), Fields::of(entry.raw).and_then(|fields| time(&fields))));
            }
            Ok(Read::Nothing) => reading.remarks.push(entry.complaint("has no messages")),
            Err(complaint) => reading.skipped.push(complaint),
        }
    }
    if !loose.is_empty() {
        reading.conversations.push(Conversation { messages: loose, ..Conversation::default() });
    }
    reading
}

/// A text that is one JSON value is read as a whole; one that is damaged as well, if that brings back more of it than
/// its lines do.
fn entries(text: &str) -> Entries<'_> {
    let whole = elements(text);
    if whole.skipped.is_empty() {
        return whole;
    }
    let lines = lines(text);
    let bytes = |entries: &Entries<'_>| entries.read.iter().map(|entry| entry.raw.get().len()).sum::<usize>();
    if bytes(&whole) > bytes(&lines) { whole } else { lines }
}

/// What an entry turns out to be.
enum Read {
    /// A conversation, and what of it could not be understood.
    Conversation(Box<Conversation>, Option<String>),
    /// One message of the conversation that the whole file is.
    Message,
    /// A conversation in which nothing was said.
    Nothing,
}

/// Types of items that have no role. Those that end in `_call` or `_output` are known as well.
const ITEMS: [&str; 5] = ["reasoning", "item_reference", "compaction", "additional_tools", "configuration_update"];
/// Where programs write when something was said.
const TIMES: [&str; 4] = ["timestamp", "created_at", "create_time", "created"];

/// Whether it is a message or an item as OpenAI writes them: other programs have “messages”, too.
pub(super) fn is_message(raw: &RawValue) -> bool {
    let Some(fields) = Fields::of(raw) else { return false };
    let is_item = |kind: String| ITEMS.contains(&&*kind) || kind.ends_with("_call") || kind.ends_with("_output");
    fields.has("role") || fields.has("call_id") || fields.text("type").is_some_and(is_item)
}

/// Whether a conversation has a message that is one, or none at all. In our own export there may be anything.
pub(super) fn is_spoken(fields: &Fields<'_>) -> bool {
    let messages = fields.array("messages").unwrap_or_default();
    fields.has("scrollback") || messages.is_empty() || messages.iter().any(|raw| is_message(raw))
}

fn read_entry(entry: &Entry<'_>) -> Result<Read, String> {
    if let Ok(messages) = serde_json::from_str::<Vec<&RawValue>>(entry.raw.get()) {
        return conversation(entry, &messages, None);
    }
    let fields = entry.fields().ok_or_else(|| entry.complaint("is neither an object nor an array"))?;
    if fields.has("messages") {
        let messages = fields.array("messages").ok_or_else(|| entry.complaint("has “messages” that are no array"))?;
        return conversation(entry, &messages, Some(&fields));
    }
    if is_message(entry.raw) {
        return Ok(Read::Message);
    }
    Err(entry.complaint("has neither “messages” nor a “role”"))
}

fn conversation(entry: &Entry<'_>, messages: &[&RawValue], fields: Option<&Fields<'_>>) -> Result<Read, String> {
    let ours = fields.and_then(|fields| fields.object("scrollback"));
    if messages.is_empty() {
        return Ok(Read::Nothing);
    }
    if ours.is_none() && !messages.iter().any(|raw| is_message(raw)) {
        return Err(entry.complaint("is a conversation whose messages have no “role”"));
    }
    let text = |fields: Option<&Fields<'_>>, key: &str| fields.and_then(|fields| fields.text(key));
    let id = || ["conversation_id", "session_id", "id"].into_iter().find_map(|key| text(fields, key));
    let mut conversation = Conversation {
        declared: text(ours.as_ref(), "declared").or_else(id),
        title: text(ours.as_ref(), "title").or_else(|| text(fields, "title")),
        model: text(fields, "model"),
        ..Conversation::default()
    };
    let whole = ours.as_ref().and_then(|ours| ours::read(messages, ours));
    let is_lost = whole.is_none() && ours.as_ref().is_some_and(|ours| ours.has("places"));
    let complaint =
        is_lost.then(|| entry.complaint("has a “scrollback” object that cannot be read; only “messages” was"));
    match whole {
        Some((messages, places)) => (conversation.messages, conversation.places) = (messages, Some(places)),
        None => conversation.messages = timed(messages, fields, ours.as_ref()),
    }
    Ok(Read::Conversation(Box::new(conversation), complaint))
}

/// Messages and when each was said: as our export tells, as the message tells itself, and the first as the conversation
/// does.
fn timed(messages: &[&RawValue], fields: Option<&Fields<'_>>, ours: Option<&Fields<'_>>) -> Vec<Timed> {
    let times = ours.and_then(|ours| ours.array("times")).unwrap_or_default();
    let told = |index: usize| times.get(index).and_then(|raw| moment(raw));
    let began = |index: usize| fields.filter(|_| index == 0).and_then(time);
    let when = |index: usize, raw: &RawValue| told(index).or_else(|| time(&Fields::of(raw)?)).or_else(|| began(index));
    messages.iter().enumerate().map(|(index, raw)| (owned(raw), when(index, raw))).collect()
}

/// When a message or a conversation says that it was said.
fn time(fields: &Fields<'_>) -> Option<At> {
    TIMES.iter().find_map(|key| moment(fields.raw(key)?))
}

/// A time as programs write it: RFC 3339, UTC where it names no zone, or seconds, thousandths or millionths since 1970.
fn moment(raw: &RawValue) -> Option<At> {
    if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
        return ["", "Z", "T00:00:00Z"].iter().find_map(|rest| At::parse(&format!("{text}{rest}")));
    }
    let number = serde_json::from_str::<f64>(raw.get()).ok().filter(|number| *number > 0.0)?;
    let unit = [1.0, 1e3, 1e6].into_iter().find(|unit| number / unit < YEAR_3000)?;
    Some(At::from_seconds(number / unit))
}

/// In seconds: what is more is counted in smaller units.
const YEAR_3000: f64 = 32_503_680_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, conversations: &[&[&str]], skipped: &[&str]) {
        let import = read(text);
        let raws = |one: &Conversation| one.messages.iter().map(|(raw, _)| raw.get().to_owned()).collect::<Vec<_>>();
        assert_eq!(import.conversations.iter().map(raws).collect::<Vec<_>>(), conversations, "{text}");
        assert_eq!(import.skipped, skipped, "{text}");
    }

    const HI: &str = r#"{"role" : "user", "content":"hi"}"#;
    const YES: &str = r#"{"content":"yes","role":"assistant"}"#;

    #[test]
    fn every_shape_keeps_its_bytes() {
        check(&format!("{{\"messages\":[{HI},{YES}]}}\n[{HI}]"), &[&[HI, YES], &[HI]], &[]);
        check(&format!("{HI}\n\n{YES}\n"), &[&[HI, YES]], &[]);
        check(&format!("[{HI},\n{YES}]"), &[&[HI, YES]], &[]);
        check(&format!("[[{HI}],{{\"messages\":[{YES}]}}]"), &[&[HI], &[YES]], &[]);
        check(&format!("{{\n\"messages\": [\n{HI}\n]\n}}"), &[&[HI]], &[]);
        check(HI, &[&[HI]], &[]);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        check(
            &format!("{HI}\n{{\"messages\":7}}\n3\n{{\"messages\":[]}}\n{{\"a\":1}}\n{{\"role\":"),
            &[&[HI]],
            &[
                "line 6 is cut off",
                "line 2 has “messages” that are no array",
                "line 3 is neither an object nor an array",
                "line 5 has neither “messages” nor a “role”",
            ],
        );
    }

    #[test]
    fn a_long_array_that_was_cut_is_read_as_far_as_it_goes() {
        let import = read("[\n {\n  \"role\": \"user\"\n },\n {\n  \"ro");
        assert_eq!((import.conversations[0].messages.len(), import.skipped.len()), (1, 1));
        for tail in ["", "\n]]", "\n];"] {
            let import = read(&format!("[\n{HI},\n{HI},\n{HI}{tail}"));
            assert_eq!((import.conversations[0].messages.len(), import.skipped.len()), (3, 1), "{tail:?}");
        }
    }

    #[test]
    fn messages_of_other_programs_are_refused() {
        let said = r#"{"messages":[{"id":1,"type":"message","from":"Mum","text":"Dinner?"}]}"#;
        check(
            &format!("{HI}\n{said}\n{{\"type\":\"header\"}}"),
            &[&[HI]],
            &["line 2 is a conversation whose messages have no “role”", "line 3 has neither “messages” nor a “role”"],
        );
        let call = r#"{"type":"function_call_output","output":"9"}"#;
        check(&format!("[{call}]\n{call}"), &[&[call], &[call]], &[]);
    }

    #[test]
    fn messages_and_conversations_tell_when_they_were_said() {
        let times = |text: &str| {
            let import = read(text);
            let times = import.conversations[0].messages.iter().map(|(_, at)| at.map(|at| at.to_string()));
            times.map(Option::unwrap_or_default).collect::<Vec<_>>().join(" ")
        };
        let said = |about: &str| format!(r#"{{"role":"user","content":"hi"{about}}}"#);
        let [early, late] = ["2023-05-05T10:00:00Z", "2023-05-05T10:03:20Z"];
        let seconds = said(",\"timestamp\":1683281000");
        for told in
            [r#","created_at":"2023-05-05T10:00:00Z""#, ",\"create_time\":1683280800", ",\"created\":1683280800000"]
        {
            assert_eq!(times(&format!("{{\"messages\":[{},{seconds}]}}", said(told))), format!("{early} {late}"));
            assert_eq!(times(&format!("{{\"messages\":[{},{seconds}]{told}}}", said(""))), format!("{early} {late}"));
            assert_eq!(times(&format!("{}\n{seconds}", said(told))), format!("{early} {late}"));
        }
        for told in ["2023-05-05T10:00:00", "2023-05-05 10:00:00", "2023-05-05T12:00:00+02:00"] {
            assert_eq!(times(&said(&format!(",\"timestamp\":\"{told}\""))), early, "{told}");
        }
        assert_eq!(times(&said(",\"timestamp\":\"2023-05-05\"")), "2023-05-05T00:00:00Z");
        assert_eq!(times(&said(",\"timestamp\":\"yesterday\",\"created\":-4")), "");
    }

    #[test]
    fn ids_titles_and_times_are_taken() {
        let import = read(
            r#"{"id":"i","title":"t","model":"m","messages":[1,2,3],"scrollback":{"declared":null,"times":["1970-01-01T00:00:00.000005Z",null,"1970-01-01T00:00:00.000007Z"]}}"#,
        );
        let [one] = &import.conversations[..] else { panic!("{import:?}") };
        assert_eq!(
            (one.declared.as_deref(), one.title.as_deref(), one.model.as_deref()),
            (Some("i"), Some("t"), Some("m"))
        );
        assert_eq!(one.messages.iter().map(|(_, at)| *at).collect::<Vec<_>>(), [Some(At(5)), None, Some(At(7))]);
    }
}
