//! hookhost's own agent. Source: `host/agent/src/tool/`, `host/agent/src/agent/{subagent,submit_plan}.rs`.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["bash"], &["command"], &[]);
    table.reads(&["read_file", "list_dir"], &["path"]);
    table.writes(&["write_file", "edit_file"], &["path"]);
    table.spawns(&["agent"], &["prompt"]);
    table.other(&["submit_plan"], "plan");
}
