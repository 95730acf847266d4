//! The ways in which a command touches files.

use crate::arguments::Named;
use crate::{ReadCall, operands, patch, reading};
use hookhost_contract::action::paths_of_patch;
use shell_reader::{Command, Extent, Word, Write, lower};

/// A way in which a call touches files. It is a table of functions, so that a component contains only the ways that it uses.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    /// Returns the files that a simple command touches.
    pub(crate) by_command: fn(&Command) -> Vec<(Change, Write)>,
    /// Returns the files that a patch in a command touches.
    pub(crate) by_patch: fn(&str) -> Vec<String>,
    /// Returns the arguments of a call that name files which the call touches.
    pub(crate) by_call: fn(&ReadCall<'_>) -> Vec<Named>,
    /// True if a call that changes files must name them.
    pub(crate) is_writing: bool,
}

impl Touch {
    /// Creates, changes or deletes.
    pub const WRITES: Self =
        Self { by_command: written, by_patch: paths_of_patch, by_call: |call| call.written(), is_writing: true };
    /// Reads, or passes to a program that may read.
    pub const READS: Self =
        Self { by_command: read, by_patch: |_| Vec::new(), by_call: |call| call.read(), is_writing: false };
    /// Deletes.
    pub const DELETES: Self =
        Self { by_command: deleted, by_patch: patch::deleted, by_call: |call| call.deleted(), is_writing: false };
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

fn written(command: &Command) -> Vec<(Change, Write)> {
    let change = if command.makes_private() { Change::MadePrivate } else { Change::Made };
    let written = operands::written(command).into_iter().map(|write| (change, write));
    written.chain(command.exposes().into_iter().map(|write| (Change::Exposed, write))).collect()
}

fn read(command: &Command) -> Vec<(Change, Write)> {
    reading::read(command).into_iter().map(|read| (Change::Read, read)).collect()
}

fn deleted(command: &Command) -> Vec<(Change, Write)> {
    removed(command).into_iter().map(|write| (Change::Made, write)).collect()
}

/// Returns the files that a simple command deletes.
fn removed(command: &Command) -> Vec<Write> {
    let subcommand = if command.program == "git" { reading::subcommand(command) } else { None };
    let deletes = match &*lower(&command.program) {
        "rm" | "grm" | "rmdir" | "unlink" | "shred" | "trash" | "srm" | "del" | "erase" | "rd" | "ri"
        | "remove-item" => true,
        // Without an option, these programs do something else.
        "find" | "fd" => command.args.iter().any(|word| word.text == "-delete"),
        "git" => matches!(subcommand, Some("rm" | "clean")),
        "rsync" => command.args.iter().any(|word| word.text.starts_with("--del")),
        "tar" | "gtar" | "bsdtar" if command.args.iter().any(|word| word.text == "--remove-files") => {
            let mut moved = command.writes();
            moved.retain(|write| write.extent == Extent::Moved);
            return moved;
        }
        // The first operand is the archive.
        "zip" if command.args.iter().any(moves_into_archive) => return operands(command).into_iter().skip(1).collect(),
        "trash-put" | "gio" | "rimraf" | "del-cli" => return operands(command),
        _ => false,
    };
    if !deletes {
        return Vec::new();
    }
    let outputs: Vec<&Word> = command.outputs().collect();
    let mut deleted = command.writes();
    deleted.retain(|write| !outputs.contains(&&write.path));
    if deleted.is_empty() && subcommand == Some("clean") {
        deleted.push(Write { path: Word::literal("."), extent: Extent::Whole, supposed: false });
    }
    deleted
}

/// Returns true for the option of `zip` that moves files into the archive.
fn moves_into_archive(word: &Word) -> bool {
    word.text == "--move" || (word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('m'))
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
