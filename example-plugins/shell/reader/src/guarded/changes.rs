//! Finds the guarded files that a command changes, moves, or passes to a program that may change them.

use super::{
    Above, Guarded, HOOKHOST, KEYS, Reach, When, at, beginning_with, known_name, may_begin, names_variable, overlap,
};
use crate::ascii::Ascii as _;
use crate::code::language;
use crate::read::{Reader, Unreadable};
use crate::unwrap::runs_others;
use crate::word::{UNKNOWN, Word};
use crate::wrappers::READERS;
use crate::writes::{Extent, Write, values, within};
use crate::writing_programs::{WritingKind, kind};
use crate::{Command, Location, PathContext, lower};

/// The guarded files that a command changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// True if the command changes a file of hookhost.
    pub hookhost: bool,
    /// True if the command changes a file of an agent.
    pub agents: bool,
    /// True if the command names hookhost's keys, perhaps only to read them.
    pub keys: bool,
}

/// Directories that many programs use. A text that names such a directory is often not about a guarded file.
const COMMON: [&str; 6] = [".config", ".local", ".cargo", ".cache", ".github", ".vscode"];

/// Maximum number of guarded paths, and of commands with an unknown operand, in [`Reader::suppose_guarded`].
const MAX_SUPPOSED: usize = 8;

impl Reader<'_> {
    /// Handles programs whose target is completely unknown (`rm "$x"`). If the text names a guarded path elsewhere, adds the same command
    /// with that path.
    pub(crate) fn suppose_guarded(&mut self) -> Result<(), Unreadable> {
        let is_open = |word: &Word| word.text.starts_with(UNKNOWN);
        let may_write = |command: &&Command| {
            let kind =
                kind(&lower(&command.program)).filter(|kind| *kind != WritingKind::Git && command.program != "mkdir");
            command.location != Location::Machine
                && (kind.is_some() && command.args.iter().any(is_open) || command.outputs().any(is_open))
        };
        let open: Vec<Command> = self.script.commands.iter().filter(may_write).take(MAX_SUPPOSED).cloned().collect();
        if open.is_empty() {
            return Ok(());
        }
        self.spend(self.source.text.len())?;
        let mut found = Vec::new();
        for (path, is_directory) in named(self.source.text, self.context) {
            // Skips a path that the command itself names, because that path is not the unknown operand.
            let is_named = |command: &&Command| {
                let read = command.redirects.iter().map(|redirect| &redirect.target);
                command.args.iter().chain(read).any(|word| word.text == path.text)
            };
            for command in open.iter().filter(|command| !is_named(command)) {
                let mut supposed = Command { exact: false, ..command.clone() };
                let targets = supposed.redirects.iter_mut().map(|redirect| &mut redirect.target);
                for word in supposed.args.iter_mut().chain(targets).filter(|word| word.text.starts_with(UNKNOWN)) {
                    let rest = word.text.trim_start_matches(UNKNOWN);
                    let text = match (is_directory, rest.starts_with('/')) {
                        (true, true) => format!("{}{rest}", path.text),
                        (true, false) => format!("{}/{UNKNOWN}{rest}", path.text),
                        (false, _) if rest.is_empty() => path.text.clone(),
                        (false, _) => continue,
                    };
                    *word = Word { text, span: None, ..path.clone() };
                }
                let changes = supposed.changes(self.context);
                found.extend((changes.hookhost || changes.agents).then_some(supposed));
            }
        }
        found.into_iter().try_for_each(|command| self.push(command))
    }
}

/// Returns the paths that the text names as whole words and that are guarded or are directories with guarded files. The flag is true for
/// such a directory.
pub(super) fn named(text: &str, context: &PathContext) -> Vec<(Word, bool)> {
    let is_end = |c: char| c.is_whitespace() || "\"'`;|&<>(){}=,".contains(c);
    let mut found: Vec<(Word, bool)> = Vec::new();
    for part in text.split(is_end).filter(|part| may_be_guarded(part)) {
        let part = part.trim_end_matches('/');
        let name = lower(part.rsplit('/').next().unwrap_or_default());
        let is_at = |path: &str| {
            let reach = Reach { in_home: part.starts_with('~'), ..Reach::default() };
            at(&context.spelt(path, None), reach, context.workspace())
                .iter()
                .any(|guarded| guarded.when == When::Always)
        };
        let may_hold = (name.starts_with('.') && !COMMON.contains(&&*name)) || name == HOOKHOST;
        let is_directory = may_hold && is_at(&format!("{part}/{UNKNOWN}"));
        let word = Word { home: part.starts_with('~'), ..Word::literal(part) };
        if found.len() < MAX_SUPPOSED && (is_directory || is_at(part)) && !found.iter().any(|(other, _)| *other == word)
        {
            found.push((word, is_directory));
        }
    }
    found
}

impl Command {
    /// Returns two kinds of files. Files that get a second name (`ln`, `docker run -v`) may be written by other programs later. A program
    /// that is not known to be read-only may write the files that are passed to it.
    #[must_use]
    pub fn exposes(&self) -> Vec<Write> {
        let exposed = |path: Word, extent| Write { path, extent, supposed: false };
        let program = lower(&self.program);
        match &*program {
            "ln" | "gln" | "link" | "mklink" => {
                let operands = self.args.iter().filter(|word| !word.text.starts_with('-'));
                let count = operands.clone().count();
                let linked = operands.take(count.saturating_sub(1).max(1));
                linked.map(|word| exposed(word.clone(), Extent::Whole)).collect()
            }
            "script" | "docker" | "podman" | "nerdctl" | "kubectl" | "oc"
                if program == "script" || self.args.first().is_some_and(|word| word.text == "cp") =>
            {
                self.args
                    .iter()
                    .filter(|word| !word.text.has(b' '))
                    .map(|word| exposed(word.clone(), Extent::File))
                    .collect()
            }
            "docker" | "podman" | "nerdctl" => {
                let mounts = values(&self.args, &["-v", "--volume", "--mount"]);
                mounts.iter().filter_map(mounted).map(|word| exposed(word, Extent::Whole)).collect()
            }
            "scp" | "rsync" | "sftp" => {
                self.args.iter().filter_map(on_this_machine).map(|word| exposed(word, Extent::File)).collect()
            }
            _ if self.is_unknown(&program) => {
                self.args.iter().flat_map(pieces).map(|word| exposed(word, Extent::File)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns true if the effect of the program on its files is unknown. Interpreters, and programs outside of the directories for
    /// installed programs, are excluded, because their effect depends on a text that is not read here.
    fn is_unknown(&self, program: &str) -> bool {
        let path = self.program_word.text.as_str();
        let is_installed = !path.has_one_of(b"/\\")
            || ["/usr/", "/bin/", "/sbin/", "/opt/"].iter().any(|begin| path.starts_with(begin));
        !program.is_empty()
            && is_installed
            && !self.resolved
            && READERS.of_first_word(program).next().is_none()
            && kind(program).is_none()
            && language(program).is_none()
            && !runs_others(program)
    }

    /// Returns the guarded files on this machine that the command changes, according to [`Command::writes`] and [`Command::exposes`].
    #[must_use]
    pub fn changes(&self, context: &PathContext) -> Changes {
        let mut changes = Changes { keys: self.names_keys(context), ..Changes::default() };
        if self.location == Location::Machine || !self.may_change() || self.only_says() {
            return changes;
        }
        let cwds = [self.cwd.as_deref(), self.perhaps.as_deref()];
        let is_within = cwds.into_iter().flatten().any(may_be_guarded);
        for write in self.writes().into_iter().chain(self.exposes()) {
            let is_of_directory = matches!(write.extent, Extent::Moved | Extent::Filled);
            if !is_within && !is_of_directory && !may_lead_there(&write.path, write.extent.is_whole()) {
                continue;
            }
            for cwd in &cwds[..1 + usize::from(self.perhaps.is_some())] {
                let path = context.resolve(&write.path, *cwd);
                for guarded in at(&path, Reach::of(&write, &path, *cwd), context.workspace()) {
                    if guarded.is_of_variables() && !self.names_variable() {
                        continue;
                    }
                    changes.hookhost |= guarded.is_hosts();
                    changes.agents |= !guarded.is_hosts();
                }
            }
        }
        changes
    }

    fn names_keys(&self, context: &PathContext) -> bool {
        let sources = self.redirects.iter().map(|redirect| &redirect.target);
        let may_be = |word: &&Word| word.glob || lower(&word.text).contains(KEYS);
        let named = self.args.iter().chain(sources).filter(may_be).map(|word| (word.clone(), Extent::File));
        let mut words = named.chain(self.read_whole().into_iter().map(|word| (word, Extent::Whole)));
        words.any(|(word, extent)| {
            let reach = Reach { wild: word.glob, extent, ..Reach::default() };
            let path = context.resolve(&word, self.cwd.as_deref());
            at(&path, reach, context.workspace())
                .iter()
                .any(|guarded| guarded.when == When::Always && guarded.parts.last() == Some(&KEYS))
        })
    }

    /// Returns the directories that the command reads or copies recursively.
    fn read_whole(&self) -> Vec<Word> {
        let has = |letters: &[u8], long: &str| {
            let is_cluster = |text: &str| text.starts_with('-') && !text.starts_with("--");
            let texts = || self.args.iter().map(|word| word.text.as_str());
            texts().any(|text| text == long || (is_cluster(text) && text.has_one_of(letters)))
        };
        let is_option = |word: &&Word| word.text.starts_with('-');
        let mut operands: Vec<Word> = self.args.iter().filter(|word| !is_option(word)).cloned().collect();
        match self.program.as_str() {
            // The last operand is the target.
            "cp" | "gcp" | "scp" | "rsync" if has(b"rRa", "--recursive") || has(b"", "--archive") => {
                operands.pop();
            }
            "tar" | "gtar" | "bsdtar" => {
                if let Some(from) = values(&self.args, &["-C", "--directory"]).pop() {
                    let within = operands.iter().filter(|word| **word != from).map(|word| within(&from, word));
                    operands = within.collect();
                }
            }
            "7z" | "rg" | "ag" | "ditto" => {}
            "zip" if has(b"r", "--recurse-paths") => {}
            "grep" | "egrep" | "diff" if has(b"rR", "--recursive") => {}
            "find" => {
                let mut names = values(&self.args, &["-name", "-iname"]).into_iter();
                let is_read = has(b"", "-exec") || self.downstream.iter().any(|program| program == "xargs");
                let may_fit = is_read && names.all(|name| overlap(KEYS, &lower(&name.text), true));
                let roots = self.args.iter().skip_while(is_option).take_while(|word| !is_option(word));
                operands = roots.filter(|_| may_fit).cloned().collect();
            }
            _ => operands.clear(),
        }
        operands
    }

    fn names_variable(&self) -> bool {
        self.args.iter().chain(&self.input).any(|word| names_variable(&word.text))
    }

    /// Returns true for a cmdlet that only prints what it would do: `Remove-Item x -WhatIf`.
    fn only_says(&self) -> bool {
        let is_cmdlet =
            self.windows || self.program.halves(b'-').is_some_and(|(verb, _)| verb.starts_with(char::is_uppercase));
        is_cmdlet && self.redirects.is_empty() && self.args.iter().any(|word| word.text.eq_ignore_ascii_case("-whatif"))
    }

    /// Fast check before the full analysis. It returns false for most commands, because they write no file, or no file with a guarded name.
    fn may_change(&self) -> bool {
        let program = lower(&self.program);
        let is_writer = match kind(&program) {
            // These commands may affect a directory that contains guarded files.
            Some(WritingKind::Find | WritingKind::Move | WritingKind::Rename | WritingKind::Unpack(..)) => return true,
            Some(_) => true,
            None => READERS.of_first_word(&program).next().is_none(),
        };
        let mut words = self.args.iter().filter(|_| is_writer).chain(self.outputs());
        if self.told_to_write().next().is_some() {
            return true;
        }
        (is_writer || self.outputs().next().is_some())
            && (self.cwd.iter().chain(&self.perhaps).any(|cwd| may_be_guarded(cwd))
                || words.any(|word| may_be_guarded(&word.text)))
    }
}

/// Returns the path on the host that a container may write: the source in `a:b` or in `type=bind,source=a,target=b`. Returns `None` if the
/// mount is read-only.
fn mounted(value: &Word) -> Option<Word> {
    let text = value.text.as_str();
    let mut fields = text.split(',');
    if text.ends_with(":ro")
        || text.contains(":ro,")
        || fields.any(|field| matches!(field, "readonly" | "ro" | "readonly=true"))
    {
        return None;
    }
    let mut fields = text.split(',').filter_map(|field| field.halves(b'='));
    let source = match fields.find(|(name, _)| matches!(*name, "source" | "src")) {
        Some((_, source)) => source,
        None => text.split(':').next()?,
    };
    Some(Word { home: source.starts_with('~'), ..value.with_text(source) })
}

/// Returns the path of a word that addresses this machine as a remote host: `localhost:x`.
fn on_this_machine(word: &Word) -> Option<Word> {
    let (machine, path) = word.text.halves(b':')?;
    let machine = machine.rsplit('@').next()?;
    let is_this = matches!(machine, "localhost" | "127.0.0.1" | "[") || machine.starts_with("127.");
    let path = path.trim_start_matches(":1]:");
    is_this.then(|| Word { home: path.starts_with('~'), ..word.with_text(path) })
}

/// Returns the parts of a word that may be paths: `x`, `-ox`, `--output=x`, `key=x`, `a:x`.
fn pieces(word: &Word) -> impl Iterator<Item = Word> + '_ {
    let text = word.text.as_str();
    let attached = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')).and_then(|rest| rest.get(1..));
    let parts = text.split(['=', ':', ',', '@']).skip(1);
    // A part with spaces is text, not a path.
    let texts = std::iter::once(text).chain(attached).chain(parts).filter(|text| !text.has_one_of(b" \n"));
    texts.map(move |text| Word { home: text.starts_with('~'), ..word.with_text(text) })
}

/// Returns true if a part of the text may begin a guarded path. An option may have a path directly after its letter.
fn may_be_guarded(text: &str) -> bool {
    if text.starts_with('-') && text.has_one_of(b"./") {
        return true;
    }
    let bytes = text.as_bytes();
    let mut begin = 0;
    (0..=bytes.len()).any(|at| {
        // A drive letter is part of the path.
        let is_end = match bytes.get(at) {
            None | Some(b'/' | b'\\' | b'=' | b',') => true,
            Some(b':') => at > begin + 1,
            _ => false,
        };
        if !is_end {
            return false;
        }
        let name = std::mem::replace(&mut begin, at + 1)..at;
        let is_pattern = || bytes[name.clone()].iter().any(|byte| matches!(byte, b'*' | b'?' | b'[' | b'~'));
        let may_begin = may_begin(bytes[name.clone()].first().copied()) || is_pattern();
        may_begin && !beginning_with(known_name(&lower(&text[name])), true, false).is_empty()
    })
}

/// Fast check that returns true if a path, written in a directory that is not guarded, may lead to a guarded file. This check runs first,
/// because resolving the path takes longer.
pub(super) fn may_lead_there(path: &Word, whole: bool) -> bool {
    let text = lower(&path.text);
    let names: Vec<&str> = text.trim_start_matches(['/', '\\']).split(['/', '\\']).collect();
    if path.glob || path.home || !path.is_known() || names.iter().any(|name| matches!(*name, "" | "." | "..")) {
        return may_be_guarded(&path.text) || !path.is_known();
    }
    let names: Vec<&str> = names.into_iter().map(known_name).collect();
    let extent = if whole { Extent::Whole } else { Extent::File };
    let may_fit = |from: usize, guarded: &Guarded| {
        let takes = whole && guarded.above != Above::Never;
        guarded.fits(&names[from..], takes, true, Reach { extent, ..Reach::default() })
    };
    (0..names.len()).any(|from| beginning_with(names[from], false, true).iter().any(|guarded| may_fit(from, guarded)))
}

#[cfg(test)]
mod tests;
