//! The results, for a terminal and for the page.

use crate::Direction;
use agent_hooks::ctk_engine::VectorResult;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The part of a vector that names none.
const NO_PART: &str = "the loop";

/// How many passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// All that the vector expects was so.
    pub passed: usize,
    /// Something was not.
    pub failed: usize,
    /// The vector is about something that is not declared.
    pub skipped: usize,
}

impl Count {
    fn add(&mut self, result: &VectorResult) {
        match result.status {
            "pass" => self.passed += 1,
            "skip" => self.skipped += 1,
            _ => self.failed += 1,
        }
    }
}

/// The count of all results.
#[must_use]
pub fn total(directions: &[Direction]) -> Count {
    let mut count = Count::default();
    for result in directions.iter().flat_map(|direction| &direction.results) {
        count.add(result);
    }
    count
}

/// The whole report as Markdown: a table by part for each direction, then what was skipped and what failed.
#[must_use]
pub fn markdown(directions: &[Direction]) -> String {
    let mut text = String::new();
    for direction in directions {
        let mut parts = BTreeMap::<&str, Count>::new();
        for result in &direction.results {
            let part = if result.part.is_empty() { NO_PART } else { result.part.as_str() };
            parts.entry(part).or_default().add(result);
        }
        let _ = writeln!(text, "### {}\n", capitalised(direction.subject));
        let _ = writeln!(text, "| part | passed | failed | skipped |\n|---|---|---|---|");
        for (part, Count { passed, failed, skipped }) in parts {
            let _ = writeln!(text, "| {part} | {passed} | {failed} | {skipped} |");
        }
        let mut skipped = BTreeMap::<&str, Vec<&str>>::new();
        for result in direction.results.iter().filter(|result| result.status == "skip") {
            skipped.entry(&result.detail).or_default().push(&result.id);
        }
        let _ = writeln!(text, "\n| not declared | vectors that are skipped |\n|---|---|");
        for (why, vectors) in skipped {
            let _ = writeln!(text, "| {why} | {} |", vectors.join(", "));
        }
        text.push('\n');
        for result in direction.results.iter().filter(|result| result.status == "fail") {
            let _ = writeln!(text, "- **{}** fails: {}", result.id, result.failures.join("; "));
        }
    }
    text
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
