//! Measures many tenants in one process. Each tenant has a separate rule set of real components. The benchmark measures the time of loading
//! the rule sets, the memory of the rule sets, and the time of an event in comparison with the same event in a process with one tenant.
//!
//! `cargo run -p bench -- budgets` runs this benchmark. Each measured process is a child of this process and answers lines on its standard
//! input: `tenants serve TENANTS DISTINCT CACHE`.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

use bench::measure::{compare_batches, spoken};
use bench::memory::{address_space_gib, resident_mib};
use bench::plugins::built;
use bench::table::{Row, Table};
use hookhost::config::{Digest, Entry, Settings};
use hookhost::contract::ToolOrigin;
use hookhost::{Config, Decision, Engine, Host, PreparedCall, Session, SessionSpec};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

const COMPONENT: &str = "path-guard";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve", tenants, distinct, cache] => {
            serve(tenants.parse().unwrap(), distinct.parse().unwrap(), Path::new(cache));
        }
        // Compiling the distinct rule sets takes minutes.
        ["--quick"] => rows(1_000, 10),
        _ => rows(10_000, 100),
    }
}

fn rows(tenants: usize, distinct: usize) {
    let directory = tempfile::tempdir().unwrap();
    let cache = directory.path().join("compiled");
    let mut table = Table::begin();
    let row = |what| Row { what, component: COMPONENT, log: "off", why: "" };

    let (_, compiled) = TenantProcess::start(distinct, distinct, &cache);
    let what = format!("load {distinct} rule sets, each with another configuration, compiled for the first time");
    table.plain(&row(&what), spoken(time(&compiled["load"])), "", None);
    let files = std::fs::read_dir(&cache).unwrap().map(|file| file.unwrap().path());
    let code = files.filter(|file| file.extension().is_some_and(|extension| extension == "cwasm")).count();
    let shared = format!(
        "{code} files: each configuration has its own, which is the component after its `configure`; tenants with the same one share it"
    );
    table.plain(&row("compiled code of these"), shared, "", None);

    let (mut one, _) = TenantProcess::start(1, 1, &cache);
    let (mut many, loaded) = TenantProcess::start(tenants, distinct, &cache);
    let what = format!("load the rule sets of {tenants} tenants, {distinct} of them distinct, compiled before");
    let load = format!(
        "{}, the distinct ones {}; for each of the others, the file is read and its digest taken",
        spoken(time(&loaded["load"])),
        spoken(time(&loaded["load-distinct"]))
    );
    table.plain(&row(&what), load, "", None);
    let figure = |name: &str| loaded[name].as_f64().unwrap();
    let (before, after) = (figure("resident-before"), figure("resident-loaded"));
    let what = format!("{tenants} tenants, {distinct} distinct rule sets, a session each: memory");
    let resident = format!(
        "{before:.0} MiB before, {after:.0} MiB after: {:.1} KiB a tenant; {:.0} MiB after an event of each; {:.0} GiB of addresses reserved; {} files open",
        (after - before) * 1024.0 / tenants as f64,
        figure("resident-after"),
        figure("address-space"),
        loaded["files"]
    );
    table.plain(&row(&what), resident, "", None);

    let reference = "in a process with 1 tenant";
    let what = format!("one event of one of {tenants} tenants");
    let compared = compare_batches(|events| many.ask("one", events), |events| one.ask("one", events));
    table.compared(&row(&what), &compared, reference, Some(1.5));
    let what = format!("one event, of each of {tenants} tenants in turn");
    let compared = compare_batches(|events| many.ask("turn", events), |events| one.ask("one", events));
    table.compared(&row(&what), &compared, reference, None);
    table.end();
}

/// A process with tenants.
struct TenantProcess {
    process: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl TenantProcess {
    /// Starts the process. Also returns the figures of loading.
    fn start(tenants: usize, distinct: usize, cache: &Path) -> (Self, Value) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("serve").args([tenants.to_string(), distinct.to_string()]).arg(cache);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (asks, answers) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let mut tenants = Self { process, asks, answers };
        let loaded = serde_json::from_str(&tenants.line()).unwrap();
        (tenants, loaded)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line
    }

    /// Returns the time of `events` events, of one tenant or of all tenants in turn.
    fn ask(&mut self, whose: &str, events: u32) -> Duration {
        writeln!(self.asks, "{whose} {events}").unwrap();
        Duration::from_nanos(self.line().trim().parse().unwrap())
    }
}

impl Drop for TenantProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn time(nanos: &Value) -> Duration {
    Duration::from_nanos(nanos.as_u64().unwrap())
}

/// Loads the rule sets, prints the measurements, and then sends events on request until the end of the input.
fn serve(tenants: usize, distinct: usize, cache: &Path) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let host = Host::builder(Config::empty()).engine(&Engine::new()).cache(cache).build();
    let host = runtime.block_on(host).unwrap();
    let wasm = built("path_guard.wasm");
    let digest = Digest::of_file(&wasm).unwrap();
    let config = |tenant: usize| {
        let mut entry = Entry::new(COMPONENT, &wasm, digest).with("protected", [protected(tenant % distinct, "**")]);
        // Set generous limits, because the machine may be busy.
        (entry.limits.compute, entry.limits.deadline) = (Some(Duration::from_secs(10)), Some(Duration::from_secs(10)));
        Config::from_entries(vec![entry], Settings::default()).unwrap()
    };

    let before = resident_mib();
    let began = Instant::now();
    let mut load_distinct = Duration::ZERO;
    let mut sessions = Vec::with_capacity(tenants);
    for tenant in 0..tenants {
        let rules = runtime.block_on(host.load_rules(&config(tenant))).unwrap();
        sessions.push(host.open_session(SessionSpec::new("bench", Path::new("/work")).rules(&rules)).unwrap());
        if tenant + 1 == distinct {
            load_distinct = began.elapsed();
        }
    }
    let (load, loaded) = (began.elapsed(), resident_mib());
    // Check that the rules of each tenant apply to its session. This also runs all of their code once.
    for (tenant, session) in sessions.iter().enumerate() {
        let settle = |path: &str| runtime.block_on(session.before_tool_call(write(session, path))).outcome;
        assert!(matches!(settle(&protected(tenant % distinct, "x")), Decision::Rejected(_)));
        let others = protected((tenant + 1) % distinct, "x");
        assert!(distinct == 1 || matches!(settle(&others), Decision::Allowed { .. }));
    }
    let files = std::fs::read_dir("/proc/self/fd").unwrap().count();
    let figures = json!({
        "load": load.as_nanos() as u64, "load-distinct": load_distinct.as_nanos() as u64, "files": files,
        "resident-before": before, "resident-loaded": loaded, "resident-after": resident_mib(), "address-space": address_space_gib(),
    });
    println!("{figures}");

    let mut turn = 0;
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let (whose, events) = line.split_once(' ').unwrap();
        let mut time = Duration::ZERO;
        for _ in 0..events.parse::<u32>().unwrap() {
            turn = if whose == "turn" { (turn + 1) % tenants } else { tenants - 1 };
            let session = &sessions[turn];
            let call = write(session, "src/main.rs");
            let began = Instant::now();
            let outcome = runtime.block_on(session.before_tool_call(call)).outcome;
            time += began.elapsed();
            assert!(matches!(outcome, Decision::Allowed { .. }));
        }
        println!("{}", time.as_nanos());
    }
}

/// Returns a path below the directory that the configuration with this number protects.
fn protected(configuration: usize, below: &str) -> String {
    format!("of-{configuration}/{below}")
}

fn write(session: &Session, path: &str) -> PreparedCall {
    session.tool_call("call-1", "write_file", &json!({ "path": path, "content": "" }), ToolOrigin::Builtin)
}
