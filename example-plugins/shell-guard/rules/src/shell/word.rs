//! A word of a command, as far as it is known before the command runs.

use std::ops::Range;

/// Stands in a word's text for what only the shell will know: a variable, the output of a command.
pub(crate) const UNKNOWN: char = '\u{1A}';

/// A word after expansion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// Without quotes; [`UNKNOWN`] for each part that is not known.
    pub(crate) text: String,
    /// Whether an unquoted `*`, `?` or `[` makes it a pattern of file names.
    pub(crate) glob: bool,
    /// Whether the leading `~` of the text is somebody's home, and not a file of that name.
    pub(crate) home: bool,
    /// Whether an unquoted part is unknown, so that it may be any number of words.
    pub(crate) splits: bool,
    /// The byte from which on it may be something else, where a variable was perhaps not set: `false && X=y`.
    pub(crate) doubt: Option<usize>,
    /// The bytes of the agent's own text that it came from, where it is these and no others.
    pub(crate) span: Option<Range<usize>>,
}

impl Word {
    pub(crate) fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub(crate) fn unknown() -> Self {
        Self { text: UNKNOWN.into(), splits: true, ..Self::default() }
    }

    pub(crate) fn is_known(&self) -> bool {
        !self.text.contains(UNKNOWN)
    }
}

/// The words of a command as one text.
pub(crate) fn joined<'a>(words: impl IntoIterator<Item = &'a Word>) -> String {
    words.into_iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}
