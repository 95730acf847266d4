//! Checks the hook programs that an agent's files name, and the program that the hook starts. All of these programs
//! must exist, and other users must not be able to write to them.

use super::InstalledHook;
use crate::Agent;
use crate::install::check::Check;
use crate::install::find::{is_executable, on_path};
use crate::plan::{PROGRAM, Scope};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Name of the program that the hook starts.
const HOST_PROGRAM: &str = "hookhost";

/// Returns a check for each program that the files name. `path` is the value of `PATH` with which programs are found.
pub(super) fn checks(agent: &Agent, installed: &[InstalledHook], path: &OsStr) -> Vec<Check> {
    let mut programs: Vec<(Scope, PathBuf)> = Vec::new();
    for installed in installed {
        for command in &installed.commands {
            if let Some(program) = command.program()
                && !programs.iter().any(|(_, known)| *known == program)
            {
                programs.push((installed.scope, program));
            }
        }
    }
    let mut checks: Vec<Check> = programs.iter().map(|(scope, program)| check(agent, *scope, program, path)).collect();
    // Two files can name the same program in different ways.
    checks.dedup();
    checks
}

fn check(agent: &Agent, scope: Scope, program: &Path, path: &OsStr) -> Check {
    let install = format!("hookhost install {}{}", agent.name, scope.flag());
    let found;
    let program = if scope == Scope::Project && program == Path::new(PROGRAM) {
        let Some(on_path) = on_path(PROGRAM, path) else {
            let says = format!(
                "this project's files start `{PROGRAM}`, and no such program is on the PATH, so {} cannot run its hook",
                agent.title
            );
            return Check::problem("program", says, "put the directory of hookhost on the PATH");
        };
        found = on_path;
        &found
    } else {
        program
    };
    if !program.is_absolute() {
        let says = format!(
            "the files name the program {} without its place, so anyone who changes the PATH chooses it",
            program.display()
        );
        return Check::problem("program", says, install);
    }
    let needed = program.with_file_name(HOST_PROGRAM);
    let problem = problem(program, &install).or_else(|| problem(&needed, "install hookhost again"));
    if let Some(problem) = problem {
        return problem;
    }
    let says = format!("{} exists with the programs that it starts, and nobody else can write them", program.display());
    Check::ok("program", says)
}

/// Returns a problem if a program cannot be trusted. `missing` is the next step if the program does not exist.
fn problem(program: &Path, missing: &str) -> Option<Check> {
    let shown = program.display();
    if !program.exists() {
        return Some(Check::problem("program", format!("the program {shown} is not there"), missing));
    }
    if !is_executable(program) {
        let says = format!("the program {shown} cannot be executed");
        return Some(Check::problem("program", says, format!("chmod +x {shown}")));
    }
    problem_of_others(program)
}

fn problem_of_others(program: &Path) -> Option<Check> {
    let (path, why) = writable_by_others(program)?;
    let says = format!("{} {why}, and it decides what the agent may do", path.display());
    Some(Check::problem("program", says, format!("chmod go-w {}", path.display())))
}

/// Checks the file and the directories above it. Returns the first of these paths to which other users can write, with
/// the reason.
#[cfg(unix)]
fn writable_by_others(program: &Path) -> Option<(PathBuf, String)> {
    use std::os::unix::fs::MetadataExt as _;
    const STICKY: u32 = 0o1000;
    let me = rustix::process::geteuid().as_raw();
    let real = program.canonicalize().ok()?;
    let directories = real.ancestors().skip(1).map(|directory| (directory.to_owned(), true));
    std::iter::once((real.clone(), false)).chain(directories).find_map(|(path, is_directory)| {
        let metadata = path.metadata().ok()?;
        if metadata.uid() != me && metadata.uid() != 0 {
            return Some((path, format!("belongs to another user (uid {})", metadata.uid())));
        }
        let mode = metadata.mode();
        let is_shared = is_directory && mode & STICKY != 0;
        // A group whose id is equal to the user's id usually contains only that user.
        let by_group = mode & 0o020 != 0 && metadata.gid() != 0 && metadata.gid() != metadata.uid();
        let by_others = mode & 0o002 != 0;
        (!is_shared && (by_group || by_others))
            .then(|| (path, format!("can be written by other users (mode {:o})", mode & 0o7777)))
    })
}

#[cfg(not(unix))]
fn writable_by_others(_: &Path) -> Option<(PathBuf, String)> {
    None
}
