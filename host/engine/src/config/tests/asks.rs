//! `[[ask]]` of version 0.1: the rule that replaces it, in a message and in the file.

use std::path::Path;

use super::{
    World,
    bad_input::{problems, shown},
    entry, parse,
};
use crate::{
    command::replace_asks,
    config::{Config, ConfigError, Entry, Layer},
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

/// Returns the rule that the message about a table shows.
fn rule_for(keys: &str) -> String {
    let found = problems(&format!("[[ask]]\n{keys}"));
    assert_eq!(found.len(), 1, "{keys}");
    let (sentence, rule) = found[0].message.split_once('\n').unwrap();
    assert!(sentence.starts_with("`[[ask]]` is now `[[rule]]`: write the rule below"), "{sentence}");
    assert_eq!((found[0].line, found[0].column, found[0].key.as_deref()), (1, 1, Some("ask")));
    assert!(found[0].to_string().ends_with(&format!("^\n{rule}")), "{}", found[0]);
    assert_eq!(parse(rule).unwrap().rules().len(), 1, "{rule}");
    rule.to_owned()
}

#[test]
fn a_table_is_shown_as_the_rule_to_write() {
    let call = "May this call run?";
    let tool = "May the tool {tool} run?";
    for (keys, id, on, question) in [
        ("actions = ['fetch']", "ask-web", r#""web""#, call),
        ("actions = ['shell']\nquestion = 'Sure?'", "ask-shell", r#""shell""#, "Sure?"),
        ("actions = ['read-file', 'write-files']", "ask-read-write", r#"["read", "write"]"#, call),
        ("actions = ['mcp', 'spawn-agent']", "ask-mcp-spawn", r#"["mcp", "spawn"]"#, call),
        ("tools = ['bash', 'mcp__*']", "ask-bash-mcp", r#"["bash", "mcp__*"]"#, tool),
        ("tools = ['*']", "ask-all", r#""*""#, call),
        ("tools = ['*']\nactions = ['mcp']", "ask-mcp", r#""mcp""#, call),
        // No word means these calls alone. A rule that asked about fewer calls than the table would be weaker.
        ("actions = ['other']", "ask-all", r#""*""#, call),
        ("tools = ['bash', 'mcp__*']\nactions = ['shell']", "ask-bash-mcp", r#"["bash", "mcp__*"]"#, tool),
        // A rule takes only the names of known tools, and some names are words of rules.
        ("tools = ['deploy', 'shell']", "ask-deploy-shell", r#"["deploy*", "shell*"]"#, tool),
        // Such tables never worked.
        ("question = 'Sure?'", "ask-all", r#""*""#, "Sure?"),
        ("tools = 7", "ask-all", r#""*""#, call),
    ] {
        let expected = format!("[[rule]]\nid = \"{id}\"\non = {on}\nask = \"{question}\"");
        assert_eq!(rule_for(keys), expected, "{keys}");
    }
    assert!(rule_for("tools = ['*']\nquestion = \"a\\u001b[2J\\nb\"").ends_with(r#"ask = "a\u001b[2J\nb""#));
}

#[test]
fn all_tables_are_reported_at_once_with_different_ids() {
    let found = problems("[[ask]]\ntools = ['*']\n[[ask]]\ntools = ['*']\n[[plugin]]\nname = 'a'");
    let keys: Vec<_> = found.iter().map(|problem| problem.key.as_deref().unwrap()).collect();
    assert_eq!(keys, ["ask", "ask", "plugin"]);
    assert!(found[1].message.contains("id = \"ask-all-2\""), "{}", found[1].message);
    for text in ["[ask]\ntools = ['*']", "ask = true"] {
        assert!(problems(text)[0].message.contains("\nid = \"ask-all\"\n"), "{text}");
    }
    assert!(shown(&problems("[[asks]]\ntools = ['*']")[0]).contains("unknown key `asks`"));
}

#[test]
fn the_tables_of_a_file_become_rules_and_its_comments_stay() {
    let world = World::new();
    let old = "# mine\n[[ask]] # first\ntools = [\"bash\", # the shell\n  \"mcp__*\"] # both\nactions = [ 'shell' ]\n\n\
               [[plugin]]\n# second\n[[ask]]\nquestion = 'Send?' # why\nactions = ['fetch']\n";
    let old = old.replace("[[plugin]]\n", &entry("a"));
    let new = "# mine\n[[rule]]\nid = \"ask-bash-mcp\"\nask = \"May the tool {tool} run?\" # first\non = [\"bash\", \"mcp__*\"] # both\n\
               # actions = [ 'shell' ]\n\n[[plugin]]\n# second\n[[rule]]\nid = \"ask-web\"\nask = \"Send?\" # why\non = \"web\"\n";
    let file = world.write_user(&old);
    assert_eq!(replace_asks(&file, &world.places, &[]).unwrap(), 2);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), new.replace("[[plugin]]\n", &entry("a")));
    assert_eq!(replace_asks(&file, &world.places, &[]).unwrap(), 0);
    for broken in ["[[ask]]\ntools = ['*']\n[settings]\nno = 1\n", "ask = [{ tools = ['*'] }]\n"] {
        world.write_user(broken);
        assert!(matches!(replace_asks(&file, &world.places, &[]), Err(ConfigError::Invalid(_))), "{broken}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), broken);
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
