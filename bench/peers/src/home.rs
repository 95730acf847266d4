//! The directories of a user. Hooks run in them as if an agent had started them, and hookhost has one allowed plugin.

use crate::call::Call;
use crate::verdict::Verdict;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;

/// The hook program's arguments: the agent and the hook point.
const ABOUT: [&str; 2] = ["claude-code", "PreToolUse"];

pub(crate) struct Home {
    directory: tempfile::TempDir,
    hookhost: PathBuf,
    hook: PathBuf,
}

impl Home {
    /// Creates a home that has both programs in one directory, as after an installation, and allows this plugin.
    pub(crate) fn new(hookhost: &Path, hook: &Path, plugin: &Path) -> Result<Self, String> {
        let directory = tempfile::tempdir().map_err(|error| format!("no directory for a user: {error}"))?;
        let copied = |program: &Path, name: &str| {
            let file = directory.path().join(name);
            std::fs::copy(program, &file).map_err(|error| format!("cannot copy {}: {error}", program.display()))?;
            Ok::<_, String>(file)
        };
        let (hookhost, hook) = (copied(hookhost, "hookhost")?, copied(hook, "hookhost-hook")?);
        std::fs::create_dir(directory.path().join("project")).map_err(|error| format!("no project: {error}"))?;
        let home = Self { directory, hookhost, hook };
        // Agents usually work in a repository, and some guards look for it. If git is not installed, there is no repository.
        let _ = home.command("git".as_ref()).args(["init", "--quiet"]).status();
        home.done(home.command(home.hookhost.as_os_str()).args(["allow", "--yes"]).arg(plugin))?;
        Ok(home)
    }

    /// The directory in which the agent works.
    fn project(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    /// Returns a command that runs in the project. From the user's own environment, it gets only the `PATH`.
    pub(crate) fn command(&self, program: &OsStr) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.directory.path()).env("LANG", "C.UTF-8").current_dir(self.project());
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command
    }

    fn done(&self, command: &mut Command) -> Result<(), String> {
        let Output { status, stderr, .. } = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        if status.success() { Ok(()) } else { Err(format!("{command:?}: {}", String::from_utf8_lossy(&stderr).trim())) }
    }

    /// Returns the command that agents start for every event.
    pub(crate) fn hook(&self) -> Vec<OsString> {
        words(&self.hook, &ABOUT)
    }

    /// Runs a hook for a call, waits until the hook ends, and returns its verdict.
    pub(crate) fn ask(&self, hook: &[OsString], call: &Call) -> Verdict {
        let Some((program, arguments)) = hook.split_first() else { return Verdict::Failure("has no program".into()) };
        let mut command = self.command(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = match command.spawn() {
            Ok(process) => process,
            Err(error) => return Verdict::Failure(format!("does not start: {error}")),
        };
        if let Some(mut stdin) = process.stdin.take() {
            // A hook may end without reading the message.
            let _ = stdin.write_all(call.message(&self.project()).as_bytes());
        }
        match process.wait_with_output() {
            Ok(Output { status, stdout, .. }) => Verdict::of(status.code(), &String::from_utf8_lossy(&stdout)),
            Err(error) => Verdict::Failure(format!("cannot be read: {error}")),
        }
    }

    /// Starts the resident host.
    pub(crate) fn serve(&self) -> Result<ResidentHost<'_>, String> {
        let mut command = self.command(self.hookhost.as_os_str());
        let mut process = command
            .arg("serve")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the resident host does not start: {error}"))?;
        let lines = process.stderr.take().map(|stderr| BufReader::new(stderr).lines().map_while(Result::ok));
        let mut resident = ResidentHost { home: self, process };
        let mut lines = lines.ok_or("the resident host says nothing")?;
        let address = lines.find_map(|line| line.strip_prefix("hookhost serves at ").map(PathBuf::from));
        let socket = address.ok_or("the resident host ended at once")?;
        thread::spawn(move || lines.for_each(drop));
        // The host prints its address before it creates the socket.
        while !socket.exists() {
            if !matches!(resident.process.try_wait(), Ok(None)) {
                return Err("the resident host ended at once".to_owned());
            }
            thread::yield_now();
        }
        Ok(resident)
    }

    /// Ends the resident host that a hook is starting.
    pub(crate) fn stop(&self) {
        let stop = || {
            let mut stop = self.command(self.hookhost.as_os_str());
            stop.args(["serve", "--stop"]).stdout(Stdio::null()).stderr(Stdio::null()).status()
        };
        // The host may still be starting and have no socket yet.
        while stop().is_ok_and(|status| !status.success()) {
            thread::yield_now();
        }
    }
}

/// A running resident host. It ends when this value is dropped.
pub(crate) struct ResidentHost<'a> {
    home: &'a Home,
    process: Child,
}

impl Drop for ResidentHost<'_> {
    fn drop(&mut self) {
        if self.process.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.home.stop();
        }
        let _ = self.process.wait();
    }
}

/// Returns a program and its arguments.
pub(crate) fn words(program: &Path, arguments: &[&str]) -> Vec<OsString> {
    std::iter::once(program.into()).chain(arguments.iter().map(Into::into)).collect()
}
