//! `hookhost dispatch`: sends one event through the chain of plugins and prints the result as JSON. For a shell command (`--shell`) it
//! prints a verdict for people.

mod payload;
mod snippet;
mod verdict;

pub(super) use verdict::findings;

use crate::args::{ConfigArgs, DispatchArgs};
use crate::audit_log;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::interrupt;
use crate::loading;
use crate::output::{self, quoted};
use crate::terminal_approver;
use anyhow::anyhow;
use hookhost::contract::{Cause, Rejection};
use hookhost::session::{DispatchOptions, SessionSpec};
use hookhost::{Config, FailureKind, Host, RecordedOutcome, RuleSource, Session};
use payload::Payload;
use serde_json::{Map, Value, json};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Maximum number of concurrent plugin calls. Two are enough, because plugins are called one after another, and only one observing plugin
/// can run at the same time.
const AT_ONCE: NonZeroU32 = NonZeroU32::new(2).unwrap();

pub(crate) async fn run(args: &DispatchArgs) -> Result<Exit, CliError> {
    let payload = match (&args.shell, args.event) {
        (Some(command), _) => Payload::of_command(command)?,
        (None, Some(event)) => Payload::read(event, args.payload.as_deref())?,
        (None, None) => return Err(CliError::usage("name an event, or a command with --shell")),
    };
    let event = payload.event();
    let form = if args.shell.is_some() && !args.json { Form::Verdict } else { Form::Json };
    let cwd = configuration::cwd()?;
    let mut config = loading::config(&args.configuration, &cwd)?;
    config.limit_concurrent_calls(AT_ONCE);
    let approver = terminal_approver::of(&args.approve);
    let (spec, turn) = payload.session(&cwd, approver.is_some())?;
    let host = loading::recording_host(config.clone(), approver).await?;
    let rules = Arc::new(FileRules { host: host.clone(), args: args.configuration.clone(), cwd, config });
    host.rules().follow(&rules);
    let cancel = CancellationToken::new();
    let _watch = interrupt::watch(cancel.clone(), Some(host.clone()))?;
    let ended = tokio::select! {
        ended = settle(&host, spec, turn, payload, form) => ended,
        () = cancel.cancelled() => {
            Err(CliError::new(Exit::Interrupted, anyhow!("interrupted before the decision about {event}")))
        }
    };
    audit_log::finish(&host, ended).await
}

/// The rules in the configuration files, which are read again when a person approves a call.
struct FileRules {
    host: Host,
    args: ConfigArgs,
    cwd: PathBuf,
    config: Config,
}

impl RuleSource for FileRules {
    fn refresh(&self) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(async {
            let again = loading::config_again(&self.args, &self.cwd, &self.config);
            let (mut config, _) = again.map_err(|stop| stop.message())?;
            config.limit_concurrent_calls(AT_ONCE);
            loading::reload(&self.host, &config).await.map(drop).map_err(|stop| stop.message())
        })
    }
}

/// The format of the output.
#[derive(Clone, Copy)]
enum Form {
    Json,
    Verdict,
}

/// Dispatches the event in a new session, and prints the outcome.
async fn settle(host: &Host, spec: SessionSpec, turn: u32, payload: Payload, form: Form) -> Result<Exit, CliError> {
    // The payload describes the session, so the description can be invalid.
    let session = host.open_session(spec).map_err(|error| CliError::usage(error.to_string()))?;
    session.set_turn(turn);
    let event = payload.event();
    let parameters = payload.parameters();
    // A user who tries a plugin wants to see its effects, so wait for observing plugins. The user may also have misspelt a field, so
    // unknown fields are an error.
    let mut options = DispatchOptions::awaiting_observers();
    options.refuse_unknown_fields = true;
    let settled = session.dispatch_event(event, parameters, options).await;
    let settled = settled.map_err(|error| payload::wrong(event, &error))?;
    match form {
        Form::Json => output::print_json(&as_json(&settled, &session))?,
        Form::Verdict => {
            output::print(&verdict::describe(&settled))?;
            session
                .take_notices()
                .iter()
                .for_each(|notice| output::note(&format!("note: {}\n", output::one_line(&notice.text))));
        }
    }
    Ok(exit(&settled))
}

/// Returns the record of the event as JSON. The members are in an order that suits a person.
fn as_json(settled: &RecordedOutcome<Value>, session: &Session) -> Value {
    let RecordedOutcome { outcome, record, .. } = settled;
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("event", json!(record.event));
    put("outcome", json!(settled.kind()));
    if let Some(cause) = cause(outcome) {
        put("cause", json!(cause));
    }
    let rejection = rejection(outcome);
    put("by", json!(rejection.as_ref().map_or(&record.by, |rejection| &rejection.by)));
    if let Some(rejection) = &rejection {
        put("reason", json!(rejection.to_string()));
    }
    if let Some(refusal) = outcome.get("refusal") {
        put("refusal", refusal.clone());
    }
    if let Some(response) = outcome.get("response") {
        put("response", response.clone());
    }
    if outcome.is_array() {
        put("tasks", outcome.clone());
    }
    if !record.questions.is_empty() {
        put("questions", json!(record.questions));
        put("answer", json!(settled.answer.as_ref().map(|answer| &answer.answer)));
    }
    put("changed-by", json!(record.changed_by));
    put("original", json!(record.original));
    put("final", last(settled));
    put("calls", json!(record.calls));
    put("not-matched", json!(record.not_matched));
    put("reminders", json!(session.reminders()));
    put("notices", session.take_notices().into_iter().map(|notice| notice.text).collect());
    put("id", json!(record.id));
    put("session", json!(record.header.session));
    put("time", json!(record.header.time));
    Value::Object(object)
}

/// If the outcome is a rejection, returns it. The outcome can be newer than the record, because a person can answer after the record was
/// written.
fn rejection(outcome: &Value) -> Option<Rejection> {
    serde_json::from_value(outcome.clone()).ok()
}

/// Returns the value after all changes, or `null` if there is no value.
fn last(settled: &RecordedOutcome<Value>) -> Value {
    let RecordedOutcome { record, .. } = settled;
    if settled.kind().is_no() { Value::Null } else { json!(record.last.as_ref().unwrap_or(&record.original)) }
}

/// Returns the cause of a rejection, in one word.
fn cause(outcome: &Value) -> Option<&'static str> {
    Some(match rejection(outcome)?.cause {
        Cause::Verdict => "verdict",
        Cause::Disagreement => "disagreement",
        Cause::NotApproved => "not-approved",
        Cause::Overridable => "overridable",
        Cause::TooManyQuestions => "too-many-questions",
        Cause::NotRecorded => "not-recorded",
        Cause::Ended => "ended",
        Cause::NoRuntime => "no-runtime",
        Cause::NoPlugin => "no-plugin",
        Cause::Invalid => "invalid",
        Cause::Failed(kind) if kind.is_timeout() => "timed-out",
        Cause::Failed(FailureKind::Overloaded) => "overloaded",
        Cause::Failed(FailureKind::Oversized) => "oversized",
        _ => "failed",
    })
}

fn exit(settled: &RecordedOutcome<Value>) -> Exit {
    match cause(&settled.outcome) {
        None => Exit::Done,
        Some("failed" | "timed-out" | "overloaded" | "oversized") => Exit::PluginFailed,
        // No plugin and no person rejected the event. The system failed.
        Some("not-recorded") => Exit::Failed,
        Some(_) => Exit::Rejected,
    }
}

/// Returns the shell command that sends this payload.
pub(super) fn command(event: hookhost::contract::EventKind, payload: &str) -> String {
    format!("echo {} | hookhost dispatch {event} --payload -", quoted(payload))
}
