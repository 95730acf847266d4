//! A settler with rules that a test sets, and functions that create messages of Claude Code.

use hookhost::audit::{Delivery, EventRecord, MemoryLog, Record};
use hookhost::config::{Entry, Settings};
use hookhost::native::Rule;
use hookhost::{Config, Host};
use hookhost_agents::{Message, Reply, by_name};
use hookhost_resident::{ConfigurationSource, FoundConfiguration, Settler};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A source that returns the same configuration for every directory. If `file` changes, the configuration is loaded again.
pub(crate) struct OneConfiguration {
    pub(crate) config: Mutex<Result<Config, String>>,
    pub(crate) file: PathBuf,
}

impl ConfigurationSource for OneConfiguration {
    fn find(&self, _: &Path, _: Option<&Config>) -> Result<FoundConfiguration, String> {
        self.config.lock().unwrap().clone().map(FoundConfiguration::new)
    }

    fn files(&self, _: &Path, _: Option<&Config>) -> Vec<PathBuf> {
        vec![self.file.clone()]
    }
}

/// Returns a configuration that contains this rule. If the rule handles no event, returns an empty configuration.
pub(crate) fn of_rule(rule: Rule) -> Config {
    if format!("{rule:?}") == format!("{:?}", Rule::new()) {
        return Config::empty();
    }
    Config::from_entries(vec![Entry::from_rule("rule", rule)], Settings::default()).unwrap()
}

/// A settler, with its log and its configuration.
pub(crate) struct Lab {
    pub(crate) settler: Arc<Settler>,
    pub(crate) log: MemoryLog,
    pub(crate) configuration: Arc<OneConfiguration>,
    pub(crate) directory: tempfile::TempDir,
}

impl Lab {
    pub(crate) async fn new(rule: Rule) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = MemoryLog::default();
        let builder = Host::builder(Config::empty()).without_cache().audit(log.clone());
        let host = builder.store(directory.path().join("hookhost.db")).share_questions().build().await.unwrap();
        let file = directory.path().join("hookhost.toml");
        std::fs::write(&file, "1").unwrap();
        let configuration = Arc::new(OneConfiguration { config: Mutex::new(Ok(of_rule(rule))), file });
        let settler = Arc::new(Settler::new(host, Arc::clone(&configuration) as Arc<dyn ConfigurationSource>));
        Self { settler, log, configuration, directory }
    }

    /// Returns the reply to a message of Claude Code.
    pub(crate) async fn reply(&self, message: &Value) -> Reply {
        self.reply_of("claude-code", message).await
    }

    pub(crate) async fn reply_of(&self, agent: &str, message: &Value) -> Reply {
        let bytes = message.to_string().into_bytes();
        self.settler.reply(by_name(agent).unwrap(), &Message::new(&bytes, Path::new("/work")), &|_| {}).await
    }

    /// Returns the JSON that the hook would print, or `null` if it would print nothing.
    pub(crate) async fn said(&self, message: &Value) -> Value {
        let reply = self.reply(message).await;
        assert_eq!((reply.exit, reply.stderr.as_str()), (0, ""), "{reply:?}");
        if reply.stdout.is_empty() { Value::Null } else { serde_json::from_str(&reply.stdout).unwrap() }
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        self.log.records()
    }

    /// Returns the records of the events with this name.
    pub(crate) fn events(&self, name: &str) -> Vec<EventRecord> {
        let events = self.records().into_iter().filter_map(|record| match record {
            Record::Event(event) if event.event.name() == name => Some(*event),
            _ => None,
        });
        events.collect()
    }

    pub(crate) async fn deliveries(&self) -> Vec<Delivery> {
        self.settler.host().drain(std::time::Duration::from_secs(5)).await.unwrap();
        let deliveries = self.records().into_iter().filter_map(|record| match record {
            Record::Delivery(delivery) => Some(delivery),
            _ => None,
        });
        deliveries.collect()
    }
}

/// Returns a message of Claude Code.
pub(crate) fn message(point: &str, fields: &Value) -> Value {
    let mut message = json!({ "session_id": "s", "cwd": "/work", "hook_event_name": point });
    message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    message
}

/// Returns a message about a call of a shell command.
pub(crate) fn bash(point: &str, id: &str, command: &str) -> Value {
    message(point, &json!({ "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": id }))
}

/// Returns the decision on a call that a reply contains, or `none`.
pub(crate) fn decision(said: &Value) -> &str {
    said["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or("none")
}
