//! The components `shell-guard` and `path-guard` in a host, as they are without a configuration: what guards the session is protected.

use crate::shell_guard::{entry, judged, session};
use hookhost::contract::ToolOrigin;
use hookhost::{Decision, Session};
use serde_json::json;

/// Commands about files, which both plugins judge alike, and whether they are rejected.
const COMMANDS: [(&str, bool); 21] = [
    ("echo x > hookhost.toml", true),
    ("sed -i s/enforce/audit/ ~/.config/hookhost/hookhost.toml", true),
    ("rm ~/.config/hookhost/profile.toml", true),
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
    matches!(settled.outcome, Decision::Allowed { .. })
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
        ("hookhost on --observe", "deny", "self.commands"),
        ("hookhost off --for 10m", "deny", "self.commands"),
        ("hookhost add shell-guard --yes", "deny", "self.commands"),
        ("hookhost profile use unattended --yes", "deny", "self.commands"),
        ("setsid hookhost allow-once K7Q2", "deny", "self.commands"),
        ("HOOKHOST_CONFIG_DIR=/tmp/x claude -p hi", "deny", "self.environment"),
        ("kill $(pgrep hookhost)", "deny", "self.process"),
        ("cat ~/.config/hookhost/keys.toml", "deny", "self.keys"),
        ("codex exec --dangerously-bypass-hook-trust hi", "deny", "self.agent_hooks"),
        ("hookhost doctor --prove", "allow", ""),
        ("hookhost audit verify", "allow", ""),
        ("hookhost hooks", "allow", ""),
        ("hookhost profile show developer", "allow", ""),
        ("hookhost add", "allow", ""),
        ("hookhost on --dry-run", "allow", ""),
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
        "~/.config/hookhost/profile.toml",
        "~/.local/state/hookhost/plugins/shell-guard-0123456789abcdef.wasm",
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

/// Texts in which each word is looked up, beside texts that are alike and name nothing that is guarded: fuel is counted, and the same on
/// each machine.
#[tokio::test]
async fn to_look_files_up_costs_at_most_a_quarter_more_than_the_rest_of_what_a_command_costs() {
    let pairs = [
        ("rm .claude/x ", "rm xclaude/x "),
        ("rm .claude/x; ", "rm xclaude/x; "),
        ("> .codex/x ", "> xcodex/x "),
        ("rm .c*/x ", "rm xc*/x "),
        ("mv ho*[a]?k.* .cl*/se?t*.json ", "mv xo*[a]?k.* xcl*/se?t*.json "),
        ("cp -r a/.claude b/.codex/x ", "cp -r a/xclaude b/xcodex/x "),
        ("ln -s .claude/x/y z; ", "ln -s xclaude/x/y z; "),
        ("rm .config/.config/.config/.config/x ", "rm xconfig/xconfig/xconfig/xconfig/x "),
    ];
    for plugin in ["shell-guard", "path-guard"] {
        let session = session(entry(plugin, json!({})), None).await;
        for (piece, alike) in pairs {
            let mut fuel = [0; 2];
            for (fuel, piece) in fuel.iter_mut().zip([piece, alike]) {
                let (word, call) = judged(&session, &piece.repeat(3_000 / piece.len())).await;
                assert_eq!(call.failure, None, "{plugin}: {piece:?}: {word}");
                *fuel = call.fuel;
            }
            let [fuel, of_alike] = fuel;
            println!("{plugin}: {piece:?}: fuel {fuel}, of what is alike {of_alike}");
            assert!(fuel < of_alike * 9 / 4, "{plugin}: {piece:?}: fuel {fuel}, of what is alike {of_alike}");
        }
    }
}
