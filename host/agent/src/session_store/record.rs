//! The lines of a session's file.

use hookhost::capability::Reminder;
use hookhost_models::message::{Message, TokenUsage};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One line of the file. It is an object with a single key, which is the kind of the record.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Record {
    Session(SessionStart),
    Message(StoredMessage),
    Reminders(Vec<StoredReminder>),
    End(Ending),
}

/// The beginning of a session, or of its continuation.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SessionStart {
    /// Time in milliseconds since the Unix epoch.
    #[serde(default)]
    pub(super) time: Option<u64>,
    #[serde(flatten)]
    pub(super) header: Header,
}

/// A reminder of a plugin.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredReminder {
    /// Number of model calls before the reminder.
    pub(super) turn: u32,
    #[serde(flatten)]
    pub(super) reminder: Reminder,
}

/// Facts of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Header {
    /// Identifier of the session, and name of its file. When a session is read, the name of the file is used.
    #[serde(skip)]
    pub id: String,
    /// Name of the provider in the configuration.
    pub provider: String,
    /// Name of the model in the configuration.
    pub model: String,
    /// Root of the agent's project.
    #[serde(with = "any_path")]
    pub workspace: PathBuf,
    /// Identifier of the session that started this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// A stored message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct StoredMessage {
    /// Number of the message in its session, from 1.
    pub number: u64,
    /// Time of writing in milliseconds since the Unix epoch, if recorded.
    #[serde(default)]
    pub time: Option<u64>,
    /// The message.
    #[serde(flatten)]
    pub message: Message,
    /// Model call of an answer, if recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
}

/// The model call that produced an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Generation {
    /// Name of the provider in the configuration.
    pub provider: String,
    /// Name of the model in the configuration.
    pub model: String,
    /// Reason why the answer ended: `end`, `tool_calls`, `length`, or another word.
    pub stop: String,
    /// Tokens of the call.
    pub usage: TokenUsage,
}

/// End of a session. If the session's process was killed, there is no end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Ending {
    /// `success`, `rejected`, `max-turns`, `max-tokens`, `max-time`, `error` or `cancelled`.
    pub status: String,
    /// Reason of a status other than success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Number of model calls, without the calls of sub-agents.
    pub turns: u32,
    /// Number of model calls by sub-agents.
    pub subagent_turns: u32,
    /// Tokens used, sub-agents included.
    pub usage: TokenUsage,
}

/// A path as text, or as an array of bytes if it is not UTF-8.
mod any_path {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::path::{Path, PathBuf};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum AnyPath {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => text.serialize(serializer),
            None => path.as_os_str().as_bytes().serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        Ok(match AnyPath::deserialize(deserializer)? {
            AnyPath::Text(text) => text.into(),
            AnyPath::Bytes(bytes) => OsString::from_vec(bytes).into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookhost_models::message::{Author, Thinking, ThinkingKind, Thoughts, ToolUse};
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;

    fn read_back(message: Message, generation: Option<Generation>) -> (StoredMessage, StoredMessage) {
        let stored = StoredMessage { number: 7, time: Some(1_760_000_000_123), message, generation };
        let line = serde_json::to_string(&Record::Message(stored.clone())).unwrap();
        assert!(!line.contains('\n'), "{line}");
        let Ok(Record::Message(read)) = serde_json::from_str(&line) else { panic!("{line}") };
        (stored, read)
    }

    fn arguments() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i32>().prop_map(|number| Value::from(f64::from(number) / 4.0)),
            any::<String>().prop_map(Value::from),
        ];
        let object = proptest::collection::btree_map(any::<String>(), leaf, 0..4);
        prop_oneof![
            object.prop_map(|object| Value::Object(object.into_iter().collect())),
            any::<String>().prop_map(Value::String),
        ]
    }

    proptest! {
        #[test]
        fn every_message_is_read_as_it_was_written(
            text: String, id: String, name: String, is_error: bool, arguments in arguments(), before: usize,
            author in proptest::sample::select(&Author::ALL[..])
        ) {
            let usage = TokenUsage::new(3, u64::MAX).cached(2);
            let (provider, model) = (name.clone(), id.clone());
            let thinking = Thinking::new(ThinkingKind::Thinking, text.clone(), id.clone());
            let mut late = Thinking::new(ThinkingKind::RedactedThinking, "", "c2ln");
            (late.text_before, late.calls_before) = (before, 1);
            let answer = Message::Assistant {
                text: text.clone(),
                tool_calls: vec![ToolUse::new(id.clone(), name.clone(), arguments)],
                thoughts: Thoughts::new(provider.clone(), model.clone(), vec![thinking, late]),
            };
            let generation = Generation { provider, model, stop: "end".into(), usage };
            let result = Message::Tool { call_id: id, name, text: text.clone(), is_error };
            for (message, generation) in [(Message::User { text, author }, None), (result, None), (answer, Some(generation))] {
                let (stored, read) = read_back(message, generation);
                prop_assert_eq!(read, stored);
            }
        }
    }

    #[test]
    fn a_line_is_as_people_read_it() {
        let (stored, _) = read_back(Message::user("Say\nhello"), None);
        assert_eq!(
            serde_json::to_value(Record::Message(stored)).unwrap(),
            json!({ "message": { "number": 7, "time": 1_760_000_000_123_u64, "role": "user", "text": "Say\nhello" } })
        );
    }

    #[test]
    fn a_path_of_any_bytes_is_read_as_it_was_written() {
        for bytes in [b"/a b/\xff\n=".to_vec(), b"/plain".to_vec(), "/\u{e4}\u{85}".into()] {
            let workspace = PathBuf::from(OsString::from_vec(bytes));
            let (id, provider, model) = (String::new(), "p\n".to_owned(), "m".to_owned());
            let header = Header { id, provider, model, workspace, parent: Some("p".into()) };
            let line = serde_json::to_string(&SessionStart { time: None, header: header.clone() }).unwrap();
            assert_eq!(serde_json::from_str::<SessionStart>(&line).unwrap().header, header);
        }
    }
}
