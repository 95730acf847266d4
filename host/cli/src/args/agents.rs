//! The command line of the commands about people's own agents.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args};
use hookhost_agents::plan::Scope;

/// Parses the name of an agent, or of its program, such as `claude`. The error for an unknown name suggests the nearest one.
pub(super) fn agent() -> impl TypedValueParser<Value = String> {
    let values = hookhost_agents::all().iter().map(|adapter| {
        let agent = adapter.agent();
        let programs = agent.programs.iter().filter(|program| of_program(program) == Some(agent.name));
        PossibleValue::new(agent.name).aliases(programs.filter(|program| **program != agent.name))
    });
    PossibleValuesParser::new(values).map(|named| match hookhost_agents::by_name(&named) {
        Some(_) => named,
        None => of_program(&named).map_or(named, str::to_owned),
    })
}

/// Returns the name of the first agent that has this program.
fn of_program(program: &str) -> Option<&'static str> {
    let mut agents = hookhost_agents::all().iter().map(|adapter| adapter.agent());
    agents.find(|agent| agent.programs.contains(&program)).map(|agent| agent.name)
}

/// Returns the help of the argument that names agents.
fn names() -> String {
    let names: Vec<_> = hookhost_agents::all().iter().map(|adapter| adapter.agent().name).collect();
    format!("The agents: {}", names.join(", "))
}

/// The files that a command changes.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("scope").args(["user", "project", "managed"]))]
pub(crate) struct ScopeArgs {
    /// Your own files, which apply to all your sessions of the agent [the default]
    #[arg(long)]
    user: bool,

    /// The files of the project around the working directory; you can commit them
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

/// Put hookhost's hook into the settings of an agent
///
/// The agent then asks hookhost before it acts, and your rules answer. Nothing else in the settings changes.
#[derive(Debug, Args)]
#[command(after_help = INSTALL_EXAMPLES)]
pub(crate) struct InstallArgs {
    #[arg(value_name = "AGENT", value_parser = agent(), hide_possible_values = true, help = names())]
    pub(crate) agents: Vec<String>,

    /// Each agent on this machine
    #[arg(long, conflicts_with = "agents")]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) scope: ScopeArgs,

    /// Put hookhost in front of the agent's MCP servers instead, and leave the hook as it is
    #[arg(long)]
    pub(crate) mcp: bool,

    /// Show the changes of each file and their effect, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Also show the limits of the agent, and where in its work it calls hookhost
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

const UNINSTALL_EXAMPLES: &str = "\
Examples:
  hookhost uninstall claude-code --dry-run
  hookhost uninstall claude-code
  hookhost uninstall --all --project";

/// Take hookhost's hook out of the settings of an agent
///
/// A file that nobody has changed since is restored byte for byte.
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

    /// Let the agent's MCP servers run without hookhost again, and leave the hook as it is
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

/// Check that hookhost works in your agents
///
/// Checks that the hook is installed, that no setting turns it off, and which rules are in force. With --prove, also runs the hook with a
/// call that must be denied.
#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// The agent, such as claude-code [default: each on this machine]
    #[arg(value_name = "AGENT", value_parser = agent(), hide_possible_values = true)]
    pub(crate) agent: Option<String>,

    /// Test the hook with two harmless calls: it must deny the one and allow the other
    #[arg(long)]
    pub(crate) prove: bool,

    /// Also let the agent itself try the forbidden call, in an empty directory; this asks its model, which may cost money
    #[arg(long, requires = "prove")]
    pub(crate) run_agent: bool,

    /// Show each check
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const AGENTS_EXAMPLES: &str = "\
Examples:
  hookhost agents
  hookhost agents claude-code
  hookhost agents --json | jq -r '.agents[] | select(.installed == []) | .agent'";

/// List the agents on this machine, and whether they ask hookhost
#[derive(Debug, Args)]
#[command(after_help = AGENTS_EXAMPLES)]
pub(crate) struct AgentsArgs {
    /// The agents, such as claude-code [default: each on this machine]
    #[arg(value_name = "AGENT", value_parser = agent(), hide_possible_values = true)]
    pub(crate) agents: Vec<String>,

    /// Also show what each agent asks hookhost about, the limits, and where the agent is
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
