//! Files and commands that the agent leaves to the editor.

use super::{LONG, Proxied, line, user_with};
use serde_json::{Value, json};

/// The editor answers the agent's request with this result; the request as the editor got it.
fn answered(editor: &mut Proxied, result: &Value) -> (String, Value) {
    let asked = editor.next_line();
    editor.send(&json!({ "jsonrpc": "2.0", "id": "q", "result": result }));
    (asked, editor.agent_got())
}

#[test]
fn a_request_to_which_no_rule_objects_passes_byte_for_byte_in_both_directions() {
    let user = user_with(json!({}), "");
    let mut editor = Proxied::editor(&user);
    for (method, params, result) in [
        ("fs/read_text_file", json!({ "sessionId": "s1", "path": "/p/a", "line": 1 }), json!({ "content": "text" })),
        ("fs/write_text_file", json!({ "sessionId": "s1", "path": "/p/a", "content": "x", "own": 1 }), json!({})),
        (
            "terminal/create",
            json!({ "sessionId": "s1", "command": "ls", "args": ["-l"] }),
            json!({ "terminalId": "t1" }),
        ),
    ] {
        let request = line(Some("q"), method, &params);
        editor.has_agent_say(std::slice::from_ref(&request));
        let (asked, got) = answered(&mut editor, &result);
        assert_eq!((asked, &got["result"]), (request, &result));
    }
    let (_, said) = editor.end();
    assert!(said.contains("files through the editor: 2, 0 rejected"), "{said}");
    assert!(said.contains("commands through the editor: 1, 0 rejected"), "{said}");
    let actions: Vec<Value> = user
        .records()
        .iter()
        .filter(|record| record["event"] == "before-tool-call")
        .map(|record| record["original"]["action"].clone())
        .collect();
    assert_eq!(actions[..2], [json!({ "read-file": "/p/a" }), json!({ "write-files": ["/p/a"] })]);
    assert_eq!(actions[2]["shell"]["command"], "ls -l");
}

#[test]
fn a_rejected_request_never_reaches_the_editor_and_the_agent_reads_why() {
    let guard = json!({ "before-tool-call": { "when": { "contains": "secret" }, "verdict": "reject", "reason": "not {tool}" } });
    let user = user_with(guard, "");
    let mut editor = Proxied::editor(&user);
    for (method, params) in [
        ("fs/read_text_file", json!({ "path": "/p/secret" })),
        ("fs/write_text_file", json!({ "path": "/p/secret", "content": "x" })),
        ("terminal/create", json!({ "command": "cat", "args": ["secret"] })),
    ] {
        editor.has_agent_ask(method, &params);
        let got = editor.agent_got();
        let why = got["error"]["message"].as_str().unwrap_or_else(|| panic!("{got}"));
        assert!(why.contains(&format!("Rejected by guard: not {method}")), "{why}");
    }
    assert!(editor.others.is_empty());
}

#[test]
fn what_the_editor_runs_is_written_from_the_arguments_as_rules_left_them() {
    let rewrite = json!({ "shell": { "command": "timeout 60 npm test", "cwd": "/p", "dialect": "posix" } });
    let guard = json!({ "before-tool-call": [
        { "when": { "contains": "npm", "round": 1 }, "verdict": "rewrite", "value": rewrite },
        { "when": { "contains": "/p/a", "round": 1 }, "verdict": "modify", "value": { "path": "/p/b", "content": "y" } },
    ] });
    let user = user_with(guard, "");
    let mut editor = Proxied::editor(&user);
    let of = |asked: &str| serde_json::from_str::<Value>(asked).unwrap()["params"].clone();
    editor.has_agent_ask(
        "terminal/create",
        &json!({ "command": "npm", "args": ["test"], "cwd": "/p", "outputByteLimit": 9 }),
    );
    let (asked, _) = answered(&mut editor, &json!({ "terminalId": "t1" }));
    let expected = json!({ "sessionId": "s1", "command": "sh", "args": ["-c", "timeout 60 npm test"], "cwd": "/p", "outputByteLimit": 9 });
    assert_eq!(of(&asked), expected);
    editor.has_agent_ask("fs/write_text_file", &json!({ "path": "/p/a", "content": "x" }));
    let (asked, _) = answered(&mut editor, &json!({}));
    assert_eq!(of(&asked), json!({ "sessionId": "s1", "path": "/p/b", "content": "y" }));
}

#[test]
fn a_command_is_judged_both_as_a_shell_reads_it_and_as_no_shell_does() {
    let guard = json!({ "before-tool-call": { "when": { "contains": "echo $(rm x)" }, "verdict": "reject", "reason": "{command}" } });
    let user = user_with(guard, "");
    let mut editor = Proxied::editor(&user);
    editor.has_agent_ask("terminal/create", &json!({ "command": "echo", "args": ["$(rm x)"] }));
    let got = editor.agent_got();
    assert!(got["error"]["message"].as_str().unwrap().contains("echo $(rm x)"), "{got}");
}

#[test]
fn what_a_file_or_a_terminal_holds_is_judged_before_the_agent_has_it() {
    let guard = json!({ "after-tool-call": [
        { "when": { "contains": "sk-1" }, "verdict": "replace", "value": "[removed]" },
        { "when": { "contains": "sk-2" }, "verdict": "reject", "reason": "a key" },
    ] });
    let user = user_with(guard, "");
    let mut editor = Proxied::editor(&user);
    editor.has_agent_ask("fs/read_text_file", &json!({ "path": "/p/a" }));
    let (_, got) = answered(&mut editor, &json!({ "content": "key = sk-1", "_meta": 1 }));
    assert_eq!(got["result"], json!({ "content": "[removed]", "_meta": 1 }));
    editor.has_agent_ask("terminal/create", &json!({ "command": "env" }));
    answered(&mut editor, &json!({ "terminalId": "t1" }));
    editor.has_agent_ask("terminal/output", &json!({ "terminalId": "t1" }));
    let (_, got) = answered(&mut editor, &json!({ "output": "sk-2", "truncated": false }));
    assert!(got["error"]["message"].as_str().unwrap().contains("Rejected by guard: a key"), "{got}");
    assert!(!got.to_string().contains("sk-2"));
}

#[test]
fn a_question_about_a_command_waits_for_a_person() {
    let guard = json!({ "before-tool-call": { "when": { "contains": "risky" }, "verdict": "escalate", "question": "Really?" } });
    let user = user_with(guard, "");
    let mut editor = Proxied::editor(&user);
    editor.has_agent_ask("terminal/create", &json!({ "command": "risky" }));
    let since = std::time::Instant::now();
    let code = loop {
        let list: Value = serde_json::from_str(&user.run(["approvals", "--json"]).stdout).unwrap_or_default();
        if let Some(question) = list.as_array().and_then(|list| list.first()).or(list["questions"].get(0)) {
            break question["code"].as_str().unwrap().to_owned();
        }
        assert!(since.elapsed() < LONG, "no question waits: {list}");
    };
    user.run(["approvals", "yes", &code]).expect(0, &[]);
    let (asked, _) = answered(&mut editor, &json!({ "terminalId": "t1" }));
    assert!(asked.contains("risky"));
}
