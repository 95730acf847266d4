//! What the hook does with its streams and signals.

use super::{Home, Reply, printed, started, wait_for, wait_for_question_of};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const HOOK: [&str; 2] = ["claude-code", "PreToolUse"];

/// `hookhost hook`, which is the same as the small program.
fn hookhost_hook(home: &Home) -> Command {
    home.command(&[&["hook"], &HOOK[..]].concat())
}

/// The hook, started by a shell that does this with its files.
fn in_shell(home: &Home, files: &str) -> Command {
    let hook = home.hook(&[]);
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("exec \"$0\" claude-code PreToolUse {files}")).arg(hook.get_program());
    shell.current_dir(home.user.project()).env_clear();
    shell.envs(hook.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}

#[test]
fn a_signal_to_a_hook_that_waits_is_a_no_at_once() {
    let home = Home::new();
    let resident = home.serve();
    kill_process(resident, Signal::STOP).unwrap();
    let signals = [Signal::TERM, Signal::INT, Signal::HUP];
    // The small program, and the same in the large one.
    let programs: [fn(&Home) -> Command; 2] = [|home| home.hook(&HOOK), hookhost_hook];
    for (number, (hook, signal)) in programs.iter().flat_map(|hook| signals.map(|signal| (hook, signal))).enumerate() {
        let message = home.call("s", &number.to_string(), "ls").to_string();
        let began = Instant::now();
        let hook = started(&mut hook(&home), message.as_bytes());
        wait_for_question_of(&hook);
        kill_process(Pid::from_child(&hook), signal).unwrap();
        Reply::of(hook).could_not_be_settled("the hook was asked to end before there was an answer");
        assert!(began.elapsed() < Duration::from_secs(8), "{signal:?}: it waited for its deadline");
    }
    // One whose agent has not written its message to the end.
    let mut command = home.hook(&HOOK);
    let mut hook = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stdin = hook.stdin.take();
    let ready = format!("/proc/{}/status", hook.id());
    wait_for("the signal handler", || {
        let status = std::fs::read_to_string(&ready).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or_default();
        u64::from_str_radix(caught.trim(), 16).is_ok_and(|caught| caught & (1 << 14) != 0)
    });
    kill_process(Pid::from_child(&hook), Signal::TERM).unwrap();
    Reply::of(hook).could_not_be_settled("the agent's message did not arrive: the hook was asked to end");
    drop(stdin);
    kill_process(resident, Signal::CONT).unwrap();
    home.deliveries(7);
    home.verify_log();
}

#[test]
fn a_message_is_settled_when_it_is_whole_although_its_pipe_stays_open() {
    let home = Home::new();
    home.serve();
    for (id, behind, why) in [("1", "\n", None), ("2", " {\"second\": true}", Some("the message is not valid JSON"))] {
        for mut command in [home.hook(&HOOK), hookhost_hook(&home)] {
            let message = home.call("s", id, "touch denied.txt").to_string() + behind;
            let mut hook = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut stdin = hook.stdin.take().unwrap();
            let began = Instant::now();
            std::io::Write::write_all(&mut stdin, message.as_bytes()).unwrap();
            let reply = Reply::of(hook);
            assert!(began.elapsed() < Duration::from_secs(8), "it waited for the end of its input");
            match why {
                None => reply.is_denied_by_policy(),
                Some(why) => reply.could_not_be_settled(why),
            }
            drop(stdin);
        }
    }
    // Over several reads.
    let mut message = home.call("s", "3", "touch denied.txt");
    message["more"] = "}".repeat(300_000).into();
    let mut command = home.hook(&HOOK);
    let mut hook = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = hook.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, message.to_string().as_bytes()).unwrap();
    Reply::of(hook).is_denied_by_policy();
    drop(stdin);
}

#[test]
fn a_closed_standard_input_is_a_no_and_a_closed_standard_output_exits_with_the_code_that_means_no() {
    let home = Home::new();
    home.serve();
    let ended = printed(&mut in_shell(&home, "<&-"));
    let reply = Reply { code: ended.code, stdout: ended.stdout, stderr: ended.stderr };
    reply.could_not_be_settled("the message is empty");
    let message = home.call("s", "1", "touch denied.txt").to_string();
    let reply = Reply::of(started(&mut in_shell(&home, ">&-"), message.as_bytes()));
    assert_eq!((reply.code, reply.stdout.as_str()), (Some(2), ""));
    assert!(
        reply.stderr.contains("hookhost could not print its reply: no program reads the standard output"),
        "{reply:?}"
    );
    // A pipe that nobody reads.
    for (id, mut command) in [("2", home.hook(&HOOK)), ("3", hookhost_hook(&home))] {
        let message = home.call("s", id, "touch denied.txt").to_string();
        let mut hook = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(hook.stdout.take());
        std::io::Write::write_all(&mut hook.stdin.take().unwrap(), message.as_bytes()).unwrap();
        let reply = Reply::of(hook);
        assert_eq!(reply.code, Some(2), "{reply:?}");
        assert!(reply.stderr.contains("hookhost could not print its reply: Broken pipe"), "{reply:?}");
    }
    home.events("before-tool-call", 3);
}

#[test]
fn the_host_that_a_hook_starts_keeps_no_file_of_the_agent_open() {
    let home = Home::new();
    let message = home.call("s", "1", "touch denied.txt").to_string();
    // The pipes by which the agent reads are open under other numbers, too. Their end is the end of the hook.
    let mut command = in_shell(&home, "7>&1 8>&2");
    let (done, ended) = std::sync::mpsc::channel();
    let hook = started(&mut command, message.as_bytes());
    std::thread::spawn(move || done.send(Reply::of(hook)));
    let reply = ended.recv_timeout(Duration::from_secs(30)).expect("the agent reads the end of its pipes");
    reply.is_denied_by_policy();
    wait_for("the resident host", || home.socket().exists());
    let [resident] = home.processes("serve").try_into().unwrap();
    // It is in a session of its own, so that it outlives the group of processes of the hook.
    let session = rustix::process::getsid(Some(resident)).unwrap();
    assert_eq!(session, resident);
    home.asked("s", "2", "ls").passes();
}
