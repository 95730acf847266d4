//! pi. Source: earendil-works/pi, the page `extensions.md` of its package `coding-agent`; payloads recorded with 0.87.1.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["bash"], &["command"], &[]);
    table.reads(&["read", "grep", "find", "ls"], &["path"]);
    table.writes(&["write", "edit"], &["path"]);
}
