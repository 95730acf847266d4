//! The command line of `rule`.

use super::ExportArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

const RULE_EXAMPLES: &str = "\
Examples:
  hookhost rule explain
  hookhost rule explain git.reset_hard";

/// Explain the rules of the plugin shell-guard
#[derive(Debug, Args)]
#[command(after_help = RULE_EXAMPLES)]
pub(crate) struct RuleArgs {
    #[command(subcommand)]
    pub(crate) command: RuleCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RuleCommand {
    Explain(ExplainArgs),
    Export(ExportArgs),
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  hookhost rule explain
  hookhost rule explain git.reset_hard
  hookhost rule explain hookhost/secrets
  hookhost rule explain --json | jq -r '.catalogues[].rules[] | select(.labels[] == \"network\").id'
  hookhost rule explain --write rules";

/// List the rules, or explain one with examples
///
/// The examples are commands that the rule matches, and commands that it does not match.
#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct ExplainArgs {
    /// A rule or a catalogue, such as `git.reset_hard` or `git` [default: a list of all rules]
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,

    /// Write a Markdown page for each catalogue into this directory, which must be new or empty
    #[arg(long, value_name = "DIR", conflicts_with_all = ["id", "json"])]
    pub(crate) write: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
