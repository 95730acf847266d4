//! `docs/embedding.md`, "What happens if…": each row names tests that are there.

use crate::guide::{page, root, section};
use regex_lite::Regex;

/// Whether `path` is a test: a file of the engine's tests, or of its sources, and a function in it.
fn is_test(path: &str) -> bool {
    let Some((file, function)) = path.rsplit_once("::") else { return false };
    let file = format!("{}.rs", file.replace("::", "/"));
    let attribute =
        Regex::new(&format!(r"#\[(tokio::)?test(\([^)]*\))?\]\n\s*(async )?fn {function}\(")).expect("a pattern");
    ["host/engine/tests/engine", "host/engine/src"].iter().any(|directory| {
        let text = std::fs::read_to_string(root().join(directory).join(&file)).unwrap_or_default();
        attribute.is_match(&text)
    })
}

#[test]
fn each_row_of_what_happens_names_tests_that_are_there() {
    assert!(!is_test("misuse::no_such_test"), "this would find any name");
    let page = page("docs/embedding.md");
    let rows = section(&page, "## What happens if…").lines().filter(|line| line.starts_with("| ")).skip(1);
    let quoted = Regex::new("`([a-z_:0-9]+)`").expect("a pattern");
    let mut checked = 0;
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, asked, answered, tests, _] = cells[..] else { panic!("a row of three cells: {row}") };
        assert!(!asked.is_empty() && !answered.is_empty(), "{row}");
        let tests: Vec<_> = quoted.captures_iter(tests).map(|found| found[1].to_owned()).collect();
        assert!(!tests.is_empty(), "no test shows this row: {row}");
        for test in tests {
            assert!(is_test(&test), "there is no test `{test}`, which this row names: {row}");
        }
        checked += 1;
    }
    assert!(checked > 30, "only {checked} rows were found");
}
