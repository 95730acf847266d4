//! Follows programs that a command copies to another name before it runs them: `cp /bin/rm x; ./x`. Also follows texts that reach a file
//! through a program that copies its input: `tee x <<< …`, `cp /dev/stdin x`, `mv x y`.

use super::ascii::Ascii as _;
use super::code::{Language, language};
use super::expansion::MAX_VALUE;
use super::guarded::HOOKHOST;
use super::path_class::Class;
use super::program_names;
use super::read::{Reader, Unreadable};
use super::secret_access::{copies_files, made_by};
use super::simple_command::printed_by;
use super::word::{UNKNOWN, Word};
use super::writes::writes_or_runs;
use super::{Command, Redirect, RedirectKind, program_name};

impl Reader<'_> {
    /// Records the program that a command copies, moves or links. A file is treated as a program if it lies in a directory of the system or
    /// in a directory called `bin`, or if it has the name of a program that rules know. Other files are ignored.
    pub(super) fn note_program_copy(&mut self, command: &Command) -> Result<(), Unreadable> {
        let is_printed = matches!(command.program.as_str(), "cat" | "gcat") && command.outputs().next().is_some();
        if !is_printed && !matches!(command.program.as_str(), "cp" | "gcp" | "mv" | "gmv" | "ln" | "link" | "install") {
            return Ok(());
        }
        self.spend(command.args.len())?;
        let printed = command.outputs().filter(|_| is_printed);
        let mut operands = printed.take(1).chain(command.args.iter().rev()).filter(|word| !word.text.starts_with('-'));
        let (Some(to), Some(from)) = (operands.next(), operands.next()) else { return Ok(()) };
        let cwd = command.cwd.as_deref();
        let Some((to, path)) = self.context.path(to, cwd).zip(self.context.path(from, cwd)) else {
            return Ok(());
        };
        self.spend(to.len() + path.len())?;
        let is_in_bin = path.rsplit('/').nth(1) == Some("bin");
        let name = program_name(&path);
        let is_program = from.text.has(b'/') && (is_in_bin || self.context.class(from, cwd) == Class::System)
            || name == HOOKHOST
            || name.starts_with("hookhost-")
            || writes_or_runs(name);
        let original =
            self.files.program_copies.get(&path).cloned().flatten().or_else(|| is_program.then(|| Word::literal(path)));
        if let Some(original) = original.filter(|original| original.text != to) {
            self.files.program_copies.insert(to, Some(original));
        }
        Ok(())
    }

    /// Returns the original name of a program that was copied to this name. If the name contains no directory, copies in every directory
    /// are searched.
    pub(super) fn original_of_copy(&mut self, program: &Word) -> Result<Option<Word>, Unreadable> {
        if self.files.program_copies.is_empty() {
            return Ok(None);
        }
        if program.text.has(b'/') {
            let path = self.context.path(program, self.scope.cwd.as_deref());
            return Ok(path.and_then(|path| self.files.program_copies.get(&path)?.clone()));
        }
        self.spend(self.files.program_copies.keys().map(String::len).sum())?;
        let found = self.files.program_copies.iter().find(|(path, _)| path.rsplit('/').next() == Some(&program.text));
        Ok(found.and_then(|(_, original)| original.clone()))
    }

    /// Records the texts that a command copies into files.
    pub(super) fn note_copied_texts(&mut self, command: &Command) -> Result<(), Unreadable> {
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

    /// Returns the input of a command, if known.
    pub(super) fn input_of(&self, command: &Command) -> Option<Word> {
        let mut read = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
        let from_file = || self.text_at(&read.next()?.target, command);
        command.input.clone().or_else(from_file).or_else(|| self.surroundings.input.clone())
    }

    /// Returns the content of a file, if it is known. The file can be written by the script, contain the output of a substitution, or be
    /// the command's input.
    fn text_at(&self, file: &Word, command: &Command) -> Option<Word> {
        match file.text.as_str() {
            "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => {
                command.input.clone().or_else(|| self.surroundings.input.clone())
            }
            text if text.starts_with("/dev/fd/") => self.substitution_at(text),
            _ => self.text_in(file).map(Word::literal),
        }
    }

    /// Returns the output of a command, for example the words of `echo`, or the input of `cat` and `tee`.
    pub(super) fn printed(&self, words: &[Word], command: &Command) -> Option<Word> {
        let (program, args) = words.split_first()?;
        match program_name(&program.text) {
            name @ ("echo" | "printf") => {
                let whole = args.last().filter(|word| word.text.trim_matches(UNKNOWN).is_empty() && !word.is_known());
                // The text is unknown, but the output consists of nothing else.
                printed_by(name, args).or_else(|| whole.map(|_| Word::unknown()))
            }
            "tee" | "gtee" => self.input_of(command),
            "ls" => listed(args),
            "cat" | "gcat" => self.copied_out(args, command),
            _ => None,
        }
    }

    /// Returns the output of `cat`, if known.
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

    /// Records the text that the commands from `begin` on write to the same file: `{ echo …; curl …; } > x`.
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
        if is_fetched {
            self.note_downloaded_files(&[], &Command { redirects, cwd, ..Command::default() })
        } else {
            Ok(())
        }
    }

    /// Returns true if a command computes its output from known text, in a way that the reader does not follow: `tr a-z b-za <<< …`,
    /// `perl -e …`.
    pub(super) fn makes_text(&self, words: &[Word], command: &Command) -> bool {
        let is_there = |input: &Word| input.is_known() && !input.text.is_empty();
        let [program, option, ..] = words else { return command.input.as_ref().is_some_and(is_there) };
        let is_code = || match language(program_names::usual(program_name(&program.text))) {
            Some(Language::Awk) => option.text.contains("BEGIN"),
            Some(language) => language.texts().contains(&option.text.as_str()),
            None => false,
        };
        command.input.as_ref().is_some_and(is_there) || is_code()
    }

    /// Reads the commands without variables in the recipes of a makefile that the script wrote, or that `make -f -` reads.
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

/// Returns the output of `ls` for one pattern, or for one directory with `-d`: the operand itself.
pub(super) fn listed(args: &[Word]) -> Option<Word> {
    let mut operands = args.iter().filter(|word| !word.text.starts_with('-'));
    let operand = operands.next().filter(|_| operands.next().is_none())?;
    let is_itself = operand.glob || args.iter().any(|word| word.text.starts_with('-') && word.text.has(b'd'));
    (is_itself && operand.is_known()).then(|| operand.clone())
}

/// Returns true if a text is entirely unknown or empty.
fn is_nothing(text: &Word) -> bool {
    text.text.trim_matches(UNKNOWN).is_empty()
}
