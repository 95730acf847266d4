//! The result of an import, and the text and line of each rule.

use crate::proposal::Proposal;
use hookhost_contract::rule::RuleRow;
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

/// Maximum length of a rule's text in a message, in characters.
const MAX_SHOWN: usize = 160;

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The user's.
    User,
    /// A project's.
    Project,
}

/// A file of an agent.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The path as messages show it.
    pub path: PathBuf,
    /// Whose file it is.
    pub owner: Owner,
    /// The content.
    pub text: String,
    /// The bytes at which lines begin.
    lines: Vec<usize>,
}

/// A file that is not in the agent's format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}:{column}: {message}", path.display())]
pub struct Unreadable {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters, from 1.
    pub column: usize,
    /// The mistake.
    pub message: String,
}

/// A rule as the agent's file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The text of the rule.
    pub text: String,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.text.split_whitespace().collect();
        let mut text: String = words.join(" ");
        if let Some((end, _)) = text.char_indices().nth(MAX_SHOWN) {
            text.truncate(end);
            text.push('…');
        }
        write!(f, "{}:{}: {text}", self.path.display(), self.line)
    }
}

/// A rule that no row can express, or a row that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omission {
    /// The rule.
    pub written: Written,
    /// The reason, as the second half of a sentence.
    pub why: String,
}

/// A row, and the rule from which it comes.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The row, whose comments name the rule and the differences.
    pub proposal: Proposal,
    /// The rule.
    pub written: Written,
    /// The differences from the rule, one sentence each. Empty if the row judges the same calls in the same way.
    pub differences: Vec<String>,
    /// Number of `passes` at the beginning of the list that the rule itself names. The others are made from the rule.
    pub own_passes: usize,
}

/// Everything that is in an agent's files.
#[derive(Clone, Debug, Default)]
pub struct Import {
    /// The rows, in the order of the files.
    pub rows: Vec<Imported>,
    /// The rules without a row, in the order of the files.
    pub omissions: Vec<Omission>,
    ids: BTreeSet<String>,
    /// The rows without their ids, as JSON.
    seen: BTreeSet<String>,
}

impl SourceFile {
    /// Takes the content of a file. A byte order mark is left out.
    #[must_use]
    pub fn new(path: PathBuf, owner: Owner, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { path, owner, text, lines }
    }

    /// Returns the rule at this byte of the file.
    pub(crate) fn written(&self, at: usize, text: impl Into<String>) -> Written {
        let line = self.lines.partition_point(|start| *start <= at);
        Written { path: self.path.clone(), line, text: text.into() }
    }

    /// Returns the error that the file is wrong at this byte.
    pub(crate) fn unreadable(&self, at: usize, message: impl Into<String>) -> Unreadable {
        let (line, column) = self.position(at);
        let message: String = message.into();
        let message = message.lines().map(str::trim).collect::<Vec<_>>().join(", ");
        Unreadable { path: self.path.clone(), line, column, message }
    }

    /// Returns the line and the column of a byte, from 1.
    fn position(&self, at: usize) -> (usize, usize) {
        let at = self.text.floor_char_boundary(at.min(self.text.len()));
        let line = self.lines.partition_point(|start| *start <= at);
        let start = line.checked_sub(1).map_or(0, |line| self.lines[line]);
        (line, self.text[start..at].chars().count() + 1)
    }
}

impl Import {
    /// Notes that a rule has no row.
    pub(crate) fn omit(&mut self, written: Written, why: impl Into<String>) {
        self.omissions.push(Omission { written, why: why.into() });
    }

    /// Remembers a row. Returns false if the import has a row with the same keys already. The user's file and the project's often have the same rule.
    pub(crate) fn remember(&mut self, row: &RuleRow) -> bool {
        serde_json::to_string(row).is_ok_and(|json| self.seen.insert(json))
    }

    /// Returns an id that no row has yet: `claude-code.bash-git-push`.
    pub(crate) fn id(&mut self, agent: &str, text: &str) -> String {
        // With the agent's name and a number, an id has at most 64 characters.
        let base = format!("{agent}.{}", slug(text, 44));
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        let id = std::iter::once(base.clone()).chain(numbered).find(|id| !self.ids.contains(id)).unwrap_or(base);
        self.ids.insert(id.clone());
        id
    }
}

/// Returns the words of a text as a part of an id: lowercase letters and digits with `-` between the words, at most `most` bytes.
#[must_use]
pub fn slug(text: &str, most: usize) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-");
    slug.truncate(most);
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "rule".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{Import, Owner, SourceFile};

    #[test]
    fn an_id_is_readable_and_unique() {
        let mut import = Import::default();
        assert_eq!(import.id("claude-code", "Bash(git push:*)"), "claude-code.bash-git-push");
        assert_eq!(import.id("claude-code", "Bash(git push)"), "claude-code.bash-git-push-2");
        assert_eq!(import.id("codex", "…"), "codex.rule");
        assert!(import.id("claude-code", &"long ".repeat(99)).len() <= 64);
    }

    #[test]
    fn a_position_counts_characters() {
        let file = SourceFile::new("f".into(), Owner::User, "a\nüx");
        assert_eq!(file.unreadable(4, "odd").to_string(), "f:2:2: odd");
        assert_eq!(file.written(99, "x").line, 2);
    }
}
