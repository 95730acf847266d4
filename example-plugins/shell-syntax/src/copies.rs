//! Programs that a text gives another name, and then runs by that: `cp /bin/rm x; ./x`. Texts that it puts into files by programs that
//! copy what they read: `tee x <<< …`, `cp /dev/stdin x`, `mv x y`.

use super::ascii::Ascii as _;
use super::code::{Language, language};
use super::expand::MAX_VALUE;
use super::guarded::HOOKHOST;
use super::names;
use super::places::Class;
use super::read::{Reader, Unreadable};
use super::secrets::{copies_files, made_by};
use super::simple::printed_by;
use super::word::{UNKNOWN, Word};
use super::writes::writes_or_runs;
use super::{Command, Redirect, RedirectKind, program_name};

impl Reader<'_> {
    /// Notes which program a command copies, moves or links: one of the system, of any directory that is called `bin`, or one that is
    /// called like a program that matters, wherever it lies.
    pub(super) fn copies(&mut self, command: &Command) -> Result<(), Unreadable> {
        let is_printed = matches!(command.program.as_str(), "cat" | "gcat") && command.outputs().next().is_some();
        if !is_printed && !matches!(command.program.as_str(), "cp" | "gcp" | "mv" | "gmv" | "ln" | "link" | "install") {
            return Ok(());
        }
        self.spend(command.args.len())?;
        let printed = command.outputs().filter(|_| is_printed);
        let mut operands = printed.take(1).chain(command.args.iter().rev()).filter(|word| !word.text.starts_with('-'));
        let (Some(to), Some(from)) = (operands.next(), operands.next()) else { return Ok(()) };
        let cwd = command.cwd.as_deref();
        let Some((to, path)) = self.places.path(to, cwd).zip(self.places.path(from, cwd)) else {
            return Ok(());
        };
        self.spend(to.len() + path.len())?;
        let is_in_bin = path.rsplit('/').nth(1) == Some("bin");
        let name = program_name(&path);
        let is_program = from.text.has(b'/') && (is_in_bin || self.places.class(from, cwd) == Class::System)
            || name == HOOKHOST
            || name.starts_with("hookhost-")
            || writes_or_runs(name);
        let original = self.copied.get(&path).cloned().flatten().or_else(|| is_program.then(|| Word::literal(path)));
        if let Some(original) = original.filter(|original| original.text != to) {
            self.copied.insert(to, Some(original));
        }
        Ok(())
    }

    /// The program that has got the name of this one: at its path, or wherever a program is looked for.
    pub(super) fn copied(&mut self, program: &Word) -> Result<Option<Word>, Unreadable> {
        if self.copied.is_empty() {
            return Ok(None);
        }
        if program.text.has(b'/') {
            let path = self.places.path(program, self.scope.cwd.as_deref());
            return Ok(path.and_then(|path| self.copied.get(&path)?.clone()));
        }
        self.spend(self.copied.keys().map(String::len).sum())?;
        let found = self.copied.iter().find(|(path, _)| path.rsplit('/').next() == Some(&program.text));
        Ok(found.and_then(|(_, original)| original.clone()))
    }

    /// Notes the texts that a command copies into files.
    pub(super) fn copies_texts(&mut self, command: &Command) -> Result<(), Unreadable> {
        let program = command.program.as_str();
        let is_file = copies_files(program);
        if !is_file && !matches!(program, "tee" | "gtee" | "sponge" | "dd" | "gdd") {
            return Ok(());
        }
        self.spend(command.args.len())?;
        let operands = || command.args.iter().filter(|word| !word.text.starts_with('-') || word.text == "-");
        let source = if is_file {
            operands().find_map(|word| self.text_at(word, command))
        } else {
            let from = command.args.iter().find_map(|word| word.text.strip_prefix("if="));
            from.map_or_else(|| self.input_of(command), |file| self.text_at(&Word::marked(file), command))
        };
        let Some(text) = source.filter(|text| !is_nothing(text)) else { return Ok(()) };
        self.spend(text.text.len())?;
        let is_more = command.args.iter().any(|word| matches!(word.text.as_str(), "-a" | "--append"));
        for file in made_by(command) {
            self.write(&file, &format!("{}\n", text.with_mark()), is_more && !is_file)?;
        }
        Ok(())
    }

    /// What a command reads, where that is known.
    pub(super) fn input_of(&self, command: &Command) -> Option<Word> {
        let mut read = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
        let from_file = || self.text_at(&read.next()?.target, command);
        command.input.clone().or_else(from_file).or_else(|| self.stdin.clone())
    }

    /// What a file holds that the text has written, that a substitution prints, or that is the input of a command.
    fn text_at(&self, file: &Word, command: &Command) -> Option<Word> {
        match file.text.as_str() {
            "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => {
                command.input.clone().or_else(|| self.stdin.clone())
            }
            text if text.starts_with("/dev/fd/") => self.substitution_at(text),
            _ => self.text_in(file).map(Word::literal),
        }
    }

    /// What a command prints: `echo` its words, `cat` and `tee` what they read.
    pub(super) fn printed(&self, words: &[Word], command: &Command) -> Option<Word> {
        let (program, args) = words.split_first()?;
        match program_name(&program.text) {
            name @ ("echo" | "printf") => {
                let whole = args.last().filter(|word| word.text.trim_matches(UNKNOWN).is_empty() && !word.is_known());
                // Nothing of it is known, but that it is all that is there.
                printed_by(name, args).or_else(|| whole.map(|_| Word::unknown()))
            }
            "tee" | "gtee" => self.input_of(command),
            "ls" => listed(args),
            "cat" | "gcat" => self.copied_out(args, command),
            _ => None,
        }
    }

    /// Returns the output of `cat`, where it is known.
    pub(super) fn copied_out(&self, args: &[Word], command: &Command) -> Option<Word> {
        if args.iter().all(|word| word.text.starts_with('-')) {
            return self.input_of(command);
        }
        let mut all = String::new();
        for word in args {
            all += &self.text_at(word, command)?.with_mark();
            if all.len() > MAX_VALUE {
                return None;
            }
        }
        Some(Word::marked(all))
    }

    /// Notes what the commands from `begin` on print together into files: `{ echo …; curl …; } > x`.
    pub(super) fn printed_since(&mut self, begin: usize, redirects: Vec<Redirect>) -> Result<(), Unreadable> {
        if redirects.iter().all(|redirect| redirect.kind == RedirectKind::Read) {
            return Ok(());
        }
        self.spend(self.script.commands.len() - begin)?;
        let mut text = String::new();
        let is_shown = |command: &&Command| command.redirects.is_empty() && command.downstream.is_empty();
        for command in self.script.commands[begin..].iter().filter(is_shown) {
            let printed = match command.program.as_str() {
                "cat" if command.args.is_empty() => command.input.clone(),
                name @ ("echo" | "printf") => printed_by(name, &command.args),
                _ => None,
            };
            if let Some(printed) = printed.filter(|printed| text.len() + printed.text.len() < MAX_VALUE) {
                text += &printed.with_mark();
                text.push('\n');
            }
        }
        let is_fetched = self.has_fetcher(begin);
        for redirect in redirects.iter().filter(|redirect| redirect.kind != RedirectKind::Read && !text.is_empty()) {
            self.write(&redirect.target, &text, redirect.kind == RedirectKind::Append)?;
        }
        let cwd = self.scope.cwd.clone();
        if is_fetched { self.keep(&[], &Command { redirects, cwd, ..Command::default() }) } else { Ok(()) }
    }

    /// Whether a command makes a text of words that are there, in a way that is not followed: `tr a-z b-za <<< …`, `perl -e …`.
    pub(super) fn makes_text(&self, words: &[Word], command: &Command) -> bool {
        let is_there = |input: &Word| input.is_known() && !input.text.is_empty();
        let [program, option, ..] = words else { return command.input.as_ref().is_some_and(is_there) };
        let is_code = || match language(names::usual(program_name(&program.text))) {
            Some(Language::Awk) => option.text.contains("BEGIN"),
            Some(language) => language.texts().contains(&option.text.as_str()),
            None => false,
        };
        command.input.as_ref().is_some_and(is_there) || is_code()
    }

    /// Reads the commands in the recipes of a makefile that the text has written, or that `make -f -` is given: those without variables.
    pub(super) fn recipes(&mut self, args: &[Word], command: &Command) -> Result<(), Unreadable> {
        let named = args.iter().position(|word| word.text == "-f").and_then(|at| args.get(at + 1));
        let usual = ["Makefile", "makefile", "GNUmakefile"].map(Word::literal);
        let files = named.map_or(usual.as_slice(), std::slice::from_ref);
        let Some(text) = files.iter().find_map(|file| self.text_at(file, command)) else { return Ok(()) };
        self.spend(text.text.len())?;
        let recipes = text.text.lines().filter_map(|line| line.strip_prefix('\t'));
        for line in recipes.filter(|line| !line.replace("$$", "").has(b'$')) {
            self.text("make", &line.trim_start_matches(['@', '-', '+', ' ']).replace("$$", "$"))?;
        }
        Ok(())
    }
}

/// What `ls` prints of one pattern, or of one directory with `-d`: what the shell makes of it.
pub(super) fn listed(args: &[Word]) -> Option<Word> {
    let mut operands = args.iter().filter(|word| !word.text.starts_with('-'));
    let operand = operands.next().filter(|_| operands.next().is_none())?;
    let is_itself = operand.glob || args.iter().any(|word| word.text.starts_with('-') && word.text.has(b'd'));
    (is_itself && operand.is_known()).then(|| operand.clone())
}

/// Whether nothing is known of a text.
fn is_nothing(text: &Word) -> bool {
    text.text.trim_matches(UNKNOWN).is_empty()
}
