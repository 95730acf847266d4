//! Measures a plugin that computes a lot: `shell-guard`, which parses each command and applies its rules.

use bench::measure::{compare, spoken};
use bench::plugins::built;
use bench::table::{Row, Table};
use hookhost::config::{Digest, Entry, Settings};
use hookhost::contract::ToolOrigin;
use hookhost::{Config, Decision, Host, PreparedCall, Session, SessionSpec};
use hookhost_guest::prelude::{Plugin as _, ToolCallVerdict};
use hookhost_guest::testing;
use serde_json::{Value, json};
use shell_guard::ShellGuard;
use std::path::Path;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// A common command to which no rule objects.
const COMMAND: &str = "cargo test --workspace --all-targets && git status";
/// Maximum size of the component with all of its catalogues, in bytes.
const MAX_SIZE: u64 = 2_000_000;
/// Number of events over which page faults are counted.
const EVENTS: u32 = 1_000;

pub(crate) fn rows(table: &mut Table) {
    let path = built("shell_guard.wasm");
    let why = "The guest counts its fuel. Its code and memory are not in the first-level caches, because its \
               memory is copied through these caches for each event.";
    let row = |what: &'static str, log: &'static str| Row { what, component: "shell-guard", log, why };
    let size = std::fs::metadata(&path).unwrap().len();
    table.plain(
        &row("the component, with its catalogues", "–"),
        format!("{size} bytes"),
        "≤ 2 MB",
        Some(size <= MAX_SIZE),
    );

    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let config = json!({ "stacks": [] });
    let session = session(&runtime, &path, &config);
    let of = |name: &str, arguments: &Value| session.tool_call("call-1", name, arguments, ToolOrigin::Builtin);
    // The plugin is asked about both calls, but only one of them contains a command that it must parse.
    let (command, read) = (of("bash", &json!({ "command": COMMAND })), of("read_file", &json!({ "path": COMMAND })));
    let ask = |call: &PreparedCall| allowed(&runtime, &session, call);
    let whole = compare(|| ask(&command), || ask(&read));
    let time = whole.subject.median;
    let nothing = format!("{} a call that it has nothing to say about", spoken(whole.reference.median));
    let what = "an ordinary command, one pristine plugin";
    table.beside(&row(what, "off"), &spoken(time), &nothing, "≤ 40 µs", time <= Duration::from_micros(40));

    let before = page_faults();
    (0..EVENTS).for_each(|_| ask(&command));
    if let (Some(before), Some(after)) = (before, page_faults()) {
        let each = (after - before) as f64 / f64::from(EVENTS);
        // The process itself has a few page faults that the events do not cause, so the budget is not zero.
        table.plain(&row("page faults of such an event", "off"), format!("{each:.2}"), "none", Some(each < 0.05));
    }

    ShellGuard::configure(serde_json::from_value(config).unwrap()).unwrap();
    let (info, call) = (testing::session(), testing::shell(COMMAND));
    let native =
        || assert_eq!(ShellGuard::before_tool_call(&info, std::hint::black_box(&call)), ToolCallVerdict::Allow);
    let native = compare(|| ask(&command), native).reference.median;
    let work = time.saturating_sub(whole.reference.median);
    let ratio = work.as_secs_f64() / native.as_secs_f64();
    let measured = format!("{} ({ratio:.2} ×)", spoken(work));
    let reference = format!("{} the same code, natively", spoken(native));
    let what = "the guest's own work in it: less such a call";
    table.beside(&row(what, "off"), &measured, &reference, "≤ 3.5 ×", ratio <= 3.5);
}

/// Returns this process's page faults that needed no disk, if the system reports them: `minflt` in proc_pid_stat(5).
fn page_faults() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the program's name, in brackets. The text after the bracket begins with the third field.
    stat.rsplit_once(')')?.1.split_whitespace().nth(7)?.parse().ok()
}

fn allowed(runtime: &Runtime, session: &Session, call: &PreparedCall) {
    let outcome = runtime.block_on(session.before_tool_call(call.clone())).outcome;
    assert!(matches!(outcome, Decision::Allowed { .. }));
}

fn session(runtime: &Runtime, path: &Path, config: &Value) -> Session {
    let mut entry = Entry::new("shell-guard", path, Digest::of_file(path).unwrap());
    entry.config = config.as_object().unwrap().clone();
    let config = Config::from_entries(vec![entry], Settings::default()).unwrap();
    let host = runtime.block_on(Host::builder(config).build()).unwrap();
    host.open_session(SessionSpec::new("bench", Path::new("/work/project"))).unwrap()
}
