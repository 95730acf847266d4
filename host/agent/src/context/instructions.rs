//! Gathers `AGENTS.md` and prompt fragments.

use super::files::{Text, Within, own_names, own_text};
use super::{Project, Sources};
use std::path::{Path, PathBuf};

/// Name of instruction files: <https://agents.md>.
const FILE: &str = "AGENTS.md";
/// Directory of the shell harness in a project.
const HARNESS: &str = ".harness";
/// Names in it that hold code.
const CODE: [&str; 6] = ["commands", "hooks", "hooks.d", "plugins", "providers", "tools"];
/// Maximum number of names in it that are checked.
const ENTRIES: usize = 500;
/// Maximum size of one file, in bytes.
pub(super) const FILE_LIMIT: u64 = 32 * 1024;
/// Maximum size of all files together, in bytes.
pub(super) const LIMIT: usize = 128 * 1024;
/// Maximum number of fragments per directory.
const FRAGMENTS: usize = 100;

/// Text of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Instructions {
    /// Path of the file.
    pub path: PathBuf,
    /// Text of the file, possibly cut.
    pub text: String,
}

type Found = (PathBuf, Result<Text, String>);

pub(super) fn gather(sources: &Sources, project: &Project, notices: &mut Vec<String>) -> Vec<Instructions> {
    let mut found = Vec::new();
    if let Some(config) = &sources.config {
        let fragments = config.join("prompts");
        let names = own_names(&fragments, FRAGMENTS).into_iter().filter(|name| name.ends_with(".md"));
        let files = std::iter::once(config.join(FILE)).chain(names.map(|name| fragments.join(name)));
        found.extend(files.filter_map(|path| own_text(&path, FILE_LIMIT).map(|text| (path, text))));
    }
    if let Some(within) = Within::open(&project.root) {
        for directory in &project.directories {
            let harness = directory.join(HARNESS);
            let fragments = harness.join("prompts");
            let names = within.names(&fragments, FRAGMENTS).into_iter().filter(|name| name.ends_with(".md"));
            let files =
                [directory.join(FILE), harness.join(FILE)].into_iter().chain(names.map(|name| fragments.join(name)));
            for file in files {
                let path = project.root.join(&file);
                if !found.iter().any(|(known, _)| *known == path)
                    && let Some(text) = within.text(&file, FILE_LIMIT)
                {
                    found.push((path, text));
                }
            }
            notices.extend(not_taken_over(&within, &project.root.join(&harness), &harness));
        }
    }
    bounded(found, notices)
}

/// Returns a notice about code in a project's `.harness/` directory, which is not used.
fn not_taken_over(within: &Within, shown: &Path, directory: &Path) -> Option<String> {
    let names = within.names(directory, ENTRIES);
    let code: Vec<_> = CODE.iter().copied().filter(|name| names.iter().any(|found| found == name)).collect();
    (!code.is_empty()).then(|| {
        format!(
            "of {} the prompts and skills are read, as text; {} hold code for another program and are not used here: what they \
             do, a plugin or an MCP server can do",
            shown.display(),
            code.join(", ")
        )
    })
}

/// Cuts the files to the size limit. Innermost files come first, since they say most about the current work. One notice
/// reports all cuts.
fn bounded(found: Vec<Found>, notices: &mut Vec<String>) -> Vec<Instructions> {
    let mut room = LIMIT;
    let mut instructions = Vec::new();
    let mut cut = Vec::new();
    for (path, read) in found.into_iter().rev() {
        let Text { mut text, size } = match read {
            Ok(text) => text,
            Err(reason) => {
                notices.push(format!("the model is not told what is in {}: {reason}", path.display()));
                continue;
            }
        };
        text.truncate(text.floor_char_boundary(room));
        room -= text.len();
        if u64::try_from(text.len()).is_ok_and(|kept| kept < size) {
            cut.push(format!("{} of the {size} bytes of {}", text.len(), path.display()));
        }
        if !text.trim().is_empty() {
            instructions.push(Instructions { path, text });
        }
    }
    if !cut.is_empty() {
        cut.reverse();
        notices.push(format!(
            "instructions were cut, since the model is told at most {} KiB of a file and {} KiB of all: it is told {}",
            FILE_LIMIT / 1024,
            LIMIT / 1024,
            cut.join(", ")
        ));
    }
    instructions.reverse();
    instructions
}
