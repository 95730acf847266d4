//! Measures an agent's wait at each event: the hook as a whole process, with a running resident host and as the first call after a
//! boot, beside processes that do nothing; HTTP hooks of many sessions at once; and many clients of one resident host. `cargo xtask
//! bench` runs it. Arguments name the parts to run, `processes`, `http` and `clients`; without one all run.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

mod clients;

use hookhost_bench_table::measure::{compare, compare_batches, spoken};
use hookhost_bench_table::table::{Row, Table};
use hookhost_client::paths::HostPaths;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum size of the hook program, in bytes.
const MAX_PROGRAM: u64 = 1_000_000;

/// Maximum size of `hookhost`, in bytes: a download of seconds.
const MAX_HOOKHOST: u64 = 20_000_000;

/// Number of sessions that ask over HTTP at once.
const SESSIONS: usize = 20;

/// Number of calls of each session.
const CALLS: usize = 500;

/// Pause of an agent between two calls, still far shorter than a model's shortest reply.
const PAUSE: Duration = Duration::from_millis(25);

/// The same for an overloaded machine.
const SHORT_PAUSE: Duration = Duration::from_millis(5);

/// Budget of an agent's hook over HTTP, for 99 of 100 calls.
const MAX_HTTP: Duration = Duration::from_millis(1);

fn main() {
    let [Some(hookhost), Some(hook)] =
        ["HOOKHOST_COMMAND", "HOOKHOST_HOOK"].map(|name| std::env::var_os(name).map(PathBuf::from))
    else {
        println!("(what a hook costs needs HOOKHOST_COMMAND and HOOKHOST_HOOK: run `cargo xtask bench`)");
        return;
    };
    let home = Home::new(&hookhost, &hook);
    let mut table = Table::begin();
    hook_size(&mut table, &hook);
    size(&mut table, "`hookhost`", &hookhost, Some(MAX_HOOKHOST));
    if let Some(engine) = std::env::var_os("HOOKHOST_ENGINE_ALONE") {
        let what = "a program with the engine alone, built like `hookhost`: it compiles one plugin";
        size(&mut table, what, Path::new(&engine), None);
    }
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| words.is_empty() || words.iter().any(|word| word == name);
    if is_wanted("processes") {
        processes(&mut table, &home);
    }
    if is_wanted("http") {
        http(&mut table, &home);
    }
    if is_wanted("clients") {
        clients::rows(&mut table, &home);
    }
    table.end();
}

fn size(table: &mut Table, what: &str, program: &Path, most: Option<u64>) {
    let why = "It has wasmtime's compiler, TLS, the agent's loop and the proxies, and each kind of event has code of its own.";
    let row = Row { what, component: "–", log: "–", why };
    let within = most.map(|most| std::fs::metadata(program).unwrap().len() <= most);
    let budget = most.map_or(String::new(), |most| format!("≤ {} MB", most / 1_000_000));
    table.plain(&row, megabytes(program), &budget, within);
}

/// Adds the size of the hook, beside that of a minimal program that is built like it.
fn hook_size(table: &mut Table, hook: &Path) {
    let why = "It is linked statically, since the dynamic loader would be half of its start.";
    let row = Row { what: "the hook program", component: "–", log: "–", why };
    let within = std::fs::metadata(hook).unwrap().len() <= MAX_PROGRAM;
    let least = least_program().map_or_else(
        || "(without `rustc` there is no program to compare with)".to_owned(),
        |least| format!("{least} a program built like it that prints how many arguments it has"),
    );
    table.beside(&row, &megabytes(hook), &least, &format!("≤ {} MB", MAX_PROGRAM / 1_000_000), within);
}

/// Returns the size of a minimal program, compiled as `cargo xtask install` compiles the hook.
fn least_program() -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let (source, program) = (directory.path().join("least.rs"), directory.path().join("least"));
    std::fs::write(&source, "fn main() { println!(\"{}\", std::env::args().count()) }").unwrap();
    let mut compile = Command::new("rustc");
    compile.args(["-C", "opt-level=s", "-C", "lto", "-C", "codegen-units=1", "-C", "strip=symbols"]);
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        compile.args(["-C", "target-feature=+crt-static"]);
    }
    let status = compile.arg("-o").arg(&program).arg(&source).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.ok().filter(ExitStatus::success).map(|_| megabytes(&program))
}

fn megabytes(program: &Path) -> String {
    format!("{:.2} MB", std::fs::metadata(program).unwrap().len() as f64 / 1e6)
}

fn processes(table: &mut Table, home: &Home) {
    let resident = home.serve(&[]);
    home.check();
    let what = "a call of an agent, through the resident host: start of the hook, one event, exit";
    let row = Row { what, component: "no-force-push", log: "on", why: "" };
    let asked = || home.ask("git status");
    for (reference, program, words, most) in [
        ("`bash -c :`", "bash", ["-c", ":"], Some(0.9)),
        ("`python3 -c ''`", "python3", ["-c", ""], None),
        ("`node -e ''`", "node", ["-e", ""], None),
    ] {
        let nothing = || Command::new(program).args(words).stdin(Stdio::null()).stdout(Stdio::null()).status();
        if nothing().is_ok() {
            table.compared(&row, &compare(asked, || assert!(nothing().unwrap().success())), reference, most);
        }
    }
    drop(resident);

    let what =
        "the first call after a boot: the hook starts the resident host, which loads the plugin and settles the event";
    let row = Row { what, component: "no-force-push", log: "on", why: "" };
    let first = |runs: u32| {
        let times = (0..runs).map(|_| {
            let began = Instant::now();
            home.ask("git status");
            let took = began.elapsed();
            home.stop();
            took
        });
        times.sum()
    };
    for (reference, program, words) in [
        ("`bash -c :`", "bash", ["-c", ":"]),
        ("`python3 -c ''`", "python3", ["-c", ""]),
        ("`node -e ''`", "node", ["-e", ""]),
    ] {
        let nothing = || Command::new(program).args(words).stdin(Stdio::null()).stdout(Stdio::null()).status();
        if nothing().is_err() {
            continue;
        }
        let reference_runs = |runs: u32| {
            let began = Instant::now();
            (0..runs).for_each(|_| assert!(nothing().unwrap().success()));
            began.elapsed()
        };
        table.compared(&row, &compare_batches(first, reference_runs), reference, None);
    }
}

fn http(table: &mut Table, home: &Home) {
    let resident = home.serve(&["--http", "127.0.0.1:0"]);
    thread::sleep(clients::FIRST);
    let token = std::fs::read_to_string(home.directory.path().join("http.token")).unwrap();
    let bare = bare_server();
    let why = "The bare server reads the request and answers nothing: what machine and clients take.";
    for (pause, how, budget) in [
        (PAUSE, "with 25 ms between the calls of each", Some(MAX_HTTP)),
        (SHORT_PAUSE, "with 5 ms between the calls of each", None),
        (Duration::ZERO, "without a pause", None),
    ] {
        let all = |address: &str| {
            let begun = Instant::now();
            let sessions: Vec<_> = (0..SESSIONS)
                .map(|session| {
                    let (address, token) = (address.to_owned(), token.trim().to_owned());
                    let directory = home.directory.path().to_owned();
                    thread::spawn(move || http_session(&address, &token, &directory, session, pause))
                })
                .collect();
            let mut times: Vec<Duration> = sessions.into_iter().flat_map(|session| session.join().unwrap()).collect();
            times.sort();
            let each_second = times.len() as f64 / begun.elapsed().as_secs_f64();
            let at = |share: usize| times[(times.len() - 1) * share / 100];
            (at(99), format!("{} (median {}; {each_second:.0} a second)", spoken(at(99)), spoken(at(50))))
        };
        let (_, bare) = all(&bare);
        let (slowest, measured) = all(&resident.address);
        let what = format!("an HTTP hook, {SESSIONS} sessions at once, {how}: 99th percentile");
        let row = Row { what: &what, component: "no-force-push", log: "on", why };
        let measured = format!("{measured}; a bare server {bare}");
        table.plain(&row, measured, budget.map_or("", |_| "≤ 1 ms"), budget.map(|most| slowest <= most));
    }
}

/// Starts a server of the same library in this process, with empty answers. Returns its address.
fn bare_server() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    listener.set_nonblocking(true).unwrap();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let service = service_fn(async |request: Request<Incoming>| {
                    request.into_body().collect().await.map(|_| Response::new(Full::new(Bytes::from_static(b"{}"))))
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
    });
    address
}

/// Returns the times of the calls of one session, over one connection.
fn http_session(address: &str, token: &str, directory: &Path, session: usize, pause: Duration) -> Vec<Duration> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let how = pause.as_millis();
    let mut call = |number: usize| {
        let id = format!("{how}-{session}-{number}");
        let body = message(&id, &format!("{how}-{session}"), directory, "git status");
        let request = format!(
            "POST /hooks/claude-code HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let began = Instant::now();
        stream.write_all(request.as_bytes()).unwrap();
        let (mut line, mut length) = (String::new(), 0);
        answers.read_line(&mut line).unwrap();
        assert!(line.contains(" 200 "), "{line}");
        while line != "\r\n" {
            line.clear();
            answers.read_line(&mut line).unwrap();
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        answers.read_exact(&mut vec![0; length]).unwrap();
        began.elapsed()
    };
    call(CALLS);
    let calls = (0..CALLS).map(|number| {
        if !pause.is_zero() {
            thread::sleep(pause);
        }
        call(number)
    });
    calls.collect()
}

/// Returns a message of Claude Code about a shell command.
fn message(id: &str, session: &str, directory: &Path, command: &str) -> String {
    let message = json!({
        "session_id": session, "transcript_path": "", "cwd": directory, "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": id,
    });
    message.to_string()
}

/// A user's directories with one allowed plugin, and the programs side by side, as they are installed.
struct Home {
    directory: tempfile::TempDir,
    hookhost: PathBuf,
    hook: PathBuf,
}

impl Home {
    fn new(hookhost: &Path, hook: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let wasm = PathBuf::from(std::env::var_os("HOOKHOST_PLUGINS").unwrap()).join("no_force_push.wasm");
        let digest = Sha256::digest(std::fs::read(&wasm).unwrap());
        let digest = digest.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        });
        let entry = format!("[[plugin]]\nname = \"no-force-push\"\npath = {wasm:?}\nsha256 = \"{digest}\"\n");
        std::fs::write(directory.path().join("hookhost.toml"), entry).unwrap();
        let installed = |program: &Path, name: &str| {
            let file = directory.path().join(name);
            std::fs::copy(program, &file).unwrap();
            file
        };
        let (hookhost, hook) = (installed(hookhost, "hookhost"), installed(hook, "hookhost-hook"));
        Self { directory, hookhost, hook }
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        for variable in ["HOOKHOST_CONFIG_DIR", "HOOKHOST_STATE_DIR", "HOOKHOST_CACHE_DIR"] {
            command.env(variable, self.directory.path());
        }
        command.current_dir(self.directory.path());
        command
    }

    /// Returns the hook's output for a command.
    fn reply(&self, command: &str) -> String {
        String::from_utf8(self.said(&self.hook, command)).unwrap()
    }

    /// Runs a program with a hook's message about a command as its input, and returns its output.
    fn said(&self, program: &Path, command: &str) -> Vec<u8> {
        let mut hook = self.command(program);
        hook.args(["claude-code", "PreToolUse"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut hook = hook.spawn().unwrap();
        // A call without an identifier never counts as a repetition of an earlier one.
        let message = json!({
            "session_id": "s", "transcript_path": "", "cwd": self.directory.path(), "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": command },
        });
        hook.stdin.take().unwrap().write_all(message.to_string().as_bytes()).unwrap();
        let output = hook.wait_with_output().unwrap();
        assert!(output.status.success());
        output.stdout
    }

    fn ask(&self, command: &str) {
        assert_eq!(self.reply(command), "");
    }

    /// Checks that the hook to be measured guards.
    fn check(&self) {
        assert!(self.reply("git push --force").contains(r#""permissionDecision":"deny""#));
        self.ask("git status");
    }

    fn serve(&self, words: &[&str]) -> Resident<'_> {
        let mut command = self.command(&self.hookhost);
        let mut child = command.arg("serve").args(words).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let wanted = if words.is_empty() { "hookhost serves at " } else { "hookhost serves at http://" };
        let address = lines.find_map(|line| line.strip_prefix(wanted).map(str::to_owned)).unwrap();
        let address = address.split(';').next().unwrap().to_owned();
        thread::spawn(move || lines.for_each(drop));
        let place = HostPaths::below(self.directory.path());
        while !place.socket().exists() {
            thread::yield_now();
        }
        Resident { home: self, child, address }
    }

    fn stop(&self) {
        // The host may be starting, and have no socket yet.
        while !self.command(&self.hookhost).args(["serve", "--stop"]).stderr(Stdio::null()).status().unwrap().success()
        {
            thread::yield_now();
        }
    }
}

/// A resident host. Dropping the value ends it.
struct Resident<'a> {
    home: &'a Home,
    child: Child,
    /// Its HTTP address, if it serves HTTP; otherwise its socket.
    address: String,
}

impl Drop for Resident<'_> {
    fn drop(&mut self) {
        self.home.stop();
        self.child.wait().unwrap();
    }
}
