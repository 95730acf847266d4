//! Names that mean the same in every agent that has them, with every spelling of their arguments that is in use.

use super::Table;
use crate::ShellDialect;

const COMMAND: &[&str] = &["command", "cmd", "script", "run", "command_line"];
const CWD: &[&str] = &["cwd", "workdir", "working_directory", "directory", "dir_path"];
const FILE: &[&str] =
    &["path", "file_path", "filePath", "filename", "file", "target_file", "absolute_path", "notebook_path"];
const DIRECTORY: &[&str] = &["path", "dir_path", "directory", "dir", "target_directory"];

pub(super) fn tools(table: &mut Table) {
    table.shell(&["bash", "sh", "shell", "local_shell", "shell_command", "shell_exec", "execute_bash"], COMMAND, CWD);
    table.shell(&["exec", "exec_command", "execute", "execute_command", "command", "terminal"], COMMAND, CWD);
    table.shell(&["run_command", "run_shell_command", "run_in_terminal"], COMMAND, CWD);
    table.shell(&["run_terminal_cmd", "run_terminal_command"], COMMAND, CWD);
    table.shell_in(ShellDialect::Powershell, &["powershell", "pwsh"], COMMAND, CWD);
    table.shell_in(ShellDialect::Cmd, &["cmd", "cmd_exe"], COMMAND, CWD);
    table.reads(&["read_file", "read", "view", "cat", "open_file", "view_file", "read_many_files", "fs_read"], FILE);
    table.reads(&["list_dir", "ls", "list_directory", "glob", "grep", "search_file_content"], DIRECTORY);
    table.writes(&["write_file", "write", "write_to_file", "create_file", "append_file", "fs_write"], FILE);
    table.writes(&["edit_file", "edit", "multi_edit", "notebook_edit", "delete_file"], FILE);
    table.writes(&["replace", "replace_in_file", "str_replace", "search_replace", "insert"], FILE);
    table.edits(&["str_replace_editor", "str_replace_based_edit_tool", "text_editor"], FILE);
    table.patches(&["apply_patch", "patch", "apply_diff"], &["input", "patch", "diff", "patchText"]);
    table.fetches(&["fetch", "web_fetch", "webfetch", "fetch_url", "read_url_content"], &["url", "uri"]);
    table.spawns(&["spawn_agent", "subagent"], &["prompt", "task", "message", "description"]);
}
