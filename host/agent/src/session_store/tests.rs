//! Tests that a session stays readable no matter when its process is killed or what happens to its file.

use super::*;
use hookhost_models::message::{Message, TokenUsage, ToolUse};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

fn header(id: &str) -> Header {
    let (provider, model) = ("p".into(), "m".into());
    Header { id: id.into(), provider, model, workspace: "/work".into(), parent: None }
}

fn messages() -> Vec<Message> {
    let call = ToolUse::new("1", "bash", json!({ "command": "echo 'ä\n'" }));
    vec![
        Message::user("two\nlines"),
        Message::assistant("", vec![call]),
        Message::Tool { call_id: "1".into(), name: "bash".into(), text: "ä".into(), is_error: false },
        Message::assistant("done", Vec::new()),
    ]
}

fn generation(message: &Message) -> Option<Generation> {
    let usage = TokenUsage::new(3, 2).cached(1);
    let (provider, model, stop) = ("p".into(), "m".into(), "end".into());
    matches!(message, Message::Assistant { .. }).then_some(Generation { provider, model, stop, usage })
}

fn ending() -> Ending {
    let usage = TokenUsage::new(30, 20).cached(10);
    Ending { status: "success".into(), reason: None, turns: 2, subagent_turns: 3, usage }
}

/// A store with one session, which has ended.
fn written() -> (tempfile::TempDir, SessionStore) {
    let directory = tempfile::tempdir().unwrap();
    let store = SessionStore::new(directory.path().join("sessions"));
    let mut writer = store.create(&header("s-1")).unwrap();
    for message in messages() {
        writer.append(&message, generation(&message)).unwrap();
    }
    writer.end(&ending()).unwrap();
    (directory, store)
}

fn lines(store: &SessionStore) -> Vec<String> {
    std::fs::read_to_string(store.path("s-1")).unwrap().lines().map(str::to_owned).collect()
}

fn put_lines(store: &SessionStore, lines: &[String]) {
    std::fs::write(store.path("s-1"), lines.join("\n") + "\n").unwrap();
}

#[test]
fn what_was_written_is_read_and_continued() {
    let (_directory, store) = written();
    let read = store.read("s-1").unwrap();
    assert_eq!((&read.conversation, &read.header, &read.ending), (&messages(), &header("s-1"), &Some(ending())));
    assert_eq!((read.usage, read.turns, read.subagent_turns), (ending().usage, 2, 3));
    assert!(read.damaged.is_empty() && read.missing.is_empty());
    assert_eq!(read.messages.iter().map(|stored| stored.number).collect::<Vec<_>>(), [1, 2, 3, 4]);

    let ResumedSession { mut writer, session, notices } = store.resume("s-1").unwrap();
    assert_eq!((session.conversation, session.reminders, notices), (messages(), Vec::new(), Vec::<String>::new()));
    writer.continue_with(&Header { model: "n".into(), ..header("s-1") }).unwrap();
    writer.append(&Message::user("more"), None).unwrap();
    let read = store.read("s-1").unwrap();
    assert_eq!((read.messages.last().unwrap().number, read.header.model.as_str(), read.ending), (5, "n", None));
    assert!(read.usage.input_tokens == 30 && read.created.is_some());
    assert_eq!((read.turns, read.subagent_turns), (2, 3));
}

#[test]
fn of_a_session_that_was_killed_every_message_is_there_wherever_its_last_line_was_cut() {
    let (_directory, store) = written();
    let whole = std::fs::read(store.path("s-1")).unwrap();
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for length in (first..whole.len()).step_by(5) {
        std::fs::write(store.path("s-1"), &whole[..length]).unwrap();
        // A record is complete if only its line break is missing.
        let text = std::str::from_utf8(&whole[..length]).unwrap_or_default();
        let expected = whole[..=length].iter().filter(|byte| **byte == b'\n').count() - 1;
        let read = store.read("s-1").unwrap();
        assert_eq!((read.conversation.len(), &read.damaged), (expected.min(4), &Vec::new()), "{text}");
        let ResumedSession { mut writer, session, .. } = store.resume("s-1").unwrap();
        assert_eq!(session.messages.len(), expected.min(4));
        writer.append(&Message::user("on"), None).unwrap();
        drop(writer);
        let read = store.read("s-1").unwrap();
        assert_eq!((read.messages.len(), read.messages.last().unwrap().message.text()), (expected.min(4) + 1, "on"));
        assert!(read.damaged.is_empty());
    }
}

#[test]
fn a_session_without_an_end_is_counted_from_its_messages() {
    let (_directory, store) = written();
    put_lines(&store, &lines(&store)[..5]);
    let session = store.resume("s-1").unwrap().session;
    assert_eq!((session.turns, session.usage.input_tokens, session.ending), (2, 6, None));
}

#[test]
fn only_one_process_at_a_time_writes_and_the_lock_ends_with_it() {
    let (_directory, store) = written();
    let writer = store.resume("s-1").unwrap().writer;
    let in_use = "the session s-1 is in use by another process: wait until that has ended, or end it";
    assert_eq!(store.resume("s-1").unwrap_err().to_string(), in_use);
    assert_eq!(store.remove("s-1").unwrap_err().to_string(), in_use);
    assert!(store.read("s-1").is_ok(), "anybody may read it");
    drop(writer);
    assert!(store.resume("s-1").is_ok());
    let writer = store.create(&header("s-2")).unwrap();
    assert!(matches!(store.resume("s-2"), Err(SessionStoreError::InUse { .. })));
    drop(writer);
    assert!(store.resume("s-2").is_ok());
}

#[test]
fn a_session_that_a_program_without_a_lock_has_changed_is_not_written_over() {
    for replaces in [false, true] {
        let (_directory, store) = written();
        let mut writer = store.resume("s-1").unwrap().writer;
        let theirs = std::fs::read_to_string(store.path("s-1")).unwrap()
            + "{\"message\":{\"number\":5,\"role\":\"user\",\"text\":\"theirs\"}}\n";
        if replaces {
            std::fs::remove_file(store.path("s-1")).unwrap();
        }
        std::fs::write(store.path("s-1"), theirs).unwrap();
        let error = writer.append(&Message::user("ours"), None).unwrap_err();
        assert!(matches!(error, SessionStoreError::Overtaken { .. }), "{error}");
        assert_eq!(store.read("s-1").unwrap().messages[4].message.text(), "theirs");
    }
}

#[test]
fn a_damaged_line_is_reported_by_its_number_and_the_others_are_read() {
    for (damage, reason) in [
        ("nothing that was here before", "expected value at column 1"),
        (
            "{\"message\":{\"number\":2,\"role\":\"robot\"}}",
            "unknown variant `robot`, expected one of `user`, `assistant`, `tool`",
        ),
        ("{\"message\":{\"number\":2,", "EOF while parsing "),
        ("{\"song\":{}}", "unknown variant `song`"),
    ] {
        let (_directory, store) = written();
        let mut changed = lines(&store);
        changed[2] = damage.into();
        put_lines(&store, &changed);
        let read = store.read("s-1").unwrap();
        assert_eq!((read.messages.len(), read.damaged.len(), read.damaged[0].line), (3, 1, 3));
        let error = store.resume("s-1").unwrap_err().to_string();
        assert!(error.contains(&format!("s-1.jsonl:3: {reason}")), "{error}");
        assert!(error.ends_with("; repair the line, or remove it and continue without it"), "{error}");
        assert_eq!(store.list().unwrap()[0].messages, if damage.starts_with("{\"message\"") { 4 } else { 3 });
    }
}

#[test]
fn a_missing_message_is_reported_and_the_rest_is_a_valid_conversation() {
    let (_directory, store) = written();
    let mut changed = lines(&store);
    changed.remove(2);
    put_lines(&store, &changed);
    let ResumedSession { session, notices, .. } = store.resume("s-1").unwrap();
    assert_eq!(session.conversation, [messages()[0].clone(), messages()[3].clone()]);
    assert!(notices[0].starts_with("the session s-1 has no message 0002") && notices.len() == 2, "{notices:?}");

    let (_directory, store) = written();
    let mut changed = lines(&store);
    changed.remove(3);
    put_lines(&store, &changed);
    assert_eq!(store.resume("s-1").unwrap().session.conversation[2].text(), INTERRUPTED);
}

#[test]
fn a_message_edited_by_hand_counts_as_it_is() {
    let (_directory, store) = written();
    let mut changed = lines(&store);
    changed[1] = " { \"message\": { \"number\": 1, \"role\": \"user\", \"text\": \"something else\" } }\n".into();
    // The last line break is missing, because not every editor writes it.
    std::fs::write(store.path("s-1"), changed.join("\n")).unwrap();
    let ResumedSession { mut writer, session, .. } = store.resume("s-1").unwrap();
    assert_eq!((session.conversation[0].text(), session.ending.is_some()), ("something else", true));
    assert_eq!(store.list().unwrap()[0].prompt.as_deref(), Some("something else"));
    writer.append(&Message::user("more"), None).unwrap();
    let read = store.read("s-1").unwrap();
    assert_eq!((read.messages.len(), read.damaged.len(), read.ending), (5, 0, None));
}

#[test]
fn a_file_that_describes_no_session_is_not_listed_and_not_continued() {
    let (_directory, store) = written();
    std::fs::write(store.path("s-2"), "{\"end\":1}\n").unwrap();
    std::fs::write(store.path("s-3"), "").unwrap();
    std::fs::create_dir(store.path("s-4")).unwrap();
    assert_eq!(store.list().unwrap().len(), 1);
    for id in ["s-2", "s-3"] {
        let error = store.resume(id).unwrap_err().to_string();
        assert!(error.contains("no readable line `session`"), "{error}");
    }
    assert!(matches!(store.read("s-4"), Err(SessionStoreError::NotFound { .. })));
}

#[test]
fn a_prefix_of_an_id_names_no_session_and_whole_ids_are_proposed() {
    let (_directory, store) = written();
    for id in ["s-2", "s-22", "other"] {
        drop(store.create(&header(id)).unwrap());
    }
    std::fs::create_dir(store.directory.join("s-no-session")).unwrap();
    assert!(store.read("s-2").is_ok());
    let error = |id: &str| store.read(id).unwrap_err().to_string();
    assert!(error("o").ends_with("; its whole id is needed, such as other"), "{}", error("o"));
    assert!(error("s-").ends_with("; its whole id is needed, such as s-1, s-2, s-22"), "{}", error("s-"));
    assert!(!error("x").contains("such as") && !error("").contains("such as"));
    assert!(store.remove("o").is_err() && store.read("other").is_ok());
    for id in ["../s-1", "..", "s-no-session", ""] {
        assert!(matches!(store.read(id), Err(SessionStoreError::NotFound { .. })), "{id}");
    }
}

#[test]
fn sessions_are_listed_with_the_last_used_first() {
    let (_directory, store) = written();
    let mut writer = store.create(&header("s-2")).unwrap();
    writer.append(&Message::user("ä".repeat(5000)), None).unwrap();
    // Both files may have the same modification time, because the clock of the file system is coarse. So one gets an
    // earlier time.
    let before = std::fs::File::options().write(true).open(store.path("s-1")).unwrap();
    before.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    let listed = store.list().unwrap();
    let shown: Vec<_> = listed.iter().map(|session| (session.header.id.as_str(), session.messages)).collect();
    assert_eq!(shown, [("s-2", 1), ("s-1", 4)]);
    assert_eq!((listed[1].prompt.as_deref(), &listed[1].ending), (Some("two\nlines"), &Some(ending())));
    assert!(listed[0].prompt.as_ref().is_some_and(|prompt| prompt.starts_with("ää")));
    assert_eq!(SessionStore::new("/nowhere").list().unwrap(), []);
}

#[test]
fn a_removed_session_is_gone() {
    let (_directory, store) = written();
    store.remove("s-1").unwrap();
    assert_eq!(std::fs::read_dir(&store.directory).unwrap().count(), 0);
    assert!(matches!(store.remove("s-1"), Err(SessionStoreError::NotFound { .. })));
}

#[test]
fn only_the_user_can_read_it() {
    let (_directory, store) = written();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&store.directory), mode(&store.path("s-1"))), (0o700, 0o600));
}

#[test]
fn an_existing_session_is_not_written_over_and_an_id_is_not_a_path() {
    let (_directory, store) = written();
    assert!(matches!(store.create(&header("s-1")), Err(SessionStoreError::Io { doing: "created", .. })));
    assert_eq!(store.read("s-1").unwrap().messages.len(), 4);
    for id in ["../x", "", ".x", "a/b", "a\nb"] {
        assert!(matches!(store.create(&header(id)), Err(SessionStoreError::Id { .. })), "{id}");
    }
}

#[test]
fn a_pipe_in_place_of_a_file_is_not_waited_for() {
    let (_directory, store) = written();
    std::fs::remove_file(store.path("s-1")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, store.path("s-1"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(matches!(store.read("s-1"), Err(SessionStoreError::NotFound { .. })));
    assert!(matches!(store.resume("s-1"), Err(SessionStoreError::NotFound { .. })));
    assert_eq!(store.list().unwrap(), []);
}

#[test]
fn a_session_to_which_others_can_add_is_not_continued() {
    for name in [".", "s-1.jsonl"] {
        let (_directory, store) = written();
        let path = store.directory.join(name);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o1777)).unwrap();
        let error = store.resume("s-1").map(drop).unwrap_err().to_string();
        assert!(error.contains("other users can write it"), "{name}: {error}");
        if name == "." {
            assert!(matches!(store.list(), Err(SessionStoreError::Refused(_))));
            assert!(store.create(&header("s-2")).is_err());
        }
    }
}
