//! A word of a command, as far as it is known before the command runs.

use super::ascii::Ascii as _;
use std::borrow::Cow;
use std::ops::Range;

/// A placeholder in a word's text for what only the shell knows: a variable, the output of a command.
pub const UNKNOWN: char = '\u{1A}';

/// In the place of a `~` that is somebody's home, where it does not begin a [`Word`]: within a word that is in the making, and
/// in the text of several words. So a text can be taken apart again, or be read as a command, and no home is lost.
pub(crate) const HOME: char = '\u{1C}';

/// A word after expansion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Without quotes; [`UNKNOWN`] for each part that is not known.
    pub text: String,
    /// Whether an unquoted `*`, `?` or `[` makes it a pattern of file names.
    pub glob: bool,
    /// Whether the leading `~` of the text is somebody's home, and not a file of that name.
    pub home: bool,
    /// Whether an unquoted part is unknown, so that it may be any number of words.
    pub splits: bool,
    /// The byte from which on it may be something else, where a variable was perhaps not set: `false && X=y`.
    pub doubt: Option<usize>,
    /// Whether what a file of secrets holds is a part of it, which is not known.
    pub secret: bool,
    /// The bytes of the agent's own text that it came from, where it is these and no others.
    pub span: Option<Range<usize>>,
}

impl Word {
    pub fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A part of a text in which each home is marked with `HOME`.
    pub fn marked(text: impl Into<String>) -> Self {
        let text = text.into();
        match text.strip_prefix(HOME) {
            Some(rest) => Self { text: format!("~{rest}"), home: true, ..Self::default() },
            None => Self::literal(text),
        }
    }

    /// The same word with another text, in which each further home is marked.
    pub fn with_text(&self, text: impl Into<String>) -> Self {
        let made = Self::marked(text);
        let home = made.home || (self.home && made.text.starts_with('~'));
        Self { text: made.text, home, ..self.clone() }
    }

    /// The text with `HOME` for a home that it begins with.
    pub fn with_mark(&self) -> Cow<'_, str> {
        match self.text.strip_prefix('~').filter(|_| self.home) {
            Some(rest) => format!("{HOME}{rest}").into(),
            None => self.text.as_str().into(),
        }
    }

    /// Adds another word to the end, with what is known of it.
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

    /// All words as one, with blanks between them.
    pub fn of_all<'a>(words: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        for (at, word) in words.into_iter().enumerate() {
            if at > 0 {
                // After an empty word, a home stays a home: it follows a blank.
                all.text.push(' ');
            }
            all.append(word);
        }
        all
    }

    /// Makes a `~` of each mark within: nothing takes the word apart any more.
    pub fn unmark(&mut self) {
        if self.text.has(HOME as u8) {
            self.text = self.text.replace(HOME, "~");
        }
    }

    pub fn unknown() -> Self {
        Self { text: UNKNOWN.into(), splits: true, ..Self::default() }
    }

    /// What a file of secrets holds.
    pub(crate) fn of_secret() -> Self {
        Self { secret: true, ..Self::unknown() }
    }

    pub fn is_known(&self) -> bool {
        !self.text.has(UNKNOWN as u8)
    }
}

/// The words of a command as one text, with a [`HOME`] for each that begins with one.
pub(crate) fn joined<'a>(words: impl IntoIterator<Item = &'a Word>) -> String {
    words.into_iter().map(Word::with_mark).collect::<Vec<_>>().join(" ")
}
