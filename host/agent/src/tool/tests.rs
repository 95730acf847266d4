//! Tests the tools on a real directory: what they do, that file tools cannot leave the workspace, and that commands
//! leave no processes behind.

use super::*;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

struct Fixture {
    /// The directory that contains the workspace, and a secret outside of the workspace.
    outer: TempDir,
    context: ToolContext,
    tools: Toolbox,
}

impl Fixture {
    fn new() -> Self {
        let outer = tempfile::tempdir().unwrap();
        fs::create_dir(outer.path().join("work")).unwrap();
        fs::write(outer.path().join("secret"), "outside").unwrap();
        let context = ToolContext::new(Workspace::open(&outer.path().join("work")).unwrap());
        Self { outer, context, tools: Toolbox::builtin().unwrap() }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.context.workspace.root().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.tools.check(tool, &arguments)?.call(arguments, &self.context).await
    }

    async fn error(&self, tool: &str, arguments: Value) -> String {
        self.call(tool, arguments).await.unwrap_err().to_string()
    }
}

/// Returns a call for each way to write, read and list `path`.
fn every_file_call(path: &str) -> [(&'static str, Value); 4] {
    [
        ("read_file", json!({ "path": path })),
        ("write_file", json!({ "path": path, "content": "overwritten" })),
        ("edit_file", json!({ "path": path, "old_text": "outside", "new_text": "overwritten" })),
        ("list_dir", json!({ "path": path })),
    ]
}

#[tokio::test]
async fn no_spelling_of_a_path_leads_file_tools_out_of_the_workspace() {
    let fixture = Fixture::new();
    let outer = fixture.outer.path();
    symlink(outer.join("secret"), fixture.path("absolute_link")).unwrap();
    symlink("../secret", fixture.path("relative_link")).unwrap();
    symlink("..", fixture.path("directory_link")).unwrap();
    fs::create_dir(fixture.path("sub")).unwrap();
    let absolute = outer.join("secret").display().to_string();
    let sibling = format!("{}-beside/secret", fixture.context.workspace.root().display());
    let dotted = format!("{}/../secret", fixture.context.workspace.root().display());
    for path in [
        "../secret",
        "sub/../../secret",
        "absolute_link",
        "relative_link",
        "directory_link/secret",
        "/etc/passwd",
        &absolute,
        &sibling,
        &dotted,
    ] {
        for (tool, arguments) in every_file_call(path) {
            let error = fixture.error(tool, arguments).await;
            assert!(error.contains("outside of the workspace"), "{tool} {path}: {error}");
        }
    }
    assert_eq!(fs::read_to_string(outer.join("secret")).unwrap(), "outside");
}

#[tokio::test]
async fn paths_that_stay_inside_work_however_they_are_spelt() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("sub")).unwrap();
    fs::write(fixture.path("notes"), "inside").unwrap();
    symlink("../notes", fixture.path("sub/link")).unwrap();
    let absolute = fixture.path("notes").display().to_string();
    for path in ["notes", "./notes", "sub/../notes", "sub/link", &absolute] {
        let output = fixture.call("read_file", json!({ "path": path })).await.unwrap();
        assert_eq!(output, ToolOutput::success("inside"), "{path}");
    }
}

#[tokio::test]
async fn write_file_creates_the_directories_that_lead_to_it() {
    let fixture = Fixture::new();
    fixture.call("write_file", json!({ "path": "a/b/c.txt", "content": "one" })).await.unwrap();
    assert_eq!(fixture.text("a/b/c.txt"), "one");
    fixture.call("write_file", json!({ "path": "a/b/c.txt", "content": "" })).await.unwrap();
    assert_eq!(fixture.text("a/b/c.txt"), "");
    let error = fixture.error("write_file", json!({ "path": "a/b", "content": "" })).await;
    assert_eq!(error, "`a/b` cannot be written: it is a directory");
}

#[tokio::test]
async fn edit_file_changes_one_place_or_nothing() {
    let fixture = Fixture::new();
    fs::write(fixture.path("f"), "one two two").unwrap();
    fixture.call("edit_file", json!({ "path": "f", "old_text": "one", "new_text": "1" })).await.unwrap();
    assert_eq!(fixture.text("f"), "1 two two");
    let error = fixture.error("edit_file", json!({ "path": "f", "old_text": "two", "new_text": "2" })).await;
    assert!(error.starts_with("`f` was not changed: old_text occurs in it 2 times"), "{error}");
    assert_eq!(fixture.text("f"), "1 two two");
    let error = fixture.error("edit_file", json!({ "path": "g", "old_text": "two", "new_text": "2" })).await;
    assert_eq!(error, "`g` cannot be edited: there is no such file or directory");
}

#[tokio::test]
async fn what_is_not_a_text_file_is_refused_without_waiting() {
    let fixture = Fixture::new();
    fs::write(fixture.path("nul"), [b'a', 0]).unwrap();
    fs::write(fixture.path("latin1"), [b'a', 0xE4]).unwrap();
    std::process::Command::new("mkfifo").arg(fixture.path("pipe")).status().unwrap();
    for (path, reason) in [
        ("nul", "it is a binary file"),
        ("latin1", "it is not UTF-8 text"),
        ("pipe", "it is no regular file"),
        (".", "it is a directory"),
        ("none", "there is no such file or directory"),
    ] {
        let error = fixture.error("read_file", json!({ "path": path })).await;
        assert_eq!(error, format!("`{path}` cannot be read: {reason}"));
    }
}

#[tokio::test]
async fn list_dir_tells_directories_links_and_sizes() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("b")).unwrap();
    fs::write(fixture.path("a"), "12345").unwrap();
    symlink("/etc/passwd", fixture.path("c")).unwrap();
    let output = fixture.call("list_dir", json!({ "path": "." })).await.unwrap();
    assert_eq!(output.text, "a (5 bytes)\nb/\nc -> /etc/passwd");
    assert_eq!(fixture.call("list_dir", json!({ "path": "b" })).await.unwrap().text, "[the directory is empty]");
}

#[tokio::test]
async fn bash_runs_in_the_workspace_and_shows_output_in_order_and_the_exit_code() {
    let fixture = Fixture::new();
    let command = "pwd; echo out; echo err >&2; echo out; exit 3";
    let output = fixture.call("bash", json!({ "command": command })).await.unwrap();
    let root = fixture.context.workspace.root().display();
    assert_eq!(output.text, format!("{root}\nout\nerr\nout\n[exit code 3]"));
    assert!(output.is_error);
    let output = fixture.call("bash", json!({ "command": "cat; printf done" })).await.unwrap();
    assert_eq!(output, ToolOutput::success("done\n[exit code 0]"));
    let output = fixture.call("bash", json!({ "command": "kill -9 $$" })).await.unwrap();
    assert_eq!(output, ToolOutput { text: "[killed by signal 9]".into(), is_error: true, raw: None });
}

#[tokio::test]
async fn bash_caps_its_output_and_says_how_much_was_cut() {
    let fixture = Fixture::new();
    let bash = Bash { output_cap: 100, ..Bash::default() };
    let arguments = json!({ "command": "head -c 1000000 /dev/zero | tr '\\0' x; echo end" });
    let output = bash.call(arguments, &fixture.context).await.unwrap();
    assert!(output.text.contains("[999904 bytes were cut here]"), "{}", output.text);
    assert!(output.text.ends_with("end\n[exit code 0]"), "{}", output.text);
}

#[tokio::test]
async fn bash_does_not_inherit_hidden_variables() {
    let mut fixture = Fixture::new();
    // Any variable that is surely set serves as a key.
    fixture.context.launcher = Arc::new(Launcher { hidden_variables: vec!["PATH".into()], ..Launcher::default() });
    let output = fixture.call("bash", json!({ "command": "export -p | grep -c ' PATH='" })).await.unwrap();
    assert_eq!(output.text, "0\n[exit code 1]");
}

/// A command whose grandchild writes its process id to `pid`.
const GRANDCHILD: &str = "bash -c 'sleep 600 & echo $! > pid; wait' ";

async fn written(path: &Path) -> i32 {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        if let Ok(pid) = text.trim().parse() {
            return pid;
        }
        assert!(Instant::now() < deadline, "the command never wrote {}", path.display());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Checks that a process is dead. A killed process may stay a zombie until its new parent has waited for it.
async fn assert_dead(pid: i32) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = status.rsplit(") ").next().and_then(|rest| rest.chars().next());
        if matches!(state, None | Some('Z' | 'X')) {
            return;
        }
        assert!(Instant::now() < deadline, "process {pid} is still alive: {status}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn at_the_time_limit_a_grandchild_dies_too() {
    let fixture = Fixture::new();
    let command = format!("echo before; {GRANDCHILD}");
    // The time limit is long enough for the grandchild to start, even on a busy machine.
    let output = fixture.call("bash", json!({ "command": command, "timeout_ms": 1500 })).await.unwrap();
    assert_eq!(output.text, "before\n[timed out after 1.5s: the command and all it had started were killed]");
    assert!(output.is_error);
    assert_dead(written(&fixture.path("pid")).await).await;
}

#[tokio::test]
async fn cancellation_kills_the_process_group() {
    let fixture = Fixture::new();
    let cancel = fixture.context.cancel.clone();
    let pid_file = fixture.path("pid");
    let (result, pid) = tokio::join!(fixture.call("bash", json!({ "command": GRANDCHILD })), async {
        let pid = written(&pid_file).await;
        cancel.cancel();
        pid
    });
    assert_eq!(result, Err(ToolError::Aborted));
    assert_dead(pid).await;
    assert_eq!(fixture.call("bash", json!({ "command": "true" })).await, Err(ToolError::Aborted));
}

#[tokio::test]
async fn dropping_the_call_kills_the_process_group() {
    let fixture = Fixture::new();
    let pid_file = fixture.path("pid");
    let pid = tokio::select! {
        _ = fixture.call("bash", json!({ "command": GRANDCHILD })) => panic!("the command ended by itself"),
        pid = written(&pid_file) => pid,
    };
    assert_dead(pid).await;
}

#[tokio::test]
async fn what_is_left_in_the_background_does_not_outlive_the_command() {
    let fixture = Fixture::new();
    let output = fixture.call("bash", json!({ "command": "sleep 600 & echo $! > pid; echo done" })).await.unwrap();
    assert_eq!(output, ToolOutput::success("done\n[exit code 0]"));
    assert_dead(written(&fixture.path("pid")).await).await;
}
