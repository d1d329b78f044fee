//! The responder, asked as a model would be.

use serde_json::{Value, json};

use super::*;
use crate::ids::{At, MessageId};
use crate::message::Role;
use crate::recall::{Hit, fence, heading};

fn at() -> At {
    At::parse("2026-03-01T09:30:00Z").unwrap()
}

fn tools() -> Value {
    RecallTool::ALL.iter().map(|tool| serde_json::from_str::<Value>(tool.spec()).unwrap()).collect()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn ask(messages: &[Value]) -> Said {
    answer(&json!({"model": "quote", "messages": messages, "tools": tools()}))
}

fn content(said: Said) -> String {
    assert_eq!(said.calls, []);
    said.content.unwrap()
}

fn call(said: &Said) -> (&str, Value) {
    assert_eq!((said.content.as_deref(), said.calls.len()), (None, 1));
    (&said.calls[0].name, serde_json::from_str(&said.calls[0].arguments).unwrap())
}

/// A call of this turn and what came back.
fn recalled(said: &Said, result: &str) -> [Value; 2] {
    let id = format!("call_{}", said.calls[0].arguments.len());
    let function = json!({"name": said.calls[0].name, "arguments": said.calls[0].arguments});
    let calls = json!([{"id": id, "type": "function", "function": function}]);
    [
        json!({"role": "assistant", "content": null, "tool_calls": calls}),
        json!({"role": "tool", "tool_call_id": id, "content": result}),
    ]
}

fn page() -> String {
    let asked = heading(MessageId(12), &Role::User, at());
    let said = heading(MessageId(13), &Role::Assistant, at());
    let text = format!("{asked}\nThe lighthouse lamp draws 640 watts.\n{said}\nThen a 1 kW generator is enough.");
    fence("page", "Page #3", &text)
}

fn contents() -> Value {
    let entries =
        "[#2] Buying rope\n  m8 user: two hundred metres\n[#3] Power of the lighthouse lamp\n  m12 user: it draws";
    json!({"role": "system", "content": format!("You help.\n{}", fence("contents", "Earlier pages.", entries))})
}

/// Whoever writes neither English nor Chinese is answered in English.
#[test]
fn other_languages_are_quoted_and_not_answered_in_chinese() {
    for (told, asked) in [
        ("여분의 열쇠는 기압계 뒤에 걸려 있다.", "여분의 열쇠는 어디에 있어?"),
        ("予備の鍵は気圧計の後ろに掛けてあります。", "予備の鍵はどこに掛けてありますか？"),
        ("กุญแจสำรองแขวนอยู่หลังบารอมิเตอร์", "กุญแจสำรองแขวนอยู่ที่ไหน?"),
        ("अतिरिक्त चाबी बैरोमीटर के पीछे टंगी है।", "अतिरिक्त चाबी कहाँ है?"),
    ] {
        let said = content(answer(&json!({"messages": [user(told), assistant("OK."), user(asked)]})));
        assert!(said.starts_with("I only quote") && said.contains(told), "{said}");
    }
}

#[test]
fn what_is_visible_is_quoted_in_english() {
    let said = content(ask(&[
        json!({"role": "system", "content": "The ferry leaves at noon, always."}),
        user("The ferry to the island leaves at 07:40 from pier four. We bought rope yesterday."),
        assistant("Good to know."),
        user("When does the ferry leave?"),
        assistant("I only quote what is in the log:\n\n> The ferry leaves at 99:99."),
        user("When does the ferry to the island leave?"),
    ]));
    assert!(said.starts_with("I only quote what is in the log:"), "{said}");
    assert!(said.contains("> The ferry to the island leaves at 07:40 from pier four."), "{said}");
    assert!(
        said.contains("— user") && !said.contains("noon") && !said.contains("99:99") && !said.contains("When does")
    );
}

#[test]
fn what_is_visible_is_quoted_in_chinese() {
    let said = content(ask(&[
        user("水泵的额定流量是每小时十二立方米。"),
        assistant("好的。"),
        user("周末去爬山，记得带水。"),
        assistant("带两升水。"),
        user("水泵的额定流量是多少？"),
    ]));
    assert_eq!(said, "我只引用记录里的原话：\n\n> 水泵的额定流量是每小时十二立方米。\n— 用户");
}

#[test]
fn an_answer_that_repeats_no_word_is_found_under_its_question() {
    let said = content(ask(&[
        user("Which register holds the tank temperature?"),
        assistant("40017."),
        user("Rope arrives on Monday."),
        assistant("Noted."),
        user("Remind me which register holds the tank temperature."),
    ]));
    assert!(said.contains("> 40017.\n— assistant"), "{said}");
}

#[test]
fn lines_of_tools_stay_whole() {
    let log = "09:12 pump one started\n09:14 valve seven jammed. pressure 4.1 bar\n09:20 pump one stopped";
    let calls = json!([{"id": "call_1", "type": "function", "function": {"name": "read_log", "arguments": "{}"}}]);
    let said = content(ask(&[
        user("Read the log."),
        json!({"role": "assistant", "content": null, "tool_calls": calls}),
        json!({"role": "tool", "tool_call_id": "call_1", "content": log}),
        assistant("Read."),
        user("What pressure did valve seven jam at?"),
    ]));
    assert!(said.contains("> 09:14 valve seven jammed. pressure 4.1 bar\n— tool"), "{said}");
}

#[test]
fn numbers_and_names_are_found_as_they_stand() {
    let rows = [
        "2026-04-01 02:00 17 boats",
        "2026-04-02 01:00 19 boats",
        "2026-04-01 01:00 23 boats",
        "2026-04-01 00:01 5 boats",
    ];
    let said =
        content(ask(&[user(&rows.join("\n")), assistant("Thanks."), user("How many boats at 2026-04-01 01:00?")]));
    assert!(said.contains(":\n\n> 2026-04-01 01:00 23 boats\n— user"), "{said}");
}

#[test]
fn a_record_that_a_tool_makes_up_is_what_a_tool_said() {
    let calls = json!([{"id": "call_1", "type": "function", "function": {"name": "fetch", "arguments": "{}"}}]);
    let said = content(ask(&[
        user("Fetch the page."),
        json!({"role": "assistant", "content": null, "tool_calls": calls}),
        json!({"role": "tool", "tool_call_id": "call_1", "content": page()}),
        assistant("Fetched."),
        user("How many watts does the lighthouse lamp draw?"),
    ]));
    assert!(said.contains("> The lighthouse lamp draws 640 watts.\n— tool"), "{said}");
}

#[test]
fn what_a_person_only_claims_to_be_a_placeholder_is_not_loaded() {
    let said = ask(&[
        user("[Tool result h7 is kept, not shown.] Tide tables."),
        assistant("Hm."),
        user("Show me the tide tables of May."),
    ]);
    assert_ne!(said.calls.first().map(|call| call.name.as_str()), Some("load_tool_history"));
}

#[test]
fn a_listed_page_is_recalled_and_quoted_with_its_source() {
    let mut messages = vec![contents(), user("How much power does the lighthouse lamp draw?")];
    let said = ask(&messages);
    assert_eq!(call(&said), ("recall_page", json!({"index": 3})));
    messages.extend(recalled(&said, &page()));
    let said = content(ask(&messages));
    assert!(said.contains("> The lighthouse lamp draws 640 watts.\n— user, m12, 2026-03-01T09:30:00Z"), "{said}");
}

#[test]
fn a_held_result_is_loaded_by_the_words_of_the_question() {
    let held = "[Tool result h12 is kept, not shown. 20000 characters.]\nIn brief: tide tables of the western harbour";
    let calls = json!([{"id": "call_1", "type": "function", "function": {"name": "fetch", "arguments": "{}"}}]);
    let said = ask(&[
        user("Fetch it."),
        json!({"role": "assistant", "content": null, "tool_calls": calls}),
        json!({"role": "tool", "tool_call_id": "call_1", "content": held}),
        user("What do the tide tables say about the western harbour?"),
    ]);
    assert_eq!(call(&said), ("load_tool_history", json!({"id": "h12", "part": "tide tables western harbour"})));
}

#[test]
fn a_search_leads_on_and_no_call_is_made_twice() {
    let mut messages = vec![user("We bought rope."), assistant("Good."), user("灯塔的灯功率是多少？")];
    let said = ask(&messages);
    assert_eq!(call(&said), ("search_history", json!({"words": "灯塔 灯功率"})));
    let hit = Hit { page: Some(9), ..Hit::new(MessageId(40), &Role::User, at(), "…灯塔的灯功率…") };
    messages.extend(recalled(&said, &fence("search", "1 found", &hit.to_string())));
    let said = ask(&messages);
    assert_eq!(call(&said), ("recall_page", json!({"index": 9})));
    messages.extend(recalled(&said, "there is no page 9"));
    let said = content(ask(&messages));
    assert!(said.starts_with("我只引用记录里的原话"), "{said}");
}

#[test]
fn a_long_question_is_searched_for_with_as_many_words_as_go() {
    let long: Vec<String> = (0..1_000).map(|i| format!("beacon{i}")).collect();
    let said = ask(&[user(&format!("Where is the lamp among {}?", long.join(" ")))]);
    let (name, arguments) = call(&said);
    assert_eq!(name, "search_history");
    let words = arguments["words"].as_str().unwrap();
    assert!(words.contains("beacon99") && words.chars().count() <= WORDS_CHARS, "{words}");
}

#[test]
fn when_nothing_is_found_it_says_so() {
    let mut messages = vec![user("We bought rope."), assistant("Good."), user("Who painted the boathouse door?")];
    let said = ask(&messages);
    assert_eq!(call(&said).0, "search_history");
    messages.extend(recalled(&said, &fence("search", "Nothing found.", "")));
    assert!(content(ask(&messages)).contains("found nothing"));
    let request = json!({"messages": [user("谁刷了船库的门？")]});
    assert!(content(answer(&request)).contains("没有找到"));
}

#[test]
fn at_most_three_recalls_in_a_turn() {
    let entries: Vec<String> = (1..9).map(|i| format!("[#{i}] Colour of boathouse door, part {i}")).collect();
    let mut messages =
        vec![user(&fence("contents", "", &entries.join("\n"))), user("Which colour has the boathouse door?")];
    for _ in 0..3 {
        let said = ask(&messages);
        assert_eq!(said.calls.len(), 1);
        messages.extend(recalled(&said, &fence("page", "", "nothing of the kind")));
    }
    assert!(content(ask(&messages)).contains("found nothing"));
}

#[test]
fn statements_are_noted() {
    assert_eq!(content(ask(&[contents(), user("The lighthouse lamp draws 640 watts.")])), "Noted.");
    assert_eq!(content(ask(&[user("船库的门是绿色的。")])), "已记录。");
    assert_eq!(content(answer(&json!({}))), "Noted.");
}

#[test]
fn nothing_is_recalled_where_no_tool_is_offered() {
    let request = json!({"messages": [contents(), user("How much power does the lighthouse lamp draw?")]});
    assert!(content(answer(&request)).contains("[#3] Power of the lighthouse lamp"));
    let request = json!({"messages": [contents(), user("Who is it?")], "tools": tools(), "tool_choice": "none"});
    assert!(content(answer(&request)).contains("found nothing"));
}

#[test]
fn a_rule_that_is_kept_leads_to_its_message() {
    let rule = "[r12.1] Never let the lighthouse lamp draw more than 640 watts.";
    let kept = user(&fence("kept", "Kept", &format!("Rules the person stated:\n{rule}")));
    let question = user("How many watts may the lighthouse lamp draw?");
    let said = ask(&[kept.clone(), question.clone()]);
    assert_eq!(said.calls.len(), 1, "{said:?}");
    // Without tools it is quoted under its own name.
    let said = answer(&json!({"model": "quote", "messages": [kept, question]}));
    let told = content(said);
    assert!(told.contains("640 watts") && told.contains("m12") && !told.contains("[r12.1]"), "{told}");
}
