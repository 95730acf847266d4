//! `[[ask]]`: the calls that a person is asked about, and the questions.

use std::path::Path;

use super::{
    World,
    bad_input::{problems, shown},
    entry, parse,
};
use crate::{
    config::{ActionKind, AskRule, Config, ConfigError, Entry, Layer, Origin},
    contract::action::ActionMap,
    contract::{Escalation, ToolCall, ToolOrigin},
};

fn call(tool: &str, arguments: &serde_json::Value) -> ToolCall {
    ActionMap::default().of("test").call("1".into(), tool.into(), arguments, ToolOrigin::Builtin, "/work")
}

fn rules(text: &str) -> Vec<AskRule> {
    parse(text).unwrap().asks().to_vec()
}

#[test]
fn a_rule_is_read_with_its_place() {
    let text =
        "\n[[ask]]\ntools = ['bash', 'mcp__*']\nactions = ['shell']\nquestion = 'Sure?'\n[[ask]]\ntools = ['*']\n";
    let origin = |line| Some(Origin { file: "/etc/hookhost.toml".into(), line, layer: Layer::Chosen });
    let pattern = |text: &str| text.parse().unwrap();
    let expected = [
        AskRule {
            tools: Some(vec![pattern("bash"), pattern("mcp__*")]),
            actions: Some([ActionKind::Shell].into()),
            question: Some("Sure?".into()),
            origin: origin(2),
        },
        AskRule { tools: Some(vec![pattern("*")]), origin: origin(6), ..AskRule::default() },
    ];
    assert_eq!(rules(text), expected);
}

#[test]
fn a_rule_means_the_calls_that_an_entry_with_the_same_filter_gets() {
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
        let rule = &rules(&format!("[[ask]]\n{keys}"))[0];
        assert_eq!(calls.map(|call| rule.matches(call)), expected, "{keys}");
        let entry: Entry = parse(&(entry("a") + keys)).unwrap().entries()[0].clone();
        assert_eq!(calls.map(|call| entry.narrowing().admits(call)), expected, "{keys}");
    }
}

#[test]
fn a_plugin_for_shells_is_asked_about_a_command_of_a_tool_that_nobody_knows_and_no_person_is() {
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
        let rule = &rules(&format!("[[ask]]\n{keys}"))[0];
        assert!(calls.iter().all(|call| !rule.matches(call)), "{keys}");
    }
}

#[test]
fn a_rule_asks_its_own_question_or_one_that_names_the_tool() {
    let shell = call("bash", &serde_json::json!({ "command": "ls" }));
    let found = rules("[[ask]]\ntools = ['*']\nquestion = 'Sure?'\n[[ask]]\ntools = ['*']");
    let questions: Vec<_> = found.iter().map(|rule| rule.question_about(&shell)).collect();
    let escalation = |question: &str| Escalation { question: question.into(), code: None };
    assert_eq!(questions, [escalation("Sure?"), escalation("May the tool bash run?")]);
}

#[test]
fn a_wrong_rule_is_named_with_its_place_and_what_would_be_right() {
    let cases = [
        ("[ask]\ntools = ['*']", "1:2 ask [] `ask`: rules are written `[[ask]]`, with two brackets"),
        ("ask = true", "1:1 ask [] `ask`: rules are written `[[ask]]`, with two brackets"),
        ("ask = ['bash']", "1:8 ask [] `ask`: expected a table, found a string"),
        ("[[asks]]\ntools = ['*']", "1:3 asks [ask] unknown key `asks`: did you mean `ask`?"),
        (
            "\n[[ask]]",
            "2:1 ask [] `ask`: a rule must say about which calls it asks: give `tools`, `actions` or both; `tools = [\"*\"]` is every call",
        ),
        (
            "[[ask]]\nquestion = 'Sure?'",
            "1:1 ask [] `ask`: a rule must say about which calls it asks: give `tools`, `actions` or both; `tools = [\"*\"]` is every call",
        ),
        (
            "[[ask]]\ntool = ['bash']\ntools = ['*']",
            "2:1 ask.tool [tools] unknown key `tool` in `ask`: did you mean `tools`?",
        ),
        (
            "[[ask]]\ntools = ['*']\nwhen = 'always'",
            "3:1 ask.when [] unknown key `when` in `ask`: the keys here are `tools`, `actions`, `question`; a rule that looks at arguments is one of the plugin tool-policy",
        ),
        (
            "[[ask]]\ntools = []",
            "2:9 ask.tools [] `ask.tools`: an empty list selects no call: remove the key, or the whole rule",
        ),
        (
            "[[ask]]\ntools = ['*']\nactions = []",
            "3:11 ask.actions [] `ask.actions`: an empty list selects no call: remove the key, or the whole rule",
        ),
        (
            "[[ask]]\nactions = ['shel']",
            "2:12 ask.actions [shell] `ask.actions`: unknown word \"shel\": did you mean `shell`?",
        ),
        (
            "[[ask]]\ntools = ['two words']",
            "2:10 ask.tools [] `ask.tools`: a tool pattern is a tool's name, with `*` for any text: it cannot be empty or hold spaces or control characters",
        ),
        ("[[ask]]\ntools = 'bash'", "2:9 ask.tools [] `ask.tools`: expected an array, found a string"),
        (
            "[[ask]]\ntools = ['*']\nquestion = ' '",
            "3:12 ask.question [] `ask.question`: the question is empty: remove the key to ask the default question",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(problems(text).iter().map(shown).collect::<Vec<_>>(), [expected], "{text}");
    }
}

#[test]
fn all_that_is_wrong_with_rules_is_reported_at_once() {
    let found = problems("[[ask]]\ntools = []\nactions = []\nquestion = ''\n[[ask]]\n[[plugin]]\nname = 'a'");
    let keys: Vec<_> = found.iter().map(|problem| problem.key.as_deref().unwrap()).collect();
    assert_eq!(keys, ["ask.tools", "ask.actions", "ask.question", "ask", "plugin"]);
}

#[test]
fn the_users_rules_and_a_projects_add_up() {
    let world = World::new();
    world.write_user("[[ask]]\ntools = ['bash']\n");
    let project = world.write_project("", "[[ask]]\nactions = ['fetch']\n[[ask]]\ntools = ['bash']\n");
    let layers = || {
        let config = world.discover().unwrap().config;
        config.asks().iter().map(|rule| rule.origin.as_ref().unwrap().layer).collect::<Vec<_>>()
    };
    assert_eq!(layers(), [Layer::User], "an inert file asks nothing");
    world.approve(&project);
    assert_eq!(layers(), [Layer::User, Layer::Project, Layer::Project]);
}

#[test]
fn a_programs_own_rules_keep_those_of_written_ones_and_take_none_away() {
    let tools = |patterns: &[&str]| Some(patterns.iter().map(|text| text.parse().unwrap()).collect());
    let written = parse("[[ask]]\ntools = ['bash']").unwrap();
    let config = written.with_asks(vec![AskRule { tools: tools(&["x"]), ..AskRule::default() }]).unwrap();
    assert_eq!(config.asks().len(), 2);
    for bad in [
        AskRule::default(),
        AskRule { tools: Some(vec![]), ..AskRule::default() },
        AskRule { actions: Some([].into()), tools: tools(&["x"]), ..AskRule::default() },
        AskRule { tools: tools(&["x"]), question: Some(String::new()), ..AskRule::default() },
    ] {
        let refused = Config::empty().with_asks(vec![bad.clone()]);
        assert!(matches!(refused, Err(ConfigError::Ask { .. })), "{bad:?}");
    }
}

#[test]
fn an_entry_can_be_allowed_in_a_file_that_has_rules() {
    let world = World::new();
    let old = "[[ask]]\ntools = ['bash'] # mine\n";
    let file = world.write_project("", old);
    let entry = Entry::new("a", Path::new("/a.wasm"), super::SHA256.parse().unwrap());
    crate::config::edit::allow(&file, &entry, &world.places, &[]).unwrap();
    assert!(std::fs::read_to_string(&file).unwrap().starts_with(old));
    let config = Config::open(&file, &world.places, &[]).unwrap();
    assert_eq!((config.asks().len(), config.entries().len()), (1, 1));
}
