//! A file's bytes as text, or what to do with a file that is none.

use crate::error::{Error, Result};

/// How archives and packed files begin, and what to do with them.
const PACKED: [(&[u8], &str); 3] = [
    (b"PK\x03\x04", "the file is a ZIP: unpack it and take the conversations.json that is in it"),
    (b"PK\x05\x06", "the file is a ZIP with nothing in it"),
    (b"\x1f\x8b", "the file is packed with gzip: unpack it first, with gunzip or tar"),
];

/// The text of a file.
pub fn text_of(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let packed = PACKED.iter().find(|(magic, _)| bytes.starts_with(magic));
        Error::Invalid(packed.map_or_else(|| misread(bytes, error.valid_up_to()), |(_, what)| (*what).to_owned()))
    })
}

/// Where a text ceases to be one.
fn misread(bytes: &[u8], at: usize) -> String {
    let line = bytes[..at].split(|byte| *byte == b'\n').count();
    format!("the file is not text (UTF-8): line {line} has the byte 0x{:02X}, number {} of the file", bytes[at], at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], told: &str) {
        let error = text_of(bytes).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }

    #[test]
    fn what_is_no_text_is_told_apart() {
        assert_eq!(text_of("外婆".as_bytes()).unwrap(), "外婆");
        assert_eq!(text_of(b"PK\x03\x04").unwrap(), "PK\x03\x04", "odd, but text");
        check(b"PK\x03\x04\x14\xff", "is a ZIP");
        check(b"\x1f\x8b\x08", "gunzip");
        check(b"{\n caf\xe9", "line 2 has the byte 0xE9, number 7");
        check("茶".as_bytes().split_last().unwrap().1, "line 1 has the byte 0xE8, number 1");
    }
}
