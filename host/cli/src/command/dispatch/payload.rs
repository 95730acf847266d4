//! Reads the payload of an event from JSON. The payload is an object that contains the event's parameters and, optionally, the session. The
//! keys are the parameters' names in `wit/0.1/events.wit`.

use super::command;
use crate::exit::CliError;
use anyhow::anyhow;
use hookhost::contract::EventKind;
use hookhost::session::SessionSpec;
use hookhost_telemetry::tally::TRIAL_AGENT;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// A payload whose keys are the event's parameters.
#[derive(Debug)]
pub(super) struct Payload {
    event: EventKind,
    parameters: Map<String, Value>,
    session: SessionKeys,
}

/// The key `session`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct SessionKeys {
    id: Option<String>,
    agent: Option<String>,
    cwd: Option<PathBuf>,
    workspace: Option<PathBuf>,
    interactive: Option<bool>,
    turn: u32,
    depth: u32,
    parent: Option<String>,
    root: Option<String>,
}

impl Payload {
    /// The payload of a tool call that runs `command`.
    pub(super) fn of_command(command: &OsStr) -> Result<Self, CliError> {
        let Some(command) = command.to_str() else {
            return Err(CliError::usage("the command of --shell is not UTF-8, so no agent can run it: calls are JSON"));
        };
        if command.trim().is_empty() {
            return Err(CliError::usage("the command of --shell is empty: there is nothing to judge")
                .advise("hookhost dispatch --shell 'git push -f origin main'"));
        }
        let call = json!({ "id": "1", "name": "bash", "arguments": { "command": command } });
        let parameters = Map::from_iter([("call".to_owned(), call)]);
        Ok(Self { event: EventKind::BeforeToolCall, parameters, session: SessionKeys::default() })
    }

    /// Reads a payload. An event without parameters needs no payload.
    pub(super) fn read(event: EventKind, from: Option<&Path>) -> Result<Self, CliError> {
        let text = match from {
            Some(path) if path.as_os_str() == "-" => {
                let mut text = String::new();
                let read = std::io::stdin().read_to_string(&mut text).map(|_| text);
                read.map_err(|error| {
                    CliError::usage(format!("the payload cannot be read from the standard input: {error}"))
                })?
            }
            Some(path) => std::fs::read_to_string(path)
                .map_err(|error| CliError::usage(format!("the payload {} cannot be read: {error}", path.display())))?,
            None if event.parameters().is_empty() => "{}".to_owned(),
            None => return Err(missing(event)),
        };
        Self::parse(event, &text)
    }

    fn parse(event: EventKind, text: &str) -> Result<Self, CliError> {
        let value: Value = serde_json::from_str(text).map_err(|error| wrong(event, &error))?;
        let Value::Object(mut parameters) = value else { return Err(wrong(event, &"it is not a JSON object")) };
        let session = parameters.remove("session").map(serde_json::from_value).transpose();
        let session = session.map_err(|error| wrong(event, &format!("`session`: {error}")))?.unwrap_or_default();
        let known = event.parameters();
        if let Some(unknown) = parameters.keys().find(|key| !known.contains(&key.as_str())) {
            let keys = known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
            let has = if keys.is_empty() { "nothing but `session`".to_owned() } else { keys };
            return Err(wrong(event, &format!("it has a key `{unknown}`, and {event} has {has}")));
        }
        Ok(Self { event, parameters, session })
    }

    /// The event that this payload belongs to.
    pub(super) fn event(&self) -> EventKind {
        self.event
    }

    /// Returns the session, and the number of the session's model calls so far. If the payload names no directory, the session's directory
    /// is `here`.
    pub(super) fn session(&self, here: &Path, person: bool) -> Result<(SessionSpec, u32), CliError> {
        let SessionKeys { id, agent, cwd, workspace, interactive, turn, depth, parent, root } = &self.session;
        let absolute = |path: &Option<PathBuf>, default: &Path| match path {
            Some(path) if !path.is_absolute() => {
                Err(wrong(self.event, &format!("`session`: {} is not an absolute path", path.display())))
            }
            Some(path) => Ok(path.clone()),
            None => Ok(default.to_owned()),
        };
        let workspace = absolute(workspace, cwd.as_deref().unwrap_or(here))?;
        let mut spec = SessionSpec::new(agent.as_deref().unwrap_or(TRIAL_AGENT), &workspace);
        spec.cwd = absolute(cwd, &workspace)?;
        spec.id.clone_from(id);
        spec.interactive = interactive.unwrap_or(person);
        spec.depth = *depth;
        spec.parent.clone_from(parent);
        spec.root.clone_from(root);
        Ok((spec, *turn))
    }

    pub(super) fn parameters(self) -> Value {
        Value::Object(self.parameters)
    }
}

fn missing(event: EventKind) -> CliError {
    CliError::usage(format!(
        "{event} carries a payload, a JSON object: name its file with --payload, or `-` for the standard input"
    ))
    .advise(command(event, event.example()))
}

/// The error for text that is not a payload of this event.
pub(super) fn wrong(event: EventKind, why: &dyn std::fmt::Display) -> CliError {
    CliError::new(crate::exit::Exit::Usage, anyhow!("this is no payload of {event}: {why}"))
        .advise(command(event, event.example()))
}
