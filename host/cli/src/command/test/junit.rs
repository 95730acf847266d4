//! Writes results as JUnit XML, which CI systems read.

use super::case_file::{Case, CaseFile};
use super::report::failures;
use super::run::CaseResult;
use std::fmt::Write as _;

/// Returns the document: a suite for each case file.
pub(super) fn document<'a>(files: impl Iterator<Item = (&'a CaseFile, &'a [CaseResult])>) -> String {
    let mut suites = String::new();
    let (mut tests, mut failed) = (0, 0);
    for (file, results) in files {
        let path = escaped(&file.path.to_string_lossy());
        let failures = results.iter().filter(|result| !result.is_passed()).count();
        let seconds: f64 = results.iter().map(|result| result.time.as_secs_f64()).sum();
        let count = results.len();
        let _ = writeln!(
            suites,
            "  <testsuite name=\"{path}\" tests=\"{count}\" failures=\"{failures}\" errors=\"0\" time=\"{seconds:.3}\">"
        );
        file.cases.iter().zip(results).for_each(|(case, result)| test_case(&mut suites, &path, case, result));
        suites.push_str("  </testsuite>\n");
        tests += count;
        failed += failures;
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"hookhost test\" tests=\"{tests}\" failures=\"{failed}\" \
         errors=\"0\">\n{suites}</testsuites>\n"
    )
}

fn test_case(text: &mut String, path: &str, case: &Case, result: &CaseResult) {
    let Case { name, line, .. } = case;
    let (name, seconds) = (escaped(name), result.time.as_secs_f64());
    let _ = write!(
        text,
        "    <testcase name=\"{name}\" classname=\"{path}\" file=\"{path}\" line=\"{line}\" time=\"{seconds:.3}\""
    );
    if result.is_passed() {
        text.push_str("/>\n");
        return;
    }
    let failures = failures(case, result);
    let first = escaped(failures.lines().next().unwrap_or_default());
    let _ = writeln!(text, ">\n      <failure message=\"{first}\">{}</failure>\n    </testcase>", escaped(&failures));
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
