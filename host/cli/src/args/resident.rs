//! The command line of the commands for people's own agents: the hook, the resident host, and the questions that wait for a person.

use clap::{Args, Subcommand, ValueEnum};
use hookhost_agents::plan::OnFailure;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const HOOK_EXAMPLES: &str = "\
Examples:
  hookhost hook claude-code < message.json
  hookhost hook codex PreToolUse < message.json

Agents call the small program hookhost-hook, which does the same and starts faster.
`hookhost install` writes it into the agent's files.";

/// Answer one call of an agent's hook, from standard input
///
/// The hook in the settings of an agent does this. The reply has the agent's own format.
#[derive(Debug, Args)]
#[command(after_help = HOOK_EXAMPLES)]
pub(crate) struct HookArgs {
    /// The agent, such as claude-code
    pub(crate) agent: String,

    /// The hook point, if the message does not name it
    pub(crate) point: Option<String>,

    /// The reply if the resident host does not answer
    #[arg(long, value_name = "HOW", default_value = "deny")]
    pub(crate) on_failure: FailureArg,
}

/// The reply if the resident host does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailureArg {
    /// A denial.
    #[default]
    Deny,
    /// No decision: the agent continues.
    Allow,
}

impl From<FailureArg> for OnFailure {
    fn from(how: FailureArg) -> Self {
        match how {
            FailureArg::Deny => Self::Deny,
            FailureArg::Allow => Self::Allow,
        }
    }
}

const UI_EXAMPLES: &str = "\
Examples:
  hookhost ui
  hookhost ui --no-open";

/// Open the page: what happens now, why, and what waits for you
///
/// The page is part of the resident host on this machine. The link opens it once, within a minute.
#[derive(Debug, Args)]
#[command(after_help = UI_EXAMPLES)]
pub(crate) struct UiArgs {
    /// Only print the link
    #[arg(long)]
    pub(crate) no_open: bool,

    /// Print the address of the same page without a script, and a code to type there
    #[arg(long)]
    pub(crate) plain: bool,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  hookhost serve
  hookhost serve --http 127.0.0.1:8750
  hookhost serve --status | jq .rules
  hookhost serve --stop";

/// Run the resident host, the process that answers all your agents
///
/// You need this only for HTTP: otherwise the first hook starts the resident host.
#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct ServeArgs {
    /// End after this time without events [default: never; 600 if a hook has started it]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) idle: Option<Duration>,

    /// Also serve HTTP hooks, gateways and MCP clients at this address. They need a token; the command prints the token's file
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,

    /// Accept requests of the Agent Control Standard at /acs without the token, if they are signed with the secret in this file
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) acs_key: Option<PathBuf>,

    /// End the resident host when it has decided on all pending events
    #[arg(long, conflicts_with_all = ["idle", "http", "status"])]
    pub(crate) stop: bool,

    /// Print the state of the resident host, and the rules that apply here, as JSON
    #[arg(long, conflicts_with_all = ["idle", "http"])]
    pub(crate) status: bool,

    /// For hooks: print nothing, and end if another resident host runs
    #[arg(long, hide = true)]
    pub(crate) on_demand: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "it is not an IP address with a port: write 127.0.0.1:8750, or a port of your choice".to_owned())
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(0) => Err("0 seconds would end it at once".to_owned()),
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => Err("it is not a number of seconds".to_owned()),
    }
}

const ALLOW_ONCE_EXAMPLES: &str = "\
Examples:
  hookhost approvals
  hookhost allow-once 1f3a9c07";

/// Let exactly one rejected call pass once
///
/// The call must come within ten minutes, from the same session, under the same rules.
#[derive(Debug, Args)]
#[command(after_help = ALLOW_ONCE_EXAMPLES)]
pub(crate) struct AllowOnceArgs {
    /// The code of the rejection, as your agent or `hookhost approvals` shows it
    pub(crate) code: Option<String>,
}

const PASSKEY_EXAMPLES: &str = "\
Examples:
  hookhost passkey
  hookhost passkey add
  hookhost passkey remove";

/// Let only a passkey of yours say yes to an agent
///
/// Without a subcommand, lists the registered passkeys.
#[derive(Debug, Args)]
#[command(after_help = PASSKEY_EXAMPLES)]
pub(crate) struct PasskeyArgs {
    #[command(subcommand)]
    pub(crate) command: Option<PasskeyCommand>,

    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PasskeyCommand {
    /// Register a passkey on the page; each yes needs one from then on
    Add {
        /// Only print the link
        #[arg(long)]
        no_open: bool,
    },
    /// Remove a passkey on the page, which needs a registered one
    Remove {
        /// Only print the link
        #[arg(long)]
        no_open: bool,
    },
}

const APPROVALS_EXAMPLES: &str = "\
Examples:
  hookhost approvals
  hookhost approvals show 1f3a9c07
  hookhost approvals yes 1f3a9c07
  hookhost approvals no 1f3a9c07 --because 'not on a Friday'";

/// Answer the questions that an agent could not show you
///
/// A question that you do not answer in time counts as no.
#[derive(Debug, Args)]
#[command(after_help = APPROVALS_EXAMPLES)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ApprovalsCommand>,

    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// Show exactly what would run, and who asks
    Show {
        /// The question's code, as `hookhost approvals` shows it
        code: String,
    },
    /// Let exactly this call run, once
    Yes {
        /// The question's code, as `hookhost approvals` shows it
        code: String,
    },
    /// Reject the call
    No {
        /// The question's code, as `hookhost approvals` shows it
        code: String,
        /// The reason for the model
        #[arg(long, value_name = "TEXT")]
        because: Option<String>,
    },
}
