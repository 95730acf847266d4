//! GitHub Copilot CLI. Source: the vendor's hooks reference; payloads recorded with 1.0.102. If the hooks file has hook
//! points in Pascal case, some tools have Claude Code's names, with unchanged arguments: `bash` is `Bash`, `view` is
//! `Read`, `create` is `Write`, `task` is `Agent`. `Edit` is `edit` or `apply_patch`.

use super::Table;
use crate::ShellDialect;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["bash"], &["command"], &[]);
    table.shell_in(ShellDialect::Powershell, &["powershell"], &["command"], &[]);
    // Input for a session of `bash` or `powershell`.
    table.shell(&["write_bash"], &["input"], &[]);
    table.shell_in(ShellDialect::Powershell, &["write_powershell"], &["input"], &[]);
    table.reads(&["view", "glob", "grep", "rg"], &["path"]);
    table.writes(&["create", "edit"], &["path"]);
    table.patches(&["apply_patch"], &["input", "patch"]);
    table.fetches(&["web_fetch"], &["url"]);
    table.spawns(&["task", "Agent"], &["prompt"]);
    table.other(&["exit_plan_mode"], "plan");
}
