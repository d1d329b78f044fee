//! What the client never sees of a reply: calls of ours and their results, and where they truly stand among what it
//! sees.

use scrollback::Message;
use scrollback::engine::Around;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::wire::edit::raw;

/// What has to be put back when the client returns.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    /// What came before all that is shown.
    pub(super) lead: Vec<Box<RawValue>>,
    /// What stands around some of it.
    pub(super) around: Vec<Around>,
}

impl Hidden {
    /// Compares all messages of a reply, over all rounds, with those that the client is shown; `results` end it. What
    /// is shown otherwise than it was said is put back whole. Where nothing that is shown was said just so, it is one
    /// message that stands for the last.
    pub(super) fn around(all: &[Value], shown: &[Value], results: &[Value]) -> Self {
        let mut hidden = Self::default();
        let mut left = all;
        // Reasoning that is shown, and stands before the first message that is.
        let mut asides = Vec::new();
        for (index, value) in shown.iter().enumerate() {
            let Some(place) = place_of(value, left) else { continue };
            let (before, said) = (raws(&left[..place]), &left[place]);
            left = &left[place + 1..];
            if Message::new(raw(value)).is_aside() {
                let leads = hidden.around.is_empty();
                if leads && !before.is_empty() {
                    hidden.lead.append(&mut asides);
                }
                hidden.put_after(before);
                asides.extend(leads.then(|| raw(value)));
            } else {
                let whole = (said != value).then(|| raw(said));
                hidden.around.push(Around { index, before, whole, after: Vec::new() });
            }
        }
        if left.len() == all.len() && !shown.is_empty() {
            return Self::in_place_of_the_last(all, results);
        }
        hidden.put_after(raws(left).into_iter().chain(raws(results)).collect());
        hidden.around.retain(|around| around.whole.is_some() || !around.before.is_empty() || !around.after.is_empty());
        hidden
    }

    fn in_place_of_the_last(all: &[Value], results: &[Value]) -> Self {
        let Some((last, before)) = all.split_last() else { return Self::default() };
        let around = Around { index: 0, before: Vec::new(), whole: Some(raw(last)), after: raws(results) };
        Self { lead: raws(before), around: vec![around] }
    }

    /// Puts something after the last message that is shown so far.
    fn put_after(&mut self, more: Vec<Box<RawValue>>) {
        match self.around.last_mut() {
            Some(last) => last.after.extend(more),
            None => self.lead.extend(more),
        }
    }
}

/// Where something that is shown was said: just so, or in other words.
fn place_of(shown: &Value, said: &[Value]) -> Option<usize> {
    let is_item = |value: &Value| shown["type"] == "message" && value["type"] == "message";
    let same_id = |value: &Value| is_item(value) && shown["id"].is_string() && value["id"] == shown["id"];
    let nameless = |value: &Value| is_item(value) && shown["id"].is_null() && value["role"] == shown["role"];
    let just_so = said.iter().position(|value| value == shown);
    just_so.or_else(|| said.iter().position(same_id)).or_else(|| said.iter().position(nameless))
}

fn raws(values: &[Value]) -> Vec<Box<RawValue>> {
    values.iter().map(raw).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn item(name: &str) -> Value {
        let kind = if name.starts_with("rs") { "reasoning" } else { "function_call" };
        json!({"type": kind, "call_id": name, "name": name})
    }

    /// What is put back, written out: lead, then each shown message between what stands around it.
    fn check(all: &str, shown: &str, results: &str, expect: &str) {
        let items = |names: &str| names.split_whitespace().map(item).collect::<Vec<_>>();
        let shown_items = items(shown);
        let hidden = Hidden::around(&items(all), &shown_items, &items(results));
        let names = |raws: &[Box<RawValue>]| -> Vec<String> {
            let read = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).unwrap();
            raws.iter().map(|raw| read(raw)["name"].as_str().unwrap().to_owned()).collect()
        };
        let mut told = names(&hidden.lead);
        let mut asides: Vec<String> = Vec::new();
        for (i, item) in shown_items.iter().enumerate() {
            let name = item["name"].as_str().unwrap().to_owned();
            if item["type"] == "reasoning" {
                asides.push(name);
                continue;
            }
            let around = hidden.around.iter().find(|around| around.index == i);
            asides.retain(|aside| !told.contains(aside));
            told.append(&mut asides);
            told.extend(around.map(|around| names(&around.before)).unwrap_or_default());
            told.push(name);
            told.extend(around.map(|around| names(&around.after)).unwrap_or_default());
        }
        assert_eq!(told.join(" "), expect, "{all} shown as {shown}");
    }

    #[test]
    fn everything_stands_where_it_stood() {
        check("a ra b", "b", "", "a ra b");
        check("rs1 own theirs", "rs1 theirs", "r", "rs1 own theirs r");
        check("theirs own", "theirs", "r", "theirs own r");
        check("a ra rs1 own theirs", "rs1 theirs", "r", "a ra rs1 own theirs r");
        check("t1 rs2 own t2", "t1 rs2 t2", "r", "t1 rs2 own t2 r");
        check("m1 own ro rs1 t1", "m1 rs1 t1", "", "m1 own ro rs1 t1");
        check("rs0 own ro rs1 t1", "rs0 rs1 t1", "", "rs0 own ro rs1 t1");
    }

    #[test]
    fn what_is_shown_in_other_words_is_put_back_whole() {
        let said = |text: &str, id: Value| json!({"type": "message", "role": "assistant", "id": id, "content": text});
        for id in [json!("msg_1"), Value::Null] {
            let (whole, less) = (said("a [b]", id.clone()), said("a", id));
            let hidden = Hidden::around(&[whole.clone(), item("answer"), item("theirs")], &[less, item("theirs")], &[]);
            assert!(hidden.lead.is_empty(), "{hidden:?}");
            let [first, second] = &hidden.around[..] else { panic!("{hidden:?}") };
            assert_eq!((first.index, first.whole.as_ref().unwrap().get()), (0, whole.to_string().as_str()));
            assert_eq!((second.index, second.before[0].get()), (1, item("answer").to_string().as_str()));
            assert!(second.whole.is_none() && first.after.is_empty() && second.after.is_empty(), "{hidden:?}");
        }
    }

    #[test]
    fn one_message_that_was_never_said_so_stands_for_the_last() {
        let message = |text: &str| json!({"role": "assistant", "content": text});
        let hidden = Hidden::around(&[message("a [b]"), message("r"), message("c")], &[message("a c")], &[]);
        assert_eq!((hidden.lead.len(), hidden.around.len()), (2, 1));
        assert_eq!(hidden.around[0].whole.as_ref().unwrap().get(), message("c").to_string());
    }
}
