//! Amp. Source: the vendor's manual of permissions and plugins; no payload was recorded.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["Bash", "shell_command"], &["cmd", "command"], &["cwd", "workdir"]);
    table.reads(&["Read", "Grep", "glob", "list_directory"], &["path"]);
    table.writes(&["create_file", "edit_file", "undo_edit"], &["path"]);
    table.patches(&["apply_patch"], &["patchText", "input"]);
    table.fetches(&["read_web_page"], &["url"]);
    table.spawns(&["Task"], &["prompt"]);
    table.spawns(&["oracle"], &["task"]);
}
