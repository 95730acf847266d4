//! The directories of hookhost's own files. Environment variables determine them, unless flags on a hook's command line
//! set them.
//!
//! The flags are necessary because a project can set variables for the agent that works in it. The hook gets these variables too,
//! because the agent starts it. A project cannot change a command line in the user's own file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The variables that determine the directories of hookhost's files.
pub const DIRECTORY_VARIABLES: [&str; 7] = [
    "HOOKHOST_CONFIG_DIR",
    "HOOKHOST_STATE_DIR",
    "HOOKHOST_CACHE_DIR",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "HOME",
];

/// A function that reads a variable of an environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The directories of a user. A directory is `None` if it is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directories {
    /// Directory of the user's own `hookhost.toml`.
    pub config: Option<PathBuf>,
    /// Directory of the log, of approvals and of the resident host's socket.
    pub state: Option<PathBuf>,
    /// Directory of compiled code.
    pub cache: Option<PathBuf>,
    /// Home directory, for `~` in the user's rules.
    pub home: Option<PathBuf>,
}

/// A variable that contradicts the hook's command line, because it sets another directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The variable.
    pub variable: &'static str,
    /// The directory that the variable sets.
    pub leads_to: PathBuf,
    /// The directory on the command line.
    pub fixed: PathBuf,
}

/// The flag and the variables of one directory.
struct DirectoryKind {
    flag: &'static str,
    variable: &'static str,
    /// The variable of the XDG Base Directory Specification, and its default below the home directory.
    base: Option<(&'static str, &'static str)>,
}

const DIRECTORY_KINDS: [DirectoryKind; 4] = [
    DirectoryKind { flag: "--config-dir", variable: "HOOKHOST_CONFIG_DIR", base: Some(("XDG_CONFIG_HOME", ".config")) },
    DirectoryKind {
        flag: "--state-dir",
        variable: "HOOKHOST_STATE_DIR",
        base: Some(("XDG_STATE_HOME", ".local/state")),
    },
    DirectoryKind { flag: "--cache-dir", variable: "HOOKHOST_CACHE_DIR", base: Some(("XDG_CACHE_HOME", ".cache")) },
    DirectoryKind { flag: "--home", variable: "HOME", base: None },
];

impl DirectoryKind {
    /// Returns the directory that an environment sets, and the name of the variable that sets the directory.
    fn of_environment(&self, environment: Environment<'_>) -> Option<(PathBuf, &'static str)> {
        let path = |name: &str| environment(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(named) = path(self.variable) {
            return Some((named, self.variable));
        }
        let (variable, default) = self.base?;
        // The XDG Base Directory Specification says that a relative path is invalid and must be ignored.
        let base = path(variable).filter(|path| path.is_absolute()).map(|path| (path, variable));
        let (base, variable) = base.or_else(|| Some((path("HOME")?.join(default), "HOME")))?;
        Some((base.join("hookhost"), variable))
    }
}

impl Directories {
    /// Returns the directories that an environment sets. If `HOME` is not set, the home directory is unknown, because
    /// this function does not ask the system's user database.
    pub fn of_environment(environment: Environment<'_>) -> Self {
        let [config, state, cache, home] =
            DIRECTORY_KINDS.map(|kind| kind.of_environment(environment).map(|(directory, _)| directory));
        Self { config, state, cache, home }
    }

    /// Returns these directories, with the directories of `other` in place of unknown directories.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            config: self.config.or(other.config),
            state: self.state.or(other.state),
            cache: self.cache.or(other.cache),
            home: self.home.or(other.home),
        }
    }

    /// Returns the flags of a hook's command line that set these directories. Two kinds of path are left out: a path
    /// that is not UTF-8, because it cannot be written into an agent's file, and a relative path, because each hook
    /// would resolve it differently.
    pub fn flags(&self) -> Vec<String> {
        let whole = self.texts().filter(|(_, directory)| Path::new(directory).is_absolute());
        whole.map(|(kind, directory)| format!("{}={directory}", kind.flag)).collect()
    }

    /// Reads a flag of a hook's command line. Returns false if `word` is not a directory flag, or if its path is
    /// relative.
    pub fn take_flag(&mut self, word: &str) -> bool {
        let Self { config, state, cache, home } = self;
        let mut directories = DIRECTORY_KINDS.iter().zip([config, state, cache, home]);
        let Some((flag, path)) = word.split_once('=').filter(|(_, path)| Path::new(path).is_absolute()) else {
            return false;
        };
        let Some((_, directory)) = directories.find(|(kind, _)| kind.flag == flag) else { return false };
        *directory = Some(PathBuf::from(path));
        true
    }

    /// Returns the variables that make a program use these directories, with their values.
    pub fn variables(&self) -> Vec<(String, String)> {
        self.texts().map(|(kind, directory)| (kind.variable.to_owned(), directory.to_owned())).collect()
    }

    /// Returns the first variable of an environment that sets one of these directories to another path.
    pub fn contradiction(&self, environment: Environment<'_>) -> Option<Contradiction> {
        self.known().find_map(|(kind, fixed)| {
            let (leads_to, variable) = kind.of_environment(environment)?;
            // If the environment has the same home directory, and only lacks a variable that was set when the hook was installed,
            // this is not a contradiction.
            let has_same_home = variable == "HOME"
                && environment("HOME").is_some_and(|home| self.home.as_deref() == Some(Path::new(&home)));
            (leads_to != *fixed && !has_same_home).then(|| Contradiction {
                variable,
                leads_to,
                fixed: fixed.to_owned(),
            })
        })
    }

    fn known(&self) -> impl Iterator<Item = (&'static DirectoryKind, &Path)> {
        let all = [&self.config, &self.state, &self.cache, &self.home];
        DIRECTORY_KINDS.iter().zip(all).filter_map(|(kind, directory)| Some((kind, directory.as_deref()?)))
    }

    fn texts(&self) -> impl Iterator<Item = (&'static DirectoryKind, &str)> {
        self.known().filter_map(|(kind, directory)| Some((kind, directory.to_str()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::{DIRECTORY_KINDS, DIRECTORY_VARIABLES, Directories};
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    fn of(variables: &[(&str, &str)]) -> impl Fn(&str) -> Option<OsString> {
        |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
    }

    fn state(variables: &[(&str, &str)]) -> Option<PathBuf> {
        Directories::of_environment(&of(variables)).state
    }

    #[test]
    fn the_state_is_where_the_command_keeps_its_log() {
        let home = ("HOME", "/home/me");
        let directory = |path: &str| Some(PathBuf::from(path));
        assert_eq!(state(&[home]), directory("/home/me/.local/state/hookhost"));
        assert_eq!(state(&[home, ("XDG_STATE_HOME", "/state")]), directory("/state/hookhost"));
        assert_eq!(state(&[home, ("XDG_STATE_HOME", "state")]), directory("/home/me/.local/state/hookhost"));
        assert_eq!(state(&[home, ("XDG_STATE_HOME", "/state"), ("HOOKHOST_STATE_DIR", "/x")]), directory("/x"));
        assert_eq!(state(&[home, ("XDG_STATE_HOME", ""), ("HOOKHOST_STATE_DIR", "")]), state(&[home]));
        assert_eq!(state(&[("HOME", "")]), None);
        assert_eq!(state(&[]), None);
    }

    #[test]
    fn each_variable_that_leads_to_another_directory_contradicts_the_command_line() {
        let own = [("HOME", "/home/a b"), ("XDG_STATE_HOME", "/state")];
        let directories = Directories::of_environment(&of(&own));
        let mut fixed = Directories::default();
        assert!(directories.flags().iter().all(|flag| fixed.take_flag(flag)));
        assert_eq!(fixed, directories);
        assert_eq!(fixed.contradiction(&of(&own)), None);
        assert_eq!(fixed.contradiction(&of(&[])), None, "an environment that says nothing");
        assert_eq!(fixed.contradiction(&of(&[own[1], ("HOME", "/home/a b/")])), None);
        // The hook was started without the variables of the terminal in which it was installed.
        assert_eq!(fixed.contradiction(&of(&[own[0]])), None);
        assert_eq!(fixed.contradiction(&of(&[("HOME", "/evil")])).unwrap().variable, "HOME");
        for variable in DIRECTORY_VARIABLES {
            let changed = own.iter().filter(|(name, _)| *name != variable).copied();
            let changed: Vec<_> = changed.chain([(variable, "/evil")]).collect();
            assert_eq!(fixed.contradiction(&of(&changed)).unwrap().variable, variable);
        }
        // `HOME` determines the meaning of `~` even if variables set the directories of hookhost's files.
        let named = fixed.variables();
        let named =
            named.iter().map(|(name, value)| (name.as_str(), value.as_str())).filter(|(name, _)| *name != "HOME");
        let named: Vec<_> = named.chain([("HOME", "/evil")]).collect();
        assert_eq!(fixed.contradiction(&of(&named)).unwrap().leads_to, Path::new("/evil"));
    }

    #[test]
    fn a_flag_without_a_path_from_the_root_is_none() {
        for word in ["--config-dir", "--config-dir=", "--config-dir=here", "--other=/x", "/x"] {
            assert!(!Directories::default().take_flag(word), "{word}");
        }
    }

    #[test]
    fn the_list_of_variables_has_each_that_leads_to_a_directory() {
        let all =
            DIRECTORY_KINDS.iter().flat_map(|kind| [Some(kind.variable), kind.base.map(|(variable, _)| variable)]);
        assert!(all.flatten().all(|variable| DIRECTORY_VARIABLES.contains(&variable)));
        assert_eq!(
            DIRECTORY_VARIABLES.len(),
            DIRECTORY_KINDS.iter().map(|kind| 1 + usize::from(kind.base.is_some())).sum::<usize>()
        );
    }
}
