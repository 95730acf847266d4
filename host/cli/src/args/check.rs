//! The command line of `check`.

use clap::Args;
use std::path::PathBuf;

const CHECK_EXAMPLES: &str = "\
Examples:
  hookhost check
  hookhost check --base ../main --sarif hookhost.sarif";

/// Check a repository's rules, and the hooks it gives to agents
#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct CheckArgs {
    /// The root of the repository [default: the working directory]
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,

    /// Another checkout of the repository, such as the target of a pull request; only changes since then are reported
    #[arg(long, value_name = "DIR")]
    pub(crate) base: Option<PathBuf>,

    /// Also write the findings into this file, in the format SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    pub(crate) sarif: Option<PathBuf>,
}
