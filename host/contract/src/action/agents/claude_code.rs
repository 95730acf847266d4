//! Claude Code. Source: the vendor's hooks reference and tools reference, 2.1.236; payloads recorded with 2.1.330.

use super::Table;
use crate::ShellDialect;

pub(super) fn tools(table: &mut Table) {
    // `Monitor` runs its command in the background and reports its output.
    table.shell(&["Bash", "Monitor"], &["command"], &[]);
    table.shell_in(ShellDialect::Powershell, &["PowerShell"], &["command"], &[]);
    table.reads(&["Read"], &["file_path"]);
    table.reads(&["NotebookRead"], &["notebook_path"]);
    table.reads(&["Glob", "Grep", "LS"], &["path"]);
    table.writes(&["Write", "Edit", "MultiEdit"], &["file_path"]);
    table.writes(&["NotebookEdit"], &["notebook_path"]);
    table.fetches(&["WebFetch"], &["url"]);
    // `Agent` was `Task` before 2.1.63. Its `description` is a title for the user.
    table.spawns(&["Task", "Agent"], &["prompt"]);
    table.other(&["ExitPlanMode"], "plan");
}
