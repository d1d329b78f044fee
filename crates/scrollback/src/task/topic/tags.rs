//! Reading the tags a model answers in, as models happen to write them.
//!
//! A [`Shape`] says which tags are expected where; only those count, so that prose around them, fences, quoted code and
//! tags of others are text. End tags and quotes may be missing, and JSON with the same names will do. Ids and numbers:
//! `numbers`.

use serde_json::Value;

use super::super::reply;
use super::attributes::{attributes, decoded, end_of_tag};

/// How many tags of a reply are looked at.
const TAGS: usize = 4_000;
/// How many places where an answer may begin are tried.
const TRIES: usize = 16;

/// What is expected of a tag.
pub(super) struct Shape {
    name: &'static str,
    /// Whether it holds free text, in which tags may be quoted.
    prose: bool,
    elements: &'static [Shape],
}

/// A tag that holds a word, a number or ids.
pub(super) const fn line(name: &'static str) -> Shape {
    Shape { name, prose: false, elements: &[] }
}

/// A tag that holds free text.
pub(super) const fn prose(name: &'static str) -> Shape {
    Shape { name, prose: true, elements: &[] }
}

/// A tag that holds others.
pub(super) const fn holding(name: &'static str, elements: &'static [Shape]) -> Shape {
    Shape { name, prose: false, elements }
}

/// A tag as found, with what it holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Element {
    name: &'static str,
    attributes: Vec<(String, String)>,
    /// Its own text, without that of the elements in it.
    pub(super) text: String,
    elements: Vec<Element>,
}

impl Element {
    /// Its elements of a name.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &Self> {
        self.elements.iter().filter(move |element| element.name == name)
    }

    /// What the first element or attribute of a name says, which may be nothing.
    pub(super) fn said(&self, name: &str) -> Option<&str> {
        let element = self.all(name).map(|element| element.text.trim()).next();
        let attribute = || self.attributes.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        element.or_else(|| attribute().map(|(_, value)| value.trim()))
    }

    /// What the first of several names says that says anything.
    pub(super) fn tells(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.said(name).filter(|said| !said.is_empty()))
    }
}

/// The first element of a shape in a reply that `accept` takes, tags before JSON; otherwise the complaint about the
/// first.
pub(super) fn read<T>(reply: &str, shape: &Shape, accept: impl Fn(&Element) -> Result<T, String>) -> Result<T, String> {
    reply::spoken(reply, |text| {
        let told = Tagged::new(text, shape).answer(shape, &accept);
        let complaint = match told {
            Some(Ok(answer)) => return Ok(answer),
            Some(Err(complaint)) => Some(complaint),
            None => None,
        };
        let missing = || format!("there is no <{0}>…</{0}> in it", shape.name);
        if !text.contains(['{', '[']) {
            return Err(complaint.unwrap_or_else(missing));
        }
        let told = reply::json(text, |value| accept(&in_json(value.get(shape.name).unwrap_or(value), shape)));
        told.map_err(|wrong| complaint.unwrap_or(if text.contains('{') { wrong } else { missing() }))
    })
}

struct Tag<'a> {
    name: &'static str,
    closes: bool,
    /// Whether it holds nothing: `<none/>`.
    empty: bool,
    attributes: &'a str,
    start: usize,
    end: usize,
}

impl Tag<'_> {
    fn opens(&self, name: &str) -> bool {
        !self.closes && self.name == name
    }

    /// Whether an element inside `outer` cannot go on where this stands.
    fn ends(&self, outer: &[&Shape]) -> bool {
        if self.closes { self.leaves(outer) } else { outer.iter().any(|shape| shape.expects(self).is_some()) }
    }

    fn leaves(&self, outer: &[&Shape]) -> bool {
        self.closes && outer.iter().any(|shape| shape.name == self.name)
    }
}

impl Shape {
    fn expects(&self, tag: &Tag<'_>) -> Option<&Self> {
        self.elements.iter().find(|element| tag.opens(element.name))
    }

    fn names(&self) -> Vec<&'static str> {
        std::iter::once(self.name).chain(self.elements.iter().flat_map(Self::names)).collect()
    }
}

/// A place in a text: the next tag, and the byte from which on nothing is read yet.
#[derive(Clone, Copy)]
struct Spot {
    tag: usize,
    byte: usize,
}

/// A text and the tags of a shape that stand in it.
struct Tagged<'a> {
    text: &'a str,
    tags: Vec<Tag<'a>>,
}

impl<'a> Tagged<'a> {
    fn new(text: &'a str, shape: &Shape) -> Self {
        let names = shape.names();
        let mut tags: Vec<Tag<'a>> = Vec::new();
        for (start, _) in text.match_indices('<') {
            if tags.len() < TAGS && tags.last().is_none_or(|last| last.end <= start) {
                tags.extend(tag_at(text, start, &names));
            }
        }
        Self { text, tags }
    }

    /// What is accepted, or the first complaint; nothing if there are no tags.
    fn answer<T>(&self, shape: &Shape, accept: impl Fn(&Element) -> Result<T, String>) -> Option<Result<T, String>> {
        if self.tags.is_empty() {
            return None;
        }
        let mut complaint = None;
        let roots = self.tags.iter().enumerate().filter(|(_, tag)| tag.opens(shape.name));
        let within = roots.take(TRIES).map(|(at, _)| self.element(shape, at, &[]).0);
        // Some leave the outermost tag out.
        let whole = std::iter::once_with(|| self.inside(shape, Spot { tag: 0, byte: 0 }, &[]).0);
        for element in within.chain(whole) {
            match accept(&element) {
                Ok(answer) => return Some(Ok(answer)),
                Err(wrong) => complaint = complaint.or(Some(wrong)),
            }
        }
        complaint.map(Err)
    }

    /// The element that a tag opens, and where to read on.
    fn element(&self, shape: &Shape, at: usize, outer: &[&Shape]) -> (Element, Spot) {
        let tag = &self.tags[at];
        let start = Spot { tag: at + 1, byte: tag.end };
        let (mut element, next) = if tag.empty {
            (Element { name: shape.name, ..Element::default() }, start)
        } else if shape.prose {
            self.words(shape, start, outer)
        } else {
            self.inside(shape, start, outer)
        };
        element.attributes = attributes(tag.attributes);
        (element, next)
    }

    /// What stands inside an element, up to its end or to what cannot belong to it.
    fn inside(&self, shape: &Shape, from: Spot, outer: &[&Shape]) -> (Element, Spot) {
        let around: Vec<&Shape> = outer.iter().copied().chain([shape]).collect();
        let (mut own, mut elements, mut spot) = (String::new(), Vec::new(), from);
        let mut next = Spot { tag: self.tags.len(), byte: self.text.len() };
        while let Some(tag) = self.tags.get(spot.tag) {
            if tag.closes && tag.name == shape.name {
                next = Spot { tag: spot.tag + 1, byte: tag.end };
                break;
            } else if let Some(inner) = shape.expects(tag) {
                own += &self.text[spot.byte..tag.start];
                own.push('\n');
                let (element, after) = self.element(inner, spot.tag, &around);
                elements.push(element);
                spot = after;
            } else if tag.ends(outer) {
                next = Spot { tag: spot.tag, byte: tag.start };
                break;
            } else {
                spot.tag += 1;
            }
        }
        own += &self.text[spot.byte..self.tags.get(spot.tag).map_or(self.text.len(), |tag| tag.start)];
        (Element { name: shape.name, text: decoded(&own), elements, ..Element::default() }, next)
    }

    /// Free text, up to the end tag that is not a quoted one.
    fn words(&self, shape: &Shape, from: Spot, outer: &[&Shape]) -> (Element, Spot) {
        let (end, next) = if let Some(at) = self.end_of_words(shape, from.tag, outer) {
            (self.tags[at].start, Spot { tag: at + 1, byte: self.tags[at].end })
        } else {
            let tag = (from.tag..self.tags.len()).find(|&at| self.tags[at].ends(outer)).unwrap_or(self.tags.len());
            let byte = self.tags.get(tag).map_or(self.text.len(), |tag| tag.start);
            (byte, Spot { tag, byte })
        };
        let text = decoded(&self.text[from.byte..end]);
        (Element { name: shape.name, text, ..Element::default() }, next)
    }

    /// The end tag of free text: one after which something expected follows, otherwise the first.
    fn end_of_words(&self, shape: &Shape, from: usize, outer: &[&Shape]) -> Option<usize> {
        let (mut first, mut left) = (None, false);
        for at in from..self.tags.len() {
            let tag = &self.tags[at];
            left |= tag.leaves(outer);
            if left && tag.opens(shape.name) {
                break;
            }
            if tag.closes && tag.name == shape.name {
                first = first.or(Some(at));
                if self.is_followed(shape, at, outer) {
                    return Some(at);
                }
            }
        }
        first
    }

    fn is_followed(&self, shape: &Shape, at: usize, outer: &[&Shape]) -> bool {
        let Some(next) = self.tags.get(at + 1) else { return true };
        let between = &self.text[self.tags[at].end..next.start];
        let blank = between.chars().all(|c| c.is_whitespace() || c == '`');
        let again = self.tags[at + 1..].iter().find(|tag| tag.name == shape.name).is_some_and(|tag| !tag.closes);
        next.leaves(outer) || again || blank && next.ends(outer)
    }
}

fn tag_at<'a>(text: &'a str, start: usize, names: &[&'static str]) -> Option<Tag<'a>> {
    let rest = text[start + 1..].trim_start_matches(' ');
    let (closes, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest.trim_start_matches(' ')));
    let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').unwrap_or(rest.len());
    let (word, rest) = rest.split_at(length);
    let name = *names.iter().find(|name| name.eq_ignore_ascii_case(word))?;
    if !rest.is_empty() && !rest.starts_with(|c: char| c.is_whitespace() || c == '>' || c == '/') {
        return None;
    }
    let (inner, after) = end_of_tag(rest);
    let attributes = rest[..inner].trim();
    let empty = attributes.ends_with('/');
    let end = text.len() - rest.len() + after;
    Some(Tag { name, closes, empty, attributes: attributes.trim_end_matches('/'), start, end })
}

/// JSON as if it had been tags.
fn in_json(value: &Value, shape: &Shape) -> Element {
    let mut element = Element { name: shape.name, ..Element::default() };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| element.take(key, value, shape)),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let inner = shape.elements.first().into_iter();
            element.elements.extend(inner.flat_map(|inner| items.iter().map(move |item| in_json(item, inner))));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            element.text = plain(value);
        }
    }
    element
}

impl Element {
    /// Takes a field for an element if one is expected, one or several of them, otherwise for an attribute.
    fn take(&mut self, key: &str, value: &Value, shape: &Shape) {
        let one = |name: &str| name.trim_end_matches('s').to_lowercase();
        match (shape.elements.iter().find(|inner| one(inner.name) == one(key)), value) {
            (Some(inner), Value::Array(items)) if items.iter().any(Value::is_object) => {
                self.elements.extend(items.iter().map(|item| in_json(item, inner)));
            }
            (Some(inner), value) => self.elements.push(in_json(value, inner)),
            (None, value) => self.attributes.push((key.to_owned(), plain(value))),
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests;
