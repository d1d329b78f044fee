//! A drawing as SVG: a line for each row, ours thick.
//!
//! Lines differ in colour, in their dashes and in their marks, so that they can be told apart without colours. Colours
//! are classes that the page gives values, one set by day and one by night.

use std::fmt::Write;

use super::html::escaped;
use crate::table::{Line, Plot};

/// How many colours, dashes and marks there are before they come again.
const LOOKS: usize = 8;
const DASHES: [&str; LOOKS] = ["none", "6 3", "2 3", "9 3 2 3", "none", "4 2", "1 2", "12 4"];

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 444.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 222.0;

/// A drawing with its legend; `id` is its number on the page.
pub(super) fn figure(plot: &Plot, id: usize, title: &str) -> String {
    let Some(axes) = Axes::of(plot) else { return String::new() };
    let looks = looks(&plot.lines);
    // What is drawn last lies on top.
    let mut order: Vec<(&Line, &usize)> = plot.lines.iter().zip(&looks).collect();
    order.sort_by_key(|(line, _)| line.ours);
    let lines: String = order.into_iter().map(|(line, look)| axes.line(line, *look)).collect();
    let legend: String = plot.lines.iter().zip(&looks).map(|(line, look)| swatch(line, *look)).collect();
    let names: Vec<&str> = plot.lines.iter().map(|line| line.name.as_str()).collect();
    let told = format!("{} against {}, a line for each of: {}.", plot.y, plot.x, names.join("; "));
    format!(
        "<figure>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"t{id} d{id}\">\n<title id=\"t{id}\">{}</title>\n\
         <desc id=\"d{id}\">{}</desc>\n{}{lines}</svg>\n<figcaption><ul class=\"legend\">\n{legend}</ul></figcaption>\n</figure>\n",
        escaped(title),
        escaped(&told),
        axes.frame(plot)
    )
}

/// Which look each line has: the first of ours always the same one.
fn looks(lines: &[Line]) -> Vec<usize> {
    let first = lines.iter().position(|line| line.ours);
    let mut next = 0;
    let look = |i| {
        if Some(i) == first {
            return 0;
        }
        next = next % (LOOKS - 1) + 1;
        next
    };
    (0..lines.len()).map(look).collect()
}

/// Where numbers stand on the drawing.
struct Axes {
    x: (f64, f64),
    y: (f64, f64),
    logarithmic: bool,
    across: Vec<f64>,
    up: Vec<f64>,
}

impl Axes {
    /// None if there is nothing to draw.
    fn of(plot: &Plot) -> Option<Self> {
        let points = || plot.lines.iter().flat_map(|line| drawable(line, plot.logarithmic));
        let mut xs: Vec<f64> = points().map(|point| point.0).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let (&first, &last) = (xs.first()?, xs.last()?);
        let lowest = points().map(|point| point.1).fold(0.0, f64::min);
        let highest = points().map(|point| point.1).fold(0.0, f64::max);
        let up = even(lowest, if highest > lowest { highest } else { lowest + 1.0 });
        let across = match (xs.len() <= 8, plot.logarithmic) {
            (true, _) => xs,
            (false, true) => tens(first, last),
            (false, false) => even(first, last).into_iter().filter(|x| (first..=last).contains(x)).collect(),
        };
        let x = match (first < last, plot.logarithmic) {
            (true, _) => (first, last),
            (false, true) => (first / 2.0, first * 2.0),
            (false, false) => (first - 1.0, first + 1.0),
        };
        Some(Self { x, y: (*up.first()?, *up.last()?), logarithmic: plot.logarithmic, across, up })
    }

    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let scaled = |value: f64| if self.logarithmic { value.ln() } else { value };
        let (from, to) = (scaled(self.x.0), scaled(self.x.1));
        let (right, up) = ((scaled(x) - from) / (to - from), (y - self.y.0) / (self.y.1 - self.y.0));
        (LEFT + 8.0 + right * (RIGHT - LEFT - 16.0), BOTTOM - up * (BOTTOM - TOP))
    }

    /// The axes with their ticks and what they mean.
    fn frame(&self, plot: &Plot) -> String {
        let mut out = String::new();
        for &tick in &self.up {
            let (_, y) = self.place((self.x.0, tick));
            // Writing to a string does not fail.
            let _ = writeln!(out, "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/>");
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                y + 4.0,
                short(tick)
            );
        }
        let mut free = 0.0;
        for &tick in &self.across {
            let (x, _) = self.place((tick, self.y.0));
            let _ = writeln!(out, "<path class=\"axis\" d=\"M{x:.1} {BOTTOM}v5\"/>");
            let (label, half) = (short(tick), wide(&short(tick)) / 2.0);
            if x - half >= free {
                let _ =
                    writeln!(out, "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>", BOTTOM + 19.0);
                free = x + half + 6.0;
            }
        }
        let _ = writeln!(out, "<path class=\"axis\" d=\"M{LEFT} {BOTTOM}H{RIGHT}\"/>");
        let _ = writeln!(out, "<text class=\"of\" x=\"4\" y=\"14\">{}</text>", escaped(&plot.y));
        let (right, below) = (RIGHT, HEIGHT - 8.0);
        let _ = writeln!(
            out,
            "<text class=\"of\" x=\"{right}\" y=\"{below}\" text-anchor=\"end\">{}</text>",
            escaped(&plot.x)
        );
        out
    }

    fn line(&self, line: &Line, look: usize) -> String {
        let places: Vec<(f64, f64)> = drawable(line, self.logarithmic).map(|point| self.place(point)).collect();
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        let marks: String = places.iter().map(|&(x, y)| mark(x, y, look, line.ours)).collect();
        let (class, dash) = (class(line, look), DASHES[look]);
        if path.is_empty() {
            return String::new();
        }
        format!(
            "<g class=\"{class}\"><path class=\"line\" stroke-dasharray=\"{dash}\" d=\"M{}\"/>{marks}</g>\n",
            path.join("L")
        )
    }
}

/// The points that can be drawn.
fn drawable(line: &Line, logarithmic: bool) -> impl Iterator<Item = (f64, f64)> {
    let points = line.points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite());
    points.filter(move |(x, _)| !logarithmic || *x > 0.0)
}

fn class(line: &Line, look: usize) -> String {
    format!("l{look}{}", if line.ours { " ours" } else { "" })
}

/// A mark for a point: of four shapes, full and then open.
fn mark(x: f64, y: f64, look: usize, ours: bool) -> String {
    let r = if ours { 4.0 } else { 2.8 };
    let path = match look % 4 {
        0 => format!("M{:.1} {y:.1}a{r} {r} 0 1 0 {w} 0a{r} {r} 0 1 0 -{w} 0z", x - r, w = 2.0 * r),
        1 => format!("M{:.1} {:.1}h{w}v{w}h-{w}z", x - r, y - r, w = 2.0 * r),
        2 => format!("M{x:.1} {:.1}l{r} {h:.1}h-{w}z", y - r, h = 1.8 * r, w = 2.0 * r),
        _ => format!("M{x:.1} {:.1}l{r} {r}l-{r} {r}l-{r} -{r}z", y - r),
    };
    let open = if look < LOOKS / 2 { "" } else { " class=\"open\"" };
    format!("<path{open} d=\"{path}\"/>")
}

/// A line of the legend.
fn swatch(line: &Line, look: usize) -> String {
    let (class, dash, mark) = (class(line, look), DASHES[look], mark(17.0, 7.0, look, line.ours));
    format!(
        "<li><svg viewBox=\"0 0 34 14\" aria-hidden=\"true\"><g class=\"{class}\"><path class=\"line\" stroke-dasharray=\"{dash}\" \
         d=\"M1 7H33\"/>{mark}</g></svg>{}</li>\n",
        escaped(&line.name)
    )
}

/// Round numbers from one at or below `low` to one at or above `high`, about five of them.
fn even(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power).into_iter().find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(rough);
    let (first, last) = ((low / step).floor(), (high / step - 1e-9).ceil());
    let count = (last - first).clamp(1.0, 20.0);
    let places = (0..=20_u8).map(f64::from).take_while(|place| *place <= count);
    places.map(|place| (first + place) * step).collect()
}

/// The powers of ten between two numbers.
fn tens(low: f64, high: f64) -> Vec<f64> {
    (-12..=18).map(|power| 10_f64.powi(power)).filter(|ten| (low..=high).contains(ten)).collect()
}

/// About how wide a label is.
#[expect(clippy::cast_precision_loss, reason = "labels are short")]
fn wide(label: &str) -> f64 {
    label.chars().count() as f64 * 7.4
}

/// A number as it stands at a tick.
fn short(number: f64) -> String {
    let (number, unit) = match number.abs() {
        size if size >= 1e9 => (number / 1e9, "G"),
        size if size >= 1e6 => (number / 1e6, "M"),
        size if size >= 1e3 => (number / 1e3, "k"),
        _ => (number, ""),
    };
    let text = format!("{number:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}{unit}", if text == "-0" { "0" } else { text })
}

#[cfg(test)]
mod tests {
    use super::super::small;
    use super::*;

    #[test]
    fn ticks_are_round_and_short() {
        assert_eq!(even(0.0, 97.0), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(even(0.0, 100.0).last(), Some(&100.0));
        assert_eq!(even(-3.0, 7.0), [-4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(tens(5.0, 1_000.0), [10.0, 100.0, 1_000.0]);
        assert_eq!([1_500.0, 2e6, 0.25, -0.0].map(short), ["1.5k", "2M", "0.25", "0"]);
    }

    #[test]
    fn lines_run_to_the_right_and_up() {
        let plot = small("t").tables[0].plot.clone().unwrap();
        let axes = Axes::of(&plot).unwrap();
        let (low, high) = (axes.place((1_000.0, 0.0)), axes.place((2_000.0, 80.0)));
        assert!(low.0 < high.0 && low.1 > high.1 && low.0 >= LEFT && high.0 <= RIGHT && high.1 >= TOP);
        let text = figure(&plot, 3, "t");
        assert!(
            text.contains("class=\"l0 ours\"") && text.contains(">2k</text>") && text.contains("id=\"d3\""),
            "{text}"
        );
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }

    #[test]
    fn odd_points_do_no_harm() {
        let mut plot = small("t").tables[0].plot.clone().unwrap();
        plot.lines[0].points = vec![(0.0, 1.0), (f64::NAN, 1.0), (10.0, f64::INFINITY)];
        plot.lines[1].points = vec![(10.0, 0.0)];
        let text = figure(&plot, 0, "t");
        assert!(text.contains("<path d=\"M") && !text.contains("NaN") && !text.contains("inf"), "{text}");
        plot.lines[1].points.clear();
        assert_eq!(figure(&plot, 0, "t"), "");
    }
}
