//! `hookhost allow` without a file: lists the plugin files in the directory next to the allowlist that are new or have changed. It computes
//! their digests and loads none of them.

use super::target;
use crate::args::AllowArgs;
use crate::configuration::{self, SECTIONS};
use crate::exit::{CliError, Exit};
use crate::output::{self, quoted, style::DIM};
use hookhost::config::{Config, ConfigError, Digest};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The name of the directory next to the allowlist that contains plugins.
const PLUGINS_DIRECTORY: &str = "plugins";

/// Maximum number of listed files.
const MAX_FILES: usize = 1000;

/// Prints, for each plugin that is not allowed yet, the command that allows it.
pub(super) fn list(args: &AllowArgs) -> Result<Exit, CliError> {
    let places = configuration::places()?;
    let file = target(args, &places)?;
    let directory = file.parent().unwrap_or(Path::new("")).join(PLUGINS_DIRECTORY);
    let present = if file.exists() {
        Config::open(&file, &places, SECTIONS).map_err(CliError::not_loaded)?
    } else {
        Config::empty()
    };
    let mut text = String::new();
    for wasm in components(&directory)? {
        let digest = Digest::of_file(&wasm);
        let why = match (present.entry_at(&wasm), digest) {
            (None, _) => "is not on the allowlist",
            (Some(entry), Ok(digest)) if entry.code.digest() != Some(digest) => "has changed since it was allowed",
            (Some(_), _) => continue,
        };
        let shown = quoted(&wasm.to_string_lossy());
        let _ = writeln!(text, "hookhost allow {} {DIM}# {why}{DIM:#}", output::one_line(&shown));
    }
    if text.is_empty() {
        let directory = output::one_line(&directory.to_string_lossy());
        output::note(&format!("no plugin in {directory} waits to be allowed\n"));
    }
    output::print(&text)?;
    Ok(Exit::Done)
}

/// Returns the component files in a directory, sorted by name, or an empty list if the directory does not exist.
fn components(directory: &Path) -> Result<Vec<PathBuf>, CliError> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => {
            return Err(CliError::not_loaded(ConfigError::Io { action: "read", path: directory.to_owned(), source }));
        }
    };
    let files = entries.flatten().map(|entry| entry.path());
    let files = files.filter(|file| file.extension() == Some(OsStr::new("wasm")) && file.is_file());
    let mut files: Vec<_> = files.take(MAX_FILES).collect();
    files.sort();
    Ok(files)
}
