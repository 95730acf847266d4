//! From the text of a command to the commands that it runs.

mod arithmetic;
mod bounds;
mod copies;
mod expand;
mod fetched;
mod find;
mod git;
mod path;
mod plain;
mod read;
mod scripts;
mod simple;
mod unwrap;
mod windows;
mod word;
mod wrappers;
mod xargs;

pub(crate) use bounds::LENGTH;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use bounds::WORK;
pub(crate) use path::{Class, Places};
pub(crate) use read::{Script, read};
pub(crate) use word::{UNKNOWN, Word};
pub(crate) use wrappers::Location;

use std::ops::Range;

/// One program with its words, wherever in the text it stands and whatever it is wrapped in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Command {
    /// The program's file name; empty where it is not known.
    pub(crate) program: String,
    pub(crate) program_word: Word,
    pub(crate) args: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
    /// Variables that are set for it: `NAME=value program`.
    pub(crate) environment: Vec<(String, Word)>,
    /// The bytes of the agent's text that it came from.
    pub(crate) place: Range<usize>,
    /// Whether its words stand in those bytes as they are, so that it can be changed there.
    pub(crate) exact: bool,
    /// The programs that run it: `sudo`, `xargs`, `sh`.
    pub(crate) wrappers: Vec<String>,
    /// Where it runs; nothing where that is not known.
    pub(crate) cwd: Option<String>,
    pub(crate) location: Location,
    /// The programs whose output it reads, and those that read its output.
    pub(crate) upstream: Vec<String>,
    pub(crate) downstream: Vec<String>,
    /// What it reads, where the text says so: a here-document, `echo … |`.
    pub(crate) input: Option<Word>,
    /// Whether it is spelt as Windows does.
    pub(crate) windows: bool,
}

impl Command {
    /// What a word of it leads to.
    pub(crate) fn class(&self, word: &Word, places: &Places) -> Class {
        places.class(word, self.cwd.as_deref()).seen_from(self.location)
    }
}

/// A redirection to or from a file.
#[derive(Clone, Debug)]
pub(crate) struct Redirect {
    pub(crate) kind: RedirectKind,
    pub(crate) target: Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedirectKind {
    Read,
    Write,
    Append,
}

/// The file name of a program, as it is looked up.
pub(crate) fn program_name(word: &str) -> &str {
    let folder = word.bytes().rposition(|byte| matches!(byte, b'/' | b'\\'));
    let name = folder.map_or(word, |slash| &word[slash + 1..]);
    name.strip_suffix(".exe").or_else(|| name.strip_suffix(".EXE")).unwrap_or(name)
}
