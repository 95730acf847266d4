//! Checks that other programs get the records of the log.

use super::evidence::{is_older, time_after};
use crate::audit_log;
use crate::exit::CliError;
use crate::output::{one_line, time};
use crate::telemetry::{failed, settings, sinks};
use hookhost::store::Log;
use hookhost_agents::install::check::Check;
use hookhost_telemetry::positions::SinkState;
use hookhost_telemetry::{Environment, states};
use std::time::Duration;

/// Time after which a record should be sent. The sinks of a resident host follow the log within seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns a check of each sink. There are none if no sink is configured.
pub(super) fn checks(environment: &Environment) -> Vec<Check> {
    read(environment).unwrap_or_else(|error| {
        let says = format!("no record is sent to other programs: {}", one_line(&error.message()));
        vec![Check::problem("telemetry", says, "repair [telemetry] in your hookhost.toml")]
    })
}

fn read(environment: &Environment) -> Result<Vec<Check>, CliError> {
    let names = sinks(&settings()?, environment)?.names();
    if names.is_empty() || !audit_log::is_there()? {
        return Ok(names.into_iter().map(|name| check(name, None, 0, |_| None)).collect());
    }
    let path = audit_log::path()?;
    let log = Log::open(&path).map_err(audit_log::unreadable)?.only_stored();
    let (states, last) = states(&path).map_err(failed)?;
    let check = |name: &str| {
        let state = states.iter().find(|state| state.name == name);
        check(name, state, last, |seq| time_after(&log, seq))
    };
    Ok(names.into_iter().map(check).collect())
}

/// Returns the check of a sink. `last` is the number of the log's last record, and `time_after` returns the time of the first record after
/// a number.
fn check(name: &str, state: Option<&SinkState>, last: u64, time_after: impl Fn(u64) -> Option<u64>) -> Check {
    let Some(state) = state else {
        return Check::unknown("telemetry", format!("{name} has not sent anything yet"), "hookhost telemetry flush");
    };
    let position = state.position.map(|position| position.seq);
    let behind = position.map_or(0, |position| last.saturating_sub(position));
    if let Some(error) = &state.error {
        let says = format!("{name} cannot send, and is {behind} records behind: {}", one_line(error));
        return Check::problem("telemetry", says, format!("hookhost telemetry test {name}"));
    }
    let next = position.filter(|_| behind > 0).and_then(time_after);
    match next.filter(|time| is_older(*time, PATIENCE)) {
        Some(oldest) => {
            let says = format!("{name} is {behind} records behind, since {}", time::minute(oldest));
            Check::problem("telemetry", says, "hookhost telemetry flush")
        }
        None => Check::ok("telemetry", format!("{name} gets the records of the log")),
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use hookhost_agents::install::check::CheckState;
    use hookhost_telemetry::positions::SinkState;
    use serde_json::{Value, json};

    fn state(error: Value) -> SinkState {
        let digest = "0".repeat(64);
        let position = json!({ "log": digest, "seq": 5, "hash": digest });
        serde_json::from_value(json!({ "name": "file", "position": position, "error": error })).unwrap()
    }

    #[test]
    fn a_sink_is_a_problem_if_it_has_an_error_or_is_behind_for_a_minute() {
        let now = jiff::Timestamp::now().as_millisecond().cast_unsigned();
        for (state, last, time, expected) in [
            (None, 9, 0, CheckState::Unknown),
            (Some(state(Value::Null)), 5, 0, CheckState::Ok),
            (Some(state(Value::Null)), 9, now - 30_000, CheckState::Ok),
            (Some(state(Value::Null)), 9, now - 90_000, CheckState::Problem),
            (Some(state(json!("refused"))), 5, now, CheckState::Problem),
        ] {
            let check = check("file", state.as_ref(), last, |_| Some(time));
            assert_eq!(check.state, expected, "{check:?}");
            assert_eq!(check.next.is_none(), expected == CheckState::Ok, "{check:?}");
        }
    }
}
