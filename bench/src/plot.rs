//! Plots of a cost against a size. Both axes are logarithmic: a power of the size is a straight line, and its slope is the
//! exponent. The plots are SVG, in the reader's light or dark colours. A crate would need two files for these, or has no
//! logarithmic axis (docs/decisions/0027-kept-crates.md).

use std::fmt::Write as _;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 460.0;
/// The positions of the axes.
const LEFT: f64 = 84.0;
const RIGHT: f64 = 712.0;
const TOP: f64 = 106.0;
const BOTTOM: f64 = 402.0;

/// Colours for both colour schemes, and the styles of lines. The two lines also differ by the shape of their points.
const STYLE: &str = "\
    svg { font: 14px system-ui, sans-serif; }
    .ground { fill: #ffffff; } .text { fill: #1f2328; } .grid { stroke: #d1d9e0; } .axis { stroke: #59636e; }
    .a { stroke: #0a58b0; fill: #0a58b0; } .b { stroke: #a84300; fill: #a84300; }
    .line { fill: none; stroke-width: 2; } .spread { stroke-width: 1; } .title { font-size: 16px; font-weight: 600; }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #0d1117; } .text { fill: #f0f6fc; } .grid { stroke: #30363d; } .axis { stroke: #9198a1; }
      .a { stroke: #66adff; fill: #66adff; } .b { stroke: #ffa657; fill: #ffa657; }
    }";

/// The unit of an axis's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Count,
    Bytes,
    /// Nanoseconds.
    Time,
}

/// An axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    pub label: &'static str,
    pub unit: Unit,
}

/// The measurements at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    /// The median, and the 5th and 95th percentile.
    pub y: f64,
    pub low: f64,
    pub high: f64,
}

/// The points of one subject, by size.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub name: String,
    pub points: Vec<Point>,
}

impl Line {
    /// Returns the exponent of the growth: the slope of the least-squares line through all points.
    #[must_use]
    pub fn slope(&self) -> f64 {
        slope(&self.points)
    }

    /// Like [`Line::slope`], for sizes from a tenth of the largest one: a cost that dominates at small sizes may not matter there.
    #[must_use]
    pub fn last_slope(&self) -> f64 {
        let largest = self.points.last().map_or(0.0, |point| point.x);
        let from = self.points.partition_point(|point| point.x < largest / 10.0 * 0.999);
        slope(&self.points[from..])
    }
}

/// Returns the slope of the least-squares line through the logarithms of the points.
fn slope(points: &[Point]) -> f64 {
    let logarithms: Vec<(f64, f64)> = points.iter().map(|point| (point.x.ln(), point.y.ln())).collect();
    let count = logarithms.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logarithms.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let both: f64 = logarithms.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    both / logarithms.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>()
}

/// Prints a slope, for the plot and the page.
#[must_use]
pub fn written(slope: f64) -> String {
    // Adding 0.0 removes the minus before a zero.
    format!("{:.2}", (slope * 100.0).round() / 100.0 + 0.0)
}

/// Prints a number of an axis with its unit and about three digits.
#[must_use]
pub fn said(number: f64, unit: Unit) -> String {
    let (number, word) = match unit {
        Unit::Time if number < 1e3 => (number, " ns"),
        Unit::Time if number < 1e6 => (number / 1e3, " µs"),
        Unit::Time if number < 1e9 => (number / 1e6, " ms"),
        Unit::Time => (number / 1e9, " s"),
        Unit::Bytes if number < 1e3 => (number, " bytes"),
        Unit::Bytes if number < 1e6 => (number / 1e3, " KB"),
        Unit::Bytes => (number / 1e6, " MB"),
        Unit::Count => (number, ""),
    };
    let digits = (2.0 - number.abs().max(1.0).log10().floor()).max(0.0) as usize;
    let text = format!("{number:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{}{word}", in_groups(text))
}

/// Separates thousands: 1 000 000.
fn in_groups(text: &str) -> String {
    let (whole, rest) = text.find('.').map_or((text, ""), |at| text.split_at(at));
    let mut grouped = String::new();
    for (at, digit) in whole.char_indices() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped + rest
}

/// A plot of at most two lines.
#[derive(Clone, Debug)]
pub struct Plot<'a> {
    pub title: &'a str,
    pub x: Axis,
    pub y: Axis,
    pub lines: &'a [Line],
}

/// The exponents of the powers of ten at which an axis begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decades(i32, i32);

impl Decades {
    /// The decades around all of these numbers, at least one.
    fn around(numbers: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        numbers.for_each(|number| (low, high) = (low.min(number), high.max(number)));
        // If the largest number is only a little above a power of ten, the axis ends there.
        let (low, high) = (low.log10().floor() as i32, (high.log10() - 0.02).ceil() as i32);
        Self(low, high.max(low + 1))
    }

    /// Returns the place of a number on the axis, from 0 to 1.
    fn place(self, number: f64) -> f64 {
        ((number.log10() - f64::from(self.0)) / f64::from(self.1 - self.0)).clamp(0.0, 1.0)
    }

    fn ticks(self) -> impl Iterator<Item = f64> {
        (self.0..=self.1).map(|power| 10_f64.powi(power))
    }
}

impl Plot<'_> {
    /// Returns the plot as an SVG file.
    #[must_use]
    pub fn svg(&self) -> String {
        let all = || self.lines.iter().flat_map(|line| &line.points);
        let across = Decades::around(all().map(|point| point.x));
        let up = Decades::around(all().flat_map(|point| [point.low, point.high]));
        let place = |x: f64, y: f64| (LEFT + across.place(x) * (RIGHT - LEFT), BOTTOM - up.place(y) * (BOTTOM - TOP));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"title\">\n  \
             <title id=\"title\">{}</title>\n  <style>\n{STYLE}\n  </style>\n  \
             <rect class=\"ground\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n",
            escaped(self.title)
        );
        let _ = writeln!(svg, "  <text class=\"text title\" x=\"20\" y=\"32\">{}</text>", escaped(self.title));
        for number in across.ticks() {
            let (x, _) = place(number, 1.0);
            rule(&mut svg, (x, TOP), (x, BOTTOM));
            label(&mut svg, (x, BOTTOM + 22.0), "middle", &said(number, self.x.unit));
        }
        for number in up.ticks() {
            let (_, y) = place(1.0, number);
            rule(&mut svg, (LEFT, y), (RIGHT, y));
            label(&mut svg, (LEFT - 8.0, y + 5.0), "end", &said(number, self.y.unit));
        }
        let _ = writeln!(svg, "  <path class=\"axis\" fill=\"none\" d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\"/>");
        label(&mut svg, (f64::midpoint(LEFT, RIGHT), BOTTOM + 46.0), "middle", self.x.label);
        label(&mut svg, (20.0, TOP - 14.0), "start", self.y.label);
        for (number, line) in self.lines.iter().enumerate() {
            draw(&mut svg, number, line, place);
        }
        svg + "</svg>\n"
    }
}

/// Draws the line, and its name and slope above the plot.
fn draw(svg: &mut String, number: usize, line: &Line, place: impl Fn(f64, f64) -> (f64, f64)) {
    let class = if number == 0 { "a" } else { "b" };
    let name = format!("{}: slope {}", line.name, written(line.slope()));
    let (x, y) = (28.0 + 350.0 * number as f64, 60.0);
    let _ = writeln!(svg, "  <g class=\"{class}\" data-line=\"{}\">", escaped(&line.name));
    marker(svg, number, (x, y - 5.0), &name);
    let path: Vec<String> = line.points.iter().map(|point| pair(place(point.x, point.y))).collect();
    let _ = writeln!(svg, "    <polyline class=\"line\" points=\"{}\"/>", path.join(" "));
    for point in &line.points {
        let ((x, y), (_, low), (_, high)) =
            (place(point.x, point.y), place(point.x, point.low), place(point.x, point.high));
        let _ = writeln!(svg, "    <path class=\"spread\" d=\"M{x:.1} {low:.1}V{high:.1}\"/>");
        marker(svg, number, (x, y), &said(point.y, Unit::Time));
    }
    svg.push_str("  </g>\n");
    label(svg, (x + 12.0, y), "start", &name);
}

/// Draws a round point for the first line, and a square one for the second.
fn marker(svg: &mut String, number: usize, (x, y): (f64, f64), title: &str) {
    let title = escaped(title);
    let _ = match number {
        0 => writeln!(svg, "    <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{title}</title></circle>"),
        _ => writeln!(
            svg,
            "    <rect x=\"{:.1}\" y=\"{:.1}\" width=\"8\" height=\"8\"><title>{title}</title></rect>",
            x - 4.0,
            y - 4.0
        ),
    };
}

fn rule(svg: &mut String, from: (f64, f64), to: (f64, f64)) {
    let _ = writeln!(svg, "  <path class=\"grid\" d=\"M{} L{}\"/>", pair(from), pair(to));
}

fn label(svg: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let text = escaped(text);
    let _ = writeln!(svg, "  <text class=\"text\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
}

fn pair((x, y): (f64, f64)) -> String {
    format!("{x:.1},{y:.1}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, points: &[(f64, f64)]) -> Line {
        let points = points.iter().map(|&(x, y)| Point { x, y, low: y * 0.9, high: y * 1.2 }).collect();
        Line { name: name.to_owned(), points }
    }

    #[test]
    fn the_slope_is_the_exponent() {
        let power = |exponent: i32| line("", &[1.0, 10.0, 100.0].map(|x: f64| (x, 7.0 * x.powi(exponent))));
        assert_eq!([-1, 0, 1, 2].map(|exponent| written(power(exponent).slope())), ["-1.00", "0.00", "1.00", "2.00"]);
        assert_eq!(written(-0.001), "0.00");
    }

    #[test]
    fn the_last_slope_is_that_of_the_last_decade() {
        let bent = line("", &[(1.0, 5.0), (10.0, 5.0), (100.0, 5.0), (300.0, 15.0), (1000.0, 50.0)]);
        assert_eq!(written(bent.last_slope()), "1.00");
        assert!(bent.slope() < 0.4);
    }

    #[test]
    fn numbers_are_said_with_three_figures_and_their_unit() {
        let times = [1.0, 12.34, 1_234.0, 10_000.0, 99_960_000.0, 2_500_000_000.0].map(|nanos| said(nanos, Unit::Time));
        assert_eq!(times, ["1 ns", "12.3 ns", "1.23 µs", "10 µs", "100 ms", "2.5 s"]);
        assert_eq!([1e3, 1e5, 1e6].map(|bytes| said(bytes, Unit::Bytes)), ["1 KB", "100 KB", "1 MB"]);
        assert_eq!([1.0, 1e3, 1e7].map(|count| said(count, Unit::Count)), ["1", "1 000", "10 000 000"]);
    }

    #[test]
    fn an_axis_has_whole_decades_and_one_at_least() {
        assert_eq!(Decades::around([1.0, 100.0].into_iter()), Decades(0, 2));
        assert_eq!(Decades::around([40.0, 45.0].into_iter()), Decades(1, 2));
        assert_eq!(Decades::around([100.0, 1_000_020.0].into_iter()), Decades(2, 6));
        assert_eq!(Decades(0, 2).place(10.0).to_bits(), 0.5_f64.to_bits());
    }

    #[test]
    fn a_plot_has_each_point_each_slope_and_both_colours() {
        let lines = [line("log off", &[(1.0, 1e4), (10.0, 1e5)]), line("log <on>", &[(1.0, 2e4), (10.0, 3e4)])];
        let x = Axis { label: "plugins", unit: Unit::Count };
        let y = Axis { label: "one event", unit: Unit::Time };
        let svg = Plot { title: "A & B", x, y, lines: &lines }.svg();
        // One more of each beside the name.
        assert_eq!((svg.matches("<circle").count(), svg.matches("<rect x").count()), (3, 3));
        for text in
            ["log off: slope 1.00<", "log &lt;on>: slope 0.18<", ">A &amp; B<", ">10 µs<", ">100 µs<", ">plugins<"]
        {
            assert!(svg.contains(text), "{text} is missing in {svg}");
        }
        assert!(svg.contains("prefers-color-scheme: dark"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
