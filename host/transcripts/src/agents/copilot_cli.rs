//! Transcripts of GitHub Copilot CLI, recorded with 1.0.102: `session-state/SESSION/events.jsonl`. Its package contains a schema of the
//! records, `schemas/session-events.schema.json`.

use super::TranscriptFormat;
use crate::message::{HookMessage, arguments, time};
use crate::places::TranscriptPlaces;
use crate::source::{Found, RecordFile, RecordReader, TranscriptFile, find_files, has_extension};
use memchr::memmem;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;

pub(super) const FORMAT: TranscriptFormat = TranscriptFormat {
    agent: "copilot-cli",
    find,
    open: |file, _, _| Ok(Box::new(RecordFile::open(&file.path, false, Reader::default())?)),
};

fn find(places: &TranscriptPlaces, files: &mut Vec<TranscriptFile>, found: &mut Found) {
    let directory = places.directory("COPILOT_HOME", ".copilot").join("session-state");
    find_files(&directory, 1, &|path| has_extension(path, "jsonl"), files, found);
}

#[derive(Default)]
struct Reader {
    session: String,
    cwd: String,
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionStart<'a> {
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    context: Option<Directory<'a>>,
}

#[derive(Deserialize)]
struct Directory<'a> {
    #[serde(borrow)]
    cwd: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecutionStart<'a> {
    #[serde(borrow, default)]
    tool_call_id: Cow<'a, str>,
    #[serde(borrow, default)]
    tool_name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl RecordReader for Reader {
    fn is_known(&self, line: &[u8]) -> bool {
        memmem::find(line, b"\"session.start\"").is_some()
    }

    fn is_needed(&self, line: &[u8]) -> bool {
        let kinds: [&[u8]; 4] =
            [b"\"tool.execution_start\"", b"\"session.start\"", b"\"session.resume\"", b"\"session.context_changed\""];
        kinds.into_iter().any(|kind| memmem::find(line, kind).is_some())
    }

    fn read(&mut self, line: &str, found: &mut Found) -> Result<(), serde_json::Error> {
        let record: Record<'_> = serde_json::from_str(line)?;
        let Some(data) = record.data.map(RawValue::get) else { return Ok(()) };
        match record.kind.as_ref() {
            "session.start" | "session.resume" => {
                let start: SessionStart<'_> = serde_json::from_str(data)?;
                if let Some(session) = start.session_id {
                    self.session = session.into_owned();
                }
                self.enter(start.context);
            }
            "session.context_changed" => self.enter(Some(serde_json::from_str(data)?)),
            "tool.execution_start" => {
                let call: ExecutionStart<'_> = serde_json::from_str(data)?;
                let time = record.timestamp.as_deref().and_then(time);
                let body = json!({
                    "sessionId": self.session,
                    "timestamp": time,
                    "cwd": self.cwd,
                    "toolName": call.tool_name,
                    "toolArgs": arguments(call.arguments),
                });
                let message = HookMessage::new(body, call.tool_call_id, time);
                let lacks_directory = self.cwd.is_empty();
                found.messages.push(HookMessage { point: Some("preToolUse"), lacks_directory, ..message });
            }
            _ => {}
        }
        Ok(())
    }
}

impl Reader {
    fn enter(&mut self, directory: Option<Directory<'_>>) {
        if let Some(cwd) = directory.and_then(|directory| directory.cwd) {
            self.cwd = cwd.into_owned();
        }
    }
}
