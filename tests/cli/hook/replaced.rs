//! An update of the program while agents work.

use super::{Home, Reply, TIMEOUT, end, printed, runs, started, wait_for};
use hookhost_tests::hookhost;
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Puts another version at the program's place, as an update does: written beside it, and renamed.
fn update(home: &Home) {
    let (new, program) = (home.user.path("bin/hookhost.new"), home.program("hookhost"));
    fs::copy(&program, &new).unwrap();
    // What follows the program's own bytes changes nothing of what it does.
    fs::OpenOptions::new().append(true).open(&new).unwrap().write_all(b"another version").unwrap();
    fs::rename(new, program).unwrap();
}

/// Whether a process runs the program that is at the program's place now.
fn is_new(home: &Home, process: Pid) -> bool {
    let program = fs::metadata(format!("/proc/{}/exe", process.as_raw_nonzero()));
    program.is_ok_and(|program| program.ino() == fs::metadata(home.program("hookhost")).unwrap().ino())
}

#[test]
fn an_update_of_the_program_replaces_the_resident_host_which_settles_what_is_under_way_first() {
    let home = Home::new();
    let old = home.serve();
    home.asked("s", "1", "ls").passes();
    // A question that waits for a person: Codex cannot ask dependably.
    let message = home.call("q", "1", "touch asked.txt").to_string();
    let waiting = started(&mut home.hook(&["codex", "PreToolUse"]), message.as_bytes());
    let open = || {
        let ended = printed(&mut home.command(&["approvals", "--json"]));
        serde_json::from_str::<Vec<Value>>(&ended.stdout).unwrap_or_default()
    };
    wait_for("the question", || open().len() == 1);
    update(&home);
    // As long as the question waits, the old program settles what comes.
    let began = Instant::now();
    let mut calls = 0;
    while began.elapsed() < Duration::from_secs(3) {
        home.asked("s", &format!("2.{calls}"), "touch denied.txt").is_denied_by_policy();
        calls += 1;
    }
    home.asked("s", "3", "ls").passes();
    assert!(runs(old) && !is_new(&home, old), "it settles what is under way");
    let code = open()[0]["code"].as_str().unwrap().to_owned();
    printed(&mut home.command(&["approvals", "yes", &code])).expect(0, &[]);
    let reply = Reply::of(waiting);
    assert_eq!((reply.code, reply.stderr.as_str()), (Some(0), ""), "{reply:?}");
    assert!(!reply.stdout.contains("deny"), "{reply:?}");
    wait_for("the new program in the same process", || is_new(&home, old));
    home.asked("s", "4", "touch denied.txt").is_denied_by_policy();
    home.events("before-tool-call", 4 + calls);
    home.verify_log();
}

/// The body of the answer to a message over HTTP.
fn posted(address: &str, token: &str, message: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let head = format!("host: x\r\nauthorization: Bearer {token}\r\ncontent-length: {}", message.len());
    write!(stream, "POST /hooks/codex/PreToolUse HTTP/1.1\r\n{head}\r\nconnection: close\r\n\r\n{message}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn an_update_keeps_what_was_served_over_http_and_turns_no_client_away() {
    let home = Home::new();
    let mut served = home.command(&["serve", "--http", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().unwrap();
    let old = Pid::from_child(&served);
    let mut notes = BufReader::new(served.stderr.take().unwrap()).lines().map(Result::unwrap);
    let address = notes.find_map(|note| Some(note.split_once("http://")?.1.split(';').next()?.to_owned())).unwrap();
    let token = fs::read_to_string(home.user.path("state/http.token")).unwrap();
    let asked = |id: &str, command: &str| posted(&address, token.trim(), &home.call("s", id, command).to_string());
    assert!(asked("1", "touch denied.txt").contains("denied-by-policy"));
    // A question is under way while the program is replaced.
    let open = || {
        let ended = printed(&mut home.command(&["approvals", "--json"]));
        serde_json::from_str::<Vec<Value>>(&ended.stdout).unwrap_or_default()
    };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Hooks beside it start hosts of their own, which give way.
        scope.spawn(|| {
            for number in (0..).take_while(|_| !done.load(Ordering::Relaxed)) {
                home.asked("beside", &number.to_string(), "touch denied.txt").is_denied_by_policy();
            }
        });
        let waiting = scope.spawn(|| asked("2", "touch asked.txt"));
        wait_for("the question", || open().len() == 1);
        update(&home);
        wait_for("the old host's last word", || !home.socket().exists());
        // A client that comes meanwhile is served.
        assert!(asked("3", "touch denied.txt").contains("denied-by-policy"));
        let code = open()[0]["code"].as_str().unwrap().to_owned();
        printed(&mut home.command(&["approvals", "yes", &code])).expect(0, &[]);
        let answered = waiting.join().unwrap();
        assert!(answered.starts_with("HTTP/1.1 200") && !answered.contains("deny"), "{answered}");
        wait_for("the new program", || is_new(&home, old) && home.socket().exists());
        done.store(true, Ordering::Relaxed);
    });
    assert!(asked("4", "touch denied.txt").contains("denied-by-policy"));
    end(old, Signal::TERM);
    served.wait().unwrap();
    let of_http = |record: &Value| {
        record["kind"] == "event" && record["session"] == "codex:s" && record["event"] == "before-tool-call"
    };
    home.records(4, of_http);
    home.verify_log();
}

/// The answer of the page to a request with these headers.
fn of_page(port: u16, request: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nHost: localhost:{port}\r\n{headers}\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn an_update_takes_over_the_page_and_its_open_tabs() {
    let home = Home::new();
    for arguments in [&["serve"][..], &["serve", "--http", "127.0.0.1:0"]] {
        let mut served = home.command(arguments).stderr(Stdio::null()).spawn().unwrap();
        let old = Pid::from_child(&served);
        wait_for("the socket", || home.socket().exists());
        home.asked("s", "1", "ls").passes();
        let link = printed(&mut home.command(&["ui", "--no-open"]));
        link.expect(0, &[]);
        let (origin, code) = link.stdout.trim().split_once("/#").unwrap();
        let port = origin.rsplit_once(':').unwrap().1.parse().unwrap();
        let body = format!("{{\"code\":\"{code}\"}}");
        let headers = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        let opened = of_page(port, "POST /session", &headers, &body);
        let token = opened.split("\"token\":\"").nth(1).unwrap().split('"').next().unwrap();
        let tab = || of_page(port, "GET /", &format!("Authorization: Bearer {token}\r\n"), "");
        assert!(tab().starts_with("HTTP/1.1 200"));
        update(&home);
        wait_for("the new program", || is_new(&home, old) && home.socket().exists());
        let after = tab();
        assert!(after.starts_with("HTTP/1.1 200") && after.contains("before-tool-call"), "{after}");
        let next = printed(&mut home.command(&["ui", "--no-open"]));
        assert!(next.stdout.starts_with(&format!("http://localhost:{port}/#")), "{next:#?}");
        end(old, Signal::TERM);
        served.wait().unwrap();
    }
}

#[test]
fn a_new_program_that_does_not_run_takes_nobodys_place() {
    let home = Home::new();
    let mut served = home.command(&["serve"]).stderr(Stdio::piped()).spawn().unwrap();
    let old = Pid::from_child(&served);
    wait_for("the resident host", || home.socket().exists());
    let program = home.program("hookhost");
    fs::rename(&program, home.user.path("bin/hookhost.old")).unwrap();
    fs::write(&program, "garbage").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut notes = BufReader::new(served.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(notes.any(|note| note.contains("does not run: the old one continues until the file changes again")));
    home.asked("s", "1", "touch denied.txt").is_denied_by_policy();
    // Another one that runs is there now.
    fs::rename(home.user.path("bin/hookhost.old"), home.user.path("bin/hookhost.next")).unwrap();
    fs::copy(home.user.path("bin/hookhost.next"), home.user.path("bin/hookhost.new")).unwrap();
    fs::rename(home.user.path("bin/hookhost.new"), &program).unwrap();
    wait_for("the new program", || is_new(&home, old));
    wait_for("its socket", || home.socket().exists());
    home.asked("s", "2", "touch denied.txt").is_denied_by_policy();
    end(old, Signal::TERM);
    served.wait().unwrap();
}

/// The environment variable that names the directory with the programs of an earlier version.
const EARLIER_PROGRAMS: &str = "HOOKHOST_EARLIER_PROGRAMS";

/// Puts the programs of a directory at the places of the home's programs, as a package manager does.
fn install(home: &Home, directory: &Path) {
    for name in ["hookhost-hook", "hookhost"] {
        let new = home.user.path("bin").join(format!("{name}.new"));
        fs::copy(directory.join(name), &new).unwrap();
        fs::rename(new, home.program(name)).unwrap();
    }
}

#[test]
#[ignore = "needs the programs of an earlier version, in the directory that HOOKHOST_EARLIER_PROGRAMS names"]
fn an_upgrade_from_an_earlier_version_and_the_way_back_lose_nothing() {
    let earlier = PathBuf::from(std::env::var_os(EARLIER_PROGRAMS).expect(EARLIER_PROGRAMS));
    let current = hookhost().parent().unwrap().to_owned();
    let home = Home::new();
    install(&home, &earlier);
    home.compile(&home.user.project());
    let version = |home: &Home| printed(&mut home.command(&["--version"])).stdout;
    let first = version(&home);
    home.serve();
    let open = || {
        let ended = printed(&mut home.command(&["approvals", "--json"]));
        serde_json::from_str::<Vec<Value>>(&ended.stdout).unwrap_or_default()
    };
    let mut calls = 0;
    let mut settles = |home: &Home, session: &str| {
        home.asked(session, &format!("{calls}.1"), "ls").passes();
        home.asked(session, &format!("{calls}.2"), "touch denied.txt").is_denied_by_policy();
        calls += 2;
    };
    settles(&home, "s");
    // There and back, each time with a session open and a question that waits.
    for (number, programs) in [&current, &earlier, &current].into_iter().enumerate() {
        // A hook may have started another host while the process began to run the other program.
        wait_for("the only host", || home.processes("serve").len() == 1);
        let resident = home.processes("serve")[0];
        let message = home.call("q", &number.to_string(), "touch asked.txt").to_string();
        let waiting = started(&mut home.hook(&["codex", "PreToolUse"]), message.as_bytes());
        wait_for("the question", || open().len() == 1);
        install(&home, programs);
        settles(&home, "s");
        assert!(runs(resident) && !is_new(&home, resident), "it settles what is under way");
        let code = open()[0]["code"].as_str().unwrap().to_owned();
        printed(&mut home.command(&["approvals", "yes", &code])).expect(0, &[]);
        let reply = Reply::of(waiting);
        assert!(reply.code == Some(0) && !reply.stdout.contains("deny"), "{reply:?}");
        wait_for("the other version", || {
            let hosts = home.processes("serve");
            hosts.len() == 1 && is_new(&home, hosts[0])
        });
        settles(&home, "s");
        println!("{} after {}", version(&home).trim(), first.trim());
    }
    home.events("before-tool-call", calls + 3);
    home.verify_log();
    let update = printed(&mut home.command(&["update"]));
    update.expect(0, &[]);
    println!("{}", update.stdout);
}
