//! The values of the project's secrets: those in the files and variables that the grant names, such as `.env`. The plugin learns
//! where a text contains such a value, and the name of its variable, but never the value. It needs the grant `secrets`.
//!
//! If the values cannot be read, the call of the plugin ends with an error. The interface belongs to version 0.2 of the
//! contract, which is a draft.

#[cfg(target_arch = "wasm32")]
use crate::generated::v0_2::secrets as host;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::secrets as host;

use std::ops::Range;

/// A value in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The name of the variable.
    pub name: String,
    /// The place of the value in the text, in bytes.
    pub place: Range<usize>,
}

/// A value that is not looked for, or a file or a variable that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Uncovered {
    /// The name of the variable, or the path of the file.
    pub name: String,
    /// The reason, as the end of a sentence that begins with the name.
    pub reason: String,
}

impl Found {
    /// Creates a value in a text.
    #[must_use]
    pub fn new(name: impl Into<String>, place: Range<usize>) -> Self {
        Self { name: name.into(), place }
    }
}

impl Uncovered {
    /// Creates a value that is not looked for.
    #[must_use]
    pub fn new(name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { name: name.into(), reason: reason.into() }
    }
}

#[cfg(target_arch = "wasm32")]
impl From<host::Found> for Found {
    fn from(host::Found { name, start, end }: host::Found) -> Self {
        Self { name, place: start as usize..end as usize }
    }
}

#[cfg(target_arch = "wasm32")]
impl From<host::Uncovered> for Uncovered {
    fn from(host::Uncovered { name, reason }: host::Uncovered) -> Self {
        Self { name, reason }
    }
}

/// Finds values in a text, in order and without overlaps, also if they are split over lines, percent-encoded, in base64 or
/// in hexadecimal digits.
#[must_use]
pub fn find(text: &str) -> Vec<Found> {
    host::find(text).into_iter().map(Into::into).collect()
}

/// Returns the values that are not covered, and the files and variables that cannot be read.
#[must_use]
pub fn uncovered() -> Vec<Uncovered> {
    host::list_uncovered().into_iter().map(Into::into).collect()
}

/// Returns true if the path is one of the files from which the values come. A relative path begins in the session's
/// working directory.
#[must_use]
pub fn is_source(path: &str) -> bool {
    host::is_source(path)
}
