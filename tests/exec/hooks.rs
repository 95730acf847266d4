//! The hooks of an agent inside keep answering as outside, whatever a program inside does to them or to the resident host.

use crate::home::{Agent, Answer, Home, message};
use crate::support::{User, finish};
use serde_json::Value;
use std::thread;
use std::time::{Duration, Instant};

/// What the rules refuse.
const REFUSED: &str = "rm -rf ~/.claude";

/// Scripts that try to lower the limits of the agent, and so of its hooks.
const ON_THE_AGENT: [&str; 6] = [
    "prlimit --pid $PPID --fsize=0",
    "prlimit --pid $PPID --nofile=3",
    "prlimit --pid $PPID --as=1000000 --nproc=1",
    "renice 19 $PPID; taskset -p 1 $PPID; chrt -i -p 0 $PPID",
    "prlimit --pid 1 --nofile=3 --fsize=0",
    "mv ../project ../p2 && ln -s p2 ../project",
];

/// What a program can do to a hook that it starts itself.
const ON_A_HOOK: [&str; 13] = [
    "ulimit -f 0",
    "ulimit -n 4",
    "ulimit -n 10",
    "ulimit -u 0",
    "ulimit -v 204800",
    "ulimit -s 64",
    "ulimit -f 0 && ulimit -n 6 && ulimit -u 0 && ulimit -c 0",
    "export HOOKHOST_CONFIG_DIR=/nowhere",
    "export HOOKHOST_CONFIG_DIR=$PWD/x HOOKHOST_STATE_DIR=$PWD/y",
    "export HOME=$PWD",
    "export XDG_CONFIG_HOME=$PWD XDG_STATE_HOME=$PWD",
    "unset HOOKHOST_INSIDE; export HOOKHOST_STATE_DIR=$PWD/z",
    "unset HOME HOOKHOST_INSIDE",
];

/// Scripts that reach the resident host through its socket.
const ON_THE_HOST: [&str; 4] = [
    "hookhost serve --stop && echo BRE''ACH",
    "env -u HOOKHOST_INSIDE hookhost serve --stop && echo BRE''ACH",
    // Connections that say nothing, garbage, and the frame of a supervisor.
    "python3 - <<'END'\nimport os, socket, struct\npath = os.path.expanduser('~/.local/state/hookhost/run/host.sock')\nheld = []\nfor number in \
     range(300):\n    s = socket.socket(socket.AF_UNIX)\n    s.connect(path)\n    held.append(s)\n    s.sendall(struct.pack('<I', 1000) + \
     b'HKH' if number % 2 else os.urandom(64))\nEND",
    "for n in $(seq 0 255); do printf '\\5\\0\\0\\0HKH\\1'\"$(printf '\\\\x%02x' $n)\" | timeout 1 python3 -c 'import socket, sys, os; s = \
     socket.socket(socket.AF_UNIX); s.connect(os.path.expanduser(\"~/.local/state/hookhost/run/host.sock\")); s.sendall(\
     sys.stdin.buffer.read()); s.settimeout(.05); s.recv(99)' 2> /dev/null & [ $((n % 16)) = 15 ] && wait; done; wait",
];

/// The output of a script that runs unasked.
#[track_caller]
fn output(agent: &mut Agent, script: &str) -> String {
    match agent.run(script) {
        Answer::Answered { output: Some(output), .. } => output,
        other => panic!("{script}: {other:?} {:?}", agent.notices()),
    }
}

#[track_caller]
fn still_refuses(home: &Home, agent: &mut Agent, number: usize, after: &str) {
    match agent.call(home, number, REFUSED) {
        Answer::Answered { verdict, .. } if verdict.starts_with("deny") => {}
        other => panic!("after {after}: {other:?} {:?}", agent.notices()),
    }
}

#[test]
fn nothing_inside_keeps_hooks_and_the_host_from_answering() {
    let mut home = Home::new(User::ordinary("hooks"), true);
    let mut agent = Agent::start(&home);
    still_refuses(&home, &mut agent, 1, "the start");
    home.remember_host();
    std::fs::write(home.project().join("message.json"), message(&home, 2, REFUSED).to_string()).expect("a file");
    for (number, script) in ON_THE_AGENT.iter().chain(&ON_THE_HOST).enumerate() {
        let output = output(&mut agent, script);
        assert!(!output.contains("BREACH"), "{script}: {output}");
        still_refuses(&home, &mut agent, 10 + number, script);
        assert_eq!(home.damage(), Vec::<String>::new(), "{script}: {output}");
    }
    for change in ON_A_HOOK {
        let script = format!("exec < message.json; {change} && exec hookhost-hook claude-code PreToolUse");
        let output = output(&mut agent, &script);
        let is_no = output.contains("\"permissionDecision\":\"deny\"") || output.contains("exit status: 2");
        assert!(is_no, "{change}: {output}");
        assert_eq!(home.damage(), Vec::<String>::new(), "{change}: {output}");
    }
    still_refuses(&home, &mut agent, 100, "all of that");
}

#[test]
fn a_question_is_answered_from_outside_and_not_from_inside() {
    let mut home = Home::new(User::ordinary("questions"), true);
    let mut agent = Agent::start(&home);
    still_refuses(&home, &mut agent, 1, "the start");
    home.remember_host();
    // Codex cannot ask its user, so that the question waits for somebody.
    let question = message(&home, 2, "make deploy");
    std::fs::write(home.project().join("message.json"), question.to_string()).expect("a file");
    output(
        &mut agent,
        "(hookhost-hook codex PreToolUse < message.json > answer.json 2>&1; touch answered) > /dev/null 2>&1 &",
    );
    let began = Instant::now();
    let code = loop {
        let open = finish(home.hookhost(&["approvals", "--json"]), "approvals");
        let open: Value = serde_json::from_slice(&open.stdout).unwrap_or_default();
        if let Some(code) = open[0]["code"].as_str() {
            break code.to_owned();
        }
        let answer = std::fs::read_to_string(home.project().join("answer.json")).unwrap_or_default();
        assert!(began.elapsed() < Duration::from_secs(60), "no question waits: {open} {answer}");
        thread::sleep(Duration::from_millis(50));
    };
    for answer in [
        format!("hookhost approvals yes {code}"),
        format!("env -u HOOKHOST_INSIDE hookhost approvals yes {code}"),
        format!("env -u HOOKHOST_INSIDE hookhost approvals no {code}"),
    ] {
        let output = output(&mut agent, &format!("{answer} && echo BRE''ACH"));
        assert!(!output.contains("BREACH"), "{answer}: {output}");
        assert!(!home.project().join("answered").exists(), "{answer}: {output}");
    }
    let done = finish(home.hookhost(&["approvals", "yes", &code]), "yes");
    assert!(done.status.success(), "{done:?}");
    while !home.project().join("answered").exists() {
        assert!(began.elapsed() < Duration::from_secs(120), "the answer does not arrive");
        thread::sleep(Duration::from_millis(50));
    }
    let answer = std::fs::read_to_string(home.project().join("answer.json")).expect("an answer");
    assert!(!answer.contains("deny"), "{answer}");
}
