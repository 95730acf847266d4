//! Reads command lines, with the same reader that `shell-guard` uses, and finds the files that they touch.

use crate::Target;
use crate::touch::{Change, Touch};
use hookhost_guest::prelude::*;
use shell_reader::guarded::Reach;
use shell_reader::path::{Normal, clean, is_absolute};
use shell_reader::{
    Command, Extent, Location, PathContext, Script, UNKNOWN, Word, Write, beginnings, is_known_program, read,
    read_likely,
};
use std::collections::BTreeSet;

/// Maximum number of directories and of paths that are followed in one command line. There is a limit, because comparing a path with a
/// pattern costs about ten thousand units of fuel.
const MAX_DIRECTORIES: usize = 32;
const MAX_PATHS: usize = 1_000;

/// Maximum number of parts of a command that are read one by one.
const MAX_PARTS: usize = 100;

const TOO_OFTEN: &str = "the command changes directories or writes files too often to be read";

/// A command line that was read.
#[derive(Debug)]
pub struct CommandLine {
    /// The text of the command line.
    pub text: String,
    /// False if the text is perhaps not a command: it is an argument of an unknown tool and runs no known program.
    pub is_certain: bool,
    /// The text as read, and perhaps as read with likely assumptions.
    scripts: Vec<Script>,
    /// The directory in which the command line starts, if it is known.
    start: Option<String>,
    context: PathContext,
}

/// The files that a call touches, as far as the call can be read.
#[derive(Debug, Default)]
pub struct Touched {
    /// Each file, as the call spells its path and in the form for comparison.
    pub targets: Vec<(String, Target)>,
    /// Files whose rights are taken from everybody but the owner.
    pub made_private: Vec<(String, Target)>,
    /// Files that may be changed later, because they get another name or are passed to an unknown program.
    pub exposed: Vec<(String, Target)>,
    /// All files that were found, each only once.
    seen: BTreeSet<(Change, Target)>,
    /// The reason why a part could not be read.
    pub unreadable: Option<String>,
}

impl CommandLine {
    /// Reads the command of a shell.
    #[must_use]
    pub fn read(shell: &ShellCommand, session: &Session) -> Self {
        let mut line = Self::read_once(shell, session);
        line.add_likely(shell.dialect);
        line
    }

    /// Reads a text that is perhaps a command. If it cannot be read, also reads its parts, because a shell runs the lines that precede a
    /// line that it cannot read.
    #[must_use]
    pub fn supposed(shell: &ShellCommand, session: &Session) -> Vec<Self> {
        let mut line = Self::read_once(shell, session);
        let is_unreadable = line.unreadable().is_some();
        let begins_known = || shell.command.split_whitespace().next().is_some_and(is_known_program);
        let is_only_output = |command: &Command| command.program.is_empty() && command.outputs().next().is_some();
        let is_known = |command: &Command| is_known_program(&command.program) || is_only_output(command);
        if line.commands().any(is_known) || (is_unreadable && begins_known()) {
            line.add_likely(shell.dialect);
            return vec![line];
        }
        line.is_certain = false;
        let parts = if is_unreadable { parts(shell, session) } else { Vec::new() };
        let parts = parts.into_iter().flat_map(|part| Self::supposed(&shell.with_command(part), session));
        std::iter::once(line).chain(parts).collect()
    }

    /// Reads the command of a shell. If it cannot be read, also reads its parts, because a shell runs the lines that precede a line that it
    /// cannot read.
    #[must_use]
    pub fn read_with_parts(shell: &ShellCommand, session: &Session) -> Vec<Self> {
        let line = Self::read(shell, session);
        let parts = if line.unreadable().is_some() { parts(shell, session) } else { Vec::new() };
        let parts = parts.into_iter().take(MAX_PARTS).map(|part| Self::read_once(&shell.with_command(part), session));
        std::iter::once(line).chain(parts.filter(|part| part.unreadable().is_none())).collect()
    }

    fn read_once(shell: &ShellCommand, session: &Session) -> Self {
        let context = PathContext::new(&session.workspace).or_home_of(&session.cwd);
        let from = PathContext::new(&session.cwd);
        let start = match context.spelt(&shell.cwd, Some(from.workspace()).filter(|cwd| is_absolute(cwd))) {
            Normal::Absolute(start) => Some(start),
            Normal::Below(_) => None,
        };
        let mut line = Self { text: shell.command.clone(), is_certain: true, scripts: Vec::new(), start, context };
        line.scripts.push(read(&line.text, shell.dialect, &line.cwd(), &line.context));
        line
    }

    fn add_likely(&mut self, dialect: ShellDialect) {
        let likely = self
            .scripts
            .first()
            .and_then(|script| read_likely(script, &self.text, dialect, &self.cwd(), &self.context));
        self.scripts.extend(likely);
    }

    fn cwd(&self) -> String {
        self.start.clone().unwrap_or_else(|| UNKNOWN.to_string())
    }

    /// Returns the simple commands.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.scripts.iter().flat_map(|script| &script.commands)
    }

    /// Returns true if the text joins its commands only with `&&`, so that each runs only after those before it have succeeded. Signs in
    /// quotes count too, so the answer may be false for such a text.
    #[must_use]
    pub fn is_chain(&self) -> bool {
        is_and_list(&self.text) && !self.text.contains('!')
    }

    /// Returns true if the text is one simple command, which may have redirections.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.scripts.first().is_some_and(|script| script.is_single && script.unreadable.is_none())
    }

    /// Returns the reason why a part of the text could not be read.
    #[must_use]
    pub fn unreadable(&self) -> Option<&str> {
        self.scripts.iter().find_map(|script| script.unreadable.as_deref())
    }

    /// Returns all files that the command line obviously touches.
    pub(crate) fn touched(&self, touch: Touch) -> Touched {
        let mut touched = Touched::default();
        for script in self.scripts.iter().filter(|_| self.is_certain) {
            touched.take(touch, script, self.start.as_deref(), self.is_chain(), &self.context);
            let why = script.unreadable.as_ref().map(|why| format!("the command cannot be read: {why}"));
            touched.unreadable = touched.unreadable.or(why);
        }
        touched
    }
}

/// The file that stands for the output of `mktemp`.
const MADE: &str = "/tmp/mktemp";

/// Returns true if `mktemp` may make its file in another directory than that for temporary files: `mktemp -p x`, `mktemp xXXX`.
fn makes_elsewhere(command: &Command) -> bool {
    let is_name = command.args.iter().any(|word| word.text == "-t");
    let is_elsewhere = |word: &Word| match word.text.strip_prefix('-') {
        Some(option) => option.starts_with("-tmpdir=") || (option.contains('p') && !option.starts_with('-')),
        None => !word.text.starts_with("/tmp/") && (!is_name || word.text.contains('/')),
    };
    command.program == "mktemp" && command.args.iter().any(is_elsewhere)
}

/// Returns true if a text or a part of it has no separator of commands other than `&&`.
#[must_use]
pub fn is_and_list(text: &str) -> bool {
    !text.trim_end().replace("&&", "").replace(">&", "").replace("&>", "").contains([';', '&', '|', '\n'])
}

/// Returns the lines of a text that cannot be read, and the longest beginning that can be read.
fn parts<'a>(shell: &'a ShellCommand, session: &Session) -> Vec<&'a str> {
    let is_read = |text: &&str| CommandLine::read_once(&shell.with_command(*text), session).unreadable().is_none();
    let lines = shell.command.lines().filter(|_| shell.command.contains('\n'));
    beginnings(&shell.command).find(is_read).into_iter().chain(lines).collect()
}

impl Touched {
    /// Adds the files of another command line.
    pub(crate) fn extend(&mut self, other: Self) {
        self.targets.extend(other.targets);
        self.made_private.extend(other.made_private);
        self.exposed.extend(other.exposed);
        self.unreadable = self.unreadable.take().or(other.unreadable);
    }

    fn take(&mut self, touch: Touch, script: &Script, start: Option<&str>, is_chain: bool, context: &PathContext) {
        // Paths are resolved from every directory so far, because a `cd` may fail, unless nothing runs after a failure.
        let mut directories = vec![start];
        // `popd` may lead back to any of them.
        let (mut visited, mut goes_back) = (vec![start], false);
        let mut patched: Option<&Word> = None;
        let is_elsewhere = script.commands.iter().any(makes_elsewhere);
        for command in &script.commands {
            // Files on another machine are not protected here.
            if command.location == Location::Machine {
                continue;
            }
            let cwd = command.cwd.as_deref();
            if !visited.contains(&cwd) {
                visited.push(cwd);
            }
            goes_back |= command.program == "popd";
            if cwd.is_none() || goes_back {
                directories.clone_from(&visited);
            } else if is_chain {
                directories = vec![cwd];
            } else if !directories.contains(&cwd) {
                directories.push(cwd);
            }
            if directories.len().max(visited.len()) > MAX_DIRECTORIES || self.seen.len() > MAX_PATHS {
                self.unreadable.get_or_insert_with(|| TOO_OFTEN.into());
                return;
            }
            for (change, mut write) in (touch.by_command)(command) {
                if is_elsewhere && write.path.text.starts_with(MADE) {
                    write.path = Word::unknown();
                }
                self.add(command, &write, change, &directories, context);
            }
            let input = command.input.as_ref().filter(|input| patched != Some(input));
            patched = input.or(patched);
            let is_patch = matches!(command.program.as_str(), "apply_patch" | "applypatch");
            for text in input.into_iter().chain(command.args.iter().filter(|_| is_patch)) {
                for path in (touch.by_patch)(&text.text).iter().flat_map(|path| meant_by(path, command)) {
                    let write = Write { path: Word::literal(path), extent: Extent::Whole, supposed: false };
                    self.add(command, &write, Change::Made, &directories, context);
                }
            }
        }
        if self.seen.len() > MAX_PATHS {
            self.unreadable.get_or_insert_with(|| TOO_OFTEN.into());
        }
    }

    /// Adds a file that a command changes.
    fn add(
        &mut self,
        command: &Command,
        write: &Write,
        change: Change,
        directories: &[Option<&str>],
        context: &PathContext,
    ) {
        for directory in directories {
            let mut normal = context.resolve(&write.path, *directory);
            let reach = Reach::of(write, &normal, *directory);
            // It is unknown where a directory of this machine is mounted in a container.
            let is_local = |path: &str| match command.location {
                Location::Container => true,
                Location::Disposable => !path.starts_with(context.workspace()),
                Location::Here | Location::Machine => false,
            };
            if let Normal::Absolute(absolute) = &normal
                && is_local(absolute)
            {
                normal = Normal::Below(clean(absolute.trim_start_matches('/')));
            }
            let target = Target { path: normal, reach, spares_dots: change == Change::Read };
            if self.seen.len() <= MAX_PATHS && self.seen.insert((change, target.clone())) {
                let list = match change {
                    Change::Made | Change::Read => &mut self.targets,
                    Change::MadePrivate => &mut self.made_private,
                    Change::Exposed => &mut self.exposed,
                };
                list.push((write.path.text.replace(UNKNOWN, "…"), target));
            }
        }
    }
}

/// Returns the files that a path in a patch may mean for a command. An option such as `-p2` removes the first components of the path, and
/// an option such as `git apply --directory=infra` adds a directory.
fn meant_by(path: &str, command: &Command) -> Vec<String> {
    let values = |options: &'static [&'static str]| {
        command.args.iter().enumerate().filter_map(move |(at, word)| {
            let rest = options.iter().find_map(|option| word.text.strip_prefix(option))?;
            let value = rest.strip_prefix('=').unwrap_or(rest);
            if value.is_empty() { command.args.get(at + 1).map(|next| next.text.as_str()) } else { Some(value) }
        })
    };
    let mut paths = vec![path.to_owned()];
    // The path no longer has its `a/` or `b/`. It is unknown whether the number in the option includes this component.
    for count in values(&["-p", "--strip"]).filter_map(|value| value.parse::<usize>().ok()) {
        for count in [count.saturating_sub(1), count] {
            paths.extend(path.splitn(count + 1, '/').nth(count).map(str::to_owned));
        }
    }
    let directories: Vec<&str> = values(&["--directory", "-d", "-C"]).collect();
    let within: Vec<String> =
        directories.iter().flat_map(|directory| paths.iter().map(move |path| format!("{directory}/{path}"))).collect();
    paths.extend(within);
    paths
}
