//! A line of a text with a marked part.

use unicode_width::UnicodeWidthStr as _;

/// Maximum width of a line, in columns. If a line is longer, `MAX_COLUMNS_BEFORE` is the maximum width of the text
/// before the part.
const MAX_COLUMNS: usize = 110;
const MAX_COLUMNS_BEFORE: usize = 30;

/// A line of a text with a marked part, as it is shown on a terminal. The line below it has carets under the part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedLine {
    /// The text before the part.
    pub before: String,
    /// The part.
    pub part: String,
    /// The text after the part.
    pub after: String,
}

impl MarkedLine {
    /// Creates the line from the texts before, in and after the marked part. The texts must not contain control
    /// characters. A line of more than 110 columns is cut, but the result always contains the beginning of the part.
    #[must_use]
    pub fn new([before, part, after]: [String; 3]) -> Self {
        if before.width() + part.width() + after.width() <= MAX_COLUMNS {
            return Self { before, part, after };
        }
        let before = last_columns(&before, MAX_COLUMNS_BEFORE);
        let part = first_columns(&part, MAX_COLUMNS - MAX_COLUMNS_BEFORE);
        let after = first_columns(&after, MAX_COLUMNS.saturating_sub(before.width() + part.width()));
        Self { before, part, after }
    }

    /// Returns the spaces before the carets.
    #[must_use]
    pub fn indent(&self) -> String {
        " ".repeat(self.before.width())
    }

    /// Returns the carets: at least one, even if the part is invisible on a terminal.
    #[must_use]
    pub fn carets(&self) -> String {
        "^".repeat(self.part.width().max(1))
    }
}

/// Returns the beginning of a text that fits into this number of columns. The result ends with `…` if the text was
/// cut.
fn first_columns(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let fits = |end: &usize| text.get(..*end).is_some_and(|begin| begin.width() < columns);
    let end = text.char_indices().map(|(at, _)| at).take_while(fits).last().unwrap_or_default();
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// Like `first_columns`, but returns the end of the text. The result begins with `…` if the text was cut.
fn last_columns(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let fits = |begin: &usize| text.get(*begin..).is_some_and(|end| end.width() < columns);
    let begin = text.char_indices().rev().map(|(at, _)| at).take_while(fits).last().unwrap_or(text.len());
    format!("…{}", text.get(begin..).unwrap_or_default())
}
