//! Compares the files that a call touches with `path`.

use call_paths::{Patterns, Spellings, Target, Touch, Touched};
use hookhost_contract::rule::{RuleOn, RuleRow};
use shell_reader::UNKNOWN;
use shell_reader::path::{Normal, below};

/// The ways of touching files, in the order of [`touch`].
pub(crate) const TOUCHES: [Touch; 3] = [Touch::WRITES, Touch::READS, Touch::DELETES];

/// Returns the number of the way of touching files that a row is about.
pub(crate) fn touch(on: &RuleOn) -> Option<usize> {
    [RuleOn::Write, RuleOn::Read, RuleOn::Delete].iter().position(|one| one == on)
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

/// Returns an absolute path as texts and conditions see it: from the workspace if it lies there. Returns `None` if a part of it is unknown.
pub(crate) fn from_workspace<'p>(absolute: &'p str, workspace: &str) -> Option<&'p str> {
    if absolute.contains(UNKNOWN) {
        return None;
    }
    match below(absolute, workspace.trim_end_matches('/')) {
        Some("") => Some("."),
        inside => Some(inside.unwrap_or(absolute)),
    }
}

/// Devices that keep nothing. `2>/dev/null` changes no file. Neither does `/dev/fd/2`: what opened it is seen itself.
const OUTPUTS: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// The files that a call touches in one way, ready to be compared with many rows.
#[derive(Debug)]
pub(crate) struct Files {
    files: Vec<File>,
    /// The reason why there may be further files.
    pub(crate) unreadable: Option<String>,
}

#[derive(Debug)]
struct File {
    /// The path as the call spells it.
    written: String,
    target: Target,
    spellings: Spellings,
}

/// A file that a row matches.
pub(crate) struct MatchedFile<'a> {
    /// The path as the call spells it.
    pub(crate) written: &'a str,
    /// The absolute path, if it is known.
    pub(crate) absolute: Option<&'a str>,
    /// The pattern that matches; empty if the row has none.
    pub(crate) pattern: &'a str,
}

impl Files {
    pub(crate) fn new(touched: Touched, workspace: &str) -> Self {
        let is_open = |path: &str| {
            let number = path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"));
            number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let is_file = |(path, _): &(String, Target)| !OUTPUTS.contains(&path.as_str()) && !is_open(path);
        let targets = touched.targets.into_iter().chain(touched.made_private).filter(is_file);
        let files = targets.map(|(written, target)| {
            let spellings = Spellings::new(&target, workspace);
            File { written, target, spellings }
        });
        Self { files: files.collect(), unreadable: touched.unreadable }
    }

    /// Returns false if the call touches no file that a row matches, judging by a few bits.
    pub(crate) fn may_match(&self, patterns: Option<&Patterns>) -> bool {
        let may_match = |file: &File| patterns.is_none_or(|patterns| patterns.may_match(&file.target, &file.spellings));
        self.unreadable.is_some() || self.files.iter().any(may_match)
    }

    /// Returns the files that a row matches.
    pub(crate) fn matching<'a>(
        &'a self,
        patterns: Option<&'a Patterns>,
        workspace: &'a str,
    ) -> impl Iterator<Item = MatchedFile<'a>> {
        self.files.iter().filter_map(move |File { written, target, spellings }| {
            let matching = |patterns: &'a Patterns| patterns.matching(target, spellings, workspace);
            let pattern = patterns.map_or(Some(""), matching)?;
            let absolute = if let Normal::Absolute(path) = &target.path { Some(path.as_str()) } else { None };
            Some(MatchedFile { written, absolute, pattern })
        })
    }
}
