//! The directories of a user, and what is in them.

use hookhost_agents::directories::Directories;
use hookhost_conditions::glob::{Comparison, Glob};
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Maximum number of symbolic links on the way to a file, as in the kernel.
const MAX_LINKS: usize = 40;

/// The directories and programs that a policy is about. All paths are absolute.
#[derive(Clone)]
pub struct Places<'a> {
    /// The directory below which the files of the machine lie: `/`, except in tests.
    pub root: PathBuf,
    /// The user's home directory.
    pub home: PathBuf,
    /// Directory of the user's `hookhost.toml`.
    pub config: PathBuf,
    /// Directory of the log, of approvals and of the resident host's socket.
    pub state: PathBuf,
    /// Directory of compiled code.
    pub cache: PathBuf,
    /// The directory `XDG_RUNTIME_DIR`, which holds the sockets of the user's session.
    pub runtime: Option<PathBuf>,
    /// The root of the project.
    pub project: PathBuf,
    /// The working directory of the program.
    pub directory: PathBuf,
    /// Paths of hookhost's programs.
    pub programs: Vec<PathBuf>,
    /// Number of the user, for sockets with this number in their path.
    pub user: u32,
    /// Reads a variable of the environment, such as `CODEX_HOME`.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
}

impl<'a> Places<'a> {
    /// Returns the places that an environment sets. Returns `None` if it does not tell the home directory.
    pub fn of_environment(
        variable: &'a dyn Fn(&str) -> Option<OsString>,
        project: &Path,
        directory: &Path,
        programs: Vec<PathBuf>,
        user: u32,
    ) -> Option<Self> {
        let Directories { config, state, cache, home } = Directories::of_environment(variable);
        let runtime = variable("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
        let (home, root, project) = (home?, PathBuf::from("/"), project.to_owned());
        let directory = directory.to_owned();
        Some(Self {
            root,
            home,
            config: config?,
            state: state?,
            cache: cache?,
            runtime,
            project,
            directory,
            programs,
            user,
            variable,
        })
    }

    /// Returns a path of the machine.
    pub(crate) fn of_machine(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Returns the directories in which an agent looks for settings of a project: the root, and the working directory with those above it.
    pub(crate) fn of_project(&self) -> impl Iterator<Item = &Path> {
        let inner = self
            .directory
            .ancestors()
            .take_while(|directory| *directory != self.project && directory.starts_with(&self.project));
        let outer = (!self.directory.starts_with(&self.project)).then_some(self.directory.as_path());
        std::iter::once(self.project.as_path()).chain(inner).chain(outer)
    }

    /// Returns the absolute path that a variable of the environment contains.
    pub(crate) fn path_of(&self, variable: &str) -> Option<PathBuf> {
        (self.variable)(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// Returns the path that a user writes as `~/x`, as an absolute path, or as a path in the project.
    pub(crate) fn named(&self, path: &str) -> PathBuf {
        let path = path.trim_end_matches('/');
        let place = match path.strip_prefix("~/") {
            Some(rest) => self.home.join(rest.trim_start_matches('/')),
            None => self.project.join(path),
        };
        place.components().filter(|part| !matches!(part, Component::CurDir)).collect()
    }

    /// Returns a path as a person writes it, with `~` for the home directory.
    pub fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

impl fmt::Debug for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Places").field("home", &self.home).field("project", &self.project).finish_non_exhaustive()
    }
}

/// Returns true if the path has a wildcard.
pub(crate) fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '['])
}

/// Returns the existing paths that a pattern matches, sorted. A path without wildcards matches itself if it exists, also as a symbolic link
/// that leads nowhere.
pub(crate) fn matching(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let name = Path::new(&part);
        if !is_pattern(name) {
            found.iter_mut().for_each(|path| path.push(name));
            continue;
        }
        let Ok(glob) = Glob::new(&name.to_string_lossy()) else { return Vec::new() };
        let fits = |name: &OsString| glob.matches(&name.to_string_lossy(), Comparison::Path);
        let entries = |directory: PathBuf| fs::read_dir(directory).into_iter().flatten().flatten();
        // A directory can be called like a pattern, such as `[id]`.
        let is_named = |found: &OsString| found == name.as_os_str();
        let inside = |directory: PathBuf| {
            let names = entries(directory).map(|entry| (entry.file_name(), entry.path()));
            names.filter(|(found, _)| fits(found) || is_named(found)).map(|(_, path)| path)
        };
        found = found.into_iter().flat_map(inside).collect();
    }
    found.retain(|path| path.symlink_metadata().is_ok());
    found.sort();
    found
}

/// Returns the symbolic links on the way to a path that this user could replace, and the path without links.
pub(crate) fn links_to(path: &Path, may_replace: &dyn Fn(&Path) -> bool) -> (Vec<PathBuf>, PathBuf) {
    let mut links = Vec::new();
    let mut real = PathBuf::new();
    let mut rest: Vec<PathBuf> = path.components().rev().map(|part| Path::new(&part).to_owned()).collect();
    while let Some(part) = rest.pop() {
        if part == Path::new("..") {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        match fs::read_link(&next) {
            Ok(target) if links.len() < MAX_LINKS => {
                links.push(next);
                rest.extend(target.components().rev().map(|part| Path::new(&part).to_owned()));
            }
            _ => real = next,
        }
    }
    links.retain(|link| link.parent().is_some_and(may_replace));
    (links, real)
}

#[cfg(all(test, unix))]
mod tests {
    use super::{links_to, matching};
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_pattern_is_replaced_by_what_exists() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir_all(path("a/.claude")).unwrap();
        fs::write(path("a/.claude/settings.json"), "").unwrap();
        fs::write(path("a/.claude/settings.local.json"), "").unwrap();
        symlink("nowhere", path("a/.claude/settings.old.json")).unwrap();
        let found = matching(&path("a/.claude/settings*.json"));
        let names = ["settings.json", "settings.local.json", "settings.old.json"];
        assert_eq!(found, names.map(|name| path("a/.claude").join(name)));
        assert_eq!(matching(&path("*/.claude")), [path("a/.claude")]);
        assert!(matching(&path("a/none")).is_empty() && matching(&path("none/*")).is_empty());
    }

    #[test]
    fn each_link_on_the_way_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("dotfiles/claude")).unwrap();
        symlink("dotfiles/claude", home.join(".claude")).unwrap();
        symlink("../x/../real.json", home.join("dotfiles/claude/settings.json")).unwrap();
        symlink("loop", home.join("loop")).unwrap();
        let (links, real) = links_to(&home.join(".claude/settings.json"), &|_| true);
        assert_eq!(links, [home.join(".claude"), home.join("dotfiles/claude/settings.json")]);
        assert_eq!(real, home.join("dotfiles/real.json"));
        let (links, real) = links_to(&home.join(".claude/settings.json"), &|directory| directory != home);
        assert_eq!((links.len(), real), (1, home.join("dotfiles/real.json")));
        // A link that leads to itself ends.
        assert_eq!(links_to(&home.join("loop"), &|_| true).1, home.join("loop"));
    }
}
