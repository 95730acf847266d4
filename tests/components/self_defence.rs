//! The components `shell-guard` and `path-guard` in a host, as they are without a configuration: what guards the session is protected.

use crate::shell_guard::{entry, judged, session};
use hookhost::contract::ToolOrigin;
use hookhost::{GateOutcome, Session};
use serde_json::json;

/// Commands about files, which both plugins judge alike, and whether they are rejected.
const COMMANDS: [(&str, bool); 20] = [
    ("echo x > hookhost.toml", true),
    ("sed -i s/enforce/audit/ ~/.config/hookhost/hookhost.toml", true),
    ("cd .claude && rm settings.json", true),
    ("sudo sh -c 'rm ~/.codex/hooks.json'", true),
    ("cp x.json \"$HOME/.cursor/hooks.json\"", true),
    ("git checkout HEAD~1 -- .github/hooks/hookhost.json", true),
    ("rm -rf .opencode/plugins", true),
    ("ln -s ~/.claude/settings.json notes", true),
    ("for d in .gemini .qwen; do rm $d/settings.json; done", true),
    ("rm .claude/set*", true),
    ("cat hookhost.toml", false),
    ("cp .claude/settings.json /tmp/x", false),
    ("jq .hooks ~/.codex/hooks.json > /tmp/hooks.json", false),
    ("echo x >> .claude/CLAUDE.md", false),
    ("rm .claude/commands/x.md", false),
    ("echo x > .vscode/settings.json", false),
    ("touch .github/workflows/ci.yml", false),
    ("git add hookhost.toml", false),
    ("rm -rf target/hookhost", false),
    ("echo 'rm ~/.claude/settings.json'", false),
];

/// Whether a tool that writes may write this file.
async fn may_write(session: &Session, path: &str) -> bool {
    let call = session.tool_call("1", "write_file", &json!({ "path": path, "content": "" }), ToolOrigin::Builtin);
    let settled = session.before_tool_call(call).await;
    assert!(settled.record.calls.iter().all(|call| call.failure.is_none()), "{path}: {:?}", settled.record.calls);
    matches!(settled.outcome, GateOutcome::Allowed { .. })
}

#[tokio::test]
async fn without_a_configuration_both_plugins_protect_the_files_that_guard_the_session() {
    for plugin in ["shell-guard", "path-guard"] {
        let session = session(entry(plugin, json!({})), None).await;
        for (command, is_rejected) in COMMANDS {
            let (word, call) = judged(&session, command).await;
            assert_eq!(
                (word.as_str(), call.failure),
                (if is_rejected { "deny" } else { "allow" }, None),
                "{plugin}: {command}"
            );
        }
    }
}

#[tokio::test]
async fn shell_guard_rejects_the_commands_that_loosen_rules_and_lets_those_that_read_pass() {
    let session = session(entry("shell-guard", json!({})), None).await;
    for (command, expected, rule) in [
        ("hookhost trust --yes", "deny", "self.commands"),
        ("sudo /usr/local/bin/hookhost uninstall codex", "deny", "self.commands"),
        ("HOOKHOST_CONFIG_DIR=/tmp/x claude -p hi", "deny", "self.environment"),
        ("kill $(pgrep hookhost)", "deny", "self.process"),
        ("cat ~/.config/hookhost/keys.toml", "deny", "self.keys"),
        ("codex exec --dangerously-bypass-hook-trust hi", "deny", "self.agent_hooks"),
        ("hookhost doctor --prove", "allow", ""),
        ("hookhost audit verify", "allow", ""),
        ("hookhost hooks", "allow", ""),
    ] {
        let (word, call) = judged(&session, command).await;
        assert_eq!((word.as_str(), call.failure), (expected, None), "{command}");
        let codes: Vec<&str> = call.findings.iter().map(|finding| finding.code.as_str()).collect();
        assert_eq!(codes.contains(&rule), expected == "deny", "{command}: {codes:?}");
    }
}

#[tokio::test]
async fn path_guard_protects_the_files_against_tools_that_write() {
    let session = session(entry("path-guard", json!({})), None).await;
    for path in [
        "hookhost.toml",
        "src/../.claude/settings.json",
        "/home/me/.codex/config.toml",
        "~/.config/hookhost/plugins/x.wasm",
    ] {
        assert!(!may_write(&session, path).await, "{path}");
    }
    for path in ["hookhost.md", ".claude/CLAUDE.md", "src/settings.json"] {
        assert!(may_write(&session, path).await, "{path}");
    }
}

#[tokio::test]
async fn a_configuration_turns_it_off() {
    let settings = ".claude/settings.json";
    let shell = session(entry("shell-guard", json!({ "remove": ["self.agent_files"] })), None).await;
    assert_eq!(judged(&shell, &format!("echo x > {settings}")).await.0, "allow");
    assert_eq!(judged(&shell, "echo x > hookhost.toml").await.0, "deny");
    let paths = session(entry("path-guard", json!({ "self-defence": ["hookhost"] })), None).await;
    assert!(may_write(&paths, settings).await && !may_write(&paths, "hookhost.toml").await);
}

/// Texts that have all of the list compared with each of their words.
#[tokio::test]
async fn any_command_about_guarded_files_is_judged_far_from_the_default_fuel() {
    let pieces = [
        "rm .claude/x ",
        "rm .claude/x; ",
        "> .codex/x ",
        "rm .c*/x ",
        "mv ho*[a]?k.* .cl*/se?t*.json ",
        "cp -r a/.claude b/.codex ",
        "ln -s .claude/x y; ",
        "cd .claude; rm x; ",
        "rm .config/.config/.config/.config/x ",
        "hookhost ",
        "X=1 hookhost; ",
    ];
    for plugin in ["shell-guard", "path-guard"] {
        let session = session(entry(plugin, json!({})), None).await;
        for piece in pieces {
            for length in [2 << 10, 8 << 10, 32 << 10, 60 << 10, 200 << 10] {
                let (word, call) = judged(&session, &piece.repeat(length / piece.len())).await;
                assert_eq!(call.failure, None, "{plugin}: {piece:?} of {length} bytes: {word}");
                println!("{plugin}: {piece:?} of {length} bytes: {word}, fuel {}", call.fuel);
                assert!(call.fuel < 90_000_000, "{plugin}: {piece:?} of {length} bytes: fuel {}", call.fuel);
            }
        }
    }
}
