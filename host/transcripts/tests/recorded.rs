//! Each call in a recorded transcript is the event that the agent's own hook message is. The transcripts and the hook messages below
//! `tests/recorded` are from the same run of each agent: Claude Code 2.1.330, Codex 0.169.0, Copilot CLI 1.0.102, Gemini CLI 0.61.0,
//! OpenCode 1.1.65 and 1.18.33, pi 0.87.1. Their paths were replaced, and long texts were shortened.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

use hookhost_agents::{HookCall, HookEvent, Message, by_name};
use hookhost_transcripts::{EventQuery, PastEvents, TranscriptPlaces, adapters};
use std::fs;
use std::path::{Path, PathBuf};

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded").join(name)
}

/// What rules see of a call. The messages of some shims contain neither session nor directory; then these parts are not compared.
fn seen(call: &HookCall, has_session: bool) -> String {
    let HookEvent::BeforeToolCall(tool) = &call.event else { panic!("{call:?}") };
    let mut arguments = tool.arguments.clone();
    arguments.sort_all_objects();
    let session = if has_session { format!("{:?}", call.session) } else { String::new() };
    format!("{} {arguments} {:?} {:?} {session}", tool.name, tool.origin, tool.id)
}

fn events(home: &Path, agent: &str) -> Vec<HookCall> {
    let query = EventQuery { agents: vec![agent.to_owned()], since: None };
    let mut events = PastEvents::new(TranscriptPlaces::new(home), &query);
    let calls = events.by_ref().map(|event| event.call).collect();
    assert_eq!(events.omissions(), [], "{agent}");
    calls
}

fn compare(agent: &str, directory: &str, home: &Path, has_session: bool) {
    let adapter = by_name(agent).unwrap();
    let messages = fs::read_to_string(recorded(directory).join("hook.jsonl")).unwrap();
    let decode = |line: &str| {
        let point =
            (agent == "copilot-cli").then_some("preToolUse").or((agent == "opencode").then_some("tool.execute.before"));
        let message = Message { point, ..Message::new(line.as_bytes(), Path::new("/home/me/project")) };
        seen(&adapter.decode(&message).unwrap(), has_session)
    };
    let mut hooked: Vec<String> = messages.lines().map(decode).collect();
    let mut past: Vec<String> = events(home, agent).iter().map(|call| seen(call, has_session)).collect();
    assert!(hooked.len() > 5, "{agent}");
    // Sub-agents have transcripts of their own, so the order of all calls differs.
    hooked.sort();
    past.sort();
    assert_eq!(past, hooked, "{directory}");
}

#[test]
fn the_calls_of_each_agent_are_those_that_its_hook_was_told() {
    for (agent, has_session) in
        [("claude-code", true), ("codex", true), ("copilot-cli", true), ("gemini-cli", true), ("pi", false)]
    {
        compare(agent, agent, &recorded(agent).join("home"), has_session);
    }
    compare("opencode", "opencode-1.1.65", &recorded("opencode-1.1.65").join("home"), false);
}

#[test]
fn the_calls_in_the_database_of_opencode_are_those_that_its_hook_was_told() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join(".local/share/opencode");
    fs::create_dir_all(&directory).unwrap();
    let sql = fs::read_to_string(recorded("opencode-1.18.33/opencode.sql")).unwrap();
    let database = directory.join("opencode.db");
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection.execute_batch(&sql).unwrap();
    connection.close().unwrap();
    compare("opencode", "opencode-1.18.33", home.path(), false);
}

#[test]
fn rows_that_are_still_in_the_log_of_a_database_are_read_and_nothing_is_written() {
    let (agent, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let sql = fs::read_to_string(recorded("opencode-1.18.33/opencode.sql")).unwrap();
    let connection = rusqlite::Connection::open(agent.path().join("opencode.db")).unwrap();
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    connection.execute_batch(&sql).unwrap();
    // Within one process, SQLite would share the index of the log. The copy is opened as if another process were the agent.
    let directory = home.path().join(".local/share/opencode");
    fs::create_dir_all(&directory).unwrap();
    for file in fs::read_dir(agent.path()).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), directory.join(file.file_name())).unwrap();
    }
    let files = || {
        let mut files: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files.into_iter().map(|path| (fs::read(&path).unwrap(), path)).collect::<Vec<_>>()
    };
    let before = files();
    assert_eq!(before.len(), 3, "the agent has the database open");
    assert!(!events(home.path(), "opencode").is_empty());
    assert!(files() == before, "reading a database changes no file");
}

#[test]
fn every_agent_whose_transcripts_are_read_was_recorded() {
    let recordings: Vec<String> =
        fs::read_dir(recorded("")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    for adapter in adapters() {
        let name = adapter.agent().name;
        assert!(recordings.iter().any(|recording| recording.starts_with(name)), "{name}");
    }
    assert_eq!(adapters().len(), 6);
}
