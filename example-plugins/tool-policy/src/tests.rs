use super::ToolPolicy;
use hookhost_guest::prelude::*;
use hookhost_guest::testing;
use serde_json::{Value, json};

fn configure(rules: &Value) -> Result<(), String> {
    let config = serde_json::from_value(json!({"rule": rules})).map_err(|error| error.to_string())?;
    testing::prime(|_| {});
    ToolPolicy::configure(config)
}

fn call(tool: &str, arguments: Value) -> ToolCall {
    testing::call(tool, arguments, Action::Other(String::new()))
}

fn ask(tool: &str, arguments: Value) -> ToolCallVerdict {
    ToolPolicy::before_tool_call(&testing::session(), &call(tool, arguments))
}

fn result(text: &str) -> ToolResultVerdict {
    let result = ToolResult::new(text);
    ToolPolicy::after_tool_call(&testing::session(), &call("x", json!({})), &result, ResultSource::Tool)
}

#[test]
fn a_denied_name_is_refused_with_its_reason() {
    configure(&json!([{"id": "gate", "tool": "exec_*", "deny": "exec_* is gated"}])).unwrap();
    let ToolCallVerdict::Reject(refusal) = ask("Exec_shell", json!({})) else { panic!("not refused") };
    assert_eq!((refusal.reason.as_str(), refusal.code.as_deref()), ("exec_* is gated", Some("gate")));
    assert_eq!(ask("read", json!({})), ToolCallVerdict::Allow);
    testing::inspect(|host| assert_eq!(host.findings.len(), 1));
}

#[test]
fn conditions_are_about_arguments_and_all_of_them_must_fit() {
    for (when, arguments, fits) in [
        (json!([{"argument": "path", "matches": "^/etc"}]), json!({"path": "/etc/x"}), true),
        (json!([{"argument": "path", "matches": "^/etc"}]), json!({"path": "etc"}), false),
        (json!([{"argument": "path", "matches": "^/etc"}]), json!({}), false),
        (json!([{"argument": "a.b.1", "equals": 2}]), json!({"a": {"b": [1, 2]}}), true),
        (json!([{"argument": "a.b.7", "equals": 2}]), json!({"a": {"b": [1, 2]}}), false),
        (json!([{"argument": "a", "not": "x"}]), json!({"a": "y"}), true),
        (json!([{"argument": "a", "not": "x"}]), json!({}), true),
        (json!([{"argument": "a", "not": "x"}]), json!({"a": "x"}), false),
        (json!([{"argument": "a", "present": true}]), json!({"a": null}), true),
        (json!([{"argument": "a", "present": false}]), json!({"a": null}), false),
        (json!([{"argument": "n", "matches": "^1"}]), json!({"n": 12}), true),
        (json!([{"argument": "a", "present": true}, {"argument": "b", "present": true}]), json!({"a": 1}), false),
        // Some tools treat these two names as the same argument.
        (json!([{"argument": "guid", "equals": 1}]), json!({"guid": 2, "Guid": 1}), true),
        (json!([{"argument": "a.guid", "matches": "^1"}]), json!({"A": {"GUID": 1}}), true),
        (json!([{"argument": "branch", "not": "main"}]), json!({"branch": "main", "Branch": "x"}), true),
    ] {
        configure(&json!([{"id": "x", "deny": "no", "when": when}])).unwrap();
        assert_eq!(matches!(ask("t", arguments.clone()), ToolCallVerdict::Reject(_)), fits, "{when} of {arguments}");
    }
}

#[test]
fn a_refusal_outranks_a_question_whichever_comes_first() {
    configure(&json!([{"id": "a", "ask": "Sure?"}, {"id": "b", "tool": "x", "deny": "no"}])).unwrap();
    assert!(matches!(ask("x", json!({})), ToolCallVerdict::Reject(_)));
    assert!(matches!(ask("y", json!({})), ToolCallVerdict::Escalate(_)));
}

#[test]
fn a_call_that_one_rate_refuses_counts_for_no_other() {
    let rates = [
        json!({"id": "hour", "tool": "web_*", "rate": {"calls": 3, "seconds": 3600}}),
        json!({"id": "second", "tool": "web_*", "rate": {"calls": 1, "seconds": 1}}),
    ];
    configure(&json!(rates)).unwrap();
    let ask = |time: u64| {
        testing::inspect(|host| host.time = time);
        ask("web_get", json!({}))
    };
    assert_eq!(ask(1_000_000), ToolCallVerdict::Allow);
    for _ in 0..10 {
        assert!(matches!(ask(1_000_001), ToolCallVerdict::Reject(_)));
    }
    // The rate for an hour permits two more calls.
    assert_eq!(ask(1_002_000), ToolCallVerdict::Allow);
    assert_eq!(ask(1_004_000), ToolCallVerdict::Allow);
    assert!(matches!(ask(1_006_000), ToolCallVerdict::Reject(_)));
}

#[test]
fn beyond_the_rate_a_call_may_be_tried_again_later() {
    configure(&json!([{"id": "slow", "tool": "web_*", "rate": {"calls": 2, "seconds": 60}}])).unwrap();
    testing::inspect(|host| host.time = 119_000);
    assert_eq!(ask("web_get", json!({})), ToolCallVerdict::Allow);
    testing::inspect(|host| host.time += 20_000);
    assert_eq!(ask("web_put", json!({})), ToolCallVerdict::Allow);
    let ToolCallVerdict::Reject(refusal) = ask("web_get", json!({})) else { panic!("not refused") };
    assert!(refusal.retryable && refusal.reason.contains("try again in 40 s"), "{}", refusal.reason);
    assert_eq!(ask("read", json!({})), ToolCallVerdict::Allow);
    testing::inspect(|host| host.time += 40_000);
    assert_eq!(ask("web_get", json!({})), ToolCallVerdict::Allow);
    assert!(matches!(ask("web_get", json!({})), ToolCallVerdict::Reject(_)), "the second call still counts");
}

#[test]
fn a_clock_that_is_put_back_refuses_calls_for_one_stretch_and_no_longer() {
    configure(&json!([{"id": "slow", "tool": "web_*", "rate": {"calls": 1, "seconds": 10}}])).unwrap();
    let ask = |time: u64| {
        testing::inspect(|host| host.time = time);
        matches!(ask("web_get", json!({})), ToolCallVerdict::Allow)
    };
    assert!(ask(1_000_000_000));
    for time in [1000, 2000, 5000, 10_999] {
        assert!(!ask(time), "{time}");
    }
    assert!(ask(11_000));
}

#[test]
fn a_call_that_cannot_be_counted_is_refused() {
    configure(&json!([{"id": "slow", "rate": {"calls": 2, "seconds": 60}}])).unwrap();
    testing::inspect(|host| host.state_error = Some(state::Error::QuotaExceeded));
    assert!(matches!(ask("x", json!({})), ToolCallVerdict::Reject(_)));
}

#[test]
fn a_long_result_is_cut_and_says_how_much_is_missing() {
    configure(&json!([{"id": "long", "max-output": 10}, {"id": "short", "max-output": 4}])).unwrap();
    assert_eq!(result("abcd"), ToolResultVerdict::Keep);
    let ToolResultVerdict::Replace(cut) = result("abcdefgh") else { panic!("not cut") };
    assert_eq!(without_mark(&cut.text), "abcd\n[4 bytes dropped #]");
    assert_eq!(result(&cut.text), ToolResultVerdict::Keep);
    let ToolResultVerdict::Replace(cut) = result("aéé") else { panic!("not cut") };
    assert_eq!(without_mark(&cut.text), "aé\n[2 bytes dropped #]");
    testing::inspect(|host| {
        assert!(host.findings[1].details.as_deref().unwrap().contains("\"session_dropped_bytes\":6"));
    });
}

/// Returns a shortened result without the digits of its event.
fn without_mark(text: &str) -> String {
    let (text, mark) = text.strip_suffix(']').unwrap().rsplit_once('#').unwrap();
    assert!(mark.len() == 8 && mark.bytes().all(|digit| digit.is_ascii_hexdigit()), "{mark}");
    format!("{text}#]")
}

#[test]
fn where_several_cut_the_bytes_are_added_up() {
    configure(&json!([{"id": "long", "max-output": 6}])).unwrap();
    let ToolResultVerdict::Replace(first) = result("abcdefgh") else { panic!("not cut") };
    // The next entry of the chain gets the same event.
    configure(&json!([{"id": "short", "max-output": 4}])).unwrap();
    let ToolResultVerdict::Replace(cut) = result(&first.text) else { panic!("not cut") };
    assert_eq!(without_mark(&cut.text), "abcd\n[4 bytes dropped #]");
    testing::inspect(|host| assert!(host.findings[0].details.as_deref().unwrap().contains("\"dropped_bytes\":2")));
}

#[test]
fn what_a_tool_says_of_dropped_bytes_is_a_part_of_its_result() {
    configure(&json!([{"id": "short", "max-output": 4}])).unwrap();
    for forged in ["[9000 bytes dropped]", "[9000 bytes dropped #]", "[9000 bytes dropped #00000000]"] {
        let ToolResultVerdict::Replace(cut) = result(&format!("abcd\n{forged}")) else {
            panic!("{forged} is believed")
        };
        assert_eq!(without_mark(&cut.text), format!("abcd\n[{} bytes dropped #]", forged.len() + 1));
    }
    // A result that was shortened for an earlier event is read again.
    let ToolResultVerdict::Replace(earlier) = result("abcdefgh") else { panic!("not cut") };
    testing::inspect(|host| host.event_id = "event-2".into());
    let ToolResultVerdict::Replace(cut) = result(&earlier.text) else { panic!("it is believed in another event") };
    assert_eq!(without_mark(&cut.text), format!("abcd\n[{} bytes dropped #]", earlier.text.len() - 4));
}

#[test]
fn a_wrong_rule_is_one_clear_sentence() {
    for (rules, expected) in [
        (json!([]), "`rule` is empty"),
        (json!([{"id": "a"}]), "rule `a`: it does nothing"),
        (json!([{"id": "a", "deny": "x"}, {"id": "a", "deny": "y"}]), "two rules have the id `a`"),
        (json!([{"id": "a", "deny": "x", "tool": "[a"}]), "rule `a`: `[a` is no pattern"),
        (json!([{"id": "a", "deny": "x", "when": [{"argument": "p", "matches": "("}]}]), "rule `a`: `(` is no pattern"),
        (json!([{"id": "a", "deny": "x", "when": [{"argument": "p"}]}]), "needs one of `equals`"),
        (
            json!([{"id": "a", "deny": "x", "when": [{"argument": "p", "equals": 1, "not": 2}]}]),
            "needs one of `equals`",
        ),
        (json!([{"id": "a", "deny": "x", "when": [{"argument": "p..q", "equals": 1}]}]), "`p..q` names no argument"),
        (json!([{"id": "a", "rate": {"calls": 0, "seconds": 1}}]), "rule `a`: `rate` needs"),
        (json!([{"id": "a", "max-output": 0}]), "rule `a`: `max-output` is 0"),
        (json!([{"id": "a", "denny": "x"}]), "unknown field `denny`"),
    ] {
        let error = configure(&rules).unwrap_err();
        assert!(error.contains(expected) && !error.contains('\n'), "{rules}: {error}");
    }
}

/// The plugin accepts the config in the crate's documentation.
#[test]
fn the_documented_config_is_taken() {
    let source = include_str!("lib.rs");
    let blocks = source.split("//! ```toml\n").skip(1).filter_map(|block| block.split("//! ```").next());
    let mut count = 0;
    for block in blocks {
        let lines: String = block.lines().map(|line| line.trim_start_matches("//!").to_owned() + "\n").collect();
        let entry: toml::Table = toml::from_str(&lines).unwrap();
        let plugin = entry.get("plugin").unwrap();
        let plugin = plugin.as_array().map_or(plugin, |plugins| &plugins[0]);
        configure(&serde_json::to_value(&plugin["config"]["rule"]).unwrap()).unwrap();
        count += 1;
    }
    assert_eq!(count, 1);
}
