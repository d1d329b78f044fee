//! Texts in brief: the sentences that say most, quoted in their order.
//!
//! What a sentence is worth is decided in `worth`; JSON is told by its shape (`outline`). Long texts are read at their
//! beginning and their end only, so the work is bounded however long they are.

use super::outline::outline;
use super::worth::choose;

/// How much of the beginning of a long text is read.
const HEAD_BYTES: usize = 130_000;
/// How much of its end is read.
const TAIL_BYTES: usize = 70_000;
/// Marks what was left out.
const GAP: &str = "\n[…]\n";

/// The most telling sentences of a text, in their order, in at most so many characters, on one line.
pub fn brief(text: &str, most_chars: usize) -> String {
    let read = ends(text, HEAD_BYTES, TAIL_BYTES);
    let whole = flat(&read);
    if whole.chars().count() <= most_chars {
        return whole;
    }
    let head = &text[..text.floor_char_boundary(HEAD_BYTES)];
    if let Some(lines) = outline(if text.len() == read.len() { text } else { head }) {
        return shortened(&joined(&lines), most_chars);
    }
    let sentences = sentences(&read);
    if sentences.is_empty() {
        return shortened(&whole, most_chars);
    }
    let quotes = choose(&sentences, most_chars).into_iter();
    joined(quotes.map(|quote| shortened(bare(&sentences[quote.sentence]), quote.most_chars)))
}

/// A text in at most about so many characters: its beginning, its end, and the most telling sentences between.
pub(super) fn excerpt(text: &str, most_chars: usize) -> String {
    let mut places = text.char_indices().map(|(at, _)| at);
    if places.nth(most_chars).is_none() {
        return text.to_owned();
    }
    let begin = text.char_indices().nth(most_chars / 2).map_or(text.len(), |(at, _)| at);
    let end = text[begin..].char_indices().rev().nth(most_chars / 4).map_or(text.len(), |(at, _)| begin + at);
    let between = brief(&text[begin..end], most_chars / 4);
    [&text[..begin], &between, &text[end..]].join(GAP)
}

/// The sentences of a text that ask something.
pub(super) fn questions(text: &str) -> String {
    let read = ends(text, HEAD_BYTES, TAIL_BYTES);
    let asking = sentences(&read).into_iter().filter(|sentence| sentence.ends_with(['?', '？']));
    asking.collect::<Vec<_>>().join(" ")
}

/// A text on one line in at most so many characters: cut after a sentence if one ends late enough, else between words.
pub(crate) fn shortened(text: &str, most_chars: usize) -> String {
    let text = flat(text);
    let Some((over, _)) = text.char_indices().nth(most_chars) else { return text };
    let kept = &text[..over];
    let least = kept.len() / 2;
    let mut stops = kept.char_indices().map(|(at, c)| (at + c.len_utf8(), c));
    let stop = stops.rfind(|(after, c)| *after > least && is_stop(*c, text[*after..].chars().next()));
    if let Some((after, _)) = stop {
        return kept[..after].to_owned();
    }
    let room = kept.char_indices().next_back().map_or(0, |(at, _)| at);
    let word = kept[..room].rfind(' ').filter(|at| *at > room / 2);
    if most_chars == 0 {
        String::new()
    } else {
        format!("{}…", kept[..word.unwrap_or(room)].trim_end_matches([' ', '·', ',']))
    }
}

/// The beginning and the end of a text, whole if it is not longer than both.
pub(super) fn ends(text: &str, head_bytes: usize, tail_bytes: usize) -> std::borrow::Cow<'_, str> {
    if text.len() <= head_bytes + tail_bytes {
        return text.into();
    }
    let head = &text[..text.floor_char_boundary(head_bytes)];
    let tail = &text[text.ceil_char_boundary(text.len() - tail_bytes)..];
    [head, tail].join(GAP).into()
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Sentences one after another, with a mark between those that have none of their own.
pub(super) fn joined<T: AsRef<str>>(sentences: impl IntoIterator<Item = T>) -> String {
    let mut out = String::new();
    for sentence in sentences {
        out += match out.chars().next_back() {
            None | Some('。' | '！' | '？' | '；' | '：') => "",
            Some('.' | '!' | '?' | ':') => " ",
            Some(_) => " · ",
        };
        out += sentence.as_ref();
    }
    out
}

/// Whether a sentence ends with a character that is followed by another.
fn is_stop(c: char, next: Option<char>) -> bool {
    matches!(c, '。' | '！' | '？' | '；') || matches!(c, '.' | '!' | '?') && next.is_none_or(char::is_whitespace)
}

/// Splits at the ends of sentences and lines.
pub(super) fn sentences(text: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    for line in text.lines() {
        let mut start = 0;
        let mut chars = line.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if is_stop(c, chars.peek().map(|(_, next)| *next)) {
                push(&mut sentences, &line[start..at + c.len_utf8()]);
                start = at + c.len_utf8();
            }
        }
        push(&mut sentences, &line[start..]);
    }
    sentences
}

/// Adds a sentence unless it has no words.
fn push(sentences: &mut Vec<String>, sentence: &str) {
    let sentence = flat(sentence);
    if sentence.chars().any(char::is_alphanumeric) && !sentence.starts_with("```") {
        sentences.push(sentence);
    }
}

/// A sentence without the marks of headings, quotations and lists.
fn bare(sentence: &str) -> &str {
    let rest = sentence.trim_start_matches('#');
    ["> ", "- ", "* ", " "].iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or(sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_are_quoted_whole() {
        assert_eq!(brief("One  line\nof text.", 60), "One line of text.");
        assert_eq!(brief("", 60), "");
    }

    #[test]
    fn the_subject_is_found_in_english_and_chinese() {
        let english = "Hello there. The tide gauge reports the level of the tide every minute. I had toast. \
                       When the tide gauge fails, the harbour reads the tide level by hand. Nice weather.";
        let told = brief(english, 80);
        assert!(told.contains("tide gauge"), "{told}");
        let chinese = "你好。潮位计每分钟报告一次潮位。我吃了面包。潮位计坏了的时候，港口人工读取潮位。天气不错。";
        assert!(brief(chinese, 20).contains("潮位"), "{}", brief(chinese, 20));
    }

    #[test]
    fn one_endless_sentence_is_cut() {
        let told = brief(&"word ".repeat(1000), 40);
        assert!((35..=40).contains(&told.chars().count()), "{told}");
        assert!(told.ends_with('…'));
        assert_eq!(brief(&"字".repeat(1000), 10), format!("{}…", "字".repeat(9)));
        assert_eq!(brief(&"- ".repeat(1000), 6), "- -…");
        for most_chars in 0..4 {
            assert!(brief("One two. Three four five.", most_chars).chars().count() <= most_chars);
        }
    }

    #[test]
    fn a_telling_sentence_is_cut_rather_than_left_out() {
        let told = brief(
            "We replace the gauge. The old gauge listens on port 3 at 4800 baud, and must never be asked more than once a minute.",
            80,
        );
        assert_eq!(told, "We replace the gauge. The old gauge listens on port 3 at 4800 baud, and must…");
    }

    #[test]
    fn logs_are_told_by_what_is_rare_in_them() {
        let usual =
            |i: usize| format!("2026-11-15T09:{:02}:00Z INFO request {i} served in {} ms\n", i % 60, i * 7 % 90);
        let mut log: Vec<String> = (0..2000).map(usual).collect();
        log[1200] = "2026-11-15T09:20:01Z ERROR disk /dev/sdb1 is full, 3 writes lost\n".to_owned();
        log[1700] = "2026-11-15T09:28:13Z WARN clock is 4 s behind\n".to_owned();
        log[900] = "2026-11-15T09:15:13Z INFO reloaded the settings\n".to_owned();
        let told = brief(&log.concat(), 240);
        assert!(told.contains("disk /dev/sdb1 is full") && told.contains("clock is 4 s behind"), "{told}");
        assert_eq!(told.matches("served in").count(), 1, "{told}");
        let chinese = "09:00:01 信息 已同步 12 条记录\n".repeat(60)
            + "09:31:07 错误 无法连接数据库，重试三次失败\n"
            + &"09:00:02 信息 已同步 9 条记录\n".repeat(60);
        assert!(brief(&chinese, 60).contains("无法连接数据库"), "{}", brief(&chinese, 60));
    }

    #[test]
    fn nothing_is_quoted_twice() {
        let text = "The gauge failed at noon. ".repeat(5)
            + "The harbour master was told by telephone. It was raining a little in the west.";
        assert_eq!(brief(&text, 90).matches("gauge failed").count(), 1);
    }

    #[test]
    fn json_is_told_by_its_shape() {
        let rows: Vec<String> = (0..5000)
            .map(|i| {
                format!(
                    r#"{{"id":{i},"title":"Result number {i}. It has dots. Many.","url":"https://example.org/{i}"}}"#
                )
            })
            .collect();
        let told = brief(&format!(r#"{{"total":5000,"results":[{}]}}"#, rows.join(",")), 200);
        assert!(told.starts_with("total: 5000 · results: ") && told.contains("+ × (id, title, url)"), "{told}");
        assert!(told.contains("id: 0, title: Result number 0."), "{told}");
    }

    #[test]
    fn documents_and_code_are_told_by_what_they_define() {
        let document = "# Tide gauges\n\n> Read this first.\n\n- The gauge must be levelled twice a year, and the level noted.\n\n\
                        | a | b |\n|---|---|\n| 1 | 2 |\n\n## Levelling\n\nLevelling the gauge takes two people and a calm sea.\n";
        let told = brief(document, 110);
        assert!(told.contains("Tide gauges") && told.contains("evel") && !told.contains("---"), "{told}");
        let code = "use std::fmt;\nuse std::io;\n\n/// Reads the tide gauge.\npub fn read_gauge(port: &Port) -> Level {\n    let x = port.take();\n    \
                    let y = x + 1;\n    y\n}\n\npub fn level_gauge(gauge: &Gauge) {\n    gauge.level();\n}\n";
        let told = brief(code, 100);
        assert!(told.contains("pub fn read_gauge"), "{told}");
    }

    #[test]
    fn texts_are_cut_after_sentences_or_between_words() {
        assert_eq!(shortened("It failed at 3.5 bar. Then it was mended.", 30), "It failed at 3.5 bar.");
        assert_eq!(shortened("a gauge that reports every minute", 20), "a gauge that…");
        assert_eq!(shortened("港口关闭了。明天上午九点重新开放。", 10), "港口关闭了。");
    }

    #[test]
    fn an_excerpt_has_the_beginning_the_end_and_what_matters() {
        let filler = "Nothing to see here today.\n".repeat(20_000);
        let text = format!("BEGIN {filler}The pump exploded at dawn!\n{filler} END");
        let told = excerpt(&text, 4_000);
        assert!(told.starts_with("BEGIN") && told.ends_with("END") && told.chars().count() < 4_100);
        assert_eq!(excerpt("short", 4_000), "short");
    }

    #[test]
    fn the_question_in_a_message_is_found() {
        assert_eq!(questions("Hello. Why does it fail? Thanks."), "Why does it fail?");
        assert_eq!(questions("你好。为什么失败？谢谢。"), "为什么失败？");
    }

    #[test]
    fn long_texts_take_no_longer_than_bounded_ones() {
        for text in ["a b c. ", "{\"a\": ", "x\n", "错误。", "\"", "[1, "] {
            let _ = brief(&text.repeat(700_000), 400);
        }
    }
}
