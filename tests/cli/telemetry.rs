//! What `hookhost telemetry` and the resident host send to other programs.

use hookhost_tests::{Ended, Entry, Reply, Server, User};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

fn answers(status: u16) -> Server {
    Server::start(vec![Reply::Whole { status, headers: String::new(), body: String::new() }])
}

#[test]
fn an_address_is_written_only_if_the_receiver_takes_the_test() {
    let user = User::new();
    user.configure("# mine\n[agent]\nmodel = \"m\"\n");
    let refused = user.run(["telemetry", "--to", answers(401).url()]);
    refused.expect(1, &["401", "nothing was changed"]);
    let nobody = user.run(["telemetry", "--to", "http://127.0.0.1:9"]);
    nobody.expect(1, &["Connection refused", "nothing was changed: start the receiver"]);
    user.run(["telemetry", "--to", "collector:4318"]).expect(5, &["`collector:4318` is not an http or https URL"]);
    user.run(["telemetry", "--to", "http://collector:4317"]).expect(5, &["port of gRPC", "4318"]);
    assert_eq!(fs::read_to_string(user.config_file()).unwrap(), "# mine\n[agent]\nmodel = \"m\"\n");

    let server = answers(200);
    let taken = user.run(["telemetry", "--to", server.url()]);
    taken.expect(0, &[]);
    assert!(taken.stdout.contains("Arguments, results, prompts and reasons are not"), "{taken:?}");
    // A log record that is marked as a test, and a message without spans and one without metrics.
    let requests = server.requests();
    assert!(requests.len() == 3 && requests[0].contains("hookhost.trial"), "{requests:?}");
    let written = fs::read_to_string(user.config_file()).unwrap();
    let expected = format!("# mine\n[agent]\nmodel = \"m\"\n\n[telemetry]\notlp = \"{}\"\n", server.url());
    assert_eq!(written, expected);
    user.run(["telemetry", "off"]).expect(0, &[]);
    let shown = user.run(["telemetry"]);
    assert!(shown.stdout.contains("Nothing is sent"), "{shown:?}");
}

#[test]
fn a_receiver_that_takes_only_traces_is_told_apart_and_the_next_step_sends_only_those() {
    let user = User::new();
    user.configure("");
    let status = |status: u16| Reply::Whole { status, headers: String::new(), body: String::new() };
    // Logs come first, then traces, then metrics.
    let server = Server::start(vec![status(405), status(200), status(404), status(200)]);
    let refused = user.run(["telemetry", "--to", server.url()]);
    refused.expect(1, &["otlp-logs", "405", "It took traces", "nothing was changed", r#"signals = ["traces"]"#]);
    user.configure("[telemetry]\nsignals = [\"traces\"]\n");
    user.run(["telemetry", "--to", server.url()]).expect(0, &[]);
    let expected = format!("[telemetry]\nsignals = [\"traces\"]\notlp = \"{}\"\n", server.url());
    assert_eq!(fs::read_to_string(user.config_file()).unwrap(), expected);
}

#[test]
fn what_a_variable_switches_off_is_neither_tested_nor_sent_by_a_host_without_the_variable() {
    let user = User::new();
    user.configure("");
    let server = answers(200);
    let to = || user.command(["telemetry", "--to", server.url()]);
    Ended::of(to().env("OTEL_SDK_DISABLED", "true")).expect(2, &["switches every signal off", "nothing was changed"]);
    assert_eq!(fs::read_to_string(user.config_file()).unwrap(), "");
    let without = Ended::of(to().env("OTEL_LOGS_EXPORTER", "none").env("OTEL_METRICS_EXPORTER", "none"));
    without.expect(0, &[]);
    assert_eq!(server.requests().len(), 1);
    let expected = format!("[telemetry]\notlp = \"{}\"\nsignals = [\"traces\"]\n", server.url());
    assert_eq!(fs::read_to_string(user.config_file()).unwrap(), expected);
}

#[test]
fn an_agent_cannot_send_the_log_elsewhere_nor_end_the_telemetry() {
    let user = User::new();
    user.configure("[telemetry.file]\npath = \"events.jsonl\"\n");
    let before = fs::read_to_string(user.config_file()).unwrap();
    for arguments in [
        &["telemetry", "--to", "http://127.0.0.1:9"][..],
        &["telemetry", "off"],
        &["telemetry", "skip", "file", "--yes"],
    ] {
        let ended = Ended::of(user.command(arguments).env("CLAUDECODE", "1"));
        ended.expect(3, &["inside Claude Code", "nothing was changed"]);
    }
    assert_eq!(fs::read_to_string(user.config_file()).unwrap(), before);
}

#[test]
fn the_section_belongs_to_the_user_and_an_unknown_key_in_it_is_an_error() {
    let user = User::new();
    user.configure("[telemetry]\notpl = \"http://localhost:4318\"\n");
    user.run(["telemetry"]).expect(5, &["otpl", "hookhost.toml"]);
    let checks = checks(&user);
    let about_it = checks.iter().filter(|check| check["says"].as_str().unwrap().contains("otpl")).count();
    assert_eq!(about_it, 1, "{checks:#?}");
    user.configure("");
    user.write("hookhost.toml", "[telemetry]\notlp = \"http://evil.example\"\n");
    user.run(["trust", "--yes"]).expect(5, &["a project's file cannot set `telemetry`"]);
}

#[test]
fn a_header_is_not_sent_unencrypted_to_another_machine_and_not_shown() {
    let user = User::new();
    user.configure("[telemetry]\notlp = \"http://collector.example:4318\"\nheaders-file = \"headers\"\n");
    let headers = user.path("config/headers");
    fs::write(&headers, "Authorization: Bearer secret-of-mine\n").unwrap();
    // Others can read the file.
    user.run(["telemetry", "test"]).expect(5, &["headers is not used"]);
    fs::set_permissions(&headers, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let ended = user.run(["telemetry", "test"]);
    ended.expect(5, &["would travel unencrypted", "use https"]);
    assert!(!ended.stderr.contains("secret-of-mine"));
}

/// Returns the checks of `hookhost doctor`.
fn checks(user: &User) -> Vec<Value> {
    let examined: Value = serde_json::from_str(&user.run(["doctor", "--json"]).stdout).unwrap();
    examined["checks"].as_array().unwrap().clone()
}

#[test]
fn a_sink_that_does_not_take_the_records_is_a_problem_although_no_attempt_has_failed() {
    let user = User::new();
    user.configure("[telemetry]\nfrom = \"beginning\"\n[telemetry.file]\npath = \"events.jsonl\"\n");
    let state = || checks(&user).into_iter().find(|check| check["about"] == "telemetry").unwrap();
    let dispatch = || drop(user.run(["dispatch", "--shell", "ls"]).expect(0, &[]).stdout.clone());
    dispatch();
    user.run(["telemetry", "flush"]).expect(0, &[]);
    dispatch();
    assert_eq!(state()["state"], "ok", "the records are new");
    crate::evidence::age(&user);
    let check = state();
    assert_eq!((&check["state"], &check["next"]), (&json!("problem"), &json!("hookhost telemetry flush")), "{check:#}");
    let shown = user.run(["telemetry"]);
    assert!(shown.stdout.contains("takes no record since"), "{shown:?}");
    // Another process has the lock, so the next step says which.
    let lock = fs::File::open(user.path("state/telemetry.lock")).unwrap();
    lock.lock().unwrap();
    user.run(["telemetry", "flush"]).expect(5, &["another process sends the records", "hookhost serve --stop"]);
}

#[test]
fn a_sink_with_a_mistake_starts_when_its_file_is_repaired_and_the_others_do_not_wait_for_it() {
    let user = User::new();
    let server = answers(200);
    let rules = json!({ "before-tool-call": { "when": { "contains": "make" }, "verdict": "reject", "reason": "no" } });
    let entry = Entry::all_events("guard", rules).keys("events = [\"before-tool-call\"]").to_toml();
    user.configure(&format!(
        "[telemetry]\nfrom = \"beginning\"\n[telemetry.file]\npath = \"events.jsonl\"\n[telemetry.webhook]\nurl = \"{}\"\n\
         secret-file = \"webhook.secret\"\n{entry}",
        server.url()
    ));
    let call = json!({ "call": { "id": "1", "name": "bash", "arguments": { "command": "make" } } });
    let _ = user.dispatch("before-tool-call", &call);
    let _host = Host::of(&user);
    wait_for("the file", || fs::read_to_string(user.path("config/events.jsonl")).ok().filter(|text| !text.is_empty()));
    assert!(server.requests().is_empty());
    let secret = user.path("config/webhook.secret");
    fs::write(&secret, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").unwrap();
    fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    wait_for("the message", || (!server.requests().is_empty()).then_some(()));
}

/// A resident host with HTTP, which ends with the test.
struct Host {
    pid: Pid,
    address: String,
}

impl Host {
    fn of(user: &User) -> Self {
        let mut child = user.command(["serve", "--http", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let mut notes = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let address = notes.find_map(|note| Some(note.split_once("http://")?.1.split(';').next()?.to_owned())).unwrap();
        std::thread::spawn(move || {
            notes.for_each(drop);
            child.wait()
        });
        Self { pid, address }
    }

    /// Returns the whole answer to a request for the metrics, with these further header lines.
    fn metrics(&self, method: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head =
            format!("{method} /metrics HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{headers}\r\n", self.address);
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = kill_process(self.pid, Signal::TERM);
    }
}

fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_resident_host_follows_the_section_and_answers_prometheus_only_with_the_token() {
    let user = User::new();
    user.configure("");
    let host = Host::of(&user);
    let token = fs::read_to_string(user.path("state/http.token")).unwrap();
    let token = format!("authorization: Bearer {}\r\n", token.trim());
    let asked = |headers: &str| host.metrics("GET", headers);
    assert!(asked(&token).starts_with("HTTP/1.1 404") && asked(&token).contains("metrics = true"), "{}", asked(&token));
    // The section is read again while the host runs.
    user.configure("[telemetry]\nmetrics = true\nfrom = \"beginning\"\n[telemetry.file]\npath = \"events.jsonl\"\nformat = \"record\"\n");
    let message = format!(
        r#"{{"session_id":"s","cwd":{:?},"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{{"command":"ls"}},"tool_use_id":"t1"}}"#,
        user.project()
    );
    user.run_with_input(["hook", "claude-code"], &message).expect(0, &[]);
    let metric = r#"hookhost_events_total{agent="claude-code",event="before-tool-call","#;
    let answer = wait_for("the metrics", || Some(asked(&token)).filter(|answer| answer.contains(metric)));
    assert!(answer.contains("text/plain; version=0.0.4"), "{answer}");
    assert!(answer.contains(r#"hookhost_sink_lag_records{sink="file"}"#), "{answer}");
    for gauge in ["hookhost_questions_waiting 0\n", "hookhost_log_size_bytes ", "hookhost_disk_free_bytes "] {
        assert!(answer.contains(&format!("\n{gauge}")), "{gauge} is not in {answer}");
    }
    for headers in ["", "authorization: Bearer wrong\r\n"] {
        assert!(
            asked(headers).starts_with("HTTP/1.1 401") && !asked(headers).contains("hookhost_"),
            "{}",
            asked(headers)
        );
    }
    assert!(host.metrics("POST", &token).starts_with("HTTP/1.1 405"));
    let page = format!("{token}origin: http://localhost:1\r\n");
    assert!(asked(&page).starts_with("HTTP/1.1 403"), "{}", asked(&page));
    drop(host);
    // The file has the records byte for byte.
    let exported = user.records_once(|records| !records.is_empty()).len();
    let lines = wait_for("the file", || {
        let text = fs::read_to_string(user.path("config/events.jsonl")).ok()?;
        (text.lines().count() == exported).then_some(text)
    });
    assert!(lines.lines().any(|line| line.contains("before-tool-call")), "{lines}");
}
