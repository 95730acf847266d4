//! The mistakes in a configuration file with their positions, formatted like the messages of a compiler.

use std::{fmt, path::PathBuf};

use super::place::Place;
use crate::marked_line::MarkedLine;

/// One mistake in a configuration file. It is displayed as `file:line:column: message`, followed by the line with a
/// caret under the mistake. Control characters of the file are never displayed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters, from 1.
    pub column: usize,
    /// The key with the mistake, preceded by the keys of the tables that contain it, such as `plugin.limits.fuel`.
    pub key: Option<String>,
    /// The known key or word that may have been meant.
    pub nearest: Option<String>,
    /// The mistake and the correction, in one sentence. Lines to copy may follow.
    pub message: String,
    snippet: MarkedLine,
}

impl Problem {
    pub(super) fn new(place: &Place, message: impl AsRef<str>) -> Self {
        let text = &place.file.text;
        let start = floor(text, place.range.start);
        let end = floor(text, place.range.end).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[line_start..].lines().next().unwrap_or("");
        // Show only the first line, even if the mistake extends over several lines.
        let marked = text[start..end].lines().next().unwrap_or("");
        let before = &text[line_start..start];
        let after = line.get(before.len() + marked.len()..).unwrap_or("");
        Self {
            file: place.file.path.clone(),
            line: text[..line_start].matches('\n').count() + 1,
            column: before.chars().count() + 1,
            key: None,
            nearest: None,
            message: printable(message.as_ref()),
            snippet: MarkedLine::new([before, marked, after].map(blank_unseen)),
        }
    }

    pub(super) fn about(mut self, key: &str) -> Self {
        self.key = Some(printable(key));
        self
    }

    pub(super) fn near(mut self, nearest: Option<&str>) -> Self {
        self.nearest = nearest.map(str::to_owned);
        self
    }
}

/// Returns the last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

/// Escapes invisible characters, because the text of a file must not control the terminal.
fn printable(text: &str) -> String {
    text.chars().flat_map(|c| if crate::is_unseen(c) { c.escape_default().collect() } else { vec![c] }).collect()
}

/// Replaces each invisible character with a blank.
fn blank_unseen(text: &str) -> String {
    text.chars().map(|c| if crate::is_unseen(c) { ' ' } else { c }).collect()
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, message, snippet, .. } = self;
        let margin = " ".repeat(line.to_string().len());
        writeln!(f, "{}:{line}:{column}: {message}", self.file.display())?;
        writeln!(f, "{margin} |")?;
        let MarkedLine { before, part, after } = snippet;
        writeln!(f, "{line} | {before}{part}{after}")?;
        write!(f, "{margin} | {}{}", snippet.indent(), snippet.carets())
    }
}

/// All mistakes, in the order of their positions in the files. There is at least one mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Sorts the mistakes, of which there must be at least one.
    pub(super) fn of(mut found: Vec<Problem>) -> Self {
        found.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
        Self(found)
    }

    /// Returns `Ok(value)` if there are no mistakes.
    pub(super) fn none_or<T>(found: Vec<Problem>, value: T) -> Result<T, Self> {
        if found.is_empty() { Ok(value) } else { Err(Self::of(found)) }
    }

    /// Returns an iterator over the mistakes.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }
}

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}
