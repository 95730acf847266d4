//! Programs of others get what hookhost sends: two receivers of OpenTelemetry, the tools of Prometheus, the schema of OCSF, and the library of
//! Standard Webhooks. `cargo xtask ci receivers` installs them and names them in variables.

use super::entries;
use super::names::table;
use crate::counters::{Counters, METRICS};
use crate::described::Described;
use crate::exposition;
use crate::gauges::Gauge;
use crate::meter::data;
use crate::ocsf;
use crate::otlp::{Otlp, OtlpTarget, Signal, metrics_request};
use crate::positions::SinkState;
use crate::sink::{Sent, Sink as _};
use crate::webhook::WebhookSecret;
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Returns the program that a variable names. Without it, the test says that it did not run, or fails where that is demanded.
fn program(variable: &str) -> Option<PathBuf> {
    let program = std::env::var_os(variable).map(PathBuf::from);
    if program.is_none() {
        let is_required = std::env::var("HOOKHOST_RECEIVERS").is_ok_and(|value| value == "required");
        assert!(!is_required, "{variable} names no program: run `cargo xtask ci receivers`");
        println!("not run: {variable} names no program (`cargo xtask ci receivers` installs it)");
    }
    program
}

/// A receiver that runs, and what it has printed.
struct Running {
    child: Child,
    port: u16,
    printed: Arc<Mutex<String>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn start(command: impl Fn(u16) -> Command) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut child = command(port).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let printed = Arc::new(Mutex::new(String::new()));
        let outputs: [Box<dyn std::io::Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for output in outputs {
            let printed = Arc::clone(&printed);
            std::thread::spawn(move || {
                for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                    let mut printed = printed.lock().unwrap();
                    printed.push_str(&String::from_utf8_lossy(&line));
                    printed.push('\n');
                }
            });
        }
        Self { child, port, printed }
    }

    fn otlp(&self, signal: Signal) -> Otlp {
        let url = format!("http://127.0.0.1:{}/v1/{}", self.port, signal.name()).parse().unwrap();
        let target =
            OtlpTarget { url, headers: HeaderMap::new(), timeout: Duration::from_secs(10), resource: Vec::new() };
        Otlp::new(signal, target, true).unwrap()
    }

    /// Sends all three signals, as soon as the receiver listens.
    async fn send_everything(&mut self) {
        let began = Instant::now();
        while self.otlp(Signal::Logs).send(&entries()).await != Sent::All {
            assert!(began.elapsed() < Duration::from_secs(120), "it does not listen: {}", self.printed.lock().unwrap());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(self.otlp(Signal::Traces).send(&entries()).await, Sent::All);
        let request =
            metrics_request(self.otlp(Signal::Metrics).resource("m"), data(&counted(), &gauges(), 1_790_000_000_000));
        assert_eq!(self.otlp(Signal::Metrics).send_metrics(&request).await, Sent::All);
    }

    /// Waits until the receiver has printed all names of the table, except those of this kind.
    fn has_printed_every_name_except(&self, unprinted: &str) {
        let began = Instant::now();
        loop {
            let printed = self.printed.lock().unwrap().clone();
            let is_sent = |kind: &str| kind != "metric of Prometheus" && kind != unprinted;
            let missing: Vec<_> =
                table().into_iter().filter(|(name, kind)| is_sent(kind) && !printed.contains(name)).collect();
            // What exceeds the bound of the series does not occur here.
            let missing: Vec<_> = missing.into_iter().filter(|(name, _)| *name != "hookhost.series.dropped").collect();
            if missing.is_empty() {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{missing:?} of\n{printed}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn gauges() -> Vec<Gauge> {
    crate::gauges::measure(&Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"), Some(2))
}

fn counted() -> Counters {
    let mut counters = Counters::default();
    entries().iter().for_each(|entry| counters.add(entry));
    counters
}

#[tokio::test]
async fn oteltap_receives_every_name_of_the_table() {
    let Some(python) = program("HOOKHOST_OTELTAP") else { return };
    let mut oteltap = Running::start(|port| {
        let mut command = Command::new(&python);
        command.args(["-u", "-m", "oteltap", "--port", &port.to_string()]);
        command
    });
    oteltap.send_everything().await;
    // It prints no resource.
    oteltap.has_printed_every_name_except("resource");
}

#[tokio::test]
async fn rotel_receives_every_name_of_the_table() {
    let Some(rotel) = program("HOOKHOST_ROTEL") else { return };
    let directory = tempfile::tempdir().unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut rotel = Running::start(|port| {
        let mut command = Command::new(&rotel);
        command.current_dir(directory.path()).arg("start");
        command.args([
            "--otlp-http-endpoint",
            &format!("127.0.0.1:{port}"),
            "--otlp-grpc-endpoint",
            &other.to_string(),
        ]);
        command.args(["--exporter", "blackhole", "--debug-log-verbosity", "detailed"]);
        command.args(["--debug-log", "traces", "--debug-log", "metrics", "--debug-log", "logs"]);
        command
    });
    rotel.send_everything().await;
    rotel.has_printed_every_name_except("");
}

/// Runs promtool, and returns what it printed.
fn promtool(program: &Path, arguments: &[&str], input: &str) -> String {
    let mut command = Command::new(program);
    let mut child =
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{arguments:?}: {text}");
    text
}

fn text() -> String {
    let sink = SinkState { name: "otlp-logs".into(), ..SinkState::default() };
    exposition::text(&counted(), &gauges(), &[sink], 17)
}

fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("files")
}

#[test]
fn prometheus_reads_the_metrics_and_the_alerts_fire_as_their_tests_say() {
    let Some(program) = program("HOOKHOST_PROMTOOL") else { return };
    assert_eq!(promtool(&program, &["check", "metrics"], &text()), "");
    let (alerts, tests) = (files().join("alerts.yml"), files().join("alerts.test.yml"));
    promtool(&program, &["check", "rules", alerts.to_str().unwrap()], "");
    promtool(&program, &["test", "rules", tests.to_str().unwrap()], "");
}

/// Returns the queries of the dashboard.
fn queries() -> Vec<String> {
    let dashboard: Value =
        serde_json::from_str(&std::fs::read_to_string(files().join("dashboard.json")).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    targets.map(|target| target["expr"].as_str().unwrap().replace("$instance", ".*")).collect()
}

#[test]
fn each_query_of_the_dashboard_is_valid() {
    let Some(program) = program("HOOKHOST_PROMTOOL") else { return };
    let rules: Vec<String> = queries()
        .iter()
        .enumerate()
        .map(|(number, query)| format!("  - record: q{number}\n    expr: {}\n", serde_json::to_string(query).unwrap()))
        .collect();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("queries.yml");
    std::fs::write(&file, format!("groups:\n- name: q\n  rules:\n{}", rules.concat())).unwrap();
    promtool(&program, &["check", "rules", file.to_str().unwrap()], "");
}

#[test]
fn each_metric_in_an_alert_or_on_the_dashboard_is_one_that_is_answered() {
    let answered = text();
    let mut queries = queries();
    queries.push(std::fs::read_to_string(files().join("alerts.yml")).unwrap());
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let mut used = 0;
    for name in queries.iter().flat_map(|query| query.split(|character| !is_name(character))) {
        let is_metric = (name.starts_with("hookhost_") || name.starts_with("gen_ai_execute")) && name != "hookhost_";
        if is_metric {
            used += 1;
            let base = name.trim_end_matches("_bucket");
            assert!(answered.contains(&format!("# TYPE {base} ")), "no metric is named {name}");
        }
    }
    assert!(used > METRICS.len(), "{used}");
}

#[test]
fn the_library_of_standard_webhooks_verifies_a_signature_and_refuses_a_changed_body() {
    let Some(python) = program("HOOKHOST_OTELTAP") else { return };
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let seconds = hookhost_agents::clock::now() / 1000;
    let body = r#"{"type":"hookhost.rejected","data":{"name":"😀"}}"#;
    let signature = WebhookSecret::parse(secret).unwrap().signature("msg_1", seconds, body);
    let script = "import sys, standardwebhooks\n_, secret, time, signature, body = sys.argv\n\
                  headers = {'webhook-id': 'msg_1', 'webhook-timestamp': time, 'webhook-signature': signature}\n\
                  standardwebhooks.Webhook(secret).verify(body, headers)\n";
    let verifies = |body: &str| {
        let mut command = Command::new(&python);
        command.args(["-c", script, secret, &seconds.to_string(), &signature, body]).stderr(Stdio::null());
        command.status().unwrap().success()
    };
    assert!(verifies(body) && !verifies(&format!("{body} ")));
}

#[test]
fn each_line_in_the_format_of_ocsf_fits_the_schema_of_version_1_5() {
    let Some(python) = program("HOOKHOST_OTELTAP") else { return };
    let script = "import json, ocsf_json_schema as o\n\
                  s = o.OcsfJsonSchemaEmbedded(o.get_ocsf_schema(version='1.5.0'))\n\
                  print(json.dumps(s.get_class_schema('api_activity', profiles=['security_control'])))\n";
    let schema = Command::new(python).args(["-c", script]).stderr(Stdio::inherit()).output().unwrap();
    let schema: Value = serde_json::from_slice(&schema.stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for entry in entries() {
        let event = ocsf::event(&entry, &Described::of(&entry, "m", true));
        let errors: Vec<String> = validator.iter_errors(&event).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}: {event}");
    }
    assert!(!validator.is_valid(&serde_json::json!({ "class_uid": 6003 })));
}
