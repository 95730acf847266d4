//! Names with different meanings in different agents, for unknown agents: each gets its strictest meaning.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.spawns(&["agent", "task"], &["prompt", "task", "message", "description"]);
    table.other(&["submit_plan"], "plan");
}
