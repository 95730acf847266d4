//! The calls that concern a plugin, and the rules that ask about calls.

use std::path::Path;

use super::{World, entry, parse};
use crate::{
    config::{Config, Entry, Layer},
    contract::action::ActionMap,
    contract::{ToolCall, ToolOrigin},
};

fn call(tool: &str, arguments: &serde_json::Value) -> ToolCall {
    ActionMap::default().of("test").call("1".into(), tool.into(), arguments, ToolOrigin::Builtin, "/work")
}

#[test]
fn an_entry_selects_calls_by_action_and_by_tool() {
    let shell = call("bash", &serde_json::json!({ "command": "ls" }));
    let unreadable = call("bash", &serde_json::json!({}));
    let write = call("write_file", &serde_json::json!({ "path": "a", "content": "" }));
    let remote = call("mcp__git__push", &serde_json::json!({}));
    let calls = [&shell, &unreadable, &write, &remote];
    let table = [
        ("tools = ['*']", [true, true, true, true]),
        ("tools = ['BASH']", [true, true, false, false]),
        ("tools = ['mcp__*', 'write_*']", [false, false, true, true]),
        // The second call's arguments cannot be parsed, so the call may run a shell command.
        ("actions = ['shell']", [true, true, false, false]),
        ("actions = ['write-files', 'mcp']", [false, false, true, true]),
        ("actions = ['other']", [false, true, false, false]),
        ("tools = ['mcp__*', 'bash']\nactions = ['shell', 'write-files']", [true, true, false, false]),
    ];
    for (keys, expected) in table {
        let entry: Entry = parse(&(entry("a") + keys)).unwrap().entries()[0].clone();
        assert_eq!(calls.map(|call| entry.narrowing().admits(call)), expected, "{keys}");
    }
}

#[test]
fn a_plugin_for_shells_is_asked_about_a_command_of_a_tool_that_nobody_knows() {
    let unknown = call("run_bash", &serde_json::json!({ "command": "ls" }));
    let remote = call("mcp__box__run", &serde_json::json!({ "cmd": ["ls"] }));
    let other = call("mcp__db__query", &serde_json::json!({ "sql": "SELECT 1" }));
    let write = call("write_file", &serde_json::json!({ "path": "a", "command": "ls" }));
    for (keys, expected) in [
        ("actions = ['shell']", [true, true, false, false]),
        ("actions = ['shell']\ntools = ['mcp__*']", [false, true, false, false]),
        ("actions = ['fetch']", [false; 4]),
    ] {
        let entry: Entry = parse(&(entry("a") + keys)).unwrap().entries()[0].clone();
        let calls = [&unknown, &remote, &other, &write];
        assert_eq!(calls.map(|call| entry.narrowing().concerns(call)), expected, "{keys}");
    }
}

/// A question about calls.
fn asking(on: &str) -> String {
    format!("[[rule]]\nid = 'ask-{on}'\non = '{on}' # mine\nask = 'Sure?'\n")
}

#[test]
fn the_users_questions_and_a_projects_add_up() {
    let world = World::new();
    world.write_user(&asking("bash"));
    let project = world.write_project("", &(asking("web") + &asking("mcp")));
    let layers = || {
        let config = world.discover().unwrap().config;
        config.rules().iter().map(|rule| rule.origin.layer).collect::<Vec<_>>()
    };
    assert_eq!(layers(), [Layer::User], "an inert file asks nothing");
    world.approve(&project);
    assert_eq!(layers(), [Layer::User, Layer::Project, Layer::Project]);
}

#[test]
fn an_entry_can_be_allowed_in_a_file_that_has_rules() {
    let world = World::new();
    let old = asking("bash");
    let file = world.write_project("", &old);
    let entry = Entry::new("a", Path::new("/a.wasm"), super::SHA256.parse().unwrap());
    crate::config::edit::allow(&file, &entry, &world.places, &[]).unwrap();
    assert!(std::fs::read_to_string(&file).unwrap().starts_with(&old));
    let config = Config::open(&file, &world.places, &[]).unwrap();
    assert_eq!((config.rules().len(), config.entries().len()), (1, 1));
}
