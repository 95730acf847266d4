//! The table of a benchmark's results. Each row is printed as soon as its values are known.

use crate::measure::{Compared, spoken};
use crate::turns;
use std::fmt::Display;
use std::io::Write as _;

/// The table of a run.
#[derive(Debug)]
pub struct Table {
    beyond: Vec<String>,
}

impl Table {
    pub fn begin() -> Self {
        if turns::are_taken() {
            turns::wait();
            return Self { beyond: Vec::new() };
        }
        println!("| what | component | log | measured | reference | ratio | budget | |");
        println!("|---|---|---|---|---|---|---|---|");
        Self { beyond: Vec::new() }
    }

    /// Adds a row whose budget is the ratio `most`. If `most` is `None`, the row has no budget and is only for comparison.
    pub fn compared(&mut self, row: &Row<'_>, of: &Compared, reference: &str, most: Option<f64>) {
        if turns::are_taken() {
            let measured = spoken(of.subject.median);
            return turns::end(row.what, row.log, reference, &measured, Some(of.subject.median));
        }
        let within = most.is_none_or(|most| of.ratio <= most);
        let measured =
            format!("{} ({} to {})", spoken(of.subject.median), spoken(of.subject.low), spoken(of.subject.high));
        let reference = format!("{} {reference}", spoken(of.reference.median));
        let budget = most.map_or(String::new(), |most| format!("≤ {most} ×"));
        self.row(row, &measured, &reference, &printed(of.ratio), &budget, most.map(|_| within));
    }

    /// Adds a row with an absolute budget, and a reference with which the value can be compared.
    pub fn beside(&mut self, row: &Row<'_>, measured: &str, reference: &str, budget: &str, within: bool) {
        self.row(row, measured, reference, "", budget, Some(within));
    }

    /// Adds a row without a budget, which is only for comparison. Its values are not times.
    pub fn figures(&mut self, row: &Row<'_>, measured: &str, reference: &str, ratio: f64) {
        self.row(row, measured, reference, &printed(ratio), "", None);
    }

    /// Adds a row with an absolute budget and without a reference.
    pub fn plain(&mut self, row: &Row<'_>, measured: impl Display, budget: &str, within: Option<bool>) {
        self.row(row, &measured.to_string(), "", "", budget, within);
    }

    fn row(&mut self, row: &Row<'_>, measured: &str, reference: &str, ratio: &str, budget: &str, within: Option<bool>) {
        let Row { what, component, log, why } = row;
        if turns::are_taken() {
            return turns::end(what, log, "", measured, None);
        }
        let word = match within {
            Some(true) => "met",
            Some(false) => "**beyond**",
            None => "",
        };
        println!("| {what} | {component} | {log} | {measured} | {reference} | {ratio} | {budget} | {word} |");
        let _ = std::io::stdout().flush();
        if within == Some(false) {
            let why = if why.is_empty() { String::new() } else { format!(". {why}") };
            let ratio = if ratio.is_empty() { String::new() } else { format!(", {ratio} ×") };
            self.beyond.push(format!("{what} (log {log}): {measured}{ratio}, may be {budget}{why}"));
        }
    }

    /// Prints again the rows that exceed their budgets.
    pub fn end(self) {
        if turns::are_taken() {
            return;
        }
        println!();
        if self.beyond.is_empty() {
            println!("Every budget is met.");
        }
        for row in self.beyond {
            println!("beyond its budget: {row}");
        }
    }
}

/// Prints a ratio with two decimals. A small ratio gets more decimals, so that it has two significant digits.
fn printed(ratio: f64) -> String {
    // With two decimals, every ratio below 0.005 would be printed as zero.
    let zeros = if ratio > 0.0 { -ratio.log10().floor() } else { 0.0 };
    format!("{ratio:.decimals$}", decimals = (zeros as usize + 1).max(2))
}

/// The subject of a row.
#[derive(Debug)]
pub struct Row<'a> {
    pub what: &'a str,
    pub component: &'a str,
    /// `on` or `off`, or `–` if the subject does not use the log.
    pub log: &'a str,
    /// The known reason why the row exceeds its budget. Empty if there is no such reason.
    pub why: &'a str,
}

#[cfg(test)]
mod tests {
    use super::printed;

    #[test]
    fn a_small_ratio_keeps_two_digits() {
        for (ratio, text) in [
            (0.0, "0.00"),
            (0.0041678, "0.0042"),
            (0.0999, "0.100"),
            (0.1, "0.10"),
            (0.95, "0.95"),
            (1.0, "1.00"),
            (123.456, "123.46"),
        ] {
            assert_eq!(printed(ratio), text);
        }
    }
}
