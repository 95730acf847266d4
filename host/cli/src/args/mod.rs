//! The command line. Each flag is documented where it is defined; `docs/cli.md` is the same for reading.

mod acp;
mod agents;
mod log;
mod mcp;
mod resident;
mod rule;
mod session;

pub(crate) use acp::AcpArgs;
pub(crate) use agents::{AgentsArgs, DoctorArgs, InstallArgs, UninstallArgs};
pub(crate) use log::{AuditArgs, AuditCommand, FilterArgs, ReplayArgs, ShowArgs, TailArgs, VerifyArgs};
pub(crate) use mcp::{ApproveToolsArgs, InterceptorArgs, McpArgs, McpCommand};
pub(crate) use resident::{ApprovalsArgs, ApprovalsCommand, HookArgs, ServeArgs};
pub(crate) use rule::{ExplainArgs, RuleArgs, RuleCommand};
pub(crate) use session::{ListArgs, RemoveArgs, ResumeArgs, SessionArgs, SessionCommand, ShowSessionArgs};

use crate::exit::CODES;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use hookhost::contract::EventKind;
use std::ffi::OsString;
use std::path::PathBuf;

/// Runs policies for LLM agents as sandboxed WebAssembly components. Alone on a terminal, lets you talk with an agent.
#[derive(Debug, Parser)]
#[command(name = "hookhost", version, max_term_width = 110, args_conflicts_with_subcommands = true, after_help = CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) repl: ReplArgs,
}

impl Cli {
    /// What was typed. `hookhost` alone asks for help where there is no terminal to talk at.
    pub(crate) fn typed() -> Self {
        let mut command = Self::command().arg_required_else_help(!crate::command::is_on_a_terminal());
        // Looked for only where they are shown: each directory of the PATH is read for it.
        let first = std::env::args_os().nth(1);
        if first.is_none_or(|word| ["help", "--help", "-h"].iter().any(|help| word == *help)) {
            let programs = crate::command::programs();
            if !programs.is_empty() {
                command = command.after_help(format!("Programs on your PATH:\n{programs}\n{CODES}"));
            }
        }
        let matches = command.get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// What an agent is that one talks with.
#[derive(Debug, Args)]
pub(crate) struct ReplArgs {
    /// Continues the session with this id
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,

    /// Continues the session that was used last in this directory
    #[arg(long = "continue", conflicts_with = "session")]
    pub(crate) latest: bool,

    #[command(flatten)]
    pub(crate) options: AgentOptions,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(RunArgs),
    Session(SessionArgs),
    Allow(AllowArgs),
    Trust(TrustArgs),
    Install(InstallArgs),
    Uninstall(UninstallArgs),
    Doctor(DoctorArgs),
    Agents(AgentsArgs),
    Inspect(InspectArgs),
    Hooks(HooksArgs),
    Tools(ToolsArgs),
    Auth(AuthArgs),
    Dispatch(DispatchArgs),
    Hook(HookArgs),
    Serve(ServeArgs),
    Acp(AcpArgs),
    Mcp(McpArgs),
    Approvals(ApprovalsArgs),
    Audit(AuditArgs),
    Replay(ReplayArgs),
    Cache(CacheArgs),
    Rule(RuleArgs),
    /// A program `hookhost-NAME` of the user.
    #[command(external_subcommand)]
    External(Vec<OsString>),
}

/// Which plugins load.
#[derive(Clone, Debug, Args)]
pub(crate) struct ConfigArgs {
    /// The configuration file, which then counts alone [default: your own hookhost.toml, and the project's where you
    /// have approved it]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Loads this plugin too, which the allowlist must have, perhaps with `enabled = false`; can be repeated
    #[arg(long = "plugin", value_name = "X.wasm")]
    pub(crate) plugins: Vec<PathBuf>,
}

/// How to answer a question that a plugin asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approve {
    /// You are asked, where the command runs on a terminal; elsewhere the answer is no.
    #[default]
    Ask,
    /// The answer is no.
    Deny,
}

/// Who answers the questions of plugins.
#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// How to answer a question that a plugin asks
    #[arg(long, value_name = "HOW", default_value = "ask")]
    pub(crate) approve: Approve,
}

const RUN_EXAMPLES: &str = "\
Examples:
  hookhost run \"Fix the failing test\"
  hookhost run --provider local --model qwen3 --workspace ~/src/app < task.txt
  hookhost run --plugin plugins/path_guard.wasm --json \"Tidy up the docs\" | jq -c .
  hookhost run --session 01a201dc-d77f-70b2-8af5-ff0ebe8cbd93 \"And now the tests\"
  hookhost run --continue \"And the docs\"";

/// Run an agent on a directory; plugins subscribe to every step of it
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// What the agent is to do [default: read from the standard input, where that is not a terminal]
    pub(crate) prompt: Option<String>,

    /// Continues the session with this id, and its conversation
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,

    /// Continues the session that was used last in this directory
    #[arg(long = "continue", conflicts_with = "session")]
    pub(crate) latest: bool,

    #[command(flatten)]
    pub(crate) options: RunOptions,
}

/// How an agent runs, and how that is printed.
#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) agent: AgentOptions,

    /// Print what happens as JSON, one object a line: docs/json.md
    #[arg(long)]
    pub(crate) json: bool,
}

/// How an agent runs.
#[derive(Debug, Args)]
pub(crate) struct AgentOptions {
    #[command(flatten)]
    pub(crate) configuration: ConfigArgs,

    /// The provider of the model: a name of [agent.providers], `scripted`, or one that is known without it, such as
    /// `anthropic` [default: the first that is ready]
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,

    /// The model, as the provider calls it
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// A script to play in place of a model; alone, it chooses the provider `scripted`
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,

    /// The directory that the agent works on, and in which the project's configuration is looked
    /// for [default: the working directory; of a resumed session, its own]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) approve: ApproveArgs,
}

const ALLOW_EXAMPLES: &str = "\
Examples:
  hookhost allow
  hookhost allow plugins/path_guard.wasm
  hookhost allow plugins/path_guard.wasm --project --priority 10 --set 'protected=[\"infra/**\"]'
  hookhost allow bounded_shell.wasm --entry 'actions = [\"shell\"]' --set limit-seconds=60 --yes";

/// Put a plugin on the allowlist, or pin its new digest; shows first what it subscribes to and needs
#[derive(Debug, Args)]
#[command(after_help = ALLOW_EXAMPLES)]
pub(crate) struct AllowArgs {
    /// The plugin's file [default: none; those in `plugins/` beside the allowlist are listed that are not on it]
    #[arg(value_name = "X.wasm")]
    pub(crate) wasm: Option<PathBuf>,

    /// Its name in the allowlist [default: the file's name, with `-` for `_`]
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// The configuration file to write, made where it does not exist [default: the user's hookhost.toml]
    #[arg(long, value_name = "FILE", conflicts_with = "project")]
    pub(crate) config: Option<PathBuf>,

    /// Write the project's hookhost.toml: the nearest one, or a new one in the working directory
    #[arg(long)]
    pub(crate) project: bool,

    /// When it is asked: lower is earlier [default: what the plugin proposes, or 100]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) priority: Option<i32>,

    /// A further key of the entry, as a line of [[plugin]], such as `actions = ["shell"]`; can be repeated
    #[arg(long = "entry", value_name = "LINE")]
    pub(crate) entry: Vec<String>,

    /// A grant, as a line of [plugin.grants]; can be repeated. What the plugin imports need not be
    /// named, except `model`
    #[arg(long = "grant", value_name = "LINE")]
    pub(crate) grants: Vec<String>,

    /// A key of [plugin.config]; can be repeated. The value is TOML, or else a text; a dot in the key goes
    /// into a table
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// The whole [plugin.config], as a JSON object; `--set` adds to it
    #[arg(long, value_name = "JSON")]
    pub(crate) config_json: Option<String>,

    /// Write `enabled = false`: it loads only where `--plugin` names it
    #[arg(long)]
    pub(crate) disabled: bool,

    /// Allow it, with what it needs, without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
}

const TRUST_EXAMPLES: &str = "\
Examples:
  hookhost trust
  hookhost trust ~/src/app --yes
  hookhost trust --list
  hookhost trust --revoke ~/src/app";

/// Approve a project's hookhost.toml, as it is now; it counts so until a change is approved
#[derive(Debug, Args)]
#[command(after_help = TRUST_EXAMPLES)]
pub(crate) struct TrustArgs {
    /// The file, or its directory [default: the nearest one, from the working directory up, that is not approved]
    pub(crate) path: Option<PathBuf>,

    /// List what is approved
    #[arg(long, conflicts_with_all = ["revoke", "path", "yes"])]
    pub(crate) list: bool,

    /// Take an approval back
    #[arg(long, conflicts_with = "yes")]
    pub(crate) revoke: bool,

    /// Approve without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
}

const INSPECT_EXAMPLES: &str = "\
Examples:
  hookhost inspect plugins/path_guard.wasm
  hookhost inspect --allowed plugins/path_guard.wasm
  hookhost inspect --json plugins/path_guard.wasm | jq .events";

/// Show what a plugin subscribes to, needs and is made of; runs nothing of it
#[derive(Debug, Args)]
#[command(after_help = INSPECT_EXAMPLES)]
pub(crate) struct InspectArgs {
    /// The plugin's file
    #[arg(value_name = "X.wasm")]
    pub(crate) wasm: PathBuf,

    /// Shows what its entry on the allowlist gives it instead: its limits and grants, with the defaults filled in
    #[arg(long)]
    pub(crate) allowed: bool,

    /// The configuration file in which to look whether it is allowed [default: those that count here]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const HOOKS_EXAMPLES: &str = "\
Examples:
  hookhost hooks
  hookhost hooks before-tool-call
  hookhost hooks --json | jq -r '.events[] | .event + \": \" + ([.chain[].plugin] | join(\" → \"))'";

/// Show which plugins subscribe to each event, in the order in which they are asked
#[derive(Debug, Args)]
#[command(after_help = HOOKS_EXAMPLES)]
pub(crate) struct HooksArgs {
    /// Only this event, such as before-tool-call [default: all]
    #[arg(value_name = "EVENT", value_parser = event(), hide_possible_values = true)]
    pub(crate) event: Option<EventKind>,

    #[command(flatten)]
    pub(crate) configuration: ConfigArgs,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const AUTH_EXAMPLES: &str = "\
Examples:
  hookhost auth set anthropic
  pass show groq | hookhost auth set groq
  hookhost auth list
  hookhost auth rm groq";

/// Keep keys of providers in a file that is yours alone, for where they are not in the environment
#[derive(Debug, Args)]
#[command(after_help = AUTH_EXAMPLES)]
pub(crate) struct AuthArgs {
    #[command(subcommand)]
    pub(crate) command: AuthCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Keep a key, read from the standard input; a terminal does not show it
    Set {
        /// The provider, as `--provider` names it
        provider: String,
    },
    /// Show which providers have a key; no key is shown
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Forget a key
    Rm {
        /// The provider
        provider: String,
    },
}

const TOOLS_EXAMPLES: &str = "\
Examples:
  hookhost tools
  hookhost tools --json | jq -r '.tools[] | .name'";

/// Show the tools that a model is offered here, and who brings each: hookhost itself, a plugin or an MCP server
#[derive(Debug, Args)]
#[command(after_help = TOOLS_EXAMPLES)]
pub(crate) struct ToolsArgs {
    #[command(flatten)]
    pub(crate) configuration: ConfigArgs,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const CACHE_EXAMPLES: &str = "\
Examples:
  hookhost cache
  hookhost cache --clear";

/// Show how much compiled code is kept, or remove it; plugins are then compiled again
#[derive(Debug, Args)]
#[command(after_help = CACHE_EXAMPLES)]
pub(crate) struct CacheArgs {
    /// Remove all of it
    #[arg(long)]
    pub(crate) clear: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const DISPATCH_EXAMPLES: &str = "\
Examples:
  echo '{\"call\": {\"id\": \"1\", \"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}}' |
    hookhost dispatch before-tool-call --payload -
  hookhost dispatch prompt-submit --payload prompt.json | jq -r .outcome
  hookhost dispatch --shell 'git push -f origin main'

The payload is a JSON object of the event's parameters, as wit/events.wit
names them; `hookhost dispatch EVENT` without a payload shows an example.
In a tool call `origin` can be left out; `action` is worked out. A key `session`
can give cwd, workspace, agent, interactive, turn, depth, id, parent and
root, the session that the user began.";

/// Send one event through the chain; prints one JSON object, or of a command the verdict
#[derive(Debug, Args)]
#[command(after_help = DISPATCH_EXAMPLES, group(ArgGroup::new("dispatched").required(true).args(["event", "shell"])))]
pub(crate) struct DispatchArgs {
    /// The event, such as before-tool-call
    #[arg(value_name = "EVENT", value_parser = event(), hide_possible_values = true)]
    pub(crate) event: Option<EventKind>,

    /// A file with what the event carries, as JSON; `-` is the standard input
    #[arg(long, value_name = "FILE", conflicts_with = "shell")]
    pub(crate) payload: Option<PathBuf>,

    /// In place of an event: a command that an agent would run. Prints the decision, the
    /// rules that had something to say, each below the part that it is about, and what would run;
    /// nothing is run
    #[arg(long, value_name = "COMMAND", conflicts_with = "event", allow_hyphen_values = true)]
    pub(crate) shell: Option<OsString>,

    /// Print the JSON object of a command, too
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) configuration: ConfigArgs,

    #[command(flatten)]
    pub(crate) approve: ApproveArgs,
}

/// An event by its name; the error for an unknown one names the nearest.
fn event() -> impl TypedValueParser<Value = EventKind> {
    let names = PossibleValuesParser::new(EventKind::ALL.iter().map(|event| event.name()));
    names.try_map(|name| EventKind::from_name(&name).ok_or("no event is called so"))
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_well_formed_and_every_command_shows_an_example() {
        let mut cli = Cli::command();
        cli.clone().debug_assert();
        for command in cli.get_subcommands_mut().filter(|command| command.get_name() != "help") {
            let name = command.get_name().to_owned();
            let help = command.render_help().to_string();
            assert!(help.contains("Example") && help.contains(&format!("hookhost {name}")), "{help}");
        }
    }
}
