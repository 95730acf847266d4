//! What a shell command writes, as the reader that `shell-guard` has, too, sees it.

use crate::rules::{Target, WILDCARDS};
use hookhost_contract::action::paths_of_patch;
use hookhost_guest::prelude::*;
use shell_syntax::path::{Normal, clean, is_absolute};
use shell_syntax::{Command, Location, Places, Script, UNKNOWN, Word, Write, read, read_likely};
use std::collections::BTreeSet;

/// Maximum number of directories, and of paths, that are followed in one command line. To compare a path with a pattern takes some
/// ten thousand units of fuel.
const MAX_DIRECTORIES: usize = 32;
const MAX_PATHS: usize = 1_000;

const TOO_OFTEN: &str = "the command changes directories or writes files too often to be read";

/// What a command line writes, as far as it is read.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    /// Each as the command spells it, and as it is compared.
    pub(crate) targets: Vec<(String, Target)>,
    /// What gets another name by a link, in the same way.
    pub(crate) links: Vec<(String, Target)>,
    /// The targets and links that a command line shows, each once.
    seen: BTreeSet<(bool, Target)>,
    /// Why some of it could not be read.
    pub(crate) unreadable: Option<String>,
}

/// All that the command of `shell` obviously writes.
pub(crate) fn writes(shell: &ShellCommand, session: &Session) -> Writes {
    let places = Places::new(&session.workspace).or_home_of(&session.cwd);
    let start =
        match places.spelt(&shell.cwd, Some(Places::new(&session.cwd).workspace()).filter(|cwd| is_absolute(cwd))) {
            Normal::Absolute(start) => Some(start),
            Normal::Below(_) => None,
        };
    let unknown = UNKNOWN.to_string();
    let cwd = start.as_deref().unwrap_or(&unknown);
    let script = read(&shell.command, shell.dialect, cwd, &places);
    let likely = read_likely(&script, &shell.command, shell.dialect, cwd, &places);
    let mut writes = Writes::default();
    for script in [Some(script), likely].into_iter().flatten() {
        writes.take(&script, start.as_deref(), &places);
        let why = script.unreadable.map(|why| format!("the command cannot be read: {why}"));
        writes.unreadable = writes.unreadable.or(why);
    }
    writes
}

impl Writes {
    fn take(&mut self, script: &Script, start: Option<&str>, places: &Places) {
        // All of them count, since a `cd` may fail.
        let mut directories = vec![start];
        let mut patched: Option<&Word> = None;
        for command in &script.commands {
            // What another machine holds is not protected here.
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
            for write in command.writes() {
                self.add(command, &write, false, &directories, places);
            }
            for linked in command.linked() {
                let write = Write { path: linked.clone(), whole: true, supposed: false };
                self.add(command, &write, true, &directories, places);
            }
            let input = command.input.as_ref().filter(|input| patched != Some(input));
            patched = input.or(patched);
            let is_patch = matches!(command.program.as_str(), "apply_patch" | "applypatch");
            for text in input.into_iter().chain(command.args.iter().filter(|_| is_patch)) {
                for path in paths_of_patch(&text.text).iter().flat_map(|path| meant_by(path, command)) {
                    let write = Write { path: Word::literal(path), whole: true, supposed: false };
                    self.add(command, &write, false, &directories, places);
                }
            }
        }
        if self.seen.len() > MAX_PATHS {
            self.unreadable.get_or_insert_with(|| TOO_OFTEN.into());
        }
    }

    /// Adds what is written, or only gets another name.
    fn add(&mut self, command: &Command, write: &Write, is_link: bool, directories: &[Option<&str>], places: &Places) {
        let Write { path, whole, supposed } = write;
        for directory in directories {
            // `cd */`: each that fits may be meant.
            let wild = path.glob || directory.is_some_and(|directory| directory.contains(WILDCARDS));
            let mut normal = places.resolve(path, *directory);
            // It is unknown where a directory of this machine is in a container.
            let is_local = |path: &str| match command.location {
                Location::Container => true,
                Location::Disposable => !path.starts_with(places.workspace()),
                Location::Here | Location::Machine => false,
            };
            if let Normal::Absolute(absolute) = &normal
                && is_local(absolute)
            {
                normal = Normal::Below(clean(absolute.trim_start_matches('/')));
            }
            let target = Target { path: normal, whole: *whole, wild, supposed: *supposed };
            if self.seen.len() <= MAX_PATHS && self.seen.insert((is_link, target.clone())) {
                let list = if is_link { &mut self.links } else { &mut self.targets };
                list.push((path.text.replace(UNKNOWN, "…"), target));
            }
        }
    }
}

/// The files that a path in a patch may mean to a command: without the names that `-p2` leaves out, and in the directory that an option
/// names, `git apply --directory=infra`.
fn meant_by(path: &str, command: &Command) -> Vec<String> {
    let values = |options: &'static [&'static str]| {
        command.args.iter().enumerate().filter_map(move |(at, word)| {
            let rest = options.iter().find_map(|option| word.text.strip_prefix(option))?;
            let value = rest.strip_prefix('=').unwrap_or(rest);
            if value.is_empty() { command.args.get(at + 1).map(|next| next.text.as_str()) } else { Some(value) }
        })
    };
    let mut paths = vec![path.to_owned()];
    // Whether `a/` or `b/` is one of them, which the path has no more, is not known.
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
