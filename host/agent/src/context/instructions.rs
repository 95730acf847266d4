//! Gathers `AGENTS.md` and prompt fragments.

use super::files::{FileText, ProjectDirectory, own_names, own_text};
use super::{Project, Sources};
use std::path::{Path, PathBuf};

/// Name of instruction files: <https://agents.md>.
const FILE_NAME: &str = "AGENTS.md";
/// Directory of the shell harness in a project.
const HARNESS_DIRECTORY: &str = ".harness";
/// Names of entries in the harness directory that hold code.
const CODE_NAMES: [&str; 6] = ["commands", "hooks", "hooks.d", "plugins", "providers", "tools"];
/// Maximum number of names in the harness directory that are checked.
const MAX_ENTRIES: usize = 500;
/// Maximum size of one file, in bytes.
pub(super) const MAX_FILE: u64 = 32 * 1024;
/// Maximum size of all files together, in bytes.
pub(super) const MAX_TOTAL: usize = 128 * 1024;
/// Maximum number of fragments per directory.
const MAX_FRAGMENTS: usize = 100;

/// Text of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Instructions {
    /// Path of the file.
    pub path: PathBuf,
    /// Text of the file, possibly cut.
    pub text: String,
}

type FileContent = (PathBuf, Result<FileText, String>);

pub(super) fn gather(sources: &Sources, project: &Project, notices: &mut Vec<String>) -> Vec<Instructions> {
    let mut found = Vec::new();
    if let Some(config) = &sources.config {
        let fragments = config.join("prompts");
        let names = own_names(&fragments, MAX_FRAGMENTS).into_iter().filter(|name| name.ends_with(".md"));
        let files = std::iter::once(config.join(FILE_NAME)).chain(names.map(|name| fragments.join(name)));
        found.extend(files.filter_map(|path| own_text(&path, MAX_FILE).map(|text| (path, text))));
    }
    if let Some(within) = ProjectDirectory::open(&project.root) {
        for directory in &project.directories {
            let harness = directory.join(HARNESS_DIRECTORY);
            let fragments = harness.join("prompts");
            let names = within.names(&fragments, MAX_FRAGMENTS).into_iter().filter(|name| name.ends_with(".md"));
            let files = [directory.join(FILE_NAME), harness.join(FILE_NAME)]
                .into_iter()
                .chain(names.map(|name| fragments.join(name)));
            for file in files {
                let path = project.root.join(&file);
                if !found.iter().any(|(known, _)| *known == path)
                    && let Some(text) = within.text(&file, MAX_FILE)
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
fn not_taken_over(within: &ProjectDirectory, shown: &Path, directory: &Path) -> Option<String> {
    let names = within.names(directory, MAX_ENTRIES);
    let code: Vec<_> = CODE_NAMES.iter().copied().filter(|name| names.iter().any(|found| found == name)).collect();
    (!code.is_empty()).then(|| {
        format!(
            "hookhost reads the prompts and skills of {} as text; {} hold code for another program and are not used: write a \
             plugin or an MCP server in their place",
            shown.display(),
            code.join(", ")
        )
    })
}

/// Cuts the files to the size limit. The innermost files get the available size first, since they say most about the
/// current work. One notice reports all cuts.
fn bounded(found: Vec<FileContent>, notices: &mut Vec<String>) -> Vec<Instructions> {
    let mut room = MAX_TOTAL;
    let mut instructions = Vec::new();
    let mut cut = Vec::new();
    for (path, read) in found.into_iter().rev() {
        let FileText { mut text, size } = match read {
            Ok(text) => text,
            Err(reason) => {
                notices.push(format!("the model does not get the file {}: {reason}", path.display()));
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
            "instructions were cut: the model gets at most {} KiB of a file and {} KiB in all, so it gets only {}",
            MAX_FILE / 1024,
            MAX_TOTAL / 1024,
            cut.join(", ")
        ));
    }
    instructions.reverse();
    instructions
}
