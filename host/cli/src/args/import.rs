//! The command lines of `import`, `rule export` and `suggest`.

use super::LogArgs;
use super::period::period;
use clap::Args;
use clap::builder::PossibleValuesParser;
use hookhost_exec::export::EXPORTERS;
use hookhost_imports::FORMATS;
use std::path::PathBuf;
use std::time::Duration;

const IMPORT_EXAMPLES: &str = "\
Examples:
  hookhost import claude-code
  hookhost import codex ~/.codex/rules/default.rules -o rules.toml
  hookhost import hookify .claude/hookify.no-rm.local.md";

/// Turn the rules that an agent has of its own into rules in words
///
/// Prints [[rule]] tables with examples, each of which was tried. Names each rule that has no equal. Nothing takes effect.
#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub(crate) struct ImportArgs {
    /// The agent, or the plugin of an agent
    #[arg(value_name = "FORMAT", value_parser = formats())]
    pub(crate) format: String,

    /// A file with its rules [default: its files of yours and of this project]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Write the tables into this file, which must be new
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  hookhost rule export claude-code
  hookhost rule export codex >> ~/.codex/rules/hookhost.rules
  hookhost rule export cursor --sandbox";

/// Print your rules in words as rules of an agent itself, or as settings of its sandbox
///
/// Names each rule or path that the agent cannot express exactly. `hookhost on` writes the settings of the sandbox into your files of the
/// agent.
#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct ExportArgs {
    /// The agent
    #[arg(value_name = "AGENT", value_parser = PossibleValuesParser::new(EXPORTERS.iter().map(|(name, _)| *name)))]
    pub(crate) agent: String,

    /// Print settings of the agent's own sandbox, with the paths that `hookhost exec` guards
    #[arg(long)]
    pub(crate) sandbox: bool,

    /// With --sandbox: the paths in this project, for the project's file
    #[arg(long, requires = "sandbox")]
    pub(crate) project: bool,
}

const SUGGEST_EXAMPLES: &str = "\
Examples:
  hookhost suggest
  hookhost suggest --last 7d --times 5
  hookhost suggest --json | jq -r '.rules[].why'";

/// Propose rules that would have saved you questions
///
/// Reads your answers in the log. What you always allowed becomes an exception, and what you always rejected becomes a rule. Prints
/// [[rule]] tables with the calls that led to them. Nothing takes effect.
#[derive(Debug, Args)]
#[command(after_help = SUGGEST_EXAMPLES)]
pub(crate) struct SuggestArgs {
    /// The length of the period that ends now, such as 12h, 7d or 4w
    #[arg(long, value_name = "TIME", value_parser = period, default_value = "30d")]
    pub(crate) last: Duration,

    /// How often you must have given the same answer
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) times: u64,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) log: LogArgs,
}

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMATS.iter().map(|format| format.name))
}
