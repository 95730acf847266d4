//! The directories in which agents keep their transcripts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Environment variables that move an agent's directory, in the order of their use below.
const VARIABLES: [&str; 7] = [
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "COPILOT_HOME",
    "GEMINI_CLI_HOME",
    "OPENCODE_DB",
    "PI_CODING_AGENT_DIR",
    "XDG_DATA_HOME",
];

/// The places of all agents' transcripts for one user.
#[derive(Clone, Debug)]
pub struct TranscriptPlaces {
    home: PathBuf,
    variables: BTreeMap<&'static str, PathBuf>,
}

impl TranscriptPlaces {
    /// Returns the default places below a home directory.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into(), variables: BTreeMap::new() }
    }

    /// Returns the places for an environment. `variable` reads one of its variables. A variable that is empty or contains a relative
    /// path is ignored.
    pub fn of_environment(home: impl Into<PathBuf>, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let path = |name| Some((name, PathBuf::from(variable(name)?)));
        let variables = VARIABLES.into_iter().filter_map(path).filter(|(_, path)| path.is_absolute()).collect();
        Self { home: home.into(), variables }
    }

    /// Returns the home directory.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Returns the directory that a variable names, or its default below the home directory.
    pub(crate) fn directory(&self, variable: &str, default: &str) -> PathBuf {
        self.variables.get(variable).cloned().unwrap_or_else(|| self.home.join(default))
    }

    /// Returns the file that a variable names.
    pub(crate) fn file(&self, variable: &str) -> Option<PathBuf> {
        self.variables.get(variable).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::TranscriptPlaces;
    use std::path::Path;

    #[test]
    fn a_variable_moves_an_agents_directory_unless_it_is_relative() {
        let places = TranscriptPlaces::of_environment("/home/ada", |name| match name {
            "CODEX_HOME" => Some("/data/codex".into()),
            "COPILOT_HOME" => Some("copilot".into()),
            "CLAUDE_CONFIG_DIR" => Some("".into()),
            _ => None,
        });
        assert_eq!(places.directory("CODEX_HOME", ".codex"), Path::new("/data/codex"));
        assert_eq!(places.directory("COPILOT_HOME", ".copilot"), Path::new("/home/ada/.copilot"));
        assert_eq!(places.directory("CLAUDE_CONFIG_DIR", ".claude"), Path::new("/home/ada/.claude"));
    }
}
