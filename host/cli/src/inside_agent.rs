//! Refuses commands that loosen rules if an agent has started this process.

use crate::exit::{CliError, Exit};
use crate::output;
use anyhow::anyhow;
use hookhost_agents::ancestry::AgentSign;

/// Refuses a command that loosens rules if an agent has started it. `does` completes the sentence "a command that …", such as
/// `allows a plugin`.
pub(crate) fn refuse(does: &str) -> Result<(), CliError> {
    let Some(sign) = AgentSign::of_this_process() else { return Ok(()) };
    let error = anyhow!("this runs {sign}, and a command that {does} is for a person: nothing was changed");
    let words = std::env::args_os().skip(1).map(|word| output::quoted(&word.to_string_lossy())).collect::<Vec<_>>();
    let command = format!("hookhost {}, in a terminal that no agent has opened", words.join(" "));
    Err(CliError::new(Exit::Rejected, error).advise(command))
}
