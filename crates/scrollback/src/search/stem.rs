//! A word of English without its commonest endings, so that "runs", "running" and "run" are one term.
//!
//! Light on purpose: it measured as well as the Snowball stemmer (docs/decisions/0009). Words with other letters stay
//! as they are.

/// Shorter words have no endings to lose.
const SHORTEST: usize = 4;

/// The stem of a folded word.
pub(crate) fn stem(word: &str) -> String {
    if word.len() < SHORTEST || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut stem = singular(word);
    for ending in ["ing", "ed"] {
        if let Some(rest) = stem.strip_suffix(ending).filter(|rest| rest.len() >= 3 && has_vowel(rest)) {
            stem = undoubled(rest).to_owned();
            break;
        }
    }
    if let Some(rest) = stem.strip_suffix("ly").filter(|rest| rest.len() >= SHORTEST) {
        stem.truncate(rest.len());
    }
    if stem.len() >= SHORTEST && stem.ends_with('e') {
        stem.pop();
    }
    if stem.len() >= SHORTEST && stem.ends_with('y') {
        stem.pop();
        stem.push('i');
    }
    stem
}

/// The other words that have a stem, as far as its endings tell: "bake", "bakes", "baked" and "baking" for "bak".
pub(crate) fn forms(of: &str) -> Vec<String> {
    if of.len() < SHORTEST - 1 || !of.bytes().all(|b| b.is_ascii_lowercase()) {
        return Vec::new();
    }
    let doubled = of.chars().last().map(|last| format!("{of}{last}"));
    let turned = of.strip_suffix('i').map(|rest| format!("{rest}y"));
    let bases = [Some(of.to_owned()), Some(format!("{of}e")), doubled, turned];
    let endings = ["", "s", "es", "d", "ed", "ing", "ly"];
    let grown = bases.into_iter().flatten().flat_map(|base| endings.map(|ending| format!("{base}{ending}")));
    let plural = of.strip_suffix('i').map(|rest| format!("{rest}ies"));
    let mut forms: Vec<String> = grown.chain(plural).filter(|form| form != of && stem(form) == of).collect();
    forms.sort_unstable();
    forms.dedup();
    forms
}

fn singular(word: &str) -> String {
    if let Some(rest) = word.strip_suffix("ies").filter(|rest| rest.len() >= 2) {
        return format!("{rest}y");
    }
    let hisses = |rest: &&str| rest.ends_with(['s', 'x', 'z', 'h']) && rest.len() >= 3;
    if let Some(rest) = word.strip_suffix("es").filter(hisses) {
        return rest.to_owned();
    }
    let plural = |rest: &&str| !rest.ends_with(['s', 'u', 'i']);
    word.strip_suffix('s').filter(plural).unwrap_or(word).to_owned()
}

/// `runn` is `run`, but `fall` stays.
fn undoubled(word: &str) -> &str {
    let mut last = word.bytes().rev();
    let doubled = word.len() >= SHORTEST && last.next() == last.next() && !word.ends_with(['l', 's', 'z']);
    if doubled { &word[..word.len() - 1] } else { word }
}

fn has_vowel(word: &str) -> bool {
    word.contains(['a', 'e', 'i', 'o', 'u', 'y'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_one() {
        for forms in [
            &["run", "runs", "running"][..],
            &["party", "parties"],
            &["box", "boxes"],
            &["bake", "bakes", "baked", "baking"],
            &["plan", "plans", "planned", "planning"],
            &["quick", "quickly"],
        ] {
            let stems: Vec<String> = forms.iter().map(|form| stem(form)).collect();
            assert!(stems.iter().all(|one| *one == stems[0]), "{stems:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn stems_begin_as_their_words_do(word in "[a-z]{1,4}(s|es|ies|ed|ing|ly|e|y|ying|ies)?") {
            let beginning = word.len().min(2);
            proptest::prop_assert_eq!(&stem(&word)[..beginning], &word[..beginning]);
        }
    }

    #[test]
    fn a_stem_has_all_the_forms_it_was_made_of() {
        for word in
            ["run", "runs", "running", "parties", "party", "boxes", "baking", "bake", "planned", "quickly", "hiked"]
        {
            let of = stem(word);
            assert!(of == word || forms(&of).contains(&word.to_owned()), "{word}: {of} {:?}", forms(&of));
        }
        assert!(forms("数据").is_empty() && forms("ab").is_empty());
    }

    #[test]
    fn other_words_stay_apart() {
        assert_eq!(stem("bus"), "bus");
        assert_eq!(stem("sing"), "sing");
        assert_eq!(stem("naïve"), "naïve");
        assert_eq!(stem("数据"), "数据");
        assert_ne!(stem("news"), stem("next"));
    }
}
