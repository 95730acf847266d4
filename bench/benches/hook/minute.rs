//! Measures the first minute of a person who has installed the programs and nothing else: `hookhost on`, the first call of an agent, and
//! the row of this call on the page.

use crate::{User, message};
use bench::measure::spoken;
use bench::table::{Row, Table};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Budget from the installed programs to the first row.
const MAX_FIRST_ROW: Duration = Duration::from_secs(60);

/// A call that the rules of each profile reject.
const CALL: &str = "rm -rf ~";

pub(crate) fn row(table: &mut Table, user: &User) {
    let home = tempfile::tempdir().unwrap();
    let agent = home.path().join("bin/claude");
    fs::create_dir(home.path().join("bin")).unwrap();
    fs::write(&agent, "#!/bin/sh\necho '2.1.330 (Claude Code)'\n").unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    let run = |program: &Path, words: &[&str], input: &str| output(home.path(), program, words, input);
    let began = Instant::now();
    run(&user.hookhost, &["on", "--agent", "claude-code"], "");
    let on = began.elapsed();
    let reply = run(&user.hook, &["claude-code", "PreToolUse"], &message("toolu_1", "s", home.path(), CALL));
    assert!(reply.contains(r#""permissionDecision":"deny""#), "{reply}");
    let call = began.elapsed();
    let link = run(&user.hookhost, &["ui", "--no-open"], "");
    let ui = began.elapsed();
    let (origin, code) = link.trim().split_once("/#").unwrap();
    let host = origin.strip_prefix("http://").unwrap();
    let opened = send(host, "POST", "/session", "", &json!({ "code": code }).to_string());
    let token: Value = serde_json::from_str(&opened).unwrap();
    let token = format!("authorization: Bearer {}\r\n", token["token"].as_str().unwrap());
    while !send(host, "GET", "/", &token, "").contains(CALL) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let took = began.elapsed();
    run(&user.hookhost, &["serve", "--stop"], "");
    let what = "the first minute: `hookhost on`, the first call, `hookhost ui`, until the call is on the page";
    let measured = format!(
        "{} ({}, {}, {}, {})",
        spoken(took),
        spoken(on),
        spoken(call - on),
        spoken(ui - call),
        spoken(took - ui)
    );
    let row = Row { what, component: "the profile", log: "on", why: "" };
    table.plain(&row, measured, "≤ 60 s", Some(took <= MAX_FIRST_ROW));
}

/// Runs a program in an empty home, and returns what it prints.
fn output(home: &Path, program: &Path, words: &[&str], input: &str) -> String {
    let path = format!("{}:/usr/bin:/bin", home.join("bin").display());
    let mut command = Command::new(program);
    command.args(words).env_clear().env("HOME", home).env("PATH", path).current_dir(home);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Sends a request to the page, and returns the body of the answer.
fn send(host: &str, method: &str, path: &str, headers: &str, body: &str) -> String {
    let port = host.rsplit_once(':').unwrap().1.parse().unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n{headers}");
    stream.write_all(format!("{head}content-length: {length}\r\n\r\n{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(" 200 "), "{head}");
    body.to_owned()
}
