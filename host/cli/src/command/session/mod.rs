//! `hookhost session`: lists, shows and removes the agent's stored sessions. The subcommand `resume` is in the module
//! `run`.

pub(super) mod labels;
pub(super) mod unlabel;

use crate::args::{ListArgs, RemoveArgs, ShowSessionArgs};
use crate::command::run::report::used;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::output::{
    self, one_line, printable,
    style::{DIM, ERROR, NAME, WARNING},
    time::utc,
    truncate::{counted, cut, short},
};
use hookhost_agent::session_store::{
    DamagedLine, Ending, Header, SessionStore, SessionStoreError, SessionSummary, StoredMessage, StoredSession,
};
use hookhost_models::message::{Author, Message, ToolUse};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Maximum number of characters of a prompt in the list.
const WORDS: usize = 60;

/// Returns the directory of sessions.
pub(crate) fn directory() -> Result<PathBuf, CliError> {
    Ok(configuration::places()?.state.join("sessions"))
}

/// Returns the user's sessions.
pub(crate) fn store() -> Result<SessionStore, CliError> {
    Ok(SessionStore::new(directory()?))
}

/// Finds the session with this id.
pub(crate) fn find(id: &str) -> Result<Header, CliError> {
    Ok(store()?.read(id).map_err(stop)?.header)
}

/// Returns the session to continue: the session that the user names, or the last session of this directory.
pub(crate) fn chosen(id: Option<&str>, latest: bool, workspace: Option<&Path>) -> Result<Option<Header>, CliError> {
    match (id, latest) {
        (Some(id), _) => find(id).map(Some),
        (None, true) => {
            let directory = workspace.map_or_else(configuration::cwd, |directory| Ok(directory.to_owned()))?;
            latest_of(&directory).map(Some)
        }
        (None, false) => Ok(None),
    }
}

/// Returns the session that was used last in this directory. Sessions of sub-agents are left out.
fn latest_of(directory: &Path) -> Result<Header, CliError> {
    let canonical = |directory: &Path| directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let here = canonical(directory);
    let mut sessions = store()?.list().map_err(stop)?.into_iter().map(|session| session.header);
    sessions.find(|session| session.parent.is_none() && canonical(&session.workspace) == here).ok_or_else(|| {
        let shown = output::quoted(&here.to_string_lossy());
        CliError::usage(format!("there is no session of {shown} to continue")).advise("hookhost session list --all")
    })
}

/// Turns an error of the session store into an error of the command, with a next step.
pub(crate) fn stop(error: SessionStoreError) -> CliError {
    match error {
        SessionStoreError::NotFound { .. } => CliError::new(Exit::Usage, error).advise("hookhost session list --all"),
        other => CliError::new(Exit::Failed, other),
    }
}

pub(crate) fn list(args: &ListArgs) -> Result<Exit, CliError> {
    let mut sessions = store()?.list().map_err(stop)?;
    if !args.all {
        latest(&mut sessions, args.count);
    }
    if args.json {
        output::print_json(&sessions.iter().map(summary).collect::<Vec<_>>())?;
    } else if sessions.is_empty() {
        output::note("there are no sessions yet: hookhost run \"…\" begins one\n");
    } else {
        output::print(&sessions.iter().map(line).collect::<String>())?;
    }
    Ok(Exit::Done)
}

/// Keeps the `count` sessions that were used last, without the sessions of sub-agents.
fn latest(sessions: &mut Vec<SessionSummary>, count: usize) {
    sessions.retain(|session| session.header.parent.is_none());
    sessions.truncate(count);
}

/// Describes the sessions that were used last.
pub(crate) fn latest_as_text(count: usize) -> Result<String, CliError> {
    let mut sessions = store()?.list().map_err(stop)?;
    latest(&mut sessions, count);
    Ok(sessions.iter().map(line).collect())
}

pub(crate) fn show(args: &ShowSessionArgs) -> Result<Exit, CliError> {
    let session = store()?.read(&args.id).map_err(stop)?;
    if args.json {
        output::print_json(&whole(&session))?;
    } else {
        output::print(&text(&session))?;
    }
    Ok(Exit::Done)
}

pub(crate) fn remove(args: &RemoveArgs) -> Result<Exit, CliError> {
    let store = store()?;
    // All ids are checked before any session is removed.
    for id in &args.ids {
        store.read(id).map_err(stop)?;
    }
    for id in &args.ids {
        store.remove(id).map_err(stop)?;
        output::note(&format!("removed the session {id}\n"));
    }
    Ok(Exit::Done)
}

fn line(session: &SessionSummary) -> String {
    let Header { id, provider, model, .. } = &session.header;
    let messages = counted(session.messages, "message");
    let words = session.prompt.as_deref().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let status = match session.ending.as_ref().map(|ending| ending.status.as_str()) {
        Some("success") => String::new(),
        Some(status) => format!(" {WARNING}{}{WARNING:#}", one_line(status)),
        None => format!(" {WARNING}not ended{WARNING:#}"),
    };
    let (model, provider) = (one_line(model), one_line(provider));
    format!(
        "{NAME}{id}{NAME:#} {DIM}{} {model} of {provider}, {messages}{DIM:#}{status}\n  {}\n",
        &utc(session.updated)[..16],
        cut(&one_line(&words), WORDS)
    )
}

fn text(session: &StoredSession) -> String {
    let Header { id, provider, model, workspace, parent, .. } = &session.header;
    let mut text = format!("{NAME}{id}{NAME:#}\n");
    let mut row = |label: &str, value: &str| output::row(&mut text, 9, label, &one_line(value));
    row("model", &format!("{model} of {provider}"));
    row("workspace", &workspace.to_string_lossy());
    row("begun", &session.created.map_or_else(|| "unknown".into(), utc));
    if let Some(parent) = parent {
        row("of", parent);
    }
    row("ended", &ended(session.ending.as_ref()));
    row("used", &used(session.turns, session.subagent_turns, session.usage));
    for DamagedLine { line, reason, .. } in &session.damaged {
        let _ = writeln!(text, "{ERROR}not shown:{ERROR:#} line {line}: {}", one_line(reason));
    }
    for number in &session.missing {
        let _ = writeln!(text, "{WARNING}missing:{WARNING:#} message {number:04}");
    }
    for message in &session.messages {
        text.push_str(&shown(message));
    }
    text
}

fn ended(ending: Option<&Ending>) -> String {
    match ending {
        None => "not yet, or it was killed".into(),
        Some(Ending { status, reason: None, .. }) => status.clone(),
        Some(Ending { status, reason: Some(reason), .. }) => format!("{status}: {reason}"),
    }
}

fn shown(stored: &StoredMessage) -> String {
    let who = match &stored.message {
        Message::User { author, .. } => match author {
            Author::User => "user".into(),
            Author::Model => "a task of the model".into(),
            Author::Plugin => "a task of a plugin".into(),
            Author::Policy => "a policy".into(),
        },
        Message::Assistant { .. } => match &stored.generation {
            Some(generation) => format!("{} of {}", generation.model, generation.provider),
            None => "assistant".into(),
        },
        Message::Tool { name, is_error: false, .. } => format!("result of {name}"),
        Message::Tool { name, is_error: true, .. } => format!("result of {name}, an error"),
    };
    let time = stored.time.map(utc).unwrap_or_default();
    let mut text = format!("\n{DIM}{:04} {time}{DIM:#} {NAME}{}{NAME:#}\n", stored.number, one_line(&who));
    let said = printable(stored.message.text());
    if !said.is_empty() {
        text.push_str(said.trim_end_matches('\n'));
        text.push('\n');
    }
    if let Message::Assistant { tool_calls, .. } = &stored.message {
        for ToolUse { name, arguments, .. } in tool_calls {
            let _ = writeln!(text, "{NAME}{}{NAME:#} {}", one_line(name), short(arguments));
        }
    }
    text
}

fn summary(session: &SessionSummary) -> Value {
    let mut object = about(&session.header, session.created, session.ending.as_ref());
    object["updated"] = json!(session.updated);
    object["messages"] = json!(session.messages);
    object["prompt"] = json!(session.prompt);
    object
}

fn whole(session: &StoredSession) -> Value {
    let mut object = about(&session.header, session.created, session.ending.as_ref());
    object["turns"] = json!(session.turns);
    object["subagent-turns"] = json!(session.subagent_turns);
    object["usage"] = json!(session.usage);
    object["messages"] = session.messages.iter().map(message).collect();
    object["damaged"] = session
        .damaged
        .iter()
        .map(|DamagedLine { line, reason, .. }| json!({ "line": line, "reason": reason }))
        .collect();
    object["missing"] = json!(session.missing);
    object
}

fn about(header: &Header, created: Option<u64>, ending: Option<&Ending>) -> Value {
    let Header { id, provider, model, workspace, parent, .. } = header;
    json!({
        "id": id,
        "provider": provider,
        "model": model,
        "workspace": workspace.to_string_lossy(),
        "parent": parent,
        "created": created,
        "status": ending.map(|ending| &ending.status),
        "reason": ending.and_then(|ending| ending.reason.as_ref()),
    })
}

fn message(stored: &StoredMessage) -> Value {
    let mut object = serde_json::to_value(&stored.message).unwrap_or_default();
    object["number"] = json!(stored.number);
    object["time"] = json!(stored.time);
    if let Some(generation) = &stored.generation {
        object["provider"] = json!(generation.provider);
        object["model"] = json!(generation.model);
        object["stop"] = json!(generation.stop);
        object["usage"] = json!(generation.usage);
    }
    object
}
