//! `hookhost telemetry skip SINK`: gives up the records that a sink has not taken yet.

use super::{configured, known, rows};
use crate::exit::{CliError, Exit};
use crate::telemetry::failed;
use crate::{audit_log, inside_agent, output};
use hookhost_telemetry::Environment;

pub(super) fn run(sink: &str, is_confirmed: bool) -> Result<Exit, CliError> {
    inside_agent::refuse("gives up records of the log")?;
    known(&configured()?, Some(sink))?;
    let behind = rows(&Environment::of_process())?
        .into_iter()
        .find(|row| row.name == sink)
        .and_then(|row| row.behind)
        .unwrap_or(0);
    if behind == 0 {
        output::print(&format!("{sink} has taken every record.\n"))?;
        return Ok(Exit::Done);
    }
    let question = format!("{sink} has not taken {behind} records, and will never get them. Give them up?");
    if !is_confirmed && !output::confirm(&question, " whether to give the records up")? {
        return Ok(Exit::Rejected);
    }
    hookhost_telemetry::skip(&audit_log::path()?, sink).map_err(failed)?;
    output::print(&format!("{sink} goes on after the last record; {behind} were given up.\n"))?;
    Ok(Exit::Done)
}
