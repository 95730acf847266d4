//! The command line. Each flag is documented where it is defined. `docs/cli.md` describes the same commands and flags.

mod acp;
mod agents;
mod cases;
mod check;
mod exec;
mod generated;
mod groups;
mod import;
mod log;
mod mcp;
mod on_off;
mod period;
mod profile;
mod resident;
mod rule;
mod session;
mod telemetry;

pub(crate) use acp::AcpArgs;
pub(crate) use agents::{AgentsArgs, DoctorArgs, InstallArgs, UninstallArgs};
pub(crate) use cases::{RecordArgs, TestArgs};
pub(crate) use check::CheckArgs;
pub(crate) use exec::ExecArgs;
pub(crate) use generated::{CompletionsArgs, ManArgs};
pub(crate) use import::{ExportArgs, ImportArgs, SuggestArgs};
pub(crate) use log::{
    AnchorArgs, ArchiveArgs, AuditArgs, AuditCommand, EvidenceArgs, FilterArgs, LogArgs, ReplayArgs, ReportArgs,
    ShowArgs, TailArgs, VerifyArgs, WhyArgs,
};
pub(crate) use mcp::{ApproveToolsArgs, InterceptorArgs, McpArgs, McpCommand};
pub(crate) use on_off::{OffArgs, OnArgs};
pub(crate) use period::period;
pub(crate) use profile::{AddArgs, ProfileArgs, ProfileCommand, UseProfileArgs};
pub(crate) use resident::{
    AllowOnceArgs, ApprovalsArgs, ApprovalsCommand, HookArgs, PasskeyArgs, PasskeyCommand, ServeArgs, UiArgs,
};
pub(crate) use rule::{
    AcceptArgs, AcceptOptions, AddRuleArgs, ExplainArgs, ListRulesArgs, ProposalsArgs, ProposeArgs, RejectArgs,
    RemoveRuleArgs, RuleArgs, RuleCommand, RuleOffArgs, RuleOnArgs, RuleWordsArgs,
};
pub(crate) use session::{
    LabelsArgs, ListArgs, RemoveArgs, ResumeArgs, SessionArgs, SessionCommand, ShowSessionArgs, UnlabelArgs,
};
pub(crate) use telemetry::{TelemetryArgs, TelemetryCommand};

use crate::exit::CODES;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use hookhost::contract::EventKind;
use std::ffi::OsString;
use std::path::PathBuf;

/// Asks your rules before a coding agent runs a command or edits a file
#[derive(Debug, Parser)]
#[command(
    name = "hookhost",
    version,
    max_term_width = 110,
    args_conflicts_with_subcommands = true,
    override_usage = "hookhost COMMAND [OPTIONS]"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) repl: ReplArgs,
}

impl Cli {
    /// Parses the command line. Without a terminal, `hookhost` alone shows the help.
    pub(crate) fn typed() -> Self {
        let mut command = Self::command().arg_required_else_help(!crate::command::is_on_a_terminal());
        // Users' programs are searched only when the help shows them, because the search reads each directory of the PATH.
        let first = std::env::args_os().nth(1);
        let is_short = first.as_ref().is_none_or(|word| word == "-h");
        if is_short || first.is_some_and(|word| word == "help" || word == "--help") {
            command = with_groups(command, &crate::command::programs(), is_short);
        }
        let matches = command.get_matches_from(words());
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// Returns the words of the command line. `hookhost help rules` shows the reference of rules, although `rules` is no command.
fn words() -> Vec<OsString> {
    let words: Vec<OsString> = std::env::args_os().collect();
    match words.as_slice() {
        [program, help, rules] if help == "help" && rules == "rules" => {
            vec![program.clone(), "rule".into(), "reference".into()]
        }
        _ => words,
    }
}

/// Puts the groups of commands into the help of `cli`. The long help also has the options of the conversation, the users' `programs` and
/// the exit codes.
fn with_groups(cli: clap::Command, programs: &str, is_short: bool) -> clap::Command {
    const SHORT: &str = "{about-with-newline}{usage-heading} {usage}{after-help}";
    const LONG: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{options}{after-help}";
    let groups = groups::listed(&cli, is_short);
    if is_short {
        let more = "All commands: hookhost --help. One command: hookhost COMMAND --help";
        return cli.help_template(SHORT).after_help(format!("{groups}\n\n{more}"));
    }
    let programs = if programs.is_empty() { String::new() } else { format!("Programs on your PATH:\n{programs}\n") };
    let options = "Without a command, hookhost starts a conversation with its own agent. Options of the conversation:";
    cli.help_template(LONG)
        .before_long_help(format!("{groups}\n\n{options}"))
        .after_long_help(format!("{programs}{CODES}"))
}

/// The session and the agent to talk with.
#[derive(Debug, Args)]
pub(crate) struct ReplArgs {
    /// Continue the session with this id
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,

    /// Continue the last session of this directory
    #[arg(long = "continue", conflicts_with = "session")]
    pub(crate) latest: bool,

    #[command(flatten)]
    pub(crate) options: AgentOptions,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    On(OnArgs),
    Off(OffArgs),
    Exec(ExecArgs),
    Run(RunArgs),
    Session(SessionArgs),
    Allow(AllowArgs),
    Add(AddArgs),
    Profile(ProfileArgs),
    Trust(TrustArgs),
    Check(CheckArgs),
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
    Ui(UiArgs),
    Acp(AcpArgs),
    Mcp(McpArgs),
    Approvals(ApprovalsArgs),
    AllowOnce(AllowOnceArgs),
    Passkey(PasskeyArgs),
    Audit(AuditArgs),
    Why(WhyArgs),
    Replay(ReplayArgs),
    Test(TestArgs),
    Record(RecordArgs),
    Report(ReportArgs),
    Evidence(EvidenceArgs),
    Telemetry(TelemetryArgs),
    Update(UpdateArgs),
    Cache(CacheArgs),
    Rule(RuleArgs),
    Import(ImportArgs),
    Suggest(SuggestArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
    /// A program `hookhost-NAME` of the user.
    #[command(external_subcommand)]
    External(Vec<OsString>),
}

/// The plugins that load.
#[derive(Clone, Debug, Args)]
pub(crate) struct ConfigArgs {
    /// Use only this configuration file [default: your own hookhost.toml, and the project's if you have approved it]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Also load this plugin, although its entry on the allowlist has `enabled = false`; can be repeated
    #[arg(long = "plugin", value_name = "X.wasm")]
    pub(crate) plugins: Vec<PathBuf>,
}

/// How to answer a question that a plugin asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approve {
    /// hookhost asks you. Without a terminal, the answer is no.
    #[default]
    Ask,
    /// The answer is no.
    Deny,
}

/// The answer to questions of plugins.
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

/// Give a task to hookhost's own agent
///
/// The agent works in a directory, and your rules are asked at every step.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// The agent's task [default: read from standard input, unless that is a terminal]
    pub(crate) prompt: Option<String>,

    /// Continue the session with this id, and its conversation
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,

    /// Continue the last session of this directory
    #[arg(long = "continue", conflicts_with = "session")]
    pub(crate) latest: bool,

    #[command(flatten)]
    pub(crate) options: RunOptions,
}

/// The options of an agent's run, and the form of its output.
#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) agent: AgentOptions,

    /// Print each step as one JSON object per line, as docs/json.md describes
    #[arg(long)]
    pub(crate) json: bool,
}

/// The options of an agent's run.
#[derive(Debug, Args)]
pub(crate) struct AgentOptions {
    #[command(flatten)]
    pub(crate) configuration: ConfigArgs,

    /// The provider of the model: a name of [agent.providers], a known one such as `anthropic`, or `scripted` [default: the
    /// first that is ready]
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,

    /// The model, as the provider calls it
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// A script to play in place of a model; implies the provider `scripted`
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,

    /// The directory in which the agent works, and whose project's configuration applies [default: the working directory; for a resumed
    /// session, its own]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,

    /// Do not run what tools start in `hookhost exec`
    #[arg(long)]
    pub(crate) no_sandbox: bool,

    #[command(flatten)]
    pub(crate) approve: ApproveArgs,
}

const ALLOW_EXAMPLES: &str = "\
Examples:
  hookhost allow
  hookhost allow plugins/path_guard.wasm
  hookhost allow plugins/path_guard.wasm --project --priority 10 --set 'protected=[\"infra/**\"]'
  hookhost allow bounded_shell.wasm --entry 'actions = [\"shell\"]' --set limit-seconds=60 --yes";

/// Put a plugin on the allowlist, or accept its new version
///
/// First shows what the plugin can do, and asks you. hookhost loads exactly this file from then on: a file with another content needs a new
/// `allow`.
#[derive(Debug, Default, Args)]
#[command(after_help = ALLOW_EXAMPLES)]
pub(crate) struct AllowArgs {
    /// The plugin's file [default: none; lists the new and changed files in `plugins/` beside the allowlist]
    #[arg(value_name = "X.wasm")]
    pub(crate) wasm: Option<PathBuf>,

    /// The plugin's name in the allowlist [default: the file's name, with `-` for `_`]
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// The configuration file to write or to create [default: your own hookhost.toml]
    #[arg(long, value_name = "FILE", conflicts_with = "project")]
    pub(crate) config: Option<PathBuf>,

    /// Write the project's hookhost.toml: the nearest one, or a new one in the working directory
    #[arg(long)]
    pub(crate) project: bool,

    /// The plugin's place in the order; lower numbers come first [default: the plugin's proposal, or 100]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) priority: Option<i32>,

    /// A further key of the entry, as a line of [[plugin]], such as `actions = ["shell"]`; can be repeated
    #[arg(long = "entry", value_name = "LINE")]
    pub(crate) entry: Vec<String>,

    /// A grant, as a line of [plugin.grants]; can be repeated. Without this flag, the plugin gets all its imports except `model`
    /// and `http`
    #[arg(long = "grant", value_name = "LINE")]
    pub(crate) grants: Vec<String>,

    /// A key of [plugin.config]; can be repeated. A value that is not valid TOML is taken as a text. A dot in the key separates the names
    /// of nested tables
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// The whole [plugin.config], as a JSON object; `--set` adds keys to it
    #[arg(long, value_name = "JSON")]
    pub(crate) config_json: Option<String>,

    /// Write `enabled = false`: the plugin loads only if `--plugin` names it
    #[arg(long)]
    pub(crate) disabled: bool,

    /// Allow the plugin and its imports without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
}

const TRUST_EXAMPLES: &str = "\
Examples:
  hookhost trust
  hookhost trust ~/src/app --yes
  hookhost trust --list
  hookhost trust --revoke ~/src/app";

/// Approve the rules of a project, its hookhost.toml
///
/// First shows the rules, and asks you. They apply until you approve a change.
#[derive(Debug, Args)]
#[command(after_help = TRUST_EXAMPLES)]
pub(crate) struct TrustArgs {
    /// The file, or its directory [default: the nearest one, from the working directory up, that is not approved]
    pub(crate) path: Option<PathBuf>,

    /// List the approved files
    #[arg(long, conflicts_with_all = ["revoke", "path", "yes"])]
    pub(crate) list: bool,

    /// Revoke an approval
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

/// Show what a plugin is asked about and what it can reach
///
/// The plugin does not run.
#[derive(Debug, Args)]
#[command(after_help = INSPECT_EXAMPLES)]
pub(crate) struct InspectArgs {
    /// The plugin's file
    #[arg(value_name = "X.wasm")]
    pub(crate) wasm: PathBuf,

    /// Show the entry with its limits, grants and defaults
    #[arg(long)]
    pub(crate) allowed: bool,

    /// The configuration file with the entry [default: the files that apply here]
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

/// Show which plugins are asked at each event, in order
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

/// Store the API keys of model providers
///
/// The file can be read only by you. A key in the environment comes first.
#[derive(Debug, Args)]
#[command(after_help = AUTH_EXAMPLES)]
pub(crate) struct AuthArgs {
    #[command(subcommand)]
    pub(crate) command: AuthCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Store a key, read from standard input; a terminal does not show it
    Set {
        /// The provider's name, as for `--provider`
        provider: String,
    },
    /// List the providers with a key; shows no key
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Remove a key
    Rm {
        /// The provider
        provider: String,
    },
}

const UPDATE_EXAMPLES: &str = "\
Examples:
  hookhost update
  hookhost update --json | jq -r .version";

/// Show the version, and how to update hookhost
///
/// hookhost never updates itself.
#[derive(Debug, Args)]
#[command(after_help = UPDATE_EXAMPLES)]
pub(crate) struct UpdateArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const TOOLS_EXAMPLES: &str = "\
Examples:
  hookhost tools
  hookhost tools --json | jq -r '.tools[] | .name'";

/// Show the tools that hookhost's own agent offers its model
///
/// Each tool comes from hookhost itself, from a plugin or from an MCP server.
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

/// Show or remove the compiled code of plugins
///
/// Plugins are compiled again when they are needed.
#[derive(Debug, Args)]
#[command(after_help = CACHE_EXAMPLES)]
pub(crate) struct CacheArgs {
    /// Remove all compiled code
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

The payload is a JSON object of the event's parameters, as wit/0.1/events.wit
names them; `hookhost dispatch EVENT` without a payload shows an example.
In a tool call `origin` can be left out; `action` is worked out. A key `session`
can give cwd, workspace, agent, interactive, turn, depth, id, parent and
root, the session that the user began.";

/// Try your rules on a shell command or on another event
///
/// The command does not run. For an event, the result is one JSON object.
#[derive(Debug, Args)]
#[command(after_help = DISPATCH_EXAMPLES, group(ArgGroup::new("dispatched").required(true).args(["event", "shell"])))]
pub(crate) struct DispatchArgs {
    /// The event, such as before-tool-call
    #[arg(value_name = "EVENT", value_parser = event(), hide_possible_values = true)]
    pub(crate) event: Option<EventKind>,

    /// A file with the event's payload, as JSON; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "shell")]
    pub(crate) payload: Option<PathBuf>,

    /// A shell command, in place of an event. Prints the decision, each matching rule with the part of the command that it is about, and
    /// the command that would run. The command is not run
    #[arg(long, value_name = "COMMAND", conflicts_with = "event", allow_hyphen_values = true)]
    pub(crate) shell: Option<OsString>,

    /// Print the JSON object also for a command
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) configuration: ConfigArgs,

    #[command(flatten)]
    pub(crate) approve: ApproveArgs,
}

/// Parses the name of an event. The error for an unknown name suggests the nearest one.
fn event() -> impl TypedValueParser<Value = EventKind> {
    let names = PossibleValuesParser::new(EventKind::ALL.iter().map(|event| event.name()));
    names.try_map(|name| EventKind::from_name(&name).ok_or("there is no such event"))
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
