//! The values of the project's secrets: those in the files and variables that the grant names, such as `.env`. The plugin learns
//! where a text contains such a value, and the name of its variable, but never the value. It needs the grant `secrets`.
//!
//! If the values cannot be read, the call of the plugin ends with an error. The interface belongs to version 0.2 of the
//! contract, which is a draft.

#[cfg(target_arch = "wasm32")]
use crate::generated::v0_2::secrets as host;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::secrets as host;

pub use crate::generated::v0_2::secrets::{Found, Uncovered};

use std::ops::Range;

/// Finds values in a text, in order and without overlaps, also if they are split over lines, percent-encoded, in base64 or
/// in hexadecimal digits.
#[must_use]
pub fn find(text: &str) -> Vec<Found> {
    host::find(text)
}

/// Returns the values that are not covered, and the files and variables that cannot be read.
#[must_use]
pub fn list_uncovered() -> Vec<Uncovered> {
    host::list_uncovered()
}

/// Returns true if the path is one of the files from which the values come. A relative path begins in the session's
/// working directory.
#[must_use]
pub fn is_source(path: &str) -> bool {
    host::is_source(path)
}

impl Found {
    /// Returns the place of the value in the text, in bytes.
    #[must_use]
    pub fn place(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}
