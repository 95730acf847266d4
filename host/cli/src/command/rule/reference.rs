//! `hookhost help rules`: how rows are written.

use crate::exit::{CliError, Exit};
use crate::output;

/// The page, which is also in the documentation.
const PAGE: &str = include_str!("../../../../../docs/rules.md");

pub(super) fn run() -> Result<Exit, CliError> {
    output::print(&text())?;
    Ok(Exit::Done)
}

/// Returns the page without its comments.
pub(super) fn text() -> String {
    PAGE.lines().filter(|line| !line.starts_with("<!--")).map(|line| format!("{line}\n")).collect()
}
