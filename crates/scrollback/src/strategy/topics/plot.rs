//! Drawings of how topics woke and slept: as text, one line a topic, and as an SVG that needs nothing else.
//!
//! In text, a bar is the average of a topic that is awake, `W` the turn it woke in, `S` the one it went to sleep in,
//! `·` sleep. The SVG has a lane for each topic: a band while it is awake, a thick line for the average, a thin one for
//! the scores.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::activation::{Became, Change};
use super::simulate::{Row, Script, Standing};
use crate::topic::TopicId;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Measures of the SVG, in pixels.
const LABEL: usize = 170;
const TURN: usize = 14;
const LANE: usize = 44;
const PLOT: usize = 34;
const HEAD: usize = 28;

/// Colours that read on light and on dark alike.
const STYLE: &str = "svg{color:#1f2328;font:12px system-ui,sans-serif}\
                     @media(prefers-color-scheme:dark){svg{color:#e6edf3}}\
                     text{fill:currentColor}.grid{stroke:currentColor;opacity:.15}.faint{opacity:.6}\
                     .band{fill:#3b82f6;opacity:.2}.average{fill:none;stroke:#3b82f6;stroke-width:2}\
                     .score{fill:none;stroke:currentColor;opacity:.4}.woke{fill:#16a34a}.slept{fill:#dc2626}";

/// The run as text: a line for each topic, then each change.
pub fn to_text(script: &Script, rows: &[Row]) -> String {
    let topics = topics(rows);
    let wide = topics.iter().map(|topic| columns(&script.label(*topic))).max().unwrap_or(0);
    let mut text = format!("{}  {}\n", " ".repeat(wide), ruler(rows.len()));
    for topic in topics {
        let label = script.label(topic);
        let line: String = rows.iter().map(|row| mark(row, topic)).collect();
        let pad = " ".repeat(wide - columns(&label));
        let _ = writeln!(text, "{label}{pad}  {}", line.trim_end());
    }
    let awake: String = rows.iter().map(|row| digit(row.active)).collect();
    let _ = writeln!(text, "{:wide$}  {awake}\n", "awake");
    for (row, change) in rows.iter().flat_map(|row| row.changes.iter().map(move |change| (row, change))) {
        let _ = writeln!(text, "{:>4}  {}", row.turn, sentence(script, change));
    }
    text
}

/// The run as an SVG that stands alone, on light and dark pages.
pub fn to_svg(script: &Script, rows: &[Row]) -> String {
    let topics = topics(rows);
    let (width, height) = (LABEL + TURN * rows.len() + 20, HEAD + LANE * topics.len() + 8);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\">\n<title>Topics over {} turns</title>\n<style>{STYLE}</style>\n",
        rows.len()
    );
    for turn in (1..=rows.len()).filter(|turn| *turn == 1 || turn % 5 == 0) {
        let x = across(turn);
        let _ = writeln!(svg, "<text class=\"faint\" x=\"{x}\" y=\"16\" text-anchor=\"middle\">{turn}</text>");
        let _ = writeln!(svg, "<line class=\"grid\" x1=\"{x}\" x2=\"{x}\" y1=\"{HEAD}\" y2=\"{height}\"/>");
    }
    for (place, topic) in topics.into_iter().enumerate() {
        lane(&mut svg, script, rows, topic, HEAD + LANE * place);
    }
    svg + "</svg>\n"
}

/// What a change comes to, as a sentence.
pub fn sentence(script: &Script, change: &Change) -> String {
    format!("{} {} ({:.2})", script.label(change.topic), change.became, change.average)
}

fn topics(rows: &[Row]) -> BTreeSet<TopicId> {
    rows.iter().flat_map(|row| row.topics.iter().map(|standing| standing.topic)).collect()
}

fn standing(row: &Row, topic: TopicId) -> Option<&Standing> {
    row.topics.iter().find(|standing| standing.topic == topic)
}

fn change(row: &Row, topic: TopicId) -> Option<&Change> {
    row.changes.iter().find(|change| change.topic == topic)
}

/// One turn of one topic.
fn mark(row: &Row, topic: TopicId) -> char {
    match (change(row, topic).map(|change| change.became), standing(row, topic)) {
        (Some(Became::Awake(_)), _) => 'W',
        (Some(Became::Asleep(_)), _) => 'S',
        (None, Some(standing)) if standing.active => bar(standing.average),
        (None, Some(_)) => '·',
        (None, None) => ' ',
    }
}

/// A count as one character: 0 to 9, then letters, then a plus.
fn digit(count: usize) -> char {
    u32::try_from(count).ok().filter(|count| *count < 36).and_then(|count| char::from_digit(count, 36)).unwrap_or('+')
}

fn bar(average: f32) -> char {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "averages are from 0 to 1")]
    let step = (average * 8.0) as usize;
    BARS[step.min(7)]
}

/// A number over every tenth turn.
fn ruler(turns: usize) -> String {
    let tens = (1..=turns / 10).map(|ten| format!("{:>10}", ten * 10));
    tens.collect()
}

/// How many columns a label takes; wide characters take two.
fn columns(label: &str) -> usize {
    label.chars().map(|c| if crate::search::is_unspaced(c) { 2 } else { 1 }).sum()
}

fn across(turn: usize) -> usize {
    LABEL + TURN * turn - TURN / 2
}

/// How far down a score is in a lane.
fn down(top: usize, score: f32) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a drawing is small")]
    let y = (top + PLOT) as f32 - score * PLOT as f32;
    format!("{y:.1}")
}

fn lane(svg: &mut String, script: &Script, rows: &[Row], topic: TopicId, top: usize) {
    let bottom = top + PLOT;
    let label = escaped(&script.label(topic));
    let _ = writeln!(svg, "<g>\n<text x=\"8\" y=\"{}\">{label}</text>", top + PLOT / 2 + 4);
    let _ = writeln!(
        svg,
        "<line class=\"grid\" x1=\"{LABEL}\" x2=\"{}\" y1=\"{bottom}\" y2=\"{bottom}\"/>",
        LABEL + TURN * rows.len()
    );
    for (from, to) in spans(rows, topic) {
        let (x, width) = (across(from) - TURN / 2, TURN * (to + 1 - from));
        let _ = writeln!(svg, "<rect class=\"band\" x=\"{x}\" y=\"{top}\" width=\"{width}\" height=\"{PLOT}\"/>");
    }
    let line = |class: &str, value: &dyn Fn(&Standing) -> Option<f32>| {
        let (mut path, mut pen) = (String::new(), 'M');
        for row in rows {
            let point = standing(row, topic).and_then(value).map(|score| down(top, score));
            let _ = point.as_ref().map_or(Ok(()), |y| write!(path, "{pen}{},{y}", across(row.turn)));
            pen = if point.is_some() { 'L' } else { 'M' };
        }
        format!("<path class=\"{class}\" d=\"{path}\"/>\n")
    };
    svg.push_str(&line("score", &|standing| standing.score));
    svg.push_str(&line("average", &|standing| Some(standing.average)));
    for (row, change) in rows.iter().filter_map(|row| Some((row, change(row, topic)?))) {
        let class = if matches!(change.became, Became::Awake(_)) { "woke" } else { "slept" };
        let (x, y, said) = (across(row.turn), down(top, change.average), escaped(&sentence(script, change)));
        let _ = writeln!(
            svg,
            "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"4\"><title>turn {}: {said}</title></circle>",
            row.turn
        );
    }
    svg.push_str("</g>\n");
}

/// The stretches of turns a topic was awake after.
fn spans(rows: &[Row], topic: TopicId) -> Vec<(usize, usize)> {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for row in rows.iter().filter(|row| standing(row, topic).is_some_and(|standing| standing.active)) {
        match spans.last_mut() {
            Some((_, to)) if *to + 1 == row.turn => *to = row.turn,
            _ => spans.push((row.turn, row.turn)),
        }
    }
    spans
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::strategy::topics::activation::ActivationSettings;

    const STORY: &str = include_str!("../../../../../fixtures/topics/interleaved.run");

    #[test]
    fn a_story_as_text() -> Result<()> {
        let script = Script::read(STORY, ActivationSettings::default())?;
        let text = to_text(&script, &script.run());
        assert_eq!(text, include_str!("../../../../../fixtures/topics/interleaved.txt"), "\n{text}");
        Ok(())
    }

    #[test]
    fn a_story_as_svg() -> Result<()> {
        let script = Script::read("name t1 <b> & co\nturn x6: t1=0.9 t2=0.4", ActivationSettings::default())?;
        let svg = to_svg(&script, &script.run());
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("t1 &lt;b&gt; &amp; co") && !svg.contains("<b>"));
        assert_eq!(svg.matches("class=\"band\"").count(), 2);
        assert_eq!(svg.matches("class=\"woke\"").count(), 2);
        Ok(())
    }

    #[test]
    fn nothing_can_be_drawn() {
        assert_eq!(to_text(&Script::default(), &[]), "  \nawake  \n\n");
        assert!(to_svg(&Script::default(), &[]).contains("</svg>"));
    }
}
