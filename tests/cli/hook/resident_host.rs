//! A resident host that is killed, hangs, loses its socket, or is not ours.

use super::{Home, Reply, end, is_root, reply_to, started, wait_for, wait_for_question_of};
use hookhost_tests::Ended;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

const HOOK: [&str; 2] = ["claude-code", "PreToolUse"];

#[test]
fn a_resident_host_that_is_killed_before_during_or_after_an_answer_opens_no_gate_and_loses_no_event() {
    let home = Home::new();
    let first = home.serve();
    home.asked("s", "1", "touch denied.txt").is_denied_by_policy();
    // After its answer, and so before the next one. Its socket is still there.
    end(first, Signal::KILL);
    home.asked("s", "2", "touch denied.txt").is_denied_by_policy();
    home.asked("s", "3", "ls").passes();
    // During one: it has the message, or is about to read it.
    let [second] = home.processes("serve").try_into().unwrap();
    kill_process(second, Signal::STOP).unwrap();
    let message = home.call("s", "4", "touch denied.txt").to_string();
    let hook = started(&mut home.hook(&HOOK), message.as_bytes());
    wait_for_question_of(&hook);
    end(second, Signal::KILL);
    Reply::of(hook).is_denied_by_policy();
    let events = home.events("before-tool-call", 4);
    let outcomes: Vec<_> = events.iter().map(|event| event["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["rejected", "rejected", "allowed", "rejected"]);
    // One session, whichever process settled its events.
    assert!(events.iter().all(|event| event["session"] == "claude-code:s"), "{events:#?}");
    home.events("session-start", 1);
    home.verify_log();
}

#[test]
fn a_program_that_answers_garbage_or_another_version_is_replaced_by_a_resident_host_that_settles_the_event() {
    // Nothing, half a frame, a frame of an unknown kind, too long a frame, and the words of a host that does not know the language.
    let why = b"the other side speaks another version of the protocol";
    let refused = [&[58, 0, 0, 0, 3][..], &[why.len() as u8, 0, 0, 0], why].concat();
    assert_eq!(usize::from(refused[0]), refused.len() - 4);
    let answers: [&[u8]; 5] = [b"", b"\x40\0\0\0\x02\0", b"\x03\0\0\0\x09\x09\x09", b"\xff\xff\xff\xff", &refused];
    for answer in answers {
        let home = Home::new();
        fs::create_dir_all(home.run_directory()).unwrap();
        let listener = UnixListener::bind(home.socket()).unwrap();
        let message = home.call("s", "1", "touch denied.txt").to_string();
        let hook = started(&mut home.hook(&HOOK), message.as_bytes());
        let (mut connection, _) = listener.accept().unwrap();
        let mut length = [0; 4];
        connection.read_exact(&mut length).unwrap();
        let mut request = vec![0; usize::try_from(u32::from_le_bytes(length)).unwrap()];
        connection.read_exact(&mut request).unwrap();
        connection.write_all(answer).unwrap();
        drop((connection, listener));
        Reply::of(hook).is_denied_by_policy();
        home.events("before-tool-call", 1);
        home.verify_log();
    }
}

#[test]
fn a_host_that_cannot_start_is_a_no_that_says_why_and_never_a_hang() {
    let home = Home::new();
    // Something else holds the lock, and never listens.
    let lock = home.without_resident_host();
    let began = Instant::now();
    home.asked("s", "1", "ls").could_not_be_settled("it does not listen after 5 seconds");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    // A log that is none. It is there before the lock is free: the host that waits for the lock must not make one.
    fs::write(home.user.log_file(), "garbage").unwrap();
    drop(lock);
    home.asked("s", "2", "ls").could_not_be_settled("no resident host could be started: ");
    fs::remove_file(home.user.log_file()).unwrap();
    home.asked("s", "3", "touch denied.txt").is_denied_by_policy();
    home.deliveries(2);
}

#[test]
fn hosts_that_accept_the_connection_and_then_end_are_a_no_that_says_why() {
    let home = Home::new();
    fs::create_dir_all(home.run_directory()).unwrap();
    let listener = UnixListener::bind(home.socket()).unwrap();
    let log = home.run_directory().join("host.log");
    let message = home.call("s", "1", "ls").to_string();
    let hook = started(&mut home.hook(&HOOK), message.as_bytes());
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut log = fs::OpenOptions::new().create(true).append(true).open(&log).unwrap();
            log.write_all(b"error: the log is none\n").unwrap();
            drop(connection);
        }
    });
    Reply::of(hook).could_not_be_settled("no resident host could be started: the log is none");
}

#[test]
fn an_outcome_that_a_host_has_settled_before_it_was_killed_is_that_of_the_next_host() {
    let home = Home::new();
    home.asked("s", "1", "touch denied.txt").is_denied_by_policy();
    // By then the store has it.
    home.events("before-tool-call", 1);
    let [first] = home.processes("serve").try_into().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    end(first, Signal::KILL);
    home.asked("s", "1", "touch denied.txt").is_denied_by_policy();
    home.events("before-tool-call", 1);
    let repeated = home.deliveries(1);
    assert_eq!(repeated[0]["what"], "repeated", "{repeated:?}");
    home.verify_log();
}

#[test]
fn a_resident_host_that_hangs_is_ended_and_its_call_is_settled_by_the_next_one() {
    let home = Home::new();
    let resident = home.serve();
    home.asked("s", "1", "ls").passes();
    kill_process(resident, Signal::STOP).unwrap();
    home.asked("s", "2", "touch denied.txt").is_denied_by_policy();
    wait_for("the end of the first", || !super::runs(resident));
    wait_for("another one", || home.processes("serve").len() == 1 && home.socket().exists());
    let log = fs::read_to_string(home.run_directory().join("host.log")).unwrap();
    assert!(log.contains("a client has ended process"), "{log}");
    home.asked("s", "3", "ls").passes();
    home.events("before-tool-call", 3);
    home.verify_log();
}

#[test]
fn a_program_at_the_socket_that_is_no_resident_host_is_left_alone_and_a_host_takes_its_place() {
    let deaf = Home::new();
    fs::create_dir_all(deaf.run_directory()).unwrap();
    let listener = UnixListener::bind(deaf.socket()).unwrap();
    // One for which as many wait as may: one waits already.
    let full = Home::new();
    fs::create_dir_all(full.run_directory()).unwrap();
    let _listener = of_one(&full);
    let _waiting = std::os::unix::net::UnixStream::connect(full.socket()).unwrap();
    let message = full.call("s", "1", "touch denied.txt").to_string();
    let second = started(&mut full.hook(&HOOK), message.as_bytes());
    deaf.asked("s", "1", "touch denied.txt").is_denied_by_policy();
    Reply::of(second).is_denied_by_policy();
    drop(listener);
}

#[test]
fn a_resident_host_that_says_that_it_works_is_waited_for() {
    let home = Home::new();
    let _lock = home.without_resident_host();
    let listener = UnixListener::bind(home.socket()).unwrap();
    let hook = started(&mut home.hook(&HOOK), home.call("s", "1", "ls").to_string().as_bytes());
    let (mut connection, _) = listener.accept().unwrap();
    for _ in 0..16 {
        std::thread::sleep(Duration::from_millis(250));
        connection.write_all(b"\x05\0\0\0\x01\0\0\0\0").unwrap();
    }
    connection.write_all(b"\x13\0\0\0\x02\0\x09\0\0\0the reply\0\0\0\0").unwrap();
    assert_eq!(Reply::of(hook).stdout, "the reply");
}

/// A host that answers nobody, and for which nobody may wait but one.
fn of_one(home: &Home) -> UnixListener {
    let listener = UnixListener::bind(home.socket()).unwrap();
    // How many may wait for a socket that listens can be set once more.
    rustix::net::listen(&listener, 0).unwrap();
    listener
}

#[test]
fn a_resident_host_without_its_socket_is_replaced_and_loses_no_event() {
    let home = Home::new();
    let first = home.serve();
    home.asked("s", "1", "ls").passes();
    fs::remove_file(home.socket()).unwrap();
    home.asked("s", "2", "touch denied.txt").is_denied_by_policy();
    wait_for("the end of the first", || !super::runs(first));
    home.asked("s", "3", "touch denied.txt").is_denied_by_policy();
    wait_for("another one", || home.socket().exists());
    home.asked("s", "4", "ls").passes();
    home.events("before-tool-call", 4);
    home.verify_log();
}

#[test]
fn a_socket_of_somebody_else_gets_no_message_and_is_a_no() {
    if !is_root() {
        return println!("skipped: only root can start a program of another user");
    }
    const NOBODY: u32 = 65534;
    let home = Home::new();
    for path in [".", "bin", "project", "config"] {
        fs::set_permissions(home.user.path(path), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::create_dir_all(home.user.path("state")).unwrap();
    chown(home.user.path("state"), Some(NOBODY), Some(NOBODY)).unwrap();
    // A resident host, but of another user.
    let mut program = home.command(&["serve", "--on-demand"]);
    program
        .env("HOOKHOST_CACHE_DIR", home.user.path("state/cache"))
        .env("HOOKHOST_CONFIG_DIR", home.user.path("state"));
    let host = program.uid(NOBODY).gid(NOBODY).stderr(Stdio::null()).spawn();
    let mut host = match host {
        Ok(host) => host,
        Err(error) => return println!("skipped: the program cannot be started as another user: {error}"),
    };
    wait_for("the other user's host", || home.socket().exists());
    let says = format!("the socket {} belongs to another user: remove it", home.socket().display());
    home.asked("s", "1", "ls").could_not_be_settled(&says);
    host.kill().unwrap();
    host.wait().unwrap();
    // And a hook of another user gets no answer of ours: it cannot even reach the socket.
    let home = Home::new();
    for path in [".", "bin", "project"] {
        fs::set_permissions(home.user.path(path), fs::Permissions::from_mode(0o755)).unwrap();
    }
    home.serve();
    let mut hook = home.hook(&HOOK);
    hook.uid(NOBODY).gid(NOBODY);
    let reply = reply_to(&mut hook, home.call("s", "1", "ls").to_string().as_bytes());
    assert!(
        reply.stderr.starts_with("hookhost could not note this call for the audit log: Permission denied"),
        "{reply:?}"
    );
    Reply { stderr: String::new(), ..reply }.could_not_be_settled("Permission denied");
}

#[test]
fn without_hookhost_beside_it_the_hook_says_no_or_what_the_operator_chose_and_the_log_has_both() {
    let home = Home::new();
    fs::remove_file(home.program("hookhost")).unwrap();
    let says = format!("the program {} is missing: install hookhost again", home.program("hookhost").display());
    home.asked("s", "1", "ls").could_not_be_settled(&says);
    let message = home.call("s", "2", "touch denied.txt").to_string();
    let reply = home.told(&["claude-code", "PreToolUse", "--on-failure=allow"], message);
    assert_eq!((reply.code, reply.stdout.as_str(), reply.stderr.as_str()), (Some(0), "", ""));
    // The host that is there again records what nobody answered.
    home.put_program("hookhost");
    home.asked("s", "3", "touch denied.txt").is_denied_by_policy();
    let deliveries = home.deliveries(2);
    let notes: Vec<_> = deliveries.iter().map(|delivery| delivery["note"].as_str().unwrap()).collect();
    assert!(notes[0].contains(&says) && notes[0].ends_with("the agent got a denial"), "{notes:?}");
    assert!(
        notes[1].contains(&says) && notes[1].ends_with("the agent could continue, because the operator chose so"),
        "{notes:?}"
    );
    home.verify_log();
}

#[test]
fn a_secret_that_is_short_or_that_others_can_read_is_not_used() {
    let home = Home::new();
    let key = home.user.path("acs.key");
    for (secret, mode, why) in
        [("short", 0o600, "needs at least 32"), (&"s".repeat(32), 0o644, "other users can read it")]
    {
        fs::write(&key, secret).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        let command = ["serve", "--http", "127.0.0.1:0", "--acs-key", key.to_str().unwrap()];
        let ended = home.command(&command).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(ended.status.code() == Some(5) && said.contains(why), "{said}");
    }
}

#[test]
fn the_status_names_the_socket_the_address_and_the_file_of_the_token() {
    let home = Home::new();
    let mut command = home.command(&["serve", "--http", "127.0.0.1:0"]);
    let mut resident = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = || home.command(&["serve", "--status"]).output().unwrap();
    wait_for("the resident host", || status().status.success());
    let says: Value = serde_json::from_slice(&status().stdout).unwrap();
    assert_eq!(says["socket"], home.socket().to_str().unwrap(), "{says}");
    let address: std::net::SocketAddr = says["http"].as_str().unwrap().parse().unwrap();
    assert!(address.ip().is_loopback() && std::net::TcpStream::connect(address).is_ok(), "{says}");
    let token = fs::read_to_string(says["token-file"].as_str().unwrap()).unwrap();
    assert!(token.trim().len() >= 32, "{token}");
    assert!(home.command(&["serve", "--stop"]).output().unwrap().status.success());
    assert!(resident.wait().unwrap().success());
}

#[test]
fn the_doctors_canary_leaves_no_open_session_and_no_difference() {
    let home = Home::new();
    let run = |arguments: &[&str]| Ended::of(&mut home.command(arguments));
    run(&["install", "claude-code"]).expect(0, &[]);
    for _ in 0..2 {
        let proven = run(&["doctor", "claude-code", "--prove"]);
        assert!(proven.stdout.contains("✓ the hook denied a forbidden test call"), "{proven:#?}");
    }
    // The host ends the session after its reply.
    let verified = || serde_json::from_str(&run(&["audit", "verify", "--json"]).stdout).unwrap_or(Value::Null);
    wait_for("the end of the sessions", || verified()["open-sessions"] == json!([]));
    let replayed = run(&["replay"]);
    assert!(!replayed.expect(0, &[]).stdout.contains("rejected by hookhost-canary"), "{replayed:#?}");
}
