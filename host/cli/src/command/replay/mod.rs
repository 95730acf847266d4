//! `hookhost replay`: asks plugins about what has already happened. With `--from`, these are the tool calls in the transcripts of the
//! user's agents, otherwise the recorded events of the log.

mod by_rule;
mod judge;
mod past;
mod recorded;
mod then;
mod verdicts;

pub(super) use judge::{PastQuery, judge};
pub(super) use past::rule_lines;
pub(super) use verdicts::{CallCounts, PastVerdicts};

use crate::args::ReplayArgs;
use crate::exit::{CliError, Exit};

pub(crate) async fn run(args: &ReplayArgs) -> Result<Exit, CliError> {
    if args.from.is_empty() { recorded::run(args).await } else { past::run(args).await }
}
