//! Compares hookhost with other guards that are in use, on the same machine and with the same call. The guards are hooks of Claude Code,
//! measured as complete processes, and policy engines within a program. `cargo run -p bench -- peers` builds this program and the guards,
//! and runs it: `peers DIRECTORY [PART]…`.
//!
//! The other guards are the subjects and hookhost is the reference, so a ratio above 1 means that hookhost takes less time. All scripts,
//! policies and plugins have the same rule, which each of them can express: no `git push --force`. If a script or a policy has a different
//! verdict than hookhost, the run ends with an error. A guard that has only its own rules is measured with whatever verdict it gives.

mod call;
mod engines;
mod event_server;
mod guards;
mod home;
mod obtain;
mod policies;
mod verdict;

use home::Home;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The parts that can be measured alone.
const PARTS: [&str; 2] = ["processes", "engines"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match measure(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("peers: {why}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &[String]) -> Result<(), String> {
    let [directory, parts @ ..] = arguments else { return Err("usage: peers DIRECTORY [PART]…".to_owned()) };
    if let Some(unknown) = parts.iter().find(|part| !PARTS.contains(&part.as_str())) {
        return Err(format!("there is no part {unknown:?}: there are {}", PARTS.join(" and ")));
    }
    let is_wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    if is_wanted("processes") {
        println!("==> hooks of Claude Code as whole processes; a ratio above 1: hookhost takes less");
        let (hookhost, hook) = (built("HOOKHOST_COMMAND")?, built("HOOKHOST_HOOK")?);
        let plugin = built("HOOKHOST_PLUGINS")?.join("no_force_push.wasm");
        let home = || Home::new(&hookhost, &hook, &plugin);
        guards::rows(Path::new(directory), &home()?, &home()?)?;
    }
    if is_wanted("engines") {
        println!("==> the same rule within a program, log off; a ratio above 1: hookhost takes less");
        engines::rows(&built("HOOKHOST_EVENT_SERVER")?)?;
    }
    Ok(())
}

/// Returns the path that `cargo run -p bench -- peers` has put into this environment variable.
fn built(variable: &str) -> Result<PathBuf, String> {
    let missing = || format!("{variable} is not set: run `cargo run -p bench -- peers`");
    std::env::var_os(variable).map(PathBuf::from).ok_or_else(missing)
}
