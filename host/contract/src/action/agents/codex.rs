//! OpenAI Codex. Source: the vendor's hooks page of 0.15x; payloads recorded with 0.169.0.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    // Hooks get `Bash` as the name of the shell and of unified exec; the model uses the other names.
    table.shell(&["Bash", "shell", "local_shell", "shell_command", "container.exec"], &["command"], &["workdir"]);
    table.shell(&["exec_command"], &["cmd"], &["workdir"]);
    // Input for a session of `exec_command`.
    table.shell(&["write_stdin"], &["chars"], &[]);
    // Hooks get the patch as the argument `command`.
    table.patches(&["apply_patch"], &["command", "input", "patch"]);
    table.reads(&["read_file"], &["file_path"]);
    table.reads(&["list_dir"], &["dir_path"]);
    table.reads(&["grep_files", "view_image"], &["path"]);
    table.spawns(&["spawn_agent"], &["message"]);
    table.other(&["update_plan"], "plan");
}
