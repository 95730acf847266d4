//! Checks that other programs get the records of the log.

use crate::command::telemetry::{FLUSH, SinkRow, rows};
use crate::output::one_line;
use crate::telemetry::settings;
use hookhost_agents::install::check::Check;
use hookhost_telemetry::Environment;

/// Returns a check of each sink. There are none without a sink, or if the section is invalid, which another check reports.
pub(super) fn checks(environment: &Environment) -> Vec<Check> {
    if settings().is_err() {
        return Vec::new();
    }
    match rows(environment) {
        Ok(rows) => rows.iter().map(check).collect(),
        Err(error) => {
            let says = format!("the log is not sent to every other program: {}", one_line(&error.message()));
            vec![Check::problem("telemetry", says, "repair [telemetry] in your hookhost.toml")]
        }
    }
}

fn check(row: &SinkRow) -> Check {
    let SinkRow { name, state, behind, .. } = row;
    let behind = behind.unwrap_or_default();
    match (state, row.problem()) {
        (None, _) => Check::unknown("telemetry", format!("{name} has not sent anything yet"), FLUSH),
        (Some(state), Some(error)) if state.error.is_some() => {
            let says = format!("{name} cannot send, and is {behind} records behind: {}", one_line(&error));
            Check::problem("telemetry", says, format!("hookhost telemetry test {name}"))
        }
        (_, Some(problem)) => {
            Check::problem("telemetry", format!("{name} {problem}, and is {behind} records behind"), FLUSH)
        }
        (_, None) => Check::ok("telemetry", format!("{name} gets the records of the log")),
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::command::telemetry::{PATIENCE, SinkRow};
    use hookhost_agents::install::check::CheckState;
    use serde_json::{Value, json};

    #[test]
    fn a_sink_is_a_problem_if_it_has_an_error_or_is_behind_for_a_minute() {
        let now = hookhost_agents::clock::now();
        let state = |error: Value| serde_json::from_value(json!({ "name": "file", "error": error })).ok();
        for (state, behind, waiting_since, expected) in [
            (None, None, None, CheckState::Unknown),
            (state(Value::Null), Some(0), None, CheckState::Ok),
            (state(Value::Null), Some(4), Some(now - 30_000), CheckState::Ok),
            (state(Value::Null), Some(4), Some(now - 90_000), CheckState::Problem),
            (state(json!("refused")), Some(4), Some(now), CheckState::Problem),
        ] {
            let row = SinkRow { name: "file".to_owned(), state, behind, waiting_since, patience: PATIENCE };
            let check = check(&row);
            assert_eq!(check.state, expected, "{check:?}");
            assert_eq!(check.next.is_none(), expected == CheckState::Ok, "{check:?}");
        }
    }
}
