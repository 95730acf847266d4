//! Finds installed agents by their programs on the `PATH` and by their directories.

use crate::plan::{Context, Scope};
use crate::{Adapter, all};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Directories in a home directory that many programs share. If the path of an agent's file leads through a shared directory, the
/// first directory below the shared directory belongs to the agent.
const SHARED: &[&str] = &[
    ".agents",
    ".agents/plugins",
    ".config",
    ".local",
    ".local/share",
    "AppData",
    "AppData/Local",
    "AppData/Roaming",
    "Documents",
    "Library",
    "Library/Application Support",
];

/// Traces of an installed agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentTraces {
    /// Path of the agent's program.
    pub program: Option<PathBuf>,
    /// The agent's directories in the user's home.
    pub directories: Vec<PathBuf>,
}

impl AgentTraces {
    /// Returns true if any trace was found.
    pub fn any(&self) -> bool {
        self.program.is_some() || !self.directories.is_empty()
    }
}

/// Splits `path` into the directories in which programs are searched, and the directories that are left out. Relative
/// directories are left out because they depend on the working directory. Directories in the project are left out
/// because hookhost runs no program from a repository. If the project contains the user's home directory, the project
/// belongs to the user, so its directories are searched.
pub fn searched(path: &OsStr, project: &Path, home: &Path) -> (OsString, Vec<PathBuf>) {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (project, home) = (real(project), real(home));
    let is_of_project = |directory: &PathBuf| !home.starts_with(&project) && real(directory).starts_with(&project);
    let (left_out, searched): (Vec<PathBuf>, Vec<PathBuf>) =
        std::env::split_paths(path).partition(|directory| !directory.is_absolute() || is_of_project(directory));
    // Joining cannot fail, because the parts come from splitting a `PATH`.
    (std::env::join_paths(searched).unwrap_or_default(), left_out)
}

/// Searches for an agent's programs in the directories of `path`. Also searches for the directories that contain the
/// agent's files for the user.
pub fn traces(adapter: &Adapter, context: &Context<'_>, path: &OsStr) -> AgentTraces {
    let program = adapter.agent().programs.iter().find_map(|name| on_path(name, path));
    let plan = adapter.install(&Context { scope: Scope::User, ..*context });
    let mut directories: Vec<PathBuf> = Vec::new();
    for file in plan.iter().flat_map(|plan| &plan.files) {
        if let Some(directory) = own_directory(file.path(), context.home, &of_others(adapter, context))
            && directory.is_dir()
            && !directories.contains(&directory)
        {
            directories.push(directory);
        }
    }
    AgentTraces { program, directories }
}

/// Returns the first executable program of this name in the directories of `path`.
pub fn on_path(name: &str, path: &OsStr) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    // A relative directory depends on the working directory.
    let directories = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    directories.map(|directory| directory.join(&name)).find(|file| is_executable(file))
}

/// Returns true if the file exists and is executable.
pub fn is_executable(file: &Path) -> bool {
    let Ok(metadata) = file.metadata() else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
    }
    #[cfg(not(unix))]
    metadata.is_file()
}

/// Returns the first directory on the file's path, below the home directory, that belongs to the agent alone. For a
/// file outside of the home directory, returns the file's directory.
fn own_directory(file: &Path, home: &Path, others: &[PathBuf]) -> Option<PathBuf> {
    let Ok(below) = file.strip_prefix(home) else { return file.parent().map(Path::to_owned) };
    let mut directory = PathBuf::new();
    let mut parts = below.components().peekable();
    while let Some(part) = parts.next() {
        // The last part is the file and not a directory.
        parts.peek()?;
        directory.push(part);
        let whole = home.join(&directory);
        if !SHARED.iter().any(|shared| directory == Path::new(shared)) && !others.contains(&whole) {
            return Some(whole);
        }
    }
    None
}

/// Returns the directories with files of other agents. These directories are not a trace of this agent.
fn of_others(adapter: &Adapter, context: &Context<'_>) -> Vec<PathBuf> {
    let others = all().iter().filter(|other| other.agent().programs != adapter.agent().programs);
    let plans = others.filter_map(|other| other.install(&Context { scope: Scope::User, ..*context }).ok());
    let files = plans.flat_map(|plan| plan.files);
    files.filter_map(|file| file.path().parent().map(Path::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::{own_directory, searched};
    use std::ffi::OsStr;
    use std::path::{Path, PathBuf};

    #[test]
    fn no_program_of_the_project_or_of_the_working_directory_is_looked_for() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for directory in ["home/bin", "home/project/bin"] {
            std::fs::create_dir_all(path(directory)).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(path("home/project/bin"), path("link")).unwrap();
        let names = ["home/bin", "home/project/bin", "link"].map(path);
        let joined = std::env::join_paths(names.iter().map(PathBuf::as_path).chain([Path::new("."), Path::new("")]));
        let of = |project: &str| searched(joined.as_deref().unwrap(), &path(project), &path("home"));
        let (found, left_out) = of("home/project");
        assert_eq!(found, names[0].as_os_str());
        assert_eq!(left_out, [&names[1], &names[2], &PathBuf::from("."), &PathBuf::new()].map(PathBuf::clone));
        assert_eq!(of("home").1, [PathBuf::from("."), PathBuf::new()], "what is the user's own is no project's");
        assert_eq!(searched(OsStr::new("bin"), &path("home"), &path("home")).0, "");
    }

    #[test]
    fn the_directory_of_an_agent_is_the_first_that_is_not_shared() {
        for (file, directory) in [
            ("/home/a/.claude/settings.json", Some("/home/a/.claude")),
            ("/home/a/.config/opencode/plugin/x.js", Some("/home/a/.config/opencode")),
            ("/home/a/.other/config/hooks.json", Some("/home/a/.other/config")),
            ("/home/a/.other/file.json", None),
            ("/home/a/.config/file.json", None),
            ("/home/a/.file.json", None),
            ("/opt/claude/settings.json", Some("/opt/claude")),
        ] {
            assert_eq!(
                own_directory(Path::new(file), Path::new("/home/a"), &["/home/a/.other".into()]).as_deref(),
                directory.map(Path::new),
                "{file}"
            );
        }
    }
}
