//! Transcripts of Gemini CLI, recorded with 0.61.0: `tmp/PROJECT/chats/session-….jsonl`. The first line names the session. Each later
//! line is a message, or `{"$set": …}`, which replaces parts of the session. A message is written again with the calls that it contains,
//! so a call can occur twice. Older versions write the whole session as one JSON object, `session-….json`.
//!
//! The file `.project_root` beside the directory of the chats contains the project's directory.

use super::TranscriptFormat;
use crate::message::{HookMessage, arguments, time};
use crate::places::TranscriptPlaces;
use crate::source::{Found, RecordFile, RecordReader, TranscriptFile, find_files, has_extension, read_small};
use memchr::memmem;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

pub(super) const FORMAT: TranscriptFormat = TranscriptFormat {
    agent: "gemini-cli",
    find,
    open: |file, _, _| {
        let project = file.path.ancestors().find_map(|directory| read_small(&directory.join(".project_root")));
        let cwd = project.and_then(|project| String::from_utf8(project).ok()).unwrap_or_default().trim().to_owned();
        let reader = Reader { path: file.path.to_path_buf(), cwd, session: String::new() };
        Ok(Box::new(RecordFile::open(&file.path, has_extension(&file.path, "json"), reader)?))
    },
};

fn find(places: &TranscriptPlaces, files: &mut Vec<TranscriptFile>, found: &mut Found) {
    let directory = places.directory("GEMINI_CLI_HOME", "").join(".gemini/tmp");
    let is_chat = |path: &Path| {
        let is_session = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("session-"));
        is_session && (has_extension(path, "jsonl") || has_extension(path, "json"))
    };
    find_files(&directory, 3, &is_chat, files, found);
}

struct Reader {
    path: PathBuf,
    cwd: String,
    session: String,
}

/// A line, or the whole session. A line with `$set` contains messages there.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record<'a> {
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    messages: Vec<Message<'a>>,
    #[serde(rename = "$set", borrow)]
    set: Option<Replaced<'a>>,
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_calls: Vec<Call<'a>>,
}

#[derive(Deserialize)]
struct Replaced<'a> {
    #[serde(borrow, default)]
    messages: Vec<Message<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_calls: Vec<Call<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Call<'a> {
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    display_name: Option<Cow<'a, str>>,
}

impl RecordReader for Reader {
    fn is_known(&self, line: &[u8]) -> bool {
        memmem::find(line, b"\"sessionId\"").is_some()
    }

    fn is_needed(&self, line: &[u8]) -> bool {
        self.is_known(line) || memmem::find(line, b"\"toolCalls\"").is_some()
    }

    fn read(&mut self, line: &str, found: &mut Found) -> Result<(), serde_json::Error> {
        let record: Record<'_> = serde_json::from_str(line)?;
        if let Some(session) = record.session_id {
            self.session = session.into_owned();
        }
        let own = Message { timestamp: record.timestamp, tool_calls: record.tool_calls };
        let replaced = record.set.into_iter().flat_map(|set| set.messages);
        for message in std::iter::once(own).chain(record.messages).chain(replaced) {
            for call in &message.tool_calls {
                found.messages.push(self.message(call, message.timestamp.as_deref()));
            }
        }
        Ok(())
    }
}

impl Reader {
    fn message(&self, call: &Call<'_>, of_message: Option<&str>) -> HookMessage {
        let timestamp = call.timestamp.as_deref().or(of_message);
        let mut body = json!({
            "session_id": self.session,
            "transcript_path": self.path,
            "cwd": self.cwd,
            "hook_event_name": "BeforeTool",
            "timestamp": timestamp,
            "tool_name": call.name,
            "tool_input": arguments(call.args),
        });
        if let Some((tool, server)) = call.display_name.as_deref().and_then(mcp_tool) {
            body["mcp_context"] = json!({ "server_name": server, "tool_name": tool });
        }
        let message = HookMessage::new(body, call.id.as_ref(), timestamp.and_then(time));
        HookMessage { lacks_directory: self.cwd.is_empty(), ..message }
    }
}

/// Returns the tool and the server of a display name such as `echo (demo MCP Server)`.
fn mcp_tool(display_name: &str) -> Option<(&str, &str)> {
    display_name.strip_suffix(" MCP Server)")?.rsplit_once(" (")
}
