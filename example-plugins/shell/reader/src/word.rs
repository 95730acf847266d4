//! A word of a command, as far as it is known before the command runs.

use super::ascii::Ascii as _;
use std::borrow::Cow;
use std::ops::Range;

/// Placeholder in a word's text for a part that only the shell knows, such as a variable or the output of a command.
pub const UNKNOWN: char = '\u{1A}';

/// Stands for a `~` that denotes a home directory but does not begin a [`Word`], because the word is unfinished or the text contains
/// several words. Because of this mark, the home directories are still known when the text is split again or read as a command.
pub(crate) const HOME: char = '\u{1C}';

/// A word after expansion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The text without quotes. Each unknown part is [`UNKNOWN`].
    pub text: String,
    /// True if an unquoted `*`, `?` or `[` makes the word a file name pattern.
    pub glob: bool,
    /// True if the leading `~` denotes a home and not a file of that name.
    pub home: bool,
    /// True if an unquoted part is unknown. The shell may split such a part into any number of words.
    pub splits: bool,
    /// The byte index from which the text is doubtful, because a variable may not have been set: `false && X=y`.
    pub doubt: Option<usize>,
    /// True if an unknown part of the word is the content of a secret file.
    pub secret: bool,
    /// The byte range of the agent's text from which the word comes, if the word comes from one range.
    pub span: Option<Range<usize>>,
}

impl Word {
    pub fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Makes a word from a text in which each home directory is marked with `HOME`.
    pub fn marked(text: impl Into<String>) -> Self {
        let text = text.into();
        match text.strip_prefix(HOME) {
            Some(rest) => Self { text: format!("~{rest}"), home: true, ..Self::default() },
            None => Self::literal(text),
        }
    }

    /// Returns the word with another text, in which further home directories are marked.
    pub fn with_text(&self, text: impl Into<String>) -> Self {
        let made = Self::marked(text);
        let home = made.home || (self.home && made.text.starts_with('~'));
        Self { text: made.text, home, ..self.clone() }
    }

    /// Returns the text. If it begins with a home directory, `HOME` replaces the `~`.
    pub fn with_mark(&self) -> Cow<'_, str> {
        match self.text.strip_prefix('~').filter(|_| self.home) {
            Some(rest) => format!("{HOME}{rest}").into(),
            None => self.text.as_str().into(),
        }
    }

    /// Appends another word, with everything that is known about that word.
    pub fn append(&mut self, other: &Self) {
        let before = self.text.len();
        if before == 0 {
            self.home |= other.home;
            self.text.push_str(&other.text);
        } else {
            self.text.push_str(&other.with_mark());
        }
        self.glob |= other.glob;
        self.splits |= other.splits;
        self.secret |= other.secret;
        self.doubt = self.doubt.or(other.doubt.map(|at| before + at));
    }

    /// Joins words with spaces.
    pub fn of_all<'a>(words: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        for (at, word) in words.into_iter().enumerate() {
            if at > 0 {
                // A home after an empty word keeps its mark, because it follows a space.
                all.text.push(' ');
            }
            all.append(word);
        }
        all
    }

    /// Replaces each mark in the text with `~`. The word must not be split after that.
    pub fn unmark(&mut self) {
        if self.text.has(HOME as u8) {
            self.text = self.text.replace(HOME, "~");
        }
    }

    pub fn unknown() -> Self {
        Self { text: UNKNOWN.into(), splits: true, ..Self::default() }
    }

    /// Returns a word for the content of a secret file.
    pub(crate) fn of_secret() -> Self {
        Self { secret: true, ..Self::unknown() }
    }

    pub fn is_known(&self) -> bool {
        !self.text.has(UNKNOWN as u8)
    }
}

/// Joins the words of a command into one text, with [`HOME`] for each leading home.
pub(crate) fn joined<'a>(words: impl IntoIterator<Item = &'a Word>) -> String {
    words.into_iter().map(Word::with_mark).collect::<Vec<_>>().join(" ")
}
