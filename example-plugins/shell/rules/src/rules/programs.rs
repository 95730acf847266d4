//! Splits the words of a command into options and operands. Tables describe how each program spells its options and which options take a
//! value.

use super::embedded::take;
use super::schema::{Program, ProgramFile, Style};
use super::sql::Statements;
use super::words::{Index, Words, first};
use shell_reader::Ascii as _;
use shell_reader::guarded::Changes;
use shell_reader::{Class, Command, Word};
use std::cell::OnceCell;

const BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/programs.postcard"));

/// All programs with known options.
#[derive(Debug)]
pub struct Programs {
    known: Vec<Program>,
    /// The index of each program by name.
    by_name: Index,
}

impl Programs {
    /// Returns the programs of the table that is part of this crate.
    ///
    /// # Errors
    /// Returns an error if the table cannot be read, which is a fault of the build.
    pub fn embedded() -> Result<Self, String> {
        Ok(Self::new(take(BYTES)?.0))
    }

    fn new(file: ProgramFile) -> Self {
        let mut known = file.program;
        let names =
            (0..).zip(&known).flat_map(|(at, program)| program.names.iter().map(move |name| (name.as_str(), None, at)));
        let firsts = names.clone().map(|(name, ..)| first(name));
        let by_name = Index::new(firsts, |byte| names.clone().filter(move |(name, ..)| first(name) == byte));
        known.iter_mut().for_each(|program| program.names = Vec::new());
        Self { known, by_name }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Program> {
        self.by_name.get(name).all().last().and_then(|at| self.known.get(at as usize))
    }

    /// Splits the words of a command into options and operands.
    pub fn arguments<'a>(&'a self, command: &'a Command) -> Arguments<'a> {
        let mut arguments = Arguments::new(self.get(&command.program), &command.args, command.windows);
        if let Some(code) = command.code() {
            arguments.operands.retain(|operand| !std::ptr::eq(*operand, code));
        }
        arguments
    }

    /// Like [`Programs::arguments`], but a word before the first operand is treated as the value of an option if it may be one. Returns
    /// `None` if no word may be one. The options of an unknown program are unknown, so `frob -r x delete` may have the subcommand `delete`.
    pub fn likely_arguments<'a>(&'a self, command: &'a Command, certain: &Arguments<'_>) -> Option<Arguments<'a>> {
        let read = || Arguments::with_values(self.get(&command.program), &command.args, command.windows);
        certain.is_open.then(read)
    }
}

impl Program {
    /// Returns the long option that a word abbreviates after this subcommand. The flag is true if the option is certain.
    fn resolved<'a>(&'a self, subcommand: Option<&str>, given: &'a str) -> (&'a str, bool) {
        let of_subcommand = subcommand.and_then(|subcommand| self.options_of.get(subcommand));
        let options = match of_subcommand {
            Some(options) => options,
            None if subcommand.is_none() || self.options_of.is_empty() => &self.options,
            None => return (given, false),
        };
        let mut found = None;
        for option in options.iter().filter(|option| option.starts_with(given)) {
            if option == given {
                return (given, true);
            }
            if found.replace(option).is_some() {
                return (given, false);
            }
        }
        // `--no-f` may stand for `--no-force`. So if a word begins with `--no-`, it is not certain that the word abbreviates another
        // option.
        let negated = given.strip_prefix("--no-").filter(|rest| !rest.is_empty());
        let may_be_negated =
            negated.is_some_and(|rest| options.iter().any(|option| option[2.min(option.len())..].starts_with(rest)));
        match found.filter(|_| !may_be_negated && given.len() > 2) {
            Some(option) => (option, true),
            None => (given, false),
        }
    }
}

/// An option in a command.
#[derive(Debug)]
pub(crate) struct Flag<'a> {
    /// The option with its dashes.
    pub(crate) name: &'a str,
    /// A letter in a cluster such as `-rf`.
    letter: Option<char>,
    /// True if the word is the full name of this option and cannot be an abbreviation of another option.
    whole: bool,
    pub(crate) value: Option<&'a str>,
}

/// The words of a command, split into options and operands.
#[derive(Debug, Default)]
pub struct Arguments<'a> {
    pub(crate) flags: Vec<Flag<'a>>,
    /// The words that are neither options nor values of options.
    pub operands: Vec<&'a Word>,
    /// Index of `--` among the words.
    pub(crate) dashes: Option<usize>,
    abbreviations: bool,
    ignore_case: bool,
    /// True if the first operand may be the value of an unknown option before it.
    pub(crate) is_open: bool,
    /// The classes of the operands, computed once because many rules need them.
    classes: OnceCell<Vec<Class>>,
    /// The guarded files that the command changes.
    changes: OnceCell<Changes>,
    /// True if a word names a secret file.
    secret: OnceCell<bool>,
    /// The SQL statements in the words and the input.
    statements: OnceCell<Statements>,
}

impl<'a> Arguments<'a> {
    fn new(program: Option<&'a Program>, args: &'a [Word], windows: bool) -> Self {
        Self::read(program, args, windows, false)
    }

    fn with_values(program: Option<&'a Program>, args: &'a [Word], windows: bool) -> Self {
        Self::read(program, args, windows, true)
    }

    fn read(program: Option<&'a Program>, args: &'a [Word], windows: bool, has_values: bool) -> Self {
        let style = program.map_or(Style::Gnu, |program| program.style);
        let windows = windows || style == Style::Slash;
        let mut values = [program.map(|program| &program.values), None];
        let takes_value = |values: &[Option<&Words>], name: &str| values.iter().flatten().any(|names| names.has(name));
        let abbreviations = windows || program.is_some_and(|program| program.abbreviations);
        let mut parsed = Self { abbreviations, ignore_case: windows, ..Self::default() };
        let mut words = args.iter().enumerate();
        let mut may_be_value = false;
        while let Some((at, word)) = words.next() {
            let text = word.text.as_str();
            if std::mem::take(&mut may_be_value) && parsed.operands.is_empty() && !text.starts_with('-') {
                parsed.is_open |= at + 1 < args.len();
                if has_values {
                    continue;
                }
            }
            // For a known program, all options with a value are listed.
            may_be_value = program.is_none() && !windows && text.starts_with('-') && text.len() > 1 && !text.has(b'=');
            if at == 0 && text.starts_with('+') && program.is_some_and(|program| program.toolchain) {
                continue;
            }
            if parsed.dashes.is_some() || !is_option(text, windows) {
                if let Some(program) = program.filter(|_| parsed.operands.is_empty()) {
                    if program.separate {
                        values[0] = None;
                    }
                    values[1] = program.subcommands.get(text);
                }
                parsed.operands.push(word);
                continue;
            }
            if text == "--" {
                parsed.dashes = Some(at);
                continue;
            }
            if text.starts_with("--") || style != Style::Gnu || windows {
                let (name, mut value) = split_value(text, windows);
                let subcommand = parsed.operands.first().map(|word| word.text.as_str());
                let (name, whole) = match program.filter(|_| !windows && text.starts_with("--")) {
                    Some(program) => program.resolved(subcommand, name),
                    None => (name, false),
                };
                if value.is_none() && takes_value(&values, name) {
                    value = words.next().map(|(_, word)| word.text.as_str());
                }
                parsed.flags.push(Flag { name, letter: None, whole, value });
                continue;
            }
            if takes_value(&values, text) {
                let value = words.next().map(|(_, word)| word.text.as_str());
                parsed.flags.push(Flag { name: text, letter: None, whole: false, value });
                continue;
            }
            // For unknown programs, the whole word is kept, too: `-auto-approve`.
            let (name, value) = split_value(text, false);
            parsed.flags.push(Flag { name, letter: None, whole: false, value });
            for (at, letter) in text.char_indices().skip(1) {
                let rest = &text[at + letter.len_utf8()..];
                let mut buffer = [0; 5];
                buffer[0] = b'-';
                let takes_value = letter.is_ascii() && {
                    buffer[1] = u8::try_from(letter).unwrap_or(b'?');
                    std::str::from_utf8(&buffer[..2]).is_ok_and(|name| takes_value(&values, name))
                };
                let value = (takes_value && !rest.is_empty()).then_some(rest);
                parsed.flags.push(Flag { name, letter: Some(letter), whole: false, value });
                if takes_value {
                    if rest.is_empty() {
                        words.next();
                    }
                    break;
                }
            }
        }
        parsed
    }

    /// Returns the class of each operand. Only the first call of this function calls `class`.
    pub(crate) fn classes(&self, class: impl Fn(&Word) -> Class) -> &[Class] {
        self.classes.get_or_init(|| self.operands.iter().map(|word| class(word)).collect())
    }

    /// Returns the changes of guarded files. Only the first call of this function calls `changes`.
    pub(crate) fn changes(&self, changes: impl FnOnce() -> Changes) -> Changes {
        *self.changes.get_or_init(changes)
    }

    /// Returns true if a word names a secret file. Only the first call of this function calls `names`.
    pub(crate) fn names_secret(&self, names: impl FnOnce() -> bool) -> bool {
        *self.secret.get_or_init(names)
    }

    /// Returns the SQL statements that `command` may contain. `self` must be the arguments of `command`.
    pub(crate) fn statements(&self, command: &Command) -> &Statements {
        self.statements.get_or_init(|| Statements::of(command))
    }

    /// Returns true if one of these options was given: `-f`, `--force`, `--x=value`.
    pub fn has_one_of<'b>(&self, mut spellings: impl Iterator<Item = &'b str>) -> bool {
        !self.flags.is_empty() && spellings.any(|spelling| self.has(spelling))
    }

    fn has(&self, spelling: &str) -> bool {
        let (wanted, value) = match spelling.bytes().position(|byte| byte == b'=') {
            Some(at) => (&spelling[..at], Some(&spelling[at + 1..])),
            None => (spelling, None),
        };
        self.flags.iter().any(|flag| self.is(flag, wanted) && value.is_none_or(|value| flag.value == Some(value)))
    }

    /// Returns the index of the first operand after a subcommand, which may have several words. Returns `None` if the command has another
    /// subcommand.
    pub fn first_after(&self, subcommand: &str) -> Option<usize> {
        let mut rest = subcommand;
        for (at, word) in self.operands.iter().enumerate() {
            if rest == word.text && !rest.has(b' ') {
                return Some(at + 1);
            }
            rest = rest.strip_prefix(word.text.as_str())?.strip_prefix(' ')?;
        }
        None
    }

    /// Returns true if `--help` was given in full.
    pub(crate) fn asks_for_help(&self) -> bool {
        self.flags.iter().any(|flag| flag.letter.is_none() && flag.value.is_none() && flag.name == "--help")
    }

    fn is(&self, flag: &Flag<'_>, wanted: &str) -> bool {
        if let Some(letter) = flag.letter {
            if wanted.len() > 1 + letter.len_utf8() {
                return false;
            }
            let mut wanted = wanted.strip_prefix('-').unwrap_or_default().chars();
            return wanted.next() == Some(letter) && wanted.next().is_none();
        }
        let same =
            |one: &str, other: &str| if self.ignore_case { one.eq_ignore_ascii_case(other) } else { one == other };
        if same(flag.name, wanted) {
            return true;
        }
        if !self.abbreviations || flag.whole {
            return false;
        }
        let least = if self.ignore_case { 2 } else { 4 };
        let begins = wanted.get(..flag.name.len()).is_some_and(|begin| same(begin, flag.name));
        flag.name.len() >= least && (self.ignore_case || wanted.starts_with("--")) && begins
    }
}

fn is_option(text: &str, windows: bool) -> bool {
    let is_switch = windows && text.starts_with('/') && text.len() <= 3 && !text.ends_with('/');
    is_switch || (text.starts_with('-') && text.len() > 1)
}

fn split_value(text: &str, windows: bool) -> (&str, Option<&str>) {
    match text.halves(b'=').or_else(|| text.halves(b':').filter(|_| windows)) {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    }
}
