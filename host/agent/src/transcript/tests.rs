//! A transcript is whole whenever the process that writes it dies.

use super::*;
use crate::message::ToolUse;
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;

fn header() -> Header {
    Header { id: "s-1".into(), provider: "p".into(), model: "m".into(), workspace: "/work".into() }
}

fn messages() -> Vec<Message> {
    let call = ToolUse { id: "1".into(), name: "bash".into(), arguments: json!({ "command": "echo 'ä\n'" }) };
    vec![
        Message::User { text: "two\nlines".into() },
        Message::Assistant { text: String::new(), tool_calls: vec![call] },
        Message::Tool { call_id: "1".into(), name: "bash".into(), text: "ä".into(), is_error: false },
        Message::Assistant { text: "done".into(), tool_calls: Vec::new() },
    ]
}

fn ending() -> Ending {
    let usage = TokenUsage { input_tokens: 3, cached_input_tokens: 1, output_tokens: 2 };
    Ending { status: "success".into(), reason: None, usage }
}

/// The whole file, and its folder.
fn written() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = TranscriptWriter::create(&folder.path().join("sessions"), header()).unwrap();
    for message in messages() {
        writer.append(&message).unwrap();
    }
    writer.end(ending()).unwrap();
    let path = writer.path().to_owned();
    (folder, path)
}

#[test]
fn what_was_written_is_read() {
    let (_folder, path) = written();
    let read = StoredSession::read(&path).unwrap();
    let expected = StoredSession { header: header(), messages: messages(), ending: Some(ending()), cut_bytes: 0 };
    assert_eq!(read, expected);
}

#[test]
fn a_file_cut_anywhere_gives_every_line_before_the_cut() {
    let (folder, path) = written();
    let bytes = std::fs::read(&path).unwrap();
    let first = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let copy = folder.path().join("cut.jsonl");
    for length in first..=bytes.len() {
        std::fs::write(&copy, &bytes[..length]).unwrap();
        let read = StoredSession::read(&copy).unwrap();
        let whole = bytes[..length].iter().filter(|byte| **byte == b'\n').count();
        let rest = length - bytes[..length].iter().rposition(|byte| *byte == b'\n').unwrap() - 1;
        // Without its newline alone, a line is still whole.
        let lacks_only_newline = bytes.get(length) == Some(&b'\n');
        let lines = 1 + read.messages.len() + usize::from(read.ending.is_some());
        assert_eq!(lines, whole + usize::from(lacks_only_newline), "cut at {length}");
        assert_eq!(read.cut_bytes, if lacks_only_newline { 0 } else { rest }, "cut at {length}");
    }
}

#[test]
fn a_broken_line_before_the_last_is_an_error_with_its_number() {
    let (folder, path) = written();
    let text = std::fs::read_to_string(&path).unwrap().replacen("\"role\":\"assistant\"", "\"role\":\"robot\"", 1);
    let broken = folder.path().join("broken.jsonl");
    std::fs::write(&broken, text).unwrap();
    let error = StoredSession::read(&broken).unwrap_err().to_string();
    assert!(error.contains("broken.jsonl:3: not a line of a transcript"), "{error}");
    std::fs::write(&broken, "").unwrap();
    assert!(StoredSession::read(&broken).unwrap_err().to_string().contains("the file is empty"));
}

#[test]
fn only_the_user_can_read_it() {
    let (_folder, path) = written();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
}

#[test]
fn an_existing_transcript_is_not_written_over_and_an_id_is_no_path() {
    let (_folder, path) = written();
    let folder = path.parent().unwrap();
    assert!(matches!(TranscriptWriter::create(folder, header()), Err(TranscriptError::Io { doing: "created", .. })));
    for id in ["../x", "", ".x", "a/b"] {
        let header = Header { id: id.into(), ..header() };
        assert!(matches!(TranscriptWriter::create(folder, header), Err(TranscriptError::Id { .. })), "{id}");
    }
}
