//! From a command line to what it obviously writes.

use super::known::{GIT, Kind, kind};
use super::words::{Escape, Piece, Word, split};
use hookhost_guest::prelude::ShellDialect;
use std::collections::BTreeMap;

/// How deep command lines may lie in each other before they are taken for something to hide.
const DEEPEST: usize = 8;

/// The most changes of directory, and the most paths, of one command line that are followed.
const DIRECTORIES: usize = 32;
const PATHS: usize = 10_000;
/// The longest value of a variable that is remembered, in bytes; of others nothing is known.
const LONGEST_VALUE: usize = 4096;
/// The longest path that Linux opens, in bytes. What is longer is no path: a script within the command, for instance.
const LONGEST_PATH: usize = 4096;

/// A path that a command writes, as the command spells it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Write {
    pub(crate) path: String,
    /// The directory that it is meant from, by `cd`, as the command spells it; none is where the command began.
    pub(crate) directory: Option<String>,
    pub(crate) whole: bool,
    pub(crate) wild: bool,
}

struct Reading {
    escape: Escape,
    /// The directory after each `cd` so far. All of them count, since a `cd` may fail, or hold in a subshell only.
    directories: Vec<String>,
    variables: BTreeMap<String, String>,
    found: Vec<Write>,
}

/// All that `command` obviously writes.
///
/// # Errors
/// If the command is so involved that it cannot be said.
pub(crate) fn writes(command: &str, dialect: ShellDialect) -> Result<Vec<Write>, String> {
    let escape = match dialect {
        ShellDialect::Posix | ShellDialect::Unknown => Escape::Posix,
        ShellDialect::Powershell | ShellDialect::Cmd => Escape::Windows,
    };
    let mut reading = Reading { escape, directories: Vec::new(), variables: BTreeMap::new(), found: Vec::new() };
    reading.line(command, DEEPEST)?;
    Ok(reading.found)
}

impl Reading {
    fn line(&mut self, line: &str, deep: usize) -> Result<(), String> {
        let Some(deep) = deep.checked_sub(1) else {
            return Err("the command holds commands within commands, too deep to be read".into());
        };
        let mut words: Vec<Word> = Vec::new();
        let mut runs_input = false;
        let mut redirect = None;
        for piece in split(line, self.escape).into_iter().chain([Piece::End]) {
            match piece {
                Piece::Word(word) => match redirect.take() {
                    Some(Piece::Into) => self.write(&word, false),
                    Some(_) => {}
                    None => words.push(word),
                },
                Piece::Into | Piece::From => redirect = Some(piece),
                Piece::Nested(inner) => {
                    for path in crate::patch::paths(&inner) {
                        self.write(&Word { text: path, wild: false }, true);
                    }
                    // A here-document is a command line only where a shell reads it. `$(…)` always is one; either way
                    // it does no harm to look, but text that merely speaks of commands would be refused.
                    if runs_input || !inner.ends_with('\n') {
                        self.line(&inner, deep)?;
                    }
                }
                Piece::End => {
                    if self.directories.len() > DIRECTORIES || self.found.len() > PATHS {
                        return Err("the command changes directories or writes files too often to be read".into());
                    }
                    let ended = std::mem::take(&mut words);
                    if !ended.is_empty() {
                        runs_input = self.command(&ended, deep)?;
                    }
                    redirect = None;
                }
            }
        }
        Ok(())
    }

    /// One simple command. Whether it runs what it reads.
    fn command(&mut self, words: &[Word], deep: usize) -> Result<bool, String> {
        let mut words: Vec<Word> = words.iter().map(|word| self.expand(word)).collect();
        while let Some((name, value)) = words.first().and_then(|word| assignment(&word.text)) {
            // What is too long to remember is as unknown as a variable of the environment.
            match value.len() {
                0..=LONGEST_VALUE => self.variables.insert(name.to_owned(), value.to_owned()),
                _ => self.variables.remove(name),
            };
            words.remove(0);
        }
        let Some((program, rest)) = words.split_first() else { return Ok(false) };
        let kind = kind(&program_name(&program.text));
        match kind {
            Some(Kind::Wrapper) => return self.wrapped(rest, deep),
            Some(Kind::Shell) => return self.shell(rest, deep),
            Some(Kind::Eval) => self.line(&joined(rest), deep)?,
            Some(Kind::Directory) => {
                if let Some(word) = arguments(rest).next() {
                    self.change_directory(&word.text);
                }
            }
            Some(Kind::Git) => self.git(rest),
            Some(Kind::Find) => self.find(rest, deep)?,
            Some(kind) => self.program(kind, rest),
            None => {}
        }
        Ok(false)
    }

    /// `sudo -u root rm x`: the first word that names something known is where the command begins.
    fn wrapped(&mut self, words: &[Word], deep: usize) -> Result<bool, String> {
        match words.iter().position(|word| kind(&program_name(&word.text)).is_some()) {
            Some(start) => self.command(&words[start..], deep),
            None => Ok(false),
        }
    }

    fn shell(&mut self, words: &[Word], deep: usize) -> Result<bool, String> {
        let option = words.iter().position(|word| {
            let text = word.text.to_ascii_lowercase();
            text == "/c"
                || text == "-command"
                || (text.starts_with('-') && !text.starts_with("--") && text.ends_with('c'))
        });
        match option.and_then(|option| words.get(option + 1)) {
            Some(line) => self.line(&line.text, deep).map(|()| false),
            None => Ok(true),
        }
    }

    fn git(&mut self, words: &[Word]) {
        let Some(at) = words.iter().position(|word| GIT.contains(&word.text.as_str())) else { return };
        for word in arguments(&words[at + 1..]) {
            self.write(word, true);
        }
    }

    fn find(&mut self, words: &[Word], deep: usize) -> Result<(), String> {
        let options = words.iter().position(|word| word.text.starts_with('-')).unwrap_or(words.len());
        let (roots, options) = words.split_at(options);
        let execute = options
            .iter()
            .position(|word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "--exec"));
        let inner = execute.map(|at| &options[at + 1..]).unwrap_or_default();
        let writes_found = inner.first().is_some_and(|word| kind(&program_name(&word.text)).is_some());
        if options.iter().any(|word| word.text == "-delete") || writes_found {
            for root in roots {
                self.write(root, true);
            }
            if roots.is_empty() {
                self.write(&Word { text: ".".into(), wild: false }, true);
            }
        }
        self.command(inner, deep).map(drop)
    }

    fn program(&mut self, kind: Kind, words: &[Word]) {
        match kind {
            Kind::All => arguments(words).for_each(|word| self.write(word, false)),
            Kind::Remove => arguments(words).for_each(|word| self.write(word, true)),
            Kind::Copy => self.copy(words, false),
            Kind::Move => self.copy(words, true),
            Kind::InPlace(options) => {
                if words.iter().any(|word| options.iter().any(|option| word.text.starts_with(option))) {
                    arguments(words).for_each(|word| self.write(word, false));
                }
            }
            Kind::Option(options) => values(words, options).iter().for_each(|word| self.write(word, false)),
            Kind::Assignment(key) => {
                let values = words.iter().filter_map(|word| word.text.strip_prefix(key)?.strip_prefix('='));
                let values: Vec<_> = values.map(str::to_owned).collect();
                values.into_iter().for_each(|text| self.write(&Word { text, wild: false }, false));
            }
            // These are no programs that write words of theirs.
            Kind::Find | Kind::Git | Kind::Wrapper | Kind::Shell | Kind::Eval | Kind::Directory => {}
        }
    }

    fn copy(&mut self, words: &[Word], moves: bool) {
        let mut sources: Vec<&Word> = arguments(words).collect();
        let mut targets = values(words, &["-t", "--target-directory", "-Destination"]);
        if targets.is_empty() {
            targets.extend(sources.pop().cloned());
        } else {
            sources.retain(|word| !targets.contains(word));
        }
        for target in &targets {
            self.write(target, false);
            for source in &sources {
                let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                let text = format!("{}/{name}", target.text);
                self.write(&Word { text, wild: source.wild || target.wild }, false);
            }
        }
        if moves {
            sources.into_iter().for_each(|source| self.write(source, true));
        }
    }

    fn change_directory(&mut self, to: &str) {
        let begins = to.starts_with(['/', '~', '$']);
        let from = self.directories.last().filter(|_| !begins);
        let directory = from.map_or_else(|| to.to_owned(), |from| format!("{from}/{to}"));
        self.directories.push(directory);
    }

    fn write(&mut self, word: &Word, whole: bool) {
        let word = self.expand(word);
        if word.text.len() > LONGEST_PATH {
            return;
        }
        let from = self.directories.iter().cloned().map(Some).chain([None]);
        let write = |directory| Write { path: word.text.clone(), directory, whole, wild: word.wild };
        self.found.extend(from.map(write));
    }

    /// With the variables filled in that the command line itself has set.
    fn expand(&self, word: &Word) -> Word {
        let mut text = word.text.clone();
        let mentions = |text: &str| text.contains('$') && text.len() <= LONGEST_PATH;
        for (name, value) in &self.variables {
            if !mentions(&text) {
                break;
            }
            text = text.replace(&format!("${{{name}}}"), value);
            text = replace_name(&text, name, value);
        }
        Word { text, wild: word.wild }
    }
}

/// Replaces `$NAME` where no longer name begins there.
fn replace_name(text: &str, name: &str, value: &str) -> String {
    let variable = format!("${name}");
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(&variable) {
        let after = &rest[at + variable.len()..];
        out.push_str(&rest[..at]);
        let longer = after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        out.push_str(if longer { &variable } else { value });
        rest = after;
    }
    out + rest
}

fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && is_name(name)).then_some((name, value))
}

fn program_name(word: &str) -> String {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase();
    name.strip_suffix(".exe").map_or(name.clone(), str::to_owned)
}

/// The words that are no options; after `--`, all.
fn arguments(words: &[Word]) -> impl Iterator<Item = &Word> {
    let mut all = false;
    words.iter().filter(move |word| {
        if word.text == "--" && !all {
            all = true;
            return false;
        }
        all || !word.text.starts_with('-') || word.text == "-"
    })
}

/// The values of such options, written `-o x`, `-ox`, `--output x` or `--output=x`.
fn values(words: &[Word], options: &[&str]) -> Vec<Word> {
    let mut values = Vec::new();
    for (at, word) in words.iter().enumerate() {
        for option in options {
            match word.text.strip_prefix(option) {
                Some("") => values.extend(words.get(at + 1).cloned()),
                Some(value) => {
                    let value = if option.starts_with("--") { value.strip_prefix('=') } else { Some(value) };
                    values.extend(value.map(|value| Word { text: value.to_owned(), wild: word.wild }));
                }
                None => {}
            }
        }
    }
    values
}

fn joined(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}
