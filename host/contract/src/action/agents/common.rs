//! Tool names that mean the same in every agent that has them, with all known spellings of their arguments.

use super::Table;
use crate::ShellDialect;
use crate::action::arguments::{ADDRESS, COMMAND, CWD, FILE};

/// Names of the argument with the input for a running command.
const TYPED: &[&str] = &["chars", "input"];
const DIRECTORY: &[&str] = &["path", "dir_path", "directory", "dir", "target_directory"];

pub(super) fn tools(table: &mut Table) {
    let command = &[COMMAND, &["run"]].concat();
    table.shell(&["bash", "sh", "shell", "local_shell", "shell_command", "shell_exec", "execute_bash"], command, CWD);
    table.shell(&["exec", "exec_command", "execute", "execute_command", "command", "terminal"], command, CWD);
    table.shell(&["run_command", "run_shell_command", "run_in_terminal"], command, CWD);
    table.shell(&["run_terminal_cmd", "run_terminal_command"], command, CWD);
    table.shell(&["write_stdin", "send_command_input", "write_bash", "write_to_terminal"], TYPED, &[]);
    table.shell_in(ShellDialect::Powershell, &["powershell", "pwsh"], command, CWD);
    table.shell_in(ShellDialect::Cmd, &["cmd", "cmd_exe"], command, CWD);
    table.reads(&["read_file", "read", "view", "cat", "open_file", "view_file", "read_many_files", "fs_read"], FILE);
    table.reads(&["list_dir", "ls", "list_directory", "glob", "grep", "search_file_content"], DIRECTORY);
    table.writes(&["write_file", "write", "write_to_file", "create_file", "append_file", "fs_write"], FILE);
    table.writes(&["edit_file", "edit", "multi_edit", "notebook_edit", "delete_file"], FILE);
    table.writes(&["replace", "replace_in_file", "str_replace", "search_replace", "insert"], FILE);
    table.edits(&["str_replace_editor", "str_replace_based_edit_tool", "text_editor"], FILE);
    table.patches(&["apply_patch", "patch", "apply_diff"], &["input", "patch", "diff", "patchText"]);
    table.fetches(&["fetch", "web_fetch", "webfetch", "fetch_url", "read_url_content"], ADDRESS);
    table.spawns(&["spawn_agent", "subagent"], &["prompt", "task", "message", "description"]);
}
