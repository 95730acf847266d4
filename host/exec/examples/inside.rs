//! Runs a program inside, for tests and measurements: `inside PLAN -- PROGRAM ARGUMENT…`.
//!
//! Each line of the file PLAN is a treatment and a path, such as `read-only /home/me/.bashrc`. `kept PATH` names a
//! socket that stays, `quarantine PATH` the quarantine, `absent PATH` a path at which nothing may appear, and
//! `restored KEY,… PATH` a file of which keys are restored. `network none` and `network HOST,…` limit the network. This
//! program is its own helper.

use hookhost_exec::policy::{Absent, FileFormat, NetworkAccess, RestoredFile};
use hookhost_exec::{ExecError, Guard, MountPlan, Settings, Treatment, WatchList, helper_exit, run};
use std::error::Error;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(exit) = helper_exit() {
        return exit;
    }
    start().unwrap_or_else(|error| {
        eprintln!("inside: {error}");
        ExitCode::from(error.downcast_ref::<ExecError>().map_or(125, ExecError::exit_code))
    })
}

fn start() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let plan = PathBuf::from(arguments.next().ok_or("name a plan")?);
    let command: Vec<OsString> = arguments.skip(1).collect();
    let mut guards = Vec::new();
    let mut kept = Vec::new();
    let mut watch = WatchList::default();
    let mut network = NetworkAccess::All;
    for line in std::fs::read_to_string(plan)?.lines() {
        let (treatment, path) = line.split_once(' ').ok_or("a line needs a treatment and a path")?;
        let treatment = match treatment {
            "read-only" => Treatment::ReadOnly,
            "hidden" => Treatment::Hidden,
            "masked" => Treatment::Masked,
            "writable" => Treatment::Writable,
            "kept" => {
                kept.push(PathBuf::from(path));
                continue;
            }
            "quarantine" => {
                watch.quarantine = PathBuf::from(path);
                continue;
            }
            "absent" => {
                let (path, treatment) = (PathBuf::from(path), Treatment::ReadOnly);
                watch.absent.push(Absent { path, treatment, reason: String::new() });
                continue;
            }
            "restored" => {
                watch.restored.push(restored(path).ok_or("restored needs keys and a path")?);
                continue;
            }
            "network" => {
                let hosts = || NetworkAccess::Hosts(path.split(',').map(str::to_owned).collect());
                network = if path == "none" { NetworkAccess::None } else { hosts() };
                continue;
            }
            other => return Err(format!("{other} is no treatment").into()),
        };
        guards.push(Guard { path: PathBuf::from(path), treatment, reason: String::new() });
    }
    let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    let plan = MountPlan::new(&guards, &std::env::current_dir()?, Path::new(&home))?;
    // One write, so that what the program prints at the same time cannot part a line.
    let mut notify = |notice: &_| _ = std::io::stderr().write_all(format!("inside: {notice}\n").as_bytes());
    let helper = std::env::current_exe()?;
    let mut settings = Settings::new(&helper, &mut notify);
    settings.kept = &kept;
    settings.watch = watch;
    settings.network = network;
    Ok(run(&plan, &command, &mut settings)?)
}

/// Reads keys and a path.
fn restored(line: &str) -> Option<RestoredFile> {
    let (keys, path) = line.split_once(' ')?;
    let keys = keys.split(',').map(str::to_owned).collect();
    let path = PathBuf::from(path);
    let format = match path.extension().and_then(|end| end.to_str()) {
        Some("toml") => FileFormat::Toml,
        Some("json") => FileFormat::Json,
        _ => FileFormat::GitConfig,
    };
    Some(RestoredFile { exists: path.exists(), path, format, keys, reason: String::new() })
}
