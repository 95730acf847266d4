//! Writes rustdoc's JSON of the public libraries. The JSON is unstable, and stable rustdoc writes it only if `RUSTC_BOOTSTRAP` is set.
//! Cargo must not see that variable, or it compiles every dependency again. So cargo calls this program as rustdoc, and this program
//! sets the variable for rustdoc alone.

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

    /// Returns the library's file in a directory of [`write`].
    pub(crate) fn json(&self, directory: &Path) -> PathBuf {
        directory.join(self.crate_name()).with_extension("json")
    }
}

/// The directory of the JSON. If it is set, this program is called as rustdoc.
const DIRECTORY: &str = "HOOKHOST_XTASK_RUSTDOC_JSON";

/// The real rustdoc.
const RUSTDOC: &str = "HOOKHOST_XTASK_RUSTDOC";

/// Writes the JSON of the libraries in the workspace `root` to `directory`, with the features of the documentation and thus its
/// compiled dependencies.
pub(crate) fn write(workspace: &Workspace, root: &Path, directory: &Path) -> Outcome {
    let is_other = root != workspace.root;
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", directory.display());
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => fs::create_dir_all(directory).map_err(failed)?,
    }
    let program = env::current_exe().map_err(|error| format!("cannot find xtask itself: {error}"))?;
    let rustdoc = env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into());
    // Cargo does not know these files. Flags that differ each time make it call rustdoc each time.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let mut cargo = workspace.cargo(&["doc", "--workspace", "--no-deps", "--lib", "--quiet"]);
    if is_other {
        // Only this distinguishes two copies of a workspace for cargo. Otherwise it would use the compiled files of the other copy.
        cargo.env("RUSTC_WORKSPACE_WRAPPER", &program);
    }
    cargo.current_dir(root).env("RUSTDOC", program).env(RUSTDOC, rustdoc).env(DIRECTORY, directory);
    cargo.env("RUSTDOCFLAGS", format!("--cfg public_items=\"{now}\""));
    run("describing the libraries' public items", &mut cargo)
}

/// Handles a call by cargo as rustdoc, or around rustc; `None` if this is no such call.
pub(crate) fn called_by_cargo() -> Option<ExitCode> {
    let directory = env::var_os(DIRECTORY)?;
    let given: Vec<OsString> = env::args_os().skip(1).collect();
    let mut program = match wanted(&given, &directory) {
        Wanted::Nothing => return Some(ExitCode::SUCCESS),
        Wanted::Rustc { program, arguments } => {
            let mut rustc = Command::new(program);
            rustc.args(arguments);
            rustc
        }
        Wanted::Rustdoc(arguments) => {
            let mut rustdoc = Command::new(env::var_os(RUSTDOC).unwrap_or_else(|| "rustdoc".into()));
            rustdoc.args(arguments);
            rustdoc
        }
        Wanted::Json(arguments) => {
            let mut rustdoc = Command::new(env::var_os(RUSTDOC).unwrap_or_else(|| "rustdoc".into()));
            rustdoc.args(arguments).env("RUSTC_BOOTSTRAP", "1");
            rustdoc
        }
    };
    Some(match program.env_remove(DIRECTORY).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cannot start {}: {error}", program.get_program().display());
            ExitCode::FAILURE
        }
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Wanted<'a> {
    /// A call about a member of the workspace that no one depends on.
    Nothing,
    /// A call of rustc, which stays unchanged.
    Rustc {
        program: &'a OsStr,
        arguments: &'a [OsString],
    },
    /// A question to rustdoc, such as `--version`.
    Rustdoc(&'a [OsString]),
    Json(Vec<OsString>),
}

/// Translates cargo's call so that rustdoc writes JSON to `directory` instead of pages.
fn wanted<'a>(given: &'a [OsString], directory: &OsStr) -> Wanted<'a> {
    if let [program, arguments @ ..] = given
        && !program.to_string_lossy().starts_with('-')
    {
        return Wanted::Rustc { program, arguments };
    }
    let Some(at) = given.iter().position(|argument| argument == "--crate-name") else { return Wanted::Rustdoc(given) };
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

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn rustdoc_writes_json_of_a_library_and_no_page() {
        let given = words("--edition=2024 --crate-name hookhost_guest src/lib.rs -o target/doc --cfg x");
        let json = "--edition=2024 --crate-name hookhost_guest src/lib.rs --cfg x -Z unstable-options --output-format json -o json";
        assert_eq!(wanted(&given, OsStr::new("json")), Wanted::Json(words(json)));
        let given = words("--edition=2024 --crate-name hookhost_agent src/lib.rs -o target/doc");
        assert_eq!(wanted(&given, OsStr::new("json")), Wanted::Nothing);
        let given = words("--version");
        assert_eq!(wanted(&given, OsStr::new("json")), Wanted::Rustdoc(&given));
    }

    #[test]
    fn rustc_is_asked_what_cargo_asks() {
        let given = words("/bin/rustc --crate-name hookhost src/lib.rs");
        let rustc = Wanted::Rustc { program: OsStr::new("/bin/rustc"), arguments: &given[1..] };
        assert_eq!(wanted(&given, OsStr::new("json")), rustc);
    }
}
