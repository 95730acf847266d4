use super::{AGENTS, UNKNOWN};
use crate::action::ActionMap;
use crate::{Action, McpTool, ShellCommand, ShellDialect, ToolOrigin};
use serde_json::{Value, json};

fn action(agent: &str, tool: &str, arguments: &Value) -> Action {
    ActionMap::default().of(agent).action(tool, arguments, &ToolOrigin::Builtin, "/work")
}

fn shell_at(cwd: &str, command: &str) -> Action {
    Action::Shell(ShellCommand { command: command.into(), cwd: cwd.into(), dialect: ShellDialect::Posix })
}

fn shell(command: &str) -> Action {
    shell_at("/work", command)
}

fn writes(path: &str) -> Action {
    Action::WriteFiles(vec![path.into()])
}

fn mcp(server: Option<&str>, tool: &str) -> Action {
    Action::Mcp(McpTool { server: server.map(str::to_owned), tool: tool.into() })
}

fn other(word: &str) -> Action {
    Action::Other(word.into())
}

/// Calls in the form in which the agents' hooks get them: recorded calls, and calls from the vendors' documents.
fn calls() -> Vec<(&'static str, &'static str, Value, Action)> {
    let patch = "*** Begin Patch\n*** Update File: src/main.rs\n@@\n-old\n+new\n*** End Patch\n";
    let test = json!({"command": "npm test", "description": "Run test suite", "timeout": 120_000});
    vec![
        ("acp-proxy", "execute", json!({"command": "ls", "title": "List"}), shell("ls")),
        (
            "acp-proxy",
            "terminal/create",
            json!({"command": ["npm", "test"], "cwd": "/srv"}),
            shell_at("/srv", "npm test"),
        ),
        ("acp-proxy", "fs/write_text_file", json!({"path": "/p/a", "content": "x"}), writes("/p/a")),
        ("acp-proxy", "delete", json!({"path": "/p/a"}), writes("/p/a")),
        ("amp", "Bash", json!({"cmd": "ls", "cwd": "/srv"}), shell_at("/srv", "ls")),
        ("antigravity", "run_command", json!({"command": "cat /etc/hosts"}), shell("cat /etc/hosts")),
        ("antigravity", "run_command", json!({"CommandLine": "ls", "Cwd": "/srv"}), shell_at("/srv", "ls")),
        ("antigravity", "write_to_file", json!({"TargetFile": "/p/a", "CodeContent": "x"}), writes("/p/a")),
        ("claude-code", "Bash", test, shell("npm test")),
        ("claude-code", "Write", json!({"file_path": "C:\\p\\index.ts", "content": "."}), writes("C:\\p\\index.ts")),
        ("claude-code", "Read", json!({"file_path": "/p/accounts.py"}), Action::ReadFile("/p/accounts.py".into())),
        ("claude-code", "mcp__github__create_issue", json!({"title": "t"}), mcp(Some("github"), "create_issue")),
        ("claude-code-mods", "Bash", json!({"command": "npm test", "description": "x"}), shell("npm test")),
        ("cline", "execute_command", json!({"command": "ls", "requires_approval": "false"}), shell("ls")),
        (
            "cline",
            "run_commands",
            json!({"commands": ["echo hello > out.txt", "ls"]}),
            shell("echo hello > out.txt\nls"),
        ),
        (
            "cline",
            "run_commands",
            json!({"commands": [{"command": "git", "args": ["commit", "-m", "a b"]}, "ls"]}),
            shell("git commit -m 'a b'\nls"),
        ),
        ("cline", "run_commands", json!({"commands": [{"command": "git", "args": "x"}]}), other("shell")),
        ("cline", "read_files", json!({"files": [{"path": "/p/a"}]}), other("read-file")),
        ("cline", "fetch_web_content", json!({"requests": [{"url": "https://e.com"}]}), other("fetch")),
        (
            "cline",
            "use_mcp_tool",
            json!({"server_name": "db", "tool_name": "q", "arguments": "{}"}),
            mcp(Some("db"), "q"),
        ),
        ("codex", "Bash", json!({"command": "rm -rf build"}), shell("rm -rf build")),
        ("codex", "apply_patch", json!({"command": patch}), writes("src/main.rs")),
        ("codex", "mcp__fs__read", json!({"path": "/etc/hosts"}), mcp(Some("fs"), "read")),
        ("codex", "shell", json!({"command": ["bash", "-lc", "ls"], "workdir": "/srv"}), shell_at("/srv", "ls")),
        ("copilot-cli", "bash", json!({"command": "cat data.csv | grep x"}), shell("cat data.csv | grep x")),
        ("copilot-cli", "Bash", json!({"command": "ls", "description": "mock"}), shell("ls")),
        ("copilot-cli", "Agent", json!({"prompt": "audit", "description": "x"}), Action::SpawnAgent("audit".into())),
        ("copilot-cli", "Read", json!({"path": "/p/a"}), Action::ReadFile("/p/a".into())),
        ("copilot-cli", "create", json!({"path": "/p/a", "file_text": "x"}), writes("/p/a")),
        ("crush", "bash", json!({"command": "ls", "working_dir": "/srv"}), shell_at("/srv", "ls")),
        ("crush", "mcp_tracker_close_ticket", json!({"ticket": 1}), mcp(None, "tracker_close_ticket")),
        ("cursor", "Shell", json!({"command": "ls", "working_directory": "/p"}), shell_at("/p", "ls")),
        ("cursor", "MCP:create_issue", json!({"title": "t"}), mcp(None, "create_issue")),
        ("droid", "Execute", json!({"command": "ls", "summary": "list"}), shell("ls")),
        (
            "gemini-cli",
            "run_shell_command",
            json!({"command": "rm -rf build", "description": "x"}),
            shell("rm -rf build"),
        ),
        ("gemini-cli", "read_file", json!({"file_path": "/p/a.txt"}), Action::ReadFile("/p/a.txt".into())),
        ("gemini-cli", "mcp_github_create_issue", json!({"title": "t"}), mcp(None, "github_create_issue")),
        ("goose", "developer__shell", json!({"command": "rg TODO"}), shell("rg TODO")),
        ("goose", "developer__text_editor", json!({"command": "view", "path": "a"}), Action::ReadFile("a".into())),
        ("goose", "developer__text_editor", json!({"command": "write", "path": "a"}), writes("a")),
        ("goose", "github__create_issue", json!({}), mcp(Some("github"), "create_issue")),
        ("grok-build", "run_terminal_command", json!({"command": "cat /etc/hosts"}), shell("cat /etc/hosts")),
        ("hookhost", "bash", json!({"command": "ls"}), shell("ls")),
        ("hookhost", "submit_plan", json!({"tasks": []}), other("plan")),
        ("kiro", "fs_write", json!({"command": "create", "path": "/p/a.txt", "file_text": "x"}), writes("/p/a.txt")),
        ("kiro", "@git/status", json!({}), mcp(Some("git"), "status")),
        ("opencode", "bash", json!({"command": "rm -rf build", "description": "clean"}), shell("rm -rf build")),
        ("opencode", "write", json!({"filePath": "/p/a", "content": "x"}), writes("/p/a")),
        ("openhands", "terminal", json!({"command": "rm -rf /"}), shell("rm -rf /")),
        ("openhands", "task_tracker", json!({"command": "plan", "task_list": []}), other("plan")),
        ("pi", "bash", json!({"command": "rm -rf build"}), shell("rm -rf build")),
        ("qwen-code", "run_shell_command", json!({"command": "echo hello > out.txt"}), shell("echo hello > out.txt")),
        ("windsurf", "run_command", json!({"command_line": "npm i", "cwd": "/p"}), shell_at("/p", "npm i")),
        (
            "windsurf",
            "mcp_tool_use",
            json!({"mcp_server_name": "github", "mcp_tool_name": "t"}),
            mcp(Some("github"), "t"),
        ),
    ]
}

#[test]
fn a_call_means_what_the_agent_does_with_it() {
    for (agent, tool, arguments, expected) in calls() {
        assert_eq!(action(agent, tool, &arguments), expected, "{agent}: {tool} {arguments}");
    }
}

#[test]
fn the_name_of_a_servers_tool_is_told_apart_where_the_agent_names_the_server() {
    let of = |agent: &str, tool: &str, server: &str| {
        ActionMap::default().of(agent).action(tool, &json!({}), &ToolOrigin::Mcp(server.into()), "/work")
    };
    assert_eq!(of("gemini-cli", "mcp_my_db_read_file", "my_db"), mcp(Some("my_db"), "read_file"));
    assert_eq!(of("kiro", "@git/push", "git"), mcp(Some("git"), "push"));
    assert_eq!(of("claude-code", "mcp__git__push", "git"), mcp(Some("git"), "push"));
    // A name in another format is used unchanged as the name of the tool.
    assert_eq!(of("gemini-cli", "mcp_my_db_read", "db"), mcp(Some("db"), "mcp_my_db_read"));
}

#[test]
fn every_agent_with_a_table_has_a_call_that_shows_it() {
    let without: Vec<_> = AGENTS.iter().map(|agent| agent.name).collect();
    let shown: Vec<_> = calls().iter().map(|(agent, ..)| *agent).collect();
    assert_eq!(without.iter().find(|agent| !shown.contains(agent)), None);
}

#[test]
fn one_agents_task_is_not_anothers() {
    // Claude Code uses `description` as a title for the user. The sub-agent gets only `prompt`.
    let task = json!({"description": "Audit", "prompt": "audit the code", "subagent_type": "Explore"});
    let spawned = Action::SpawnAgent("audit the code".into());
    for (agent, tool) in [("claude-code", "Task"), ("claude-code", "Agent"), ("opencode", "task"), ("droid", "Task")] {
        assert_eq!(action(agent, tool, &task), spawned, "{agent}: {tool}");
    }
    // These agents have no tool of that name, so it is an unknown tool that may do anything.
    for agent in ["codex", "hookhost", "windsurf", "pi"] {
        assert_eq!(action(agent, "task", &task), other(""), "{agent}");
    }
    // An unknown agent may pass any of these texts to a sub-agent, so only the kind is known.
    assert_eq!(action("my-agent", "Task", &task), other("spawn-agent"));
    assert_eq!(action("my-agent", "Task", &json!({"prompt": "audit the code"})), spawned);
}

#[test]
fn a_tool_that_an_agents_table_does_not_list_is_read_as_in_other_agents() {
    for agent in AGENTS.iter().map(|agent| agent.name) {
        assert_eq!(action(agent, "run_in_terminal", &json!({"command": "ls"})), shell("ls"), "{agent}");
        assert_eq!(action(agent, "create_file", &json!({"path": "a"})), writes("a"), "{agent}");
    }
}

#[test]
fn an_agent_reads_its_own_arguments_and_no_others() {
    assert_eq!(action("claude-code", "Bash", &json!({"command": "ls", "cmd": "rm x"})), shell("ls"));
    assert_eq!(action("claude-code", "Bash", &json!({"cmd": "rm x"})), other("shell"));
    assert_eq!(action("my-agent", "bash", &json!({"command": "ls", "cmd": "rm x"})), shell("ls\nrm x"));
    assert_eq!(action("cline", "run_commands", &json!({"commands": "[\"ls\"]"})), other("shell"));
    assert_eq!(action("cline", "use_mcp_tool", &json!({"server_name": "db"})), other("mcp"));
}

#[test]
fn a_tool_of_a_server_has_its_own_name_however_the_agent_spells_it() {
    let of = |agent: &str, tool: &str, server: &str| {
        let origin = ToolOrigin::Mcp(server.into());
        ActionMap::default().of(agent).action(tool, &json!({}), &origin, "/work")
    };
    assert_eq!(of("goose", "github__create_issue", "github"), mcp(Some("github"), "create_issue"));
    assert_eq!(of("claude-code", "mcp__github__create_issue", "github"), mcp(Some("github"), "create_issue"));
    // The name seems to belong to another server, but it is this server's own name for the tool.
    assert_eq!(of("goose", "gitlab__create_issue", "github"), mcp(Some("github"), "gitlab__create_issue"));
    assert_eq!(of("my-agent", "create_issue", "github"), mcp(Some("github"), "create_issue"));
}

#[test]
fn a_rewritten_command_goes_back_into_the_list_that_it_came_from() {
    let arguments = json!({"commands": ["ls", "rm x"], "keep": 1});
    let map = ActionMap::default();
    let back =
        map.of("cline").write_back("run_commands", &arguments, &ToolOrigin::Builtin, "/work", &shell("ls; true"));
    assert_eq!(back, Ok(json!({"commands": ["ls; true"], "keep": 1})));
}

#[test]
fn a_rewritten_path_of_an_editor_goes_back_whether_it_reads_or_writes() {
    let map = ActionMap::default();
    let actions = map.of("openhands");
    for (command, action) in [("view", Action::ReadFile("b".into())), ("create", writes("b"))] {
        let arguments = json!({"command": command, "path": "a"});
        let back = actions.write_back("file_editor", &arguments, &ToolOrigin::Builtin, "/work", &action);
        assert_eq!(back, Ok(json!({"command": command, "path": "b"})));
    }
}

#[test]
fn an_unknown_agent_is_read_strictly() {
    let known = [
        ("shell", "bash sh shell local_shell exec exec_command execute execute_command run_command run_shell_command"),
        ("shell", "run_terminal_cmd run_in_terminal terminal shell_exec command powershell pwsh cmd cmd_exe"),
        ("read-file", "read_file read view cat open_file view_file read_many_files"),
        ("read-file", "list_dir ls list_directory glob grep search_file_content"),
        (
            "write-files",
            "write_file write create_file edit_file edit multi_edit replace str_replace insert delete_file",
        ),
        ("write-files", "notebook_edit search_replace append_file apply_patch patch apply_diff"),
        ("fetch", "fetch web_fetch webfetch fetch_url read_url_content"),
        ("spawn-agent", "agent task spawn_agent subagent"),
        ("plan", "submit_plan"),
    ];
    for (expected, tools) in known {
        for tool in tools.split(' ') {
            // If the arguments have unknown names, the call still has a known kind.
            assert_eq!(action("my-agent", tool, &json!({})), other(expected), "{tool}");
        }
    }
}

#[test]
fn a_tool_is_of_one_kind_in_the_names_that_agents_share_and_in_the_agents_that_have_it() {
    let mut shared = super::Table::default();
    super::tables::common(&mut shared);
    for agent in AGENTS.iter().chain([&UNKNOWN]) {
        let mut own = super::Table::default();
        (agent.rows)(&mut own);
        for (tool, shape) in &own.rows {
            let Some(common) = shared.rows.get(tool) else { continue };
            assert_eq!(shape.kind(), common.kind(), "{}: {tool}", agent.name);
        }
    }
}
