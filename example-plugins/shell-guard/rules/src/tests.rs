//! The rules, asked about whole commands.

mod cases;
mod catalogue;
mod config;
mod document;
mod hostile;
mod new_files;
mod real_rewrites;
mod rewriting;
mod windows;

use crate::Guard;
use crate::rules::{Registry, Settings};
use hookhost_guest::prelude::*;
use hookhost_guest::testing;
use serde_json::Value;

fn registry() -> &'static Registry {
    static REGISTRY: Configured<Registry> = Configured::new();
    if REGISTRY.try_get().is_none() {
        REGISTRY.set(Registry::new(Settings::default()).unwrap());
    }
    REGISTRY.get()
}

static GUARD: Configured<Guard> = Configured::new();

fn configure(config: Value) -> Result<(), String> {
    let config = serde_json::from_value(config).map_err(|error| error.to_string())?;
    GUARD.set(Guard::new(config)?);
    Ok(())
}

/// What is made of `command` by the rules as configured last.
fn ask(command: &str) -> ToolCallVerdict {
    testing::prime(|_| {});
    GUARD.get().verdict(&testing::session(), &testing::shell(command)).unwrap_or_else(Verdict::allow)
}

/// The same in one word, or the command that it is rewritten to.
fn word(command: &str) -> String {
    match ask(command) {
        ToolCallVerdict::Allow => "allow".into(),
        ToolCallVerdict::Reject(_) => "deny".into(),
        ToolCallVerdict::Escalate(_) => "ask".into(),
        ToolCallVerdict::Rewrite(Action::Shell(shell)) => shell.command,
        other => format!("{other:?}"),
    }
}

/// The rules that had something to say about the last command.
fn rules() -> Vec<String> {
    testing::inspect(|host| host.findings.iter().map(|finding| finding.code.clone()).collect())
}

fn decided(config: Value, command: &str) -> String {
    configure(config).unwrap();
    word(command)
}

/// What is made of a call of a tool that nobody knows.
fn word_of_unknown(tool: &str, arguments: Value) -> &'static str {
    testing::prime(|_| {});
    let action = match tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        Some((server, tool)) => Action::Mcp(McpTool { server: Some(server.into()), tool: tool.into() }),
        None => Action::Other(String::new()),
    };
    match GUARD.get().verdict(&testing::session(), &testing::call(tool, arguments, action)) {
        None | Some(ToolCallVerdict::Allow) => "allow",
        Some(ToolCallVerdict::Reject(_)) => "deny",
        Some(ToolCallVerdict::Escalate(_)) => "ask",
        Some(_) => "change",
    }
}

#[test]
fn a_command_of_a_tool_that_nobody_knows_is_judged_as_a_shells() {
    const PUSH: &str = "git push --force origin main";
    configure(json!({})).unwrap();
    let expected = word(PUSH);
    assert_ne!(expected, "allow");
    for (tool, arguments) in [
        ("BashTool", json!({ "command": PUSH })),
        ("run_bash", json!({ "command": PUSH })),
        ("bash_tool", json!({ "command": PUSH })),
        ("execute_shell", json!({ "command": PUSH })),
        ("shell_tool", json!({ "command": PUSH })),
        ("terminal_execute", json!({ "command": PUSH })),
        ("run_shell", json!({ "command": PUSH })),
        ("Run", json!({ "command": PUSH })),
        ("unified_exec", json!({ "cmd": PUSH })),
        ("kimi_cli.tools.shell:Shell", json!({ "command": PUSH })),
        ("functions.shell", json!({ "command": PUSH })),
        ("run_command_line", json!({ "command_line": PUSH })),
        ("run_script", json!({ "script": PUSH })),
        ("mcp__shell__run", json!({ "command": PUSH })),
        ("mcp__shell__run", json!({ "command": ["git", "push", "--force", "origin", "main"] })),
        ("mcp__shell__run", json!({ "command": "git", "args": ["push", "--force", "origin", "main"] })),
    ] {
        assert_eq!(word_of_unknown(tool, arguments.clone()), expected, "{tool} {arguments}");
    }
    assert_eq!(word_of_unknown("mcp__shell__execute", json!({ "command": "rm ~/.claude/settings.json" })), "deny");
}

#[test]
fn what_is_no_command_of_a_known_program_raises_nothing() {
    configure(json!({})).unwrap();
    for text in [
        "SELECT * FROM users WHERE name = 'it''s' AND n > 3",
        "DROP TABLE users; DELETE FROM logs",
        "TRUNCATE TABLE users",
        "UPDATE t SET a = $1 WHERE b > 2",
        "INSERT INTO t VALUES (1, 'a; b')",
        "with x as (select 1) select * from x",
        "create",
        "view",
        "str_replace",
        "FLUSHALL",
        "zadd board 1 ada",
        "document.querySelector('#a').click()",
        "import os; os.listdir('.')",
        "what is `$(this)?",
        "",
    ] {
        for tool in ["mcp__db__query", "mystery"] {
            assert_eq!(word_of_unknown(tool, json!({ "command": text })), "allow", "{text}");
        }
    }
}
