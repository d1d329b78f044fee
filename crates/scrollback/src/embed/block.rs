//! How vectors are kept: blocks of the messages of a session in order of arrival, a record each.
//!
//! A message is in the block that its number says, so that the newest block alone is ever written again. Rows are
//! bytes, written as base64: branch, depth and scale, four bytes each, then the numbers, one byte each.

use serde::{Deserialize, Serialize};

use super::vector::Code;
use crate::error::{Error, Result};
use crate::ids::{BranchId, Depth, Hash128};

/// How many messages a block is for.
const MESSAGES: u32 = 64;
/// Where the numbers of a row begin.
const NUMBERS_FROM: usize = 12;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The vector of a passage, and where its message is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) branch: BranchId,
    pub(crate) depth: Depth,
    pub(crate) code: Code,
}

/// The vectors of some messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Block {
    /// The number after that of the last message it was made of, whether that has a vector or not.
    pub(crate) upto: u32,
    pub(crate) rows: Vec<Row>,
}

/// A block as it is written.
#[derive(Serialize, Deserialize)]
struct Written {
    upto: u32,
    dimensions: usize,
    rows: String,
}

impl Block {
    /// A block that holds nothing yet.
    pub(crate) fn empty(number: u32) -> Self {
        Self { upto: number * MESSAGES, rows: Vec::new() }
    }

    /// The number after that of the last message a block is for.
    pub(crate) fn end(number: u32) -> u32 {
        (number + 1).saturating_mul(MESSAGES)
    }

    /// What the keys of an embedder's blocks begin with.
    pub(crate) fn keys(embedder: &str) -> String {
        format!("{}/", Hash128::of("embedder", &[embedder.as_bytes()]))
    }

    /// The key of a block.
    pub(crate) fn key(embedder: &str, number: u32) -> String {
        format!("{}{number:08}", Self::keys(embedder))
    }

    /// Whether no message will be added to it.
    pub(crate) fn is_full(&self) -> bool {
        self.upto > 0 && self.upto.is_multiple_of(MESSAGES)
    }

    /// What is written of it.
    pub(crate) fn written(&self) -> impl Serialize + use<> {
        let dimensions = self.rows.first().map_or(0, |row| row.code.numbers.len());
        let mut bytes = Vec::with_capacity(self.rows.len() * (NUMBERS_FROM + dimensions));
        for row in self.rows.iter().filter(|row| row.code.numbers.len() == dimensions) {
            bytes.extend(row.branch.0.to_le_bytes());
            bytes.extend(row.depth.0.to_le_bytes());
            bytes.extend(row.code.scale.to_le_bytes());
            bytes.extend(row.code.numbers.iter().map(|number| number.cast_unsigned()));
        }
        Written { upto: self.upto, dimensions, rows: base64(&bytes) }
    }

    /// Reads what was written.
    pub(crate) fn read(text: &str) -> Result<Self> {
        let damaged = || Error::Damaged("vectors are not as they were written; they will be made anew".into());
        let Written { upto, dimensions, rows } = serde_json::from_str(text).map_err(|_| damaged())?;
        let bytes = bytes_of(&rows).ok_or_else(damaged)?;
        let rows = bytes.chunks_exact(NUMBERS_FROM + dimensions);
        if !rows.remainder().is_empty() {
            return Err(damaged());
        }
        Ok(Self { upto, rows: rows.map(row).collect() })
    }
}

fn row(bytes: &[u8]) -> Row {
    let four = |from: usize| [bytes[from], bytes[from + 1], bytes[from + 2], bytes[from + 3]];
    Row {
        branch: BranchId(u32::from_le_bytes(four(0))),
        depth: Depth(u32::from_le_bytes(four(4))),
        code: Code {
            scale: f32::from_le_bytes(four(8)),
            numbers: bytes[NUMBERS_FROM..].iter().map(|byte| byte.cast_signed()).collect(),
        },
    }
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..=three.len() {
            text.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    text
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    for four in text.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for digit in four {
            bits = bits << 6 | u32::from(value(*digit)?);
        }
        bits <<= 6 * (4 - four.len());
        let [_, three @ ..] = bits.to_be_bytes();
        bytes.extend(&three[..four.len() - 1]);
    }
    Some(bytes)
}

const fn value(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_read_as_it_was_written() {
        let row = |depth: u32, numbers: [i8; 3]| Row {
            branch: BranchId(2),
            depth: Depth(depth),
            code: Code { scale: 0.25, numbers: numbers.to_vec() },
        };
        let block = Block { upto: 70, rows: vec![row(3, [-127, 0, 127]), row(9, [1, -1, 64])] };
        let text = serde_json::to_string(&block.written()).unwrap();
        assert_eq!(Block::read(&text).unwrap(), block);
        assert_eq!((block.is_full(), Block { upto: 128, ..block }.is_full()), (false, true));
        let empty = Block { upto: 5, rows: Vec::new() };
        assert_eq!(Block::read(&serde_json::to_string(&empty.written()).unwrap()).unwrap(), empty);
        for damaged in [
            text.replace("\"dimensions\":3", "\"dimensions\":4"),
            text.replace('=', "").replace("rows\":\"", "rows\":\"*"),
        ] {
            assert!(matches!(Block::read(&damaged), Err(Error::Damaged(_))), "{damaged}");
        }
    }

    #[test]
    fn base64_is_that_of_everybody() {
        for (bytes, text) in
            [("", ""), ("M", "TQ"), ("Ma", "TWE"), ("Man", "TWFu"), ("any carnal pleas", "YW55IGNhcm5hbCBwbGVhcw")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
            assert_eq!(bytes_of(text).unwrap(), bytes.as_bytes());
        }
        assert_eq!((bytes_of("T"), bytes_of("T?Fu")), (Some(Vec::new()), None));
    }
}
