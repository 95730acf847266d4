//! Crush. Source: charmbracelet/crush, `internal/agent/tools/`.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["bash"], &["command"], &["working_dir"]);
    table.reads(&["view"], &["file_path"]);
    table.reads(&["ls", "glob", "grep"], &["path"]);
    table.writes(&["write", "edit", "multiedit"], &["file_path"]);
    // It fetches, too; what it leaves behind is the file.
    table.writes(&["download"], &["file_path"]);
    table.fetches(&["fetch", "web_fetch", "agentic_fetch"], &["url"]);
    table.spawns(&["agent"], &["prompt"]);
    // `mcp_server_tool`: both parts can hold `_`, so the name does not tell where one ends.
    table.mcp_names("mcp_", None);
}
