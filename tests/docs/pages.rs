//! All pages of the repository: their links lead somewhere, and the decisions are numbered, dated and listed.

use crate::guide::{files, links, page, prose, root};
use regex_lite::Regex;
use std::path::Path;

/// The anchors of a page's headings, as GitHub makes them: lower case, blanks as hyphens, no punctuation.
fn anchors(page: &str) -> Vec<String> {
    let headings =
        prose(page).into_iter().filter(|(_, line)| line.starts_with('#')).map(|(_, line)| line.trim_start_matches('#'));
    let mut anchors: Vec<String> = Vec::new();
    for heading in headings {
        let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let plain: String = kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect();
        let earlier = anchors.iter().filter(|anchor| **anchor == plain).count();
        anchors.push(if earlier == 0 { plain } else { format!("{plain}-{earlier}") });
    }
    anchors
}

#[test]
fn every_link_of_every_page_leads_to_a_file_and_to_a_heading_of_it() {
    let mut checked = 0;
    for file in files(&[".md"]) {
        let text = page(&file.to_string_lossy());
        for link in links(&text) {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { file.clone() } else { file.parent().unwrap_or(Path::new("")).join(path) };
            assert!(root().join(&target).exists(), "{} links to {link}: there is no such file", file.display());
            if !anchor.is_empty() {
                let headings = anchors(&page(&target.to_string_lossy()));
                let known = headings.iter().any(|heading| heading == anchor);
                assert!(known, "{} links to {link}: that page has no such heading, but {headings:?}", file.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} links were found");
}

#[test]
fn every_page_that_a_source_file_names_is_there() {
    let pattern = Regex::new(r"docs/[\w/-]+\.md").expect("a pattern");
    let mut checked = 0;
    for file in files(&[".rs", "Cargo.toml", ".wit"]) {
        for found in pattern.find_iter(&page(&file.to_string_lossy())) {
            assert!(root().join(found.as_str()).exists(), "{} names {}", file.display(), found.as_str());
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} names were found");
}

#[test]
fn the_index_of_the_decisions_has_each_page_with_its_number_title_and_date() {
    let mut expected = Vec::new();
    for file in files(&[".md"]) {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !file.starts_with("docs/decisions") || name == "README.md" {
            continue;
        }
        let text = page(&file.to_string_lossy());
        let mut lines = text.lines();
        let heading = lines.next().and_then(|line| line.strip_prefix("# ")?.split_once(". "));
        let (number, title) = heading.unwrap_or_else(|| panic!("{name} begins with `# NUMBER. TITLE`"));
        let date = lines.nth(1).and_then(|line| line.strip_prefix('*')?.strip_suffix('*'));
        let date = date.unwrap_or_else(|| panic!("the third line of {name} is its date, `*YYYY-MM-DD*`"));
        assert!(name.starts_with(&format!("{number:0>4}-")), "{name} has the number {number}");
        expected.push(format!("| {number} | [{title}]({name}) | {date} |"));
    }
    let index = page("docs/decisions/README.md");
    let rows: Vec<&str> = index.lines().filter(|line| line.starts_with("| ") && line.contains("](")).collect();
    assert_eq!(rows, expected, "docs/decisions/README.md is not the list of the pages beside it");
}

#[test]
fn anchors_are_those_of_github() {
    assert_eq!(anchors("# A `b` C\n\n```\n# no\n```\n## What's new?\n## a b c\n"), ["a-b-c", "whats-new", "a-b-c-1"]);
}
