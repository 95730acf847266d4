//! The rules that were in force: what the calls of plugins in the log prove about them.
//!
//! The log has no list of the rules at the start of a host. Each call names the plugin, its code, its configuration and its
//! mode, so a rule is known to have been in force when it was called. Calls before and after a period say nothing about the period,
//! because the rule may have been replaced meanwhile. A rule that was loaded and never called is not in the log, unless it was
//! loaded while sessions were open.

use hookhost::audit::{CallRecord, LoadedPlugin, Record};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A plugin with one configuration, and the records that show it in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RuleInForce {
    /// Name of the plugin.
    pub plugin: String,
    /// Identity of the code: the digest of a component, or the version of a native rule.
    pub code: String,
    /// SHA-256 of the configuration.
    pub config: String,
    /// Effect of the plugin's answers.
    pub mode: String,
    /// The first record of the period that shows the rule in force.
    pub first: u64,
    /// The time of that record, in milliseconds since the Unix epoch.
    pub first_time: u64,
    /// The last record of the period that shows the rule in force.
    pub last: u64,
    /// The time of that record.
    pub last_time: u64,
    /// Number of calls in the period.
    pub calls: u64,
}

/// The rules that records show. Give it the records of the period, in the order of the log.
#[derive(Clone, Debug, Default)]
pub struct RuleHistory {
    rules: BTreeMap<[String; 4], RuleInForce>,
}

impl RuleHistory {
    /// Adds a record of the period, with its number.
    pub fn add(&mut self, seq: u64, record: &Record) {
        for call in record.calls() {
            let CallRecord { plugin, code, config, mode, .. } = call;
            self.note(
                seq,
                record.time(),
                [plugin.clone(), code.to_string(), config.to_string(), mode.name().to_owned()],
            )
            .calls += 1;
        }
        if let Record::RulesChanged(changed) = record {
            for LoadedPlugin { plugin, code, config, mode, .. } in &changed.plugins {
                self.note(
                    seq,
                    record.time(),
                    [plugin.clone(), code.to_string(), config.to_string(), mode.name().to_owned()],
                );
            }
        }
    }

    /// Notes that a record shows a rule in force.
    fn note(&mut self, seq: u64, time: u64, key: [String; 4]) -> &mut RuleInForce {
        let rule = self.rules.entry(key).or_insert_with_key(|[plugin, code, config, mode]| RuleInForce {
            plugin: plugin.clone(),
            code: code.clone(),
            config: config.clone(),
            mode: mode.clone(),
            first: seq,
            first_time: time,
            ..RuleInForce::default()
        });
        (rule.last, rule.last_time) = (seq, time);
        rule
    }

    /// Returns the rules, by plugin and then by time.
    #[must_use]
    pub fn in_force(self) -> Vec<RuleInForce> {
        let mut rules: Vec<_> = self.rules.into_values().collect();
        rules.sort_by(|a, b| (&a.plugin, a.first).cmp(&(&b.plugin, b.first)));
        rules
    }
}

#[cfg(test)]
mod tests {
    use super::RuleHistory;
    use hookhost::audit::Record;
    use serde_json::{Value, json};

    fn plugin(config: &str, mode: &str) -> Value {
        json!({ "plugin": "p", "digest": { "native": "1.0" }, "config": config.repeat(64), "mode": mode })
    }

    fn event(time: u64, configs: &[&str]) -> Record {
        let call = |config: &&str| {
            let mut call = plugin(config, "enforce");
            call.as_object_mut()
                .unwrap()
                .extend(json!({ "round": 1, "fuel": 0, "micros": 1 }).as_object().unwrap().clone());
            call
        };
        let calls: Vec<_> = configs.iter().map(call).collect();
        let event = json!({ "kind": "event", "id": "e", "session": "s", "time": time, "turn": 0, "event": "before-tool-call",
            "outcome": "allowed", "by": [], "changed-by": [], "original": null, "calls": calls });
        Record::from_json(&event.to_string()).unwrap()
    }

    #[test]
    fn a_rule_is_shown_with_its_first_and_its_last_call_and_their_number() {
        let mut history = RuleHistory::default();
        for (seq, record) in [(3, event(120, &["a"])), (4, event(150, &["b"])), (5, event(170, &["b", "c"]))] {
            history.add(seq, &record);
        }
        let rules = history.in_force();
        let shown: Vec<_> =
            rules.iter().map(|rule| (&rule.config[..1], rule.first, rule.last, rule.last_time, rule.calls)).collect();
        assert_eq!(shown, [("a", 3, 3, 120, 1), ("b", 4, 5, 170, 2), ("c", 5, 5, 170, 1)]);
    }

    #[test]
    fn a_rule_that_was_loaded_while_sessions_were_open_is_known_without_a_call() {
        let mut history = RuleHistory::default();
        let record = json!({ "kind": "rules-changed", "time": 5, "plugins": [plugin("a", "observe")] });
        history.add(7, &Record::from_json(&record.to_string()).unwrap());
        let rules = history.in_force();
        assert_eq!((rules[0].first, rules[0].calls, &*rules[0].mode), (7, 0, "observe"));
    }
}
