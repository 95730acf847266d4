//! Measures how long an agent waits at each event, and the sizes of the programs. The situations are: a call through a running resident
//! host, hooks that find no host, HTTP hooks of many sessions at once, many clients of one resident host, and the first call after an edit
//! of a rule. The processes are compared with processes that do nothing. `cargo run -p bench -- budgets --only hook` runs this benchmark.
//! With an argument, it measures only one part: `sizes`, `minute`, `call`, `start`,
//! `http`, `clients` or `edit`.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

mod clients;
#[path = "../home.rs"]
mod home;
mod minute;
mod start;

use bench::measure::{compare, spoken, times_of};
use bench::rules::rules;
use bench::table::{Row, Table};
use home::Home;
use hookhost_client::paths::HostPaths;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::json;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum size of the hook program, in bytes.
const MAX_PROGRAM: u64 = 1_000_000;

/// Maximum size of `hookhost`, in bytes. A download of this size takes seconds.
const MAX_HOOKHOST: u64 = 20_000_000;

/// Name and function of a part.
type Part<'a> = (&'static str, &'a dyn Fn(&mut Table));

/// Programs that do nothing, with which processes are compared.
const IDLE_PROGRAMS: [(&str, [&str; 3]); 3] = [
    ("`bash -c :`", ["bash", "-c", ":"]),
    ("`python3 -c ''`", ["python3", "-c", ""]),
    ("`node -e ''`", ["node", "-e", ""]),
];

/// Number of sessions that send calls over HTTP at the same time.
const SESSIONS: usize = 20;

/// Number of calls of each session.
const CALLS: usize = 500;

/// Pause of an agent between two calls. It is much shorter than the time of a model's shortest reply.
const PAUSE: Duration = Duration::from_millis(25);

/// A shorter pause, which overloads the machine.
const SHORT_PAUSE: Duration = Duration::from_millis(5);

/// Number of rules of which one is edited.
const RULES: usize = 200;

/// Budget of an agent's hook over HTTP. It applies to 99 of 100 calls.
const MAX_HTTP: Duration = Duration::from_millis(1);

fn main() {
    let [Some(hookhost), Some(hook)] = ["HOOKHOST_COMMAND", "HOOKHOST_HOOK"].map(home::program) else {
        println!("(the rows of the hook need HOOKHOST_COMMAND and HOOKHOST_HOOK: run `cargo run -p bench -- budgets`)");
        return;
    };
    let user = User::new(&hookhost, &hook);
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |part: &str| words.is_empty() || words.iter().any(|word| word == part);
    let mut table = Table::begin();
    let parts: [Part<'_>; 7] = [
        ("sizes", &|table| sizes(table, &hookhost, &hook)),
        ("minute", &|table| minute::row(table, &user)),
        ("call", &|table| call(table, &user)),
        ("start", &|table| start::rows(table, &user)),
        ("http", &|table| http(table, &user)),
        ("clients", &|table| clients::rows(table, &user)),
        ("edit", &|table| edit(table, &user)),
    ];
    for (_, measure) in parts.iter().filter(|(name, _)| is_wanted(name)) {
        measure(&mut table);
    }
    table.end();
}

fn sizes(table: &mut Table, hookhost: &Path, hook: &Path) {
    hook_size(table, hook);
    size(table, "`hookhost`", hookhost, Some(MAX_HOOKHOST));
    if let Some(engine) = home::program("HOOKHOST_ENGINE_ALONE") {
        size(table, "a program with the engine alone, built like `hookhost`: it compiles one plugin", &engine, None);
    }
}

fn size(table: &mut Table, what: &str, program: &Path, most: Option<u64>) {
    let why = "It has wasmtime's compiler, TLS, the agent's loop and the proxies, and each kind of event has code of its own.";
    let row = Row { what, component: "–", log: "–", why };
    let within = most.map(|most| std::fs::metadata(program).unwrap().len() <= most);
    let budget = most.map_or(String::new(), |most| format!("≤ {} MB", most / 1_000_000));
    table.plain(&row, megabytes(program), &budget, within);
}

/// Adds the row with the size of the hook program. Its reference is the size of a minimal program that is built in the same way.
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

fn call(table: &mut Table, user: &User) {
    let resident = user.serve(&[]);
    user.check();
    let what = "a call of an agent, through the resident host: start of the hook, one event, exit";
    let row = Row { what, component: "no-force-push", log: "on", why: "" };
    for (reference, words) in installed_idle_programs() {
        let most = (words[0] == "bash").then_some(0.9);
        table.compared(&row, &compare(|| user.ask("git status"), || run_idle(words)), reference, most);
    }
    drop(resident);
}

/// Adds the row of the first call after an edit of a rule. The resident host checks the files at each event.
fn edit(table: &mut Table, user: &User) {
    let config = user.home.path().join("hookhost.toml");
    let before = std::fs::read_to_string(&config).unwrap();
    let resident = user.serve(&[]);
    let mut edits = 0;
    let edited = || {
        edits += 1;
        let rule = format!("id = 'edited'\non = 'shell'\nprogram = 'edited'\nreject = 'edit {edits}'");
        let examples = "stops = ['edited']\npasses = ['git status']";
        std::fs::write(&config, format!("{before}{}[[rule]]\n{rule}\n{examples}\n", rules(RULES))).unwrap();
        let began = Instant::now();
        let reply = user.reply("edited");
        assert!(reply.contains(&format!("edit {edits}")), "{reply}");
        began.elapsed()
    };
    let took = times_of(11, edited).median;
    let row = Row { what: "the first call after an edit of one of 200 rules", component: "rules", log: "on", why: "" };
    table.plain(&row, spoken(took), "≤ 1 s", Some(took <= Duration::from_secs(1)));
    drop(resident);
    std::fs::write(&config, before).unwrap();
}

/// Returns the programs of [`IDLE_PROGRAMS`] that this machine has.
fn installed_idle_programs() -> impl Iterator<Item = (&'static str, [&'static str; 3])> {
    IDLE_PROGRAMS.into_iter().filter(|(_, words)| idle(*words).is_ok())
}

fn idle([program, option, script]: [&str; 3]) -> std::io::Result<ExitStatus> {
    Command::new(program).args([option, script]).stdin(Stdio::null()).stdout(Stdio::null()).status()
}

fn run_idle(words: [&str; 3]) {
    assert!(idle(words).unwrap().success());
}

fn http(table: &mut Table, user: &User) {
    let resident = user.serve(&["--http", "127.0.0.1:0"]);
    let token = std::fs::read_to_string(user.home.path().join("http.token")).unwrap();
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
                    let directory = user.home.path().to_owned();
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

/// Starts a server in this process that uses the same HTTP library and gives empty answers. Returns its address.
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

/// A user with both programs side by side, as they are installed.
struct User {
    home: Home,
    hookhost: PathBuf,
    hook: PathBuf,
}

impl User {
    fn new(hookhost: &Path, hook: &Path) -> Self {
        let home = Home::new("");
        let installed = |program: &Path, name: &str| {
            let file = home.path().join(name);
            std::fs::copy(program, &file).unwrap();
            file
        };
        let (hookhost, hook) = (installed(hookhost, "hookhost"), installed(hook, "hookhost-hook"));
        Self { home, hookhost, hook }
    }

    /// Returns the hook's output for a command.
    fn reply(&self, command: &str) -> String {
        let mut hook = self.home.command(&self.hook);
        hook.args(["claude-code", "PreToolUse"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut hook = hook.spawn().unwrap();
        // A call without an identifier is never treated as a repetition of an earlier call.
        let message = json!({
            "session_id": "s", "transcript_path": "", "cwd": self.home.path(), "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": command },
        });
        hook.stdin.take().unwrap().write_all(message.to_string().as_bytes()).unwrap();
        let output = hook.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    }

    fn ask(&self, command: &str) {
        assert_eq!(self.reply(command), "");
    }

    /// Checks that the measured hook rejects a forced push, because the time of a hook that does not check anything would be meaningless.
    fn check(&self) {
        assert!(self.reply("git push --force").contains(r#""permissionDecision":"deny""#));
        self.ask("git status");
    }

    fn serve(&self, words: &[&str]) -> ResidentHost<'_> {
        let mut command = self.home.command(&self.hookhost);
        let mut child = command.arg("serve").args(words).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let wanted = if words.is_empty() { "hookhost serves at " } else { "hookhost serves at http://" };
        let address = lines.find_map(|line| line.strip_prefix(wanted).map(str::to_owned)).unwrap();
        let address = address.split(';').next().unwrap().to_owned();
        thread::spawn(move || lines.for_each(drop));
        let place = HostPaths::below(self.home.path());
        while !place.socket().exists() {
            thread::yield_now();
        }
        ResidentHost { user: self, child, address }
    }

    fn stop(&self) {
        // The host may still be starting and have no socket yet.
        while !self
            .home
            .command(&self.hookhost)
            .args(["serve", "--stop"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
        {
            thread::yield_now();
        }
    }
}

/// A running resident host. It ends when this value is dropped.
struct ResidentHost<'a> {
    user: &'a User,
    child: Child,
    /// The host's HTTP address, if it serves HTTP. Otherwise this is the path of its socket.
    address: String,
}

impl Drop for ResidentHost<'_> {
    fn drop(&mut self) {
        self.user.stop();
        self.child.wait().unwrap();
    }
}
