//! Which agents are here: by their programs on the `PATH`, and by their directories.

use hookhost_adapters::Adapter;
use hookhost_adapters::install::{Context, Scope};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Directories of a home that many programs share: below them the next part of a path is the agent's own.
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

/// What of an agent is here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traces {
    /// Its program.
    pub program: Option<PathBuf>,
    /// Its directories in the user's home.
    pub directories: Vec<PathBuf>,
}

impl Traces {
    /// Whether there is anything.
    #[must_use]
    pub fn any(&self) -> bool {
        self.program.is_some() || !self.directories.is_empty()
    }
}

/// Looks for an agent: for its programs in the directories of `path`, and for the directories in which its files of the user
/// are.
#[must_use]
pub fn traces(adapter: &dyn Adapter, context: &Context<'_>, path: &OsStr) -> Traces {
    let program = adapter.agent().programs.iter().find_map(|name| on_path(name, path));
    let plan = adapter.install(&Context { scope: Scope::User, ..*context });
    let mut directories: Vec<PathBuf> = Vec::new();
    for file in plan.iter().flat_map(|plan| &plan.files) {
        if let Some(directory) = own_directory(file.path(), context.home)
            && directory.is_dir()
            && !directories.contains(&directory)
        {
            directories.push(directory);
        }
    }
    Traces { program, directories }
}

/// The program of this name in the directories of `path`, the first that can be run.
#[must_use]
pub fn on_path(name: &str, path: &OsStr) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    // A relative directory would be another one in each working directory.
    let directories = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    directories.map(|directory| directory.join(&name)).find(|file| is_executable(file))
}

/// Whether a file is there and can be run.
#[must_use]
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

/// The directory below the home that is the agent's own and not shared by many programs; of a file elsewhere the one that it is
/// in.
fn own_directory(file: &Path, home: &Path) -> Option<PathBuf> {
    let Ok(below) = file.strip_prefix(home) else { return file.parent().map(Path::to_owned) };
    let mut directory = PathBuf::new();
    let mut parts = below.components().peekable();
    while let Some(part) = parts.next() {
        // The last part is the file.
        parts.peek()?;
        directory.push(part);
        if !SHARED.iter().any(|shared| directory == Path::new(shared)) {
            return Some(home.join(directory));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::own_directory;
    use std::path::Path;

    #[test]
    fn the_directory_of_an_agent_is_the_first_that_is_not_shared() {
        for (file, directory) in [
            ("/home/a/.claude/settings.json", Some("/home/a/.claude")),
            ("/home/a/.config/opencode/plugin/x.js", Some("/home/a/.config/opencode")),
            ("/home/a/.config/file.json", None),
            ("/home/a/.file.json", None),
            ("/opt/claude/settings.json", Some("/opt/claude")),
        ] {
            assert_eq!(
                own_directory(Path::new(file), Path::new("/home/a")).as_deref(),
                directory.map(Path::new),
                "{file}"
            );
        }
    }
}
