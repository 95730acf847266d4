//! The controls of common frameworks for which the log has evidence: one table in `controls.tsv`.
//!
//! The table says for each control which part of the evidence shows it, and what the evidence does not show. It is a help
//! for finding the material. It is no statement that a control is met.

use serde::{Deserialize, Serialize};

/// A control of a framework.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Control {
    /// The framework, with its edition.
    pub framework: String,
    /// The control's identifier in the framework.
    pub control: String,
    /// A short title.
    pub title: String,
    /// The parts of the evidence, by the names of its tables.
    pub shown_by: String,
    /// What the evidence shows.
    pub shows: String,
    /// What the evidence does not show.
    pub does_not_show: String,
}

/// Returns the table.
#[must_use]
pub fn controls() -> Vec<Control> {
    let rows = include_str!("controls.tsv").lines().skip(1);
    let control = |row: &str| {
        let mut cells = row.split('\t').map(str::to_owned);
        let mut next = || cells.next().unwrap_or_default();
        Control {
            framework: next(),
            control: next(),
            title: next(),
            shown_by: next(),
            shows: next(),
            does_not_show: next(),
        }
    };
    rows.map(control).collect()
}

#[cfg(test)]
mod tests {
    use super::controls;
    use crate::evidence::Evidence;
    use std::collections::HashSet;

    #[test]
    fn each_control_says_what_shows_it_and_what_is_not_shown() {
        for (row, control) in include_str!("controls.tsv").lines().skip(1).zip(controls()) {
            assert_eq!(row.split('\t').count(), 6, "{row}");
            let cells = [&control.title, &control.shows, &control.does_not_show];
            assert!(cells.iter().all(|cell| !cell.is_empty()), "{row}");
        }
    }

    #[test]
    fn each_part_that_a_control_names_is_a_table_of_the_evidence() {
        let names: Vec<&str> = Evidence::default().tables().iter().map(|table| table.name).collect();
        for control in controls() {
            for part in control.shown_by.split(", ") {
                assert!(names.contains(&part), "{}: {part}", control.control);
            }
        }
    }

    #[test]
    fn no_control_is_listed_twice_and_each_asked_framework_is_there() {
        let controls = controls();
        let ids: HashSet<_> = controls.iter().map(|control| (&control.framework, &control.control)).collect();
        assert_eq!(ids.len(), controls.len());
        for (framework, control) in [
            ("SOC 2", "CC8.1"),
            ("ISO/IEC 42001", "A.6.2.8"),
            ("EU AI Act", "Art. 12(1)"),
            ("EU AI Act", "Art. 14(4)(e)"),
            ("EU AI Act", "Art. 26(6)"),
            ("NIST", "AU-9"),
            ("NIST", "AC-3"),
            ("OWASP", "ASI02"),
        ] {
            assert!(
                ids.iter().any(|(name, id)| name.starts_with(framework) && *id == control),
                "{framework} {control}"
            );
        }
    }
}
