//! `AGENTS.md` and prompt fragments.

use super::files::{Text, Within, own_names, own_text};
use super::{Project, Sources};
use std::path::{Path, PathBuf};

/// The name of a file with instructions: <https://agents.md>.
const FILE: &str = "AGENTS.md";
/// The directory in which a project keeps what the shell harness of its agents runs.
const HARNESS: &str = ".harness";
/// What of it is code.
const CODE: [&str; 6] = ["commands", "hooks", "hooks.d", "plugins", "providers", "tools"];
/// Most names in it that are looked at.
const ENTRIES: usize = 500;
/// Most bytes of one file.
pub(super) const FILE_LIMIT: u64 = 32 * 1024;
/// Most bytes of all files together.
pub(super) const LIMIT: usize = 128 * 1024;
/// Most fragments.
const FRAGMENTS: usize = 100;

/// The text of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Instructions {
    /// The file.
    pub path: PathBuf,
    /// What it says, perhaps cut.
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

/// What of a project's `.harness/` directory is there and not taken over, since it is code. One
/// notice for each directory.
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

/// What there is room for: the innermost files first, which say most about what is worked on. One
/// notice tells of all that was cut.
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
