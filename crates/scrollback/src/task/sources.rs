//! The sources a text names: addresses and paths.

/// How many sources are named.
pub(super) const SOURCES: usize = 3;
/// Texts are read this far.
const READ_BYTES: usize = 1_000_000;
/// A source is no longer than this.
const SOURCE_BYTES: usize = 200;
/// A source is no shorter than this.
const SOURCE_LEAST_BYTES: usize = 4;
/// What stands around addresses and paths in prose, Markdown, code and JSON.
const BETWEEN: [char; 26] = [
    '"', '\'', '`', '<', '>', '(', ')', '[', ']', '{', '}', '|', '\\', '，', '。', '、', '；', '：', '（', '）', '【',
    '】', '《', '》', '“', '”',
];

/// Addresses and paths that a text names, the first few, each once.
pub fn sources(text: &str) -> Vec<String> {
    let text = &text[..text.floor_char_boundary(READ_BYTES)];
    let mut found: Vec<String> = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || BETWEEN.contains(&c)) {
        let word = word.trim_end_matches(['.', ',', ';', ':', '!', '?']);
        if is_source(word) && !found.iter().any(|known| known == word) {
            found.push(word.to_owned());
        }
        if found.len() == SOURCES {
            break;
        }
    }
    found
}

fn is_source(word: &str) -> bool {
    if !word.contains('/') || word.len() > SOURCE_BYTES {
        return false;
    }
    let address = ["http://", "https://"].iter().any(|scheme| word.len() > scheme.len() && word.starts_with(scheme));
    address || word.rsplit('/').next().is_some_and(is_file_name)
}

fn is_file_name(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, ending)| {
        let letters = ending.chars().all(char::is_alphanumeric) && ending.chars().any(char::is_alphabetic);
        !stem.is_empty() && (1..=5).contains(&ending.len()) && letters
    })
}

/// Whether a source stands in a text, not as part of a longer word.
pub(super) fn occurs(text: &str, source: &str) -> bool {
    let alike = |outside: Option<char>, inside: Option<char>| {
        [outside, inside].iter().all(|c| c.is_some_and(|c| c.is_ascii_alphanumeric()))
    };
    let whole = |at: usize| {
        let (before, after) = (&text[..at], &text[at + source.len()..]);
        !alike(before.chars().next_back(), source.chars().next())
            && !alike(after.chars().next(), source.chars().next_back())
    };
    let fits = (SOURCE_LEAST_BYTES..=SOURCE_BYTES).contains(&source.len()) && !source.contains('\n');
    fits && text.match_indices(source).any(|(at, _)| whole(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_addresses_and_paths() {
        let text =
            "See https://example.org/a, then src/main.rs and src/main.rs; also docs/guide.md, and/or lib/x.toml.";
        assert_eq!(sources(text), ["https://example.org/a", "src/main.rs", "docs/guide.md"]);
        let text = r#"约 1/2.5，见《[手册](https://example.org/手册)》、{"path":"a/b.json"}，at 60 km/h."#;
        assert_eq!(sources(text), ["https://example.org/手册", "a/b.json"]);
    }

    #[test]
    fn a_source_must_stand_in_the_text() {
        let text = "From https://example.org/abc and 《潮汐表》第三版.";
        assert!(occurs(text, "https://example.org/abc"));
        assert!(occurs(text, "潮汐表"));
        assert!(!occurs(text, "https://example.org/ab"), "cut short");
        assert!(!occurs(text, "https://example.com/abc"), "invented");
        assert!(!occurs(text, "and"), "too little");
    }
}
