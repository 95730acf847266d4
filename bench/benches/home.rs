//! The directories of a user who has allowed one plugin.

use bench::plugins::built;
use hookhost::config::Digest;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The three variables that name the directories of a user.
pub(crate) const DIRECTORIES: [&str; 3] = ["HOOKHOST_CONFIG_DIR", "HOOKHOST_STATE_DIR", "HOOKHOST_CACHE_DIR"];

/// Returns the table of `hookhost.toml` that allows the plugin `no-force-push`.
pub(crate) fn allowed_plugin() -> String {
    let wasm = built("no_force_push.wasm");
    let digest = Digest::of_file(&wasm).unwrap();
    format!("[[plugin]]\nname = \"no-force-push\"\npath = {wasm:?}\nsha256 = \"{digest}\"\n")
}

/// The directories of a user. They are removed when this value is dropped.
pub(crate) struct Home {
    directory: tempfile::TempDir,
}

impl Home {
    /// Creates the directories. `settings` is the beginning of `hookhost.toml`, before the plugin's entry.
    pub(crate) fn new(settings: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("hookhost.toml"), settings.to_owned() + &allowed_plugin()).unwrap();
        Self { directory }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns a command that runs with the user's directories.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.envs(DIRECTORIES.map(|variable| (variable, self.path()))).current_dir(self.path());
        command
    }
}

/// Returns the path of the program in this environment variable, which the program `bench` sets.
pub(crate) fn program(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from)
}
