//! `hookhost rule reject`: removes a proposal.

use crate::args::RejectArgs;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::output::{self, one_line};
use crate::proposals;

pub(super) fn run(args: &RejectArgs) -> Result<Exit, CliError> {
    inside_agent::refuse("rejects a proposal")?;
    let places = configuration::places()?;
    let proposal = proposals::find(&places, Some(&args.name))?;
    proposals::remove(&places, &proposal)?;
    output::print(&format!("The proposal {} is removed. No rule has changed.\n", one_line(&proposal.name)))?;
    Ok(Exit::Done)
}
