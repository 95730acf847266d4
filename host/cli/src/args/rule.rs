//! The command line of `rule`.

use super::ExportArgs;
use super::agents::agent;
use super::on_off::length;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

const RULE_EXAMPLES: &str = "\
Examples:
  hookhost rule list
  hookhost rule list --ready
  hookhost rule add push-main env-files
  hookhost rule \"never push to main; ask before terraform apply; .env stays unread\"
  hookhost rule \"no curl\" --agent claude-code
  hookhost rule new
  hookhost rule off push-main --for 1h

How rules are written: hookhost help rules";

/// Make, list and change rules in words, the [[rule]] tables
///
/// A sentence is sent to a model, or to an agent on this machine, which writes the rules. hookhost tries them on their examples and on what
/// your agents did before, and asks you. Nothing that a model wrote is in force before your yes. `hookhost rule new` needs no model.
#[derive(Debug, Args)]
#[command(
    after_help = RULE_EXAMPLES,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    override_usage = "hookhost rule SENTENCE [OPTIONS]\n       hookhost rule COMMAND"
)]
pub(crate) struct RuleArgs {
    #[command(subcommand)]
    pub(crate) command: Option<RuleCommand>,

    #[command(flatten)]
    pub(crate) words: RuleWordsArgs,
}

/// A sentence, and who makes rules of it.
#[derive(Debug, Args)]
pub(crate) struct RuleWordsArgs {
    /// What the rules should do, in your words
    #[arg(value_name = "SENTENCE")]
    pub(crate) sentence: Vec<String>,

    /// The provider of the model, as for `hookhost run` [default: the first that is ready]
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,

    /// The model, as the provider calls it
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// A script to play in place of a model
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,

    /// Ask this agent in place of a model: claude-code, codex or gemini-cli
    #[arg(long, value_name = "AGENT", value_parser = agent(), hide_possible_values = true,
        conflicts_with_all = ["provider", "model", "script"])]
    pub(crate) agent: Option<String>,

    #[command(flatten)]
    pub(crate) accept: AcceptOptions,
}

/// How rules are put into force.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct AcceptOptions {
    /// Put the rules into force without asking
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Put them into force even if they would have stopped more than 1 in 20 of your agents' past calls
    #[arg(long)]
    pub(crate) insist: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RuleCommand {
    List(ListRulesArgs),
    Add(AddRuleArgs),
    Explain(ExplainArgs),
    Export(ExportArgs),
    New(NewRuleArgs),
    Propose(ProposeArgs),
    Proposals(ProposalsArgs),
    Accept(AcceptArgs),
    Reject(RejectArgs),
    Off(RuleOffArgs),
    On(RuleOnArgs),
    Remove(RemoveRuleArgs),
    #[command(hide = true)]
    Reference,
}

/// List the rules in words that apply here
#[derive(Debug, Args)]
pub(crate) struct ListRulesArgs {
    /// List the ready rules instead, which `hookhost rule add` puts into force
    #[arg(long)]
    pub(crate) ready: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const ADD_EXAMPLES: &str = "\
Examples:
  hookhost rule list --ready
  hookhost rule explain push-main
  hookhost rule add push-main env-files only-pnpm";

/// Put ready rules into force
///
/// Shows the change of your hookhost.toml, and what the rules would have stopped in the last 30 days. Then asks you. The rules are yours from
/// then on: change them in the file as you like.
#[derive(Debug, Args)]
#[command(after_help = ADD_EXAMPLES)]
pub(crate) struct AddRuleArgs {
    /// The ready rules
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,

    #[command(flatten)]
    pub(crate) accept: AcceptOptions,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  hookhost rule explain
  hookhost rule explain push-main
  hookhost rule explain git.reset_hard
  hookhost rule explain hookhost/secrets
  hookhost rule explain --json | jq -r '.catalogues[].rules[] | select(.labels[] == \"network\").id'
  hookhost rule explain --write rules";

/// Explain a rule with its examples, or list the rules of shell-guard
///
/// The examples are commands that the rule matches, and commands that it does not match.
#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct ExplainArgs {
    /// A rule in words, a ready rule, or a rule or a catalogue of shell-guard, such as `git.reset_hard` or `git` [default: a list of
    /// shell-guard's rules]
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,

    /// Write a Markdown page for each catalogue into this directory, which must be new or empty
    #[arg(long, value_name = "DIR", conflicts_with_all = ["id", "json"])]
    pub(crate) write: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write a rule by answering four questions
///
/// What is it about, what exactly, what is the answer, and an example of each kind. Each answer is checked. No model is needed.
#[derive(Debug, Args)]
pub(crate) struct NewRuleArgs {
    #[command(flatten)]
    pub(crate) accept: AcceptOptions,
}

const PROPOSE_EXAMPLES: &str = "\
Examples:
  hookhost rule propose rules.toml
  hookhost rule propose < rules.toml";

/// Propose rules that a person can accept
///
/// Checks the [[rule]] tables and their examples. Nothing is in force before a person runs `hookhost rule accept`. This is the one rule
/// command that an agent may use.
#[derive(Debug, Args)]
#[command(after_help = PROPOSE_EXAMPLES)]
pub(crate) struct ProposeArgs {
    /// A file of [[rule]] tables [default: the standard input]
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    pub(crate) file: PathBuf,
}

/// List the proposals that wait for you
#[derive(Debug, Args)]
pub(crate) struct ProposalsArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Put proposed rules into force
///
/// Shows the change of your hookhost.toml, and what the rules would have stopped in the last 30 days. Then asks you.
#[derive(Debug, Args)]
pub(crate) struct AcceptArgs {
    /// The proposal [default: the only one]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) options: AcceptOptions,
}

/// Remove a proposal
#[derive(Debug, Args)]
pub(crate) struct RejectArgs {
    /// The proposal
    pub(crate) name: String,
}

/// Leave a rule out for some time
///
/// The rule comes back by itself. The log, `doctor` and your agents say that it is off.
#[derive(Debug, Args)]
pub(crate) struct RuleOffArgs {
    /// The rule
    pub(crate) id: String,

    /// The time, such as 30s, 10m or 2h; at most 24h
    #[arg(long = "for", value_name = "TIME", value_parser = length)]
    pub(crate) time: Duration,
}

/// Put a rule back before its time is over
#[derive(Debug, Args)]
pub(crate) struct RuleOnArgs {
    /// The rule
    pub(crate) id: String,
}

/// Remove a rule from your hookhost.toml
///
/// Everything else in the file stays, with its comments.
#[derive(Debug, Args)]
pub(crate) struct RemoveRuleArgs {
    /// The rule
    pub(crate) id: String,
}
