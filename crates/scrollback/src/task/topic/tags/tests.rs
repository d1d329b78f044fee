//! Tags as models write them.

use super::*;

static LEAVES: [Shape; 3] = [line("relevance"), line("messages"), prose("summary")];
static READING: Shape = holding("reading", &LEAVES);
static PARTS: [Shape; 2] = [line("messages"), prose("brief")];
static TOPICS: [Shape; 1] = [holding("topic", &PARTS)];
static SPLIT: Shape = holding("split", &TOPICS);

fn reading(reply: &str) -> Result<[String; 3], String> {
    read(reply, &READING, |element| {
        let said = |name| element.said(name).unwrap_or_default().to_owned();
        element.said("relevance").ok_or("no relevance")?;
        Ok([said("relevance"), said("messages"), said("summary")])
    })
}

fn topics(reply: &str) -> Result<String, String> {
    read(reply, &SPLIT, |split| {
        let topic = |topic: &Element| {
            let words: Vec<&str> = topic.text.split_whitespace().collect();
            let name = topic.tells(&["id", "new"]).unwrap_or_default();
            format!("{name}: {} | {}", words.join(" "), topic.said("brief").unwrap_or_default())
        };
        let all: Vec<String> = split.all("topic").map(topic).collect();
        if all.is_empty() { Err("no <topic>".to_owned()) } else { Ok(all.join("; ")) }
    })
}

#[test]
fn tags_are_found_however_they_are_written() {
    for reply in [
        "<reading><relevance>0.85</relevance><messages>m42 m43</messages><summary>A & B.</summary></reading>",
        "Sure:\n```xml\n<READING>\n<Relevance> 0.85 </Relevance>\n<messages>m42 m43</messages>\n<summary>A &amp; B.</summary>\n</READING>\n```\nDone.",
        "<think>maybe <reading><relevance>0</relevance></reading></think><reading><summary>A &amp; B.</summary><messages>m42 m43<relevance>0.85</reading>",
        "<relevance>0.85\n<messages>m42 m43\n<summary>A & B.",
        "The shape is <reading>…</reading>. <reading><relevance>0.85</relevance><messages>m42 m43</messages><summary><![CDATA[A & B.]]></summary>",
        r#"{"reading": {"relevance": 0.85, "messages": "m42 m43", "summary": "A & B."}}"#,
    ] {
        assert_eq!(reading(reply).unwrap(), ["0.85", "m42 m43", "A & B."], "{reply}");
    }
    let json = reading(r#"{"Relevance": 0.85, "message": ["m42", 43], "summary": "x"}"#).unwrap();
    assert_eq!(json, ["0.85", "m42, 43", "x"]);
}

#[test]
fn quoted_tags_are_text() {
    let quoted = "We write `<messages>m1</messages>` and `</summary>` in <b>bold</b> and `<reading>`.";
    let reply =
        format!("<reading><relevance>1</relevance><summary>{quoted}</summary><messages>m2</messages></reading>");
    assert_eq!(reading(&reply).unwrap(), ["1", "m2", quoted]);
}

#[test]
fn topics_end_where_the_next_begins() {
    for (reply, expected) in [
        (
            r#"<split><topic id="t1">m1 m2</topic><topic new='B'>m3<brief>b</brief></topic></split>"#,
            "t1: m1 m2 | ; B: m3 | b",
        ),
        ("<topic id=t1>m1 m2\n<topic new=B>m3<brief>b</topic>", "t1: m1 m2 | ; B: m3 | b"),
        (r#"<topic new="A"><brief>a</brief> m1<topic new="B"><brief>b</brief>m3</topic>"#, "A: m1 | a; B: m3 | b"),
        (r#"<topic new="A">m1<brief>a</topic><topic new="B">m3<brief>b</brief></topic>"#, "A: m1 | a; B: m3 | b"),
        (r#"{"topics": [{"id": "t1", "messages": ["m1"]}, {"new": "B", "brief": "b"}]}"#, "t1:  | ; B:  | b"),
    ] {
        assert_eq!(topics(reply).as_deref(), Ok(expected), "{reply}");
    }
}

#[test]
fn complaints_name_what_is_missing() {
    assert!(reading("I would rather not.").unwrap_err().contains("no <reading>"));
    assert!(reading("<reading></reading>").unwrap_err().contains("no relevance"));
    assert!(reading(r#"{"summary": "x"}"#).unwrap_err().contains("no relevance"));
    assert!(reading("<think>hm").unwrap_err().contains("only reasoning"));
}

#[test]
fn hostile_replies_end_soon() {
    for piece in [
        "<split>",
        "<topic new=\"",
        "<brief>",
        "<topic=\"=\"=\"",
        "<topic a=\"=\"=\"",
        "<",
        "</brief>",
        "<topic><brief>x</topic>",
        "&",
        "[{<",
    ] {
        let _ = topics(&piece.repeat(1_000_000 / piece.len()));
    }
}

proptest::proptest! {
    #[test]
    fn nothing_panics(pieces in proptest::collection::vec("(<|</|<topic|<brief>|</brief>|<split|>|/>| id=| new=\"|“|”|'|=|&lt;|&#x4e2d;|&|<!\\[CDATA\\[|\\]\\]>|[a-z潮\n ]{1,3}|\\{\"topics\": |\\[|\\}|</think>){0,5}", 0..10)) {
        let reply = pieces.concat();
        let _ = (topics(&reply), reading(&reply));
    }
}
