//! Antigravity (`agy`). Source: a live payload of 1.1.2, which has `command`; the model's own calls have the names in
//! camel case.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["run_command"], &["CommandLine", "command"], &["Cwd", "cwd"]);
    // Input for a running command.
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
