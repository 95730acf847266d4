//! Finds the files that a shell command writes, with the same reader that `shell-guard` uses.

use crate::rules::Target;
use hookhost_contract::action::paths_of_patch;
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

const TOO_OFTEN: &str = "the command changes directories or writes files too often to be read";

/// The change that a command makes to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Written,
    MadePrivate,
    Exposed,
}

/// The files that a command line writes, as far as the command line can be read.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    /// Each file, as the command spells its path and in the form for comparison.
    pub(crate) targets: Vec<(String, Target)>,
    /// Files whose rights are taken from everybody but the owner.
    pub(crate) made_private: Vec<(String, Target)>,
    /// Files that may be changed later, because they get another name or are passed to an unknown program.
    pub(crate) exposed: Vec<(String, Target)>,
    /// All files that were found, each only once.
    seen: BTreeSet<(Change, Target)>,
    /// The reason why a part could not be read.
    pub(crate) unreadable: Option<String>,
}

/// Returns all files that the command of `shell` obviously writes. If `is_supposed` is true, the text is perhaps not a command, so it is
/// read only if it runs a known program.
pub(crate) fn writes(shell: &ShellCommand, session: &Session, is_supposed: bool) -> Writes {
    let context = PathContext::new(&session.workspace).or_home_of(&session.cwd);
    let start = match context
        .spelt(&shell.cwd, Some(PathContext::new(&session.cwd).workspace()).filter(|cwd| is_absolute(cwd)))
    {
        Normal::Absolute(start) => Some(start),
        Normal::Below(_) => None,
    };
    let unknown = UNKNOWN.to_string();
    let cwd = start.as_deref().unwrap_or(&unknown);
    let script = read(&shell.command, shell.dialect, cwd, &context);
    let is_unreadable = script.unreadable.is_some();
    let begins_known = || shell.command.split_whitespace().next().is_some_and(is_known_program);
    let is_only_output = |command: &Command| command.program.is_empty() && command.outputs().next().is_some();
    let is_known = |command: &Command| is_known_program(&command.program) || is_only_output(command);
    if is_supposed && !script.commands.iter().any(is_known) && !(is_unreadable && begins_known()) {
        // A shell runs the lines that precede a line that it cannot read.
        let is_read = |text: &&str| read(text, shell.dialect, cwd, &context).unreadable.is_none();
        let beginning = if is_unreadable { beginnings(&shell.command).find(is_read) } else { None };
        let lines = shell.command.lines().filter(|_| is_unreadable && shell.command.contains('\n'));
        return lines.chain(beginning).fold(Writes::default(), |mut all, line| {
            all.extend(writes(&shell.with_command(line), session, true));
            all
        });
    }
    let likely = read_likely(&script, &shell.command, shell.dialect, cwd, &context);
    let mut writes = Writes::default();
    for script in [Some(script), likely].into_iter().flatten() {
        writes.take(&script, start.as_deref(), &context);
        let why = script.unreadable.map(|why| format!("the command cannot be read: {why}"));
        writes.unreadable = writes.unreadable.or(why);
    }
    writes
}

impl Writes {
    /// Adds the files of another command line.
    pub(crate) fn extend(&mut self, other: Self) {
        self.targets.extend(other.targets);
        self.made_private.extend(other.made_private);
        self.exposed.extend(other.exposed);
        self.unreadable = self.unreadable.take().or(other.unreadable);
    }

    fn take(&mut self, script: &Script, start: Option<&str>, context: &PathContext) {
        // Paths are resolved from every directory so far, because a `cd` may fail.
        let mut directories = vec![start];
        let mut patched: Option<&Word> = None;
        for command in &script.commands {
            // Files on another machine are not protected here.
            if command.location == Location::Machine {
                continue;
            }
            let cwd = command.cwd.as_deref();
            if !directories.contains(&cwd) {
                directories.push(cwd);
            }
            if directories.len() > MAX_DIRECTORIES || self.seen.len() > MAX_PATHS {
                self.unreadable.get_or_insert_with(|| TOO_OFTEN.into());
                return;
            }
            let change = if command.makes_private() { Change::MadePrivate } else { Change::Written };
            for write in command.writes() {
                self.add(command, &write, change, &directories, context);
            }
            for write in command.exposes() {
                self.add(command, &write, Change::Exposed, &directories, context);
            }
            let input = command.input.as_ref().filter(|input| patched != Some(input));
            patched = input.or(patched);
            let is_patch = matches!(command.program.as_str(), "apply_patch" | "applypatch");
            for text in input.into_iter().chain(command.args.iter().filter(|_| is_patch)) {
                for path in paths_of_patch(&text.text).iter().flat_map(|path| meant_by(path, command)) {
                    let write = Write { path: Word::literal(path), extent: Extent::Whole, supposed: false };
                    self.add(command, &write, Change::Written, &directories, context);
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
            let target = Target { path: normal, reach };
            if self.seen.len() <= MAX_PATHS && self.seen.insert((change, target.clone())) {
                let list = match change {
                    Change::Written => &mut self.targets,
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
