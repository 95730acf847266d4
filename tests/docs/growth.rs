//! `docs/growth.md` and its data: each section has a data file, and each slope that the page states is that of the data.

use crate::guide::{files, page};
use regex_lite::Regex;
use std::collections::BTreeMap;

/// The subjects of the page, and the sizes between which each has points.
const SIZES: [(&str, f64, f64); 6] = [
    ("plugins", 1.0, 100.0),
    ("payload", 1e3, 1e6),
    ("sessions", 10.0, 1e5),
    ("append", 100.0, 1e6),
    ("show", 100.0, 1e6),
    ("verify", 100.0, 1e6),
];

/// The data of a subject: date and machine, and the points of each line.
struct Data {
    taken: [String; 2],
    lines: BTreeMap<String, Vec<(f64, f64)>>,
}

fn data(subject: &str) -> Data {
    let text = page(&format!("docs/growth/{subject}.tsv"));
    let mut rows = text.lines();
    let mut comment = || rows.next().and_then(|row| row.strip_prefix("# ")).expect("a comment").to_owned();
    let taken = [comment(), comment()];
    assert_eq!(rows.next(), Some("line\tsize\tmedian-ns\tlow-ns\thigh-ns"), "{subject}");
    let mut lines: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for row in rows {
        let fields: Vec<&str> = row.split('\t').collect();
        let numbers: Vec<f64> = fields[1..].iter().map(|number| number.parse().expect("a number")).collect();
        let [size, median, low, high] = numbers[..] else { panic!("{subject}: {row}") };
        assert!(0.0 < low && low <= median && median <= high, "{subject}: {row}");
        lines.entry(fields[0].to_owned()).or_default().push((size, median));
    }
    Data { taken, lines }
}

/// Returns the exponent that fits the points from this size on best, with two digits.
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

/// Returns the sections of the page by their subjects.
fn sections(page: &str) -> BTreeMap<String, String> {
    let link = Regex::new(r"\]\(growth/([a-z]+)\.tsv\)").expect("a pattern");
    let sections = page.split("\n## ").skip(1).map(|section| {
        let subjects: Vec<String> = link.captures_iter(section).map(|found| found[1].to_owned()).collect();
        let [subject] = &subjects[..] else { panic!("a section names the data of {subjects:?}: {section}") };
        (subject.clone(), section.to_owned())
    });
    sections.collect()
}

#[test]
fn each_section_of_the_page_names_its_data() {
    let shown: Vec<String> = sections(&page("docs/growth.md")).into_keys().collect();
    let mut expected = SIZES.map(|(subject, ..)| subject.to_owned()).to_vec();
    expected.sort();
    assert_eq!(shown, expected);
    let files = files(&[".tsv"]).into_iter().filter(|file| file.starts_with("docs/growth"));
    let there: Vec<String> =
        files.map(|file| file.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
    assert_eq!(there, expected);
}

#[test]
fn each_slope_of_the_page_is_that_of_the_data() {
    for (subject, section) in sections(&page("docs/growth.md")) {
        let Data { lines, .. } = data(&subject);
        let rows: Vec<Vec<&str>> = section
            .lines()
            .filter(|line| line.starts_with("| ") && !line.starts_with("| line "))
            .map(|line| line.trim_matches(['|', ' ']).split(" | ").collect())
            .collect();
        assert_eq!(rows.len(), lines.len(), "{subject}: {rows:?}");
        for row in rows {
            let points = lines.get(row[0]).unwrap_or_else(|| panic!("{subject} has no line {}", row[0]));
            let largest = points.iter().fold(0.0_f64, |largest, (size, _)| largest.max(*size));
            let (all, last) = (slope(points, 0.0), slope(points, largest / 10.0 * 0.999));
            assert_eq!(row[1..3], [&all, &last], "{subject}, {}", row[0]);
        }
    }
}

#[test]
fn each_line_goes_from_the_smallest_to_the_largest_size() {
    for (subject, smallest, largest) in SIZES {
        for (line, points) in data(subject).lines {
            assert!(points.is_sorted_by(|(one, _), (other, _)| one < other), "{subject}, {line}: {points:?}");
            let (first, last) = (points.first().expect("a point").0, points.last().expect("a point").0);
            assert!(first <= smallest && last >= largest, "{subject}, {line}: from {first} to {last}");
        }
    }
}

#[test]
fn the_page_says_when_and_where_each_subject_was_measured() {
    let page = page("docs/growth.md");
    for (subject, section) in sections(&page) {
        let [date, machine] = data(&subject).taken;
        let words = section.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("Measured on {date}, on {machine}.")), "{subject}: {section}");
    }
}
