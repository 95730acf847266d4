//! pi. Source: earendil-works/pi, `packages/coding-agent/docs/extensions.md`; payloads recorded with 0.87.1.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["bash"], &["command"], &[]);
    table.reads(&["read", "grep", "find", "ls"], &["path"]);
    table.writes(&["write", "edit"], &["path"]);
}
