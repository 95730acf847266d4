//! `hookhost audit anchor`: notes the last record of the log in a git repository or a file.

use crate::args::AnchorArgs;
use crate::exit::{CliError, Exit};
use crate::output::{self, quoted, style::GOOD};
use crate::{audit_log, configuration};
use hookhost_agents::clock::now;
use hookhost_telemetry::anchor::{Anchor, AnchorError, AnchorPlace};
use std::path::{Path, PathBuf};

pub(super) fn run(args: &AnchorArgs) -> Result<Exit, CliError> {
    let place = match &args.path {
        Some(path) => std::path::absolute(path).map_err(anyhow::Error::from)?,
        None => configured()?.ok_or_else(|| {
            CliError::usage(
                "name a place for the anchor, or set `anchor` in the section `[evidence]` of your hookhost.toml",
            )
            .advise("git init ~/anchors && hookhost audit anchor ~/anchors")
        })?,
    };
    let log = audit_log::open(args.log.as_deref())?;
    if log.is_export() {
        return Err(CliError::usage("an export is anchored by its head, which `hookhost audit verify` prints"));
    }
    let (anchor, is_new) = anchor(log.path(), &place).map_err(failed)?;
    let shown = quoted(&place.to_string_lossy());
    let text = match is_new {
        true => format!("{GOOD}anchored{GOOD:#}  record {} in {shown}\n", anchor.seq),
        false => format!("{GOOD}anchored{GOOD:#}  record {} is in {shown} already\n", anchor.seq),
    };
    output::print(&format!("{text}  head      {}\n", anchor.head))?;
    output::print(&format!("  later     hookhost audit verify --anchors {shown}\n"))?;
    Ok(Exit::Done)
}

/// Adds an anchor of the last record. Returns it, and false if it was there already.
pub(crate) fn anchor(log: &Path, place: &Path) -> Result<(Anchor, bool), AnchorError> {
    let anchor = Anchor::of(log, now())?;
    let is_new = AnchorPlace::open(place)?.add(&anchor)?;
    Ok((anchor, is_new))
}

/// Returns the place of anchors in the user's own configuration.
pub(crate) fn configured() -> Result<Option<PathBuf>, CliError> {
    Ok(configuration::evidence_of_user()?.anchor.map(|path| path.0))
}

/// Turns an error about anchors into an error of the command.
pub(crate) fn failed(error: AnchorError) -> CliError {
    match error {
        AnchorError::Log(error) => audit_log::unreadable(error),
        error @ (AnchorError::NoDirectory(_) | AnchorError::NoRepository(_) | AnchorError::NoAnchors(_)) => {
            CliError::usage(error)
        }
        error => CliError::new(Exit::Failed, error),
    }
}
