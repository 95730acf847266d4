//! Kiro. Source: the vendor's CLI hooks page (2.x) and its list of built-in tools.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["execute_bash", "shell", "execute_cmd"], &["command"], &["working_dir"]);
    // A call that reads several files has them in `operations`.
    table.reads(&["fs_read", "read", "glob", "grep"], &["path"]);
    // `command` is the kind of write: `create`, `str_replace`, `insert`, `append`.
    table.writes(&["fs_write", "write"], &["path"]);
    table.fetches(&["web_fetch"], &["url"]);
    table.spawns(&["delegate"], &["task"]);
    // A server's tool is `@server/tool`.
    table.mcp_names("@", Some("/"));
}
