//! A text as the tokens of a model, by its `tokenizer.json`: cleaned, cut into words, and those into pieces.
//!
//! What `BertNormalizer` and `BertPreTokenizer` do for `WordPiece`, and what sentencepiece does for `Unigram` (NFKC,
//! and `▁` for spaces). Names of special tokens in a text are words like others: a message cannot end itself.

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::pieces::{Kind, Pieces};
use crate::error::{Error, Result};

/// What sentencepiece writes for a space.
const SPACE: char = '▁';

/// Reads texts for a model.
pub(super) struct Tokenizer {
    pieces: Pieces,
    /// What stands before a text and after it.
    frame: [u32; 2],
    cleaning: Cleaning,
}

/// How a text is cleaned.
#[derive(Clone, Copy, Debug)]
enum Cleaning {
    Bert { lowercase: bool, strip_accents: bool, part_chinese: bool },
    SentencePiece,
}

impl Tokenizer {
    /// Reads a `tokenizer.json`.
    pub(super) fn read(text: &str) -> Result<Self> {
        let file: Value = serde_json::from_str(text)
            .map_err(|error| Error::Invalid(format!("tokenizer.json of the model is not understood: {error}")))?;
        let model = &file["model"];
        let (pieces, cleaning) = match model["type"].as_str() {
            Some("WordPiece") => (word_pieces(model), bert_cleaning(&file["normalizer"])),
            Some("Unigram") => (unigram(model), Cleaning::SentencePiece),
            other => {
                let other = other.unwrap_or("one without a name");
                return Err(Error::Invalid(format!(
                    "the model's tokenizer is {other}; WordPiece and Unigram can be read"
                )));
            }
        };
        let broken = || Error::Invalid("tokenizer.json of the model lacks what it should have".into());
        let pieces = pieces.ok_or_else(broken)?;
        let token = |names: [&str; 2]| names.iter().find_map(|name| pieces.numbers.get(*name)).copied();
        let said = |which: &str| pieces.numbers.get(file["post_processor"][which][0].as_str()?).copied();
        let first = said("cls").or_else(|| token(["[CLS]", "<s>"]));
        let last = said("sep").or_else(|| token(["[SEP]", "</s>"]));
        let frame = [first, last].map(|token| token.unwrap_or(pieces.unknown));
        Ok(Self { pieces, frame, cleaning })
    }

    /// The tokens of a text with what stands around them, so many in all.
    pub(super) fn framed(&self, text: &str, most: usize) -> Vec<u32> {
        let mut tokens = vec![self.frame[0]];
        self.each(text, most.saturating_sub(1), &mut tokens);
        tokens.truncate(most.saturating_sub(1).max(1));
        tokens.push(self.frame[1]);
        tokens
    }

    /// The known tokens of a text alone.
    pub(super) fn bare(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        self.each(text, usize::MAX, &mut tokens);
        tokens.retain(|token| *token != self.pieces.unknown);
        tokens
    }

    /// Adds the tokens of a text until there are enough.
    fn each(&self, text: &str, most: usize, into: &mut Vec<u32>) {
        let cleaned = self.cleaning.cleaned(text);
        for word in cleaned.split_whitespace() {
            match self.cleaning {
                Cleaning::Bert { .. } => parts(word).for_each(|part| self.pieces.take(part, into)),
                Cleaning::SentencePiece => self.pieces.take(&format!("{SPACE}{word}"), into),
            }
            if into.len() >= most {
                break;
            }
        }
    }
}

impl Cleaning {
    fn cleaned(self, text: &str) -> String {
        match self {
            Self::SentencePiece => text.nfkc().filter(|c| !is_dropped(*c)).collect(),
            Self::Bert { lowercase, strip_accents, part_chinese } => {
                let kept = text.chars().filter(|c| !is_dropped(*c));
                let parted = kept.flat_map(|c| {
                    let space = (part_chinese && is_chinese(c)).then_some(' ');
                    space.into_iter().chain([c]).chain(space)
                });
                let bare: String = if strip_accents {
                    parted.collect::<String>().nfd().filter(|c| !is_combining_mark(*c)).collect()
                } else {
                    parted.collect()
                };
                if lowercase { bare.chars().flat_map(char::to_lowercase).collect() } else { bare }
            }
        }
    }
}

/// A word and the signs in it, each by itself.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    word.split_inclusive(is_sign).flat_map(|part| {
        let sign = part.chars().next_back().filter(|c| is_sign(*c)).map_or(0, char::len_utf8);
        let (before, sign) = part.split_at(part.len() - sign);
        [before, sign].into_iter().filter(|part| !part.is_empty())
    })
}

fn is_dropped(c: char) -> bool {
    c == '\0'
        || c == '\u{fffd}'
        || (c.is_control() && !c.is_whitespace())
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{feff}' | '\u{ad}')
}

fn is_chinese(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}' | '\u{2a700}'..='\u{2ceaf}'
        | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}

/// Whether a character is punctuation, in ASCII or the scripts that are written most.
fn is_sign(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(c, '¡' | '§' | '«' | '¶' | '·' | '»' | '¿' | '\u{37e}' | '\u{387}' | '\u{55a}'..='\u{55f}' | '\u{589}'
            | '\u{5be}' | '\u{60c}' | '\u{61b}' | '\u{61f}' | '\u{66a}'..='\u{66d}' | '\u{6d4}' | '\u{964}' | '\u{965}'
            | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{2043}' | '\u{2045}'..='\u{2051}' | '\u{2053}'..='\u{205e}'
            | '\u{207d}' | '\u{207e}' | '\u{2308}'..='\u{230b}' | '\u{2329}' | '\u{232a}' | '\u{2768}'..='\u{2775}'
            | '\u{27e6}'..='\u{27ef}' | '\u{2983}'..='\u{2998}' | '\u{2e00}'..='\u{2e4f}' | '\u{3001}'..='\u{3003}'
            | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{3030}' | '\u{303d}' | '\u{30a0}' | '\u{30fb}'
            | '\u{fe10}'..='\u{fe19}' | '\u{fe30}'..='\u{fe52}' | '\u{fe54}'..='\u{fe61}' | '\u{ff01}'..='\u{ff03}'
            | '\u{ff05}'..='\u{ff0a}' | '\u{ff0c}'..='\u{ff0f}' | '\u{ff1a}' | '\u{ff1b}' | '\u{ff1f}' | '\u{ff20}'
            | '\u{ff3b}'..='\u{ff3d}' | '\u{ff3f}' | '\u{ff5b}' | '\u{ff5d}' | '\u{ff5f}'..='\u{ff65}')
}

fn word_pieces(model: &Value) -> Option<Pieces> {
    let number = |number: &Value| number.as_u64().and_then(|number| u32::try_from(number).ok());
    let vocabulary = model["vocab"].as_object()?.iter();
    let numbers: std::collections::HashMap<_, _> =
        vocabulary.map(|(piece, of)| Some((piece.clone(), number(of)?))).collect::<Option<_>>()?;
    let unknown = *numbers.get(model["unk_token"].as_str().unwrap_or("[UNK]"))?;
    let within = model["continuing_subword_prefix"].as_str().unwrap_or("##").to_owned();
    Some(Pieces { numbers, unknown, kind: Kind::Longest { within } })
}

fn unigram(model: &Value) -> Option<Pieces> {
    let scored = model["vocab"].as_array()?.iter();
    let scored: Vec<(&str, f64)> =
        scored.map(|one| Some((one[0].as_str()?, one[1].as_f64()?))).collect::<Option<_>>()?;
    let unknown = u32::try_from(model["unk_id"].as_u64()?).ok().filter(|unknown| (*unknown as usize) < scored.len())?;
    let longest = scored.iter().map(|(piece, _)| piece.len()).max().unwrap_or(0);
    let numbers = scored.iter().zip(0..).map(|((piece, _), number)| ((*piece).to_owned(), number)).collect();
    let scores = scored.into_iter().map(|(_, score)| score).collect();
    Some(Pieces { numbers, unknown, kind: Kind::Likeliest { scores, longest } })
}

/// How a `BertNormalizer` cleans, alone or in a sequence; as the first models did if none is named.
fn bert_cleaning(normalizer: &Value) -> Cleaning {
    let named = normalizer["normalizers"].as_array().map_or(std::slice::from_ref(normalizer), Vec::as_slice);
    let of = |kind: &str| named.iter().find(|one| one["type"] == kind);
    let Some(bert) = of("BertNormalizer") else {
        let strip_accents = of("StripAccents").is_some();
        return Cleaning::Bert { lowercase: of("Lowercase").is_some(), strip_accents, part_chinese: true };
    };
    let lowercase = bert["lowercase"].as_bool().unwrap_or(true);
    let strip_accents = bert["strip_accents"].as_bool().unwrap_or(lowercase);
    Cleaning::Bert { lowercase, strip_accents, part_chinese: bert["handle_chinese_chars"].as_bool().unwrap_or(true) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r###"{"normalizer": {"type": "BertNormalizer", "lowercase": true, "strip_accents": null},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3,
        "cafe": 4, "s": 5, "##s": 6, "'": 7, "中": 8, "国": 9, "[": 10, "sep": 11, "]": 12}}}"###;

    #[test]
    fn texts_are_cleaned_parted_and_framed() {
        let tokenizer = Tokenizer::read(FILE).unwrap();
        assert_eq!(tokenizer.framed("Café's  CAFES中国", 99), [2, 4, 7, 5, 4, 6, 8, 9, 3]);
        assert_eq!(tokenizer.framed("cafe cafe cafe cafe", 4), [2, 4, 4, 3]);
        assert_eq!(tokenizer.framed("", 9), [2, 3]);
        assert_eq!(tokenizer.bare("cafe nowhere s"), [4, 5]);
        assert_eq!(tokenizer.framed("[SEP]", 9), [2, 10, 11, 12, 3], "a text cannot end itself");
        let named = FILE.replacen('{', r#"{"post_processor": {"cls": ["s", 5], "sep": ["]", 12]}, "#, 1);
        assert_eq!(Tokenizer::read(&named).unwrap().framed("cafe", 9), [5, 4, 12], "a file may say what stands around");
    }

    #[test]
    fn spaces_belong_to_the_word_after_them_in_sentencepiece() {
        let file = r#"{"model": {"type": "Unigram", "unk_id": 2, "vocab":
            [["<s>", 0.0], ["</s>", 0.0], ["<unk>", 0.0], ["▁a", -1.0], ["▁b", -1.0], ["c", -2.0]]}}"#;
        let tokenizer = Tokenizer::read(file).unwrap();
        assert_eq!(tokenizer.framed("ac  ｂ", 9), [0, 3, 5, 4, 1]);
        assert!(Tokenizer::read(r#"{"model": {"type": "BPE"}}"#).is_err());
        assert!(Tokenizer::read(r#"{"model": {"type": "Unigram", "vocab": []}}"#).is_err());
    }
}
