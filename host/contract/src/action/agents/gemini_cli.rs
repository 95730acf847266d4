//! Gemini CLI. Source: google-gemini/gemini-cli, `packages/core/src/tools/definitions/`; payloads recorded with 0.61.0.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["run_shell_command"], &["command"], &["dir_path", "directory"]);
    table.reads(&["read_file"], &["file_path", "absolute_path"]);
    table.reads(&["read_many_files"], &["include"]);
    table.reads(&["list_directory", "glob", "grep_search", "search_file_content"], &["dir_path", "path"]);
    table.writes(&["write_file", "replace"], &["file_path"]);
    // Most versions name the URL within the text `prompt`, where it cannot be told from other words.
    table.fetches(&["web_fetch"], &["url"]);
    // `mcp_server_tool`: both parts can hold `_`, so the name does not tell where one ends.
    table.mcp_names("mcp_", None);
}
