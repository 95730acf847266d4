//! Systems that are not Linux: nothing is run.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::error::ExecError;
use crate::plan::MountPlan;
use crate::settings::Settings;

/// Refuses to run a program, because nothing here could guard anything.
///
/// # Errors
/// Always [`ExecError::NotAvailable`].
pub fn run(_: &MountPlan, _: &[OsString], _: &mut Settings<'_>) -> Result<ExitCode, ExecError> {
    Err(ExecError::NotAvailable)
}
