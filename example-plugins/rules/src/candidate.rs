//! Answers what a condition asks about one command, file, request, call or text.

use crate::chosen;
use crate::judge::{Found, Subject};
use crate::paths::{MatchedFile, from_workspace};
use crate::shell::joined;
use crate::world::World;
use hookhost_conditions::{Fact, Facts, Value};
use hookhost_guest::prelude::*;
use shell_reader::path::{Normal, below, is_absolute};
use shell_reader::{Command, Extent, PathContext, UNKNOWN, Word};
use std::borrow::Cow;

/// What the matchers of a row have found, with everything that a condition can ask about it.
pub(crate) struct Candidate<'a> {
    pub(crate) world: &'a dyn World,
    pub(crate) session: &'a Session,
    pub(crate) found: &'a Found,
    /// The call, also of a result.
    pub(crate) call: Option<&'a ToolCall>,
    /// The call as it was read.
    pub(crate) subject: Option<&'a Subject<'a>>,
    /// The arguments of the call.
    pub(crate) arguments: Option<&'a serde_json::Value>,
    /// The simple command that the row is about.
    pub(crate) command: Option<&'a Command>,
    /// The prompt, text or result.
    pub(crate) text: Option<&'a str>,
}

impl Candidate<'_> {
    /// Returns the directory in which a command runs, if it is known. Without a command, this is the directory of the session.
    fn directory<'a>(&'a self, command: Option<&'a Command>) -> Option<&'a str> {
        let Some(command) = command else { return Some(&self.session.cwd) };
        let is_within = |wrapper: &str| command.wrappers.iter().any(|name| name == wrapper);
        let mut directory = command.cwd.as_deref();
        if let Some((line, before)) = self.before(command) {
            let changes: Vec<&Command> = before.filter(|other| CHANGES.contains(&&*other.program)).collect();
            let certain = |other: &Command| chosen::certainly_runs(other, command, line);
            if changes.iter().any(|other| !matches!(&*other.program, "cd" | "pushd")) {
                directory = changes[0].cwd.as_deref().filter(|_| leads_back(&changes, certain));
            }
            directory = directory.filter(|_| changes.iter().all(|other| has_one_directory(other)));
            let is_elsewhere = (is_within("find") && (line.contains("-execdir") || line.contains("-okdir")))
                || (is_within("git") && line.contains("foreach"));
            directory = directory.filter(|_| !is_elsewhere);
        }
        // A pattern stands for any directory that it matches.
        directory.filter(|directory| is_absolute(directory) && !directory.contains(['*', '?', '[', UNKNOWN]))
    }

    /// Returns the text of a command's line, and the commands that may run before the command.
    fn before<'a>(&'a self, command: &'a Command) -> Option<(&'a str, impl Iterator<Item = &'a Command>)> {
        let (line, before) = self.subject?.before(command)?;
        Some((&line.text, before.filter(|other| other.place.start <= command.place.start)))
    }

    /// Says whether a file exists. Its path is relative to the directory of the command.
    pub(crate) fn exists(&self, path: &str) -> Fact<'_> {
        self.absolute(path).map_or(Fact::Unreadable, |path| self.world.fact("path.exists", &path))
    }

    /// Returns the directory that a fact of the host is about, if it is known.
    pub(crate) fn directory_of<'a>(&'a self, name: &str, command: Option<&'a Command>) -> Option<Cow<'a, str>> {
        let directory = match self.directory(command) {
            None if is_of_directory(name) => return None,
            directory => directory.unwrap_or(&self.session.cwd),
        };
        let context = PathContext::new(&self.session.workspace);
        command.map_or(Some(directory.into()), |command| chosen::directory(name, command, directory, &context))
    }

    /// Returns true if the line may create or replace a directory, or its `.git`, before the command runs.
    fn is_made_by_line(&self, name: &str, directory: &str) -> bool {
        let Some((_, mut before)) = self.command.and_then(|command| self.before(command)) else { return false };
        let is_missing = || self.world.fact("path.exists", directory) == Fact::Is(Value::Bool(false));
        (name.starts_with("git.") && directory != self.session.cwd && is_missing())
            || before.any(|other| self.replaces(other, directory))
    }

    /// Returns true if a command writes, moves or removes a directory as a whole, or what its `.git` says is checked out and where it came from.
    fn replaces(&self, command: &Command, directory: &str) -> bool {
        let context = PathContext::new(&self.session.workspace);
        let is_git = command.program == "git";
        command.writes().iter().any(|write| {
            let path = context.resolve(&write.path, command.cwd.as_deref());
            let (Normal::Absolute(text) | Normal::Below(text)) = &path;
            let text =
                &text.split('/').map(|name| if may_be_git(name) { ".git" } else { name }).collect::<Vec<_>>().join("/");
            let is_around =
                |root: &str| matches!(path, Normal::Below(_)) || root.is_empty() || below(directory, root).is_some();
            // Of git, `clone` and `worktree` fill a directory. Git's other commands, and `find`, keep `.git`.
            let is_whole = match write.extent {
                Extent::File => false,
                Extent::Filled => is_git,
                Extent::Whole | Extent::Moved => !is_git && !matches!(&*command.program, "find" | "fd"),
            };
            let mut of_git = text.match_indices(".git").filter(|(at, name)| {
                let (root, rest) = (&text[..*at], &text[at + name.len()..]);
                let is_told = |name: &str| matches!(name, "HEAD" | "config" | "config.worktree" | "commondir");
                let is_told = rest.rsplit('/').next().is_some_and(is_told) || rest.contains("/refs/heads");
                let is_below = rest.starts_with('/') && (is_told || rest.contains(['*', '?', '[', UNKNOWN]));
                (root.is_empty() || root.ends_with('/')) && (rest.is_empty() || is_below)
            });
            (is_whole && matches!(path, Normal::Absolute(_)) && below(directory, text).is_some())
                || of_git.any(|(at, _)| is_around(text[..at].trim_end_matches('/')))
        })
    }

    /// Returns a path in its absolute form, if it is known.
    fn absolute(&self, path: &str) -> Option<String> {
        if self.found.path.as_deref() == Some(path) || self.path().is_some_and(|known| known == path) {
            return self.found.absolute.clone();
        }
        match PathContext::new(&self.session.workspace).spelt(path, self.directory(self.command)) {
            Normal::Absolute(path) => Some(path),
            Normal::Below(_) => None,
        }
    }

    /// Returns the path that the row is about, however the call spells it: from the workspace, or absolute. Returns `None` if it is unknown.
    fn path(&self) -> Option<&str> {
        from_workspace(self.found.absolute.as_deref()?, &self.session.workspace)
    }

    /// Returns true if the session gets a label because of this call.
    fn gets(&self, label: &str) -> bool {
        self.subject.is_some_and(|subject| subject.labels.contains(&label))
    }

    fn paths(&self, touch: usize) -> Fact<'_> {
        let Some(subject) = self.subject else { return Fact::Absent };
        let shown = |file: MatchedFile<'_>| {
            let path =
                file.absolute.and_then(|path| from_workspace(path, &self.session.workspace)).unwrap_or(file.written);
            Value::from(path.to_owned())
        };
        Fact::Is(Value::List(subject.paths(touch).map(shown).collect()))
    }

    fn in_workspace(&self) -> Fact<'static> {
        let Some(path) = &self.found.path else { return Fact::Absent };
        let Some(path) = self.absolute(path) else { return Fact::Unreadable };
        let rest = path.strip_prefix(self.session.workspace.trim_end_matches('/'));
        Fact::Is(rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')).into())
    }

    /// Returns a fact of the simple command.
    fn of_command(&self, name: &str) -> Fact<'_> {
        let Some(command) = self.command else { return text(self.found.value(name)) };
        let strings = |words: &mut dyn Iterator<Item = &'_ Word>| {
            Fact::Is(Value::List(words.map(|word| Value::from(word.text.clone())).collect()))
        };
        let names = |names| Fact::Is(Value::strings::<String>(names));
        match name {
            "wrappers" => names(&command.wrappers),
            "upstream" => names(&command.upstream),
            "downstream" => names(&command.downstream),
            "variables" => {
                let variables = command.environment.iter();
                Fact::Is(Value::Map(variables.map(|(name, word)| (name.clone(), Value::from(&*word.text))).collect()))
            }
            "program" => Fact::Is(Value::from(&*command.program)),
            "args" => strings(&mut command.args.iter()),
            "flags" => strings(&mut command.args.iter().filter(|word| word.text.starts_with('-'))),
            "redirects" => strings(&mut command.redirects.iter().map(|redirect| &redirect.target)),
            _ => Fact::Is(Value::from(joined(command))),
        }
    }

    /// Returns a fact that the host reads.
    fn of_host(&self, name: &str) -> Fact<'_> {
        match (name, &self.found.path) {
            ("path.is_tracked" | "path.exists", None) => Fact::Absent,
            ("path.is_tracked" | "path.exists", Some(path)) => match self.absolute(path) {
                Some(path) => self.world.fact(name, &path),
                None => Fact::Unreadable,
            },
            _ => match self.directory_of(name, self.command) {
                Some(directory) if !is_of_directory(name) || !self.is_made_by_line(name, &directory) => {
                    self.world.fact(name, &directory)
                }
                _ => Fact::Unreadable,
            },
        }
    }
}

/// Programs and commands of the shell that change the directory. The reader follows only `cd` and `pushd`.
const CHANGES: [&str; 6] = ["cd", "pushd", "popd", "z", "zi", "j"];

/// Returns true if `pushd` and `popd` alone certainly lead back to the first directory: in this order, and each of them runs.
fn leads_back(changes: &[&Command], runs: impl Fn(&Command) -> bool) -> bool {
    let depth = changes.iter().try_fold(0_usize, |depth, change| match &*change.program {
        "pushd" => runs(change).then_some(depth + 1),
        "popd" if runs(change) && change.args.is_empty() => depth.checked_sub(1),
        _ => None,
    });
    depth == Some(0)
}

/// Returns true if `cd` or `pushd` certainly changes to its one directory. With `pushd -n` or two operands, the shell stays where it is.
fn has_one_directory(command: &Command) -> bool {
    let letters: &[char] = match &*command.program {
        "cd" => &['-', 'L', 'P', 'e', '@'],
        "pushd" => &['-'],
        _ => return true,
    };
    let is_drive_switch = |text: &str| command.windows && text.len() == 2 && text.starts_with('/');
    let words = command.args.iter().map(|word| &*word.text).filter(|text| !is_drive_switch(text));
    let (options, operands): (Vec<&str>, Vec<&str>) = words.partition(|text| text.len() > 1 && text.starts_with('-'));
    options.iter().all(|text| text.chars().all(|c| letters.contains(&c)))
        && match &*operands {
            [] => command.program == "cd",
            [directory] => command.program == "cd" || !directory.starts_with('+'),
            _ => false,
        }
}

/// Returns true if a fact depends on the directory.
fn is_of_directory(name: &str) -> bool {
    name.starts_with("git.") || name.starts_with("terraform.")
}

/// Beginnings of the names of facts that do not depend on what a call does.
const EVENT_FACTS: [&str; 11] =
    ["agent", "session.", "time.", "env.", "user", "server", "tool", "workspace", "arguments", "text", "failed"];

impl Facts for Candidate<'_> {
    fn value(&self, name: &str) -> Fact<'_> {
        if let Some(fact) = chosen::fact(name, self).or_else(|| self.world.given(name)) {
            return fact;
        }
        if self.found.unreadable.is_some() && !EVENT_FACTS.iter().any(|begin| name.starts_with(begin)) {
            return Fact::Unreadable;
        }
        match name {
            "command" | "program" | "args" | "flags" | "redirects" | "variables" | "wrappers" | "upstream"
            | "downstream" => self.of_command(name),
            "paths.written" => self.paths(0),
            "paths.read" => self.paths(1),
            "paths.deleted" => self.paths(2),
            "url" | "host" if self.found.is_unclear => Fact::Unreadable,
            "path" if self.found.path.is_some() => {
                self.path().map_or(Fact::Unreadable, |path| Fact::Is(Value::from(path)))
            }
            "path" | "url" | "host" | "server" | "tool" => text(self.found.value(name)),
            "path.in_workspace" => self.in_workspace(),
            "arguments" => match self.arguments {
                Some(arguments) => Fact::Is(Value::from(arguments)),
                None => Fact::Absent,
            },
            "text" => text(self.text.or_else(|| self.subject.map(Subject::text))),
            "failed" => self.subject.map_or(Fact::Absent, |subject| subject.failed(self.command)),
            "agent" => Fact::Is(Value::from(&*self.session.agent)),
            "session.depth" => Fact::Is(Value::from(i64::from(self.session.depth))),
            "session.headless" => Fact::Is(Value::from(!self.session.interactive)),
            "cwd" => self.directory(self.command).map_or(Fact::Unreadable, |cwd| Fact::Is(Value::from(cwd))),
            "workspace" => Fact::Is(Value::from(&*self.session.workspace)),
            _ => self.of_host(name),
        }
    }

    fn call(&self, function: &str, arguments: &[Value<'_>]) -> Fact<'_> {
        match (function, arguments, self.call) {
            ("same_call", [Value::Int(times), Value::Int(seconds)], Some(call)) => {
                self.world.is_repeated(call, *times, *seconds)
            }
            ("has" | "since", [Value::String(label)], _) => match self.world.call(function, arguments) {
                Fact::Absent | Fact::Is(Value::Bool(false)) if self.gets(label) => Fact::Unreadable,
                fact => fact,
            },
            ("flag", [Value::String(flag)], _) => match self.subject.zip(self.command) {
                Some((subject, command)) => Fact::Is(Value::from(subject.has_flag(command, flag))),
                None if self.found.unreadable.is_some() => Fact::Unreadable,
                None => Fact::Absent,
            },
            ("written_by_agent" | "created_by_agent", [Value::String(path)], _) => match self.absolute(path) {
                Some(path) => self.world.call(function, &[Value::from(path)]),
                None => Fact::Unreadable,
            },
            _ => self.world.call(function, arguments),
        }
    }
}

/// Returns true for a pattern of a shell that may stand for `.git`. Such a pattern begins with the dot itself.
fn may_be_git(name: &str) -> bool {
    let known = name.find(['*', '?', '[']).map(|at| &name[..at]);
    known.is_some_and(|known| !known.is_empty() && ".git".starts_with(known))
}

fn text(value: Option<&str>) -> Fact<'_> {
    value.map_or(Fact::Absent, |value| Fact::Is(Value::from(value)))
}
