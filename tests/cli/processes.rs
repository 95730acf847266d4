//! What programs have that the agent starts: no terminal, no keys, and an end.

use crate::hostile;
use crate::pty::Session;
use hookhost_agent::tool::Bash;
use hookhost_tests::{Ended, User};
use serde_json::json;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(60);
const SERVER: &str = env!("CARGO_BIN_EXE_mcp_server");

/// A user whose model runs these commands, one after the other.
fn running(commands: &[&str]) -> User {
    let user = User::new();
    let call = |command: &&str| {
        format!("[[turn]]\ncall = [{{ tool = \"bash\", arguments = {{ command = {} }} }}]\n", json!(command))
    };
    user.write("script.toml", commands.iter().map(call).collect::<String>() + "[[turn]]\ntext = \"Bye.\"\n");
    user
}

/// An MCP server that runs this first.
fn server_after(command: &str) -> String {
    format!("[mcp.test]\ncommand = \"sh\"\nargs = [\"-c\", {}]\n", json!(format!("{command}\nexec {SERVER} good")))
}

/// A run whose tools have the process numbers that the test sees.
const RUN: [&str; 5] = ["run", "go", "--no-sandbox", "--script", "script.toml"];

/// The results of the tools.
fn results(user: &User) -> Vec<String> {
    let session = user.sessions().remove(0);
    let messages = session["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    messages.map(|message| message["text"].as_str().unwrap().to_owned()).collect()
}

/// Whether the process whose id the file holds is there and not over.
fn runs(file: &Path) -> bool {
    let pid = std::fs::read_to_string(file).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

fn wait_for(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < TIMEOUT, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn tools_and_servers_and_what_they_start_have_no_terminal() {
    let opens = "if (: > /dev/tty) 2> /dev/null; then echo open; else echo closed; fi";
    let user = running(&[opens, &format!("bash -c '{opens}'"), &format!("setsid -w bash -c '{opens}'")]);
    user.configure(&server_after(&format!("({opens}) > server; sh -c '{opens}' > below-server")));
    // The terminal is that of the command, as it is a person's.
    let command = user.command(RUN);
    let mut own = Command::new("setsid");
    own.arg("--ctty").arg("sh").arg("-c").arg(format!("({opens}) > shell; exec \"$0\" \"$@\""));
    own.arg(hookhost_tests::hookhost()).args(RUN).current_dir(user.project());
    own.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("TERM", "dumb");
    let (code, screen) = Session::start(&mut own).end();
    assert_eq!(code, Some(0), "{screen}");
    let written = |name: &str| std::fs::read_to_string(user.project().join(name)).unwrap();
    assert_eq!(written("shell"), "open\n", "the test has a terminal");
    assert_eq!((written("server"), written("below-server")), ("closed\n".into(), "closed\n".into()));
    assert_eq!(results(&user), ["closed\n[exit code 0]"; 3]);
}

#[test]
fn every_row_of_programs_is_what_the_model_reads_and_none_of_them_is_left() {
    let rows = hostile::rows(["program", "command", "at most", "what the model reads"]);
    assert!(rows.len() >= 6, "{rows:?}");
    let user = User::new();
    // So that what belongs to this test is known from all else that runs.
    let mark = format!("HOOKHOST_ROW={}", user.project().display());
    let call = |[_, command, ..]: &[String; 4]| {
        let command = json!(format!("export {mark}; {command}"));
        format!("[[turn]]\ncall = [{{ tool = \"bash\", arguments = {{ command = {command}, timeout_ms = 1000 }} }}]\n")
    };
    user.write("script.toml", rows.iter().map(call).collect::<String>() + "[[turn]]\ntext = \"Bye.\"\n");
    user.run(RUN).expect(0, &[]);
    let most = Bash::default().output_cap;
    for (row, said) in rows.iter().zip(results(&user)) {
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(hostile::says(&row[3], &words), "{row:?}: {}", &words[words.len().saturating_sub(200)..]);
        assert!(said.len() < most + 200, "{row:?}: {}", said.len());
    }
    let bound = rows.iter().find(|row| row[0] == "endless-output").map(|row| row[2].clone());
    assert_eq!(bound, Some(format!("{} KiB", most >> 10)));
    let left = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let environment = |process: std::fs::DirEntry| std::fs::read(process.path().join("environ")).ok();
        processes.filter_map(environment).any(|variables| String::from_utf8_lossy(&variables).contains(&mark))
    };
    wait_for("the end of all of them", || !left());
}

#[test]
fn what_leaves_its_group_ends_with_the_run() {
    let leaves = |name: &str| {
        format!(
            "(setsid sh -c 'echo $$ > {name}; exec sleep 3600' > /dev/null 2>&1 < /dev/null &)\nwhile [ ! -s {name} ]; do sleep 0.02; done"
        )
    };
    let user = running(&[&leaves("tool.pid"), "kill -0 $(cat tool.pid) && echo still there"]);
    user.configure(&server_after(&leaves("server.pid")));
    Ended::of(&mut user.command(RUN)).expect(0, &[]);
    // It keeps running between the calls of a run: that is how a server for development is kept.
    assert_eq!(results(&user)[1], "still there\n[exit code 0]");
    for name in ["tool.pid", "server.pid"] {
        assert!(!runs(&user.project().join(name)), "{name} still runs");
    }
    // The same where only the tools are listed. The process numbers there are those inside.
    let user = User::new();
    let hour = format!("3600.{}", std::process::id());
    user.configure(&server_after(&leaves("server.pid").replace("3600", &hour)));
    Ended::of(&mut user.command(["tools"])).expect(0, &[]);
    let lines = Command::new("ps").args(["-ww", "-eo", "args="]).output().unwrap();
    assert!(user.project().join("server.pid").exists());
    assert!(!String::from_utf8_lossy(&lines.stdout).contains(&format!("sleep {hour}")));
}

#[test]
fn what_leaves_its_group_ends_with_a_second_ctrl_c() {
    use rustix::process::{Pid, Signal, kill_process};
    let leaves = "(setsid sh -c 'echo $$ > tool.pid; exec sleep 3600' > /dev/null 2>&1 < /dev/null &)";
    let user = running(&[&format!("{leaves}\necho $$ > shell.pid; sleep 3600")]);
    let slow = json!({ "task-complete": { "misbehave": "sleep" } });
    let entry = hookhost_tests::Entry::all_events("slow", slow);
    user.configure(&entry.limits("deadline = \"1h\"\n").keys("events = [\"task-complete\"]").to_toml());
    let mut child = user.command(RUN).spawn().unwrap();
    let (file, shell) = (user.project().join("tool.pid"), user.project().join("shell.pid"));
    let written = |file: &Path| std::fs::read_to_string(file).is_ok_and(|pid| !pid.is_empty());
    wait_for("the tool's start", || written(&file) && written(&shell));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    wait_for("the shell's end", || !runs(&shell));
    assert!(runs(&file) && child.try_wait().unwrap().is_none(), "the run waits for the plugin");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!runs(&file));
}

#[test]
fn what_the_user_had_started_before_is_not_killed() {
    let user = running(&["true"]);
    let command = user.command([""; 0]);
    let mut shell = Command::new("sh");
    shell.arg("-c").arg("sleep 3600 & echo $! > own.pid; exec \"$0\" \"$@\"");
    shell.arg(hookhost_tests::hookhost()).args(RUN).current_dir(user.project());
    shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    assert!(shell.status().unwrap().success());
    let file = user.project().join("own.pid");
    assert!(runs(&file));
    let pid = std::fs::read_to_string(file).unwrap();
    Command::new("kill").arg(pid.trim()).status().unwrap();
}

#[test]
fn what_was_adopted_and_has_ended_is_not_kept_as_a_zombie() {
    let user = running(&[
        "(setsid sh -c 'echo $$ > orphan.pid; sleep 0.2' > /dev/null 2>&1 < /dev/null &)\nwhile [ ! -s orphan.pid ]; do sleep 0.02; done",
        "while grep -q ') [SRD] ' /proc/$(cat orphan.pid)/stat 2> /dev/null; do sleep 0.02; done",
        "if [ -e /proc/$(cat orphan.pid) ]; then echo zombie; else echo gone; fi",
    ]);
    Ended::of(&mut user.command(RUN)).expect(0, &[]);
    assert_eq!(results(&user)[2], "gone\n[exit code 0]");
}

#[test]
fn a_tool_cannot_read_the_keys_in_the_environment_of_hookhost() {
    const NOBODY: u32 = 65534;
    let user = running(&[
        "cat /proc/$PPID/environ > /dev/null && echo read",
        "head -c 1 /proc/$PPID/mem > /dev/null && echo read",
        "ls /proc/$PPID/fd > /dev/null && echo read",
        "cat /proc/self/environ > /dev/null && echo its own is readable",
    ]);
    let mut command = user.command(RUN);
    command.env("ANTHROPIC_API_KEY", "sk-in-the-environment");
    if rustix::process::geteuid().is_root() {
        // Nothing is hidden from root: the command runs as somebody else, with directories and a
        // copy of the program of their own.
        let bin = user.path("hookhost");
        std::fs::copy(hookhost_tests::hookhost(), &bin).unwrap();
        let mut like = Command::new(&bin);
        like.args(RUN).current_dir(user.project()).stdin(std::process::Stdio::null());
        like.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        like.env("HOOKHOST_CACHE_DIR", user.path("cache"));
        command = like;
        for path in [user.path("."), user.project(), bin, user.project().join("script.toml")] {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        }
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return println!("skipped: the command cannot be started as another user: {error}"),
    };
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("Permission denied").count(), 3, "{said}");
    assert!(!said.contains("  read") && said.contains("  its own is readable"), "{said}");
}

#[test]
fn secrets_are_not_passed_to_tools_and_servers_unless_the_user_says_so() {
    let show = "echo ${GITHUB_TOKEN-none} ${CORP_PASSWORD-none} ${OPENAI_API_KEY-none} ${EDITOR-none}";
    for (section, expected, note) in [
        ("", "none corp none ed", true),
        ("[agent]\nhidden-variables = ['CORP_*']\n", "none none none ed", true),
        ("[agent]\npassed-variables = ['GITHUB_TOKEN', 'OPENAI_*']\n", "github corp none ed", false),
    ] {
        let user = running(&[show]);
        user.configure(&(section.to_owned() + &server_after(&format!("{show} > server"))));
        let mut command = user.command(RUN);
        command
            .env("GITHUB_TOKEN", "github")
            .env("CORP_PASSWORD", "corp")
            .env("OPENAI_API_KEY", "sk")
            .env("EDITOR", "ed");
        let ended = Ended::of(&mut command);
        ended.expect(0, &[]);
        assert_eq!(results(&user), [format!("{expected}\n[exit code 0]")], "{section}");
        assert_eq!(std::fs::read_to_string(user.project().join("server")).unwrap(), format!("{expected}\n"));
        assert_eq!(ended.stderr.contains("tools do not get GITHUB_TOKEN"), note, "{ended:?}");
    }
}

#[test]
fn a_projects_file_hides_more_and_passes_nothing() {
    let user = running(&["echo ${CORP_A-none} ${CORP_B-none}"]);
    user.configure("[agent]\nhidden-variables = ['CORP_A']\n");
    user.write("hookhost.toml", "[agent]\nhidden-variables = ['CORP_B']\n");
    user.run(["trust", "--yes"]).expect(0, &[]);
    Ended::of(user.command(RUN).env("CORP_A", "a").env("CORP_B", "b")).expect(0, &[]);
    assert_eq!(results(&user), ["none none\n[exit code 0]"]);
    user.write("hookhost.toml", "[agent]\npassed-variables = ['CORP_A']\n");
    user.run(["trust", "--yes"]).expect(5, &["a project's file cannot set `agent.passed-variables`"]);
}
