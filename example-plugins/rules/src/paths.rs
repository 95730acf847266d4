//! Compares the files that a call touches with `path`.

use call_paths::{Patterns, Spellings, Target, Touch, Touched};
use hookhost_conditions::glob::Pairs;
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

/// A pattern of a row about files, as far as it takes to exclude most rows.
#[derive(Debug)]
pub(crate) struct RowPattern {
    /// The pairs of characters that each matching path has.
    pairs: Pairs,
    /// The number of the row.
    row: u16,
}

impl RowPattern {
    /// Returns the patterns of a row. A row without patterns has one that every path matches.
    pub(crate) fn of(row: u16, patterns: Option<&Patterns>) -> Vec<Self> {
        let pairs = patterns.map_or_else(|| vec![Pairs::default()], |patterns| patterns.pairs().collect());
        pairs.into_iter().map(|pairs| Self { pairs, row }).collect()
    }
}

/// Devices that keep nothing. `2>/dev/null` changes no file. Neither does `/dev/fd/2`: what opened it is seen itself.
const OUTPUTS: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// The files that a call touches in one way, ready to be compared with many rows.
#[derive(Debug)]
pub(crate) struct Files {
    files: Vec<File>,
    /// The pairs of characters of all paths.
    pairs: Pairs,
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
        let files: Vec<File> = files.collect();
        let pairs = files.iter().fold(Pairs::default(), |pairs, file| pairs.and(file.spellings.pairs()));
        Self { files, pairs, unreadable: touched.unreadable }
    }

    /// Returns the numbers of the rows that may match a file, judging by the pairs of characters of their patterns.
    pub(crate) fn rows(&self, rows: &[RowPattern]) -> impl Iterator<Item = u16> {
        let is_any = self.unreadable.is_some() || self.files.iter().any(|file| file.target.reaches_others());
        let may_match = move |row: &&RowPattern| is_any || self.pairs.may_contain(row.pairs);
        let rows = if is_any || !self.files.is_empty() { rows } else { &[] };
        rows.iter().filter(may_match).map(|row| row.row)
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
