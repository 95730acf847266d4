//! Transcripts of Claude Code, recorded with 2.1.330: `projects/PROJECT/SESSION.jsonl`, and the transcripts of sub-agents in
//! `SESSION/subagents/`. Older versions write the calls of sub-agents into the transcript of the session.
//!
//! A resumed session of an older version begins with a copy of the earlier session. The transcript also contains copies of requests to
//! the model (`api-request-blob`). Only records of the type `assistant` are calls.

use super::TranscriptFormat;
use crate::message::{HookMessage, absolute, arguments, time};
use crate::places::TranscriptPlaces;
use crate::source::{Found, RecordFile, RecordReader, TranscriptFile, find_files, has_extension};
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Arguments that Claude Code turns into absolute paths before it calls its hook.
const FILES: [&str; 2] = ["file_path", "notebook_path"];

pub(super) const FORMAT: TranscriptFormat = TranscriptFormat {
    agent: "claude-code",
    find,
    open: |file, places, _| {
        let path = file.path.to_path_buf();
        let reader = Reader { path, home: places.home().to_owned(), mode: "default".to_owned() };
        Ok(Box::new(RecordFile::open(&file.path, false, reader)?))
    },
};

fn find(places: &TranscriptPlaces, files: &mut Vec<TranscriptFile>, found: &mut Found) {
    let own = places.directory("CLAUDE_CONFIG_DIR", ".claude");
    // Some versions kept their files in the directory for configuration.
    for directory in [own, places.home().join(".config/claude")] {
        find_files(&directory.join("projects"), 4, &|path| has_extension(path, "jsonl"), files, found);
    }
}

struct Reader {
    path: PathBuf,
    home: PathBuf,
    /// Permission mode at the latest prompt.
    mode: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    agent_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    cwd: Option<Cow<'a, str>>,
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    permission_mode: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Vec<Block<'a>>,
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
    input: Option<&'a RawValue>,
}

impl RecordReader for Reader {
    fn is_known(&self, line: &[u8]) -> bool {
        memmem::find(line, b"\"sessionId\"").is_some()
    }

    fn is_needed(&self, line: &[u8]) -> bool {
        let parts: [&[u8]; 2] = [b"\"tool_use\"", b"\"permissionMode\""];
        parts.into_iter().any(|part| memmem::find(line, part).is_some())
    }

    fn read(&mut self, line: &str, found: &mut Found) -> Result<(), serde_json::Error> {
        let record: Record<'_> = serde_json::from_str(line)?;
        if let Some(mode) = record.permission_mode {
            self.mode = mode.into_owned();
        }
        let Some(message) = record.message.filter(|_| record.kind == "assistant") else { return Ok(()) };
        let message: Message<'_> = serde_json::from_str(message.get())?;
        for block in message.content.iter().filter(|block| block.kind == "tool_use") {
            let cwd = record.cwd.as_deref().unwrap_or_default();
            let mut body = json!({
                "session_id": record.session_id,
                "transcript_path": self.path,
                "cwd": cwd,
                "permission_mode": self.mode,
                "hook_event_name": "PreToolUse",
                "tool_name": block.name,
                "tool_input": self.input(block, Path::new(cwd)),
                "tool_use_id": block.id,
            });
            if let Some(agent) = &record.agent_id {
                body["agent_id"] = json!(agent);
            }
            let time = record.timestamp.as_deref().and_then(time);
            let message = HookMessage::new(body, block.id.as_ref(), time);
            found.messages.push(HookMessage { lacks_directory: cwd.is_empty(), ..message });
        }
        Ok(())
    }
}

impl Reader {
    fn input(&self, block: &Block<'_>, cwd: &Path) -> Value {
        let mut input = arguments(block.input);
        // The arguments of an MCP tool stay as they are.
        if !block.name.starts_with("mcp__") {
            for key in FILES {
                if let Some(Value::String(file)) = input.get_mut(key) {
                    *file = absolute(file, cwd, &self.home).to_string_lossy().into_owned();
                }
            }
        }
        input
    }
}
