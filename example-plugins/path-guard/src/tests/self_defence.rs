//! Tests of the files that are protected without a pattern.

use super::{ask, configure, is_refused, shell};
use crate::PathGuard;
use hookhost_guest::prelude::*;
use hookhost_guest::testing::{call, write_files};

/// Paths that file tools and patches must not write, each with its owner.
const CAUGHT: [(&str, &str); 106] = [
    ("hookhost", "hookhost.toml"),
    ("hookhost", "./hookhost.toml"),
    ("hookhost", "HookHost.TOML"),
    ("hookhost", "../other/hookhost.toml"),
    ("hookhost", "deep/down/hookhost.toml"),
    ("hookhost", "/srv/x/hookhost.toml"),
    ("hookhost", "src/../hookhost.toml"),
    ("hookhost", "hookhost-mcp.lock"),
    ("hookhost", "~/.config/hookhost/hookhost.toml"),
    ("hookhost", "~/.config/hookhost/plugins/path_guard.wasm"),
    ("hookhost", "$HOME/.config/hookhost/keys.toml"),
    ("hookhost", "${HOME}/.local/state/hookhost/trust.json"),
    ("hookhost", "/home/me/.local/state/hookhost/hookhost.db"),
    ("hookhost", "/root/.config/hookhost/AGENTS.md"),
    ("hookhost", "/Users/me/Library/Application Support/hookhost/hookhost.toml"),
    ("hookhost", "C:\\Users\\me\\AppData\\Roaming\\hookhost\\hookhost.toml"),
    ("hookhost", "~/.cache/hookhost/x"),
    ("hookhost", "$XDG_CONFIG_HOME/hookhost/keys.toml"),
    ("hookhost", "$XDG_STATE_HOME/hookhost/hookhost.db-wal"),
    ("hookhost", "/run/user/1000/hookhost/serve.sock"),
    ("hookhost", "/usr/local/bin/hookhost"),
    ("hookhost", "~/.cargo/bin/hookhost-hook"),
    ("hookhost", "file:///home/me/.config/hookhost/hookhost.toml"),
    ("hookhost", "/proc/self/root/home/me/.config/hookhost/x"),
    ("claude-code", ".claude/settings.json"),
    ("claude-code", ".claude/settings.local.json"),
    ("claude-code", ".CLAUDE/Settings.json"),
    ("claude-code", "~/.claude/settings.json"),
    ("claude-code", "~/.claude/hookhost/mod/hooks/register.js"),
    ("claude-code", "/home/me/.claude//settings.json"),
    ("claude-code", "~/.claude/projects/../settings.json"),
    ("claude-code", "packages/a/.claude/settings.json"),
    ("claude-code", "/etc/claude-code/managed-settings.json"),
    ("claude-code", "/etc/claude-code/managed-settings.d/10.json"),
    ("claude-code", "/Library/Application Support/ClaudeCode/managed-settings.json"),
    ("claude-code", "C:\\Program Files\\ClaudeCode\\managed-settings.json"),
    ("codex", "~/.codex/hooks.json"),
    ("codex", "~/.codex/config.toml"),
    ("codex", ".codex/config.toml"),
    ("codex", ".codex/hooks.json"),
    ("codex", "/etc/codex/requirements.toml"),
    ("gemini-cli", "~/.gemini/settings.json"),
    ("gemini-cli", ".gemini/settings.json"),
    ("gemini-cli", "/etc/gemini-cli/settings.json"),
    ("antigravity", "~/.gemini/config/hooks.json"),
    ("antigravity", ".agents/hooks.json"),
    ("qwen-code", "~/.qwen/settings.json"),
    ("qwen-code", ".qwen/settings.json"),
    ("cursor", "~/.cursor/hooks.json"),
    ("cursor", ".cursor/hooks.json"),
    ("cursor", "/etc/cursor/hooks.json"),
    ("copilot-cli", "~/.copilot/hooks/hookhost.json"),
    ("copilot-cli", ".github/hooks/hookhost.json"),
    ("copilot-cli", ".github/hooks/new/deep.json"),
    ("copilot-cli", "/etc/github-copilot/policy.d/x.json"),
    ("cline", "~/.cline/hooks/PreToolUse"),
    ("cline", ".clinerules/hooks/PreToolUse"),
    ("cline", "~/Documents/Cline/Hooks/PreToolUse"),
    ("opencode", "opencode.json"),
    ("opencode", "opencode.jsonc"),
    ("opencode", ".opencode/plugins/hookhost.js"),
    ("opencode", ".opencode/plugin/hookhost.js"),
    ("opencode", "~/.config/opencode/opencode.json"),
    ("opencode", "~/.config/opencode/plugins/x.ts"),
    ("pi", "~/.pi/agent/extensions/hookhost.ts"),
    ("pi", ".pi/extensions/hookhost.ts"),
    ("goose", "~/.agents/plugins/hookhost/hooks/hooks.json"),
    ("goose", "~/.config/goose/config.yaml"),
    ("grok-build", "~/.grok/hooks/hookhost.json"),
    ("droid", "~/.factory/hooks.json"),
    ("droid", ".factory/settings.json"),
    ("kiro", ".kiro/hooks/hookhost.json"),
    ("kiro", "~/.kiro/agents/default.json"),
    ("openhands", ".openhands/hooks.json"),
    ("amp", "~/.config/amp/plugins/hookhost.ts"),
    ("amp", ".amp/plugins/hookhost.ts"),
    ("windsurf", "~/.codeium/windsurf/hooks.json"),
    ("windsurf", ".windsurf/hooks.json"),
    ("crush", "crush.json"),
    ("crush", ".crush.json"),
    ("crush", "~/.config/crush/crush.json"),
    ("claude-code", ".mcp.json"),
    ("claude-code", "~/.claude.json"),
    ("claude-code", "C:\\Users\\me\\.claude\\settings.json::$DATA"),
    ("claude-code", "C:\\Users\\me\\CLAUDE~1\\settings.json"),
    ("claude-code", ".claude/settings.json."),
    ("claude-code", ".claude./SETTIN~1.JSO"),
    ("codex", "~/.codex/.env"),
    ("copilot-cli", "~/.copilot/mcp-config.json"),
    ("cursor", ".cursor/mcp.json"),
    ("cursor", "~/.cursor/mcp.json"),
    ("droid", ".factory/mcp.json"),
    ("kiro", "~/.kiro/settings/mcp.json"),
    ("windsurf", "~/.codeium/windsurf/mcp_config.json"),
    ("gemini-cli", ".gemini/.env"),
    ("qwen-code", ".qwen/.env"),
    ("editors", ".vscode/mcp.json"),
    ("editors", ".zed/settings.json"),
    ("editors", "~/.config/zed/settings.json"),
    ("environment", "~/.config/environment.d/x.conf"),
    ("hookhost", "/srv/hh/trust.json"),
    ("hookhost", "/srv/hh/hookhost.db"),
    ("hookhost", "/srv/hh/run/host.path"),
    ("hookhost", "/srv/hh/keys.toml"),
    ("hookhost", "/opt/hh/hookhost-hook"),
    ("hookhost", "~/.local/bin/hookhost-hook"),
];

/// Similar paths that any tool may write.
const LEFT: [&str; 65] = [
    "hookhost.md",
    "docs/hookhost.toml.md",
    "my-hookhost.toml",
    "hookhost.toml.example",
    "hookhost-mcp.json",
    "hookhost/README.md",
    "src/hookhost/mod.rs",
    "~/.config/hookhost-notes/x",
    "~/.config/nvim/init.lua",
    "~/.local/state/nvim/x",
    "~/.local/share/hookhost-x",
    "target/debug/hookhost",
    "bin/hook",
    "bin/hookhosts",
    "run/user/x",
    "keys.toml",
    "trust.json",
    ".claude/CLAUDE.md",
    ".claude/commands/deploy.md",
    ".claude/agents/reviewer.md",
    ".claude/skills/x/SKILL.md",
    ".claude/worktrees/a/src/main.rs",
    "claude/settings.json",
    ".claude.md",
    "CLAUDE.md",
    "AGENTS.md",
    "settings.json",
    ".vscode/settings.json",
    ".codex/AGENTS.md",
    ".codex/prompts/x.md",
    "codex/config.toml",
    ".cargo/config.toml",
    "config.toml",
    "hooks.json",
    "hooks/hooks.json",
    ".gemini/GEMINI.md",
    ".gemini/commands/x.toml",
    ".qwen/QWEN.md",
    ".cursor/rules/x.mdc",
    ".cursorignore",
    ".copilot/notes.md",
    ".github/workflows/ci.yml",
    ".github/copilot-instructions.md",
    ".github/hooks.md",
    ".clinerules/style.md",
    ".clinerules/workflows/x.md",
    ".opencode/agent/x.md",
    ".opencode/command/x.md",
    "opencode.md",
    "src/opencode.json.ts",
    ".pi/agent/sessions/x.jsonl",
    ".pi/notes.md",
    ".agents/skills/x/SKILL.md",
    "agents/plugins/x.ts",
    ".grok/notes.md",
    ".factory/droids/x.md",
    ".kiro/steering/product.md",
    ".kiro/specs/x/tasks.md",
    ".openhands/microagents/repo.md",
    ".husky/pre-commit",
    ".git/hooks/pre-commit",
    "etc/codex/config.toml",
    "target/debug/hookhost-hook",
    ".bashrc",
    ".envrc",
];

fn code(call: &ToolCall) -> Option<String> {
    match ask(call) {
        ToolCallVerdict::Reject(refusal) => refusal.code,
        _ => None,
    }
}

#[test]
fn without_a_configuration_what_guards_the_session_is_protected() {
    configure(json!({})).unwrap();
    for (owner, path) in CAUGHT {
        let expected = if owner == "hookhost" { "path-guard.hookhost" } else { "path-guard.agent-files" };
        assert_eq!(code(&write_files([path])).as_deref(), Some(expected), "{path}");
        let patch = format!("*** Begin Patch\n*** Update File: {path}\n@@\n-x\n+y\n*** End Patch");
        assert_eq!(
            code(&call("apply", json!({ "input": patch }), Action::Other(String::new()))).as_deref(),
            Some(expected)
        );
        let is_read = !is_refused(&call("read_file", json!({ "path": path }), Action::ReadFile(path.into())));
        assert_eq!(is_read, !path.ends_with("hookhost/keys.toml"), "{path}");
        // Only the files of the named owner are protected.
        configure(json!({ "self-defence": [owner] })).unwrap();
        assert!(is_refused(&write_files([path])), "{path} of {owner}");
        let other = if owner == "codex" { "pi" } else { "codex" };
        configure(json!({ "self-defence": [other] })).unwrap();
        assert!(!is_refused(&write_files([path])), "{path} of {other}");
        configure(json!({})).unwrap();
    }
    for path in LEFT {
        assert!(!is_refused(&write_files([path])), "{path}");
    }
}

#[test]
fn the_refusal_says_whose_file_it_is_and_who_changes_it() {
    configure(json!({ "reason": "ask Ada" })).unwrap();
    let ToolCallVerdict::Reject(refusal) = ask(&write_files(["./.claude/settings.json"])) else { panic!("allowed") };
    assert_eq!(
        refusal.reason,
        "`./.claude/settings.json` must not be written: the agent claude-code reads its settings or hooks there \
         (`.claude/settings*.json`), and only the person who runs the agent changes it, outside of the session; ask Ada"
    );
    assert!(!refusal.retryable);
}

#[test]
fn a_configuration_turns_it_off_in_whole_or_in_part() {
    let protected = json!(["infra/**"]);
    configure(json!({ "protected": protected, "self-defence": [] })).unwrap();
    assert!(!is_refused(&write_files(["hookhost.toml"])) && !is_refused(&write_files([".claude/settings.json"])));
    assert!(is_refused(&write_files(["infra/x"])));
    configure(json!({ "self-defence": ["agents"] })).unwrap();
    assert!(!is_refused(&write_files(["hookhost.toml"])) && is_refused(&write_files([".claude/settings.json"])));
    configure(json!({ "self-defence": ["hookhost"] })).unwrap();
    assert!(is_refused(&write_files(["hookhost.toml"])) && !is_refused(&write_files([".claude/settings.json"])));
    configure(json!({ "allow": [".claude/settings.local.json"] })).unwrap();
    assert!(!is_refused(&write_files([".claude/settings.local.json"])));
    assert!(
        is_refused(&write_files(["~/.claude/settings.local.json"]))
            && is_refused(&write_files([".claude/settings.json"]))
    );
    for (config, name) in [
        (json!({ "self-defence": ["claude"] }), "`claude` in `self-defence` owns no files"),
        (json!({ "self-defence": [] }), "nothing is protected"),
        (json!({ "protected": [], "self-defence": ["agents"] }), "`protected` is empty"),
    ] {
        let error = configure(&config).unwrap_err();
        assert!(error.contains(name), "{config}: {error}");
    }
}

#[test]
fn an_unknown_tool_that_writes_is_judged_by_its_arguments() {
    configure(json!({})).unwrap();
    let mcp = || Action::Mcp(McpTool { server: Some("files".into()), tool: "x".into() });
    assert!(is_refused(&call(
        "mcp__files__write_file",
        json!({ "path": "~/.codex/hooks.json", "content": "" }),
        mcp()
    )));
    assert!(is_refused(&call("mcp__files__move", json!({ "source": "hookhost.toml", "destination": "x" }), mcp())));
    assert!(!is_refused(&call("mcp__files__read_file", json!({ "path": "hookhost.toml" }), mcp())));
}

/// Tests with shell-guard's table of commands. For the commands that are about files, path-guard must decide the same.
#[test]
fn commands_that_shell_guard_stops_because_of_a_file_are_refused_and_harmless_ones_are_not() {
    configure(json!({})).unwrap();
    let table = include_str!("../../../shell/rules/cases/self-defence.txt");
    let (mut refused, mut passed, mut wrong) = (0, 0, Vec::new());
    let mut is_about_files = false;
    for line in table.lines().filter(|line| !line.is_empty()) {
        if let Some(heading) = line.strip_prefix("# ") {
            is_about_files = heading.starts_with("Files");
            continue;
        }
        let (expected, command) = line.split_once(' ').unwrap();
        let command = command.replace("\\n", "\n");
        match (expected, is_refused(&shell(&command))) {
            ("block", true) => refused += u32::from(is_about_files),
            ("allow", false) => passed += 1,
            ("block", false) if !is_about_files => {}
            _ => wrong.push(command),
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(refused >= 60 && passed >= 60, "{refused} refused, {passed} passed");
}

#[test]
fn a_file_of_the_environment_is_refused_where_it_leads_an_agent_elsewhere() {
    configure(json!({})).unwrap();
    let writes = |path: &str, content: &str| {
        call("Write", json!({ "file_path": path, "content": content }), write_files([path]).action)
    };
    for path in ["~/.bashrc", ".envrc", ".env", "~/.profile", "/etc/profile.d/x.sh"] {
        assert!(is_refused(&writes(path, "export HOOKHOST_CONFIG_DIR=/tmp/x\n")), "{path}");
        assert!(!is_refused(&writes(path, "export EDITOR=vim\n")), "{path}");
    }
    assert!(!is_refused(&writes("notes.md", "HOOKHOST_CONFIG_DIR says where")));
}

#[test]
fn another_directory_does_not_hide_a_file() {
    configure(json!({})).unwrap();
    for command in [
        "cd nowhere; cd .claude; rm settings.json",
        "cd .claude/commands && rm ../settings.json",
        "(cd ~/.codex && echo x > hooks.json)",
        "D=.claude; rm -rf $D/settings.json",
        "for d in .claude .codex; do rm -rf $d; done",
        "pushd ~/.config/hookhost; rm hookhost.toml",
        "env -C .claude rm settings.json",
        "git -C .claude checkout -- settings.json",
        "ln -s ~/.claude/settings.json notes && echo x > notes",
        "ln -s ~/.claude notes; echo x > notes/settings.json",
        "cp -r /tmp/evil/.claude ~",
        "apply_patch <<'E'\n*** Begin Patch\n*** Delete File: hookhost.toml\n*** End Patch\nE",
    ] {
        assert!(is_refused(&shell(command)), "{command}");
    }
}

#[test]
fn a_session_in_the_directory_itself_is_not_an_exception() {
    configure(json!({})).unwrap();
    let within = Session {
        cwd: "/home/me/.claude".into(),
        workspace: "/home/me/.claude".into(),
        ..hookhost_guest::testing::session()
    };
    let verdict = |call: &ToolCall| PathGuard::before_tool_call(&within, call);
    assert!(matches!(verdict(&write_files(["settings.json"])), ToolCallVerdict::Reject(_)));
    assert!(matches!(verdict(&write_files(["commands/x.md"])), ToolCallVerdict::Allow));
}

/// The plugin accepts the configuration that the documentation shows, and the configuration has the effect that its
/// comments describe.
#[test]
fn the_documented_configuration_turns_it_off_as_it_says() {
    let page = include_str!("../../../../docs/security.md");
    let block = page.split("```toml\n").find(|block| block.contains("self-defence = ")).unwrap();
    let file: toml::Table = toml::from_str(block.split("```").next().unwrap()).unwrap();
    let entries = file["plugin"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["name"].as_str() == Some("path-guard")).unwrap();
    configure(&entry["config"]).unwrap();
    assert!(is_refused(&write_files(["hookhost.toml"])) && is_refused(&write_files([".codex/hooks.json"])));
    assert!(!is_refused(&write_files([".codex/config.toml"])) && !is_refused(&write_files([".claude/settings.json"])));
}

#[test]
fn the_keys_and_their_directory_are_no_arguments_of_any_tool() {
    configure(json!({})).unwrap();
    let is_by_us = |call: &ToolCall| code(call).as_deref() == Some("path-guard.keys");
    let keys = "/home/me/.config/hookhost/keys.toml";
    let read = |path: &str| call("Read", json!({ "file_path": path }), Action::ReadFile(path.into()));
    assert!(is_by_us(&read(keys)) && is_by_us(&read("~/.config/hookhost/KEYS.toml")));
    let other = |tool: &str, arguments| call(tool, arguments, Action::Other(String::new()));
    for (tool, arguments) in [
        ("Grep", json!({ "pattern": ".", "path": "/home/me/.config/hookhost", "output_mode": "content" })),
        ("view", json!({ "path": keys })),
        ("mcp__fs__read_multiple_files", json!({ "paths": ["a", keys] })),
        ("read_file", json!({ "root": "/home/me/.config/hookhost", "name": "keys.toml" })),
        ("list", json!({ "path": "~/.config/hookhost/" })),
    ] {
        assert!(is_by_us(&other(tool, arguments)), "{tool}");
    }
    let url = format!("file://{keys}");
    assert!(is_by_us(&call("WebFetch", json!({ "url": url, "prompt": "x" }), Action::Fetch(url.clone()))));
    for path in
        ["~/.config/hookhost/hookhost.toml", "docs/keys.toml", "src/hookhost", "~/.config", "~/.local/state/hookhost"]
    {
        assert!(!is_by_us(&read(path)), "{path}");
    }
    configure(json!({ "self-defence": ["codex"] })).unwrap();
    assert!(!is_by_us(&read(keys)));
}

#[test]
fn what_a_tool_removes_with_all_below_holds_no_guarded_file() {
    configure(json!({})).unwrap();
    for (tool, arguments) in [
        ("mcp__fs__delete_directory", json!({ "path": "/home/me" })),
        ("mcp__fs__rename", json!({ "source": "/home", "destination": "/x" })),
        ("mcp__fs__remove", json!({ "path": "/" })),
        ("mcp__fs__delete", json!({ "path": "~" })),
        ("mcp__fs__write_file", json!({ "path": ["/home/me/.claude", "settings.json"] })),
        ("mcp__ide__create_file", json!({ "project": "/home/me/.claude", "relative_path": "settings.json" })),
    ] {
        assert!(is_refused(&call(tool, arguments.clone(), Action::Other(String::new()))), "{tool} {arguments}");
    }
    for (tool, arguments) in [
        ("mcp__fs__list_directory", json!({ "path": "/home/me" })),
        ("mcp__fs__delete_directory", json!({ "path": "/home/me/project/build" })),
        ("mcp__git__delete_branch", json!({ "repo_path": "/home/me/project", "branch": "x" })),
        ("mcp__fs__write_files", json!({ "paths": ["src/.claude", "settings.json.md"] })),
    ] {
        assert!(!is_refused(&call(tool, arguments.clone(), Action::Other(String::new()))), "{tool} {arguments}");
    }
}

#[test]
fn a_supposed_command_that_cannot_be_read_writes_what_its_beginning_writes() {
    configure(json!({})).unwrap();
    for command in
        ["> ~/.claude/settings.json", "d=~/.claude\nrm $d/settings.json\n)", "rm ~/.claude/settings.json <<E"]
    {
        assert!(
            is_refused(&call("mcp__box__run", json!({ "command": command }), Action::Other(String::new()))),
            "{command}"
        );
    }
    for command in ["> notes.md", "it's what you'd say (perhaps"] {
        assert!(
            !is_refused(&call("mcp__box__run", json!({ "command": command }), Action::Other(String::new()))),
            "{command}"
        );
    }
}
