//! Tests of the rules with whole commands.

mod cases;
mod catalogue;
mod config;
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

/// Returns the verdict of the rules in the last configuration.
fn ask(command: &str) -> ToolCallVerdict {
    testing::prime(|_| {});
    GUARD.get().verdict(&testing::session(), &testing::shell(command)).unwrap_or_else(Verdict::allow)
}

/// Returns the verdict as one word, or the rewritten command.
fn word(command: &str) -> String {
    match ask(command) {
        ToolCallVerdict::Allow => "allow".into(),
        ToolCallVerdict::Reject(_) => "deny".into(),
        ToolCallVerdict::Escalate(_) => "ask".into(),
        ToolCallVerdict::Rewrite(Action::Shell(shell)) => shell.command,
        other => format!("{other:?}"),
    }
}

/// Returns the rules that matched the last command.
fn rules() -> Vec<String> {
    testing::inspect(|host| host.findings.iter().map(|finding| finding.code.clone()).collect())
}

/// Fails if a table has wrong decisions, and prints all of them.
fn expect_none_wrong(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn decided(config: Value, command: &str) -> String {
    configure(config).unwrap();
    word(command)
}

/// Returns the verdict on a call of an unknown tool, as one word.
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

#[test]
fn a_supposed_command_that_cannot_be_read_is_judged_as_far_as_a_shell_runs_it() {
    configure(json!({})).unwrap();
    for arguments in [
        json!({ "command": "rm -rf ~ <<E" }),
        json!({ "command": "rm -rf ~\necho 'x" }),
        json!({ "command": "rm -rf ~\n)" }),
        json!({ "command": "x=~\nunheard-of $x\nrm -rf $x\n)" }),
        json!({ "command": "> ~/.claude/settings.json" }),
        json!({ "command": "claude -p hi", "env": { "HOOKHOST_CONFIG_DIR": "/evil" } }),
        json!({ "args": ["rm", "-rf", "/home/me"] }),
        json!({ "arguments": "{\"command\":\"rm -rf ~\"}" }),
    ] {
        assert_ne!(word_of_unknown("mcp__box__execute", arguments.clone()), "allow", "{arguments}");
    }
    assert_ne!(word_of_unknown("mcp__tmux__send_keys", json!({ "keys": "rm -rf ~\n" })), "allow");
    for arguments in [
        json!({ "command": "it's what you'd say (perhaps" }),
        json!({ "command": "> quoted text" }),
        json!({ "command": "> notes.md" }),
        json!({ "args": ["--verbose", "x"] }),
        json!({ "arguments": "{\"query\":\"rm -rf ~\"}" }),
        json!({ "command": "npm test", "env": { "CI": "1" } }),
    ] {
        assert_eq!(word_of_unknown("mcp__box__execute", arguments.clone()), "allow", "{arguments}");
    }
}

#[test]
fn what_a_shell_evaluates_later_is_judged_through_numbers_arguments_and_operators() {
    configure(json!({})).unwrap();
    for command in [
        "x='a[$(rm -rf /etc)]'; declare -i y; y+=x",
        "declare -i y; y+='a[$(rm -rf /etc)]'",
        "declare -ai z; z+=('a[$(rm -rf /etc)]')",
        "bash -c 'echo $(($0))' 'a[$(rm -rf /etc)]'",
        "bash -s 'a[$(rm -rf /etc)]' <<< 'echo $(($1))'",
        "x='\\044(rm -rf /etc)'; echo \"${x@P}\"",
        "x='\\044(rm -rf /etc)'; y=\"${x@E}\"; echo \"${y@P}\"",
        "x='$(rm -rf /etc)X'; y=${x%X}; echo \"${y@P}\"",
        "x='$(rm -rf /etc)X'; y=${x%?}; echo \"${y@P}\"",
        "x='aX$(rm -rf /etc)]'; y=${x/X/[}; echo $((y))",
        "x='aX$(rm -rf /etc)]'; y=${x/[A-Z]/[}; echo $((y))",
    ] {
        assert_ne!(word(command), "allow", "{command}");
    }
    for command in [
        "n=3; n+=4; declare -i m; m+=n; echo $((m))",
        "f=a.txt; n=${f%.txt}; echo $((n))",
        "PS1='\\[\\033[01;32m\\]\\u\\[\\033[00m\\]$ '; echo \"${PS1@P}\"",
        "bash -s x <<< 'echo $1'",
        "v=v1.2; echo \"${v#v}\" \"${v:1}\" \"${v^^}\"",
    ] {
        assert_eq!(word(command), "allow", "{command}: {:?}", rules());
    }
}
