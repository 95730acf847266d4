//! Finds when each rule and each plugin decided last.

use crate::explained::newest_first;
use hookhost::audit::Record;
use hookhost::config::Entry;
use hookhost::store::{Log, LogError};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Number of records, from the newest, that are searched for last decisions.
const MAX_RECORDS: usize = 20_000;

/// A decision: its time, and the number of its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastMatch {
    /// Time of the event, in milliseconds since the Unix epoch.
    pub time: u64,
    /// The number of the record.
    pub seq: u64,
}

/// The last decisions in the newest records of a log.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LastMatches {
    /// The last match of each rule in words, by its identifier.
    pub rules: HashMap<String, LastMatch>,
    /// The last event that each plugin decided or changed, by its name.
    pub plugins: HashMap<String, LastMatch>,
}

impl LastMatches {
    /// Reads the newest records of a log.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn read(log: &Log) -> Result<Self, LogError> {
        let mut matches = Self::default();
        let mut left = MAX_RECORDS;
        newest_first(log, u64::MAX, |line| {
            if let Ok(Record::Event(event)) = line.entry() {
                let at = LastMatch { time: event.header.time, seq: line.seq() };
                let of_rules = event.calls.iter().filter(|call| call.plugin == Entry::RULES);
                for finding in of_rules.flat_map(|call| &call.findings) {
                    matches.rules.entry(finding.code.clone()).or_insert(at);
                }
                for name in event.by.iter().chain(&event.changed_by) {
                    matches.plugins.entry(name.clone()).or_insert(at);
                }
            }
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(matches)
    }
}

#[cfg(test)]
mod tests {
    use super::{LastMatch, LastMatches};
    use hookhost::contract::{Refusal, ToolCall};
    use hookhost::store::Log;
    use hookhost::{Config, Host};
    use serde_json::json;
    use std::time::Duration;

    #[tokio::test]
    async fn the_last_decision_of_a_plugin_counts() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("hookhost.db");
        let host = Host::builder(Config::empty()).without_cache().store(&file);
        let host =
            host.rule("careful", |call: &ToolCall| call.arguments.contains("danger").then(|| Refusal::new("no")));
        let host = host.build().await.unwrap();
        let session = host.session("my-agent", "/work").unwrap();
        for command in ["danger one", "danger two", "ls"] {
            let _ = session.check_tool("bash", &json!({ "command": command })).await;
        }
        drop(session);
        host.drain(Duration::from_secs(5)).await.unwrap();
        let log = Log::open(&file).unwrap().only_stored();
        let line = log.lines().unwrap().flatten().filter(|line| line.text().contains("danger two")).last().unwrap();
        let expected = LastMatch { time: line.entry().unwrap().time(), seq: line.seq() };
        assert_eq!(LastMatches::read(&log).unwrap().plugins.get("careful"), Some(&expected));
    }
}
