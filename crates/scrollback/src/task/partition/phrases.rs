//! Words that say nothing of the subject, and phrases that open, close or continue one.
//!
//! Lists are short and go by what is most frequent; in a language they do not know, words are weighed by how rare they
//! are.

use std::collections::HashSet;

/// Words of grammar, by language.
const GRAMMAR: [&str; 5] = [
    "a an the this that these those i you he she it we they me him her us them my your his its our their mine yours \
     and or but if then so because as of at by for with about into from to in on off out up down over under again \
     is am are was were be been being have has had having do does did doing will would shall should can could may \
     might must not no nor only own same than too very just also now here there when where why how what which who \
     whom all any both each few more most other some such one ones two get got go going gone come let lets make made \
     want need like know think see say said tell use try well still even much many really yes yeah ok okay oh ah hi \
     hello hey thanks thank please sorry sure dont doesnt didnt isnt arent wasnt cant couldnt wont wouldnt im ive id \
     ill youre youve its hes shes theyre theres thats whats s t re ve ll d m don doesn didn isn wasn couldn wouldn \
     something anything nothing someone anyone thing things way lot bit good great right fine first last next new",
    "der die das den dem des ein eine einen einem einer und oder aber wenn dann weil als von bei mit zu zum zur im in \
     an am auf aus für über unter ist sind war waren sein hat haben hatte wird werden kann können nicht kein keine \
     auch nur noch schon sehr so wie was wer wo ich du er sie es wir ihr mich dich uns mir dir man ja nein bitte danke",
    "le la les un une des du de et ou mais si alors car que qui quoi dont où à au aux en dans par pour sur sous avec \
     sans est sont était être a ai as avons avez ont avoir fait faire pas ne plus très aussi ce cet cette ces je tu il \
     elle nous vous ils elles me te se mon ma mes ton ta tes son sa ses leur oui non merci",
    "el los las una unos unas y o pero si entonces porque que quien donde de del al en por para con sin sobre es son \
     era ser estar está están ha han he hay hacer no más muy también este esta estos estas yo tú él ella nosotros me \
     te se mi mis tu tus su sus lo le les sí gracias",
    "o os as um uma e ou mas não é são foi ser ter tem com em no na nos nas do da dos das por para que se eu você ele \
     ela nós isso este esta muito também и в на не что как это я ты он она мы вы они но а же бы да нет по из за к с у от",
];

/// Words that are met with every subject.
const GENERAL: &str = "time times year years day days week weeks month months hour hours minute minutes today tomorrow yesterday \
    morning evening night people man woman person child children work help start begin end stop put take give find look keep \
    leave call ask feel seem turn show move run long short small large big little old young high low better best worse bad \
    enough always never often sometimes maybe part place number point problem question answer idea example fact case kind \
    sort half second third three four five six seven eight nine ten hundred thousand different possible important change \
    check set add order open close read write name list plan jahr tag zeit woche monat heute morgen leute arbeit hilfe \
    frage antwort beispiel teil jour temps semaine mois année gens aide question exemple partie día tiempo semana mes año \
    gente trabajo ayuda pregunta ejemplo parte";

/// What announces another subject.
const OPENING: [&str; 30] = [
    "by the way",
    "btw",
    "another thing",
    "one more thing",
    "something else",
    "on another note",
    "different topic",
    "different question",
    "different subject",
    "new topic",
    "unrelated",
    "changing the subject",
    "change of subject",
    "moving on",
    "speaking of",
    "anyway",
    "back to",
    "returning to",
    "另外",
    "换个话题",
    "换个问题",
    "说到",
    "对了",
    "顺便",
    "再问",
    "回到",
    "另一个",
    "übrigens",
    "au fait",
    "por cierto",
];

/// What ends a subject.
const CLOSING: [&str; 26] = [
    "thank",
    "thanks",
    "you're welcome",
    "you are welcome",
    "youre welcome",
    "no problem",
    "goodbye",
    "bye",
    "have a good",
    "have a nice",
    "have a great",
    "anything else",
    "glad to help",
    "happy to help",
    "enjoy your",
    "that's all",
    "that is all",
    "谢谢",
    "多谢",
    "不客气",
    "再见",
    "拜拜",
    "没问题",
    "danke",
    "merci",
    "gracias",
];

/// What people begin with who have not spoken yet, or begin anew.
const GREETING: [&str; 12] = [
    "hi",
    "hello",
    "hey",
    "good morning",
    "good evening",
    "good afternoon",
    "greetings",
    "hallo",
    "bonjour",
    "hola",
    "你好",
    "您好",
];

/// What a unit that goes on with the one before begins with.
const FOLLOWING: [&str; 52] = [
    "yes", "yeah", "yep", "yup", "no", "nope", "ok", "okay", "and", "but", "so", "then", "or", "because", "it", "its",
    "it's", "that", "that's", "thats", "this", "they", "he", "she", "them", "those", "these", "sure", "right",
    "exactly", "oh", "ah", "hmm", "lol", "haha", "cool", "great", "nice", "wow", "thanks", "thank", "really", "why",
    "same", "also", "too", "either", "maybe", "good", "perfect", "yea", "alright",
];

/// The same, where words are not spaced.
const FOLLOWING_UNSPACED: [&str; 26] = [
    "好的", "好", "是的", "是", "对", "嗯", "不", "那", "这", "它", "他", "她", "所以", "但是", "而且", "还有", "因为",
    "可以", "行", "谢谢", "哦", "然后", "继续", "はい", "それ", "네",
];

/// What questions begin with, beside what ends in a question mark.
const ASKING: [&str; 28] = [
    "how", "what", "why", "where", "when", "who", "which", "can", "could", "does", "do", "did", "is", "are", "will",
    "would", "should", "has", "have", "any", "anyone", "anybody", "wie", "warum", "comment", "pourquoi", "cómo", "qué",
];

/// What asks, where words are not spaced.
const ASKING_UNSPACED: [&str; 9] = ["吗", "呢", "什么", "怎么", "为什么", "如何", "哪", "多少", "ですか"];

/// What asks for something to be done.
const REQUESTING: [&str; 24] = [
    "i need",
    "i want",
    "i'd like",
    "i would like",
    "i am looking",
    "i'm looking",
    "looking for",
    "help me",
    "can you",
    "could you",
    "please",
    "show me",
    "tell me",
    "find me",
    "give me",
    "let's",
    "i have a question",
    "how do i",
    "我想",
    "帮我",
    "请问",
    "我要",
    "ich möchte",
    "je voudrais",
];

/// Pronouns for what was named before.
const REFERRING: [&str; 14] =
    ["it", "its", "it's", "that", "this", "they", "them", "those", "these", "there", "he", "she", "him", "one"];

/// The same, where words are not spaced.
const REFERRING_UNSPACED: [&str; 6] = ["它", "这个", "那个", "这样", "那样", "他们"];

/// All words of grammar.
pub(super) fn grammar() -> HashSet<&'static str> {
    GRAMMAR.iter().flat_map(|words| words.split_whitespace()).collect()
}

/// All words that are met with every subject.
pub(super) fn general() -> HashSet<&'static str> {
    GENERAL.split_whitespace().collect()
}

/// Whether a folded text announces another subject.
pub(super) fn opens(text: &str) -> bool {
    OPENING.iter().any(|phrase| says(text, phrase))
}

/// Whether a folded text ends a subject.
pub(super) fn closes(text: &str) -> bool {
    CLOSING.iter().any(|phrase| says(text, phrase))
}

/// Whether a folded text begins with a greeting.
pub(super) fn greets(text: &str) -> bool {
    let ends = |rest: &str, phrase: &str| !phrase.is_ascii() || !rest.starts_with(char::is_alphanumeric);
    GREETING.iter().any(|phrase| text.strip_prefix(phrase).is_some_and(|rest| ends(rest, phrase)))
}

/// Whether a folded text goes on with what was said before.
pub(super) fn follows(text: &str) -> bool {
    let first = text.split(|c: char| !c.is_alphanumeric() && c != '\'').find(|word| !word.is_empty()).unwrap_or("");
    FOLLOWING.contains(&first) || FOLLOWING_UNSPACED.iter().any(|phrase| text.starts_with(phrase))
}

/// Whether a folded text asks for something to be done.
pub(super) fn requests(text: &str) -> bool {
    REQUESTING.iter().any(|phrase| says(text, phrase))
}

/// Whether a folded text refers to something by a pronoun.
pub(super) fn refers(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.any(|word| REFERRING.contains(&word)) || REFERRING_UNSPACED.iter().any(|word| text.contains(word))
}

/// Whether a folded text asks.
pub(super) fn asks(text: &str) -> bool {
    let first = text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()).unwrap_or("");
    text.contains(['?', '？', '؟']) || ASKING.contains(&first) || ASKING_UNSPACED.iter().any(|word| text.contains(word))
}

/// Whether the first sentence of a folded text asks.
pub(super) fn begins_asking(text: &str) -> bool {
    text.split_inclusive(['.', '?', '!', '。', '？', '！']).next().is_some_and(asks)
}

/// Whether a text has a phrase, as whole words where words are spaced.
fn says(text: &str, phrase: &str) -> bool {
    let spaced = phrase.is_ascii();
    let inside = |c: Option<char>| spaced && c.is_some_and(char::is_alphanumeric);
    text.match_indices(phrase)
        .any(|(at, _)| !inside(text[..at].chars().next_back()) && !inside(text[at + phrase.len()..].chars().next()))
}
