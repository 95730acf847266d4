//! Transcripts of Codex, recorded with 0.169.0: `sessions/YEAR/MONTH/DAY/rollout-….jsonl`, and `archived_sessions`.
//!
//! The transcript contains the calls as the model made them. Codex reports a command to its hook as a call of `Bash`, whose directory is
//! the one that the model chose, and a patch as the argument `command`. It does not report `write_stdin`.

use super::TranscriptFormat;
use crate::message::{HookMessage, arguments, time};
use crate::places::TranscriptPlaces;
use crate::source::{Found, RecordFile, RecordReader, TranscriptFile, find_files, has_extension};
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

pub(super) const FORMAT: TranscriptFormat = TranscriptFormat {
    agent: "codex",
    find,
    open: |file, _, _| {
        let reader = Reader { path: file.path.to_path_buf(), mode: mode(&Value::Null), ..Reader::default() };
        Ok(Box::new(RecordFile::open(&file.path, false, reader)?))
    },
};

fn find(places: &TranscriptPlaces, files: &mut Vec<TranscriptFile>, found: &mut Found) {
    let home = places.directory("CODEX_HOME", ".codex");
    for directory in ["sessions", "archived_sessions"] {
        find_files(&home.join(directory), 4, &|path| has_extension(path, "jsonl"), files, found);
    }
}

#[derive(Default)]
struct Reader {
    path: PathBuf,
    session: Option<String>,
    subagent: Option<String>,
    cwd: String,
    turn: Option<String>,
    mode: &'static str,
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct SessionMeta<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    parent_thread_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    cwd: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct TurnContext<'a> {
    #[serde(borrow)]
    cwd: Option<Cow<'a, str>>,
    #[serde(borrow)]
    turn_id: Option<Cow<'a, str>>,
    /// A string, or the object of the policy `granular`.
    #[serde(default)]
    approval_policy: Value,
}

/// Returns the mode that Codex reports to its hooks under an approval policy.
fn mode(approval_policy: &Value) -> &'static str {
    if approval_policy == "never" { "bypassPermissions" } else { "default" }
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow)]
    call_id: Option<Cow<'a, str>>,
    /// JSON in a string.
    #[serde(borrow)]
    arguments: Option<Cow<'a, str>>,
    /// The text of a custom tool, such as a patch.
    #[serde(borrow)]
    input: Option<Cow<'a, str>>,
    /// The command of `local_shell_call`.
    #[serde(borrow)]
    action: Option<&'a RawValue>,
}

impl RecordReader for Reader {
    fn is_known(&self, line: &[u8]) -> bool {
        memmem::find(line, b"\"session_meta\"").is_some()
    }

    fn is_needed(&self, line: &[u8]) -> bool {
        let kinds: [&[u8]; 3] = [b"_call\"", b"\"session_meta\"", b"\"turn_context\""];
        kinds.into_iter().any(|kind| memmem::find(line, kind).is_some())
    }

    fn read(&mut self, line: &str, found: &mut Found) -> Result<(), serde_json::Error> {
        let record: Record<'_> = serde_json::from_str(line)?;
        let Some(payload) = record.payload.map(RawValue::get) else { return Ok(()) };
        match record.kind.as_ref() {
            // A forked session contains the beginning of the session from which it was forked. The first one is its own.
            "session_meta" if self.session.is_none() => {
                let meta: SessionMeta<'_> = serde_json::from_str(payload)?;
                // The transcript of a sub-agent has an identifier of its own, and names the session to which it belongs.
                let is_subagent = meta.parent_thread_id.is_some();
                let id = meta.id.map(Cow::into_owned);
                self.subagent = id.clone().filter(|_| is_subagent);
                self.session = meta.session_id.or(meta.parent_thread_id).map(Cow::into_owned).or(id);
                self.cwd = meta.cwd.unwrap_or_default().into_owned();
            }
            "turn_context" => {
                let turn: TurnContext<'_> = serde_json::from_str(payload)?;
                self.turn = turn.turn_id.map(Cow::into_owned);
                self.mode = mode(&turn.approval_policy);
                if let Some(cwd) = turn.cwd {
                    self.cwd = cwd.into_owned();
                }
            }
            "response_item" => {
                let call: Call<'_> = serde_json::from_str(payload)?;
                let time = record.timestamp.as_deref().and_then(time);
                found.messages.extend(self.message(&call, time));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Reader {
    fn message(&self, call: &Call<'_>, time: Option<u64>) -> Option<HookMessage> {
        let (tool, input, directory) = call.as_reported()?;
        let cwd = directory.map_or_else(
            || self.cwd.clone(),
            |directory| Path::new(&self.cwd).join(directory).to_string_lossy().into_owned(),
        );
        let id = call.call_id.as_deref().unwrap_or_default();
        let mut body = json!({
            "session_id": self.session,
            "turn_id": self.turn,
            "transcript_path": self.path,
            "cwd": cwd,
            "hook_event_name": "PreToolUse",
            "model": "",
            "permission_mode": self.mode,
            "tool_name": tool,
            "tool_input": input,
            "tool_use_id": id,
        });
        if let Some(agent) = &self.subagent {
            body["agent_id"] = json!(agent);
        }
        Some(HookMessage { lacks_directory: cwd.is_empty(), ..HookMessage::new(body, id, time) })
    }
}

impl Call<'_> {
    /// Returns the tool, the arguments and the directory that Codex reports to its hook. Returns `None` if it reports nothing.
    fn as_reported(&self) -> Option<(String, Value, Option<String>)> {
        match self.kind.as_ref() {
            "function_call" => {
                let given: Value =
                    serde_json::from_str(self.arguments.as_deref().unwrap_or_default()).unwrap_or_default();
                match self.name.as_ref() {
                    "write_stdin" => None,
                    "exec_command" => Some(bash(given.get("cmd"), given.get("workdir"))),
                    "shell" | "shell_command" | "container.exec" => {
                        Some(bash(given.get("command"), given.get("workdir")))
                    }
                    "apply_patch" => Some(patch(given.get("input").and_then(Value::as_str)?)),
                    name => Some((self.tool(name), given, None)),
                }
            }
            "custom_tool_call" => {
                let input = self.input.as_deref().unwrap_or_default();
                match self.name.as_ref() {
                    "apply_patch" => Some(patch(input)),
                    name => Some((self.tool(name), json!({ "input": input }), None)),
                }
            }
            "local_shell_call" => {
                let action = arguments(self.action);
                Some(bash(action.get("command"), action.get("working_directory")))
            }
            // Searches run on the vendor's servers.
            _ => None,
        }
    }

    /// Returns the name of a tool, which begins with its namespace. `spawn_agent` has the same name in all versions.
    fn tool(&self, name: &str) -> String {
        match self.namespace.as_deref() {
            Some(server) if server.starts_with("mcp__") => format!("{}__{name}", server.trim_end_matches("__")),
            Some(namespace) if name != "spawn_agent" => format!("{namespace}{name}"),
            _ => name.to_owned(),
        }
    }
}

/// Returns a call of `Bash`. Without a command, the adapter refuses the call.
fn bash(command: Option<&Value>, directory: Option<&Value>) -> (String, Value, Option<String>) {
    let input = command.map_or_else(|| json!({}), |command| json!({ "command": command_text(command) }));
    ("Bash".to_owned(), input, directory.and_then(Value::as_str).map(str::to_owned))
}

/// Returns a command as one text. Of a list such as `["bash", "-lc", "ls"]`, Codex reports the script.
fn command_text(command: &Value) -> Value {
    let words: Option<Vec<&str>> = command.as_array().and_then(|words| words.iter().map(Value::as_str).collect());
    match words.as_deref() {
        Some([shell, "-lc" | "-c", script]) if shell.ends_with("sh") => json!(script),
        _ => command.clone(),
    }
}

fn patch(text: &str) -> (String, Value, Option<String>) {
    ("apply_patch".to_owned(), json!({ "command": text }), None)
}
