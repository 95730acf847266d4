//! Checks that other programs get the records of the log.

use crate::command::telemetry::{SinkRow, rows};
use crate::output::one_line;
use hookhost_agents::install::check::Check;

/// Returns the check of the sinks, or nothing if none is configured.
pub(super) fn check() -> Option<Check> {
    let rows = match rows() {
        Ok(rows) => rows,
        Err(error) => {
            let says = format!("no record is sent to other programs: {}", one_line(&error.message()));
            return Some(Check::problem("telemetry", says, "repair [telemetry] in your hookhost.toml"));
        }
    };
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let failing = |row: &SinkRow| Some((row.name.clone(), row.behind?, row.state.as_ref()?.error.clone()?));
    Some(match rows.iter().find_map(failing) {
        _ if rows.is_empty() => return None,
        Some((name, behind, error)) => {
            let says = format!("{name} cannot send, and is {behind} records behind: {}", one_line(&error));
            Check::problem("telemetry", says, "hookhost telemetry test")
        }
        None => Check::ok("telemetry", format!("the log is sent to other programs: {}", names.join(", "))),
    })
}
