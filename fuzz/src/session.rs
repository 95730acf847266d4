//! Files that people, other programs and repositories write: lines of a session, skills, instructions.

use hookhost_agent::context::{Context, Sources};
use hookhost_agent::session_store::SessionStore;
use hookhost_models::message::{Message, unanswered};
use std::path::Path;

/// Writes the bytes as each of these files, then reads them.
pub fn session(bytes: &[u8]) {
    let directory = tempfile::tempdir().expect("a directory");
    let write = |name: &str, content: &[u8]| {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).expect("a directory");
        std::fs::write(path, content).expect("a file");
    };
    write("work/AGENTS.md", bytes);
    write("work/.agents/skills/a/SKILL.md", bytes);
    let context = Context::gather(&Sources::of(directory.path().join("work")));
    assert!(context.skills.len() + context.notices.len() > 0, "a file that is no skill is told");

    let mut lines = b"{\"session\":{\"provider\":\"p\",\"model\":\"m\",\"workspace\":\"/\"}}\n".to_vec();
    lines.extend(b"{\"message\":{\"number\":1,\"role\":\"user\",\"text\":\"go\"}}\n");
    lines.extend(bytes);
    write("sessions/s.jsonl", &lines);
    let store = SessionStore::new(directory.path().join("sessions"));
    assert_eq!(store.list().expect("a list").len(), 1);
    let mut resumed = match store.resume("s") {
        Ok(resumed) => resumed,
        Err(error) => return assert!(error.to_string().contains("s.jsonl:"), "{error}"),
    };
    let conversation = resumed.session.conversation;
    for (index, message) in conversation.iter().enumerate() {
        if !matches!(message, Message::Tool { .. }) {
            assert_eq!(unanswered(&conversation[..index]), Vec::<&hookhost_models::message::ToolUse>::new());
        }
    }
    for message in &conversation {
        resumed.writer.append(message, None).expect("a message");
    }
    let read = store.read("s").expect("a session").conversation;
    assert_eq!(read[read.len() - conversation.len()..], conversation);
}
