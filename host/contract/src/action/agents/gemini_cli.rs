//! Gemini CLI. Source: google-gemini/gemini-cli, `packages/core/src/tools/definitions/`; payloads recorded with 0.61.0.

use super::Table;

pub(super) fn tools(table: &mut Table) {
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
