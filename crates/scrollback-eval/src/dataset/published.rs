//! `LoCoMo` and `LongMemEval` as they are published: one JSON array, turned into rows of ours.
//!
//! `LoCoMo`'s evidence names turns; a picture's caption is part of what was said; what its last category asks for was
//! never said. `LongMemEval` marks turns with `has_answer`, and tells when a question is asked.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::recall::{Message, Question, Row};
use super::time;

/// The category of `LoCoMo` whose questions lead astray: whoever says that nothing is known is right.
const ASTRAY: u64 = 5;
/// What is right to answer to them.
const UNSAID: &str = "Nothing is known about this: it was never said.";

/// An entry of either file.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Entry {
    /// Of `LoCoMo`.
    Locomo(Locomo),
    /// Of `LongMemEval`.
    LongMemEval(LongMemEval),
}

impl Entry {
    /// The same conversation as a row.
    pub(super) fn row(self) -> serde_json::Result<Row> {
        match self {
            Self::Locomo(entry) => entry.row(),
            Self::LongMemEval(entry) => Ok(entry.row()),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Locomo {
    conversation: Map<String, Value>,
    qa: Vec<LocomoQuestion>,
}

#[derive(Deserialize)]
struct LocomoQuestion {
    question: String,
    #[serde(default)]
    evidence: Vec<String>,
    category: Value,
    #[serde(default)]
    answer: Value,
}

#[derive(Deserialize)]
struct LocomoTurn {
    speaker: String,
    dia_id: String,
    #[serde(default)]
    text: String,
    blip_caption: Option<String>,
}

impl Locomo {
    fn row(self) -> serde_json::Result<Row> {
        let first = self.conversation.get("speaker_a").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut messages = Vec::new();
        let number = |name: &String| name.strip_prefix("session_")?.parse::<u32>().ok();
        // Some have a gap in their numbers.
        let sessions: BTreeSet<u32> = self.conversation.keys().filter_map(number).collect();
        for session in sessions {
            let turns = &self.conversation[&format!("session_{session}")];
            let time = self.conversation.get(&format!("session_{session}_date_time")).and_then(Value::as_str);
            let turns: Vec<LocomoTurn> = Vec::deserialize(turns)?;
            messages.extend(turns.into_iter().map(|turn| {
                let role = if turn.speaker == first { "user" } else { "assistant" }.to_owned();
                let caption = turn.blip_caption.map(|caption| format!(" [picture: {caption}]")).unwrap_or_default();
                let (name, time, text) = (Some(turn.speaker), time.map(str::to_owned), turn.text + &caption);
                Message { id: turn.dia_id, role, name, time, session: session.into(), text }
            }));
        }
        let question = |asked: LocomoQuestion| Question {
            kind: asked.category.to_string(),
            text: asked.question,
            evidence: asked.evidence.iter().flat_map(|named| turns(named)).collect(),
            answer: if asked.category.as_u64() == Some(ASTRAY) { UNSAID.into() } else { asked.answer },
            time: None,
        };
        Ok(Row { messages, questions: self.qa.into_iter().map(question).collect() })
    }
}

/// The turns that a piece of evidence names; some name several, as in `D8:6; D9:17`.
fn turns(named: &str) -> impl Iterator<Item = String> {
    let ids = named.split(|c: char| c.is_whitespace() || matches!(c, ';' | ','));
    ids.filter(|id| !id.is_empty()).map(str::to_owned)
}

#[derive(Deserialize)]
pub(super) struct LongMemEval {
    question_type: String,
    question: String,
    #[serde(default)]
    answer: Value,
    question_date: Option<String>,
    haystack_dates: Vec<String>,
    haystack_sessions: Vec<Vec<LongTurn>>,
}

#[derive(Deserialize)]
struct LongTurn {
    role: String,
    content: String,
    #[serde(default)]
    has_answer: bool,
}

impl LongMemEval {
    fn row(self) -> Row {
        let (mut messages, mut evidence) = (Vec::new(), Vec::new());
        let dates = self.haystack_dates.into_iter().map(Some).chain(std::iter::repeat(None));
        let mut sessions: Vec<(Vec<LongTurn>, Option<String>)> =
            self.haystack_sessions.into_iter().zip(dates).collect();
        let when = |(_, time): &(_, Option<String>)| time.as_deref().and_then(time::read);
        // Those of `longmemeval_oracle` are in no order.
        if sessions.iter().all(|session| when(session).is_some()) {
            sessions.sort_by_key(when);
        }
        for (session, (turns, time)) in sessions.into_iter().enumerate() {
            for turn in turns {
                let id = messages.len().to_string();
                evidence.extend(turn.has_answer.then(|| id.clone()));
                let (role, time, text) = (turn.role, time.clone(), turn.content);
                messages.push(Message { id, role, name: None, time, session: session.into(), text });
            }
        }
        let (kind, text, answer, time) = (self.question_type, self.question, self.answer, self.question_date);
        Row { messages, questions: vec![Question { kind, text, evidence, answer, time }] }
    }
}

#[cfg(test)]
mod tests {
    use super::super::recall::read;

    const LOCOMO: &str = r#"[{"sample_id":"1","conversation":{"speaker_a":"Ann","speaker_b":"Ben","session_1_date_time":"1:56 pm on 8 May, 2023",
        "session_1":[{"speaker":"Ann","dia_id":"D1:1","text":"Look!","blip_caption":"a cello"},{"speaker":"Ben","dia_id":"D1:2","text":"Nice."}]},
        "qa":[{"question":"What does Ann play?","answer":"cello","evidence":["D1:1"],"category":4}]}]"#;
    const LONG: &str = r#"[{"question_id":"q","question_type":"single","question":"Which pet?","answer":"cat","haystack_dates":["2023/05/20 (Sat) 02:21"],
        "haystack_sessions":[[{"role":"user","content":"I have a cat.","has_answer":true},{"role":"assistant","content":"Nice."}]]}]"#;

    #[test]
    fn published_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        for (text, said, named) in [(LOCOMO, "Look! [picture: a cello]", true), (LONG, "I have a cat.", false)] {
            let path = folder.path().join("set.json");
            std::fs::write(&path, text).unwrap();
            let set = read(&path).unwrap();
            let talk = &set.talks[0];
            assert_eq!((talk.messages.len(), talk.messages[0].text.as_str()), (2, said));
            assert_eq!((talk.messages[0].name().is_some(), talk.messages[1].at.is_some()), (named, true));
            assert_eq!(talk.questions[0].evidence, [0]);
            assert_eq!(talk.questions[0].answer.as_deref(), Some(if named { "cello" } else { "cat" }));
        }
    }

    #[test]
    fn evidence_that_names_several_turns_is_all_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.json");
        for several in ["D1:1; D1:2", "D1:1 D1:2", "D1:1,D1:2"] {
            std::fs::write(&path, LOCOMO.replace("[\"D1:1\"]", &format!("[\"{several}\"]"))).unwrap();
            let set = read(&path).unwrap();
            assert_eq!(set.talks[0].questions[0].evidence, [0, 1], "{several}");
        }
    }

    #[test]
    fn to_a_question_that_leads_astray_it_is_right_to_say_that_nothing_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.json");
        let bait = ["\"adversarial_answer\":\"cello\"", "\"answer\":\"cello\",\"adversarial_answer\":\"harp\""];
        for bait in bait {
            let astray = LOCOMO.replace("\"answer\":\"cello\"", bait).replace("\"category\":4", "\"category\":5");
            std::fs::write(&path, astray).unwrap();
            let answer = read(&path).unwrap().talks[0].questions[0].answer.clone().unwrap();
            assert!(answer.starts_with("Nothing is known"), "{answer}");
        }
    }

    #[test]
    fn sessions_that_are_in_no_order_are_put_in_that_of_their_days() {
        let later = r#"["2023/05/20 (Sat) 02:21","2023/04/02 (Sun) 10:00"]"#;
        let sessions = r#"[[{"role":"user","content":"Now I have a dog.","has_answer":true}],[{"role":"user","content":"I have a cat."}]]"#;
        let entry = |dates: &str| {
            let (question, asked) = (r#""question_type":"update","question":"Which pet?""#, "2023/05/30 (Tue) 23:40");
            format!(
                r#"[{{{question},"question_date":"{asked}","haystack_dates":{dates},"haystack_sessions":{sessions}}}]"#
            )
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("longmemeval_oracle.json");
        for (dates, evidence) in [(later, 1), (r#"["2023/05/20 (Sat) 02:21"]"#, 0)] {
            std::fs::write(&path, entry(dates)).unwrap();
            let set = read(&path).unwrap();
            let talk = &set.talks[0];
            assert_eq!(talk.questions[0].evidence, [evidence], "{dates}");
            assert_eq!(talk.messages[evidence].session, evidence);
            assert_eq!(talk.questions[0].dated(), "Which pet?\n\n(Asked at 2023-05-30T23:40:00Z.)");
        }
    }

    #[test]
    fn a_turn_that_cannot_be_read_is_an_error_and_a_gap_in_the_sessions_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.json");
        std::fs::write(&path, LOCOMO.replace("\"dia_id\":\"D1:2\",", "")).unwrap();
        assert!(read(&path).is_err());
        std::fs::write(&path, LOCOMO.replace("session_1", "session_3")).unwrap();
        assert_eq!(read(&path).unwrap().talks[0].messages.len(), 2);
    }
}
