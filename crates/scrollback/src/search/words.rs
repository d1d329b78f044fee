//! From text to terms, alike for every store and every language.
//!
//! Languages with spaces give their words, lower-cased; `names_in_code` and camelCase also give their pieces. Languages
//! without spaces give every pair of neighbouring characters, so that any run of two or more is found without a
//! dictionary; the last character of a run stands alone, so that single characters are found by prefix.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// Words longer than this are cut: nobody types them, and hashes and encoded bytes are made of them.
const TERM_MAX_CHARS: usize = 40;

/// Characters of grammar in Chinese and Japanese.
const GRAMMAR_CHARS: &str = "的了是我你您他她它们这那有在不也就都和与及吗呢吧啊呀哦么什怎样个些一上下里去来到要会能可以很好说对没还给用把被让从向为因所但如果请谢想得着过再又才只最更太多少几时候点或而之其此与则将已经\
     のはがをにでとものてしたですまこれそあるいなかられよねだ";

/// Whether a character is one of grammar.
pub(crate) fn is_grammar(c: char) -> bool {
    GRAMMAR_CHARS.contains(c)
}

/// Whether a character belongs to a script written without spaces between words.
pub fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF            // Thai, Lao
        | 0x1000..=0x109F          // Myanmar
        | 0x1780..=0x17FF          // Khmer
        | 0x3040..=0x30FF          // Hiragana, Katakana
        | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF          // Han
        | 0x4E00..=0x9FFF
        | 0xAC00..=0xD7AF          // Hangul
        | 0xF900..=0xFAFF
        | 0x20000..=0x323AF)
}

/// Whether a text is Chinese: most of its letters are, counting a character as two, and next to none are those that
/// Japanese writes beside them.
pub fn is_chinese(text: &str) -> bool {
    let (mut characters, mut kana, mut others) = (0, 0, 0);
    for c in text.chars().filter(|c| c.is_alphabetic() || is_unspaced(*c)) {
        match u32::from(c) {
            0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x323AF => characters += 1,
            0x3040..=0x30FF | 0x31F0..=0x31FF => kana += 1,
            _ => others += 1,
        }
    }
    characters * 2 > others && characters > kana * 8
}

/// Text in the one form it is compared in: compatibility forms joined, lower case.
pub fn folded(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { small(&text.nfkc().collect::<String>()) }
}

/// Text in lower case. Turkish writes İ and ı beside I and i: all four are one here, as no text says what it is written
/// in.
pub(super) fn small(text: &str) -> String {
    let small = text.to_lowercase();
    if small.contains(['ı', '\u{307}']) { small.replace("i\u{307}", "i").replace('ı', "i") } else { small }
}

/// Calls `take` with each term of a text, in order, repeats included.
pub fn each_term(text: &str, mut take: impl FnMut(&str)) {
    let mut lowered = String::new();
    each_run(text, |run| {
        if run.starts_with(is_unspaced) {
            pairs(run, &mut take);
        } else {
            word(run, &mut lowered, &mut take);
        }
    });
}

/// Calls `take` with each run of a text that terms are made of, compatibility forms joined: a word, or characters of a
/// script without spaces.
pub(super) fn each_run(text: &str, mut take: impl FnMut(&str)) {
    let composed: String;
    let text = if text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        text
    } else {
        composed = text.nfkc().collect();
        &composed
    };
    let mut rest = text;
    while let Some(start) = rest.find(is_term_char) {
        rest = &rest[start..];
        let unspaced = rest.starts_with(is_unspaced);
        let end = rest.find(|c| !is_term_char(c) || is_unspaced(c) != unspaced).unwrap_or(rest.len());
        let (run, tail) = rest.split_at(end);
        take(run);
        rest = tail;
    }
}

/// The terms of a text, each once, sorted.
pub fn terms(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    each_term(text, |term| all.push(term.to_owned()));
    all.sort_unstable();
    all.dedup();
    all
}

pub(crate) fn is_term_char(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric()
    } else {
        c.is_alphanumeric() || is_unspaced(c) || is_mark(c) || is_pictograph(c)
    }
}

/// Combining marks, which belong to the letter before them.
pub(super) fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

fn is_pictograph(c: char) -> bool {
    matches!(u32::from(c), 0x2600..=0x27BF | 0x1F300..=0x1FAFF)
}

/// Signs that most people leave out: the points of Hebrew and Arabic, the stroke that lengthens a word, and what says
/// how a picture is drawn.
pub(super) fn is_left_out(c: char) -> bool {
    matches!(c,
        '\u{591}'..='\u{5BD}' | '\u{5BF}' | '\u{5C1}' | '\u{5C2}' | '\u{5C4}' | '\u{5C5}' | '\u{5C7}'
        | '\u{610}'..='\u{61A}' | '\u{640}' | '\u{64B}'..='\u{65F}' | '\u{670}' | '\u{6D6}'..='\u{6DC}'
        | '\u{6DF}'..='\u{6E4}' | '\u{6E7}' | '\u{6E8}' | '\u{6EA}'..='\u{6ED}' | '\u{FE0E}' | '\u{FE0F}')
}

/// A word without the signs that most people leave out; `None` if it has none, or nothing else.
pub(super) fn bare(word: &str) -> Option<String> {
    if word.is_ascii() || !word.contains(is_left_out) {
        return None;
    }
    Some(word.chars().filter(|c| !is_left_out(*c)).collect()).filter(|bare: &String| !bare.is_empty())
}

/// Every pair of neighbouring characters, then the last one alone.
pub(super) fn pairs(run: &str, take: &mut impl FnMut(&str)) {
    let mut ends = run.char_indices().map(|(at, c)| at + c.len_utf8()).peekable();
    let mut start = 0;
    while let Some(end) = ends.next() {
        take(&run[start..*ends.peek().unwrap_or(&end)]);
        start = end;
    }
}

/// A word, the same without signs that may be left out, then its pieces if it has several: `camelCase` and `word2vec`
/// part where a lower-case letter meets an upper-case one or a digit, and every picture is a piece of its own.
fn word(run: &str, lowered: &mut String, take: &mut impl FnMut(&str)) {
    take(lower(run, lowered));
    if let Some(bare) = bare(run) {
        take(lower(&bare, lowered));
    }
    let (mut start, mut before) = (0, None::<char>);
    for (at, c) in run.char_indices() {
        let parts = |b: char| b.is_lowercase() && c.is_uppercase() || b.is_alphabetic() != c.is_alphabetic();
        if before.is_some_and(|b| parts(b) || is_pictograph(c)) && !is_mark(c) {
            take(lower(&run[start..at], lowered));
            start = at;
        }
        before = Some(c);
    }
    if start > 0 {
        take(lower(&run[start..], lowered));
    }
}

/// A word in lower case, cut if it is too long.
pub(super) fn lower<'a>(word: &str, lowered: &'a mut String) -> &'a str {
    lowered.clear();
    if word.is_ascii() {
        lowered.push_str(&word[..word.len().min(TERM_MAX_CHARS)]);
        lowered.make_ascii_lowercase();
    } else {
        lowered.extend(small(word).chars().take(TERM_MAX_CHARS));
    }
    lowered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let mut all = Vec::new();
        each_term(text, |term| all.push(term.to_owned()));
        assert_eq!(all, expected, "{text}");
    }

    #[test]
    fn words_and_names() {
        check("Why does the build fail?", &["why", "does", "the", "build", "fail"]);
        check("recall_page(42)", &["recall", "page", "42"]);
        check("getUserName", &["getusername", "get", "user", "name"]);
        check("Ünïcode naïve", &["ünïcode", "naïve"]);
        check("word2vec", &["word2vec", "word", "2", "vec"]);
        check("ÉcoleNormale ΟΔΟΣ", &["écolenormale", "école", "normale", "οδος"]);
        check("ﬁne Ｆｕｌｌ e\u{301}te\u{301}", &["fine", "full", "été"]);
        check("İzmir ıssız IŞIK", &["izmir", "issiz", "işik"]);
    }

    #[test]
    fn chinese_is_told_from_its_neighbours() {
        for text in ["茶叶罐放在哪里？", "用 Rust 写的程序在哪里", "鲜の每日，牛奶是哪天送的"]
        {
            assert!(is_chinese(text), "{text}");
        }
        for text in ["", "Where is it?", "열쇠는 어디에 있어?", "鍵はどこですか？", "東京都庁の展望台", "กุญแจอยู่ที่ไหน"]
        {
            assert!(!is_chinese(text), "{text}");
        }
    }

    #[test]
    fn every_picture_is_found() {
        check("Done🎉🎉", &["done🎉🎉", "done", "🎉", "🎉"]);
        check("👍🏽 ❤\u{fe0f}", &["👍🏽", "👍", "🏽", "❤\u{fe0f}", "❤"]);
    }

    #[test]
    fn words_with_points_are_found_without() {
        assert!(terms("שָׁלוֹם").contains(&"שלום".to_owned()));
        assert!(terms("كِتَاب كـــتاب").contains(&"كتاب".to_owned()));
    }

    #[test]
    fn scripts_without_spaces() {
        check("数据库索引", &["数据", "据库", "库索", "索引", "引"]);
        check("用Rust写的", &["用", "rust", "写的", "的"]);
        check("カタカナ", &["カタ", "タカ", "カナ", "ナ"]);
        check("ﾃｽﾄ", &["テス", "スト", "ト"]);
    }

    #[test]
    fn nothing_searchable() {
        check("— … !?", &[]);
        check("", &[]);
    }

    #[test]
    fn endless_words_are_cut() {
        let mut longest = 0;
        each_term(&"a".repeat(100_000), |term| longest = longest.max(term.len()));
        assert_eq!(longest, TERM_MAX_CHARS);
    }
}
