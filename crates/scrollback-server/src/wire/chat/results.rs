//! Results directly behind their calls, as every provider wants them. Whoever sends only what is new may say something
//! while a call is open, answer it too late, or never do.

use std::borrow::Cow;
use std::collections::HashSet;

use scrollback::message::value_of;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::wire::edit::{UNANSWERED, of_earlier};

/// What is known of a message without its words.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    role: Value,
    tool_calls: Value,
    tool_call_id: Value,
}

/// A message on its way to be sent.
struct Line<'w> {
    text: Cow<'w, str>,
    head: Head,
}

/// The same messages, with results brought to their calls. A call that nobody has answered gets a result that says so,
/// and an answer that comes after the next reply, or whose call is folded, is told in words.
pub(super) fn gathered(messages: Vec<Cow<'_, str>>) -> Vec<Cow<'_, str>> {
    if !messages.iter().any(|message| message.contains("\"tool_call")) {
        return messages;
    }
    let mut out = Vec::with_capacity(messages.len());
    let (mut known, mut unnamed): (HashSet<String>, bool) = Default::default();
    let mut rest = messages.into_iter().map(Line::new).peekable();
    while let Some(line) = rest.next() {
        unnamed = if line.is_reply() { line.makes_unnamed_calls() } else { unnamed };
        if line.calls().is_empty() {
            out.push(line.written(&known, unnamed));
            continue;
        }
        let mut behind = Vec::new();
        while let Some(line) = rest.next_if(|line| !line.is_reply()) {
            behind.push(line);
        }
        let line = line.called_as(&behind, &known);
        let calls = line.calls();
        out.push(line.text);
        if !behind.is_empty() || rest.peek().is_some() {
            let (results, others) = answered(&calls, behind);
            out.extend(results);
            out.extend(others.into_iter().map(|line| line.written(&known, unnamed)));
        }
        known.extend(calls);
    }
    out
}

/// What stands between calls and the next reply: their results, and the rest.
fn answered<'w>(calls: &[String], behind: Vec<Line<'w>>) -> (Vec<Cow<'w, str>>, Vec<Line<'w>>) {
    let made: HashSet<&str> = calls.iter().map(String::as_str).collect();
    let is_theirs = |line: &Line<'w>| line.answers().is_some_and(|id| made.contains(id));
    let (results, others): (Vec<Line<'w>>, Vec<Line<'w>>) = behind.into_iter().partition(is_theirs);
    let brought: HashSet<&str> = results.iter().filter_map(Line::answers).collect();
    let is_open = |call: &&String| !brought.contains(call.as_str());
    let unanswered = |call: &String| json!({"role": "tool", "tool_call_id": call, "content": UNANSWERED}).to_string();
    let open: Vec<Cow<'w, str>> = calls.iter().filter(is_open).map(|call| unanswered(call).into()).collect();
    (results.into_iter().map(|line| line.text).chain(open).collect(), others)
}

impl<'w> Line<'w> {
    fn new(text: Cow<'w, str>) -> Self {
        let head = serde_json::from_str(&text).unwrap_or_default();
        Self { text, head }
    }

    fn is_reply(&self) -> bool {
        self.head.role == "assistant"
    }

    /// The ids of the calls it makes.
    fn calls(&self) -> Vec<String> {
        let calls = self.head.tool_calls.as_array().filter(|_| self.is_reply()).into_iter().flatten();
        calls.filter_map(|call| call["id"].as_str().map(str::to_owned)).collect()
    }

    /// Whether it makes calls that have no ids: nobody knows what answers them.
    fn makes_unnamed_calls(&self) -> bool {
        self.head.tool_calls.as_array().is_some_and(|calls| calls.len() > self.calls().len())
    }

    /// The same with the ids by which its client answers it: some write others than the model did, for models that want
    /// short ones.
    fn called_as(self, behind: &[Self], known: &HashSet<String>) -> Self {
        let calls = self.calls();
        let made: HashSet<&str> = calls.iter().map(String::as_str).collect();
        let answers: Vec<&str> = behind.iter().filter_map(Self::answers).collect();
        let answered: HashSet<&str> = answers.iter().copied().collect();
        let strays: Vec<&str> = answers.into_iter().filter(|id| !known.contains(*id) && !made.contains(id)).collect();
        let open = calls.iter().filter(|call| !answered.contains(call.as_str())).count();
        if strays.is_empty() || strays.len() != open {
            return self;
        }
        let (mut message, mut strays): (Value, _) = (value_of(&self.text).unwrap_or_default(), strays.into_iter());
        for call in message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
            if call["id"].as_str().is_none_or(|id| !answered.contains(id)) {
                call["id"] = strays.next().into();
            }
        }
        Self::new(message.to_string().into())
    }

    /// The call it is the result of.
    fn answers(&self) -> Option<&str> {
        self.head.tool_call_id.as_str().filter(|_| self.head.role == "tool")
    }

    /// As it is sent: as it came, unless it answers a call that does not stand before it. Where calls have no ids, any
    /// result that answers no other call may be theirs.
    fn written(self, known: &HashSet<String>, unnamed: bool) -> Cow<'w, str> {
        match self.answers().filter(|id| !unnamed || known.contains(*id)) {
            Some(id) => told(id, &self.text).into(),
            None => self.text,
        }
    }
}

/// A result that cannot stand behind its call, in words.
fn told(id: &str, text: &str) -> String {
    let message: Value = serde_json::from_str(text).unwrap_or_default();
    let (lead, content) = (of_earlier(id), &message["content"]);
    let content: Value = match (content.as_array(), content.as_str()) {
        (Some(parts), _) => {
            std::iter::once(json!({"type": "text", "text": lead})).chain(parts.iter().cloned()).collect()
        }
        (None, Some(words)) => format!("{lead}\n\n{words}").into(),
        (None, None) => format!("{lead}\n\n{content}").into(),
    };
    json!({"role": "user", "content": content}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(calls: &[&str]) -> String {
        let call = |id: &&str| json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}});
        json!({"role": "assistant", "content": null, "tool_calls": calls.iter().map(call).collect::<Value>()})
            .to_string()
    }

    fn result(id: &str) -> String {
        json!({"role": "tool", "tool_call_id": id, "content": "a boat"}).to_string()
    }

    fn said(role: &str) -> String {
        json!({"role": role, "content": "words"}).to_string()
    }

    fn check(messages: &[String], expect: &[String]) {
        let gathered = gathered(messages.iter().map(|message| message.as_str().into()).collect());
        assert_eq!(gathered, expect);
    }

    #[test]
    fn many_calls_are_answered_in_one_pass() {
        let took = |count: usize| {
            let ids: Vec<String> = (0..count).map(|i| format!("call_{i:06}_of_one_reply")).collect();
            let calls: Vec<&str> = ids.iter().map(String::as_str).collect();
            let messages: Vec<String> = std::iter::once(reply(&calls)).chain(ids.iter().map(|id| result(id))).collect();
            let begun = std::time::Instant::now();
            assert_eq!(gathered(messages.iter().map(|message| message.as_str().into()).collect()), messages);
            begun.elapsed()
        };
        took(100);
        let (few, many) = (took(500), took(16_000));
        assert!(many < few * 32 * 6, "{many:?} for 32 times as many as in {few:?}");
    }

    #[test]
    fn results_by_other_ids_answer_the_calls_before_them() {
        let user = said("user");
        let [long, short] = [["chatcmpl-tool-1", "b"], ["tool1abcd", "b"]].map(|ids| reply(&ids));
        let results = [result("b"), result("tool1abcd")];
        check(
            &[long.clone(), results[0].clone(), results[1].clone(), user.clone()],
            &[short, results[0].clone(), results[1].clone(), user],
        );
        // Which of two calls it answers, nobody knows.
        let check_open = |count: usize| {
            let told = gathered(vec![long.as_str().into(), results[1].as_str().into(), "{}".into()]);
            assert_eq!(told.iter().filter(|line| line.contains(UNANSWERED)).count(), count);
        };
        check_open(2);
    }

    #[test]
    fn what_is_in_order_stays_as_it_came() {
        let [user, words] = ["user", "assistant"].map(said);
        let (two, one) = (reply(&["a", "b"]), reply(&["c"]));
        let whole =
            [&user, &two, &result("b"), &result("a"), &words, &user, &one, &result("c"), &user].map(String::clone);
        check(&whole, &whole);
        // The last word is a call: nobody can have answered it yet.
        check(&whole[..2], &whole[..2]);
    }

    #[test]
    fn every_call_has_its_result_behind_it() {
        let [user, words] = ["user", "assistant"].map(said);
        let open = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": UNANSWERED}).to_string();
        let call = reply(&["a"]);
        check(&[call.clone(), user.clone()], &[call.clone(), open("a"), user.clone()]);
        check(&[call.clone(), words.clone()], &[call.clone(), open("a"), words.clone()]);
        check(&[call.clone(), user.clone(), result("a")], &[call.clone(), result("a"), user.clone()]);
        let both = reply(&["a", "b"]);
        check(&[both.clone(), user.clone(), result("b")], &[both, result("b"), open("a"), user.clone()]);
        let late = json!({"role": "user", "content": "The result of the earlier call a:\n\na boat"}).to_string();
        let said = [call.clone(), user.clone(), words.clone(), result("a")];
        check(&said, &[call, open("a"), user, words, late]);
    }

    #[test]
    fn a_result_whose_call_is_folded_is_told_in_words() {
        let [user, words] = ["user", "assistant"].map(said);
        let told =
            |id: &str| json!({"role": "user", "content": format!("The result of the earlier call {id}:\n\na boat")});
        let check_told = |before: &[String]| {
            let all = |last: String| [before, &[last, words.clone()]].concat();
            check(&all(result("a")), &all(told("a").to_string()));
        };
        check_told(std::slice::from_ref(&user));
        check_told(&[user.clone(), words.clone()]);
        check_told(&[user.clone(), reply(&["b"]), result("b")]);
        let unnamed = json!({"role": "assistant", "tool_calls": [{"type": "function"}]}).to_string();
        let local = [user, unnamed, result("whatever"), words];
        check(&local, &local);
    }
}
