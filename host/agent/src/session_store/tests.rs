//! A session is whole whenever the process that writes it dies, and whatever becomes of its files.

use super::*;
use hookhost_models::message::{Message, Thinking, ThinkingKind, Thoughts, ToolUse};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
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

fn file(store: &SessionStore, name: &str) -> PathBuf {
    store.directory.join("s-1").join(name)
}

#[test]
fn what_was_written_is_read_and_continued() {
    let (_directory, store) = written();
    let read = store.read("s-1").unwrap();
    assert_eq!((&read.conversation, &read.header, &read.ending), (&messages(), &header("s-1"), &Some(ending())));
    assert_eq!((read.usage, read.turns, read.subagent_turns), (ending().usage, 2, 3));
    assert!(read.damaged.is_empty() && read.missing.is_empty());
    let names: Vec<_> = read.messages.iter().map(|stored| message_file::name(stored.number, &stored.message)).collect();
    assert_eq!(names, ["0001-user.md", "0002-assistant.md", "0003-tool_result.md", "0004-assistant.md"]);

    let Resumed { mut writer, session, reminders, notices } = store.resume("s-1").unwrap();
    assert_eq!((session.conversation, reminders, notices), (messages(), Vec::new(), Vec::<String>::new()));
    writer.take_up(&Header { model: "n".into(), ..header("s-1") }).unwrap();
    writer.append(&Message::user("more"), None).unwrap();
    let read = store.read("s-1").unwrap();
    assert_eq!((read.messages.last().unwrap().number, read.header.model.as_str(), read.ending), (5, "n", None));
    assert!(read.usage.input_tokens == 30 && read.created.is_some());
}

#[test]
fn of_a_session_that_was_killed_every_message_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let store = SessionStore::new(directory.path());
    let mut writer = store.create(&header("s-1")).unwrap();
    for (index, message) in messages().into_iter().enumerate() {
        // What a kill between two steps leaves: nothing of the message, or a file that has no name yet.
        std::fs::write(store.directory.join("s-1/.unfinished-x"), "---\nro").unwrap();
        let read = store.read("s-1").unwrap();
        assert_eq!((read.conversation.len(), read.ending), (index, None));
        writer.append(&message, generation(&message)).unwrap();
    }
    drop(writer);
    std::fs::create_dir(store.directory.join(".unfinished-y")).unwrap();
    let Resumed { session, .. } = store.resume("s-1").unwrap();
    assert_eq!((session.turns, session.usage.input_tokens), (2, 6), "counted from the messages");
    assert!(!file(&store, ".unfinished-x").exists());
    assert_eq!(store.list().unwrap().len(), 1);
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
}

#[test]
fn a_message_that_a_program_without_a_lock_has_written_is_not_written_over() {
    let (_directory, store) = written();
    let mut writer = store.resume("s-1").unwrap().writer;
    std::fs::write(file(&store, "messages/0005-user.md"), "---\nrole: user\n---\ntheirs\n").unwrap();
    let error = writer.append(&Message::user("ours"), None).unwrap_err();
    assert!(matches!(error, SessionStoreError::Overtaken { .. }), "{error}");
    assert_eq!(store.read("s-1").unwrap().messages[4].message.text(), "theirs");
}

#[test]
fn a_damaged_message_is_reported_by_its_file_and_the_others_are_read() {
    let (_directory, store) = written();
    let path = file(&store, "messages/0002-assistant.md");
    std::fs::write(&path, "nothing that was here before").unwrap();
    let read = store.read("s-1").unwrap();
    assert_eq!((read.messages.len(), read.damaged.len()), (3, 1));
    let error = store.resume("s-1").unwrap_err().to_string();
    let expected = "0002-assistant.md: it has no front matter: its first line must be `---`; repair the file, or remove it and continue without it";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn a_missing_message_is_reported_and_the_rest_is_a_valid_conversation() {
    let (_directory, store) = written();
    std::fs::remove_file(file(&store, "messages/0002-assistant.md")).unwrap();
    let Resumed { session, notices, .. } = store.resume("s-1").unwrap();
    assert_eq!(session.conversation, [messages()[0].clone(), messages()[3].clone()]);
    assert!(notices[0].starts_with("the session s-1 has no message 0002") && notices.len() == 2, "{notices:?}");

    let (_directory, store) = written();
    std::fs::remove_file(file(&store, "messages/0003-tool_result.md")).unwrap();
    let Resumed { session, .. } = store.resume("s-1").unwrap();
    assert_eq!(session.conversation[2].text(), INTERRUPTED);
}

#[test]
fn a_message_edited_by_hand_counts_as_it_is() {
    let (_directory, store) = written();
    std::fs::write(file(&store, "messages/0001-user.md"), "---\nrole: user\n---\nsomething else").unwrap();
    assert_eq!(store.resume("s-1").unwrap().session.conversation[0].text(), "something else");
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
    // Both were written in the same moment, as far as the clock of the files tells.
    let before = std::fs::File::open(store.directory.join("s-1/messages")).unwrap();
    before.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    let listed = store.list().unwrap();
    let shown: Vec<_> = listed.iter().map(|session| (session.header.id.as_str(), session.messages)).collect();
    assert_eq!(shown, [("s-2", 1), ("s-1", 4)]);
    assert_eq!(listed[1].prompt.as_deref(), Some("two\nlines"));
    assert!(listed[0].prompt.as_ref().is_some_and(|prompt| prompt.starts_with("ää")));
    assert_eq!(SessionStore::new("/nowhere").list().unwrap(), []);
}

#[test]
fn a_removed_session_is_gone() {
    let (_directory, store) = written();
    // A process was killed while it removed another.
    std::fs::create_dir_all(store.directory.join(".removed-s-0/messages")).unwrap();
    store.remove("s-1").unwrap();
    assert_eq!(std::fs::read_dir(&store.directory).unwrap().count(), 0);
    assert!(matches!(store.remove("s-1"), Err(SessionStoreError::NotFound { .. })));
}

#[test]
fn only_the_user_can_read_it() {
    let (_directory, store) = written();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for directory in [store.directory.clone(), file(&store, ""), file(&store, "messages")] {
        assert_eq!(mode(&directory), 0o700, "{}", directory.display());
    }
    for name in ["session.conf", ".lock", "messages/0001-user.md"] {
        assert_eq!(mode(&file(&store, name)), 0o600, "{name}");
    }
}

#[test]
fn an_existing_session_is_not_written_over_and_an_id_is_not_a_path() {
    let (_directory, store) = written();
    assert!(matches!(store.create(&header("s-1")), Err(SessionStoreError::Io { doing: "created", .. })));
    for id in ["../x", "", ".x", "a/b", "a\nb"] {
        assert!(matches!(store.create(&header(id)), Err(SessionStoreError::Id { .. })), "{id}");
    }
}

#[test]
fn a_session_of_the_fourth_seeds_program_is_continued() {
    let directory = tempfile::tempdir().unwrap();
    let session = directory.path().join("20260324-143022-12345");
    std::fs::create_dir_all(session.join("messages")).unwrap();
    let put = |name: &str, text: &str| std::fs::write(session.join(name), text).unwrap();
    put(
        "session.conf",
        "id=20260324-143022-12345\nmodel=x\nprovider=anthropic\ncreated=2026-03-24T14:30:22+01:00\ncwd=/home/me\n",
    );
    let user = "---\nrole: user\nseq: 0001\ntimestamp: 2026-03-24T14:30:22+01:00\n---\nList files\n";
    put("messages/0001-user.md", user);
    put(
        "messages/0002-assistant.md",
        "---\nrole: assistant\nseq: 0002\ntimestamp: 2026-03-24T14:30:24+01:00\nmodel: x\nprovider: anthropic\n\
         stop: tool_calls\ntokens_in: 12\ntokens_out: 7\n---\n```thinking signature=sig123\nLook first.\n```\nI look.\n\n\
         ```tool_call id=toolu_456 name=bash\n{\"command\":\"ls\"}\n```\n\n",
    );
    let result = "---\nrole: tool_result\nseq: 0003\ntimestamp: 2026-03-24T14:30:25+01:00\ncall_id: toolu_456\n\
                  tool: bash\nerror: false\n---\na\n---\nb\n";
    put("messages/0003-tool_result.md", result);
    let store = SessionStore::new(directory.path());
    let Resumed { mut writer, session: read, notices, .. } = store.resume(&store.list().unwrap()[0].header.id).unwrap();
    assert_eq!(notices, Vec::<String>::new());
    let call = ToolUse::new("toolu_456", "bash", json!({ "command": "ls" }));
    assert_eq!(
        read.conversation,
        [
            Message::user("List files"),
            Message::Assistant {
                text: "I look.".into(),
                tool_calls: vec![call],
                thoughts: Thoughts::new(
                    "anthropic",
                    "x",
                    vec![Thinking::new(ThinkingKind::Thinking, "Look first.", "sig123")]
                ),
            },
            Message::Tool {
                call_id: "toolu_456".into(),
                name: "bash".into(),
                text: "a\n---\nb".into(),
                is_error: false
            },
        ]
    );
    assert_eq!((read.usage.input_tokens, read.messages[1].time), (12, Some(1_774_359_024_000)));
    writer.append(&Message::user("Continue."), None).unwrap();
    assert!(store.directory.join("20260324-143022-12345/messages/0004-user.md").exists());
}

fn pipe(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0)
        .unwrap();
}

#[test]
fn a_pipe_in_place_of_a_file_is_not_waited_for() {
    for name in ["messages/0001-user.md", ".lock", "session.conf", "reminders.json"] {
        let (_directory, store) = written();
        let _ = std::fs::remove_file(file(&store, name));
        pipe(&file(&store, name));
        let said = match (store.read("s-1"), store.resume("s-1")) {
            (read, Ok(resumed)) => format!("{read:?} {:?}", resumed.notices),
            (read, Err(error)) => format!("{read:?} {error}"),
        };
        store.list().unwrap();
        let is_there = name != "session.conf";
        assert_eq!(said.contains("it is not a regular file"), is_there, "{name}: {said}");
        assert_eq!(said.contains("NotFound"), !is_there, "{name}: {said}");
    }
}

#[test]
fn a_session_to_which_others_can_add_is_not_continued() {
    for name in ["..", ".", "messages", "messages/0001-user.md", "session.conf"] {
        let (_directory, store) = written();
        let path = file(&store, name);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o1777)).unwrap();
        let said = store.resume("s-1").map(drop).unwrap_err().to_string();
        assert!(said.contains("other users can write it"), "{name}: {said}");
        if name == ".." {
            assert!(matches!(store.list(), Err(SessionStoreError::Refused(_))));
            assert!(store.create(&header("s-2")).is_err());
        }
    }
}
