//! Files that a text fetches and then runs, so that nobody reads them in between.

use super::read::{Reader, Unreadable};
use super::word::Word;
use super::{Command, RedirectKind};

impl Reader<'_> {
    /// Notes which file a command fetches, and whether it runs one that was fetched before.
    pub(super) fn fetches(&mut self, command: &Command) -> Result<(), Unreadable> {
        if !self.fetched.is_empty() {
            self.spend(self.fetched.len())?;
            let runs = |word: &Word| self.path_of(word).is_some_and(|path| self.fetched.contains(&path));
            let is_run = command.program_word.text.contains('/') && runs(&command.program_word);
            let script = command.args.iter().find(|word| !word.text.starts_with('-'));
            self.script.runs_fetched |= is_run || (runs_files(&command.program) && script.is_some_and(runs));
        }
        let written: Vec<Word> = match command.program.as_str() {
            "curl" => outputs(&command.args, 'o', "--output", Some(('O', "--remote-name"))),
            "wget" => outputs(&command.args, 'O', "--output-document", None),
            _ => return Ok(()),
        };
        let redirected = command.redirects.iter().filter(|redirect| redirect.kind != RedirectKind::Read);
        let all: Vec<Word> = written.into_iter().chain(redirected.map(|redirect| redirect.target.clone())).collect();
        for word in all {
            let path = self.path_of(&word);
            self.spend(path.as_ref().map_or(0, String::len))?;
            self.fetched.extend(path);
        }
        Ok(())
    }

    fn path_of(&self, word: &Word) -> Option<String> {
        self.places.directory(word, self.scope.cwd.as_deref())
    }
}

/// Whether a program runs the file that its first operand names.
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
