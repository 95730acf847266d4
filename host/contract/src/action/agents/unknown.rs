//! Names that mean different things from agent to agent, for agents that are not known: each is what it is at worst.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.spawns(&["agent", "task"], &["prompt", "task", "message", "description"]);
    table.other(&["submit_plan"], "plan");
}
