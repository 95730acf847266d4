//! Positions in the text of a file.

use std::{fmt, ops::Range, path::PathBuf, sync::Arc};

use super::Layer;

/// The text of a file, with the file's path and layer.
pub(super) struct Text {
    pub(super) path: PathBuf,
    /// The owner of the file.
    pub(super) layer: Layer,
    pub(super) text: String,
}

/// A position: a range of bytes in the text of a file.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) file: Arc<Text>,
    pub(super) range: Range<usize>,
}

/// Prints the path and the range, without the file's text.
impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{:?}", self.file.path.display(), self.range)
    }
}

impl Place {
    /// Returns the number of the line in which the range begins, from 1.
    pub(super) fn line(&self) -> usize {
        self.file.text.as_bytes().iter().take(self.range.start).filter(|byte| **byte == b'\n').count() + 1
    }

    /// Returns the place of a part of the string at this place. `part` is a range of bytes in `value`, the content of the
    /// string. If the file writes the string with escapes, returns the whole string.
    pub(super) fn part(&self, value: &str, part: &Range<usize>) -> Self {
        let written = self.file.text.get(self.range.clone()).unwrap_or_default();
        let begin = written.find(value).filter(|_| part.start <= part.end && part.end <= value.len());
        match begin.map(|begin| self.range.start + begin) {
            Some(begin) => Self { file: Arc::clone(&self.file), range: begin + part.start..begin + part.end },
            None => self.clone(),
        }
    }
}
