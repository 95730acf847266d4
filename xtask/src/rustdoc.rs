//! rustdoc's JSON of the crates that others depend on. The JSON is unstable, and stable rustdoc writes it when
//! `RUSTC_BOOTSTRAP` is set. Cargo must not see that variable, or it compiles every dependency again: so this
//! program stands between cargo and rustdoc, and sets it for rustdoc alone.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::{SystemTime, UNIX_EPOCH},
};

use crate::{
    Outcome,
    workspace::{Workspace, run},
};

/// A library that others depend on.
pub(crate) struct Library {
    pub(crate) package: &'static str,
    pub(crate) directory: &'static str,
}

pub(crate) const LIBRARIES: [Library; 3] = [
    Library { package: "hookhost", directory: "host/engine" },
    Library { package: "hookhost-contract", directory: "host/contract" },
    Library { package: "hookhost-guest", directory: "guest-sdk" },
];

impl Library {
    fn crate_name(&self) -> String {
        self.package.replace('-', "_")
    }

    /// Its file in a directory of [`write`].
    pub(crate) fn json(&self, directory: &Path) -> PathBuf {
        directory.join(self.crate_name()).with_extension("json")
    }
}

/// Where the JSON goes: set, this program is called as rustdoc.
const DIRECTORY: &str = "HOOKHOST_XTASK_RUSTDOC_JSON";

/// The rustdoc that is called in the end.
const RUSTDOC: &str = "HOOKHOST_XTASK_RUSTDOC";

/// Writes the JSON of the libraries in the workspace `root` to `directory`, with the features, and so the compiled
/// dependencies, of the documentation.
pub(crate) fn write(workspace: &Workspace, root: &Path, directory: &Path) -> Outcome {
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", directory.display());
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => fs::create_dir_all(directory).map_err(failed)?,
    }
    let program = env::current_exe().map_err(|error| format!("cannot find xtask itself: {error}"))?;
    let rustdoc = env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into());
    // Cargo does not know what is written here: other flags each time have it call rustdoc each time.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let mut cargo = workspace.cargo(&["doc", "--workspace", "--no-deps", "--lib", "--quiet"]);
    cargo.current_dir(root).env("RUSTDOC", program).env(RUSTDOC, rustdoc).env(DIRECTORY, directory);
    cargo.env("RUSTDOCFLAGS", format!("--cfg public_items=\"{now}\""));
    run("describing the libraries' public items", &mut cargo)
}

/// What is to be done where cargo has called this program as rustdoc.
pub(crate) fn called_as_rustdoc() -> Option<ExitCode> {
    let directory = env::var_os(DIRECTORY)?;
    let given: Vec<OsString> = env::args_os().skip(1).collect();
    let mut rustdoc = Command::new(env::var_os(RUSTDOC).unwrap_or_else(|| "rustdoc".into()));
    rustdoc.env_remove(DIRECTORY);
    match arguments(&given, &directory) {
        // Another member of the workspace: nothing is written about it.
        Wanted::Nothing => return Some(ExitCode::SUCCESS),
        Wanted::AsGiven => rustdoc.args(given),
        Wanted::Json(arguments) => rustdoc.args(arguments).env("RUSTC_BOOTSTRAP", "1"),
    };
    Some(match rustdoc.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cannot start rustdoc: {error}");
            ExitCode::FAILURE
        }
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Nothing,
    /// A question such as `--version`.
    AsGiven,
    Json(Vec<OsString>),
}

/// The arguments with which rustdoc writes JSON to `directory` instead of the pages that cargo asked for.
fn arguments(given: &[OsString], directory: &OsStr) -> Wanted {
    let Some(at) = given.iter().position(|argument| argument == "--crate-name") else { return Wanted::AsGiven };
    if !LIBRARIES.iter().any(|library| given.get(at + 1).is_some_and(|name| *name == *library.crate_name())) {
        return Wanted::Nothing;
    }
    let mut arguments = given.to_vec();
    // rustdoc takes one output directory.
    if let Some(at) = given.iter().position(|argument| argument == "-o" || argument == "--out-dir") {
        arguments.drain(at..(at + 2).min(given.len()));
    }
    let ours = ["-Z", "unstable-options", "--output-format", "json", "-o"].map(OsString::from);
    arguments.extend(ours.into_iter().chain([directory.to_owned()]));
    Wanted::Json(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(line: &str) -> Wanted {
        arguments(&line.split(' ').map(OsString::from).collect::<Vec<_>>(), OsStr::new("json"))
    }

    #[test]
    fn rustdoc_writes_json_of_a_library_and_no_page() {
        let ours = wanted("--crate-name hookhost_guest src/lib.rs -o target/doc --cfg x");
        let line = "--crate-name hookhost_guest src/lib.rs --cfg x -Z unstable-options --output-format json -o json";
        assert_eq!(ours, Wanted::Json(line.split(' ').map(OsString::from).collect()));
        assert_eq!(wanted("--crate-name hookhost_agent src/lib.rs -o target/doc"), Wanted::Nothing);
        assert_eq!(wanted("--version"), Wanted::AsGiven);
    }
}
