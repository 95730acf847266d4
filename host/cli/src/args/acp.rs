//! The proxy between an editor and an agent.

use clap::Args;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  hookhost acp -- gemini --experimental-acp
  hookhost acp --name claude -- npx -y @zed-industries/claude-code-acp

Put this command into the editor's settings in place of the agent's own.";

/// Run an agent for an editor (ACP) with your rules in front of it
///
/// For editors that speak the Agent Client Protocol. Your rules answer the agent's requests for permission.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AcpArgs {
    /// The agent's name in the log and in messages [default: derived from the command]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// The agent's program, which speaks ACP on its standard input and output, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) program: Vec<OsString>,
}
