//! Cursor. Source: the vendor's hooks reference of 3.18. Events about one kind of call name no tool: the adapter uses
//! `Shell` for `beforeShellExecution`, and `Read` for `beforeReadFile`.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["Shell"], &["command"], &["working_directory", "cwd"]);
    table.reads(&["Read", "TabRead"], &["file_path", "path"]);
    table.reads(&["Grep", "Glob", "LS"], &["path", "target_directory"]);
    table.writes(&["Write", "StrReplace", "Delete", "TabWrite"], &["file_path", "path"]);
    table.fetches(&["WebFetch"], &["url"]);
    table.spawns(&["Task"], &["prompt", "task"]);
    // The name does not contain the server.
    table.mcp_names("MCP:", None);
}
