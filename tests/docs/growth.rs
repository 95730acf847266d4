//! `docs/growth.md` and its plots: each plot that the page shows is there with its figures, and each slope that page and plot
//! state is that of the figures.

use crate::guide::{files, page};
use regex_lite::Regex;
use std::collections::BTreeMap;
use std::path::Path;

/// The sizes between which each plot has points.
const SIZES: [(&str, f64, f64); 6] = [
    ("plugins", 1.0, 100.0),
    ("payload", 1e3, 1e6),
    ("sessions", 10.0, 1e5),
    ("append", 100.0, 1e6),
    ("show", 100.0, 1e6),
    ("verify", 100.0, 1e6),
];

/// The figures of a plot: when and where they were taken, and the points of each line.
struct Figures {
    taken: [String; 2],
    lines: BTreeMap<String, Vec<(f64, f64)>>,
}

fn figures(plot: &str) -> Figures {
    let text = page(&format!("docs/growth/{plot}.tsv"));
    let mut rows = text.lines();
    let mut comment = || rows.next().and_then(|row| row.strip_prefix("# ")).expect("a comment").to_owned();
    let taken = [comment(), comment()];
    assert_eq!(rows.next(), Some("line\tsize\tmedian-ns\tlow-ns\thigh-ns"), "{plot}");
    let mut lines: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for row in rows {
        let fields: Vec<&str> = row.split('\t').collect();
        let numbers: Vec<f64> = fields[1..].iter().map(|number| number.parse().expect("a number")).collect();
        let [size, median, low, high] = numbers[..] else { panic!("{plot}: {row}") };
        assert!(0.0 < low && low <= median && median <= high, "{plot}: {row}");
        lines.entry(fields[0].to_owned()).or_default().push((size, median));
    }
    Figures { taken, lines }
}

/// The exponent that fits the points best, from this size on, with two digits.
fn slope(points: &[(f64, f64)], from: f64) -> String {
    let logarithms: Vec<(f64, f64)> =
        points.iter().filter(|(size, _)| *size >= from).map(|(size, time)| (size.log10(), time.log10())).collect();
    let count = logarithms.len() as f64;
    let (sizes, times) =
        logarithms.iter().fold((0.0, 0.0), |(sizes, times), (size, time)| (sizes + size, times + time));
    let products: f64 = logarithms.iter().map(|(size, time)| size * time).sum();
    let squares: f64 = logarithms.iter().map(|(size, _)| size * size).sum();
    let slope = (count * products - sizes * times) / (count * squares - sizes * sizes);
    format!("{slope:.2}").replace("-0.00", "0.00")
}

/// The sections of the page, each by its plot.
fn sections(page: &str) -> BTreeMap<String, String> {
    let image = Regex::new(r"!\[[^\]]+\]\(growth/([a-z]+)\.svg\)").expect("a pattern");
    let sections = page.split("\n## ").skip(1).map(|section| {
        let plots: Vec<String> = image.captures_iter(section).map(|found| found[1].to_owned()).collect();
        let [plot] = &plots[..] else { panic!("a section shows the plots {plots:?}: {section}") };
        (plot.clone(), section.to_owned())
    });
    sections.collect()
}

#[test]
fn the_page_shows_each_plot_that_is_there_and_each_plot_has_its_figures() {
    let page = page("docs/growth.md");
    let shown: Vec<String> = sections(&page).into_keys().collect();
    let mut expected = SIZES.map(|(plot, ..)| plot.to_owned()).to_vec();
    expected.sort();
    assert_eq!(shown, expected);
    for kind in ["svg", "tsv"] {
        let there = files(&[&format!(".{kind}")]).into_iter().filter(|file| file.starts_with("docs/growth"));
        let named: Vec<String> =
            there.map(|file| file.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
        assert_eq!(named, expected, "the files of {kind}");
        for plot in &expected {
            assert!(page.contains(&format!("](growth/{plot}.{kind})")), "the page does not name {plot}.{kind}");
        }
    }
}

#[test]
fn each_slope_of_the_page_and_of_a_plot_is_that_of_the_figures() {
    let page = page("docs/growth.md");
    for (plot, section) in sections(&page) {
        let Figures { lines, .. } = figures(&plot);
        let rows: Vec<Vec<&str>> = section
            .lines()
            .filter(|line| line.starts_with("| ") && !line.starts_with("| line "))
            .map(|line| line.trim_matches(['|', ' ']).split(" | ").collect())
            .collect();
        assert_eq!(rows.len(), lines.len(), "{plot}: {rows:?}");
        let svg = crate::guide::page(&format!("docs/growth/{plot}.svg"));
        for row in rows {
            let points = lines.get(row[0]).unwrap_or_else(|| panic!("{plot} has no line {}", row[0]));
            let largest = points.iter().fold(0.0_f64, |largest, (size, _)| largest.max(*size));
            let (all, last) = (slope(points, 0.0), slope(points, largest / 10.0 * 0.999));
            assert_eq!(row[1..3], [&all, &last], "{plot}, {}", row[0]);
            assert!(svg.contains(&format!(">{}: slope {all}<", row[0])), "the plot {plot} states another slope");
            let drawn = svg.split("<g class=").find(|group| group.contains(&format!("data-line=\"{}\"", row[0])));
            let drawn = drawn.and_then(|group| group.split("</g>").next()).expect("the line is drawn");
            // One marker more is beside the name.
            assert_eq!(drawn.matches("<title>").count(), points.len() + 1, "{plot}, {}", row[0]);
        }
    }
}

#[test]
fn each_plot_goes_from_the_smallest_to_the_largest_size() {
    for (plot, smallest, largest) in SIZES {
        for (line, points) in figures(plot).lines {
            assert!(points.is_sorted_by(|(one, _), (other, _)| one < other), "{plot}, {line}: {points:?}");
            let (first, last) = (points.first().expect("a point").0, points.last().expect("a point").0);
            assert!(first <= smallest && last >= largest, "{plot}, {line}: from {first} to {last}");
        }
    }
}

#[test]
fn the_page_says_when_and_where_each_plot_was_taken() {
    let page = page("docs/growth.md");
    for (plot, section) in sections(&page) {
        let [date, machine] = figures(&plot).taken;
        let words = section.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("Measured on {date}, on {machine}.")), "{plot}: {section}");
    }
}

#[test]
fn each_plot_is_an_svg_for_light_and_dark_that_loads_nothing() {
    for (plot, ..) in SIZES {
        let svg = page(&Path::new("docs/growth").join(plot).with_extension("svg").to_string_lossy());
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "{plot}");
        assert!(svg.contains("@media (prefers-color-scheme: dark)") && svg.contains("<title id="), "{plot}");
        for loads in ["href", "url(", "<script", "@import"] {
            assert!(!svg.contains(loads), "{plot} has {loads}");
        }
    }
}
