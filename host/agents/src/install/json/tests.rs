//! Tests edits of typical files.

use super::{value, with_entries, without_entries};
use crate::plan::{JsonDialect, JsonEntry};

/// The dialect of the most tolerant agent.
const ANY: JsonDialect = JsonDialect::CommentsAndCommas;
use serde_json::{Value, json};

/// Returns the hook for a hook point, as an adapter plans it.
fn hook(point: &str) -> Value {
    json!({ "matcher": "*", "hooks": [{ "type": "command", "command": "/opt/hookhost-hook", "args": ["claude-code", point] }] })
}

fn entries(points: &[&str]) -> Vec<JsonEntry> {
    points.iter().map(|point| JsonEntry::element(&["hooks", point], hook(point))).collect()
}

/// Typical files. Each of them contains something that an edit could lose.
const FILES: &[&str] = &[
    "{}",
    "{ }\n",
    "{\"model\":\"big\"}",
    "{\n  \"model\": \"big\"\n}\n",
    "{\n\t\"model\": \"big\",\n\t\"hooks\": {}\n}\n",
    "// mine\n{\n    // which\n    \"model\": \"big\", // this one\n    /* hooks */ \"hooks\": {\n        \"Stop\": [ /* none */ ],\n    },\n}\n// end\n",
    "{\r\n  \"a\": [1, 2],\r\n  \"hooks\": {\r\n    \"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"lint \\\"x\\\"\"}]}]\r\n  }\r\n}\r\n",
    "\u{feff}{\"env\": {\"KEY\": \"\u{e4}\\u0041\"}, \"big\": 12345678901234567890123, \"e\": 1e400}",
    "{\"hooks\": {\"PreToolUse\": [], \"Stop\": null_placeholder}}",
];

fn files() -> impl Iterator<Item = String> {
    FILES.iter().map(|text| text.replace("null_placeholder", "[]"))
}

#[test]
fn entries_are_added_and_nothing_of_the_file_is_lost() {
    let entries = entries(&["PreToolUse", "Stop"]);
    for text in files() {
        let edited =
            with_entries(&text, &entries, ANY, "claude-code").unwrap_or_else(|error| panic!("{text}: {error}"));
        // All parts of the text must remain in the same order. The library may split a line that contains several
        // values.
        let mut rest = edited.as_str();
        for token in text.split(|c: char| c.is_whitespace() || "{}[],".contains(c)).filter(|token| !token.is_empty()) {
            let at = rest.find(token).unwrap_or_else(|| panic!("{token:?} of {text} is lost in {edited}"));
            rest = &rest[at + token.len()..];
        }
        if let Ok(found) = value(&edited) {
            assert_eq!(found["hooks"]["Stop"].as_array().unwrap().last(), Some(&hook("Stop")), "{edited}");
        }
    }
}

#[test]
fn installing_twice_changes_nothing() {
    let entries = entries(&["PreToolUse", "Stop"]);
    for text in files() {
        let once = with_entries(&text, &entries, ANY, "claude-code").unwrap();
        assert_eq!(with_entries(&once, &entries, ANY, "claude-code").unwrap(), once);
    }
}

#[test]
fn the_indentation_of_the_file_is_kept() {
    let edited = with_entries(
        "{\n\t\"model\": \"big\",\n\t\"hooks\": {\n\t\t\"Stop\": []\n\t}\n}\n",
        &entries(&["Stop"]),
        ANY,
        "claude-code",
    )
    .unwrap();
    assert_eq!(
        edited,
        "{\n\t\"model\": \"big\",\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\n\t\t\t\t\"matcher\": \"*\",\n\t\t\t\t\"hooks\": [\n\t\t\t\t\t{\n\t\t\t\t\t\t\"type\": \
         \"command\",\n\t\t\t\t\t\t\"command\": \"/opt/hookhost-hook\",\n\t\t\t\t\t\t\"args\": [\"claude-code\", \"Stop\"]\n\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t}\n\t\t]\n\t}\n}\n"
    );
}

#[test]
fn an_entry_of_ours_is_replaced_in_its_place_and_those_of_others_stay() {
    let text = r#"{"hooks": {"Stop": [
        {"hooks": [{"command": "first"}]},
        {"hooks": [{"command": "/old/hookhost-hook claude-code Stop"}]},
        {"hooks": [{"command": "last"}]}
    ], "Gone": [{"hooks": [{"command": "/old/hookhost-hook claude-code Gone"}]}]}}"#;
    let found = value(&with_entries(text, &entries(&["Stop"]), ANY, "claude-code").unwrap()).unwrap();
    let stop = &found["hooks"]["Stop"];
    assert_eq!(stop[0], json!({ "hooks": [{ "command": "first" }] }));
    assert_eq!(stop[1], hook("Stop"));
    assert_eq!(stop[2], json!({ "hooks": [{ "command": "last" }] }));
    assert_eq!(stop.as_array().unwrap().len(), 3);
    assert_eq!(found["hooks"]["Gone"], json!([]), "an older version had it there");
}

#[test]
fn of_a_group_with_hooks_of_others_only_ours_is_taken() {
    let text = r#"{"hooks": {"Stop": [{"matcher": "x", "hooks": [{"command": "lint"}, {"command": "hookhost-hook claude-code Stop"}]}]}}"#;
    let found = value(&with_entries(text, &entries(&["Stop"]), ANY, "claude-code").unwrap()).unwrap();
    assert_eq!(found["hooks"]["Stop"][0], json!({ "matcher": "x", "hooks": [{ "command": "lint" }] }));
    assert_eq!(found["hooks"]["Stop"][1], hook("Stop"));
    let rest = without_entries(text, None, &[], "claude-code").unwrap();
    assert_eq!(
        value(&rest.text).unwrap()["hooks"]["Stop"],
        json!([{ "matcher": "x", "hooks": [{ "command": "lint" }] }])
    );
}

#[test]
fn a_member_is_set_only_where_it_is_missing() {
    let version = [JsonEntry::default(&["version"], json!(1)), JsonEntry::default(&["a", "b"], json!(true))];
    assert_eq!(
        value(&with_entries("{\"version\": 7}", &version, ANY, "claude-code").unwrap()).unwrap(),
        json!({ "version": 7, "a": { "b": true } })
    );
    assert_eq!(
        value(&with_entries("", &version, ANY, "claude-code").unwrap()).unwrap(),
        json!({ "version": 1, "a": { "b": true } })
    );
}

#[test]
fn what_an_agent_does_not_read_is_broken_for_it() {
    let strict = JsonDialect::Strict;
    for (text, dialects) in [
        ("{\"a\": [1]}", &[strict, JsonDialect::Comments, ANY][..]),
        ("{ // mine\n}", &[JsonDialect::Comments, ANY]),
        ("{\"a\": [1,]}", &[ANY]),
        ("{a: 1}", &[]),
    ] {
        for dialect in [strict, JsonDialect::Comments, ANY] {
            assert_eq!(
                with_entries(text, &[], dialect, "claude-code").is_ok(),
                dialects.contains(&dialect),
                "{text} {dialect:?}"
            );
        }
    }
    let error = with_entries("{}// mine", &[], strict, "claude-code").unwrap_err();
    assert_eq!(
        error.0,
        "is not strict JSON, which is all that the agent reads (trailing characters at line 1 column 3)"
    );
}

#[test]
fn what_is_not_a_json_object_or_has_something_else_in_the_place_is_not_edited() {
    for (text, why) in [
        ("{\"a\": 1", "is not valid JSON (line 1, column"),
        ("{'a': 1}", "is not valid JSON"),
        ("{\"a\" 1}", "is not valid JSON"),
        ("{\"a\": 1}}", "is not valid JSON"),
        ("[]", "is not a JSON object"),
        ("7", "is not a JSON object"),
        ("{\"hooks\": []}", "has `hooks`, which is not an object"),
        ("{\"hooks\": {\"Stop\": {}}}", "has `hooks.Stop`, which is not an array"),
        ("{\"hooks\": {\"Stop\": null}}", "has `hooks.Stop`, which is not an array"),
        ("{\"hooks\": {}, \"hooks\": {}}", "has the key \"hooks\" twice in one object"),
        ("{\"x\": [{\"a\": 1, \"\\u0061\": 2}]}", "has the key \"a\" twice in one object"),
    ] {
        let error = with_entries(text, &entries(&["Stop"]), ANY, "claude-code").unwrap_err();
        assert!(error.0.starts_with(why), "{text}: {error}");
    }
    let deep = format!("{}{}", "{\"a\":".repeat(5000), "1");
    assert!(with_entries(&deep, &[], ANY, "claude-code").unwrap_err().0.contains("nesting depth"));
}

#[test]
fn taken_out_again_the_values_are_those_of_before() {
    let entries = entries(&["PreToolUse", "Stop", "SessionStart"]);
    for text in files() {
        let edited = with_entries(&text, &entries, ANY, "claude-code").unwrap();
        let rest = without_entries(&edited, Some(&text), &[], "claude-code").unwrap();
        assert!(rest.is_changed);
        assert_eq!(value(&rest.text).unwrap(), value(&text).unwrap(), "{text}\n{edited}\n{}", rest.text);
        assert!(!without_entries(&rest.text, Some(&text), &[], "claude-code").unwrap().is_changed);
    }
}

#[test]
fn what_only_we_had_made_is_told_from_what_a_person_added() {
    let entries = [entries(&["Stop"]), vec![JsonEntry::default(&["version"], json!(1))]].concat();
    let made = with_entries("", &entries, ANY, "claude-code").unwrap();
    assert!(without_entries(&made, None, &entries, "claude-code").unwrap().is_only_ours);
    for more in ["{\"mine\": 1,", "{ // mine\n"] {
        let rest = without_entries(&made.replacen('{', more, 1), None, &entries, "claude-code").unwrap();
        assert!(!rest.is_only_ours, "{}", rest.text);
    }
}

#[test]
fn the_hook_of_another_agent_in_the_same_file_stays() {
    let other = r#"{"hooks": {"Stop": [{"hooks": [{"command": "/opt/hookhost-hook qwen-code Stop"}]}]}}"#;
    let both = with_entries(other, &entries(&["Stop"]), ANY, "claude-code").unwrap();
    assert_eq!(value(&both).unwrap()["hooks"]["Stop"].as_array().unwrap().len(), 2);
    let rest = without_entries(&both, None, &[], "claude-code").unwrap();
    assert_eq!(value(&rest.text).unwrap(), value(other).unwrap());
}

#[test]
fn a_member_that_is_named_after_us_is_taken_out_and_another_stays() {
    let plan =
        [JsonEntry::default(&["plugins", "hookhost@x"], json!(true)), JsonEntry::default(&["version"], json!(1))];
    for text in ["{}", "{\"plugins\": {\"other\": true}}"] {
        let edited = with_entries(text, &plan, ANY, "x").unwrap();
        let mut expected = value(text).unwrap();
        expected["version"] = json!(1);
        assert_eq!(value(&without_entries(&edited, Some(text), &plan, "x").unwrap().text).unwrap(), expected);
    }
    let theirs = "{\"plugins\": {\"hookhost@x\": false}}";
    assert!(!without_entries(theirs, None, &plan, "x").unwrap().is_changed, "a person has set another value");
}
