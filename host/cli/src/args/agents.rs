//! The command line of the commands about people's own agents.

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args};
use hookhost_agents::plan::Scope;

/// Parses the name of an agent. The error for an unknown name suggests the nearest one.
fn agent() -> PossibleValuesParser {
    PossibleValuesParser::new(hookhost_agents::all().iter().map(|adapter| adapter.agent().name))
}

/// The files that a command changes.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("scope").args(["user", "project", "managed"]))]
pub(crate) struct ScopeArgs {
    /// Your own files, which apply to all your sessions of the agent [the default]
    #[arg(long)]
    user: bool,

    /// The files of the project around the working directory
    #[arg(long)]
    project: bool,

    /// The files of the machine, which its users cannot change
    #[arg(long)]
    managed: bool,
}

impl ScopeArgs {
    pub(crate) fn scope(&self) -> Scope {
        match (self.project, self.managed) {
            (true, _) => Scope::Project,
            (_, true) => Scope::Managed,
            _ => Scope::User,
        }
    }
}

const INSTALL_EXAMPLES: &str = "\
Examples:
  hookhost install claude-code --dry-run
  hookhost install claude-code
  hookhost install --all
  hookhost install claude-code --mcp
  sudo hookhost install claude-code --managed";

/// Put the hook into the settings of an agent, so that your plugins apply there; changes nothing else in the settings
#[derive(Debug, Args)]
#[command(after_help = INSTALL_EXAMPLES)]
pub(crate) struct InstallArgs {
    /// The agents, such as claude-code
    #[arg(value_name = "AGENT", value_parser = agent(), hide_possible_values = true)]
    pub(crate) agents: Vec<String>,

    /// Each agent that is found
    #[arg(long, conflicts_with = "agents")]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) scope: ScopeArgs,

    /// Put the proxy in front of the MCP servers in the agent's file, and leave the hook as it is
    #[arg(long)]
    pub(crate) mcp: bool,

    /// Show the changes of each file and their effect, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

const UNINSTALL_EXAMPLES: &str = "\
Examples:
  hookhost uninstall claude-code --dry-run
  hookhost uninstall claude-code
  hookhost uninstall --all --project";

/// Remove the hook from the settings of an agent; a file that nobody has changed since is restored byte for byte
#[derive(Debug, Args)]
#[command(after_help = UNINSTALL_EXAMPLES)]
pub(crate) struct UninstallArgs {
    /// The agents, such as claude-code
    #[arg(value_name = "AGENT", value_parser = agent(), hide_possible_values = true)]
    pub(crate) agents: Vec<String>,

    /// Each agent
    #[arg(long, conflicts_with = "agents")]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) scope: ScopeArgs,

    /// Remove the proxy from the MCP servers in the agent's file, and leave the hook as it is
    #[arg(long)]
    pub(crate) mcp: bool,

    /// Show the changes of each file, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  hookhost doctor
  hookhost doctor claude-code --prove
  hookhost doctor --json | jq -r '.agents[].checks[] | select(.state != \"ok\") | .says'";

/// Check that the hook of an agent is installed and that no file disables it; with --prove, also that it denies a call
#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// The agent [default: each that is found]
    #[arg(value_name = "AGENT", value_parser = agent(), hide_possible_values = true)]
    pub(crate) agent: Option<String>,

    /// Run the hook as `hookhost install` writes it, with two harmless calls: the hook must deny the first and let the second pass
    #[arg(long)]
    pub(crate) prove: bool,

    /// Also start the agent in an empty directory, so that it makes the call that must be denied; this uses its model, which may cost money
    #[arg(long, requires = "prove")]
    pub(crate) run_agent: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const AGENTS_EXAMPLES: &str = "\
Examples:
  hookhost agents
  hookhost agents claude-code
  hookhost agents --json | jq -r '.agents[] | select(.installed == []) | .agent'";

/// List the agents on this machine, each with the state of its hook, its last event, and the actions that no hook sees
#[derive(Debug, Args)]
#[command(after_help = AGENTS_EXAMPLES)]
pub(crate) struct AgentsArgs {
    /// The agents [default: each that is found]
    #[arg(value_name = "AGENT", value_parser = agent(), hide_possible_values = true)]
    pub(crate) agents: Vec<String>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
