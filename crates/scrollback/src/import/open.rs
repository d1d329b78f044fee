//! A file, whatever it is: text in any encoding or a ZIP, of any format that is known.

use super::entries::{Fields, first_elements};
use super::{Format, Import, Others, parsed, text, zip};
use crate::error::{Error, Result};

/// What a file turns out to hold.
#[derive(Debug)]
pub enum Opened {
    /// Conversations of a format.
    Read(Format, Import),
    /// Something known that is no conversation: what it is, in words.
    Foreign(&'static str),
    /// No conversation; in words, what it is or what to do with it.
    Nothing(String),
    /// Something that is in no format that is known; see [`KNOWN`].
    Unknown,
}

/// What can be read, for whoever has something else.
pub const KNOWN: &str = "the format is not known. Conversations are read from the conversations.json of ChatGPT, Claude \
    or DeepSeek (or the ZIP it came in), from sessions of Claude Code and Codex, and from JSON with messages as OpenAI \
    writes them (“role” and “content”), which many programs export. Files of Gemini, Grok, Open WebUI and others are \
    not read";

/// Reads the bytes of a file: a text, or an archive from which at most `room` bytes are unpacked. A format that is not
/// named is guessed.
pub fn open(bytes: &[u8], format: Option<Format>, room: usize) -> Result<Opened> {
    open_among(bytes, format, room, &|_| None)
}

/// The same where other files are at hand that it may go on from.
pub fn open_among(bytes: &[u8], format: Option<Format>, room: usize, others: Others<'_>) -> Result<Opened> {
    if !zip::is_archive(bytes) {
        return opened(bytes, format, others);
    }
    let zip::Unpacked { conversations, others: beside } = zip::unpack(bytes, room)?;
    let (mut whole, mut read) = (Import::default(), None);
    for (name, unpacked) in conversations {
        let named = |what: &dyn std::fmt::Display| format!("{name}: {what}");
        match unpacked.and_then(|bytes| opened(&bytes, format, others).map_err(|error| named(&error))) {
            Ok(Opened::Read(format, import)) => {
                read = Some(format);
                whole.extend(import.within(&name));
            }
            Ok(Opened::Foreign(what)) => whole.remarks.push(named(&what)),
            Ok(Opened::Nothing(what)) => whole.remarks.push(named(&what)),
            Ok(Opened::Unknown) => whole.skipped.push(format!("{name} is in no format that is known")),
            Err(complaint) => whole.skipped.push(complaint),
        }
    }
    match (read, whole.skipped.first()) {
        (Some(format), _) => {
            let unread = |name: String| format!("{name} is not read: its name is not conversations….json");
            whole.remarks.extend(beside.into_iter().map(unread));
            Ok(Opened::Read(format, whole))
        }
        (None, Some(complaint)) => Err(Error::Invalid(complaint.clone())),
        (None, None) => Ok(Opened::Nothing(whole.remarks.first().cloned().unwrap_or_else(|| without(&beside)))),
    }
}

/// How many names are told of files that are not read.
const NAMED: usize = 3;

/// What is told of an archive that holds no conversations, but perhaps other JSON.
fn without(others: &[String]) -> String {
    let more = if others.len() > NAMED { ", …" } else { "" };
    let beside = if others.is_empty() {
        String::new()
    } else {
        format!(", but {}{more}", others[..others.len().min(NAMED)].join(", "))
    };
    format!("the ZIP holds no conversations.json{beside}: unpack it, and take the files that are in it")
}

fn opened(bytes: &[u8], format: Option<Format>, others: Others<'_>) -> Result<Opened> {
    let text::Text { text, lost } = text::read(bytes)?;
    let text = text.trim_start_matches('\u{feff}');
    let Some(format) = format.or_else(|| Format::guess(text)) else { return unknown(text) };
    let mut import = parsed(format, text, others);
    import.skipped.extend(lost);
    if import.conversations.is_empty() && import.skipped.is_empty() {
        return Ok(Opened::Nothing(import.refusal(format)));
    }
    import.or_refused(format).map(|import| Opened::Read(format, import))
}

/// What a text is that is in no known format.
fn unknown(text: &str) -> Result<Opened> {
    let told = |what: &str| Ok(Opened::Nothing(what.to_owned()));
    let begin = text.trim_start();
    if begin.is_empty() {
        return told("the file is empty");
    }
    if begin.starts_with('<') {
        return told("it is a web page: take the conversations.json that stands beside it in the export");
    }
    let broken = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).err();
    if let (Some(error), Some(_)) = (broken(text), broken(text.lines().next().unwrap_or_default())) {
        if !begin.starts_with(['{', '[']) {
            return told("it is no JSON: of an export take the conversations.json, not a table or a text");
        }
        return Err(Error::Invalid(format!("the file is no JSON, or was cut short: {error}")));
    }
    if serde_json::from_str::<[serde::de::IgnoredAny; 0]>(text).is_ok() {
        return told("it holds no conversations: its list is empty");
    }
    let fields = first_elements(text, 1).first().and_then(|first| Fields::of(first));
    if let Some(what) = fields.as_ref().and_then(foreign) {
        return Ok(Opened::Foreign(what));
    }
    if fields.is_some_and(|fields| fields.has("messages")) {
        return Ok(Opened::Nothing(
            "it has “messages”, but messages that have no “role”: of no format that is known".into(),
        ));
    }
    Ok(Opened::Unknown)
}

/// What stands beside the conversations in an export and is known.
fn foreign(fields: &Fields<'_>) -> Option<&'static str> {
    let has = |keys: &[&str]| keys.iter().all(|key| fields.has(key));
    if has(&["docs", "prompt_template"]) {
        Some("these are Claude's projects (prompts and documents): they are no conversations and are not imported")
    } else if has(&["conversations_memory"]) || has(&["project_memories"]) {
        Some("this is what Claude noted for all conversations (memories): it is no conversation and is not imported")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::zip::tests::archive_of;
    use super::*;

    const HI: &str = r#"[{"mapping":{"a":{"message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["hi"]}}}}}]"#;

    fn read(bytes: &[u8]) -> Import {
        match open(bytes, None, 1 << 20).unwrap() {
            Opened::Read(_, import) => import,
            other @ (Opened::Foreign(_) | Opened::Nothing(_) | Opened::Unknown) => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn nothing(text: &str, told: &str) {
        match open(text.as_bytes(), None, 0).unwrap() {
            Opened::Nothing(why) => assert!(why.contains(told), "{why}"),
            other @ (Opened::Read(..) | Opened::Foreign(_) | Opened::Unknown) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_zip_is_read_whole_and_complaints_name_the_file() {
        let broken = HI.replace("[{\"mapping", "[7,{\"mapping");
        let files = [
            ("user.json", &b"{}"[..]),
            ("conversations-000.json", HI.as_bytes()),
            ("x/conversations-001.json", broken.as_bytes()),
        ];
        let import = read(&archive_of(&files));
        assert_eq!(import.conversations.len(), 2);
        let other = archive_of(&[("a.json", b"{}")]);
        assert!(
            matches!(open(&other, None, 9).unwrap(), Opened::Nothing(why) if why.contains("no conversations.json, but a.json"))
        );
        assert_eq!(import.remarks, ["user.json is not read: its name is not conversations….json"]);
        assert_eq!(import.skipped, ["x/conversations-001.json: entry 1 is no conversation: it has no “mapping”"]);
    }

    #[test]
    fn a_damaged_file_in_a_zip_does_not_cost_the_others() {
        let mut archive =
            archive_of(&[("conversations-000.json", b"[1, 2, 3]"), ("conversations-001.json", HI.as_bytes())]);
        // The first byte that is packed.
        archive[30 + "conversations-000.json".len()] ^= 0xff;
        let import = read(&archive);
        assert_eq!(import.conversations.len(), 1);
        assert!(import.skipped[0].starts_with("conversations-000.json in the ZIP is damaged"), "{:?}", import.skipped);
        let empty = archive_of(&[("conversations.json", b"[]")]);
        let told = "conversations.json: it holds no conversations: its list is empty";
        assert!(matches!(open(&empty, None, 9).unwrap(), Opened::Nothing(why) if why == told));
    }

    #[test]
    fn windows_text_and_bad_bytes_are_read() {
        let wide: Vec<u8> = format!("\u{feff}{HI}").encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(read(&wide).skipped.is_empty());
        let mut bad = HI.as_bytes().to_vec();
        bad[HI.find("hi").unwrap()] = 0xE9;
        let import = read(&bad);
        assert!(import.conversations[0].messages[0].0.get().contains("\u{fffd}i"), "{import:?}");
        assert!(import.skipped[0].starts_with("bytes that are no text, from line 1 on; 1 × "), "{:?}", import.skipped);
    }

    #[test]
    fn what_holds_no_conversation_is_told_apart() {
        nothing(" \n", "empty");
        nothing("[ ]", "its list is empty");
        nothing("\n<html><body></body></html>", "take the conversations.json");
        nothing("Conversation,Time,Author\nHarbour,Monday,Ann", "take the conversations.json");
        assert!(matches!(open(b"{\"a\":1}", None, 0).unwrap(), Opened::Unknown));
        nothing("{\"type\":\"summary\",\"summary\":\"s\",\"leafUuid\":\"u\"}", "no conversation found");
        nothing("{\"name\":\"Mum\",\"messages\":[{\"id\":1,\"type\":\"message\",\"text\":\"Dinner?\"}]}", "no “role”");
        let projects = r#"[{"uuid":"p","name":"Boat","prompt_template":"","docs":[]}]"#;
        assert!(
            matches!(open(projects.as_bytes(), None, 0).unwrap(), Opened::Foreign(what) if what.contains("projects"))
        );
        let memories = r#"[{"conversations_memory":"likes tea","account_uuid":"a"}]"#;
        assert!(
            matches!(open(memories.as_bytes(), None, 0).unwrap(), Opened::Foreign(what) if what.contains("memories"))
        );
        assert!(open(b"[{\"mapp", None, 0).unwrap_err().to_string().contains("cut short"));
    }
}
