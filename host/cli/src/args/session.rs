//! The command line of `session`.

use super::RunOptions;
use clap::{Args, Subcommand};

const SESSION_EXAMPLES: &str = "\
Examples:
  hookhost session list
  hookhost session show 01a201dc-d77f-70b2-8af5-ff0ebe8cbd93
  hookhost session resume 01a201dc-d77f-70b2-8af5-ff0ebe8cbd93 \"And now the tests\"
  hookhost session labels
  hookhost session list --json | jq -r '.[] | select(.status == \"error\").id'";

/// List, show, resume or remove sessions; show and remove labels
#[derive(Debug, Args)]
#[command(after_help = SESSION_EXAMPLES)]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    pub(crate) command: SessionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    List(ListArgs),
    Show(ShowSessionArgs),
    Resume(ResumeArgs),
    #[command(name = "rm")]
    Remove(RemoveArgs),
    Labels(LabelsArgs),
    Unlabel(UnlabelArgs),
}

const LIST_EXAMPLES: &str = "\
Examples:
  hookhost session list 5
  hookhost session list --all --json";

/// List the sessions, the most recently used first
#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct ListArgs {
    /// Number of sessions
    #[arg(default_value_t = 20, value_name = "N")]
    pub(crate) count: usize,

    /// All sessions, also those of sub-agents
    #[arg(long, conflicts_with = "count")]
    pub(crate) all: bool,

    /// Print one JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  hookhost session show 01a201dc-d77f-70b2-8af5-ff0ebe8cbd93 | less
  hookhost session show 01a201dc-d77f-70b2-8af5-ff0ebe8cbd93 --json | jq -r '.messages[-1].text'";

/// Show a session and its messages
#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub(crate) struct ShowSessionArgs {
    /// The session's id
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const RESUME_EXAMPLES: &str = "\
Examples:
  hookhost session resume 01a201dc-d77f-70b2-8af5-ff0ebe8cbd93 \"And now the tests\"
  hookhost session resume 01a201dc-d77f-70b2-8af5-ff0ebe8cbd93 --provider openai --model gpt-5.5";

/// Continue a session, as `run --session` does
///
/// Without a prompt, the interrupted task continues.
#[derive(Debug, Args)]
#[command(after_help = RESUME_EXAMPLES)]
pub(crate) struct ResumeArgs {
    /// The session's id
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// The agent's next task
    pub(crate) prompt: Option<String>,

    #[command(flatten)]
    pub(crate) options: RunOptions,
}

const REMOVE_EXAMPLES: &str = "\
Examples:
  hookhost session rm 01a201dc-d77f-70b2-8af5-ff0ebe8cbd93
  hookhost session rm 019a1fd9 019a1fe0";

/// Remove sessions and their messages; the audit log keeps their records
#[derive(Debug, Args)]
#[command(after_help = REMOVE_EXAMPLES)]
pub(crate) struct RemoveArgs {
    /// The sessions' ids
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
}

const LABELS_EXAMPLES: &str = "\
Examples:
  hookhost session labels
  hookhost session labels 01a201dc-d77f-70b2-8af5-ff0ebe8cbd93
  hookhost session labels --json | jq -r '.[] | select(.name == \"read:secret\").session'";

/// Show the labels of the sessions of all agents, and the call that added each
///
/// A session shares its labels with its sub-agents.
#[derive(Debug, Args)]
#[command(after_help = LABELS_EXAMPLES)]
pub(crate) struct LabelsArgs {
    /// Only the labels of this session
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,

    /// Print one JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

const UNLABEL_EXAMPLES: &str = "\
Examples:
  hookhost session unlabel 01a201dc-d77f-70b2-8af5-ff0ebe8cbd93 read:secret
  hookhost session unlabel 01a201dc-d77f-70b2-8af5-ff0ebe8cbd93";

/// Remove labels of a session, which needs your consent at a terminal
///
/// Rules that stop calls because of the label no longer do so in this session.
#[derive(Debug, Args)]
#[command(after_help = UNLABEL_EXAMPLES)]
pub(crate) struct UnlabelArgs {
    /// The session
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,

    /// The labels to remove; all of them if none is named
    #[arg(value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
}
