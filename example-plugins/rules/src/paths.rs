//! Compares the files that a call touches with `path`.

use call_paths::{Patterns, Touch, Touched};
use hookhost_contract::rule::{RuleOn, RuleRow};

/// Returns the way of touching files that a row is about.
pub(crate) fn touch(on: &RuleOn) -> Option<Touch> {
    match on {
        RuleOn::Write => Some(Touch::Writes),
        RuleOn::Read => Some(Touch::Reads),
        RuleOn::Delete => Some(Touch::Deletes),
        _ => None,
    }
}

/// Compiles the patterns of a row. Returns `None` if the row has none, so that every path matches.
///
/// # Errors
/// Returns the reason why a pattern is invalid.
pub(crate) fn patterns(row: &RuleRow) -> Result<Option<Patterns>, String> {
    if row.path.is_empty() {
        return Ok(None);
    }
    let (excepted, mut wanted): (Vec<String>, Vec<String>) =
        row.path.iter().cloned().partition(|pattern| pattern.starts_with('!'));
    let excepted: Vec<String> = excepted.iter().map(|pattern| pattern[1..].to_owned()).collect();
    if wanted.is_empty() {
        wanted.push("**".to_owned());
    }
    Patterns::new(&wanted, &excepted, true).map(Some)
}

/// Devices that keep nothing. `2>/dev/null` changes no file.
const OUTPUTS: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// Returns the first path that a row matches, as the call spells it, and the pattern.
pub(crate) fn matching<'a>(
    patterns: Option<&'a Patterns>,
    touched: &'a Touched,
    workspace: &str,
) -> Option<(&'a str, &'a str)> {
    let is_file = |(path, _): &&(String, _)| !OUTPUTS.contains(&path.as_str());
    let mut targets = touched.targets.iter().chain(&touched.made_private).filter(is_file);
    let Some(patterns) = patterns else { return targets.next().map(|(path, _)| (path.as_str(), "")) };
    targets.find_map(|(path, target)| Some((path.as_str(), patterns.protecting(target, workspace)?)))
}
