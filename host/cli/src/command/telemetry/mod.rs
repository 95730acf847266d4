//! `hookhost telemetry`: shows how far each sink is, and changes what is sent.

mod off;
mod skip;
mod to;

use crate::args::{TelemetryArgs, TelemetryCommand};
use crate::audit_log;
use crate::exit::{CliError, Exit};
use crate::output::{
    self, one_line,
    style::{DIM, ERROR, GOOD, NAME},
    time,
};
use crate::telemetry::{failed, settings, sinks};
use hookhost_agents::clock::now;
use hookhost_telemetry::positions::SinkState;
use hookhost_telemetry::{Environment, Sinks, flush, states};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;

/// Time after which a record that a sink has not taken is a problem. A resident host sends a record within a second.
pub(in crate::command) const PATIENCE: Duration = Duration::from_secs(60);

/// The command that sends what waits, or says which process should.
pub(in crate::command) const FLUSH: &str = "hookhost telemetry flush";

/// Longest time of `hookhost telemetry flush`.
const FLUSH_TIME: Duration = Duration::from_secs(600);

/// The files of `host/telemetry/files`.
const RULES: &str = include_str!("../../../../telemetry/files/alerts.yml");
const DASHBOARD: &str = include_str!("../../../../telemetry/files/dashboard.json");

pub(crate) fn run(args: &TelemetryArgs) -> Result<Exit, CliError> {
    match &args.command {
        None => match &args.to {
            Some(url) => super::wait_here_for(to::run(url)),
            None => show(args.json),
        },
        Some(TelemetryCommand::Test { sink }) => super::wait_here_for(test(sink.as_deref())),
        Some(TelemetryCommand::Flush) => flush_all(),
        Some(TelemetryCommand::Off) => off::run(),
        Some(TelemetryCommand::Skip { sink, yes }) => skip::run(sink, *yes),
        Some(TelemetryCommand::Rules) => output::print(RULES).map(|()| Exit::Done),
        Some(TelemetryCommand::Dashboard) => output::print(DASHBOARD).map(|()| Exit::Done),
    }
}

/// Returns the sinks of the user's section and of the environment.
fn configured() -> Result<Sinks, CliError> {
    sinks(&settings()?, &Environment::of_process())
}

/// A sink with its state.
pub(in crate::command) struct SinkRow {
    pub(in crate::command) name: String,
    pub(in crate::command) state: Option<SinkState>,
    /// Number of records that the sink has not taken. `None` if it has never run.
    pub(in crate::command) behind: Option<u64>,
    /// Time of the first record that the sink has not taken, in milliseconds since the Unix epoch.
    pub(in crate::command) waiting_since: Option<u64>,
    /// Time that the sink may let a record wait.
    pub(in crate::command) patience: Duration,
}

impl SinkRow {
    /// Returns the problem of the sink, if it does not take the records.
    pub(in crate::command) fn problem(&self) -> Option<String> {
        let error = self.state.as_ref().and_then(|state| state.error.clone()).filter(|_| self.behind > Some(0));
        error.or_else(|| {
            let since = self.waiting_since?;
            let is_late = u128::from(now().saturating_sub(since)) > self.patience.as_millis();
            is_late.then(|| format!("takes no record since {}", time::minute(since)))
        })
    }
}

/// Returns each configured sink with its state.
pub(in crate::command) fn rows(environment: &Environment) -> Result<Vec<SinkRow>, CliError> {
    let sinks = sinks(&settings()?, environment)?;
    let log = if audit_log::is_there()? { Some(audit_log::open(None)?.only_stored()) } else { None };
    let (states, last) = if log.is_some() { states(&audit_log::path()?).map_err(failed)? } else { (Vec::new(), 0) };
    let row = |name: &str| {
        let state = states.iter().find(|state| state.name == name).cloned();
        let position = state.as_ref().and_then(|state| state.position);
        let behind = position.map(|position| last.saturating_sub(position.seq));
        let next = position.filter(|_| behind > Some(0));
        let waiting_since = next.and_then(|position| audit_log::time_after(log.as_ref()?, position.seq));
        SinkRow { name: name.to_owned(), state, behind, waiting_since, patience: PATIENCE + sinks.interval(name) }
    };
    Ok(sinks.names().into_iter().map(row).collect())
}

fn show(is_json: bool) -> Result<Exit, CliError> {
    let rows = rows(&Environment::of_process())?;
    if is_json {
        let rows = rows.iter().map(|row| {
            let SinkRow { name, state, behind, waiting_since, .. } = row;
            json!({
                "sink": name, "behind": behind, "state": state, "waiting-since": waiting_since, "problem": row.problem(),
            })
        });
        output::print_json(&Value::Array(rows.collect()))?;
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        let text = "Nothing is sent to other programs.\n";
        output::print(&format!(
            "{text}{DIM}hookhost telemetry --to URL sends the log to a receiver of OpenTelemetry{DIM:#}\n"
        ))?;
        return Ok(Exit::Done);
    }
    let mut text = format!("{DIM}{:14}{:>10}{:>10}{:>10}  state{DIM:#}\n", "sink", "sent", "behind", "given up");
    for row in &rows {
        let SinkRow { name, state, behind, .. } = row;
        let number = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
        let state = state.as_ref();
        let sent = number(state.map(|state| state.sent));
        let skipped = number(state.map(|state| state.skipped));
        let behind = number(*behind);
        let _ = write!(text, "{NAME}{name:14}{NAME:#}{sent:>10}{behind:>10}{skipped:>10}  ");
        let _ = match state.and_then(|state| Some((state, state.error.as_ref()?))) {
            Some((state, error)) => {
                let next = state.next_attempt.map(|next| format!("; next attempt {}", time::minute(next)));
                writeln!(text, "{ERROR}{}{ERROR:#}{}", one_line(error), next.unwrap_or_default())
            }
            None if state.is_none() => writeln!(text, "has not run yet"),
            None => match row.problem() {
                Some(problem) => writeln!(text, "{ERROR}{problem}{ERROR:#}; try: {FLUSH}"),
                None => writeln!(text, "{GOOD}well{GOOD:#}"),
            },
        };
        if let Some(seq) = state.and_then(|state| state.last_skipped) {
            let _ = writeln!(text, "{:14}{DIM}the last record that was given up: hookhost audit show {seq}{DIM:#}", "");
        }
    }
    output::print(&text)?;
    Ok(Exit::Done)
}

async fn test(only: Option<&str>) -> Result<Exit, CliError> {
    let configured = configured()?;
    known(&configured, only)?;
    let mut is_well = true;
    let mut text = String::new();
    for (name, result) in configured.test(only).await {
        is_well &= result.is_ok();
        let _ = match result {
            Ok(()) => writeln!(text, "{NAME}{name:14}{NAME:#}{GOOD}took the test{GOOD:#}"),
            Err(why) => writeln!(text, "{NAME}{name:14}{NAME:#}{ERROR}{}{ERROR:#}", one_line(&why)),
        };
    }
    output::print(&text)?;
    Ok(if is_well { Exit::Done } else { Exit::Failed })
}

/// Checks that a sink is configured.
fn known(sinks: &Sinks, named: Option<&str>) -> Result<(), CliError> {
    let names = sinks.names();
    match named {
        Some(name) if !names.contains(&name) => {
            let known =
                if names.is_empty() { "there is none".to_owned() } else { format!("there are {}", names.join(", ")) };
            Err(CliError::usage(format!("no sink `{}` is configured: {known}", one_line(name))))
        }
        None if names.is_empty() => Err(CliError::usage("no sink is configured").advise("hookhost telemetry --to URL")),
        _ => Ok(()),
    }
}

fn flush_all() -> Result<Exit, CliError> {
    let sinks = configured()?;
    known(&sinks, None)?;
    flush(sinks, &audit_log::path()?, FLUSH_TIME).map_err(failed)?;
    let is_complete = rows(&Environment::of_process())?
        .iter()
        .all(|row| row.state.as_ref().is_none_or(|state| state.error.is_none()));
    show(false)?;
    Ok(if is_complete { Exit::Done } else { Exit::Failed })
}
