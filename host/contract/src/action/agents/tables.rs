//! The tools of each agent and the names of their arguments: one function per agent, in alphabetical order.

use super::Table;
use crate::ShellDialect;
use crate::action::arguments::{ADDRESS, COMMAND, CWD, FILE};

/// Names of the argument that contains input for a running command.
const TYPED: &[&str] = &["chars", "input"];
const DIRECTORY: &[&str] = &["path", "dir_path", "directory", "dir", "target_directory"];

/// The proxy between an editor and an agent. The tools are the kinds of tool call in the Agent Client Protocol, and
/// the requests that the agent sends to its editor. Source: agentclientprotocol/agent-client-protocol, `schema/v1`;
/// `hookhost-agents` determines the arguments of the kinds.
pub(super) fn acp_proxy(table: &mut Table) {
    table.shell(&["execute", "terminal/create"], &["command"], &["cwd"]);
    table.reads(&["read", "search", "fs/read_text_file"], &["path"]);
    table.writes(&["edit", "delete", "move", "fs/write_text_file"], &["path"]);
    table.fetches(&["fetch"], &["url"]);
}

/// Amp. Source: the vendor's manual of permissions and plugins; no payload was recorded.
pub(super) fn amp(table: &mut Table) {
    table.shell(&["Bash", "shell_command"], &["cmd", "command"], &["cwd", "workdir"]);
    table.reads(&["Read", "Grep", "glob", "list_directory"], &["path"]);
    table.writes(&["create_file", "edit_file", "undo_edit"], &["path"]);
    table.patches(&["apply_patch"], &["patchText", "input"]);
    table.fetches(&["read_web_page"], &["url"]);
    table.spawns(&["Task"], &["prompt"]);
    table.spawns(&["oracle"], &["task"]);
}

/// Antigravity (`agy`). Source: a live payload of 1.1.2, in which the argument is `command`. In the calls of the
/// model, the argument names are in camel case.
pub(super) fn antigravity(table: &mut Table) {
    table.shell(&["run_command"], &["CommandLine", "command"], &["Cwd", "cwd"]);
    // This tool sends input to a running command.
    table.shell(&["send_command_input"], &["Input"], &[]);
    table.reads(&["view_file", "view_file_outline"], &["AbsolutePath"]);
    table.reads(&["list_dir"], &["DirectoryPath"]);
    table.reads(&["grep_search"], &["SearchPath"]);
    table.reads(&["find_by_name"], &["SearchDirectory"]);
    table.writes(&["write_to_file", "replace_file_content", "multi_replace_file_content", "sed_file"], &["TargetFile"]);
    table.fetches(&["read_url_content"], &["Url"]);
    table.spawns(&["browser_subagent"], &["Task"]);
    table.calls_mcp(&["call_mcp_tool"], &["ServerName"], &["ToolName"]);
}

/// Claude Code. Source: the vendor's hooks reference and tools reference, 2.1.236; payloads recorded with 2.1.330.
pub(super) fn claude_code(table: &mut Table) {
    // `Monitor` runs its command in the background and reports its output.
    table.shell(&["Bash", "Monitor"], &["command"], &[]);
    table.shell_in(ShellDialect::Powershell, &["PowerShell"], &["command"], &[]);
    table.reads(&["Read"], &["file_path"]);
    table.reads(&["NotebookRead"], &["notebook_path"]);
    table.reads(&["Glob", "Grep", "LS"], &["path"]);
    table.writes(&["Write", "Edit", "MultiEdit"], &["file_path"]);
    table.writes(&["NotebookEdit"], &["notebook_path"]);
    table.fetches(&["WebFetch"], &["url"]);
    // `Agent` was `Task` before 2.1.63. Its `description` is a title for the user.
    table.spawns(&["Task", "Agent"], &["prompt"]);
    table.other(&["ExitPlanMode"], "plan");
}

/// Cline. Source: cline/cline, `src/shared/tools.ts` of the extension and `sdk/packages/core/src/extensions/tools/schemas.ts` of the
/// command-line agent; payloads recorded with CLI 3.0.65.
pub(super) fn cline(table: &mut Table) {
    table.shell(&["execute_command"], &["command"], &[]);
    table.commands(&["run_commands"], &["commands"], &[]);
    table.reads(&["read_file", "list_files", "search_files", "list_code_definition_names"], &["path"]);
    table.writes(&["write_to_file", "replace_in_file", "editor"], &["path"]);
    table.patches(&["apply_patch"], &["input"]);
    // These tools take several files, queries or pages, so only their kind is known.
    table.reads(&["read_files", "search_codebase"], &["path"]);
    table.fetches(&["fetch_web_content"], &["url"]);
    table.fetches(&["web_fetch", "browser_action"], &["url"]);
    table.spawns(&["spawn_agent"], &["task"]);
    table.spawns(&["new_task"], &["context"]);
    table.calls_mcp(&["use_mcp_tool"], &["server_name"], &["tool_name"]);
    table.other(&["plan_mode_respond"], "plan");
}

/// OpenAI Codex. Source: the vendor's hooks page of 0.15x; payloads recorded with 0.169.0.
pub(super) fn codex(table: &mut Table) {
    // Hooks get `Bash` as the name of the shell and of unified exec; the model uses the other names.
    table.shell(&["Bash", "shell", "local_shell", "shell_command", "container.exec"], &["command"], &["workdir"]);
    table.shell(&["exec_command"], &["cmd"], &["workdir"]);
    // This tool sends input to a session of `exec_command`.
    table.shell(&["write_stdin"], &["chars"], &[]);
    // Hooks get the patch as the argument `command`.
    table.patches(&["apply_patch"], &["command", "input", "patch"]);
    table.reads(&["read_file"], &["file_path"]);
    table.reads(&["list_dir"], &["dir_path"]);
    table.reads(&["grep_files", "view_image"], &["path"]);
    table.spawns(&["spawn_agent"], &["message"]);
    table.other(&["update_plan"], "plan");
}

/// Tool names that mean the same in every agent that has them, with all known spellings of their arguments.
pub(super) fn common(table: &mut Table) {
    let command = &[COMMAND, &["run"]].concat();
    table.shell(&["bash", "sh", "shell", "local_shell", "shell_command", "shell_exec", "execute_bash"], command, CWD);
    table.shell(&["exec", "exec_command", "execute", "execute_command", "command", "terminal"], command, CWD);
    table.shell(&["run_command", "run_shell_command", "run_in_terminal"], command, CWD);
    table.shell(&["run_terminal_cmd", "run_terminal_command"], command, CWD);
    table.shell(&["write_stdin", "send_command_input", "write_bash", "write_to_terminal"], TYPED, &[]);
    table.shell_in(ShellDialect::Powershell, &["powershell", "pwsh"], command, CWD);
    table.shell_in(ShellDialect::Cmd, &["cmd", "cmd_exe"], command, CWD);
    table.reads(&["read_file", "read", "view", "cat", "open_file", "view_file", "read_many_files", "fs_read"], FILE);
    table.reads(&["list_dir", "ls", "list_directory", "glob", "grep", "search_file_content"], DIRECTORY);
    table.writes(&["write_file", "write", "write_to_file", "create_file", "append_file", "fs_write"], FILE);
    table.writes(&["edit_file", "edit", "multi_edit", "notebook_edit", "delete_file"], FILE);
    table.writes(&["replace", "replace_in_file", "str_replace", "search_replace", "insert"], FILE);
    table.edits(&["str_replace_editor", "str_replace_based_edit_tool", "text_editor"], FILE);
    table.patches(&["apply_patch", "patch", "apply_diff"], &["input", "patch", "diff", "patchText"]);
    table.fetches(&["fetch", "web_fetch", "webfetch", "fetch_url", "read_url_content"], ADDRESS);
    table.spawns(&["spawn_agent", "subagent"], &["prompt", "task", "message", "description"]);
}

/// GitHub Copilot CLI. Source: the vendor's hooks reference; payloads recorded with 1.0.102. If the hooks file has hook
/// points in Pascal case, some tools have Claude Code's names, but their arguments are unchanged: `bash` becomes
/// `Bash`, `view` becomes `Read`, `create` becomes `Write`, and `task` becomes `Agent`. The name `Edit` then means
/// `edit` or `apply_patch`.
pub(super) fn copilot_cli(table: &mut Table) {
    table.shell(&["bash"], &["command"], &[]);
    table.shell_in(ShellDialect::Powershell, &["powershell"], &["command"], &[]);
    // These tools send input to a session of `bash` or `powershell`.
    table.shell(&["write_bash"], &["input"], &[]);
    table.shell_in(ShellDialect::Powershell, &["write_powershell"], &["input"], &[]);
    table.reads(&["view", "glob", "grep", "rg"], &["path"]);
    table.writes(&["create", "edit"], &["path"]);
    table.patches(&["apply_patch"], &["input", "patch"]);
    table.fetches(&["web_fetch"], &["url"]);
    table.spawns(&["task", "Agent"], &["prompt"]);
    table.other(&["exit_plan_mode"], "plan");
}

/// Crush. Source: charmbracelet/crush, `internal/agent/tools/`.
pub(super) fn crush(table: &mut Table) {
    table.shell(&["bash"], &["command"], &["working_dir"]);
    table.reads(&["view"], &["file_path"]);
    table.reads(&["ls", "glob", "grep"], &["path"]);
    table.writes(&["write", "edit", "multiedit"], &["file_path"]);
    // This tool fetches a URL and writes the content to a file.
    table.writes(&["download"], &["file_path"]);
    table.fetches(&["fetch", "web_fetch", "agentic_fetch"], &["url"]);
    table.spawns(&["agent"], &["prompt"]);
    // `mcp_server_tool`: both parts can contain `_`, so the name does not show where the server's name ends.
    table.mcp_names("mcp_", None);
}

/// Cursor. Source: the vendor's hooks reference of 3.18. Some hooks handle only one kind of call, and their messages
/// do not name a tool. For these hooks, the adapter uses the names `Shell` (for `beforeShellExecution`) and `Read`
/// (for `beforeReadFile`).
pub(super) fn cursor(table: &mut Table) {
    table.shell(&["Shell"], &["command"], &["working_directory", "cwd"]);
    table.reads(&["Read", "TabRead"], &["file_path", "path"]);
    table.reads(&["Grep", "Glob", "LS"], &["path", "target_directory"]);
    table.writes(&["Write", "StrReplace", "Delete", "TabWrite"], &["file_path", "path"]);
    table.fetches(&["WebFetch"], &["url"]);
    table.spawns(&["Task"], &["prompt", "task"]);
    // The name does not contain the name of the server.
    table.mcp_names("MCP:", None);
}

/// Factory Droid. Source: the vendor's hooks reference.
pub(super) fn droid(table: &mut Table) {
    table.shell(&["Execute"], &["command"], &[]);
    table.reads(&["Read"], &["file_path"]);
    table.reads(&["LS"], &["directory_path"]);
    table.reads(&["Grep"], &["path"]);
    table.reads(&["Glob"], &["folder"]);
    table.writes(&["Create", "Edit", "MultiEdit"], &["file_path"]);
    table.patches(&["ApplyPatch"], &["input"]);
    table.fetches(&["FetchUrl"], &["url"]);
    table.spawns(&["Task"], &["prompt"]);
    table.other(&["ExitSpecMode"], "plan");
}

/// Gemini CLI. Source: google-gemini/gemini-cli, `packages/core/src/tools/definitions/`; payloads recorded with 0.61.0.
pub(super) fn gemini_cli(table: &mut Table) {
    table.shell(&["run_shell_command"], &["command"], &["dir_path", "directory"]);
    table.reads(&["read_file"], &["file_path", "absolute_path"]);
    table.reads(&["read_many_files"], &["include"]);
    table.reads(&["list_directory", "glob", "grep_search", "search_file_content"], &["dir_path", "path"]);
    table.writes(&["write_file", "replace"], &["file_path"]);
    // In most versions, the URL is part of the text `prompt`, and cannot be distinguished from other words.
    table.fetches(&["web_fetch"], &["url"]);
    // `mcp_server_tool`: both parts can contain `_`, so the name does not show where the server's name ends.
    table.mcp_names("mcp_", None);
}

/// goose. Source: aaif-goose/goose, `crates/goose/src/agents/platform_extensions/`, and its hooks guide. A hook gets
/// names such as `extension__tool`. The built-in extensions of goose are listed here; all other extensions are MCP
/// servers.
pub(super) fn goose(table: &mut Table) {
    table.shell(&["shell", "developer__shell"], &["command"], &[]);
    table.reads(&["tree", "developer__tree"], &["path"]);
    table.writes(&["write", "developer__write", "edit", "developer__edit"], &["path"]);
    table.edits(&["text_editor", "developer__text_editor"], &["path"]);
    table.fetches(&["web_fetch", "developer__web_fetch"], &["url"]);
    table.spawns(&["delegate", "summon__delegate"], &["instructions"]);
    table.mcp_names("", Some("__"));
}

/// Grok Build. Source: xai-org/grok-build, hook documentation; a live payload of 0.2.106.
pub(super) fn grok_build(table: &mut Table) {
    table.shell(&["run_terminal_command", "run_terminal_cmd", "monitor"], &["command"], &["cwd"]);
    table.reads(&["read_file", "view_image"], &["target_file", "file_path", "path"]);
    table.reads(&["list_dir", "grep"], &["target_directory", "path"]);
    table.writes(&["search_replace", "write", "write_file"], &["file_path", "path"]);
    table.fetches(&["web_fetch"], &["url"]);
    table.spawns(&["task", "Agent", "spawn_subagent"], &["prompt"]);
    table.other(&["exit_plan_mode"], "plan");
}

/// hookhost's own agent. Source: `host/agent/src/tool/`, `host/agent/src/agent/{subagent,submit_plan}.rs`.
pub(super) fn hookhost(table: &mut Table) {
    table.shell(&["bash"], &["command"], &[]);
    table.reads(&["read_file", "list_dir"], &["path"]);
    table.writes(&["write_file", "edit_file"], &["path"]);
    table.spawns(&["agent"], &["prompt"]);
    table.other(&["submit_plan"], "plan");
}

/// Kiro. Source: the vendor's CLI hooks page (2.x) and its list of built-in tools.
pub(super) fn kiro(table: &mut Table) {
    table.shell(&["execute_bash", "shell", "execute_cmd"], &["command"], &["working_dir"]);
    // A call that reads several files has their paths in `operations`.
    table.reads(&["fs_read", "read", "glob", "grep"], &["path"]);
    // `command` is the kind of write: `create`, `str_replace`, `insert`, `append`.
    table.writes(&["fs_write", "write"], &["path"]);
    table.fetches(&["web_fetch"], &["url"]);
    table.spawns(&["delegate"], &["task"]);
    // The tool of an MCP server has the name `@server/tool`.
    table.mcp_names("@", Some("/"));
}

/// OpenCode. Source: anomalyco/opencode, `packages/opencode/src/tool/`; payloads recorded with 1.18.33.
pub(super) fn opencode(table: &mut Table) {
    table.shell(&["bash"], &["command"], &["workdir"]);
    table.reads(&["read"], &["filePath"]);
    table.reads(&["list", "glob", "grep"], &["path"]);
    table.writes(&["write", "edit", "multiedit"], &["filePath"]);
    table.patches(&["patch", "apply_patch"], &["patchText"]);
    table.fetches(&["webfetch"], &["url"]);
    table.spawns(&["task"], &["prompt"]);
}

/// OpenHands. Source: the vendor's hooks page; tool names of OpenHands 0 and of its agent SDK.
pub(super) fn openhands(table: &mut Table) {
    table.shell(&["terminal", "execute_bash"], &["command"], &[]);
    table.edits(&["file_editor", "str_replace_editor", "planning_file_editor"], &["path"]);
    table.reads(&["glob", "grep"], &["path"]);
    table.reads(&["read_file"], &["file_path"]);
    table.reads(&["list_directory"], &["dir_path"]);
    table.writes(&["write_file", "edit"], &["file_path"]);
    table.patches(&["apply_patch"], &["patch"]);
    table.spawns(&["task"], &["prompt"]);
    // The argument `command` is `view` or `plan`.
    table.other(&["task_tracker"], "plan");
}

/// pi. Source: earendil-works/pi, the page `extensions.md` of its package `coding-agent`; payloads recorded with 0.87.1.
pub(super) fn pi(table: &mut Table) {
    table.shell(&["bash"], &["command"], &[]);
    table.reads(&["read", "grep", "find", "ls"], &["path"]);
    table.writes(&["write", "edit"], &["path"]);
}

/// Qwen Code. Source: QwenLM/qwen-code, `packages/core/src/tools/tool-names.ts`; payloads recorded with 0.24.4.
pub(super) fn qwen_code(table: &mut Table) {
    table.shell(&["run_shell_command"], &["command"], &["directory"]);
    table.reads(&["read_file"], &["file_path", "absolute_path"]);
    table.reads(&["list_directory", "glob", "grep_search", "search_file_content"], &["path"]);
    table.writes(&["write_file", "edit", "replace"], &["file_path"]);
    table.writes(&["notebook_edit"], &["notebook_path"]);
    table.fetches(&["web_fetch"], &["url"]);
    // `agent` had the name `task` in earlier versions. `task_create` and similar tools edit a to-do list.
    table.spawns(&["agent", "task"], &["prompt"]);
    table.other(&["exit_plan_mode"], "plan");
}

/// Names with different meanings in different agents. For an unknown agent, each name has its strictest meaning.
pub(super) fn unknown(table: &mut Table) {
    table.spawns(&["agent", "task"], &["prompt", "task", "message", "description"]);
    table.other(&["submit_plan"], "plan");
}

/// Windsurf. Source: the vendor's Cascade hooks page. Its hooks report a kind of call instead of a tool, so the
/// adapter uses the name of the hook without `pre_` and `post_`. The model uses the names in camel case.
pub(super) fn windsurf(table: &mut Table) {
    table.shell(&["run_command"], &["command_line", "CommandLine"], &["cwd", "Cwd"]);
    table.reads(&["read_code"], &["file_path"]);
    table.writes(&["write_code"], &["file_path"]);
    table.calls_mcp(&["mcp_tool_use"], &["mcp_server_name"], &["mcp_tool_name"]);
}
