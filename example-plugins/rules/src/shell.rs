//! Compares simple commands with `program`, `flags` and `args`.

use crate::names::Names;
use hookhost_contract::rule::RuleRow;
use shell_guard_rules::arguments::{Arguments, is_program};
use shell_reader::{Command, Word};
use std::ops::Range;

/// The matchers of a row for simple commands.
#[derive(Debug)]
pub(crate) struct ShellMatcher {
    pub(crate) programs: Vec<Program>,
    pub(crate) flags: Vec<String>,
    args: Names,
}

/// A program as a row names it: `git push`.
#[derive(Debug)]
pub(crate) struct Program {
    /// The name, which may end with `*`.
    pub(crate) name: String,
    /// The words of the subcommand, or the empty string.
    subcommand: String,
}

/// The first key of a row that does not hold for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Miss {
    Program,
    Flags,
    Args,
}

/// The last key of a row, with the part of the command for which it holds.
#[derive(Debug)]
pub(crate) struct Held {
    /// The program and the subcommand.
    pub(crate) program: String,
    pub(crate) key: &'static str,
    pub(crate) value: String,
}

impl Program {
    fn new(written: &str) -> Self {
        let (name, rest) = written.split_once(' ').unwrap_or((written, ""));
        Self { name: name.to_owned(), subcommand: rest.split_whitespace().collect::<Vec<_>>().join(" ") }
    }

    /// Returns the first word of the subcommand, or the empty string.
    pub(crate) fn first_word(&self) -> &str {
        self.subcommand.split(' ').next().unwrap_or_default()
    }

    /// Returns the index of the first operand after the subcommand, if the command runs this program with this subcommand.
    fn first_operand(&self, command: &Command, arguments: &Arguments<'_>) -> Option<usize> {
        if !is_program(self.name.as_bytes(), command) {
            return None;
        }
        if self.subcommand.is_empty() { Some(0) } else { arguments.first_after(&self.subcommand) }
    }

    fn shown(&self, command: &Command) -> String {
        format!("{} {}", command.program, self.subcommand).trim_end().to_owned()
    }
}

impl ShellMatcher {
    pub(crate) fn new(row: &RuleRow) -> Self {
        Self {
            programs: row.program.iter().map(|program| Program::new(program)).collect(),
            flags: row.flags.to_vec(),
            args: Names::new(&*row.args),
        }
    }

    /// Returns true if the row is about all commands.
    pub(crate) fn fits_all(&self) -> bool {
        self.programs.is_empty() && self.flags.is_empty() && self.args.is_empty()
    }

    /// Returns the key that holds last, or the first key that does not hold.
    pub(crate) fn fits(&self, command: &Command, arguments: &Arguments<'_>) -> Result<Held, Miss> {
        let (program, first) = if self.programs.is_empty() {
            (command.program.clone(), 0)
        } else {
            let found = self.programs.iter().find_map(|program| {
                program.first_operand(command, arguments).map(|first| (program.shown(command), first))
            });
            found.ok_or(Miss::Program)?
        };
        let mut held = Held { value: program.clone(), program, key: "program" };
        if !self.flags.is_empty() {
            let flag = self.flags.iter().find(|flag| has_flag(command, arguments, flag)).ok_or(Miss::Flags)?;
            (held.key, held.value) = ("flags", flag.clone());
        }
        if !self.args.is_empty() {
            let operands = arguments.operands.get(first..).unwrap_or_default();
            let mut known = operands.iter().filter(|word| word.is_known());
            let operand = known.find(|word| self.args.naming(&word.text).is_some()).ok_or(Miss::Args)?;
            (held.key, held.value) = ("args", operand.text.clone());
        }
        Ok(held)
    }
}

/// Returns the program and the arguments of a command, separated by spaces.
pub(crate) fn joined(command: &Command) -> String {
    let words = command.args.iter().map(|word| &*word.text);
    std::iter::once(&*command.program).chain(words).collect::<Vec<_>>().join(" ")
}

/// Returns the place of a command's program and arguments in its line, if the line contains them literally, and nothing else
/// between them.
pub(crate) fn place(command: &Command) -> Option<Range<usize>> {
    let words = command.args.iter().chain([&command.program_word]).map(|word| word.span.clone());
    let words: Vec<Range<usize>> = words.collect::<Option<_>>()?;
    let place = words.iter().map(|word| word.start).min()?..words.iter().map(|word| word.end).max()?;
    let is_outside = |word: &Word| word.span.as_ref().is_some_and(|span| !place.contains(&span.start));
    let is_literal = command.exact && !command.resolved && command.redirects.iter().all(|one| is_outside(&one.target));
    is_literal.then_some(place)
}

/// Returns true if the command has an option, also with its value in the next word.
pub(crate) fn has_flag(command: &Command, arguments: &Arguments<'_>, flag: &str) -> bool {
    let has_value_beside =
        |(name, value): (&str, &str)| command.args.windows(2).any(|pair| pair[0].text == name && pair[1].text == value);
    arguments.has_one_of(std::iter::once(flag)) || flag.split_once('=').is_some_and(has_value_beside)
}

/// Programs that run the script that their first operand names.
const INTERPRETERS: [&str; 17] = [
    "bash",
    "sh",
    "dash",
    "zsh",
    "ksh",
    "source",
    ".",
    "python",
    "python3",
    "node",
    "deno",
    "ruby",
    "perl",
    "php",
    "pwsh",
    "powershell",
    "tsx",
];

/// Returns the script or module that a command starts, as a command of its own: `bash deploy.sh x`, `python -m twine x`. It has no place in
/// the line, because it runs only as a part of the command.
pub(crate) fn started_by(command: &Command) -> Option<Command> {
    if !INTERPRETERS.contains(&&*command.program) {
        return None;
    }
    let is_python = command.program.starts_with("python");
    let is_code = |word: &&Word| !is_python && word.text.len() < 4 && word.text.contains(['c', 'e']);
    let mut options = command.args.iter().take_while(|word| word.text.starts_with('-'));
    let at = match options.clone().position(|word| is_python && word.text == "-m") {
        Some(at) => at + 1,
        None if options.clone().any(|word| is_python && word.text == "-c") || options.any(|word| is_code(&word)) => {
            return None;
        }
        None => command.args.iter().position(|word| !word.text.starts_with('-'))?,
    };
    let script = command.args.get(at).filter(|word| word.is_known() && !word.text.contains(char::is_whitespace))?;
    let program = script.text.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    let args = command.args[at + 1..].to_vec();
    let program_word = Word { span: None, ..script.clone() };
    Some(Command { program, program_word, args, ..command.clone() })
}
