//! Words of a line, in any language, and what is written as only an address, a path, an identifier or a number is.

use super::facts::FactKind;
use super::figures::number;
use crate::search::is_unspaced;

/// Words that are longer are not looked at: encoded bytes.
const WORD_BYTES: usize = 200;
/// What stands around words in prose, Markdown and JSON, apart from space and commas.
const BETWEEN: &str = "\"'<>()[]{}|;=，。、；：（）【】《》〈〉“”‘’「」『』！？…·*—";
/// Endings of file names that are told from the ends of sentences and from host names.
const ENDINGS: [&str; 52] = [
    "rs", "py", "js", "ts", "tsx", "jsx", "go", "java", "c", "h", "cc", "cpp", "hpp", "cs", "rb", "php", "kt", "swift",
    "sh", "sql", "md", "txt", "json", "jsonl", "toml", "yaml", "yml", "csv", "tsv", "html", "css", "scss", "xml",
    "ini", "conf", "cfg", "lock", "env", "log", "pdf", "png", "jpg", "jpeg", "svg", "docx", "xlsx", "pptx", "ipynb",
    "vue", "qml", "proto", "db",
];

/// A word, and what follows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    /// The word, without marks around it.
    pub(super) text: &'a str,
    /// Where it begins in its line.
    pub(super) start: usize,
    /// The rest of the line.
    pub(super) after: &'a str,
}

/// The words of a line; scripts without spaces are parted from others, and not among themselves.
pub(super) fn words(line: &str) -> Vec<Word<'_>> {
    let (mut found, mut start, mut unspaced) = (Vec::new(), None, false);
    let mut before = ' ';
    for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
        let parts = c.is_whitespace() || BETWEEN.contains(c) || c == ',' && !is_grouping(before, &line[at + 1..]);
        if let Some(from) = start.filter(|_| parts || is_unspaced(c) != unspaced) {
            found.extend(word(line, from, at));
            start = None;
        }
        if start.is_none() && !parts {
            (start, unspaced) = (Some(at), is_unspaced(c));
        }
        before = c;
    }
    found
}

fn is_grouping(before: char, after: &str) -> bool {
    before.is_ascii_digit() && after.starts_with(|c: char| c.is_ascii_digit())
}

fn word(line: &str, start: usize, end: usize) -> Option<Word<'_>> {
    let marks = ['.', ',', ':', '!', '?', '-'];
    let text = line[start..end].trim_end_matches(marks);
    let bare = text.trim_start_matches([',', ':', '!', '?']);
    let start = start + text.len() - bare.len();
    bare.contains(char::is_alphanumeric).then(|| Word { text: bare, start, after: &line[start + bare.len()..] })
}

/// The fact that a word is, given the word before it.
pub(super) fn fact_of(word: &Word<'_>, before: &str) -> Option<(FactKind, String)> {
    let text = word.text;
    if text.len() > WORD_BYTES || text.starts_with(is_unspaced) || is_ours(text) {
        return None;
    }
    if is_address(text) {
        Some((FactKind::Url, text.trim_end_matches('/').to_owned()))
    } else if let Some(number) = number(text, word.after, before) {
        Some((FactKind::Number, number))
    } else if is_path(text) {
        Some((FactKind::Path, text.to_owned()))
    } else if is_identifier(text) {
        Some((FactKind::Identifier, text.to_owned()))
    } else if is_called(text, word.after) {
        Some((FactKind::Identifier, format!("{text}()")))
    } else {
        None
    }
}

/// Whether a word is the id of a message: it says nothing by itself.
fn is_ours(word: &str) -> bool {
    word.strip_prefix('m').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_address(word: &str) -> bool {
    ["http://", "https://", "www."].iter().any(|scheme| word.len() > scheme.len() && word.starts_with(scheme))
}

fn is_path(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let rooted = ["/", "./", "../", "~/"].iter().any(|root| word.starts_with(root)) || word.get(1..3) == Some(":\\");
    let deep = word.trim_matches('/').contains(['/', '\\']);
    let file = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        let known = ENDINGS.contains(&ending.to_ascii_lowercase().as_str());
        !stem.is_empty() && known || stem.is_empty() && deep
    });
    let letters = word.chars().filter(|c| c.is_alphabetic()).count() > 1;
    letters && (file || rooted && (deep || word.starts_with('~')) || deep && word.contains('\\'))
}

/// Whether a word is written as only a name in code or in a catalogue is: `tide_gauge`, `HB-22`, `getUser`, `std::fs`.
fn is_identifier(word: &str) -> bool {
    let bytes = word.as_bytes();
    let plain = bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:#@".contains(byte));
    let letter = bytes.iter().any(u8::is_ascii_alphabetic);
    let digit = bytes.iter().any(u8::is_ascii_digit);
    let snake = word.trim_matches('_').contains('_');
    let camel = bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    (2..=80).contains(&bytes.len()) && plain && letter && (snake || camel || digit || word.contains("::"))
}

/// Whether a word is followed by the brackets of a call: `reload()`.
fn is_called(word: &str, after: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.:".contains(c);
    after.starts_with("()") && word.chars().all(plain) && word.starts_with(|c: char| c.is_ascii_alphabetic())
}
