//! The command line of the commands about people's own agents.

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args};
use hookhost_agents::plan::Scope;

/// The name of an agent; the error for an unknown one names the nearest.
fn agent() -> PossibleValuesParser {
    PossibleValuesParser::new(hookhost_agents::all().iter().map(|adapter| adapter.agent().name))
}

/// In whose files.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("scope").args(["user", "project", "managed"]))]
pub(crate) struct ScopeArgs {
    /// In your own files, for all that you do with the agent [the default]
    #[arg(long)]
    user: bool,

    /// In the files of the project that the working directory is in
    #[arg(long)]
    project: bool,

    /// In the files of the machine, which its users cannot change
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

/// Put the hook into the settings of an agent, so that the plugins that you allow count there; changes nothing else in them
#[derive(Debug, Args)]
#[command(after_help = INSTALL_EXAMPLES)]
pub(crate) struct InstallArgs {
    /// The agents, such as claude-code
    #[arg(value_name = "AGENT", value_parser = agent(), hide_possible_values = true)]
    pub(crate) agents: Vec<String>,

    /// Each agent that is found here
    #[arg(long, conflicts_with = "agents")]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) scope: ScopeArgs,

    /// Start the proxy in the place of the MCP servers that the agent's file names, and leave the hook as it is
    #[arg(long)]
    pub(crate) mcp: bool,

    /// Show how each file would change and what that does, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

const UNINSTALL_EXAMPLES: &str = "\
Examples:
  hookhost uninstall claude-code --dry-run
  hookhost uninstall claude-code
  hookhost uninstall --all --project";

/// Take the hook out of the settings of an agent: a file that nobody has changed since is put back byte for byte
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

    /// Start the MCP servers that the agent's file names by themselves again, and leave the hook as it is
    #[arg(long)]
    pub(crate) mcp: bool,

    /// Show how each file would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  hookhost doctor
  hookhost doctor claude-code --prove
  hookhost doctor --json | jq -r '.agents[].checks[] | select(.state != \"ok\") | .says'";

/// Look whether the hook of an agent is there, is reached and, with --prove, says no
#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// The agent [default: each that is found here]
    #[arg(value_name = "AGENT", value_parser = agent(), hide_possible_values = true)]
    pub(crate) agent: Option<String>,

    /// Run the hook as `hookhost install` writes it, where the agent's file has it, with a harmless call that has to be denied and
    /// one that has to pass
    #[arg(long)]
    pub(crate) prove: bool,

    /// Also have the agent itself make the call that has to be denied, in an empty directory: it asks its model, which may cost
    /// something
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

/// List the agents that are here: whether the hook is installed and proven, its last event, and what stays blind
#[derive(Debug, Args)]
#[command(after_help = AGENTS_EXAMPLES)]
pub(crate) struct AgentsArgs {
    /// The agents [default: each that is found here]
    #[arg(value_name = "AGENT", value_parser = agent(), hide_possible_values = true)]
    pub(crate) agents: Vec<String>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
