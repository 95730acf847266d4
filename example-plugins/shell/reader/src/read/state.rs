//! The parts of a reader's state that subshells share and do not copy.

use super::functions::Function;
use super::scope::Variables;
use crate::container_mounts::Mount;
use crate::word::Word;
use crate::wrappers::Location;
use std::ops::Range;
use std::rc::Rc;

/// The part of the agent's text that is being read.
pub(crate) struct Source<'a> {
    pub(crate) text: &'a str,
    /// The byte offset of each character; `None` for ASCII text.
    pub(super) offsets: Option<Vec<usize>>,
    /// The byte range of the text that is being read.
    pub(crate) place: Range<usize>,
    /// True if the bytes at `place` contain the words literally.
    pub(crate) exact: bool,
}

/// The numbers of open constructs.
#[derive(Default)]
pub(crate) struct Nesting {
    /// Number of open commands: `sh -c`, `$(…)`, calls of functions.
    pub(crate) commands: usize,
    /// Number of open compound commands, including the compound commands in which the current functions were called.
    pub(super) compounds: usize,
    /// The value of `commands` while the text of an arithmetic expression is read. At this depth, a name is a variable
    /// and not a program.
    pub(super) arithmetic: Option<usize>,
}

/// The programs and machines around the commands that are being read.
#[derive(Default)]
pub(crate) struct Surroundings {
    /// The programs that run the commands, the outermost first.
    pub(crate) wrappers: Vec<String>,
    pub(crate) location: Location,
    /// The mounts of this machine in the container.
    pub(crate) mounts: Vec<Mount>,
    /// True if the output goes into a variable, or into a header that carries credentials.
    pub(crate) captured: bool,
    /// The input of commands that have no input of their own.
    pub(crate) input: Option<Word>,
}

/// The names that the text gives to commands, and the commands that run at the end of the text.
#[derive(Default)]
pub(crate) struct Definitions {
    /// The functions by name. A list is fast enough, because few texts define functions.
    pub(super) functions: Vec<(String, Rc<Function>)>,
    /// The texts of aliases by name.
    pub(crate) aliases: Variables,
    /// The texts of `trap` commands that are read at the end of the text.
    pub(crate) traps: Vec<String>,
}

/// The properties of variables that `declare` sets.
#[derive(Default)]
pub(crate) struct Declarations {
    /// The letter case of values: `l` or `u`.
    pub(crate) letter_cases: Vec<(String, char)>,
    /// Variables with a second name (`declare -n`).
    pub(super) references: Variables,
    /// The elements of arrays after their last assignment.
    pub(super) arrays: Vec<(String, Vec<Word>)>,
}

/// The files that the text writes, as far as their content is known.
#[derive(Default)]
pub(crate) struct Files {
    /// Contents by path.
    pub(super) contents: Variables,
    /// The output of each `<(…)`, if known.
    pub(super) substitutions: Vec<Option<Word>>,
    /// The original names of programs that the text copies or renames, by new path.
    pub(crate) program_copies: Variables,
    /// The secret files that the text copies to other files, by the path of the new file.
    pub(crate) secret_copies: Variables,
}
