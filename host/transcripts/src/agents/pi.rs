//! Transcripts of pi, recorded with 0.87.1: `sessions/DIRECTORY/TIME_SESSION.jsonl`. The first line names the session and its directory.

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
    agent: "pi",
    find,
    open: |file, _, _| Ok(Box::new(RecordFile::open(&file.path, false, Reader::default())?)),
};

fn find(places: &TranscriptPlaces, files: &mut Vec<TranscriptFile>, found: &mut Found) {
    let directory = places.directory("PI_CODING_AGENT_DIR", ".pi/agent").join("sessions");
    find_files(&directory, 2, &|path| has_extension(path, "jsonl"), files, found);
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
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    cwd: Option<Cow<'a, str>>,
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl RecordReader for Reader {
    fn is_known(&self, line: &[u8]) -> bool {
        memmem::find(line, b"\"session\"").is_some()
    }

    fn is_needed(&self, line: &[u8]) -> bool {
        self.is_known(line) || memmem::find(line, b"\"toolCall\"").is_some()
    }

    fn read(&mut self, line: &str, found: &mut Found) -> Result<(), serde_json::Error> {
        let record: Record<'_> = serde_json::from_str(line)?;
        if record.kind == "session" {
            self.session = record.id.unwrap_or_default().into_owned();
            self.cwd = record.cwd.unwrap_or_default().into_owned();
            return Ok(());
        }
        let Some(message) = record.message.filter(|_| record.kind == "message") else { return Ok(()) };
        let message: Message<'_> = serde_json::from_str(message.get())?;
        let Some(content) = message.content.filter(|_| message.role == "assistant") else { return Ok(()) };
        let blocks: Vec<Block<'_>> = serde_json::from_str(content.get())?;
        for block in blocks.iter().filter(|block| block.kind == "toolCall") {
            let body = json!({
                "hookhost": { "point": "tool_call", "session": self.session, "cwd": self.cwd, "workspace": self.cwd },
                "event": {
                    "type": "tool_call",
                    "toolName": block.name,
                    "toolCallId": block.id,
                    "input": arguments(block.arguments),
                },
            });
            let time = record.timestamp.as_deref().and_then(time);
            let message = HookMessage::new(body, block.id.as_ref(), time);
            found.messages.push(HookMessage { lacks_directory: self.cwd.is_empty(), ..message });
        }
        Ok(())
    }
}
