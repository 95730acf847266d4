//! Settings of a run.

use std::path::{Path, PathBuf};

use crate::error::Notice;

/// The first word of the helper's command line.
pub(crate) const HELPER_WORD: &str = "exec-helper";

/// Settings of a run.
pub struct Settings<'a> {
    /// The program that serves as the helper, by [`helper_exit`](crate::helper_exit).
    pub helper: &'a Path,
    /// Sockets and directories below the user's runtime directory (`/run/user/UID`) that stay. All others are hidden.
    /// Name the directory of a socket that may be replaced: inside, a socket alone stays the one of the start.
    pub kept: &'a [PathBuf],
    /// Is called with everything that a person should know, while the program runs.
    pub notify: &'a mut dyn FnMut(&Notice),
}

impl std::fmt::Debug for Settings<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Settings")
            .field("helper", &self.helper)
            .field("kept", &self.kept)
            .finish_non_exhaustive()
    }
}
