//! Qwen Code. Source: QwenLM/qwen-code, `packages/core/src/tools/tool-names.ts`; payloads recorded with 0.24.4.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["run_shell_command"], &["command"], &["directory"]);
    table.reads(&["read_file"], &["file_path", "absolute_path"]);
    table.reads(&["list_directory", "glob", "grep_search", "search_file_content"], &["path"]);
    table.writes(&["write_file", "edit", "replace"], &["file_path"]);
    table.writes(&["notebook_edit"], &["notebook_path"]);
    table.fetches(&["web_fetch"], &["url"]);
    // `agent` was `task` before. `task_create` and similar tools edit a to-do list.
    table.spawns(&["agent", "task"], &["prompt"]);
    table.other(&["exit_plan_mode"], "plan");
}
