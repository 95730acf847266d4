//! `docs/json.md`: every line of real runs fits the schema beside it, and the page has an example of each type that the
//! schema has.

use crate::guide::{blocks_of, page, run_commands, section};
use hookhost_tests::{Entry, User};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn schema() -> Value {
    serde_json::from_str(&page("docs/run.schema.json")).expect("JSON")
}

/// The types of lines, as the schema has them.
fn types(schema: &Value) -> Vec<String> {
    let events = schema["$defs"]["event"]["oneOf"].as_array().expect("a list").iter();
    let named = events.map(|event| event["$ref"].as_str().expect("a text").replace("#/$defs/", ""));
    named.chain(["outcome".to_owned()]).collect()
}

/// Fails unless each line is one of the schema and the last one is the outcome; the types that there were, those within
/// sub-agents too.
#[track_caller]
fn lines(text: &str) -> BTreeSet<String> {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    let mut seen = BTreeSet::new();
    let mut last = String::new();
    for line in text.lines() {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        if let Err(error) = validator.validate(&line) {
            panic!("{error}: {line}");
        }
        last = line["type"].as_str().expect("a type").to_owned();
        seen.insert(last.clone());
        while line["type"] == "subagent" {
            line = line["event"].take();
            seen.insert(format!("{} in a sub-agent", line["type"].as_str().expect("a type")));
        }
    }
    assert_eq!(last, "outcome");
    seen
}

#[test]
fn the_page_has_every_type_of_the_schema_with_an_example_and_no_other() {
    let (page, schema) = (page("docs/json.md"), schema());
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let headings: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("### `")).collect();
    let types = types(&schema);
    assert_eq!(headings, types.iter().map(|kind| format!("{kind}`")).collect::<Vec<_>>());
    for kind in &types {
        let part = section(&page, &format!("### `{kind}`")).split("\n## ").next().expect("a part");
        let described = &schema["$defs"][kind];
        assert!(part.contains(described["description"].as_str().expect("a text")), "{kind}");
        let examples = blocks_of(part, "json");
        let [example] = examples.as_slice() else { panic!("{kind} has {} examples", examples.len()) };
        let example: Value = serde_json::from_str(example).expect("JSON");
        assert!(example["type"] == json!(kind) && validator.is_valid(&example), "{kind}: {example}");
    }
    for word in ["status", "cause"] {
        let words = schema["$defs"][word]["enum"].as_array().expect("a list").iter();
        let words: Vec<_> = words.map(|word| format!("`{}`", word.as_str().expect("a text"))).collect();
        assert!(section(&page, &format!("### {word}")).contains(&words.join(", ")), "{word}");
    }
}

#[test]
fn the_commands_run_and_what_they_print_fits() {
    let user = User::new();
    run_commands(&user, &page("docs/json.md"), &[]);
    let printed = std::fs::read_to_string(user.project().join("steps.jsonl")).expect("the lines");
    let seen = lines(&printed);
    assert!(seen.contains("text") && seen.contains("usage"), "{seen:?}");
}

#[test]
fn every_line_of_runs_in_which_much_happens_fits() {
    let user = User::new();
    user.write("AGENTS.md", "Be short.");
    user.write("secret.txt", "a secret");
    let config = json!({
        "prompt-submit": { "when": { "contains": "go" }, "verdict": "replace", "value": "Please: {value}" },
        "before-tool-call": [
            { "when": { "contains": "forbidden" }, "verdict": "reject", "reason": "not that", "code": "x.y" },
            { "when": { "contains": "echo", "lacks": "true &&" }, "verdict": "modify", "value": { "command": "true && {command}" } },
            { "when": { "contains": "given" }, "verdict": "respond", "value": "given" },
        ],
        "after-tool-call": { "when": { "contains": "a secret" }, "verdict": "replace", "value": "hidden" },
    });
    let only = "events = [\"prompt-submit\", \"before-tool-call\", \"after-tool-call\"]";
    user.configure(&Entry::all_events("busy", config).keys(only).to_toml());
    let call = |tool: &str, arguments: &str| format!("{{ tool = \"{tool}\", arguments = {arguments} }}");
    let calls = [
        call("bash", "{ command = \"echo hi\" }"),
        call("bash", "{ command = \"forbidden\" }"),
        call("bash", "{ command = \"given\" }"),
        call("read_file", "{ path = \"secret.txt\" }"),
        call("agent", "{ prompt = \"look\" }"),
        call("submit_plan", "{ title = \"Plan\", tasks = [\"one\"] }"),
    ];
    user.write(
        "script.toml",
        format!(
            "[[turn]]\ntext = \"I begin.\\n\"\ncall = [{}]\n[[turn]]\ntext = \"Looked.\"\n[[turn]]\ntext = \"Done.\"\n[[turn]]\ntext = \"One.\"\n",
            calls.join(", ")
        ),
    );
    let ended = user.run(["run", "go", "--script", "script.toml", "--json"]);
    ended.expect(0, &[]);
    let seen = lines(&ended.stdout);
    for kind in [
        "session-started",
        "context-gathered",
        "notice",
        "task-started",
        "queue",
        "plan-submitted",
        "plan-ended",
        "subagent",
        "text in a sub-agent",
        "changed",
        "turn-started",
        "text",
        "tool-changed",
        "tool-rejected",
        "tool-answered",
        "tool-started",
        "result-changed",
        "tool-finished",
        "usage",
        "answer",
        "task-ended",
        "session-ended",
        "outcome",
    ] {
        assert!(seen.contains(kind), "{kind} is not among {seen:?}");
    }

    // A run that ends otherwise: refused by a plugin, and for want of a model's answer.
    let config = json!({ "prompt-submit": { "verdict": "reject", "reason": "say please" } });
    user.configure(&Entry::all_events("strict", config).keys("events = [\"prompt-submit\"]").to_toml());
    let ended = user.run(["run", "go", "--script", "script.toml", "--json"]);
    ended.expect(3, &[]);
    assert!(lines(&ended.stdout).contains("rejected"));
    user.configure("");
    user.write("empty.toml", "[[turn]]\ncall = [{ tool = \"list_dir\", arguments = {} }]\n");
    let ended = user.run(["run", "go", "--script", "empty.toml", "--json"]);
    ended.expect(1, &[]);
    let last: Value = serde_json::from_str(ended.stdout.lines().last().expect("a line")).expect("JSON");
    lines(&ended.stdout);
    assert_eq!((&last["exit-code"], &last["outcome"]["status"]), (&json!(1), &json!("error")));
}

#[test]
fn the_page_has_each_member_of_an_agent_and_no_other() {
    let user = User::new();
    std::fs::create_dir_all(user.path(".claude")).expect("a directory of Claude Code");
    let printed: Value = serde_json::from_str(&user.run(["agents", "--json"]).stdout).expect("JSON");
    let members: BTreeSet<String> = printed["agents"][0].as_object().expect("an agent").keys().cloned().collect();
    let page = page("docs/json.md");
    let rows = section(&page, "## What `hookhost agents` prints").lines().filter(|line| line.starts_with("| `"));
    let described = rows.filter_map(|row| row.split('|').nth(1)).flat_map(|cell| cell.split('`').skip(1).step_by(2));
    assert_eq!(described.map(str::to_owned).collect::<BTreeSet<_>>(), members);
}
