//! Factory Droid. Source: the vendor's hooks reference.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["Execute"], &["command"], &[]);
    table.reads(&["Read"], &["file_path"]);
    table.reads(&["LS"], &["directory_path"]);
    table.reads(&["Grep"], &["path"]);
    table.reads(&["Glob"], &["folder"]);
    table.writes(&["Create", "Edit", "MultiEdit"], &["file_path"]);
    table.patches(&["ApplyPatch"], &["input"]);
    table.fetches(&["FetchUrl"], &["url"]);
    table.spawns(&["Task"], &["prompt"]);
    table.other(&["ExitSpecMode"], "plan");
}
