//! What is read of Claude Code's files.

use super::*;

fn line(kind: &str, uuid: &str, parent: &str, content: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"sessionId":"s","message":{{"role":"{kind}","content":{content}}}}}"#
    )
}

fn check(lines: &[String], paths: &[&[&str]], skipped: &[&str]) {
    let import = read(&lines.join("\n"));
    let contents = |one: &Conversation| -> Vec<String> {
        let raws = one.messages.iter().map(|(raw, _)| raw.get());
        raws.map(|raw| raw[raw.find("content").unwrap() + 9..raw.len() - 1].to_owned()).collect()
    };
    assert_eq!(import.conversations.iter().map(contents).collect::<Vec<_>>(), paths);
    assert_eq!(import.skipped, skipped);
}

#[test]
fn a_lost_line_does_not_break_the_chain() {
    let lines = [line("user", "a", "", "1"), "{\"uuid\":\"b\"".into(), line("assistant", "c", "b", "3")];
    check(&lines, &[&["1", "3"]], &["line 2 is cut off"]);
}

#[test]
fn a_line_written_twice_is_read_once() {
    let lines = [line("user", "a", "", "1"), line("user", "a", "", "1"), line("user", "a", "", "2")];
    check(&lines, &[&["1"]], &["line 3 has the “uuid” of an earlier line, but other words"]);
}

#[test]
fn results_that_follow_each_other_are_one_message_and_a_second_answer_is_a_branch() {
    let result = |call: &str, words: &str| format!(r#"[{{"tool_use_id":"{call}","content":"{words}"}}]"#);
    let lines = [
        line("assistant", "a", "", "0"),
        line("user", "b", "a", &result("x", "1")),
        line("user", "c", "b", &result("y", "2")),
        line("user", "d", "a", &result("x", "3")),
    ];
    let both = r#"[{"tool_use_id":"x","content":"1"},{"tool_use_id":"y","content":"2"}]"#;
    check(&lines, &[&["0", both], &["0", &result("x", "3")]], &[]);
}

#[test]
fn what_follows_a_compaction_follows_what_was_before() {
    let boundary =
        r#"{"type":"system","subtype":"compact_boundary","uuid":"x","parentUuid":null,"logicalParentUuid":"b"}"#;
    let lines = [
        line("user", "a", "", "1"),
        line("assistant", "b", "a", "2"),
        boundary.into(),
        line("user", "c", "x", "\"summary\""),
        line("assistant", "d", "c", "4"),
    ];
    check(&lines, &[&["1", "2", "\"summary\"", "4"]], &[]);
    check(&[boundary.into(), line("user", "c", "x", "3")], &[&["3"]], &[]);
}

#[test]
fn files_that_were_attached_are_kept_and_other_attachments_counted() {
    let attached = |uuid: &str, parent: &str, what: &str| {
        format!(
            r#"{{"type":"attachment","uuid":"{uuid}","parentUuid":"{parent}","sessionId":"s","attachment":{what}}}"#
        )
    };
    let lines = [
        line("user", "a", "", "1"),
        attached(
            "b",
            "a",
            r#"{"type":"file","filename":"a.py","content":{"type":"text","file":{"filePath":"a.py","content":"x = 1"}}}"#,
        ),
        attached("c", "b", r#"{"type":"todo_reminder","content":[]}"#),
        attached("d", "c", r#"{"type":"edited_text_file","filename":"b.py","snippet":"y = 2"}"#),
        attached("e", "d", r#"{"type":"file","filename":"c.png","content":{"type":"image"}}"#),
        attached("g", "e", r#"{"type":"selected_lines_in_ide","lineStart":1,"filename":"d.py","content":"z = 3"}"#),
        line("assistant", "f", "g", "3"),
    ];
    let [one, two, four] = ["a.py\\n\\nx = 1", "b.py\\n\\ny = 2", "d.py\\n\\nz = 3"]
        .map(|text| format!(r#"[{{"type":"text","text":"{text}"}}]"#));
    let three = r#"[{"type":"claude-code.file","original_type":"file","filename":"c.png","content":{"type":"image"}}]"#;
    check(&lines, &[&["1", &one, &two, three, &four, "3"]], &[]);
    assert_eq!(read(&lines.join("\n")).remarks, ["left out: attachments without words of anybody: 1 × todo_reminder"]);
}

#[test]
fn what_commands_print_is_kept_and_other_notes_are_counted() {
    let noted = |uuid: &str, parent: &str, kind: &str, words: &str| {
        format!(
            r#"{{"type":"system","subtype":"{kind}","uuid":"{uuid}","parentUuid":"{parent}","sessionId":"s","content":{words}}}"#
        )
    };
    let printed = "\"<local-command-stdout>two files</local-command-stdout>\"";
    let lines = [
        line("user", "a", "", "1"),
        noted("b", "a", "local_command", printed),
        noted("c", "b", "away_summary", "\"The tests passed.\""),
        noted("d", "c", "turn_duration", "null"),
        line("assistant", "e", "d", "2"),
    ];
    check(&lines, &[&["1", printed, "2"]], &[]);
    let told = "left out: what Claude Code noted for the person alone: 1 × away_summary";
    assert_eq!(read(&lines.join("\n")).remarks, [told]);
}

#[test]
fn a_reply_that_is_still_being_written_is_kept_and_told() {
    let done = |uuid: &str, parent: &str| {
        line("assistant", uuid, parent, "2").replace("\"content\"", "\"stop_reason\":\"end_turn\",\"content\"")
    };
    let mut lines =
        vec![line("user", "a", "", "1"), done("b", "a"), line("user", "c", "b", "3"), line("assistant", "d", "c", "4")];
    let remarks = |lines: &[String]| read(&lines.join("\n")).remarks;
    check(&lines, &[&["1", "2", "3", "4"]], &[]);
    assert!(remarks(&lines)[0].starts_with("the last reply"));
    lines.push(line("user", "e", "d", "5"));
    check(&lines, &[&["1", "2", "3", "4", "5"]], &[]);
    assert!(remarks(&lines).is_empty(), "something follows it");
    lines.pop();
    lines[1] = line("assistant", "b", "a", "2");
    assert!(remarks(&lines).is_empty(), "no reply of this file tells why it ended");
}

#[test]
fn branches_share_the_bytes_of_what_they_have_in_common() {
    let lines = [line("user", "a", "", "1"), line("assistant", "b", "a", "2"), line("assistant", "c", "a", "3")];
    let import = read(&lines.join("\n"));
    let [one, two] = &import.conversations[..] else { panic!("{import:?}") };
    assert!(Arc::ptr_eq(&one.messages[0].0, &two.messages[0].0));
}

#[test]
fn titles_of_this_file_come_first_and_a_persons_before_all() {
    let mut lines = vec![line("user", "a", "", "1"), r#"{"type":"summary","summary":"ours","leafUuid":"a"}"#.into()];
    lines.push(r#"{"type":"summary","summary":"another","leafUuid":"z"}"#.into());
    let title = |lines: &[String]| read(&lines.join("\n")).conversations[0].title.clone();
    assert_eq!(title(&lines).as_deref(), Some("ours"));
    lines.insert(0, r#"{"type":"custom-title","customTitle":"mine"}"#.into());
    assert_eq!(title(&lines).as_deref(), Some("mine"));
}
