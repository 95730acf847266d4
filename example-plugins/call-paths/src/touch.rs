//! The ways in which a command touches files.

use crate::{patch, reading};
use hookhost_contract::action::paths_of_patch;
use shell_reader::{Command, Extent, Word, Write, lower};

/// A way in which a call touches files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Creates, changes or deletes.
    Writes,
    /// Reads, or passes to a program that may read.
    Reads,
    /// Deletes.
    Deletes,
}

/// What a command does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    /// Creates, changes or deletes it.
    Made,
    MadePrivate,
    Exposed,
    Read,
}

impl Touch {
    /// Returns the files that a simple command touches.
    pub(crate) fn by(self, command: &Command) -> Vec<(Change, Write)> {
        let as_change = |change| move |write| (change, write);
        match self {
            Self::Writes => {
                let change = if command.makes_private() { Change::MadePrivate } else { Change::Made };
                let written = command.writes().into_iter().map(as_change(change));
                written.chain(command.exposes().into_iter().map(as_change(Change::Exposed))).collect()
            }
            Self::Reads => reading::read(command).into_iter().map(as_change(Change::Read)).collect(),
            Self::Deletes => deleted(command).into_iter().map(as_change(Change::Made)).collect(),
        }
    }

    /// Returns the files that a patch in a text touches.
    pub(crate) fn by_patch(self, text: &str) -> Vec<String> {
        match self {
            Self::Writes => paths_of_patch(text),
            Self::Reads => Vec::new(),
            Self::Deletes => patch::deleted(text),
        }
    }
}

/// Returns the files that a simple command deletes.
fn deleted(command: &Command) -> Vec<Write> {
    let is_git = |wanted: &str| command.program == "git" && command.args.iter().any(|word| word.text == wanted);
    let deletes = match &*lower(&command.program) {
        "rm" | "grm" | "rmdir" | "unlink" | "shred" | "trash" | "srm" | "del" | "erase" | "rd" | "ri"
        | "remove-item" => true,
        // Without an option, these programs do something else.
        "find" | "fd" => command.args.iter().any(|word| word.text == "-delete"),
        "git" => is_git("rm") || is_git("clean"),
        "trash-put" | "gio" | "rimraf" | "del-cli" => return operands(command),
        _ => false,
    };
    if !deletes {
        return Vec::new();
    }
    let outputs: Vec<&Word> = command.outputs().collect();
    let mut deleted = command.writes();
    deleted.retain(|write| !outputs.contains(&&write.path));
    if deleted.is_empty() && is_git("clean") {
        deleted.push(Write { path: Word::literal("."), extent: Extent::Whole, supposed: false });
    }
    deleted
}

/// Returns the operands of a command of a program that the reader does not know.
fn operands(command: &Command) -> Vec<Write> {
    let is_action = |word: &Word| command.program == "gio" && matches!(word.text.as_str(), "trash" | "remove");
    if command.program == "gio" && !command.args.first().is_some_and(is_action) {
        return Vec::new();
    }
    let operands = command.args.iter().filter(|word| !word.text.starts_with('-') && !is_action(word));
    operands.map(|word| Write { path: word.clone(), extent: Extent::Whole, supposed: false }).collect()
}
