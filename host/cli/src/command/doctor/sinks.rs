//! Checks that other programs get the records of the log.

use crate::command::telemetry::{FLUSH, SinkRow, rows};
use crate::output::one_line;
use crate::telemetry::settings;
use hookhost_agents::install::check::Check;

/// Returns the check of the sinks. There is none without a sink, or if the section is invalid, which another check reports.
pub(super) fn check() -> Option<Check> {
    settings().ok()?;
    let rows = match rows() {
        Ok(rows) => rows,
        Err(error) => {
            let says = format!("the log is not sent to every other program: {}", one_line(&error.message()));
            return Some(Check::problem("telemetry", says, "repair [telemetry] in your hookhost.toml"));
        }
    };
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let failing =
        |row: &SinkRow| Some((row.name.clone(), row.behind?, row.problem()?, row.state.as_ref()?.error.is_some()));
    Some(match rows.iter().find_map(failing) {
        _ if rows.is_empty() => return None,
        Some((name, behind, error, true)) => {
            let says = format!("{name} cannot send, and is {behind} records behind: {}", one_line(&error));
            Check::problem("telemetry", says, "hookhost telemetry test")
        }
        Some((name, behind, problem, false)) => {
            Check::problem("telemetry", format!("{name} {problem}, and is {behind} records behind"), FLUSH)
        }
        None => Check::ok("telemetry", format!("the log is sent to other programs: {}", names.join(", "))),
    })
}
