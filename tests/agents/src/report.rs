//! Prints a line for each check, and counts them.

use std::fmt;

/// The outcome of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    kind: Kind,
    what: String,
    /// Further lines that help to find the cause of a failure.
    details: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pass,
    Fail,
    Skip,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Skip => "SKIP",
        }
    }
}

impl Report {
    /// Creates the outcome of a check that has passed.
    pub(crate) fn pass(what: impl Into<String>) -> Self {
        Self { kind: Kind::Pass, what: what.into(), details: String::new() }
    }

    /// Creates the outcome of a check that has failed.
    pub(crate) fn fail(what: impl Into<String>, details: impl Into<String>) -> Self {
        Self { kind: Kind::Fail, what: what.into(), details: details.into() }
    }

    /// Creates the outcome of a check that was skipped. `what` contains the reason.
    pub(crate) fn skip(what: impl Into<String>) -> Self {
        Self { kind: Kind::Skip, what: what.into(), details: String::new() }
    }

    /// Returns the line in which a case reports this outcome.
    pub(crate) fn line(&self) -> String {
        let details = self.details.trim_end().replace('\n', "\x1f");
        format!("{}\t{}\t{details}", self.kind.name(), self.what.replace(['\n', '\t'], " "))
    }

    /// Parses a line that [`line`](Self::line) returned.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(3, '\t');
        let kind = match parts.next()? {
            "PASS" => Kind::Pass,
            "FAIL" => Kind::Fail,
            "SKIP" => Kind::Skip,
            _ => return None,
        };
        let (what, details) = (parts.next()?.to_owned(), parts.next()?.replace('\x1f', "\n"));
        Some(Self { kind, what, details })
    }
}

/// The numbers of passed, failed and skipped checks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    pub(crate) skipped: u32,
}

impl Tally {
    /// Prints a check of an agent, and counts it.
    pub(crate) fn add(&mut self, agent: &str, report: &Report) {
        println!("{} {agent}: {}", report.kind.name(), report.what);
        for line in report.details.lines() {
            println!("    {line}");
        }
        match report.kind {
            Kind::Pass => self.passed += 1,
            Kind::Fail => self.failed += 1,
            Kind::Skip => self.skipped += 1,
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::{Report, Tally};

    #[test]
    fn a_check_is_told_in_one_line_and_read_again() {
        let report = Report::fail("a call\nran", "line one\nline two\n");
        assert!(!report.line().contains('\n'));
        let read = Report::parse(&report.line()).unwrap();
        assert_eq!((read.what.as_str(), read.details.as_str()), ("a call ran", "line one\nline two"));
        assert_eq!(Report::parse("npm says hello"), None);
        let mut tally = Tally::default();
        for report in [&read, &Report::pass("x"), &Report::skip("y"), &Report::pass("z")] {
            tally.add("agent", report);
        }
        assert_eq!(tally.to_string(), "2 passed, 1 failed, 1 skipped");
    }
}
