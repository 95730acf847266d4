//! Files that a text fetches and then runs, so that nobody reads them in between.

use super::read::{Reader, Unreadable};
use super::word::Word;
use super::{Command, RedirectKind};

impl Reader<'_> {
    /// Notes which file a command fetches or moves, and whether it runs one that was fetched before.
    pub(super) fn fetches(&mut self, command: &Command) -> Result<(), Unreadable> {
        let mut written: Vec<Word> = Vec::new();
        if !self.fetched.is_empty() {
            self.spend(self.fetched.len() * (1 + command.args.len() + command.redirects.len()))?;
            let is_fetched = |word: &Word| self.path_of(word, command).is_some_and(|path| self.fetched.contains(&path));
            let is_run = command.program_word.text.contains('/') && is_fetched(&command.program_word);
            let read = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
            let is_script = runs_files(&command.program)
                && scripts(&command.args).chain(read.map(|redirect| &redirect.target)).any(is_fetched);
            if let ("mv" | "cp", [from @ .., to]) = (command.program.as_str(), command.args.as_slice()) {
                for word in from.iter().filter(|word| is_fetched(word)) {
                    let name = word.text.rsplit('/').next().unwrap_or_default();
                    written.extend([to.clone(), Word { text: format!("{}/{name}", to.text), ..to.clone() }]);
                }
            }
            self.script.runs_fetched |= is_run || is_script;
        }
        written.extend(match command.program.as_str() {
            "curl" => outputs(&command.args, 'o', "--output", Some(('O', "--remote-name"))),
            "wget" => outputs(&command.args, 'O', "--output-document", None),
            _ if written.is_empty() => return Ok(()),
            _ => Vec::new(),
        });
        self.keep(&written, command)
    }

    /// Notes the files into which commands put what others fetch, those from `begin` on: `curl … | tee x`.
    pub(super) fn keeps(&mut self, begin: usize, upstream: &[String]) -> Result<(), Unreadable> {
        if !upstream.iter().any(|program| matches!(program.as_str(), "curl" | "wget")) {
            return Ok(());
        }
        for at in begin..self.script.commands.len() {
            let command = self.script.commands[at].clone();
            self.spend(command.args.len())?;
            let operands = command.args.iter().filter(|word| command.program == "tee" && !word.text.starts_with('-'));
            self.keep(&operands.cloned().collect::<Vec<_>>(), &command)?;
        }
        Ok(())
    }

    /// Notes these files and those that the output of the command leads to.
    fn keep(&mut self, written: &[Word], command: &Command) -> Result<(), Unreadable> {
        let redirected = command.redirects.iter().filter(|redirect| redirect.kind != RedirectKind::Read);
        for word in written.iter().chain(redirected.map(|redirect| &redirect.target)) {
            let path = self.path_of(word, command);
            self.spend(path.as_ref().map_or(0, String::len))?;
            self.fetched.extend(path);
        }
        Ok(())
    }

    fn path_of(&self, word: &Word, command: &Command) -> Option<String> {
        self.places.directory(word, command.cwd.as_deref())
    }
}

/// The words that may name the script: the first operand, and the value of each option before it.
fn scripts(args: &[Word]) -> impl Iterator<Item = &Word> {
    let mut is_value = false;
    let mut is_done = false;
    args.iter().filter(move |word| {
        if is_done {
            return false;
        }
        let text = word.text.as_str();
        if text.starts_with(['-', '+']) && text.len() > 1 {
            let long = ["--rcfile", "--init-file", "--require", "--import"];
            is_value = if text.starts_with("--") {
                long.contains(&text)
            } else {
                text.ends_with(['o', 'O', 'r', 'W', 'X', 'I'])
            };
            return false;
        }
        is_done = !std::mem::take(&mut is_value);
        true
    })
}

/// Whether a program runs a file that its words name, or that it reads.
fn runs_files(program: &str) -> bool {
    if program == "." {
        return true;
    }
    let program = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(
        program,
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish" | "source" | "python" | "node" | "perl" | "ruby" | "php"
    )
}

/// The files that are written: by an option, or by the name in each address. `remote` is the option that asks for the latter,
/// where it is not done anyway.
fn outputs(args: &[Word], short: char, long: &str, remote: Option<(char, &str)>) -> Vec<Word> {
    let mut named = Vec::new();
    let mut addresses = Vec::new();
    let mut is_remote = remote.is_none();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if let Some(value) = text.strip_prefix(long).and_then(|rest| rest.strip_prefix('=')) {
            named.push(Word::literal(value));
        } else if text == long {
            named.extend(words.next().cloned());
        } else if let Some(cluster) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
            is_remote |= remote.is_some_and(|(letter, _)| cluster.contains(letter));
            match cluster.split_once(short) {
                Some((_, "")) => named.extend(words.next().cloned()),
                Some((before, file)) if before.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                    named.push(Word::literal(file));
                }
                _ => {}
            }
        } else if remote.is_some_and(|(_, name)| name == text) {
            is_remote = true;
        } else if !text.starts_with('-') {
            addresses.push(text);
        }
    }
    if named.is_empty() && is_remote {
        let name =
            |address: &&str| address.split(['?', '#']).next()?.rsplit_once('/').map(|(_, name)| Word::literal(name));
        named.extend(addresses.iter().filter_map(name).filter(|word| !word.text.is_empty()));
    }
    named
}
