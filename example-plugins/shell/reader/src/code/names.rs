//! Classifies calls in code by their names.

use super::tokens::Token;

/// Returns true for calls that run a command. The arguments are the command as one string, or a program and its words.
pub(super) fn runs_command(name: &str) -> bool {
    matches!(
        name,
        "system"
            | "popen"
            | "popen2"
            | "popen3"
            | "getoutput"
            | "getstatusoutput"
            | "run"
            | "call"
            | "check_call"
            | "check_output"
            | "Popen"
            | "exec"
            | "execSync"
            | "execFile"
            | "execFileSync"
            | "spawn"
            | "spawnSync"
            | "execl"
            | "execlp"
            | "execle"
            | "execv"
            | "execvp"
            | "execve"
            | "spawnl"
            | "spawnlp"
            | "spawnv"
            | "spawnvp"
            | "posix_spawn"
            | "posix_spawnp"
            | "shell_exec"
            | "passthru"
            | "proc_open"
            | "pcntl_exec"
            | "capture2"
            | "capture2e"
            | "capture3"
            | "create_subprocess_shell"
            | "create_subprocess_exec"
            | "system2"
            | "system*"
            | "esyscmd"
            | "call-process"
            | "start-process"
            | "process-file"
            | "shell-command"
            | "run-program"
            | "shell"
            | "sh"
            | "cmd"
            | "command"
    )
}

/// Returns true for calls of libraries that run a command. The full name is compared, because the short names are common.
pub(super) fn runs_by_library(name: &str) -> bool {
    matches!(name, "os.execute" | "System.cmd" | "System.shell" | "Deno.Command" | "shell.exec" | "script")
}

/// Returns true for calls whose result cannot be read from the text.
pub(super) fn decodes(name: &str) -> bool {
    matches!(
        name,
        "b64decode"
            | "b32decode"
            | "b16decode"
            | "b85decode"
            | "a85decode"
            | "urlsafe_b64decode"
            | "standard_b64decode"
            | "unhexlify"
            | "fromhex"
            | "decompress"
            | "decode64"
            | "decode_base64"
            | "urlsafe_decode64"
            | "strict_decode64"
            | "base64_decode"
            | "gzinflate"
            | "gzuncompress"
            | "gzdecode"
            | "str_rot13"
            | "hex2bin"
            | "atob"
            | "fromCharCode"
            | "pack"
            | "chr"
            | "urlopen"
            | "file_get_contents"
            | "decrypt"
            | "unquote"
    )
}

/// Returns true for calls that return a path or a text unchanged.
pub(super) fn passes_on(name: &str) -> bool {
    matches!(
        name,
        "Path"
            | "PurePath"
            | "PosixPath"
            | "expanduser"
            | "abspath"
            | "realpath"
            | "resolve"
            | "normpath"
            | "str"
            | "String"
            | "glob"
            | "iglob"
            | "rglob"
            | "walk"
            | "scandir"
            | "iterdir"
            | "sorted"
            | "reversed"
            | "list"
            | "encode"
            | "quote"
            | "split"
            | "bytes"
            | "File"
            | "Pathname"
            | "expand_path"
            | "URL"
    )
}

/// Returns true for calls that remove a directory with its content.
pub(super) fn removes_all(name: &str) -> bool {
    matches!(
        name,
        "rmtree"
            | "remove_tree"
            | "rm_rf"
            | "rm_r"
            | "remove_entry"
            | "remove_entry_secure"
            | "remove_dir"
            | "rimraf"
            | "removeSync"
            | "emptyDirSync"
            | "deleteDir"
            | "deleteRecursively"
            | "removeDirectoryRecursive"
            | "delete-directory"
            | "delete-directory/files"
            | "delete-tree"
    )
}

pub(super) fn removes_file(name: &str) -> bool {
    matches!(
        name,
        "unlink"
            | "unlinkSync"
            | "os.remove"
            | "os.rmdir"
            | "os.removedirs"
            | "os.unlink"
            | "rmdir"
            | "rmdirSync"
            | "rmSync"
            | "fs.rm"
            | "promises.rm"
            | "FileUtils.rm"
            | "File.rm"
            | "file.remove"
            | "delete-file"
            | "removeFile"
            | "File.delete"
            | "File.unlink"
            | "Dir.rmdir"
            | "Dir.delete"
            | "Deno.remove"
            | "Deno.removeSync"
    )
}

/// Returns true for calls that write the file that their first argument names.
pub(super) fn writes_file(name: &str) -> bool {
    matches!(
        name,
        "writeFileSync"
            | "writeFile"
            | "appendFileSync"
            | "appendFile"
            | "createWriteStream"
            | "file_put_contents"
            | "File.write"
            | "IO.write"
            | "Deno.writeTextFile"
            | "Deno.writeTextFileSync"
            | "Deno.writeFile"
            | "Bun.write"
    )
}

/// Returns true for calls that read a file. The first argument names the file or, in a method of a path, the path itself does.
pub(super) fn reads_file(name: &str) -> bool {
    matches!(
        name,
        "readFileSync"
            | "readFile"
            | "createReadStream"
            | "file_get_contents"
            | "readfile"
            | "readTextFile"
            | "readTextFileSync"
            | "Bun.file"
            | "File.read"
            | "File.readlines"
            | "IO.read"
            | "IO.readlines"
            | "read_file"
            | "readLines"
            | "io.lines"
            | "slurp"
    )
}

/// Returns true for calls that take another function by its name.
pub(super) fn hands_over(call: &str) -> bool {
    matches!(
        call,
        "map"
            | "filter"
            | "send"
            | "public_send"
            | "__send__"
            | "array_map"
            | "array_walk"
            | "array_filter"
            | "call_user_func"
            | "call_user_func_array"
            | "apply"
            | "for-each"
            | "mapc"
            | "mapcar"
            | "starmap"
    )
}

/// Returns true if a call of this name may be dangerous, whatever its receiver is.
pub(super) fn is_dangerous(name: &str) -> bool {
    let call = last(name);
    let is_common = matches!(call, "run" | "call" | "sh" | "cmd" | "command" | "shell");
    (runs_command(call) && !is_common)
        || removes_all(call)
        || removes_file(call)
        || removes_file(name)
        || runs_by_library(name)
}

/// Parts of names in code that send something to another machine.
pub(super) const SENDING: [&str; 17] = [
    "requests.",
    "urlopen",
    "urlretrieve",
    "fetch",
    "axios",
    "httpx",
    "http.request",
    "https.request",
    "http.client",
    "socket",
    "Socket",
    "Net::HTTP",
    "LWP",
    "curl_",
    "smtplib",
    "net.connect",
    "stream_context",
];

/// Returns true for calls that print their arguments.
pub(super) fn prints(name: &str) -> bool {
    matches!(
        last(name),
        "print"
            | "println"
            | "puts"
            | "p"
            | "pp"
            | "pprint"
            | "echo"
            | "log"
            | "error"
            | "write"
            | "readfile"
            | "var_dump"
            | "print_r"
            | "pipe"
            | "cat"
            | "display"
            | "princ"
    )
}

/// Returns a command that sends or prints a file, if the code sends or prints the content of the file.
pub(super) fn outlet(tokens: &[Token<'_>]) -> Option<&'static [&'static str]> {
    let names = || {
        tokens.iter().filter_map(|token| match token {
            Token::Name(name) => Some(*name),
            _ => None,
        })
    };
    let sends = |name: &str| {
        SENDING.iter().any(|part| name.contains(part))
            || matches!(last(name), "request" | "post" | "sendall" | "connect" | "upload_file" | "put_object")
    };
    if names().any(sends) {
        return Some(&["curl", "https://code.invalid", "-T"]);
    }
    if names().any(|name| prints(name) || name.ends_with("stdout")) { Some(&["cat"]) } else { None }
}

/// Returns the program that has the same effect as the call, which moves, copies or links a file.
pub(super) fn moves_or_copies(name: &str) -> Option<&'static str> {
    match name {
        "os.rename" | "os.replace" | "os.renames" | "shutil.move" | "fs.renameSync" | "fs.rename" | "FileUtils.mv"
        | "File.rename" => Some("mv"),
        "shutil.copy" | "shutil.copyfile" | "shutil.copy2" | "shutil.copytree" | "fs.copyFileSync" | "fs.copyFile"
        | "fs.cpSync" | "FileUtils.cp" | "FileUtils.cp_r" => Some("cp"),
        "os.symlink" | "fs.symlinkSync" => Some("ln"),
        name if name.ends_with("urlretrieve") => Some("wget2"),
        _ => None,
    }
}

/// Returns the last part of a name: `system` of `os.system`.
pub(super) fn last(name: &str) -> &str {
    name.rsplit(['.', ':', '>', '@']).next().unwrap_or(name)
}
