//! How the agent starts programs.

use std::ffi::{OsStr, OsString};
use tokio::process::Command;

/// How the agent starts programs: the commands of its model, and MCP servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launcher {
    /// Environment variables that programs do not inherit, such as the provider's API key.
    pub hidden_variables: Vec<String>,
    /// A program with its first arguments, which gets the program to start and its arguments as further arguments. Empty if programs are
    /// started directly. The command `hookhost run` puts `hookhost exec` here.
    pub wrapper: Vec<OsString>,
}

impl Launcher {
    /// Returns a command that starts a program, without arguments of it.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut words = self.wrapper.iter().map(OsString::as_os_str).chain([program.as_ref()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        self.hidden_variables.iter().for_each(|variable| _ = command.env_remove(variable));
        command
    }
}
