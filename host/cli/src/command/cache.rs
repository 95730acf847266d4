//! `hookhost cache`: shows or removes the compiled code that is stored between runs.

use crate::args::CacheArgs;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::output::{
    self, one_line, quoted,
    style::{DIM, WARNING},
    truncate::counted,
};
use anyhow::anyhow;
use hookhost::command::{CacheFiles, cache_files, clear_cache};
use serde_json::json;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::Path;

pub(crate) fn run(args: &CacheArgs) -> Result<Exit, CliError> {
    let Some(directory) = configuration::cache() else {
        return Err(CliError::usage(
            "there is no directory for compiled code: name one in the environment variable HOOKHOST_CACHE_DIR",
        ));
    };
    check_place(&directory)?;
    let found = if args.clear { clear_cache(&directory) } else { cache_files(&directory) };
    let found = found.map_err(|error| {
        let does = if args.clear { "cleared" } else { "used" };
        anyhow!("the compiled code in {} cannot be {does}: {error}", quoted(&directory.to_string_lossy()))
    })?;
    if args.json {
        output::print_json(&as_json(&directory, &found, args.clear))?;
    } else {
        output::print(&as_text(&directory, &found, args.clear))?;
    }
    Ok(Exit::Done)
}

/// Checks that the directory can exist. A missing directory is empty, but another file in its place is an error.
fn check_place(directory: &Path) -> Result<(), CliError> {
    let other = |why: &dyn std::fmt::Display| {
        let error = anyhow!("{why}, so no compiled code can be kept in {}", quoted(&directory.to_string_lossy()));
        CliError::from(error).advise("name another directory in the environment variable HOOKHOST_CACHE_DIR")
    };
    match directory.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(metadata) if metadata.is_dir() => Ok(()),
        found => {
            let file = directory.ancestors().find(|path| path.metadata().is_ok_and(|found| !found.is_dir()));
            Err(match (file, found) {
                (Some(file), _) => other(&format!("{} is not a directory", quoted(&file.to_string_lossy()))),
                (None, Err(error)) => other(&format!("the directory cannot be read ({error})")),
                (None, Ok(_)) => other(&"the directory cannot be read"),
            })
        }
    }
}

fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

fn as_json(directory: &Path, found: &CacheFiles, cleared: bool) -> serde_json::Value {
    let unusable: Vec<_> = found.unusable.iter().map(|(file, why)| json!({ "file": file, "why": why })).collect();
    json!({
        "directory": directory,
        "files": found.files,
        "bytes": found.bytes,
        "cleared": cleared,
        "unusable": unusable,
    })
}

fn as_text(directory: &Path, found: &CacheFiles, cleared: bool) -> String {
    let CacheFiles { files, bytes, unusable, .. } = found;
    let shown = one_line(&directory.to_string_lossy());
    let did = if cleared { "removed" } else { "kept" };
    let (components, size) = (counted(*files, "component"), megabytes(*bytes));
    let mut text = format!("{did}: compiled code of {components}, {size} {DIM}in {shown}{DIM:#}\n");
    for (file, why) in unusable {
        let file = one_line(&file.to_string_lossy());
        let _ = writeln!(text, "{WARNING}compiled again when needed:{WARNING:#} {file}: {}", one_line(why));
    }
    text
}
