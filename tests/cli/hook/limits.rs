//! Limits of a process that a program of the agent can lower: for the agent, and so for each hook that it starts, or for the resident
//! host.

use super::{Home, Reply, end, runs, started};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// A hook of Codex, which lets a call run where its hook fails, started by a shell after this.
fn limited(home: &Home, limit: &str, message: &[u8]) -> Reply {
    let hook = home.hook(&[]);
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{limit} && exec \"$0\" codex PreToolUse")).arg(hook.get_program());
    shell.current_dir(home.user.project()).env_clear();
    shell.envs(hook.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Reply::of(started(&mut shell, message))
}

/// Fails unless Codex takes it for a no.
#[track_caller]
fn is_no(reply: &Reply, limit: &str) {
    let is_code = reply.code == Some(2) && !reply.stderr.is_empty();
    let is_told = reply.code == Some(0) && reply.stdout.contains("\"permissionDecision\":\"deny\"");
    assert!(is_code || is_told, "{limit}: {reply:?}");
}

#[test]
fn a_hook_under_any_limit_that_its_agent_can_lower_says_no_to_what_is_denied() {
    let (with, without) = (Home::new(), Home::new());
    with.serve();
    std::fs::remove_file(without.program("hookhost")).unwrap();
    let limits = [
        "ulimit -f 0",
        "ulimit -f 8",
        "ulimit -n 4",
        "ulimit -n 8",
        "ulimit -n 10",
        "ulimit -p 0",
        "ulimit -v 40960",
        "ulimit -v 204800",
        "ulimit -d 4096",
        "ulimit -s 64",
        "ulimit -c 0",
        "ulimit -l 0",
        "ulimit -S -t 1",
        "ulimit -f 0 && ulimit -n 6 && ulimit -p 0 && ulimit -c 0",
    ];
    for (number, limit) in limits.iter().enumerate() {
        for home in [&with, &without] {
            let message = home.call("s", &number.to_string(), "touch denied.txt").to_string();
            is_no(&limited(home, limit, message.as_bytes()), limit);
        }
    }
    // A message for which there is no memory.
    let mut message = with.call("s", "large", "touch denied.txt");
    message["tool_input"]["more"] = "x".repeat(15 << 20).into();
    is_no(&limited(&with, "ulimit -v 30720", message.to_string().as_bytes()), "a large message");
    with.verify_log();
}

#[test]
fn what_cannot_be_noted_is_told_after_the_reply() {
    let home = Home::new();
    std::fs::remove_file(home.program("hookhost")).unwrap();
    let reply = limited(&home, "ulimit -f 0", home.call("s", "1", "ls").to_string().as_bytes());
    is_no(&reply, "the file of notes");
    assert!(
        reply.stderr.starts_with("hookhost could not note this call for the audit log: File too large"),
        "{reply:?}"
    );
}

#[test]
fn a_resident_host_whose_files_may_not_grow_denies_and_lives_on() {
    let home = Home::new();
    let resident = home.serve();
    home.asked("s", "1", "ls").passes();
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    prlimit(Some(resident), Resource::Fsize, none).unwrap();
    for id in ["2", "3"] {
        let reason = home.asked("s", id, "ls").denial();
        assert!(reason.contains("the audit log cannot be written"), "{reason}");
    }
    assert!(runs(resident));
    end(resident, Signal::KILL);
    home.asked("s", "4", "touch denied.txt").is_denied_by_policy();
}

#[test]
fn a_signal_that_ends_other_programs_is_a_no() {
    let home = Home::new();
    for signal in [Signal::ALARM, Signal::USR1, Signal::QUIT, Signal::PROF, Signal::ABORT] {
        let mut command = home.hook(&["codex", "PreToolUse"]);
        let mut hook = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdin = hook.stdin.take();
        super::wait_for("the signal handler", || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", hook.id())).unwrap_or_default();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or_default();
            u64::from_str_radix(caught.trim(), 16).is_ok_and(|caught| caught & (1 << 5) != 0)
        });
        // The handler of SIGABRT is the last one.
        sleep(Duration::from_millis(20));
        kill_process(Pid::from_child(&hook), signal).unwrap();
        let reply = Reply::of(hook);
        let is_no = reply.code == Some(2) || reply.stdout.contains("\"permissionDecision\":\"deny\"");
        assert!(is_no, "{signal:?}: {reply:?}");
        drop(stdin);
    }
}
