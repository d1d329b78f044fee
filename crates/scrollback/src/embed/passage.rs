//! Passages: a long message has several vectors, each of a piece that a model can read whole.

/// How long a passage is at most, in characters; in a script without spaces a third of that.
pub const PASSAGE_CHARS: usize = 900;

/// How much a character of a script without spaces counts: it is about a word's worth of a model's tokens.
const UNSPACED: usize = 3;

/// A text in passages, so many at most, cut where a paragraph ends if one does in the second half, or else a sentence,
/// or a word.
pub fn passages(text: &str, most: usize) -> Vec<&str> {
    let (mut rest, mut found) = (text.trim(), Vec::new());
    while !rest.is_empty() && found.len() < most {
        let (passage, after) = rest.split_at(cut(rest));
        found.push(passage.trim_end());
        rest = after.trim_start();
    }
    found
}

/// Where the first passage of a text ends.
fn cut(text: &str) -> usize {
    let Some(end) = reach(text, PASSAGE_CHARS) else { return text.len() };
    let half = reach(&text[..end], PASSAGE_CHARS / 2).unwrap_or(0);
    let after = |found: Option<(usize, &str)>| found.map(|(at, what)| at + what.len()).filter(|at| *at > half);
    let piece = &text[..end];
    let paragraph = || after(piece.rmatch_indices("\n\n").next());
    let sentence = || {
        let ends = [". ", "! ", "? ", "\n", "。", "！", "？"];
        ends.iter().filter_map(|end| after(piece.rmatch_indices(end).next())).max()
    };
    let word = || after(piece.rmatch_indices(char::is_whitespace).next());
    paragraph().or_else(sentence).or_else(word).unwrap_or(end)
}

/// How many bytes of a text count so many characters; `None` if all of it counts less.
fn reach(text: &str, chars: usize) -> Option<usize> {
    let mut left = chars;
    for (at, c) in text.char_indices() {
        let counts = if crate::search::is_unspaced(c) { UNSPACED } else { 1 };
        match left.checked_sub(counts) {
            Some(rest) => left = rest,
            None => return Some(at),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_one_passage_and_an_empty_one_none() {
        assert_eq!(passages(" It rains. ", 4), ["It rains."]);
        assert!(passages(" \n", 4).is_empty());
    }

    #[test]
    fn a_long_text_is_cut_between_paragraphs_sentences_or_words_and_nothing_is_lost() {
        let sentence = "The valve of the boiler in the cellar is broken again. ";
        let two = format!("{}\n\n{}", sentence.repeat(12).trim(), sentence.repeat(12).trim());
        let cut = passages(&two, 9);
        assert_eq!(cut.len(), 2);
        assert!(cut.iter().all(|passage| passage.ends_with("again.")));
        let (many, words) = (sentence.repeat(60), "valve ".repeat(900));
        for text in [many.as_str(), words.as_str(), &"锅炉的阀门又坏了。".repeat(200), &"x".repeat(5_000)] {
            let cut = passages(text, usize::MAX);
            assert!(cut.len() > 2 && cut.iter().all(|passage| passage.chars().count() <= PASSAGE_CHARS));
            let joined: String = cut.concat().split_whitespace().collect();
            assert_eq!(joined, text.split_whitespace().collect::<String>());
        }
        assert_eq!(passages(&many, 2).len(), 2);
    }
}
