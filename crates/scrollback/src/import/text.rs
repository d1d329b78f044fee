//! A file's bytes as text, or what to do with a file that is none.
//!
//! Programs write text in more ways than one: UTF-16 on Windows, emojis as two halves of three bytes each, a byte that
//! a bad disk or an old program left. One such byte costs one character, not the file.

use std::borrow::Cow;

use crate::error::{Error, Result};

/// How packed files begin, and what to do with them.
const PACKED: [(&[u8], &str); 2] = [
    (b"\x1f\x8b", "the file is packed with gzip: unpack it first, with gunzip or tar"),
    (b"\x28\xb5\x2f\xfd", "the file is packed with Zstandard: unpack it first, with zstd -d"),
];

/// A file's text.
#[derive(Debug)]
pub(super) struct Text<'a> {
    pub(super) text: Cow<'a, str>,
    /// What was lost of it, in words.
    pub(super) lost: Option<String>,
}

/// The text of a file, with a mark in place of what is none.
pub(super) fn read(bytes: &[u8]) -> Result<Text<'_>> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(Text { text: text.into(), lost: None });
    }
    if let Some(what) = packed(bytes) {
        return Err(Error::Invalid(what.to_owned()));
    }
    let wide =
        |unit: fn([u8; 2]) -> u16| widened(bytes[2..].chunks(2).map(|two| unit([two[0], *two.last().unwrap_or(&0)])));
    let (text, lost) = match bytes {
        [0xFF, 0xFE, ..] => wide(u16::from_le_bytes),
        [0xFE, 0xFF, ..] => wide(u16::from_be_bytes),
        _ => mended(bytes),
    };
    let lost = (lost > 0).then(|| {
        let first = text.find('\u{fffd}').unwrap_or_default();
        let line = text[..first].matches('\n').count() + 1;
        format!("bytes that are no text, from line {line} on; {lost} × \u{fffd} stands for them")
    });
    Ok(Text { text: text.into(), lost })
}

fn packed(bytes: &[u8]) -> Option<&'static str> {
    PACKED.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, what)| *what)
}

/// The text of UTF-16, and how many characters were lost.
fn widened(units: impl Iterator<Item = u16>) -> (String, usize) {
    let mut lost = 0;
    let read = char::decode_utf16(units).map(|read| {
        read.unwrap_or_else(|_| {
            lost += 1;
            char::REPLACEMENT_CHARACTER
        })
    });
    (read.collect(), lost)
}

/// The text of UTF-8 with faults, and how many characters were lost. Halves of an emoji that belong together are
/// joined.
fn mended(bytes: &[u8]) -> (String, usize) {
    let (mut text, mut lost, mut rest) = (String::with_capacity(bytes.len()), 0, bytes);
    while let Err(fault) = std::str::from_utf8(rest) {
        let (good, bad) = rest.split_at(fault.valid_up_to());
        text.push_str(&String::from_utf8_lossy(good));
        let (read, taken) = match (half(bad), bad.get(3..).and_then(half)) {
            (Some(high @ 0xD800..0xDC00), Some(low @ 0xDC00..)) => {
                (char::decode_utf16([high, low]).find_map(Result::ok), 6)
            }
            (Some(_), _) => (None, 3),
            (None, _) => (None, fault.error_len().unwrap_or(bad.len())),
        };
        lost += usize::from(read.is_none());
        text.push(read.unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = &bad[taken..];
    }
    text.push_str(&String::from_utf8_lossy(rest));
    (text, lost)
}

/// One half of an emoji, written as three bytes.
fn half(bytes: &[u8]) -> Option<u16> {
    match bytes {
        [0xED, second @ 0xA0..=0xBF, third @ 0x80..=0xBF, ..] => {
            Some(0xD000 | u16::from(second & 0x3F) << 6 | u16::from(third & 0x3F))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(bytes: &[u8], told: &str) {
        let error = read(bytes).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }

    #[test]
    fn what_is_packed_is_told_apart() {
        refused(b"\x1f\x8b\x08", "gunzip");
        refused(b"\x28\xb5\x2f\xfd\x04", "zstd -d");
    }

    #[track_caller]
    fn check(bytes: &[u8], text: &str, lost: Option<&str>) {
        let read = read(bytes).unwrap();
        assert_eq!((&*read.text, read.lost.as_deref()), (text, lost));
    }

    #[test]
    fn a_byte_that_is_no_text_costs_one_character() {
        check("外婆".as_bytes(), "外婆", None);
        check(
            b"a\n caf\xe9 b",
            "a\n caf\u{fffd} b",
            Some("bytes that are no text, from line 2 on; 1 × \u{fffd} stands for them"),
        );
        check(b"\xe8\x8c", "\u{fffd}", Some("bytes that are no text, from line 1 on; 1 × \u{fffd} stands for them"));
    }

    #[test]
    fn halves_of_an_emoji_are_joined_and_a_lone_one_is_marked() {
        check(b"x \xed\xa0\xbd\xed\xb8\x82 y", "x \u{1f602} y", None);
        let lost = Some("bytes that are no text, from line 1 on; 2 × \u{fffd} stands for them");
        check(b"\xed\xa0\xbd y \xed\xb8\x82", "\u{fffd} y \u{fffd}", lost);
    }

    #[test]
    fn utf_16_with_a_mark_is_read() {
        let words = "\u{feff}{\"外\": \"\u{1f602}\"}";
        check(&words.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>(), &words[3..], None);
        check(&words.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>(), &words[3..], None);
    }
}
