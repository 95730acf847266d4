//! The command lines of `audit`, `why`, `report` and `replay`.

use super::period::period;
use super::{ConfigArgs, event};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use hookhost::config::Digest;
use hookhost::contract::{EventKind, OutcomeKind};
use std::path::PathBuf;
use std::time::Duration;

const AUDIT_EXAMPLES: &str = "\
Examples:
  hookhost audit show --outcome rejected
  hookhost audit tail --follow
  hookhost audit verify
  hookhost audit anchor ~/anchors
  hookhost audit show --all --json > log.jsonl && hookhost audit verify --log log.jsonl";

/// Show what agents did and what hookhost decided
#[derive(Debug, Args)]
#[command(after_help = AUDIT_EXAMPLES)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    Show(ShowArgs),
    Tail(TailArgs),
    Verify(VerifyArgs),
    Anchor(AnchorArgs),
    Archive(ArchiveArgs),
}

/// The log to read.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// The log: a database, or an export as JSON Lines [default: your own, hookhost.db in the state directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
}

/// The records to show: those that match all flags.
#[derive(Debug, Args)]
pub(crate) struct FilterArgs {
    #[command(flatten)]
    pub(crate) log: LogArgs,

    /// Only records of the session with this identifier
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,

    /// Only records about this event
    #[arg(long, value_name = "EVENT", value_parser = event(), hide_possible_values = true)]
    pub(crate) event: Option<EventKind>,

    /// Only records of calls of this plugin
    #[arg(long, value_name = "NAME")]
    pub(crate) plugin: Option<String>,

    /// Only records with this outcome
    #[arg(long, value_name = "OUTCOME", value_parser = outcome())]
    pub(crate) outcome: Option<OutcomeKind>,

    /// Print the records as they are stored, one JSON object per line. `--log` and `replay` read this export
    #[arg(long)]
    pub(crate) json: bool,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  hookhost audit show 5
  hookhost audit show --all --session codex:0199 --plugin path-guard
  hookhost audit show --all --json > log.jsonl";

/// Show the last records, oldest first
#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub(crate) struct ShowArgs {
    /// Number of records
    #[arg(default_value_t = 20, value_name = "N")]
    pub(crate) count: usize,

    /// All records
    #[arg(long, conflicts_with = "count")]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

const TAIL_EXAMPLES: &str = "\
Examples:
  hookhost audit tail --follow
  hookhost audit tail -n 0 -f --outcome rejected --json | jq -r .reason";

/// Show the last records, and with --follow each new one
#[derive(Debug, Args)]
#[command(after_help = TAIL_EXAMPLES)]
pub(crate) struct TailArgs {
    /// Number of existing records to show
    #[arg(short = 'n', long = "lines", default_value_t = 10, value_name = "N")]
    pub(crate) count: usize,

    /// Wait for further records of any process, until Ctrl-C
    #[arg(short, long)]
    pub(crate) follow: bool,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  hookhost audit verify
  hookhost audit verify --json | jq -r .head >> /elsewhere/heads
  hookhost audit verify --head \"$(tail -n 1 /elsewhere/heads)\"";

/// Check that nobody has changed the log
///
/// Names each record that was changed, removed or moved.
#[derive(Debug, Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) log: LogArgs,

    /// A head that you noted elsewhere. The check fails if it is not in the log. Without a head, a log whose last records are missing passes
    #[arg(long, value_name = "HASH")]
    pub(crate) head: Option<Digest>,

    /// Anchors that `hookhost audit anchor` made: a git repository or a file. The check fails if a record is not the one that was anchored
    #[arg(long, value_name = "PATH")]
    pub(crate) anchors: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const ANCHOR_EXAMPLES: &str = "\
Examples:
  git init ~/anchors && hookhost audit anchor ~/anchors
  hookhost audit anchor /mnt/backup/anchors.jsonl
  hookhost audit verify --anchors ~/anchors";

/// Note the last record elsewhere, so that a change of the log is found later
///
/// Appends the number and the hash of the last record to a file, or commits them in a git repository. Choose a place that your agents cannot
/// write, or push the repository to another machine.
#[derive(Debug, Args)]
#[command(after_help = ANCHOR_EXAMPLES)]
pub(crate) struct AnchorArgs {
    /// A git repository, or a file [default: `anchor` of the section `[evidence]`]
    pub(crate) path: Option<PathBuf>,

    /// The database [default: your own, hookhost.db in the state directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
}

const ARCHIVE_EXAMPLES: &str = "\
Examples:
  hookhost audit archive --before 400d
  lzip -dc ~/.local/state/hookhost/hookhost.db-archive/log-2-20001.jsonl.lz | head -n 1";

/// Move old records from the log into compressed files beside it
///
/// Nothing is deleted: `hookhost audit verify` checks the chain through the files.
#[derive(Debug, Args)]
#[command(after_help = ARCHIVE_EXAMPLES)]
pub(crate) struct ArchiveArgs {
    /// Archive records that are older than this, such as 400d or 52w
    #[arg(long, value_name = "TIME", value_parser = period)]
    pub(crate) before: Duration,
}

const WHY_EXAMPLES: &str = "\
Examples:
  hookhost why
  hookhost why 42
  hookhost why last --json | jq .today
  hookhost why 42 --config stricter.toml";

/// Explain one decision: who was asked, and what they answered
///
/// Shows the rules that matched and what they changed, and what your rules of today would decide.
#[derive(Debug, Args)]
#[command(after_help = WHY_EXAMPLES)]
pub(crate) struct WhyArgs {
    /// The number of a record, the identifier of an event, or `last` for the last event [default: the last event that did not simply pass]
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,

    #[command(flatten)]
    pub(crate) configuration: ConfigArgs,

    #[command(flatten)]
    pub(crate) log: LogArgs,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const REPORT_EXAMPLES: &str = "\
Examples:
  hookhost report
  hookhost report --since 30d --md
  hookhost report --json | jq .asked";

/// Show what your rules did in the last days, on one screen
///
/// Counts the calls that were rejected, asked about and changed, by rule and by agent.
#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArgs {
    /// The length of the period that ends now, such as 12h, 7d or 4w
    #[arg(long, value_name = "TIME", value_parser = period, default_value = "7d")]
    pub(crate) since: Duration,

    /// Print Markdown, ready to post
    #[arg(long)]
    pub(crate) md: bool,

    /// Print one JSON object
    #[arg(long, conflicts_with = "md")]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) log: LogArgs,
}

const EVIDENCE_EXAMPLES: &str = "\
Examples:
  hookhost evidence --from 2026-01-01 --to 2026-03-31 --html evidence.html
  hookhost evidence --from 2026-01-01 --to 2026-03-31 --csv evidence
  hookhost evidence --from 2026-01-01 --json | jq .chain";

/// Export what auditors ask for: rules, decisions, approvals, gaps
///
/// The export says for which rules there is proof of when they were in force, and what the log does not show.
#[derive(Debug, Args)]
#[command(after_help = EVIDENCE_EXAMPLES)]
pub(crate) struct EvidenceArgs {
    /// The first day of the period, in UTC
    #[arg(long, value_name = "DATE")]
    pub(crate) from: jiff::civil::Date,

    /// The last day of the period, in UTC [default: today]
    #[arg(long, value_name = "DATE")]
    pub(crate) to: Option<jiff::civil::Date>,

    /// Write CSV files into this directory, which is made if it is missing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["json", "html"])]
    pub(crate) csv: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long, conflicts_with = "html")]
    pub(crate) json: bool,

    /// Write a page for a browser, ready to print
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Anchors to check the log against [default: `anchor` of the section `[evidence]`]
    #[arg(long, value_name = "PATH")]
    pub(crate) anchors: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) log: LogArgs,
}

const REPLAY_EXAMPLES: &str = "\
Examples:
  hookhost replay
  hookhost replay --plugin plugins/path_guard.wasm
  hookhost replay --with stricter.toml
  hookhost replay last-week.jsonl --config stricter.toml --json | jq -c .
  hookhost replay --from all --since 30d
  hookhost replay --from claude-code,codex --config stricter.toml";

/// Try rules on what agents did before
///
/// Asks the plugins again about the events in the log, or with --from about the calls in your agents' transcripts, and shows where the
/// outcome differs. No tool runs, and nothing is recorded.
#[derive(Debug, Args)]
#[command(after_help = REPLAY_EXAMPLES)]
pub(crate) struct ReplayArgs {
    /// The log: a database, or an export as JSON Lines [default: your own, hookhost.db in the state directory]
    pub(crate) log: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) configuration: ConfigArgs,

    /// Like --config, but list the events that differ by rule, each rule with the command that shows one
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    pub(crate) with: Option<PathBuf>,

    /// Replay without verification: a log that somebody has changed, or a part of a log
    #[arg(long)]
    pub(crate) unverified: bool,

    /// In place of a log, judge the tool calls in the transcripts on this disk: of all, or of claude-code, codex, copilot-cli, gemini-cli,
    /// opencode, pi, separated by commas
    #[arg(long, value_name = "AGENTS", value_delimiter = ',', value_parser = past_agent(), hide_possible_values = true,
        conflicts_with_all = ["log", "unverified"])]
    pub(crate) from: Vec<String>,

    /// Only calls of this period, such as 12h, 30d or 8w
    #[arg(long, value_name = "PERIOD", value_parser = period, default_value = "30d", requires = "from")]
    pub(crate) since: Duration,

    /// Print each difference, or each call that would not simply run, as one JSON object per line, and then the summary
    #[arg(long)]
    pub(crate) json: bool,
}

impl ReplayArgs {
    /// Returns the configuration to judge by.
    pub(crate) fn rules(&self) -> ConfigArgs {
        let ConfigArgs { config, plugins } = self.configuration.clone();
        ConfigArgs { config: config.or_else(|| self.with.clone()), plugins }
    }
}

/// Parses the name of an agent whose transcripts can be read.
fn past_agent() -> PossibleValuesParser {
    let names = hookhost_transcripts::adapters().into_iter().map(|adapter| adapter.agent().name);
    PossibleValuesParser::new(names.chain(["all"]))
}

fn outcome() -> impl TypedValueParser<Value = OutcomeKind> {
    let names = PossibleValuesParser::new(OutcomeKind::ALL.iter().map(|outcome| outcome.name()));
    names.try_map(|name| {
        OutcomeKind::ALL.iter().copied().find(|outcome| outcome.name() == name).ok_or("there is no such outcome")
    })
}
