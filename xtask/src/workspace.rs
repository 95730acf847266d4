//! Finds the workspace and its target directory, and runs commands in it.

use std::{
    env,
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    process::Command,
};

use crate::Outcome;

/// The workspace, with a lock on its target directory. Until this value is dropped, no other developer's command uses the same target
/// directory, so the plugins and binaries there belong to this clone.
#[derive(Debug)]
pub struct Workspace {
    pub root: PathBuf,
    pub target: PathBuf,
    /// The root of the workspace in which xtask was called. If `root` differs from `main`, then `root` is the work tree of a commit to
    /// compare with, which shares the target directory.
    pub main: PathBuf,
    lock: File,
}

impl Workspace {
    /// Locks the workspace. If another command has locked it, waits until that command ends.
    ///
    /// # Errors
    /// If the target directory cannot be made or locked.
    pub fn lock() -> Outcome<Self> {
        // Read the directory from the environment at run time, because a different clone with the same target directory may have built this
        // program.
        let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&manifest).parent().unwrap_or(Path::new(".")).to_owned();
        let target = match env::var_os("CARGO_TARGET_DIR").filter(|directory| !directory.is_empty()) {
            Some(directory) => std::path::absolute(&directory).map_err(|error| format!("CARGO_TARGET_DIR: {error}"))?,
            None => root.join("target"),
        };
        fs::create_dir_all(&target).map_err(|error| format!("cannot make {}: {error}", target.display()))?;
        let lock = target.join(".xtask-lock");
        let file = File::create(&lock).map_err(|error| format!("cannot open {}: {error}", lock.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                say(&format!("waiting for another command to finish with {}", target.display()));
                file.lock().map_err(|error| format!("cannot lock {}: {error}", lock.display()))?;
            }
            Err(TryLockError::Error(error)) => return Err(format!("cannot lock {}: {error}", lock.display())),
        }
        Ok(Self { main: root.clone(), root, target, lock: file })
    }

    /// Lets other commands use the target directory while this program does long work that does not need the directory.
    pub fn unlock(&self) -> Outcome {
        self.lock.unlock().map_err(|error| format!("cannot unlock {}: {error}", self.target.display()))
    }

    /// Returns the workspace for the work tree of another commit. Both workspaces share the compiled dependencies.
    pub fn other(&self, root: PathBuf) -> Outcome<Self> {
        let lock = self.lock.try_clone().map_err(|error| format!("cannot lock {}: {error}", self.target.display()))?;
        Ok(Self { root, target: self.target.clone(), main: self.main.clone(), lock })
    }

    /// Returns a workspace for tests, which holds no lock.
    ///
    /// # Panics
    /// If the sources of this program do not exist.
    pub fn unlocked(root: &Path) -> Self {
        let lock = File::open(env!("CARGO_MANIFEST_PATH")).expect("a manifest");
        Self { root: root.into(), target: root.join("target"), main: root.into(), lock }
    }

    fn is_other(&self) -> bool {
        self.root != self.main
    }

    /// The directory for everything that is built from the commit to compare with.
    pub fn compared(&self) -> PathBuf {
        self.target.join("compare")
    }

    /// The work tree of the commit to compare with.
    pub fn compared_sources(&self) -> PathBuf {
        self.compared().join("sources")
    }

    /// The directory of the built plugins.
    pub fn plugins(&self) -> PathBuf {
        if self.is_other() { self.compared().join("plugins") } else { self.target.join("plugins") }
    }

    /// The directory of the plugins that the program `hookhost` contains. The build script of `host/cli` reads it.
    pub fn bundled_plugins(&self) -> PathBuf {
        if self.is_other() { self.compared().join("bundled-plugins") } else { self.target.join("bundled-plugins") }
    }

    /// The target directory of guests. The two work trees have separate target directories, because cargo gives a component the same file
    /// name in both. In a shared directory, a build in one work tree would overwrite the component of the other, so each build would have
    /// to link it again.
    pub fn target_of_guests(&self) -> PathBuf {
        if self.is_other() { self.compared().join("guests") } else { self.target.clone() }
    }

    /// Returns a command that calls cargo in the workspace, with the target directory of the workspace. It uses the cargo that started this
    /// program.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(arguments).current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target);
        for (name, _) in env::vars_os().filter(|(name, _)| is_about_own_package(&name.to_string_lossy())) {
            command.env_remove(name);
        }
        if self.is_other() {
            // This wrapper changes nothing, but because of it cargo distinguishes two copies of a workspace. Otherwise cargo would use the
            // files that were compiled from the other copy.
            command.env("RUSTC_WORKSPACE_WRAPPER", "env");
        }
        command
    }

    /// Shows a path, relative to the workspace if it is inside.
    pub fn show<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.root).unwrap_or(path).display()
    }
}

/// Returns true for the variables in which cargo describes this program's package. Build scripts read some of these variables. If they were
/// passed on, cargo would compile the packages of these build scripts again after each change between builds by this program and builds by
/// hand. Among these packages are TLS and the engine.
fn is_about_own_package(variable: &str) -> bool {
    variable.starts_with("CARGO_PKG_") || variable.starts_with("CARGO_MANIFEST_")
}

/// Tells the developer the next step.
pub fn say(what: &str) {
    println!("==> {what}");
}

/// Prints a description and runs the command, whose output is shown. Fails if the command fails.
pub fn run(what: &str, command: &mut Command) -> Outcome {
    say(what);
    let status = command.status().map_err(|error| format!("cannot start {}: {error}", spelt(command)))?;
    if status.success() { Ok(()) } else { Err(format!("failed: {} ({status})", spelt(command))) }
}

/// Runs the command, and returns its standard output without the last line end.
pub fn output(command: &mut Command) -> Outcome<String> {
    let output = command.output().map_err(|error| format!("cannot start {}: {error}", spelt(command)))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("failed: {} ({}): {}", spelt(command), output.status, why.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// Returns the command as a person would type it.
pub fn spelt(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args()).map(|word| quoted(&word.to_string_lossy()));
    words.collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/\\.:_-=".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cargo_that_xtask_runs_is_told_nothing_of_the_package_xtask() {
        let cargo = Workspace::unlocked("root".as_ref()).cargo(&["build"]);
        let removed: Vec<_> = cargo.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        // Cargo sets these variables for this test, as it does for xtask.
        for name in ["CARGO_PKG_NAME", "CARGO_PKG_VERSION_MAJOR", "CARGO_MANIFEST_DIR"] {
            assert!(removed.iter().any(|removed| *removed == name), "{name} is left: {removed:?}");
        }
        assert!(!removed.iter().any(|removed| *removed == "CARGO_HOME" || *removed == "CARGO_TARGET_DIR"));
    }

    #[test]
    fn the_work_tree_of_another_commit_is_compiled_apart() {
        let workspace = Workspace::unlocked("root".as_ref());
        let other = workspace.other(workspace.compared_sources()).unwrap();
        let wrapper = |workspace: &Workspace| {
            let cargo = workspace.cargo(&["build"]);
            cargo.get_envs().any(|(name, value)| name == "RUSTC_WORKSPACE_WRAPPER" && value.is_some())
        };
        assert!(!wrapper(&workspace) && wrapper(&other));
        assert_ne!(workspace.plugins(), other.plugins());
        assert_ne!(workspace.target_of_guests(), other.target_of_guests());
        assert_eq!(workspace.target_of_guests(), workspace.target);
    }
}
