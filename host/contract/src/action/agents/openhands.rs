//! OpenHands. Source: the vendor's hooks page; tool names of OpenHands 0 and of its agent SDK.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["terminal", "execute_bash"], &["command"], &[]);
    table.edits(&["file_editor", "str_replace_editor", "planning_file_editor"], &["path"]);
    table.reads(&["glob", "grep"], &["path"]);
    table.reads(&["read_file"], &["file_path"]);
    table.reads(&["list_directory"], &["dir_path"]);
    table.writes(&["write_file", "edit"], &["file_path"]);
    table.patches(&["apply_patch"], &["patch"]);
    table.spawns(&["task"], &["prompt"]);
    // The argument `command` is `view` or `plan`.
    table.other(&["task_tracker"], "plan");
}
