//! Measures the plugin `rules`: 200 rules in words, their conditions, the facts that these ask for, and a change of one rule.

use bench::measure::{compare, spoken, times_of};
use bench::plugins::built;
use bench::rules::rules;
use bench::table::{Row, Table};
use hookhost::config::{Code, Digest, Layer, Source};
use hookhost::contract::ToolOrigin;
use hookhost::{Config, Decision, Host, PreparedCall, Session, SessionSpec};
use serde_json::{Value, json};
use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// A common command to which no rule objects.
const COMMAND: &str = "cargo test --workspace --all-targets && git status";

/// Number of rules.
const RULES: usize = 200;

/// A rule that is about something else.
const OTHER: &str = "[[rule]]\nid = 'other'\non = 'shell'\nprogram = 'other'\nnote = 'n'\n";

pub(crate) fn rows(table: &mut Table) {
    let row = |what: &'static str| Row { what, component: "rules", log: "off", why: "" };
    let size = std::fs::metadata(built("rules.wasm")).unwrap().len();
    table.plain(&row("the component"), format!("{size} bytes"), "≤ 2 MB", Some(size <= 2_000_000));

    let bench = Bench::new();
    let most = Duration::from_micros(15);
    let (one, many) = (bench.session(OTHER), bench.session(&rules(RULES)));
    for (what, tool, arguments) in [
        ("200 rules without conditions, and a command, beyond one rule", "bash", json!({ "command": COMMAND })),
        ("200 rules without conditions, and a file that is read", "Read", json!({ "file_path": "src/main.rs" })),
    ] {
        bench.beyond(table, &row(what), (&many, &one), (tool, &arguments), 1, most);
    }

    // Each of these rules is about one of the command's programs.
    let conditions = |when: &dyn Fn(usize) -> String| -> String {
        let rule = |at| {
            format!("[[rule]]\nid = 'c{at}'\non = 'shell'\nprogram = 'cargo'\nwhen = '{}'\nnote = 'n'\n", when(at))
        };
        (0..RULES).map(rule).collect()
    };
    let all = [
        ("a condition that is reached: a comparison", conditions(&|at| format!("cwd == \"/x{at}\""))),
        ("a condition that is reached: a list", conditions(&|at| format!("args.exists(a, a.startsWith(\"x{at}\"))"))),
        ("a condition that is reached: a pattern", conditions(&|at| format!("command.matches(\"x{at}+y?$\")"))),
    ];
    for (what, rules) in all {
        let session = bench.session(&rules);
        let command = json!({ "command": COMMAND });
        let each = Duration::from_micros(10);
        bench.beyond(table, &row(what), (&session, &one), ("bash", &command), RULES as u32, each);
    }

    let of_git = |name: &str| format!("{OTHER}when = '{name} == \"x\"'\n").replace("'other'", "'cargo'");
    let (facts, none) = (bench.session(&of_git("git.branch")), bench.session(&of_git("cwd")));
    let (remote, most) = (bench.session(&of_git("git.remote")), Duration::from_micros(30));
    let command = json!({ "command": COMMAND });
    bench.beyond(table, &row("the fact `git.branch`"), (&facts, &none), ("bash", &command), 1, most);
    bench.beyond(table, &row("the fact `git.remote`"), (&remote, &none), ("bash", &command), 1, most);

    bench.changes(table);
}

struct Bench {
    runtime: Runtime,
    /// A repository, with the cache in it.
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let git = directory.path().join(".git");
        std::fs::create_dir_all(git.join("refs")).unwrap();
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(git.join("config"), "[remote \"origin\"]\n\turl = https://example.com/a.git\n").unwrap();
        Self { runtime: Builder::new_current_thread().enable_all().build().unwrap(), directory }
    }

    fn host(&self, text: &str) -> Host {
        let config = Config::parse(text, &Source::new("/h.toml", Layer::User), &[]).unwrap();
        let path = built("rules.wasm");
        let digest = Digest::of_file(&path).unwrap();
        let config = config.with_rules_plugin(Code::File { path, digest }).unwrap();
        let builder = Host::builder(config).cache(self.directory.path().join("cache"));
        self.runtime.block_on(builder.build()).unwrap()
    }

    fn session(&self, text: &str) -> Session {
        self.host(text).open_session(SessionSpec::new("claude-code", self.directory.path())).unwrap()
    }

    /// Adds the time that a session's rules take beyond those of another session, divided by their number.
    fn beyond(
        &self,
        table: &mut Table,
        row: &Row<'_>,
        (session, other): (&Session, &Session),
        (tool, arguments): (&str, &Value),
        rules: u32,
        most: Duration,
    ) {
        let call = |session: &Session| session.tool_call("call-1", tool, arguments, ToolOrigin::Builtin);
        let (ours, theirs) = (call(session), call(other));
        let whole = compare(|| self.ask(session, &ours), || self.ask(other, &theirs));
        let time = whole.subject.median.saturating_sub(whole.reference.median) / rules;
        let reference = format!("{} the event with one other rule", spoken(whole.reference.median));
        table.beside(row, &spoken(time), &reference, &format!("≤ {}", spoken(most)), time <= most);
    }

    fn ask(&self, session: &Session, call: &PreparedCall) {
        let outcome = self.runtime.block_on(session.before_tool_call(call.clone())).outcome;
        assert!(matches!(outcome, Decision::Allowed { .. }));
    }

    /// Measures the time from a change of a rule to the host in which it is in force, and the load of unchanged rules.
    fn changes(&self, table: &mut Table) {
        let row = |what: &'static str| Row { what, component: "rules", log: "–", why: "" };
        let changes = Cell::new(0);
        let timed = |text: &str, is_changed: bool| {
            let build = || {
                changes.set(changes.get() + usize::from(is_changed));
                let text = format!("{text}[[rule]]\nid = 'edited'\non = 'shell'\nnote = 'edit {}'\n", changes.get());
                let began = Instant::now();
                let host = self.host(&text);
                let took = began.elapsed();
                drop(host);
                took
            };
            times_of(11, build).median
        };
        let (many, few) = (timed(&rules(RULES), true), timed("", true));
        let live = "from a change of one of 200 rules to the host in which it is in force";
        table.plain(&row(live), spoken(many), "≤ 1 s", Some(many <= Duration::from_secs(1)));
        let configured = many.saturating_sub(few);
        let (reference, most) = (format!("{} with one rule", spoken(few)), Duration::from_millis(500));
        let what = "`configure` of 200 rules with their examples";
        table.beside(&row(what), &spoken(configured), &reference, "≤ 500 ms", configured <= most);
        let loaded = timed(&rules(RULES), false).saturating_sub(empty(&self.runtime, self.directory.path()));
        let what = "load 200 unchanged rules from the cache, their text included";
        table.plain(&row(what), spoken(loaded), "≤ 3 ms", Some(loaded <= Duration::from_millis(3)));
    }
}

/// Returns the time of a host without plugins.
fn empty(runtime: &Runtime, directory: &Path) -> Duration {
    let build = || {
        let began = Instant::now();
        drop(runtime.block_on(Host::builder(Config::empty()).cache(directory.join("cache")).build()).unwrap());
        began.elapsed()
    };
    times_of(11, build).median
}
