//! The command line of `hookhost exec`.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

const EXEC_EXAMPLES: &str = "\
Examples:
  hookhost exec -- claude
  hookhost exec -- bash
  hookhost exec --list

The exit code is that of the program; 126 if it is not started, and 127 if there is no such program.";

/// Run a program where the kernel guards files, keys and processes
///
/// Inside, hookhost's own files, the settings of agents, keys, and what your rules protect cannot be changed or read, whatever a command is
/// called. Everything else works as outside. It needs no root. docs/security.md says what it does not protect.
#[derive(Debug, Args)]
#[command(after_help = EXEC_EXAMPLES)]
pub(crate) struct ExecArgs {
    /// Show what is guarded here, and why, and start nothing
    #[arg(long)]
    pub(crate) list: bool,

    /// Print the same as a profile for `sandbox-exec` of macOS, and start nothing
    #[arg(long, conflicts_with = "list")]
    pub(crate) seatbelt: bool,

    /// Use only the rules of this configuration file [default: your own hookhost.toml, and the project's if you have approved it]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// The program is a tool of hookhost's own agent: no resident host is kept, and there are no notices
    #[arg(long = "tool", hide = true)]
    pub(crate) is_tool: bool,

    /// The first word is the name of a shim, and its program lies behind the shim on the PATH
    #[arg(long = "shim", hide = true)]
    pub(crate) is_shim: bool,

    /// The program and its arguments
    #[arg(last = true, value_name = "PROGRAM", required_unless_present_any = ["list", "seatbelt"])]
    pub(crate) program: Vec<OsString>,
}
