//! A helper that knows what every message is about, and answers as a good model would. It remembers what it was asked.

use std::sync::Mutex;

use async_trait::async_trait;
use scrollback::task::{Model, Question, Said};
use scrollback::tokens::Vocabulary;

use super::talk::{Step, Subject};

pub(crate) struct Knowing {
    subjects: Vec<Subject>,
    script: Vec<Step>,
    pub(crate) asked: Mutex<Vec<Question>>,
}

/// A message or a topic in a question.
struct Shown<'a> {
    tag: &'a str,
    id: &'a str,
    text: &'a str,
}

impl Knowing {
    pub(crate) fn new(subjects: Vec<Subject>, script: Vec<Step>) -> Self {
        Self { subjects, script, asked: Mutex::default() }
    }

    /// What a message is about.
    fn subject(&self, text: &str) -> Option<usize> {
        let said = |step: &&Step| text.trim_end() == step.user || text.trim_end() == step.reply;
        self.script.iter().find(said).map(|step| step.subject)
    }

    fn named(&self, text: &str) -> Option<usize> {
        let name = text.lines().next()?;
        self.subjects.iter().position(|subject| subject.name == name)
    }

    /// The subjects of messages in a row; a reply that is said everywhere goes with what is before it.
    fn subjects_of(&self, shown: &[Shown<'_>]) -> Vec<usize> {
        let mut before = 0;
        let of = |shown: &Shown<'_>| {
            let general = ["Good to know", "好的，我", "As you told", "Of course, I"];
            let known =
                if general.iter().any(|start| shown.text.starts_with(start)) { None } else { self.subject(shown.text) };
            before = known.unwrap_or(before);
            before
        };
        shown.iter().map(of).collect()
    }

    fn split(&self, text: &str) -> String {
        let (topics, messages): (Vec<_>, Vec<_>) = shown(text).into_iter().partition(|shown| shown.tag == "topic");
        let places = self.subjects_of(&messages);
        let mut out = vec!["<split>".to_owned()];
        for (number, subject) in self.subjects.iter().enumerate() {
            let ids: Vec<&str> =
                messages.iter().zip(&places).filter(|(_, of)| **of == number).map(|(m, _)| m.id).collect();
            if ids.is_empty() {
                continue;
            }
            let known = topics.iter().find(|topic| self.named(topic.text) == Some(number));
            let (ids, name) = (ids.join(" "), &subject.name);
            out.push(match known {
                Some(topic) => format!("<topic id=\"{}\">{ids}</topic>", topic.id),
                None => format!("<topic new=\"{name}\">{ids}<brief>All about {name}.</brief></topic>"),
            });
        }
        out.push("</split>".to_owned());
        out.join("\n")
    }

    fn read(&self, text: &str) -> String {
        let within = |tag: &str| {
            let inside = text.split(&format!("<{tag}-")).nth(1)?.split_once(">\n")?.1;
            inside.split(&format!("\n</{tag}-")).next()
        };
        let said = |part: &'_ str| -> Vec<(String, String)> {
            let pieces = part.split("\n\n[").filter_map(|piece| piece.trim_start_matches('[').split_once("]\n"));
            pieces.map(|(head, said)| (head.split(' ').next().unwrap().to_owned(), said.to_owned())).collect()
        };
        let topic = self.named(within("name").unwrap());
        let asked = within("open").unwrap().rsplit("\n\n").next().unwrap();
        if topic != self.subject(asked) {
            return "<reading><relevance>0.1</relevance></reading>".to_owned();
        }
        let subject = &self.subjects[topic.unwrap()];
        let fact = |text: &str| {
            subject.facts.iter().any(|(fact, question)| text == fact && (asked == question || asked == subject.forgot))
        };
        let own = said(within("topic").unwrap());
        let ids: Vec<&str> = own.iter().filter(|(_, said)| fact(said)).map(|(id, _)| id.as_str()).collect();
        format!(
            "<reading><relevance>0.9</relevance><messages>{}</messages><summary>What was said about {}.</summary></reading>",
            ids.join(" "),
            subject.name
        )
    }

    fn route(&self, text: &str) -> String {
        let all = shown(text);
        let asked = self.script.iter().find(|step| text.contains(&step.user)).map(|step| step.subject);
        let found = all.iter().find(|shown| shown.tag == "topic" && self.named(shown.text) == asked);
        found.map_or("<none/>".to_owned(), |topic| {
            format!("<route><topic id=\"{}\" relevance=\"high\"/></route>", topic.id)
        })
    }
}

#[async_trait]
impl Model for Knowing {
    async fn ask(&self, question: &Question) -> scrollback::Result<Said> {
        self.asked.lock().unwrap().push(question.clone());
        let text = match question.task {
            "split" => self.split(&question.text),
            "read_topic" => self.read(&question.text),
            "route" => self.route(&question.text),
            "brief" => {
                let name = shown(&question.text).iter().find_map(|shown| self.named(shown.text));
                let name = name.map_or("?", |number| self.subjects[number].name.as_str());
                format!("<card><name>{name}</name><brief>All about {name}.</brief></card>")
            }
            _ => "I would rather not.".to_owned(),
        };
        let tokens = |text: &str| u32::try_from(Vocabulary::O200k.count(text)).unwrap();
        let input_tokens = tokens(&question.instructions) + tokens(&question.text);
        Ok(Said { input_tokens, output_tokens: tokens(&text), text, ..Said::default() })
    }
}

/// What stands between the tags of a question.
fn shown(text: &str) -> Vec<Shown<'_>> {
    let mut out = Vec::new();
    for piece in text.split("\n\n<").map(|piece| piece.trim_start_matches('<')) {
        let Some((head, body)) = piece.split_once(">\n") else { continue };
        let (tag, attributes) = head.split_once('-').unwrap_or((head, ""));
        let id = attributes.split("id=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("");
        let body = body.rsplit_once("\n</").map_or(body, |(body, _)| body);
        out.push(Shown { tag, id, text: body });
    }
    out
}
