//! Markdown as HTML that can do no harm: no scripts, no images from elsewhere, links that lead away only where they
//! say. HTML that somebody wrote is words. Two walls: here it becomes text and odd links are left out, and ammonia lets
//! nothing through that is not on its list.

use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};
use axum::http::StatusCode;
use comrak::arena_tree::NodeEdge;
use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Ask, Refusal};

/// Markdown to be shown.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "MarkdownText")]
pub(super) struct Text {
    text: String,
}

/// The same as HTML.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MarkdownHtml")]
pub(super) struct Html {
    html: String,
}

/// Of the request that asks for it.
const MOST_BYTES: usize = 1 << 20;
/// What is longer is shown as it was written: nobody wrote it by hand, and drawing it takes as long as somebody hostile
/// likes.
const LONGEST: usize = 100_000;
/// The same of what is nested deeper.
const DEEPEST: usize = 100;
/// Tables may have so many cells beyond one for each byte.
const CELLS: usize = 1_000;

/// The only elements there are.
const TAGS: [&str; 29] = [
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "blockquote",
    "pre",
    "code",
    "em",
    "strong",
    "del",
    "a",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "hr",
    "br",
    "input",
    "sup",
    "section",
    "span",
];

static WALL: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut wall = Builder::empty();
    wall.tags(TAGS.into())
        .clean_content_tags(["script", "style"].into())
        .link_rel(Some("noopener noreferrer nofollow"))
        .url_schemes(["http", "https", "mailto"].into())
        .url_relative(UrlRelative::Deny)
        .add_tag_attributes("a", ["href"])
        .set_tag_attribute_value("a", "target", "_blank")
        .add_tag_attributes("code", ["class"])
        .add_tag_attributes("ol", ["start"])
        .add_tag_attributes("th", ["align"])
        .add_tag_attributes("td", ["align"])
        .add_tag_attributes("input", ["type", "checked", "disabled"])
        .strip_comments(true);
    wall
});

/// Shows Markdown.
pub(super) fn answer(ask: &Ask) -> Result<Value, Refusal> {
    if ask.body.len() > MOST_BYTES {
        let what = "Markdown of more than 1 MB is not drawn: send it in pieces";
        return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", what));
    }
    let Text { text } = ask.said(r#"{"text": "**bold**"}"#)?;
    Ok(serde_json::to_value(Html { html: html(&text) })?)
}

/// Markdown as HTML.
pub(super) fn html(text: &str) -> String {
    if text.len() > LONGEST || cells(text) > CELLS + text.len() {
        return as_written(text);
    }
    let (arena, options) = (Arena::new(), options());
    let root = comrak::parse_document(&arena, text, &options);
    if is_deep(root) {
        return as_written(text);
    }
    for node in root.descendants().collect::<Vec<_>>() {
        linked(&mut node.data_mut().value);
        spelled(&arena, node);
    }
    let mut drawn = String::new();
    // Writing to a string cannot fail.
    let _ = comrak::format_html(root, &options, &mut drawn);
    WALL.clean(&drawn).to_string()
}

/// How many cells the tables of a text may have at most. Rows are filled up to the width of their head: a few thousand
/// bytes can make millions.
fn cells(text: &str) -> usize {
    let marks = |letter: char| "|:->+*".contains(letter) || letter.is_whitespace() || letter.is_ascii_digit();
    let (mut columns, mut cells) = (0, 0_usize);
    for line in text.lines() {
        if line.contains('-') && line.chars().all(marks) {
            columns = columns.max(line.matches('|').count() + 1);
        } else if line.trim_matches(['>', ' ', '\t']).is_empty() {
            columns = 0;
        }
        cells = cells.saturating_add(columns);
    }
    cells
}

/// Whether it is nested so deep that drawing it would take long; reading it did not.
fn is_deep<'a>(root: &'a AstNode<'a>) -> bool {
    let mut depth = 0_usize;
    root.traverse().any(|edge| {
        match edge {
            NodeEdge::Start(_) => depth += 1,
            NodeEdge::End(_) => depth = depth.saturating_sub(1),
        }
        depth > DEEPEST
    })
}

/// Text that is shown letter by letter.
fn as_written(text: &str) -> String {
    let mut escaped = String::new();
    // Writing to a string cannot fail.
    let _ = comrak::html::escape(&mut escaped, text);
    format!("<pre>{escaped}</pre>\n")
}

/// An image would be fetched from wherever it says; a link to it is followed only by a person.
fn linked(value: &mut NodeValue) {
    if let NodeValue::Image(link) = value {
        *value = NodeValue::Link(std::mem::take(link));
    }
}

/// Tags are shown as they were written: left out, nobody would know that they had been there.
fn spelled<'a>(arena: &'a Arena<'a>, node: &'a AstNode<'a>) {
    let mut data = node.data_mut();
    let value = &mut data.value;
    if let NodeValue::HtmlInline(tag) = value {
        *value = NodeValue::Text(std::mem::take(tag).into());
    } else if let NodeValue::HtmlBlock(block) = value {
        let lines = std::mem::take(&mut block.literal);
        *value = NodeValue::Paragraph;
        add_lines(arena, node, lines.trim_end());
    }
}

fn add_lines<'a>(arena: &'a Arena<'a>, paragraph: &'a AstNode<'a>, lines: &str) {
    for (at, line) in lines.lines().enumerate() {
        if at > 0 {
            paragraph.append(arena.alloc(NodeValue::LineBreak.into()));
        }
        paragraph.append(arena.alloc(NodeValue::Text(indented(line).into()).into()));
    }
}

/// A browser would drop the spaces that a line begins with.
fn indented(line: &str) -> String {
    let words = line.trim_start();
    let before = line[..line.len() - words.len()].replace('\t', "    ").replace(' ', "\u{a0}");
    format!("{before}{words}")
}

fn options() -> Options<'static> {
    let mut options = Options::default();
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    options.extension.cjk_friendly_emphasis = true;
    options.render.hardbreaks = true;
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_is_drawn() {
        assert_eq!(html("**a** `b`\n\n- c"), "<p><strong>a</strong> <code>b</code></p>\n<ul>\n<li>c</li>\n</ul>\n");
        assert!(html("`![feature]` ![a](https://example.com/x.png)").contains("<code>![feature]</code> <a href="));
        assert!(html("这是**“重点”**内容").contains("<strong>“重点”</strong>"));
        assert!(html("```rust\nfn main() {}\n```").contains("<code class=\"language-rust\">"));
    }

    /// A row is as wide as the head of its table, however little it says.
    #[test]
    fn a_few_words_are_not_drawn_as_a_thousand_cells_each() {
        let table = |columns: usize, rows: usize, lead: &str| {
            let (head, rule) = ("|a".repeat(columns), "|-".repeat(columns));
            format!("{lead}{head}\n{lead}{rule}\n{}", format!("{lead}x\n").repeat(rows))
        };
        for lead in ["", "> ", "- "] {
            let wide = html(&table(1_000, 500, lead));
            assert!(wide.starts_with("<pre>") && wide.len() < 20_000, "{lead}: {}", wide.len());
        }
        assert!(html(&table(12, 80, "")).contains("<table>"));
        let apart = format!("{}\n{}", table(12, 3, ""), "It rained.\n".repeat(500));
        assert!(html(&apart).contains("<table>"), "what stands below a table is not in it");
        assert!(html(&"- a || b || c\n".repeat(300)).contains("<ul>"));
    }

    /// What somebody wrote is shown, tags and all: it is words here, not a page.
    #[test]
    fn html_is_shown_as_it_was_written() {
        let check = |text: &str, drawn: &str| assert_eq!(html(text), drawn, "{text}");
        check("What is <notes>?", "<p>What is &lt;notes&gt;?</p>\n");
        check(
            "Vec<String> & <b>bold</b> **so**",
            "<p>Vec&lt;String&gt; &amp; &lt;b&gt;bold&lt;/b&gt; <strong>so</strong></p>\n",
        );
        check("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n");
        check("a <!-- b --> c", "<p>a &lt;!-- b --&gt; c</p>\n");
        let page = "<div>\n  <p>Tom &amp; Jerry</p>\n</div>";
        check(page, "<p>&lt;div&gt;<br>\n&nbsp;&nbsp;&lt;p&gt;Tom &amp;amp; Jerry&lt;/p&gt;<br>\n&lt;/div&gt;</p>\n");
        check("- <div>\n- b", "<ul>\n<li>&lt;div&gt;</li>\n<li>b</li>\n</ul>\n");
        check(
            "[<b>a</b>](https://example.com)",
            "<p><a href=\"https://example.com\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">&lt;b&gt;a&lt;/b&gt;</a></p>\n",
        );
        check("`<b>` &lt;i&gt;", "<p><code>&lt;b&gt;</code> &lt;i&gt;</p>\n");
        check("```\n<b>&amp;</b>\n```", "<pre><code>&lt;b&gt;&amp;amp;&lt;/b&gt;\n</code></pre>\n");
    }

    #[test]
    fn what_is_meant_to_take_long_does_not() {
        let indented = (0..400).map(|depth| "  ".repeat(depth)).collect::<Vec<_>>().join("- a\n");
        let alike = |piece: &str| piece.repeat(20_000 / piece.len());
        let hostile = [
            ">",
            "> ",
            "- ",
            "+ ",
            "1. ",
            "* a ",
            "- > ",
            "[",
            "![",
            "[a](",
            "](",
            "`",
            "` `` ",
            "*",
            "_",
            "**a *b ",
            "*a_b",
            "~",
            "~a",
            "<",
            "<a",
            "&",
            "|",
            "|a",
            "|-|\n",
            "www.",
            "a@a.",
            "http://",
            "(",
            "\\",
            "[a]: b\n",
            "[a]",
            "\t",
            "> - ",
            "- [ ] ",
            ">\n",
            "#",
            "a\n=\n",
            "<!--",
            "*a **a ",
            "\u{4e2d}**",
        ];
        for text in hostile.map(alike).into_iter().chain([indented, ">".repeat(1 << 20), "x".repeat(4 << 20)]) {
            let begun = std::time::Instant::now();
            html(&text);
            let took = begun.elapsed().as_millis();
            assert!(took < 500, "{text:.20}: {took} ms");
        }
        assert_eq!(html(&">".repeat(200)), format!("<pre>{}</pre>\n", "&gt;".repeat(200)));
        assert!(html(&format!("{}<script>", ">".repeat(200))).contains("&lt;script&gt;"));
    }

    #[test]
    fn nothing_of_it_runs() {
        for hostile in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "[a](javascript:alert(1))",
            "[a](JaVaScRiPt:alert(1))",
            "[a](data:text/html,<script>alert(1)</script>)",
            "![a](https://tracker.example/x.png)",
            "<svg onload=alert(1)>",
            "<a href=\"vbscript:x\" onclick=\"x\">a</a>",
            "<iframe src=https://example.com></iframe>",
            "[a](  java\tscript:alert(1))",
            "<style>*{display:none}</style>",
            "<form action=https://example.com><input name=x></form>",
            "```\"><script>alert(1)</script>\nx\n```",
            "<div>\n<script>alert(1)</script>\n<p onclick=alert(1)>\n</div>",
            "a <!--><img src=x onerror=alert(1)>--> b",
            "[<img src=x onerror=alert(1)>](https://example.com)",
            "| <svg onload=alert(1)> |\n|---|\n| <b> |",
            "&lt;script&gt;alert(1)&lt;/script&gt;",
        ] {
            let drawn = html(hostile);
            let low = drawn.to_lowercase();
            for bad in ["<script", "<img", "<iframe", "<svg", "<style", "<form"] {
                assert!(!low.contains(bad), "{hostile} → {drawn}");
            }
            let bad = [" on", "href=\"java", "href=\"data", "href=\"vb"];
            let is_safe =
                |(name, rest): (&str, &str)| TAGS.contains(&name) && !bad.iter().any(|bad| rest.contains(bad));
            assert!(tags(&low).all(is_safe), "{hostile} → {drawn}");
        }
    }

    /// The tags of a text, each with what stands in it after its name.
    fn tags(html: &str) -> impl Iterator<Item = (&str, &str)> {
        html.split('<').skip(1).map(|tag| {
            let inside = tag.split('>').next().unwrap_or_default().trim_start_matches('/');
            let end = inside.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inside.len());
            inside.split_at(end)
        })
    }
}
