//! Obtains the hooks that are compared. Interpreters are not installed; the interpreters of this machine are used. Each guard is installed
//! in a fixed version, from its registry or from its sources. Installed guards are kept for the next run.

use crate::home::words;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of `safe-chains`, a crate.
const SAFE_CHAINS: &str = "0.241.2";

/// The version of nah in Python, a package of PyPI.
const NAH_IN_PYTHON: &str = "0.11.0";

/// The version of nah in Rust, and its commit. This program is published only as source code.
const NAH: [&str; 2] = ["1.3.1", "04ef756b34f5aeb745ac301c23799936f9f62569"];

/// The repository with the sources of nah.
const NAH_SOURCES: &str = "https://github.com/manuelschipper/nah";

/// The variable that names a local clone of [`NAH_SOURCES`].
const NAH_CLONE: &str = "HOOKHOST_NAH";

/// Maximum length of a printed reason, in characters.
const MAX_REASON: usize = 160;

/// A hook of the comparison.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) version: String,
    pub(crate) command: Result<Vec<OsString>, String>,
    /// True if the hook has exactly the measured rule. Such a hook must answer like hookhost.
    pub(crate) has_our_rule: bool,
    /// True if the hook records its decisions in its default installation.
    pub(crate) logs: bool,
}

/// Returns all hooks. They are installed below this directory.
pub(crate) fn peers(directory: &Path) -> Vec<Peer> {
    let script = |name, program, arguments: &[&str], file: &str, needs: Option<&str>| {
        let found = needs.map_or(Ok(()), is_there).and_then(|()| interpreter(program, arguments));
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks").join(file);
        let (command, version) = match found {
            Ok((program, version)) => (Ok(vec![program.into_os_string(), file.into_os_string()]), version),
            Err(why) => (Err(why), String::new()),
        };
        Peer { name, version, command, has_our_rule: true, logs: false }
    };
    let bash = ["-c", "echo \"$BASH\"; echo \"$BASH_VERSION\""];
    let python = ["-c", "import sys; print(sys.executable); print(sys.version.split()[0])"];
    let node = ["-p", "process.execPath + '\\n' + process.versions.node"];
    vec![
        script("a `bash` script", "bash", &bash, "guard.sh", None),
        script("a `bash` script with `jq`", "bash", &bash, "guard-jq.sh", Some("jq")),
        script("a `python3` hook", "python3", &python, "guard.py", None),
        script("a `node` hook", "node", &node, "guard.mjs", None),
        guard("`safe-chains`", SAFE_CHAINS, false, safe_chains(directory)),
        guard("`nah`, in Rust", NAH[0], true, nah(directory)),
        guard("`nah`, in Python", NAH_IN_PYTHON, true, nah_in_python(directory)),
    ]
}

fn guard(name: &'static str, version: &str, logs: bool, command: Result<Vec<OsString>, String>) -> Peer {
    Peer { name, version: version.to_owned(), command, has_our_rule: false, logs }
}

/// Returns the path and the version of an interpreter. The interpreter is asked for its path, because the program on
/// the `PATH` may be a script that first searches for the real one.
fn interpreter(program: &str, arguments: &[&str]) -> Result<(PathBuf, String), String> {
    let said = output(Command::new(program).args(arguments), program)?;
    match said.lines().collect::<Vec<_>>().as_slice() {
        [path, version] if Path::new(path).is_absolute() => Ok((path.into(), (*version).to_owned())),
        _ => Err(format!("{program} does not say where it is")),
    }
}

fn is_there(program: &str) -> Result<(), String> {
    output(Command::new(program).arg("--version"), program).map(|_| ())
}

fn safe_chains(directory: &Path) -> Result<Vec<OsString>, String> {
    let root = directory.join(format!("safe-chains-{SAFE_CHAINS}"));
    let version = format!("={SAFE_CHAINS}");
    let program = compiled(&root, "safe-chains", &["safe-chains", "--version", &version])?;
    // Without arguments, the program is the hook of Claude Code, as `safe-chains --setup` configures it.
    Ok(words(&program, &[]))
}

fn nah(directory: &Path) -> Result<Vec<OsString>, String> {
    let [version, commit] = NAH;
    let sources = match std::env::var(NAH_CLONE) {
        Ok(clone) if Path::new(&clone).is_absolute() => format!("file://{clone}"),
        Ok(clone) if !clone.is_empty() => return Err(format!("{NAH_CLONE} is no absolute path: {clone}")),
        _ => NAH_SOURCES.to_owned(),
    };
    let words_of_cargo = ["nah-cli", "--git", &sources, "--rev", commit];
    let program = compiled(&directory.join(format!("nah-{version}")), "nah", &words_of_cargo);
    let program = program.map_err(|why| format!("{why}; {NAH_CLONE} can name a clone of {NAH_SOURCES}"))?;
    Ok(words(&program, &["hook", "claude", "run"]))
}

/// Compiles a program with `cargo install`, unless it is installed.
fn compiled(root: &Path, program: &str, what: &[&str]) -> Result<PathBuf, String> {
    let file = root.join("bin").join(program);
    if !file.is_file() {
        println!("==> compiling {program}");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut install = Command::new(cargo);
        install.arg("install").args(what).args(["--locked", "--root"]).arg(root);
        // The build directory is not needed afterwards.
        let built = root.join("target");
        output(install.arg("--target-dir").arg(&built), "cargo")?;
        let _ = std::fs::remove_dir_all(built);
    }
    if file.is_file() { Ok(file) } else { Err(format!("cargo installs no {program}")) }
}

fn nah_in_python(directory: &Path) -> Result<Vec<OsString>, String> {
    let root = directory.join(format!("nah-in-python-{NAH_IN_PYTHON}"));
    let file = root.join("bin/nah");
    if !file.is_file() {
        println!("==> installing nah with pip");
        output(Command::new("python3").args(["-m", "venv"]).arg(&root), "python3")?;
        let package = format!("nah=={NAH_IN_PYTHON}");
        let mut install = Command::new(root.join("bin/pip"));
        output(install.args(["install", "--quiet", "--no-input", "--disable-pip-version-check", &package]), "pip")?;
    }
    Ok(words(&file, &["_claude-hook"]))
}

/// Returns a program's output, or the reason of its failure in one line.
fn output(command: &mut Command, program: &str) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{program} is not there: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{program} fails: {}", reason(&String::from_utf8_lossy(&output.stderr))))
}

/// Returns the line that most likely contains the reason. Bars are replaced, because a bar would end the cell of the table.
fn reason(said: &str) -> String {
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_error = |line: &&str| line.to_ascii_lowercase().starts_with("error");
    let line = lines().find(is_error).or_else(|| lines().last()).unwrap_or("it does not say why");
    line.chars().map(|c| if c == '|' { '/' } else { c }).take(MAX_REASON).collect()
}
