//! Finds the command that really runs behind `sudo`, `env`, `xargs`, `sh -c` and similar programs.

use super::ascii::Ascii as _;
use super::code::language;
use super::path_class::Class;
use super::read::{Reader, Unreadable};
use super::simple_command::printed_by;
use super::word::{UNKNOWN, Word, joined};
use super::wrappers::{self, Location, Runs, Wrapper};
use super::{Command, RedirectKind, lower, program_name, program_names, windows};

/// Maximum number of programs that run each other: `sudo nice env …`. The message below repeats the number.
const MAX_WRAPPERS: usize = 8;

/// An unknown file as the last word of a command, such as the one an editor opens.
pub(super) const FILE: &str = " \"$_\"";

/// A program that runs others in its own way. The tables describe all the rest.
enum Special {
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
    /// Sets the arguments, with `set --`, or drops the first of them.
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

fn special(program: &str) -> Option<Special> {
    Some(match program {
        "xargs" | "gxargs" => Special::Xargs,
        "parallel" => Special::Parallel,
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" | "mksh" | "rbash" | "tcsh" | "csh" | "nu"
        | "xonsh" | "elvish" | "rc" | "yash" | "osh" => Special::Shell,
        "eval" => Special::Eval,
        "source" | "." => Special::Source,
        "find" | "gfind" | "fd" | "fdfind" => Special::Find,
        "cd" | "pushd" => Special::Directory,
        "export" | "declare" | "local" | "readonly" | "typeset" | "integer" | "float" => Special::Declare,
        "read" | "mapfile" | "readarray" | "getopts" | "unset" => Special::Read,
        "printf" => Special::Print,
        "set" => Special::Set,
        "shift" => Special::Shift,
        "alias" => Special::Alias,
        "hash" => Special::Hash,
        "enable" => Special::Enable,
        "cmd" => Special::Cmd,
        "powershell" | "pwsh" => Special::Powershell,
        _ => return None,
    })
}

/// Returns the value that `read` gets from a text of one word.
fn one_word(text: &Word) -> Option<Word> {
    let line = text.text.trim_end();
    let is_one = text.is_known() && !line.is_empty() && !line.has_one_of(b" \t\n\\");
    is_one.then(|| text.with_text(text.with_mark().trim_end()))
}

/// Returns the command that `mapfile` calls repeatedly: the value of `-C`, in its own word or in the next.
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

/// Returns true if a program's words may be, or name, another command.
pub(super) fn runs_others(program: &str) -> bool {
    let is_special = matches!(
        special(program),
        Some(
            Special::Xargs
                | Special::Parallel
                | Special::Shell
                | Special::Eval
                | Special::Source
                | Special::Find
                | Special::Cmd
                | Special::Powershell
        )
    );
    is_special || wrappers::is_known(program)
}

/// Returns true if a program may read a command, or words of one, from its input.
pub(super) fn reads_commands(program: &str) -> bool {
    matches!(special(program), Some(Special::Shell | Special::Xargs | Special::Parallel | Special::Source))
        || program == "cat"
        || language(program).is_some()
        || wrappers::of(program, &[]).is_some_and(|(wrapper, _)| wrapper.reads || wrapper.runs == Runs::Words)
}

impl Reader<'_> {
    /// Records the command of `words`, and the commands that it runs.
    pub(super) fn run(&mut self, words: Vec<Word>, mut command: Command) -> Result<(), Unreadable> {
        let words = self.mounted(words);
        let Some((program, args)) = words.split_first() else { return self.note(command) };
        // Options of the shell keyword `time`. No program has such a name.
        if program.text.starts_with('-') && program.text.len() > 1 {
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
        let copied = if is_program { self.copied(program)? } else { None };
        let is_known = alias.is_some() || script.is_some() || copied.is_some();
        let language = language(&lower);
        let is_sed = matches!(&*lower, "sed" | "gsed" | "ssed");
        let runs_nothing = is_program && wrapper.is_none();
        if runs_nothing && language.is_none() && !is_sed && !is_known && !self.defines(&program.text) && name != "git" {
            let mut words = words;
            command.args = words.split_off(1);
            let likely = self.likely(&name, &command.args);
            let inner = likely.as_ref().map(|_| Command { exact: false, args: Vec::new(), ..command.clone() });
            self.note(command)?;
            return likely.zip(inner).map_or(Ok(()), |(words, inner)| self.run(words, inner));
        }
        let inner = command.clone();
        command.args = args.to_vec();
        command.resolved = is_known || self.defines(&program.text);
        self.note(command)?;
        // It is unknown which command the shell finds, so read each possible one and the one with this name.
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
            Some(Special::Xargs) => self.xargs(&name, args, &inner),
            Some(Special::Parallel) => self.parallel(&name, args, inner),
            Some(Special::Shell) => self.shell(&name, args, inner),
            Some(Special::Eval) => self.text(&name, &joined(args)),
            Some(Special::Source) => self.file(&name, args, inner.input),
            Some(Special::Find) => self.find(&name, args, &inner),
            Some(Special::Directory) => {
                let to = args.iter().find(|word| !word.text.starts_with('-') || word.text == "-");
                self.scope.cwd = match to {
                    None => self.places.directory(&Word { home: true, ..Word::literal("~") }, None),
                    Some(word) if word.text == "-" => None,
                    Some(word) => self.places.directory(word, self.scope.cwd.as_deref()),
                };
                Ok(())
            }
            Some(Special::Print) => {
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
            Some(Special::Declare) if args.iter().any(|word| has_letter(&word.text, b'n')) => {
                args.iter().filter_map(|word| word.text.halves(b'=')).for_each(|(name, of)| self.refer(name, of));
                Ok(())
            }
            Some(Special::Declare) => {
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
                        self.cases.extend(letter_case(args).map(|case| (word.text.clone(), case)));
                        if is_number { self.evaluates(&word.text) } else { Ok(()) }
                    }
                })
            }
            Some(Special::Hash) => {
                if let Some(at) = args.iter().position(|word| word.text == "-p")
                    && let Some([file, names @ ..]) = args.get(at + 1..)
                {
                    for name in names {
                        self.aliases.insert(name.text.clone(), Some(file.clone()));
                    }
                    let is_system = self.places.class(file, self.scope.cwd.as_deref()) == Class::System;
                    self.script.runs_unknown |= !is_system;
                }
                Ok(())
            }
            Some(Special::Enable) => {
                self.script.runs_unknown |= args.iter().any(|word| word.text.starts_with("-f"));
                Ok(())
            }
            Some(Special::Read) => {
                if matches!(name.as_str(), "mapfile" | "readarray")
                    && let Some(text) = callback(args)
                {
                    self.text(&name, text)?;
                }
                // With `=` as a separator, the first variable gets the name.
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
                let given = input.as_ref().or(self.stdin.as_ref().filter(|_| !is_given));
                let line = given.filter(|_| names().count() == 1).and_then(one_word);
                let value = line.or(input.filter(|input| input.secret));
                let is_split = splits && names().count() > 1;
                for (at, word) in names().enumerate() {
                    self.set(&word.text, value.clone().filter(|_| at > 0 || !is_split));
                }
                // The default variables, used if none are named.
                if value.is_some() {
                    self.set("REPLY", value.clone());
                    self.set("MAPFILE", value);
                }
                Ok(())
            }
            Some(Special::Set) => {
                let begin = args.iter().position(|word| word.text == "--").map_or(0, |at| at + 1);
                let words = args.get(begin..).unwrap_or_default();
                if begin > 0 || words.first().is_some_and(|word| !word.text.starts_with(['-', '+'])) {
                    self.set_positional(words);
                }
                Ok(())
            }
            Some(Special::Shift) => {
                self.shift(args.first().map_or(Some(1), |word| word.text.parse().ok()));
                Ok(())
            }
            Some(Special::Alias) => args.iter().try_for_each(|word| match word.text.halves(b'=') {
                Some((alias, text)) => {
                    self.aliases.insert(alias.to_owned(), Some(Word::marked(text)));
                    self.text(&name, text)
                }
                None => Ok(()),
            }),
            Some(Special::Cmd) => {
                // `/c`, `//c`, `/s/c`, `/crd`: the text begins after the letter.
                let text =
                    args.iter().enumerate().filter(|(_, word)| word.text.starts_with('/')).find_map(|(at, word)| {
                        let lower = word.text.to_ascii_lowercase();
                        let begin = lower.find("/c").or_else(|| lower.find("/k"))? + 2;
                        Some(format!("{} {}", &word.text[begin..], joined(&args[at + 1..])))
                    });
                text.map_or(Ok(()), |text| self.windows_text(&name, text.trim_start()))
            }
            Some(Special::Powershell) => match (windows::powershell_text(args)?, inner.input) {
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

    /// Reads the command that a wrapper of the tables runs. `args` are the words after the subcommand.
    fn unwrap(
        &mut self,
        name: &str,
        wrapper: &'static Wrapper,
        args: &[Word],
        mut inner: Command,
    ) -> Result<(), Unreadable> {
        if args.first().is_some_and(|word| wrapper.asks.iter().any(|ask| word.text.starts_with(ask))) {
            return Ok(());
        }
        for text in wrapper.values_of(args, wrapper.beside) {
            self.option(name, &text)?;
        }
        if !wrapper.escapes.is_empty() || !wrapper.brackets.is_empty() {
            for word in args.iter().chain(&inner.input) {
                self.spend(word.text.len())?;
                for text in wrapper.escaped(&word.text) {
                    self.option(name, &Word::marked(text.trim_start_matches('!').trim()))?;
                }
            }
        }
        let directory = wrapper.values_of(args, wrapper.directories).pop();
        let is_elsewhere = wrapper.location != Location::Here;
        if directory.is_none() && !is_elsewhere {
            return self.unwrapped(name, wrapper, args, inner);
        }
        let before = (self.scope.cwd.clone(), self.location);
        if let Some(directory) = directory {
            self.scope.cwd = self.places.directory(&directory, self.scope.cwd.as_deref());
        }
        let outer = is_elsewhere.then(|| std::mem::take(&mut self.mounts));
        if is_elsewhere {
            self.scope.cwd = None;
            self.location = wrapper.location;
            inner.exact = false;
            if before.1 == Location::Here {
                self.enter_disposable(wrapper, args, before.0.as_deref());
            }
        }
        let result = self.unwrapped(name, wrapper, args, inner);
        (self.scope.cwd, self.location) = before;
        if let Some(outer) = outer {
            self.mounts = outer;
        }
        result
    }

    fn unwrapped(
        &mut self,
        name: &str,
        wrapper: &'static Wrapper,
        args: &[Word],
        inner: Command,
    ) -> Result<(), Unreadable> {
        let texts = wrapper.values_of(args, wrapper.texts);
        // `env -S 'bash -c' 'ls'`: the split text and the words after it form one command.
        if let [text] = texts.as_slice()
            && wrapper.assigns
        {
            let at =
                args.iter().position(|word| word.text.ends_with(text.text.as_str())).map_or(args.len(), |at| at + 1);
            let split = text.text.split_whitespace().map(Word::marked);
            let words: Vec<Word> = split.chain(args[at..].iter().cloned()).collect();
            if at < args.len() {
                self.wrapped(name, &words, Command { exact: false, ..inner.clone() })?;
            }
        }
        if !texts.is_empty() {
            // A program that opens files gets their names.
            let files = if name == "git" && wrapper.texts.contains("-O") { FILE } else { "" };
            // The split words are arguments of `env` itself.
            let begin = if wrapper.assigns && name == "env" { "env " } else { "" };
            return texts.iter().try_for_each(|text| self.text(name, &format!("{begin}{}{files}", text.text)));
        }
        let words = wrapper.words(args);
        if let Some(at) = args.iter().position(|word| wrapper.separators.contains(&word.text)) {
            let command = &args[at + 1..];
            if wrapper.runs != Runs::Words || command.len() != words.len() {
                self.wrapped(name, command, inner.clone())?;
            }
        }
        if let Some(program) = wrapper.values_of(args, wrapper.entry).pop() {
            let words: Vec<Word> = [program].into_iter().chain(words.iter().cloned()).collect();
            return self.wrapped(name, &words, Command { exact: false, ..inner });
        }
        let stdin = if inner.input.is_some() { std::mem::replace(&mut self.stdin, inner.input.clone()) } else { None };
        let result = match wrapper.runs {
            Runs::Words => self.wrapped_any(name, wrapper, args, &inner),
            Runs::Text => wrapper.readings(args).into_iter().try_for_each(|words| self.text(name, &joined(words))),
            Runs::Texts => words.iter().try_for_each(|word| self.text(name, &word.text)),
            Runs::First => self.trapped(name, words),
            Runs::Keys => self.text(name, &pressed(words)),
            Runs::Nothing => Ok(()),
        };
        if inner.input.is_some() {
            self.stdin = stdin;
        }
        result?;
        match inner.input {
            Some(input) if wrapper.reads && (words.is_empty() || wrapper.runs == Runs::Nothing) => {
                self.text(name, &input.text)
            }
            _ => Ok(()),
        }
    }

    /// Reads the command of a `trap`. It is read at the end if all its variables are set later.
    fn trapped(&mut self, name: &str, words: &[Word]) -> Result<(), Unreadable> {
        let Some((text, signals)) = words.split_first() else { return Ok(()) };
        let is_end = |word: &Word| matches!(word.text.as_str(), "EXIT" | "0" | "INT" | "TERM" | "HUP" | "QUIT");
        let is_last = self.wrappers.is_empty() && !signals.is_empty() && signals.iter().all(is_end);
        if is_last && self.is_set_later(&text.text)? {
            self.traps.push(text.text.clone());
            return Ok(());
        }
        self.text(name, &text.text)
    }

    pub(super) fn wrapped(&mut self, wrapper: &str, words: &[Word], inner: Command) -> Result<(), Unreadable> {
        if words.is_empty() {
            return Ok(());
        }
        self.within(wrapper, |reader| {
            if reader.wrappers.len() > MAX_WRAPPERS {
                return Err(Unreadable("it is wrapped more than 8 times".into()));
            }
            reader.run(words.to_vec(), inner)
        })
    }

    /// Reads the command after a wrapper's options, in each possible reading.
    fn wrapped_any(&mut self, name: &str, wrapper: &Wrapper, args: &[Word], inner: &Command) -> Result<(), Unreadable> {
        for mut words in wrapper.readings(args) {
            let mut inner = inner.clone();
            // `env - x` runs `x` with an empty environment.
            if let [first, rest @ ..] = words
                && wrapper.assigns
                && first.text == "-"
            {
                words = rest;
            }
            while let [first, rest @ ..] = words
                && wrapper.assigns
            {
                if let Some((variable, value)) = first.text.halves(b'=') {
                    let value = Word::marked(value);
                    self.commands_in(variable, &value)?;
                    inner.environment.push((variable.to_owned(), value));
                } else if !self.is_from_secrets(first) {
                    break;
                }
                words = rest;
            }
            // Options after an operand belong to the wrapper or to the default command of an image.
            if words.first().is_some_and(|word| !word.text.starts_with('-')) {
                self.wrapped(name, words, inner)?;
            }
        }
        Ok(())
    }

    pub(super) fn text(&mut self, wrapper: &str, text: &str) -> Result<(), Unreadable> {
        self.within(wrapper, |reader| match wrapper {
            // These run in the current shell.
            "eval" | "source" | "." => reader.nested(text),
            _ => {
                let scope = reader.scope.clone();
                let result = reader.nested(text);
                reader.leave(scope);
                result
            }
        })
    }

    /// Reads a command in an option. An unknown part is usually a number or a file, as in `ssh -p $PORT`, unless the text begins with it.
    fn option(&mut self, wrapper: &str, text: &Word) -> Result<(), Unreadable> {
        if text.text.trim().is_empty() {
            return Ok(());
        }
        self.script.runs_unknown |= text.text.starts_with(UNKNOWN);
        self.text(wrapper, &text.text.replace(UNKNOWN, "$_"))
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
        self.wrappers.push(wrapper.to_owned());
        let result = act(self);
        self.wrappers.pop();
        result
    }

    /// Sets a variable, and reads the command that a program will run from its value.
    pub(super) fn assign(&mut self, name: &str, mut value: Option<Word>) -> Result<(), Unreadable> {
        let case = self.cases.iter().rev().find(|(other, _)| other == name);
        if let (Some((_, case)), Some(value)) = (case, &mut value) {
            value.text = cased(&value.text, Some(*case));
        }
        if let Some(value) = &value {
            self.commands_in(name, value)?;
        }
        self.set(name, value);
        Ok(())
    }

    /// Reads the value of a variable that a program runs as a command.
    pub(super) fn commands_in(&mut self, variable: &str, value: &Word) -> Result<(), Unreadable> {
        let is_setting = variable.starts_with("GIT_CONFIG_VALUE_") && value.text.starts_with('!');
        self.preloads(variable, value);
        self.remember(variable, &value.text);
        // A shell takes this function from its environment: `BASH_FUNC_ls%%=() { …; }`.
        if let Some(body) = value.text.strip_prefix("() {") {
            return self.text("bash", &format!("{{{body}"));
        }
        // Each shell runs this file first.
        if matches!(variable, "BASH_ENV" | "ENV") && !value.text.is_empty() {
            let class = self.places.class(value, self.scope.cwd.as_deref());
            let is_path = variable == "BASH_ENV" && !matches!(class, Class::Inside | Class::Device);
            self.script.runs_unknown |= is_path && self.text_in(value).is_none();
            return self.file("source", std::slice::from_ref(value), None);
        }
        if variable == "ZDOTDIR" {
            let file = Word { text: format!("{}/.zshenv", value.text), ..value.clone() };
            return self.file("source", &[file], None);
        }
        // A prompt runs its command substitutions.
        if matches!(variable, "PS0" | "PS1" | "PS2" | "PS4") {
            return self.within_word(&value.text);
        }
        if variable == "GIT_CONFIG_PARAMETERS" {
            let settings = value.text.split('\'').filter_map(|setting| setting.halves(b'='));
            return settings
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect::<Vec<_>>()
                .iter()
                .try_for_each(|(name, value)| self.setting(name, value));
        }
        if value.is_known() && !value.text.is_empty() && (is_setting || wrappers::is_command(variable)) {
            let is_editor = matches!(variable, "EDITOR" | "VISUAL" | "GIT_EDITOR" | "GIT_SEQUENCE_EDITOR");
            let file = if is_editor { FILE } else { "" };
            return self.text("env", &format!("{}{file}", value.text.trim_start_matches(['!', '|', '-'])));
        }
        Ok(())
    }

    /// Returns the text of an alias with the following words. Within its own text, the name denotes the program.
    fn alias(&self, name: &str, args: &[Word]) -> Option<String> {
        let text = self.aliases.get(name)?.as_ref()?;
        Some(format!("{} {}", text.with_mark(), joined(args)))
    }

    fn aliased(&mut self, name: &str, text: &str) -> Result<(), Unreadable> {
        let before = self.aliases.insert(name.to_owned(), None);
        let result = self.text("alias", text);
        self.aliases.insert(name.to_owned(), before.flatten());
        result
    }
}

/// Returns the letter case that `declare -l` or `declare -u` sets.
fn letter_case(args: &[Word]) -> Option<char> {
    let letters = args.iter().filter_map(|word| word.text.strip_prefix('-')).filter(|text| !text.has(b'='));
    letters.flat_map(str::chars).rfind(|letter| matches!(letter, 'l' | 'u'))
}

pub(super) fn cased(value: &str, case: Option<char>) -> String {
    match case {
        Some('l') => value.to_ascii_lowercase(),
        Some('u') => value.to_ascii_uppercase(),
        _ => value.to_owned(),
    }
}

/// Returns true if a word is an option of `declare` with this letter: `n` declares a second name for a variable, `i` an integer.
fn has_letter(option: &str, letter: u8) -> bool {
    option.strip_prefix('-').is_some_and(|letters| letters.has(letter) && !letters.has(b'='))
}

/// Returns true if a program's name is a file name pattern. `[` alone is a program.
fn is_pattern(text: &str) -> bool {
    text.has_one_of(b"*?") || text.find('[').zip(text.rfind(']')).is_some_and(|(open, close)| open < close)
}

/// Returns the text that the keys type: a line end for each `Enter`, nothing for other keys with a name.
fn pressed(words: &[Word]) -> String {
    let mut text = String::new();
    for word in words {
        match word.text.as_str() {
            "Enter" | "C-m" | "KPEnter" => text.push('\n'),
            "Space" => text.push(' '),
            key if key.len() == 3 && (key.starts_with("C-") || key.starts_with("M-")) => {}
            typed => text.push_str(typed),
        }
    }
    text.replace("\\n", "\n").replace("^M", "\n")
}
