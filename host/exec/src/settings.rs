//! Settings of a run.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::Notice;

/// The variable by which a program can tell that it runs inside. Its value is `1`. Anybody can set it, so it is a hint.
pub const INSIDE_VARIABLE: &str = "HOOKHOST_INSIDE";

/// Settings of a run.
pub struct Settings<'a> {
    /// The program `hookhost-exec`. [`helper_beside`] finds it.
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

/// Returns the path of `hookhost-exec` in the directory of this program.
///
/// # Errors
/// Fails if the system does not tell where this program is.
pub fn helper_beside() -> io::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name("hookhost-exec"))
}
