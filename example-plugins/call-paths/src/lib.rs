//! Finds the files that a tool call writes, reads or deletes, in any spelling, and compares them with patterns. The files may be named by
//! an argument of a tool, by a patch, or by a shell command. Nothing here accesses a file system.

pub mod arguments;
mod command_line;
mod operands;
pub mod patch;
mod patterns;
mod reading;
mod touch;

pub use command_line::{CommandLine, Touched, is_and_list};
pub use operands::written;
pub use patterns::{Patterns, Spellings, Target};
pub use reading::{FETCHERS, before_subcommand, file_words};
pub use touch::Touch;

use arguments::Named;
use hookhost_contract::action::supposed_commands;
use hookhost_guest::prelude::*;
use serde_json::Value;
use shell_reader::guarded::Reach;
use shell_reader::path::{Normal, clean, is_absolute};
use shell_reader::{Extent, PathContext};

/// Maximum number of arguments of an unknown tool that are parsed as commands.
const MAX_SUPPOSED: usize = 128;

/// A call, read once.
#[derive(Debug)]
pub struct ReadCall<'a> {
    session: &'a Session,
    call: &'a ToolCall,
    /// The arguments. Arguments that are not JSON have no members to check. In that case, only the action shows what the host found in
    /// them.
    pub arguments: Value,
    /// The command lines that the call runs, or may run if the tool is unknown.
    pub lines: Vec<CommandLine>,
    /// True if the call may run too many commands to be read.
    pub has_too_many: bool,
}

impl<'a> ReadCall<'a> {
    /// Reads the arguments and the commands of a call.
    #[must_use]
    pub fn new(session: &'a Session, call: &'a ToolCall) -> Self {
        let arguments: Value = call.arguments().unwrap_or(Value::Null);
        let mut read = Self { session, call, arguments, lines: Vec::new(), has_too_many: false };
        match &call.action {
            Action::Shell(shell) => read.lines.push(CommandLine::read(shell, session)),
            Action::Mcp(_) | Action::Other(_) => read.suppose(),
            _ => {}
        }
        read
    }

    /// Reads the commands in the arguments of an unknown tool.
    fn suppose(&mut self) {
        let commands = supposed_commands(&self.call.name, &self.arguments);
        self.has_too_many = commands.len() > MAX_SUPPOSED;
        for command in commands.into_iter().filter(|_| !self.has_too_many) {
            let shell = ShellCommand { command, cwd: self.session.cwd.clone(), dialect: ShellDialect::Unknown };
            self.lines.extend(CommandLine::supposed(&shell, self.session));
        }
    }

    /// Returns true if the host does not know what the tool does.
    fn is_unknown(&self) -> bool {
        matches!(self.call.action, Action::Mcp(_) | Action::Other(_))
    }

    /// Returns the files that the call touches in this way.
    #[must_use]
    pub fn touched(&self, touch: Touch) -> Touched {
        let mut touched = Touched::default();
        for line in &self.lines {
            touched.extend(line.touched(touch));
        }
        if self.has_too_many {
            touched.unreadable = Some("its arguments may hold too many commands to be read".into());
        }
        let paths = (touch.by_call)(self);
        for named in &paths {
            touched.targets.extend(self.targets(named));
        }
        if let Some(why) = self.unreadable(touch, &paths) {
            touched.unreadable = Some(why.into());
        }
        touched
    }

    pub(crate) fn written(&self) -> Vec<Named> {
        let whole = arguments::takes_all(&self.call.name, &self.arguments);
        let named = |path: &String| Named { path: path.clone(), whole, is_called_so: true, wild: false };
        let mut paths: Vec<Named> = self.call.action.written_paths().iter().map(named).collect();
        if !matches!(self.call.action, Action::ReadFile(_)) {
            paths.extend(patch::in_arguments(&self.arguments, !paths.is_empty()).iter().map(named));
        }
        if self.is_unknown() {
            paths.extend(arguments::paths(&self.call.name, &self.arguments));
        }
        paths
    }

    pub(crate) fn read(&self) -> Vec<Named> {
        let named = |path: &str| Named { path: path.to_owned(), whole: false, is_called_so: true, wild: false };
        let path = self.call.action.read_path();
        let mut paths = match path {
            Some(path) => vec![named(path)],
            None if self.is_unknown() => arguments::read(&self.call.name, &self.arguments),
            None => return Vec::new(),
        };
        paths.extend(arguments::searched(&self.call.name, &self.arguments, path));
        paths
    }

    pub(crate) fn deleted(&self) -> Vec<Named> {
        if self.call.action.shell().is_none() && arguments::deletes(&self.call.name, &self.arguments) {
            return self.written();
        }
        let mut paths = Vec::new();
        patch::visit(&self.arguments, "", &mut |_, text| paths.extend(patch::deleted(text)));
        paths.into_iter().map(|path| Named { path, whole: true, is_called_so: true, wild: false }).collect()
    }

    /// Returns the files that an argument may name. The tool decides which directory relative paths start from, so a path is resolved from
    /// the session's directory and from the workspace.
    fn targets(&self, named: &Named) -> Vec<(String, Target)> {
        let path = arguments::local(&named.path);
        let extent = if named.whole { Extent::Whole } else { Extent::File };
        let target = |path, extent| Target {
            path,
            reach: Reach { extent, wild: named.wild, ..Reach::default() },
            spares_dots: false,
        };
        let mut targets = Vec::new();
        for (_, spelt) in spellings(&path, &contexts(self.session)) {
            // If a tool moves or removes a home directory, or a directory that contains home directories, this affects all guarded files
            // there.
            if named.whole && is_home(&spelt) {
                targets.push((path.to_string(), target(Normal::Absolute("/root".into()), Extent::Filled)));
            }
            targets.push((path.to_string(), target(spelt, extent)));
        }
        targets
    }

    fn unreadable(&self, touch: Touch, paths: &[Named]) -> Option<&'static str> {
        let mut called_so = paths.iter().filter(|named| named.is_called_so);
        // Some programs refuse such a path. Other programs end the path at the NUL character.
        let ends_early = called_so.clone().any(|named| named.path.contains('\0'));
        match &self.call.action {
            _ if ends_early => Some("a path has a NUL character in it, where some programs end it"),
            Action::Other(kind) if kind == "shell" => Some("the command cannot be found in the call's arguments"),
            Action::Other(kind) if kind == "write-files" && touch.is_writing && called_so.next().is_none() => {
                Some("what would be written cannot be told from the call's arguments")
            }
            _ => None,
        }
    }
}

/// Returns the directories from which a tool may resolve a relative path, each once.
#[must_use]
pub fn contexts(session: &Session) -> Vec<PathContext> {
    let others = (session.cwd != session.workspace).then(|| PathContext::new(&session.cwd));
    others.into_iter().chain([PathContext::new(&session.workspace)]).collect()
}

/// Returns the paths that an argument may name, each with the directory from which it was resolved. A path of another system may be a path
/// of this system, too.
pub fn spellings<'a>(path: &str, contexts: &'a [PathContext]) -> impl Iterator<Item = (&'a PathContext, Normal)> {
    contexts.iter().flat_map(move |context| {
        let from = Some(context.workspace()).filter(|from| is_absolute(from));
        let elsewhere = of_another_system(path, context.workspace());
        std::iter::once(context.spelt(path, from)).chain(elsewhere).map(move |path| (context, path))
    })
}

/// Returns true if a path is a home directory or a directory that contains home directories.
fn is_home(path: &Normal) -> bool {
    let (Normal::Absolute(text) | Normal::Below(text)) = path;
    let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty()).collect();
    // A path without names may be a home directory if its root is unknown.
    names.is_empty()
        || (matches!(path, Normal::Absolute(_))
            && matches!(names[..], ["home" | "Users" | "root"] | ["home" | "Users", _]))
}

/// Converts a Windows path (`C:\\a`, `\\\\?\\C:\\a`, `/c/a`) if the workspace is on another system. The root of such a path is unknown
/// there.
fn of_another_system(path: &str, workspace: &str) -> Option<Normal> {
    let path = path.trim().replace('\\', "/");
    let is_drive = |path: &str| matches!(path.as_bytes(), [drive, b':', ..] if drive.is_ascii_alphabetic());
    let is_mounted = matches!(path.as_bytes(), [b'/', drive, b'/', ..] if drive.is_ascii_alphabetic());
    let is_shared = path.starts_with("//?/") || path.starts_with("//./");
    let is_ours = is_drive(workspace) || path.get(..3) == workspace.get(..3);
    (!is_ours && (is_drive(&path) || is_mounted || is_shared))
        .then(|| Normal::Below(clean(path.trim_start_matches('/'))))
}
