//! Crush. Source: charmbracelet/crush, `internal/agent/tools/`.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["bash"], &["command"], &["working_dir"]);
    table.reads(&["view"], &["file_path"]);
    table.reads(&["ls", "glob", "grep"], &["path"]);
    table.writes(&["write", "edit", "multiedit"], &["file_path"]);
    // It also fetches, and it leaves the file behind.
    table.writes(&["download"], &["file_path"]);
    table.fetches(&["fetch", "web_fetch", "agentic_fetch"], &["url"]);
    table.spawns(&["agent"], &["prompt"]);
    // `mcp_server_tool`: both parts can contain `_`, so the name does not show where the server's name ends.
    table.mcp_names("mcp_", None);
}
