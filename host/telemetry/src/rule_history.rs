//! The rules that were in force: what the calls of plugins in the log prove about them.
//!
//! The log has no list of the rules at the start of a host. Each call names the plugin, its code, its configuration and its
//! mode. So a rule is known to have been in force from its first call to its last. A rule that was loaded and never called
//! is not in the log, unless it was loaded while sessions were open.

use hookhost::audit::CodeId;
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
    /// The first record that shows the rule in force.
    pub first: u64,
    /// The time of that record, in milliseconds since the Unix epoch.
    pub first_time: u64,
    /// The last record that shows the rule in force.
    pub last: u64,
    /// The time of that record.
    pub last_time: u64,
    /// Number of calls in the period.
    pub calls: u64,
}

/// The rules of a log. Give it the records in the order of the log.
#[derive(Clone, Debug, Default)]
pub struct RuleHistory {
    from: u64,
    to: u64,
    rules: BTreeMap<[String; 4], RuleInForce>,
}

/// The members of a record that say which rules were in force. Other members are not parsed, because a record can be large.
#[derive(Deserialize)]
struct Seen {
    seq: u64,
    time: u64,
    #[serde(default)]
    calls: Vec<SeenRule>,
    /// The call of a plugin's tool.
    call: Option<SeenRule>,
    /// The plugins of a changed configuration.
    #[serde(default)]
    plugins: Vec<SeenRule>,
}

#[derive(Deserialize)]
struct SeenRule {
    plugin: String,
    digest: CodeId,
    config: String,
    mode: String,
}

impl RuleHistory {
    /// Creates the history of a period, in milliseconds since the Unix epoch. The end is not part of it.
    #[must_use]
    pub fn new(from: u64, to: u64) -> Self {
        Self { from, to, rules: BTreeMap::new() }
    }

    /// Adds a line of the log, of any time. Returns the time of its record.
    pub fn add(&mut self, line: &str) -> Option<u64> {
        let seen: Seen = serde_json::from_str(line).ok()?;
        let is_within = self.from <= seen.time && seen.time < self.to;
        let called = seen.calls.into_iter().chain(seen.call).map(|rule| (rule, u64::from(is_within)));
        for (rule, calls) in called.chain(seen.plugins.into_iter().map(|rule| (rule, 0))) {
            let SeenRule { plugin, digest, config, mode } = rule;
            let code = digest.to_string();
            let key = [plugin.clone(), code.clone(), config.clone(), mode.clone()];
            let known = self.rules.entry(key).or_insert_with(|| RuleInForce {
                plugin,
                code,
                config,
                mode,
                first: seen.seq,
                first_time: seen.time,
                ..RuleInForce::default()
            });
            (known.last, known.last_time) = (seen.seq, seen.time);
            known.calls += calls;
        }
        Some(seen.time)
    }

    /// Returns the rules that were in force in the period, by plugin and then by time.
    #[must_use]
    pub fn in_force(self) -> Vec<RuleInForce> {
        let Self { from, to, rules } = self;
        let is_within = |rule: &RuleInForce| rule.first_time < to && rule.last_time >= from;
        let mut rules: Vec<_> = rules.into_values().filter(is_within).collect();
        rules.sort_by(|a, b| (&a.plugin, a.first).cmp(&(&b.plugin, b.first)));
        rules
    }
}

#[cfg(test)]
mod tests {
    use super::RuleHistory;
    use serde_json::json;

    fn line(seq: u64, time: u64, configs: &[&str]) -> String {
        let calls: Vec<_> = configs
            .iter()
            .map(|config| json!({ "plugin": "p", "digest": { "native": "1.0" }, "config": config, "mode": "enforce" }))
            .collect();
        json!({ "seq": seq, "kind": "event", "time": time, "calls": calls }).to_string()
    }

    #[test]
    fn a_rule_is_in_force_from_its_first_call_to_its_last_and_counts_the_calls_of_the_period() {
        let mut history = RuleHistory::new(100, 200);
        for line in [line(2, 50, &["a"]), line(3, 120, &["a"]), line(4, 150, &["b"]), line(5, 250, &["b", "c"])] {
            assert!(history.add(&line).is_some());
        }
        let rules = history.in_force();
        let shown: Vec<_> = rules.iter().map(|rule| (&*rule.config, rule.first, rule.last, rule.calls)).collect();
        assert_eq!(shown, [("a", 2, 3, 1), ("b", 4, 5, 1)], "`c` came after the period");
    }

    #[test]
    fn a_rule_that_was_loaded_while_sessions_were_open_is_known_without_a_call() {
        let mut history = RuleHistory::new(0, 100);
        let plugins = json!([{ "plugin": "p", "digest": "0".repeat(64), "config": "a", "mode": "observe" }]);
        history.add(&json!({ "seq": 7, "kind": "rules-changed", "time": 5, "plugins": plugins }).to_string());
        let rules = history.in_force();
        assert_eq!((rules[0].first, rules[0].calls, &*rules[0].mode), (7, 0, "observe"));
    }

    #[test]
    fn a_line_that_is_no_record_says_nothing() {
        assert_eq!(RuleHistory::new(0, 9).add("{}"), None);
    }
}
