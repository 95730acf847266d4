//! Finds the command that really runs behind `sudo`, `env`, `xargs`, `sh -c` and similar programs.

use super::ascii::Ascii as _;
use super::code::language;
use super::path_class::Class;
use super::read::{Reader, Unreadable};
use super::simple_command::printed_by;
use super::word::{UNKNOWN, Word, joined};
use super::wrappers::{self, Runs};
use super::{Command, RedirectKind, lower, program_name, program_names, windows};

mod variables;
mod wrapped;

pub(super) use variables::cased;

/// Text that adds an unknown file as the last word of a command, such as the file that an editor opens.
pub(super) const FILE: &str = " \"$_\"";

/// A program that runs other programs in a way that the tables of `wrappers.toml` cannot describe.
enum SpecialWrapper {
    /// Runs a command with more words from its input.
    Xargs,
    /// Runs a command or a text, once for each word after `:::`.
    Parallel,
    /// Runs the text after `-c`, or its input.
    Shell,
    /// Runs all its words together as a text.
    Eval,
    /// Runs the content of a file, which another command may have written.
    Source,
    Find,
    Directory,
    /// Sets variables for the following commands.
    Declare,
    /// Sets variables to unknown values.
    Read,
    /// Sets a variable with `-v`.
    Print,
    /// Sets the arguments with `set --`.
    Set,
    Shift,
    /// Gives names to texts that run as commands.
    Alias,
    /// Gives a name to a file: `hash -p x ls`.
    Hash,
    /// Adds commands from a library: `enable -f x.so ls`.
    Enable,
    Cmd,
    Powershell,
}

fn special(program: &str) -> Option<SpecialWrapper> {
    Some(match program {
        "xargs" | "gxargs" => SpecialWrapper::Xargs,
        "parallel" => SpecialWrapper::Parallel,
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" | "mksh" | "rbash" | "tcsh" | "csh" | "nu"
        | "xonsh" | "elvish" | "rc" | "yash" | "osh" => SpecialWrapper::Shell,
        "eval" => SpecialWrapper::Eval,
        "source" | "." => SpecialWrapper::Source,
        "find" | "gfind" | "fd" | "fdfind" => SpecialWrapper::Find,
        "cd" | "pushd" => SpecialWrapper::Directory,
        "export" | "declare" | "local" | "readonly" | "typeset" | "integer" | "float" => SpecialWrapper::Declare,
        "read" | "mapfile" | "readarray" | "getopts" | "unset" => SpecialWrapper::Read,
        "printf" => SpecialWrapper::Print,
        "set" => SpecialWrapper::Set,
        "shift" => SpecialWrapper::Shift,
        "alias" => SpecialWrapper::Alias,
        "hash" => SpecialWrapper::Hash,
        "enable" => SpecialWrapper::Enable,
        "cmd" => SpecialWrapper::Cmd,
        "powershell" | "pwsh" => SpecialWrapper::Powershell,
        _ => return None,
    })
}

/// Returns the value that `read` gets from a text of one word.
fn one_word(text: &Word) -> Option<Word> {
    let line = text.text.trim_end();
    let is_one = text.is_known() && !line.is_empty() && !line.has_one_of(b" \t\n\\");
    is_one.then(|| text.with_text(text.with_mark().trim_end()))
}

/// Returns the command that `mapfile` calls repeatedly. It is the value of `-C`, in the same word or in the next word.
fn callback(args: &[Word]) -> Option<&str> {
    let at = args.iter().position(|word| wrappers::attached(&word.text, "-C").is_some())?;
    wrappers::attached(&args[at].text, "-C")
        .filter(|text| !text.is_empty())
        .or(args.get(at + 1).map(|word| &*word.text))
}

/// Returns true if a shell builtin takes names of variables and evaluates the index in `a[…]`.
fn evaluates(program: &str) -> bool {
    matches!(
        program,
        "test"
            | "["
            | "let"
            | "read"
            | "unset"
            | "declare"
            | "local"
            | "export"
            | "readonly"
            | "typeset"
            | "mapfile"
            | "readarray"
            | "getopts"
            | "wait"
    )
}

/// Returns true if a program's words may contain another command, or name one.
pub(super) fn runs_others(program: &str) -> bool {
    let is_special = matches!(
        special(program),
        Some(
            SpecialWrapper::Xargs
                | SpecialWrapper::Parallel
                | SpecialWrapper::Shell
                | SpecialWrapper::Eval
                | SpecialWrapper::Source
                | SpecialWrapper::Find
                | SpecialWrapper::Cmd
                | SpecialWrapper::Powershell
        )
    );
    is_special || wrappers::is_known(program)
}

/// Returns true if a program may read a command, or words of a command, from its input.
pub(super) fn reads_commands(program: &str) -> bool {
    matches!(
        special(program),
        Some(SpecialWrapper::Shell | SpecialWrapper::Xargs | SpecialWrapper::Parallel | SpecialWrapper::Source)
    ) || program == "cat"
        || language(program).is_some()
        || wrappers::of(program, &[]).is_some_and(|(wrapper, _)| wrapper.reads || wrapper.runs == Runs::Words)
}

impl Reader<'_> {
    /// Records the command of `words`, and the commands that it runs.
    pub(super) fn run(&mut self, words: Vec<Word>, mut command: Command) -> Result<(), Unreadable> {
        let words = self.mounted(words);
        let Some((program, args)) = words.split_first() else { return self.record(command) };
        // These are options of the shell keyword `time`, because no program has such a name.
        if program.text.starts_with('-') && program.text.len() > 1 {
            // A shell without this keyword starts the program, which has more options, such as `-o FILE`.
            if program.text != "-p" {
                let (program, program_word) = ("time".to_owned(), Word::literal("time"));
                self.record(Command { program, program_word, args: words.clone(), exact: false, ..command.clone() })?;
            }
            return self.wrapped_any("time", wrappers::time(), &words, &command);
        }
        command.program_word = program.clone();
        if program.glob && is_pattern(&program.text) {
            command.program_word.text = program.text.replace(['*', '?', '['], &UNKNOWN.to_string());
        }
        let name = program_names::usual(program_name(&command.program_word.text));
        command.program = if name.has(UNKNOWN as u8) { String::new() } else { name.to_owned() };
        if let Some(words) = self.of_git(&words, &command) {
            return self.run(words, Command { exact: false, ..command });
        }
        let name = command.program.clone();
        let lower = lower(&name);
        let special = special(&lower);
        if evaluates(&lower) {
            for word in args {
                self.indexed(word);
                if lower == "let" { self.evaluates(&word.text)? } else { self.evaluates_index(&word.text)? }
            }
        }
        let wrapper = if special.is_some() { None } else { wrappers::of(&lower, args) };
        let is_program = special.is_none();
        let alias = if is_program { self.alias(&program.text, args) } else { None };
        let script = if is_program && program.text.has(b'/') { self.written_in(program) } else { None };
        let copied = if is_program { self.original_of_copy(program)? } else { None };
        let is_known = alias.is_some() || script.is_some() || copied.is_some();
        let language = language(&lower);
        let is_sed = matches!(&*lower, "sed" | "gsed" | "ssed");
        let runs_nothing = is_program && wrapper.is_none();
        if runs_nothing && language.is_none() && !is_sed && !is_known && !self.defines(&program.text) && name != "git" {
            let mut words = words;
            command.args = words.split_off(1);
            let likely = self.likely(&name, &command.args);
            let inner = likely.as_ref().map(|_| Command { exact: false, args: Vec::new(), ..command.clone() });
            self.record(command)?;
            return likely.zip(inner).map_or(Ok(()), |(words, inner)| self.run(words, inner));
        }
        let inner = command.clone();
        command.args = args.to_vec();
        command.resolved = is_known || self.defines(&program.text);
        self.record(command)?;
        // It is unknown which command the shell finds. Therefore each possible command is read, and also the command with this name.
        if let Some(original) = copied {
            let renamed: Vec<Word> = [original].into_iter().chain(args.iter().cloned()).collect();
            self.wrapped(&name, &renamed, Command { exact: false, ..inner.clone() })?;
        }
        if let Some(text) = alias {
            self.aliased(&program.text, &text)?;
        }
        if let Some(text) = script {
            self.within("sh", |reader| reader.script("sh", &text, args))?;
        }
        if let Some(language) = language.filter(|_| !self.defines(&program.text)) {
            self.code(&lower, language, args, &inner)?;
        }
        if is_sed && !self.defines(&program.text) {
            self.sed(&name, args, &inner)?;
        }
        if runs_nothing {
            if name == "git" {
                self.git(args)?;
            }
            let input = self.input_of_function(inner);
            return self.call(&program.text, args, input).map(drop);
        }
        if self.defines(&program.text) && self.call(&program.text, args, self.input_of_function(inner.clone()))? {
            return Ok(());
        }
        if let Some((wrapper, args)) = wrapper {
            if name == "git" {
                self.git(&words[1..])?;
            }
            if name == "make" {
                self.recipes(args, &inner)?;
            }
            return self.unwrap(&name, wrapper, args, inner);
        }
        match special {
            Some(SpecialWrapper::Xargs) => self.xargs(&name, args, &inner),
            Some(SpecialWrapper::Parallel) => self.parallel(&name, args, inner),
            Some(SpecialWrapper::Shell) => self.shell(&name, args, inner),
            Some(SpecialWrapper::Eval) => self.text(&name, &joined(args)),
            Some(SpecialWrapper::Source) => self.file(&name, args, inner.input),
            Some(SpecialWrapper::Find) => self.find(&name, args, &inner),
            Some(SpecialWrapper::Directory) => {
                let to = args.iter().find(|word| !word.text.starts_with('-') || word.text == "-");
                self.scope.cwd = match to {
                    None => self.context.directory(&Word { home: true, ..Word::literal("~") }, None),
                    Some(word) if word.text == "-" => None,
                    Some(word) => self.context.directory(word, self.scope.cwd.as_deref()),
                };
                Ok(())
            }
            Some(SpecialWrapper::Print) => {
                if let Some(variable) = args.first().and_then(|word| word.text.strip_prefix("-v")) {
                    let variable =
                        if variable.is_empty() { args.get(1).map(|word| &*word.text) } else { Some(variable) };
                    let format = &args[args.len().min(1 + usize::from(args[0].text == "-v"))..];
                    self.indexed(&Word::literal(variable.unwrap_or_default()));
                    self.evaluates_index(variable.unwrap_or_default())?;
                    let (variable, value) = (variable.unwrap_or_default().to_owned(), printed_by("printf", format));
                    if let Some(value) = &value {
                        self.commands_in(&variable, value)?;
                    }
                    self.set(&variable, value);
                }
                Ok(())
            }
            Some(SpecialWrapper::Declare) if args.iter().any(|word| has_letter(&word.text, b'n')) => {
                args.iter().filter_map(|word| word.text.halves(b'=')).for_each(|(name, of)| self.refer(name, of));
                Ok(())
            }
            Some(SpecialWrapper::Declare) => {
                let is_number =
                    matches!(&*lower, "integer" | "float") || args.iter().any(|word| has_letter(&word.text, b'i'));
                args.iter().try_for_each(|word| match word.text.halves(b'=') {
                    Some((name, value)) => {
                        if is_number {
                            self.evaluates(name)?;
                        }
                        let begin = name.len() + 1;
                        let mut value = Word::marked(cased(value, letter_case(args)));
                        value.home |= value.text.starts_with('~');
                        value.secret = word.secret;
                        value.doubt = word.doubt.map(|at| at.saturating_sub(begin));
                        self.assign(name, Some(value))
                    }
                    None if word.text.starts_with(['-', '+']) => Ok(()),
                    None => {
                        self.declarations.letter_cases.extend(letter_case(args).map(|case| (word.text.clone(), case)));
                        if is_number { self.evaluates(&word.text) } else { Ok(()) }
                    }
                })
            }
            Some(SpecialWrapper::Hash) => {
                if let Some(at) = args.iter().position(|word| word.text == "-p")
                    && let Some([file, names @ ..]) = args.get(at + 1..)
                {
                    for name in names {
                        self.definitions.aliases.insert(name.text.clone(), Some(file.clone()));
                    }
                    let is_system = self.context.class(file, self.scope.cwd.as_deref()) == Class::System;
                    self.script.runs_unknown |= !is_system;
                }
                Ok(())
            }
            Some(SpecialWrapper::Enable) => {
                self.script.runs_unknown |= args.iter().any(|word| word.text.starts_with("-f"));
                Ok(())
            }
            Some(SpecialWrapper::Read) => {
                if matches!(name.as_str(), "mapfile" | "readarray")
                    && let Some(text) = callback(args)
                {
                    self.text(&name, text)?;
                }
                // If `IFS` contains `=`, the first variable gets the name before the `=` and not the value after it.
                let splits = inner.environment.iter().any(|(name, value)| name == "IFS" && value.text.has(b'='));
                let is_given =
                    name == "unset" || inner.redirects.iter().any(|redirect| redirect.kind == RedirectKind::Read);
                let known = self.input_of(&inner);
                let input = self.input_of_function(inner).or(known).filter(|_| name != "unset");
                if let Some(input) = &input {
                    let named = args.iter().filter(|word| !word.text.starts_with('-')).map(|word| word.text.as_str());
                    for variable in named.chain(["REPLY", "MAPFILE"]) {
                        self.commands_in(variable, input)?;
                    }
                }
                let names = || args.iter().filter(|word| !word.text.starts_with('-'));
                let given = input.as_ref().or(self.surroundings.input.as_ref().filter(|_| !is_given));
                let line = given.filter(|_| names().count() == 1).and_then(one_word);
                let value = line.or(input.filter(|input| input.secret));
                let is_split = splits && names().count() > 1;
                for (at, word) in names().enumerate() {
                    self.set(&word.text, value.clone().filter(|_| at > 0 || !is_split));
                }
                // These are the default variables if no variables are named.
                if value.is_some() {
                    self.set("REPLY", value.clone());
                    self.set("MAPFILE", value);
                }
                Ok(())
            }
            Some(SpecialWrapper::Set) => {
                let begin = args.iter().position(|word| word.text == "--").map_or(0, |at| at + 1);
                let words = args.get(begin..).unwrap_or_default();
                if begin > 0 || words.first().is_some_and(|word| !word.text.starts_with(['-', '+'])) {
                    self.set_positional(words);
                }
                Ok(())
            }
            Some(SpecialWrapper::Shift) => {
                self.shift(args.first().map_or(Some(1), |word| word.text.parse().ok()));
                Ok(())
            }
            Some(SpecialWrapper::Alias) => args.iter().try_for_each(|word| match word.text.halves(b'=') {
                Some((alias, text)) => {
                    self.definitions.aliases.insert(alias.to_owned(), Some(Word::marked(text)));
                    self.text(&name, text)
                }
                None => Ok(()),
            }),
            Some(SpecialWrapper::Cmd) => {
                // In `/c`, `//c`, `/s/c` and `/crd`, the text begins after the letter `c`.
                let text =
                    args.iter().enumerate().filter(|(_, word)| word.text.starts_with('/')).find_map(|(at, word)| {
                        let lower = word.text.to_ascii_lowercase();
                        let begin = lower.find("/c").or_else(|| lower.find("/k"))? + 2;
                        Some(format!("{} {}", &word.text[begin..], joined(&args[at + 1..])))
                    });
                text.map_or(Ok(()), |text| self.windows_text(&name, text.trim_start()))
            }
            Some(SpecialWrapper::Powershell) => match (windows::powershell_text(args)?, inner.input) {
                (Some(text), input) if text == "-" => self.powershell_input(&name, input),
                (Some(text), _) => self.windows_text(&name, &text),
                (None, input) if args.iter().all(|word| word.text.starts_with('-')) => {
                    self.powershell_input(&name, input)
                }
                (None, _) => Ok(()),
            },
            None => Ok(()),
        }
    }

    pub(super) fn text(&mut self, wrapper: &str, text: &str) -> Result<(), Unreadable> {
        self.within(wrapper, |reader| match wrapper {
            // These builtins run their text in the current shell.
            "eval" | "source" | "." => reader.nested(text),
            _ => {
                let scope = reader.scope.clone();
                let result = reader.nested(text);
                reader.leave(scope);
                result
            }
        })
    }

    /// Reads the input of PowerShell: `… | pwsh -Command -`.
    fn powershell_input(&mut self, name: &str, input: Option<Word>) -> Result<(), Unreadable> {
        let Some(input) = input else { return Ok(()) };
        self.script.runs_unknown |= !input.is_known();
        self.windows_text(name, &input.text)
    }

    fn windows_text(&mut self, wrapper: &str, text: &str) -> Result<(), Unreadable> {
        self.within(wrapper, |reader| reader.nested_windows(text))
    }

    fn within<T>(&mut self, wrapper: &str, act: impl FnOnce(&mut Self) -> T) -> T {
        self.surroundings.wrappers.push(wrapper.to_owned());
        let result = act(self);
        self.surroundings.wrappers.pop();
        result
    }

    /// Returns the text of an alias, followed by `args`. Within the alias's own text, the name denotes the program and not the alias.
    fn alias(&self, name: &str, args: &[Word]) -> Option<String> {
        let text = self.definitions.aliases.get(name)?.as_ref()?;
        Some(format!("{} {}", text.with_mark(), joined(args)))
    }

    fn aliased(&mut self, name: &str, text: &str) -> Result<(), Unreadable> {
        let before = self.definitions.aliases.insert(name.to_owned(), None);
        let result = self.text("alias", text);
        self.definitions.aliases.insert(name.to_owned(), before.flatten());
        result
    }
}

/// Returns the letter case that `declare -l` or `declare -u` sets.
fn letter_case(args: &[Word]) -> Option<char> {
    let letters = args.iter().filter_map(|word| word.text.strip_prefix('-')).filter(|text| !text.has(b'='));
    letters.flat_map(str::chars).rfind(|letter| matches!(letter, 'l' | 'u'))
}

/// Returns true if a word is an option of `declare` that contains this letter. The letter `n` declares a second name for a variable, and
/// `i` declares an integer.
fn has_letter(option: &str, letter: u8) -> bool {
    option.strip_prefix('-').is_some_and(|letters| letters.has(letter) && !letters.has(b'='))
}

/// Returns true if a program's name is a file name pattern. `[` alone is not a pattern but a program.
fn is_pattern(text: &str) -> bool {
    text.has_one_of(b"*?") || text.find('[').zip(text.rfind(']')).is_some_and(|(open, close)| open < close)
}
