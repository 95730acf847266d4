//! Reads shell commands from their text. It finds the programs that run, with their words and redirections, and looks through wrappers such
//! as `sudo`, `xargs` and `sh -c`. It follows `cd` and assignments, finds the files that a command writes, and classifies paths. Nothing
//! here runs a program or accesses a file system. Parts that only the shell can know are marked as [`UNKNOWN`].

mod arithmetic;
mod ascii;
mod bounds;
mod code;
mod container_mounts;
mod copied_files;
mod downloads;
mod embedded_commands;
mod expansion;
mod fast_parser;
mod find;
#[cfg(all(test, target_os = "linux"))]
mod fuzz_tests;
mod git_settings;
pub mod guarded;
pub mod path;
mod path_class;
mod path_context;
mod program_names;
mod read;
mod reevaluation;
mod repair;
mod scripts;
mod secret_access;
mod secret_files;
mod sed;
mod simple_command;
mod unwrap;
mod windows;
mod word;
mod wrappers;
mod writes;
mod writing_programs;
mod xargs;

pub use ascii::Ascii;
pub use bounds::{MAX_LENGTH, MAX_WORK};
pub use path_class::Class;
pub use path_context::PathContext;
pub use read::{Script, beginnings, read, read_likely};
pub use secret_access::SecretAccess;
pub use secret_files::is_secret_file;
pub use word::{UNKNOWN, Word};
pub use wrappers::{Location, is_startup_file};
pub use writes::{Extent, Write, is_known_program};

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// One call of a program, at any position in the text and inside any wrapper.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// The program's file name; empty if unknown.
    pub program: String,
    pub program_word: Word,
    pub args: Vec<Word>,
    pub redirects: Vec<Redirect>,
    /// Variables set for this command: `NAME=value program`.
    pub environment: Vec<(String, Word)>,
    /// The byte range of the agent's text from which the command comes.
    pub place: Range<usize>,
    /// True if the bytes at `place` contain the words literally. The command can then be rewritten there.
    pub exact: bool,
    /// The programs that run this command: `sudo`, `xargs`, `sh`.
    pub wrappers: Vec<String>,
    /// The directory in which the command runs, if known.
    pub cwd: Option<String>,
    /// The directory in which the command may run, if `cwd` is unknown.
    pub perhaps: Option<String>,
    pub location: Location,
    /// The programs whose output the command reads, and the programs that read its output.
    pub upstream: Vec<String>,
    pub downstream: Vec<String>,
    /// The input of the command, if the text contains it, as in a here-document or `echo … |`.
    pub input: Option<Word>,
    /// True if the output goes into a variable, or into a header that carries credentials.
    pub kept: bool,
    /// True if the command is written in the syntax of a Windows shell.
    pub windows: bool,
    /// True if this command calls a function, an alias or a script that the text defines. The script then also contains the commands of
    /// this function, alias or script.
    pub resolved: bool,
}

impl Command {
    /// Classifies the path that one of the command's words denotes.
    pub fn class(&self, word: &Word, context: &PathContext) -> Class {
        match context.class(word, self.cwd.as_deref()).seen_from(self.location) {
            // A tool creates this directory again, so removing it is harmless. On another machine, this is not assumed.
            Class::Unknown if self.location != Location::Machine && path_context::is_made_again(word) => Class::Inside,
            class => class,
        }
    }

    /// Returns the command with its patterns changed so that they match names with a leading dot. Returns `None` if the command has no
    /// patterns.
    fn dotted(&self) -> Option<Self> {
        let dotted = |word: &Word| {
            let names = word.text.split('/').map(|name| match name.as_bytes().first() {
                Some(b'*') => format!(".{name}"),
                Some(b'?') => format!(".{}", &name[1..]),
                Some(b'[') => format!(".{}", name.halves(b']').map_or("", |(_, rest)| rest)),
                _ => name.to_owned(),
            });
            Word { text: names.collect::<Vec<_>>().join("/"), ..word.clone() }
        };
        let mut command = self.clone();
        for word in command.args.iter_mut().filter(|word| word.glob) {
            *word = dotted(word);
        }
        (command.args != self.args).then_some(command)
    }

    /// Returns the word that is code in the program's own language and not a file name: `.[] | .key` of `jq`.
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

/// True if no further text will be read. In that case, memory need not be freed.
static IS_LAST: AtomicBool = AtomicBool::new(false);

/// Declares that this instance will read no further text, because a guest answers only one event. From now on, [`leave`] frees no memory.
pub fn answers_last() {
    IS_LAST.store(true, Ordering::Relaxed);
}

/// Drops a value. In a guest that will read no further text, leaks the value instead, because freeing a large tree takes time.
pub fn leave<T>(value: T) {
    // Other targets read more texts, and tests may check their memory.
    if cfg!(target_arch = "wasm32") && IS_LAST.load(Ordering::Relaxed) {
        std::mem::forget(value);
    }
}

/// Returns the file name of a program, in the form that the tables use.
pub(crate) fn program_name(word: &str) -> &str {
    let separator = word.bytes().rposition(|byte| matches!(byte, b'/' | b'\\'));
    let name = separator.map_or(word, |slash| &word[slash + 1..]);
    name.strip_suffix(".exe").or_else(|| name.strip_suffix(".EXE")).unwrap_or(name)
}

/// Returns a name in lower case, as the tables contain names.
pub fn lower(name: &str) -> Cow<'_, str> {
    if is_lower(name) { name.into() } else { name.to_ascii_lowercase().into() }
}

/// Returns true if the name has no upper-case letters.
pub fn is_lower(name: &str) -> bool {
    !name.bytes().any(|byte| byte.is_ascii_uppercase())
}
