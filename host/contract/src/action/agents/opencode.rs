//! OpenCode. Source: anomalyco/opencode, `packages/opencode/src/tool/`; payloads recorded with 1.18.33.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["bash"], &["command"], &["workdir"]);
    table.reads(&["read"], &["filePath"]);
    table.reads(&["list", "glob", "grep"], &["path"]);
    table.writes(&["write", "edit", "multiedit"], &["filePath"]);
    table.patches(&["patch", "apply_patch"], &["patchText"]);
    table.fetches(&["webfetch"], &["url"]);
    table.spawns(&["task"], &["prompt"]);
}
