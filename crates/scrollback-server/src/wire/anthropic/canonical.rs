//! What a piece of JSON says, however it is written. A conversation comes again with every request, so what was read
//! once is known by its bytes from then on.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{LazyLock, Mutex, PoisonError};

use scrollback::ids::Hash128;
use scrollback::message::value_of;
use serde_json::{Map, Value, json};
use twox_hash::XxHash3_128;

use super::line::is_thinking;

/// How many pieces are remembered in each of two generations.
const MOST: usize = 32_768;

static KNOWN: LazyLock<Known> = LazyLock::new(Known::default);

/// What is known of a piece of JSON.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// The hash of what it says; `None` for a message in which there is nothing.
    pub(super) hash: Option<Hash128>,
    /// Whether it is a message with reasoning.
    pub(super) thinks: bool,
}

impl Piece {
    /// What a text says. It is parsed only if it was not seen lately.
    pub(super) fn of(text: &str) -> Self {
        let key = XxHash3_128::oneshot_with_seed(KNOWN.seed, text.as_bytes());
        KNOWN.get(key).unwrap_or_else(|| {
            let piece = Self::read(text, &value_of(text).unwrap_or_default());
            KNOWN.put(key, piece);
            piece
        })
    }

    /// What a value says; if it is null, what cannot be read stands for itself.
    pub(super) fn read(text: &str, value: &Value) -> Self {
        let content = &value["content"];
        let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
        let empty = *content == "" || content.is_array() && blocks.is_empty();
        let hash = |written: &str| Hash128::of("piece", &[written.as_bytes()]);
        let said = || if value.is_null() { hash(text) } else { hash(&canonical(&with_blocks(value)).to_string()) };
        Self { hash: (!empty).then(said), thinks: blocks.iter().any(is_thinking) }
    }
}

/// What was seen lately, by its bytes.
struct Known {
    seed: u64,
    pieces: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    young: HashMap<u128, Piece>,
    old: HashMap<u128, Piece>,
}

impl Default for Known {
    fn default() -> Self {
        Self { seed: RandomState::new().hash_one("pieces"), pieces: Mutex::default() }
    }
}

impl Known {
    fn get(&self, key: u128) -> Option<Piece> {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(piece) = pieces.young.get(&key) {
            return Some(*piece);
        }
        let piece = pieces.old.remove(&key)?;
        pieces.add(key, piece);
        Some(piece)
    }

    fn put(&self, key: u128, piece: Piece) {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner).add(key, piece);
    }
}

impl Generations {
    /// What is not seen again while so many others are is forgotten.
    fn add(&mut self, key: u128, piece: Piece) {
        if self.young.len() >= MOST {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, piece);
    }
}

/// A message with a block in the place of a text.
fn with_blocks(value: &Value) -> Value {
    let mut value = value.clone();
    if let Some(content) = value.get_mut("content").filter(|content| content.is_string()) {
        *content = json!([{"type": "text", "text": content}]);
    }
    value
}

/// Sorted, without marks and without what is not there.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(canonical).collect(),
        Value::Object(fields) => {
            let mut kept: Vec<_> =
                fields.iter().filter(|(key, value)| *key != "cache_control" && !value.is_null()).collect();
            kept.sort_unstable_by_key(|(key, _)| *key);
            kept.into_iter().map(|(key, value)| (key.clone(), canonical(value))).collect::<Map<_, _>>().into()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_again_is_kept_and_the_rest_is_bounded() {
        let (known, piece) = (Known::default(), Piece { hash: None, thinks: true });
        known.put(0, piece);
        for key in 1..5 * MOST as u128 {
            known.put(key, piece);
            assert!(key % 1_000 != 0 || known.get(0).is_some(), "{key}");
        }
        assert!(known.get(1).is_none());
        let pieces = known.pieces.lock().unwrap();
        assert!(pieces.young.len() <= MOST && pieces.old.len() <= MOST);
    }

    #[test]
    fn a_piece_says_the_same_when_it_is_seen_again() {
        let check = |text: &str, thinks: bool, empty: bool| {
            let (first, again) = (Piece::of(text), Piece::of(text));
            assert_eq!((first.hash, first.thinks), (again.hash, again.thinks), "{text}");
            assert_eq!((first.thinks, first.hash.is_none()), (thinks, empty), "{text}");
        };
        check(r#"{"role":"assistant","content":[{"type":"redacted_thinking","data":"d"}]}"#, true, false);
        check(r#"{"role":"user","content":"say \"thinking\""}"#, false, false);
        check(r#"{"role":"user","content":""}"#, false, true);
        check(r#"{"role":"user","content":[]}"#, false, true);
        check("[]", false, false);
        check("{ no JSON", false, false);
    }
}
