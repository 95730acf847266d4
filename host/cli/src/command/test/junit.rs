//! Writes results as JUnit XML, which CI systems read.

use super::case_file::CaseFile;
use super::report::failures;
use super::run::CaseResult;
use std::fmt::Write as _;

/// The results of one file.
#[derive(Debug)]
pub(super) struct Suite {
    pub(super) path: String,
    text: String,
    tests: usize,
    failed: usize,
    seconds: f64,
}

impl Suite {
    pub(super) fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), text: String::new(), tests: 0, failed: 0, seconds: 0.0 }
    }

    /// Returns the suite of a case file.
    pub(super) fn of(file: &CaseFile, results: &[CaseResult]) -> Self {
        let mut suite = Self::new(file.path.to_string_lossy());
        for (case, result) in file.cases.iter().zip(results) {
            let failures = if result.is_passed() { String::new() } else { failures(case, result) };
            suite.add(&case.name, case.line, result.time.as_secs_f64(), &failures);
        }
        suite
    }

    /// Adds a result. It is a failure if `failures` is not empty.
    pub(super) fn add(&mut self, name: &str, line: usize, seconds: f64, failures: &str) {
        let (name, path) = (escaped(name), escaped(&self.path));
        self.tests += 1;
        self.seconds += seconds;
        let _ = write!(
            self.text,
            "    <testcase name=\"{name}\" classname=\"{path}\" file=\"{path}\" line=\"{line}\" time=\"{seconds:.3}\""
        );
        let Some(first) = failures.lines().next() else {
            self.text.push_str("/>\n");
            return;
        };
        self.failed += 1;
        let (first, failures) = (escaped(first), escaped(failures));
        let _ = writeln!(self.text, ">\n      <failure message=\"{first}\">{failures}</failure>\n    </testcase>");
    }

    fn to_xml(&self) -> String {
        let Self { path, text, tests, failed, seconds } = self;
        let path = escaped(path);
        format!(
            "  <testsuite name=\"{path}\" tests=\"{tests}\" failures=\"{failed}\" errors=\"0\" time=\"{seconds:.3}\">\n{text}  \
             </testsuite>\n"
        )
    }
}

/// Returns the document.
pub(super) fn document(suites: &[Suite]) -> String {
    let tests: usize = suites.iter().map(|suite| suite.tests).sum();
    let failed: usize = suites.iter().map(|suite| suite.failed).sum();
    let suites: String = suites.iter().map(Suite::to_xml).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"hookhost test\" tests=\"{tests}\" failures=\"{failed}\" \
         errors=\"0\">\n{suites}</testsuites>\n"
    )
}

/// Returns the text with the characters that XML reserves as references, and with `�` in place of those that XML 1.0 forbids.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(character),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push(char::REPLACEMENT_CHARACTER),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_xml_reserves_or_forbids_is_replaced() {
        assert_eq!(escaped("a < b && \"c\" > d"), "a &lt; b &amp;&amp; &quot;c&quot; &gt; d");
        assert_eq!(escaped("\u{1b}[2J\n\u{0}\u{ffff}é"), "\u{fffd}[2J\n\u{fffd}\u{fffd}é");
    }
}
