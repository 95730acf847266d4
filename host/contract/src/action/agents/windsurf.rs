//! Windsurf. Source: the vendor's Cascade hooks page. Its hooks name a kind of call, not a tool: the adapter uses the
//! event's name without `pre_` and `post_`. The model uses the names in camel case.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["run_command"], &["command_line", "CommandLine"], &["cwd", "Cwd"]);
    table.reads(&["read_code"], &["file_path"]);
    table.writes(&["write_code"], &["file_path"]);
    table.calls_mcp(&["mcp_tool_use"], &["mcp_server_name"], &["mcp_tool_name"]);
}
