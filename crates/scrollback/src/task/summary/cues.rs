//! The phrases that announce a constraint, a decision or a task, in English and Chinese.

use super::facts::FactKind;
use crate::search::folded;

/// Sentences are looked at this far.
const SENTENCE_CHARS: usize = 600;
/// What is shorter says nothing by itself.
const LEAST_CHARS: usize = 6;
/// Phrases of constraints, wherever they stand.
const CONSTRAINTS: [&str; 17] = [
    " must ",
    " mustn't ",
    " must not ",
    " at most ",
    " at least ",
    " no more than ",
    " no less than ",
    " no later than ",
    " not allowed ",
    " not permitted ",
    " forbidden ",
    " mandatory ",
    " deadline ",
    " is required ",
    " are required ",
    " shall not ",
    " may not exceed ",
];
/// Words that make a sentence a constraint if it begins with them.
const ORDERS: [&str; 5] = [" never ", " always ", " don't ", " do not ", " only use "];
/// Phrases of decisions.
const DECISIONS: [&str; 22] = [
    " decided ",
    " the decision ",
    " decision ",
    " agreed on ",
    " agreed to ",
    " we agreed ",
    " settled on ",
    " opted for ",
    " we chose ",
    " i chose ",
    " let's use ",
    " let's go with ",
    " we'll use ",
    " we will use ",
    " i'll take ",
    " we'll go with ",
    " i'll go with ",
    " we will go with ",
    " going with ",
    " we went with ",
    " instead of using ",
    " ruled out ",
];
/// Phrases of tasks.
const TASKS: [&str; 19] = [
    " todo ",
    " to do list ",
    " still need to ",
    " still needs to ",
    " still have to ",
    " still has to ",
    " still open ",
    " remains to be ",
    " not yet done ",
    " not done yet ",
    " next step ",
    " next steps ",
    " action item ",
    " follow up ",
    " remind me ",
    " we need to ",
    " i need to ",
    " needs to be ",
    " is pending ",
];
const CONSTRAINTS_CHINESE: [&str; 18] = [
    "必须",
    "不得",
    "禁止",
    "不允许",
    "不可以",
    "务必",
    "切勿",
    "至多",
    "至少",
    "最多",
    "不超过",
    "不能超过",
    "只能",
    "上限",
    "截止",
    "一定要",
    "绝不能",
    "不要",
];
const DECISIONS_CHINESE: [&str; 12] =
    ["决定", "敲定", "定下来", "选定", "就用", "采用", "改用", "定为", "定在", "商定", "结论是", "达成一致"];
const TASKS_CHINESE: [&str; 12] =
    ["待办", "还需要", "还要", "尚未", "还没", "下一步", "待定", "接下来", "记得", "提醒我", "未完成", "有待"];

/// What a sentence announces, if it announces anything; questions do not.
pub(super) fn kind_of(sentence: &str) -> Option<FactKind> {
    let sentence = sentence.trim();
    if sentence.ends_with(['?', '？']) || sentence.chars().nth(LEAST_CHARS).is_none() {
        return None;
    }
    let box_to_tick = sentence.contains("[ ] ");
    let spoken = spaced(sentence);
    let has = |english: &[&str], chinese: &[&str]| english.iter().chain(chinese).any(|cue| spoken.contains(cue));
    if has(&CONSTRAINTS, &CONSTRAINTS_CHINESE) || ORDERS.iter().any(|order| spoken.starts_with(order)) {
        Some(FactKind::Constraint)
    } else if has(&DECISIONS, &DECISIONS_CHINESE) {
        Some(FactKind::Decision)
    } else if box_to_tick || has(&TASKS, &TASKS_CHINESE) {
        Some(FactKind::Task)
    } else {
        None
    }
}

/// A sentence in lower case, its words between single spaces, without what means the opposite of a cue.
fn spaced(sentence: &str) -> String {
    let begin: String = sentence.chars().take(SENTENCE_CHARS).collect();
    let plain = folded(&begin).replace('’', "'").replace("要不要", " ");
    let mut out = String::from(" ");
    for word in plain.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()) {
        out.extend([word, " "]);
    }
    out
}
