//! What a shell command is, read from its text: the programs that it runs, with their words and redirections, through
//! wrappers such as `sudo`, `xargs` and `sh -c`, with `cd` and assignments followed; which files it writes; and where a path
//! leads. Nothing here runs anything or asks a file system. What only the shell will know is marked as [`UNKNOWN`].

mod arithmetic;
mod bounds;
mod code;
mod copies;
mod dialogs;
mod evaluated;
mod expand;
mod fetched;
mod find;
#[cfg(all(test, target_os = "linux"))]
mod fuzzed;
mod git;
pub mod guarded;
mod held;
mod mounts;
mod names;
pub mod path;
mod places;
mod plain;
mod read;
mod repair;
mod scripts;
mod secrets;
mod sed;
mod simple;
mod supposed;
mod unwrap;
mod windows;
mod word;
mod wrappers;
mod writes;
mod xargs;

pub use bounds::{MAX_LENGTH, MAX_WORK};
pub use places::{Class, Places};
pub use read::{Script, read, read_likely};
pub use secrets::Given;
pub use shell_words::ascii::Ascii;
pub use supposed::{is_command, supposed_commands};
pub use word::{UNKNOWN, Word};
pub use wrappers::Location;
pub use writes::Write;

use shell_words::{ascii, known};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// One program with its words, wherever it is in the text and whatever it is wrapped in.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// The program's file name; empty where it is not known.
    pub program: String,
    pub program_word: Word,
    pub args: Vec<Word>,
    pub redirects: Vec<Redirect>,
    /// Variables that are set for it: `NAME=value program`.
    pub environment: Vec<(String, Word)>,
    /// The bytes of the agent's text that it came from.
    pub place: Range<usize>,
    /// Whether those bytes contain its words literally, so that it can be changed there.
    pub exact: bool,
    /// The programs that run it: `sudo`, `xargs`, `sh`.
    pub wrappers: Vec<String>,
    /// Where it runs; nothing where that is not known.
    pub cwd: Option<String>,
    pub location: Location,
    /// The programs whose output it reads, and those that read its output.
    pub upstream: Vec<String>,
    pub downstream: Vec<String>,
    /// What it reads, where the text says so: a here-document, `echo … |`.
    pub input: Option<Word>,
    /// Whether what it prints is put into a variable, or into a header that says who asks.
    pub kept: bool,
    /// Whether it is spelt as Windows does.
    pub windows: bool,
}

impl Command {
    /// What a word of it leads to.
    pub fn class(&self, word: &Word, places: &Places) -> Class {
        match places.class(word, self.cwd.as_deref()).seen_from(self.location) {
            // Wherever it is, what is there can be made again.
            Class::Unknown if self.location != Location::Machine && places::is_made_again(word) => Class::Inside,
            class => class,
        }
    }

    /// The word that is a text in the program's own language, and names no file: `.[] | .key` of `jq`.
    pub fn code(&self) -> Option<&Word> {
        if !matches!(self.program.as_str(), "jq" | "yq" | "gojq" | "jaq" | "dasel") {
            return None;
        }
        let is_code = |text: &str| {
            text == "."
                || text.has_one_of(b"[|({\"")
                || (text.starts_with('.') && !text.starts_with("./") && !text.starts_with("../"))
        };
        self.args.iter().find(|word| !word.text.starts_with('-') && is_code(&word.text))
    }
}

/// A redirection to or from a file.
#[derive(Clone, Debug)]
pub struct Redirect {
    pub kind: RedirectKind,
    pub target: Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectKind {
    Read,
    Write,
    Append,
}

/// Whether what is let go of is needed by nobody: the memory of this instance is thrown away.
static IS_LAST: AtomicBool = AtomicBool::new(false);

/// Says that this is the last text of the instance: a guest answers one event. What [`leave`] is given from now on is not taken apart.
pub fn answers_last() {
    IS_LAST.store(true, Ordering::Relaxed);
}

/// Lets go of a value: a tree of many parts, each of which would be given back to the allocator by itself.
pub fn leave<T>(value: T) {
    // Elsewhere there is another text, and memory that somebody watches.
    if cfg!(target_arch = "wasm32") && IS_LAST.load(Ordering::Relaxed) {
        std::mem::forget(value);
    }
}

/// The file name of a program, as it is looked up.
pub(crate) fn program_name(word: &str) -> &str {
    let separator = word.bytes().rposition(|byte| matches!(byte, b'/' | b'\\'));
    let name = separator.map_or(word, |slash| &word[slash + 1..]);
    name.strip_suffix(".exe").or_else(|| name.strip_suffix(".EXE")).unwrap_or(name)
}

/// A name in the case in which it is looked up.
pub fn lower(name: &str) -> Cow<'_, str> {
    if is_lower(name) { name.into() } else { name.to_ascii_lowercase().into() }
}

/// Whether it is so already.
pub fn is_lower(name: &str) -> bool {
    !name.bytes().any(|byte| byte.is_ascii_uppercase())
}
