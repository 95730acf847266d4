use super::ToolPolicy;
use hookhost_guest::prelude::*;
use hookhost_guest::testing;
use serde_json::{Value, json};

fn configure(rules: &Value) -> Result<(), String> {
    let config = serde_json::from_value(json!({"rule": rules})).map_err(|error| error.to_string())?;
    testing::prime(|_| {});
    ToolPolicy::configure(config)
}

fn result(text: &str) -> ToolResultVerdict {
    let result = ToolResult::new(text);
    let call = testing::call("x", json!({}), Action::Other(String::new()));
    ToolPolicy::after_tool_call(&testing::session(), &call, &result, ResultSource::Tool)
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
        (json!([{"id": "a"}]), "rule `a`: missing field `max-output`"),
        (json!([{"id": "a", "max-output": 1}, {"id": "a", "max-output": 2}]), "two rules have the id `a`"),
        (json!([{"id": "a", "max-output": 1, "tool": "[a"}]), "rule `a`: `[a` is no pattern"),
        (json!([{"id": "a", "max-output": 0}]), "rule `a`: invalid value: integer `0`, expected a nonzero usize"),
        (
            json!([{"id": "a", "denny": "x"}]),
            "rule `a`: unknown field `denny`, expected one of `id`, `tool`, `max-output`",
        ),
        (
            json!([{"id": "a", "deny": "x"}]),
            "rule `a`: `deny` belongs into a [[rule]] table: `hookhost update` shows it",
        ),
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
