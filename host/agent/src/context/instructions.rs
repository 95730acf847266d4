//! `AGENTS.md` and prompt fragments.

use super::files::{Text, Within, own_names, own_text};
use super::{Project, Sources};
use std::path::PathBuf;

/// The name of a file with instructions: <https://agents.md>.
const FILE: &str = "AGENTS.md";
/// Most bytes of one file.
pub(super) const FILE_LIMIT: u64 = 32 * 1024;
/// Most bytes of all files together.
pub(super) const LIMIT: usize = 128 * 1024;
/// Most fragments.
const FRAGMENTS: usize = 100;

/// The text of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        for folder in &project.folders {
            let file = folder.join(FILE);
            let path = project.root.join(&file);
            if let Some(text) =
                within.text(&file, FILE_LIMIT).filter(|_| !found.iter().any(|(known, _)| *known == path))
            {
                found.push((path, text));
            }
        }
    }
    bounded(found, notices)
}

/// What there is room for: the innermost files first, which say most about what is worked on. One notice tells of all that
/// was cut.
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
