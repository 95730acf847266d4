//! Systems that are not Linux: nothing is run.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::error::{ExecError, Notice};
use crate::plan::MountPlan;

/// The variable by which a program can tell that it runs inside.
pub const INSIDE_VARIABLE: &str = "HOOKHOST_INSIDE";

/// Settings of a run, as on Linux.
pub struct Settings<'a> {
    /// The program `hookhost-exec`.
    pub helper: &'a Path,
    /// Sockets and directories below the user's runtime directory that stay.
    pub kept: &'a [PathBuf],
    /// Is called with everything that a person should know.
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

/// Refuses to run a program, because nothing here could guard anything.
///
/// # Errors
/// Always [`ExecError::NotAvailable`].
pub fn run(_: &MountPlan, _: &[OsString], _: &mut Settings<'_>) -> Result<ExitCode, ExecError> {
    Err(ExecError::NotAvailable)
}
