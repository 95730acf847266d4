//! The command lines of `test` and `record`.

use super::period::period;
use super::{ConfigArgs, LogArgs};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

const TEST_EXAMPLES: &str = "\
Examples:
  hookhost test
  hookhost test --config hookhost.toml --junit report.xml
  hookhost test cases/git.toml --update
  hookhost test --watch

A case file, such as cases/git.toml:
  [[case]]
  name = \"a forced push is rejected\"
  shell = \"git push -f origin main\"
  outcome = \"rejected\"";

/// Try the examples of your rules, and your case files
///
/// Asks the plugins about the events in the files `cases/*.toml`, each case in a new session, and compares the outcomes. Nobody is asked, and
/// nothing is recorded.
#[derive(Debug, Args)]
#[command(after_help = TEST_EXAMPLES)]
pub(crate) struct TestArgs {
    /// The directory that contains `cases`, one case file, or a `*.rules.toml` whose examples are tried [default: the directory of each
    /// configuration file that applies]
    #[arg(value_name = "DIRECTORY")]
    pub(crate) path: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) configuration: ConfigArgs,

    /// Write the actual outcomes into the case files. Comments and the rest of the files stay
    #[arg(long, conflicts_with = "watch")]
    pub(crate) update: bool,

    /// Also show the verdicts by event, and which plugins and rules no example and no case has reached
    #[arg(long)]
    pub(crate) coverage: bool,

    /// Also write the results into this file, as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// Test again whenever a case file, a configuration file or a plugin changes, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,

    /// Print each rule in words and each case as one JSON object per line, and then the summary
    #[arg(long)]
    pub(crate) json: bool,
}

const RECORD_EXAMPLES: &str = "\
Examples:
  hookhost record --last 1h -o cases/today.toml
  hookhost record --agent claude-code --last 2d
  hookhost record --session claude-code:5f2c > cases/refactoring.toml";

/// Make a case file of what your agents did
///
/// Writes each tool call and prompt in the log with its outcome, one case for each session. Keys and tokens are masked.
#[derive(Debug, Args)]
#[command(after_help = RECORD_EXAMPLES)]
pub(crate) struct RecordArgs {
    /// Only sessions of this agent, such as claude-code
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,

    /// Only this session, and its sub-agents
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,

    /// Only events of this period, such as 30m, 1h or 7d [default: 24h, or the whole of the session]
    #[arg(long, value_name = "TIME", value_parser = period)]
    pub(crate) last: Option<Duration>,

    /// The case file to write, which must be new [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) log: LogArgs,
}
