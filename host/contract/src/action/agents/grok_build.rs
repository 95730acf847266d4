//! Grok Build. Source: xai-org/grok-build, hook documentation; a live payload of 0.2.106.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["run_terminal_command", "run_terminal_cmd", "monitor"], &["command"], &["cwd"]);
    table.reads(&["read_file", "view_image"], &["target_file", "file_path", "path"]);
    table.reads(&["list_dir", "grep"], &["target_directory", "path"]);
    table.writes(&["search_replace", "write", "write_file"], &["file_path", "path"]);
    table.fetches(&["web_fetch"], &["url"]);
    table.spawns(&["task", "Agent", "spawn_subagent"], &["prompt"]);
    table.other(&["exit_plan_mode"], "plan");
}
