//! OpenAI messages in every shape files keep them: conversations a line, arrays of messages, one message a line.
//!
//! Messages keep their bytes. Our own export is such a file, with a `scrollback` object beside `messages`.

use serde_json::value::RawValue;

use super::entries::{Entries, Entry, Fields, elements, lines};
use super::{Conversation, Import};
use crate::ids::At;

pub(super) fn read(text: &str) -> Import {
    let entries = entries(text);
    let mut reading = Import { conversations: Vec::new(), skipped: entries.skipped };
    let mut loose = Vec::new();
    for entry in &entries.read {
        match read_entry(entry) {
            Ok(Read::Conversation(conversation)) => reading.conversations.push(conversation),
            Ok(Read::Message) => loose.push((entry.raw.to_owned(), None)),
            Err(complaint) => reading.skipped.push(complaint),
        }
    }
    if !loose.is_empty() {
        reading.conversations.push(Conversation { declared: None, title: None, model: None, messages: loose });
    }
    reading
}

/// A text that is one JSON value, or that has no line which is one, is read as a whole; any other line by line.
fn entries(text: &str) -> Entries<'_> {
    let whole = elements(text);
    if whole.skipped.is_empty() {
        return whole;
    }
    let lines = lines(text);
    if lines.read.is_empty() && !whole.read.is_empty() { whole } else { lines }
}

/// What an entry turns out to be.
enum Read {
    Conversation(Conversation),
    /// One message of the conversation that the whole file is.
    Message,
}

fn read_entry(entry: &Entry<'_>) -> Result<Read, String> {
    if let Ok(messages) = serde_json::from_str::<Vec<&RawValue>>(entry.raw.get()) {
        return conversation(entry, &messages, None).map(Read::Conversation);
    }
    let fields = entry.fields().ok_or_else(|| entry.complaint("is neither an object nor an array"))?;
    if fields.has("messages") {
        let messages = fields.array("messages").ok_or_else(|| entry.complaint("has “messages” that are no array"))?;
        return conversation(entry, &messages, Some(&fields)).map(Read::Conversation);
    }
    if fields.has("role") || fields.has("type") {
        return Ok(Read::Message);
    }
    Err(entry.complaint("has neither “messages” nor a “role”"))
}

fn conversation(
    entry: &Entry<'_>,
    messages: &[&RawValue],
    fields: Option<&Fields<'_>>,
) -> Result<Conversation, String> {
    if messages.is_empty() {
        return Err(entry.complaint("has no messages"));
    }
    let ours = fields.and_then(|fields| fields.object("scrollback"));
    let text = |fields: Option<&Fields<'_>>, key: &str| fields.and_then(|fields| fields.text(key));
    let id = || ["conversation_id", "session_id", "id"].into_iter().find_map(|key| text(fields, key));
    let times = ours.as_ref().and_then(|ours| ours.array("times")).unwrap_or_default();
    let time =
        |index: usize| times.get(index).and_then(|raw| At::parse(&serde_json::from_str::<String>(raw.get()).ok()?));
    Ok(Conversation {
        declared: text(ours.as_ref(), "declared").or_else(id),
        title: text(ours.as_ref(), "title").or_else(|| text(fields, "title")),
        model: text(fields, "model"),
        messages: messages.iter().enumerate().map(|(index, raw)| ((*raw).to_owned(), time(index))).collect(),
    })
}

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
                "line 4 has no messages",
                "line 5 has neither “messages” nor a “role”",
            ],
        );
    }

    #[test]
    fn a_long_array_that_was_cut_is_read_as_far_as_it_goes() {
        let import = read("[\n {\n  \"role\": \"user\"\n },\n {\n  \"ro");
        assert_eq!((import.conversations[0].messages.len(), import.skipped.len()), (1, 1));
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
