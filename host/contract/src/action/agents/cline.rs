//! Cline. Source: cline/cline, `src/shared/tools.ts` of the extension and `sdk/packages/core/src/extensions/tools/schemas.ts` of the
//! command-line agent; payloads recorded with CLI 3.0.65.

use super::Table;

pub(super) fn tools(table: &mut Table) {
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
