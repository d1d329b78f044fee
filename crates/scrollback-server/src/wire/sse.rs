//! Splits a byte stream into server-sent events. Works on bytes, so a character cut in two between reads does no harm,
//! and every event can be passed on exactly as it came.

use bytes::{Bytes, BytesMut};
use serde_json::Value;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The event as it came, its end included.
    pub(crate) raw: Bytes,
    /// Its data, lines joined; `None` for comments and the like.
    pub(crate) data: Option<Vec<u8>>,
}

/// An event of ours, or one that was changed, named as its value is.
pub(crate) fn event_of(value: &Value) -> Bytes {
    Bytes::from(format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or("message")))
}

/// Takes bytes as they come and gives events as they are complete.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    buffer: BytesMut,
    /// Where the line begins that is not whole yet.
    line: usize,
    /// How much of the buffer was looked at: a picture is one line, and comes in very many pieces.
    scanned: usize,
}

impl Splitter {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole event.
    pub(crate) fn next(&mut self) -> Option<Event> {
        while let Some((rest, end)) = line_at(&self.buffer, self.scanned) {
            let blank = rest.is_empty() && self.scanned == self.line;
            (self.line, self.scanned) = (end, end);
            if blank {
                (self.line, self.scanned) = (0, 0);
                return Some(event(self.buffer.split_to(end).freeze()));
            }
        }
        // A CR at the very end is looked at again.
        self.scanned = self.buffer.len() - usize::from(self.buffer.ends_with(b"\r"));
        None
    }

    /// What came after the last whole event.
    pub(crate) fn rest(self) -> Bytes {
        self.buffer.freeze()
    }
}

/// The line that begins at `start`, and where the next one begins; `None` if it is not complete. Lines end with LF, CR
/// LF or CR; a CR at the very end may be half of a CR LF.
fn line_at(buffer: &[u8], start: usize) -> Option<(&[u8], usize)> {
    let length = buffer[start..].iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
    let end = start + length;
    let after = match (buffer[end], buffer.get(end + 1)) {
        (b'\r', None) => return None,
        (b'\r', Some(b'\n')) => end + 2,
        _ => end + 1,
    };
    Some((&buffer[start..end], after))
}

fn event(raw: Bytes) -> Event {
    let text = raw.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&raw);
    let mut data: Option<Vec<u8>> = None;
    let mut at = 0;
    // The last line may end with a lone CR, which line_at would wait upon.
    while at < text.len() {
        let (line, next) = line_at(text, at).unwrap_or((text[at..].trim_ascii_end(), text.len()));
        at = next;
        let Some(value) = line.strip_prefix(b"data") else { continue };
        let value = match value.strip_prefix(b":") {
            Some(value) => value.strip_prefix(b" ").unwrap_or(value),
            None if value.is_empty() => value,
            None => continue,
        };
        match &mut data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => data = Some(value.to_vec()),
        }
    }
    Event { raw, data }
}

/// An event of ours.
pub(crate) fn written(data: &str) -> Bytes {
    Bytes::from(format!("data: {data}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&[u8]]) -> (Vec<Event>, Bytes) {
        let (mut splitter, mut events) = (Splitter::default(), Vec::new());
        for piece in pieces {
            splitter.push(piece);
            while let Some(event) = splitter.next() {
                events.push(event);
            }
        }
        (events, splitter.rest())
    }

    /// Everything a stream may hold, in every line ending.
    const STREAM: &str = "\u{feff}data: {\"a\":\"潮位\"}\n\n: keep-alive\r\n\r\nevent: x\ndata: one\ndata:two\n\ndata\r\rid: 7\nretry: 9\n\n\
                          data: [DONE]\n\ndatum: no\n\ndata: tail without an end";

    #[test]
    fn a_split_at_every_byte_gives_the_same_events() {
        let (whole, rest) = events(&[STREAM.as_bytes()]);
        let told: Vec<_> = whole.iter().map(|event| event.data.as_deref().map(String::from_utf8_lossy)).collect();
        let expected = [Some("{\"a\":\"潮位\"}"), None, Some("one\ntwo"), Some(""), None, Some("[DONE]"), None];
        assert_eq!(told, expected.map(|data| data.map(Into::into)));
        assert_eq!(&rest[..], b"data: tail without an end");
        let joined: Vec<u8> = whole.iter().flat_map(|event| event.raw.to_vec()).chain(rest.to_vec()).collect();
        assert_eq!(joined, STREAM.as_bytes());
        for first in 0..=STREAM.len() {
            let (head, tail) = STREAM.as_bytes().split_at(first);
            assert_eq!(events(&[head, tail]), (whole.clone(), rest.clone()), "split at {first}");
            let middle = first + (STREAM.len() - first) / 2;
            let pieces = [head, &STREAM.as_bytes()[first..middle], &STREAM.as_bytes()[middle..]];
            assert_eq!(events(&pieces), (whole.clone(), rest.clone()), "split at {first} and {middle}");
        }
        let bytes: Vec<&[u8]> = STREAM.as_bytes().chunks(1).collect();
        assert_eq!(events(&bytes), (whole, rest));
    }

    #[test]
    fn no_byte_of_a_long_line_is_looked_at_twice() {
        let mut splitter = Splitter::default();
        for pieces in 1..=3 {
            splitter.push(b"data: AAAA");
            assert_eq!((splitter.next(), splitter.scanned), (None, pieces * 10));
        }
        splitter.push(b"\r");
        assert_eq!((splitter.next(), splitter.scanned), (None, 30), "half of a CR LF");
        splitter.push(b"\n\n");
        assert_eq!(splitter.next().map(|event| event.raw.len()), Some(33));
        assert_eq!((splitter.line, splitter.scanned), (0, 0));
    }

    #[test]
    fn bytes_that_are_no_text_pass() {
        let (whole, _) = events(&[b"data: \xff\xfe\n\n"]);
        assert_eq!(whole[0].data.as_deref(), Some(&b"\xff\xfe"[..]));
        assert_eq!(&whole[0].raw[..], b"data: \xff\xfe\n\n");
    }
}
