//! Runs `hookhost` in a case, as the user and in the project.

use crate::place::{Place, write};
use crate::process::{self, Ended, Start};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Time limit of a command.
const LIMIT: Duration = Duration::from_secs(180);

/// Runs a command.
///
/// # Errors
/// If the command cannot be started.
pub(crate) fn run(place: &Place, arguments: &[&str]) -> Result<Ended> {
    process::run(place, &Start::new(place.bin().join("hookhost"), arguments), LIMIT)
}

/// Runs a command with the programs of this directory on the `PATH`.
///
/// # Errors
/// If the command cannot be started.
pub(crate) fn run_with_path(place: &Place, arguments: &[&str], directory: &Path) -> Result<Ended> {
    let path = process::variables(place).into_iter().find(|(name, _)| name == "PATH").context("no PATH")?.1;
    let start = Start::new(place.bin().join("hookhost"), arguments);
    process::run(place, &start.with(&[("PATH", &format!("{}:{path}", directory.display()))]), LIMIT)
}

/// Runs a command that has to succeed.
///
/// # Errors
/// If the command fails.
pub(crate) fn succeeds(place: &Place, arguments: &[&str]) -> Result<Ended> {
    let ended = run(place, arguments)?;
    ensure!(ended.code == Some(0), "hookhost {}: {}", arguments.join(" "), ended.said());
    Ok(ended)
}

/// Sets the deadline for a person's answers.
///
/// # Errors
/// If the configuration cannot be written.
pub(crate) fn wait_for_a_person(place: &Place, deadline: &str) -> Result<()> {
    let file = place.home().join(".config/hookhost/hookhost.toml");
    let text = fs::read_to_string(&file).with_context(|| format!("{} is not there", file.display()))?;
    let settings = text.find("[settings]\napproval-deadline").and_then(|_| text.split_once("\n\n"));
    let entries = settings.map_or(text.as_str(), |(_, entries)| entries);
    write(&file, &format!("[settings]\napproval-deadline = \"{deadline}\"\n\n{entries}"))
}

/// Adds sections to the user's configuration.
///
/// # Errors
/// If the configuration cannot be written.
pub(crate) fn configure(place: &Place, more: &str) -> Result<()> {
    let file = place.home().join(".config/hookhost/hookhost.toml");
    let text = fs::read_to_string(&file).with_context(|| format!("{} is not there", file.display()))?;
    write(&file, &format!("{}\n\n{more}", text.trim_end()))
}
