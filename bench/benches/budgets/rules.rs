//! Measures the plugin `rules`: 200 rules in words, their conditions, the facts that these ask for, and a change of one rule.

use bench::measure::{Compared, compare, spoken, times_of};
use bench::plugins::built;
use bench::rules::rules;
use bench::table::{Row, Table};
use hookhost::config::{Code, Digest, Layer, Source};
use hookhost::contract::ToolOrigin;
use hookhost::{Config, Decision, Host, PreparedCall, Session, SessionSpec};
use serde_json::{Value, json};
use std::cell::Cell;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// A common command to which no rule objects.
const COMMAND: &str = "cargo test --workspace --all-targets && git status";

/// Number of rules.
const RULES: usize = 200;

/// Number of rules that contains a rule of each kind, so that the call is read as it is for all rules.
const KINDS: usize = 4;

/// A rule that is about another command.
const OTHER: &str = "[[rule]]\nid = 'other'\non = 'shell'\nprogram = 'other'\nnote = 'n'\n";

pub(crate) fn rows(table: &mut Table) {
    let row = |what: &'static str| Row { what, component: "rules", log: "off", why: "" };
    let size = std::fs::metadata(built("rules.wasm")).unwrap().len();
    table.plain(&row("the component"), format!("{size} bytes"), "≤ 2 MB", Some(size <= 2_000_000));

    let bench = Bench::new();
    let most = Duration::from_micros(15);
    let (kinds, many) = (bench.session(&rules(KINDS)), bench.session(&rules(RULES)));
    let (file, command) = (json!({ "file_path": "src/main.rs" }), json!({ "command": COMMAND }));
    let what = "200 rules without conditions, and a command, beyond a rule of each kind";
    bench.beyond(table, &row(what), (&many, &kinds), ("Bash", &command), 1, most);
    let what = "200 rules without conditions, and a file that is read, beyond a rule of each kind";
    bench.beyond(table, &row(what), (&many, &kinds), ("Read", &file), 1, most);
    let one = bench.session(OTHER);
    let what = "a rule of each kind: the paths and hosts of a command are read, too";
    table.compared(&row(what), &bench.compared((&kinds, &one), ("Bash", &command)), "the event with one rule", None);

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
        let each = Duration::from_micros(10);
        bench.beyond(table, &row(what), (&session, &one), ("Bash", &command), RULES as u32, each);
    }

    let of_git = |name: &str| format!("{OTHER}when = '{name} == \"x\"'\n").replace("'other'", "'cargo'");
    let (facts, none) = (bench.session(&of_git("git.branch")), bench.session(&of_git("cwd")));
    let (remote, most) = (bench.session(&of_git("git.remote")), Duration::from_micros(30));
    bench.beyond(table, &row("the fact `git.branch`"), (&facts, &none), ("Bash", &command), 1, most);
    bench.beyond(table, &row("the fact `git.remote`"), (&remote, &none), ("Bash", &command), 1, most);

    bench.changes(table);
}

struct Bench {
    runtime: Runtime,
    /// A repository, with the cache in it.
    directory: tempfile::TempDir,
    /// The digest of the component.
    digest: Digest,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let git = directory.path().join(".git");
        for name in ["objects", "refs"] {
            std::fs::create_dir_all(git.join(name)).unwrap();
        }
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(git.join("config"), "[remote \"origin\"]\n\turl = https://example.com/a.git\n").unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        Self { runtime, directory, digest: Digest::of_file(&built("rules.wasm")).unwrap() }
    }

    fn config(&self, text: &str) -> Config {
        let config = Config::parse(text, &Source::new("/h.toml", Layer::User), &[]).unwrap();
        config.with_rules_plugin(Code::File { path: built("rules.wasm"), digest: self.digest }).unwrap()
    }

    fn host(&self, config: Config) -> Host {
        let builder = Host::builder(config).cache(self.directory.path().join("cache"));
        self.runtime.block_on(builder.build()).unwrap()
    }

    fn session(&self, text: &str) -> Session {
        self.host(self.config(text)).open_session(SessionSpec::new("claude-code", self.directory.path())).unwrap()
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
        let Compared { subject, reference, .. } = self.compared((session, other), (tool, arguments));
        let time = subject.median.saturating_sub(reference.median) / rules;
        let reference = format!("{} the event under the other rules", spoken(reference.median));
        table.beside(row, &spoken(time), &reference, &format!("≤ {}", spoken(most)), time <= most);
    }

    /// Times a call of a tool under the rules of both sessions.
    fn compared(&self, (session, other): (&Session, &Session), (tool, arguments): (&str, &Value)) -> Compared {
        let call = |session: &Session| session.tool_call("call-1", tool, arguments, ToolOrigin::Builtin);
        let (ours, theirs) = (call(session), call(other));
        compare(|| self.ask(session, &ours), || self.ask(other, &theirs))
    }

    fn ask(&self, session: &Session, call: &PreparedCall) {
        let outcome = self.runtime.block_on(session.before_tool_call(call.clone())).outcome;
        assert!(matches!(outcome, Decision::Allowed { .. }));
    }

    /// Measures a change of one rule, the load of unchanged rules, and the reading of their text.
    fn changes(&self, table: &mut Table) {
        let row = |what: &'static str| Row { what, component: "rules", log: "–", why: "" };
        let edits = Cell::new(0);
        let text = |rules: &str, is_edited: bool| {
            edits.set(edits.get() + usize::from(is_edited));
            format!("{rules}[[rule]]\nid = 'edited'\non = 'shell'\nprogram = 'edited'\nnote = 'edit {}'\n", edits.get())
        };
        let timed = |rules: &str, is_edited: bool| {
            let build = || {
                let config = self.config(&text(rules, is_edited));
                let began = Instant::now();
                let host = self.host(config);
                let took = began.elapsed();
                drop(host);
                took
            };
            times_of(11, build).median
        };
        let many = rules(RULES);
        let (edited, few) = (timed(&many, true), timed("", true));
        let what = "from a change of one of 200 rules to the host in which it is in force";
        table.plain(&row(what), spoken(edited), "≤ 1 s", Some(edited <= Duration::from_secs(1)));
        let (configured, most) = (edited.saturating_sub(few), Duration::from_millis(500));
        let reference = format!("{} the host with one changed rule", spoken(few));
        let what = "`configure` of 200 rules with their examples";
        table.beside(&row(what), &spoken(configured), &reference, "≤ 500 ms", configured <= most);

        let (none, most) = (self.empty(), Duration::from_millis(3));
        let loaded = timed(&many, false).saturating_sub(none);
        let what = "load 200 unchanged rules from the cache";
        let reference = format!("{} a host without plugins", spoken(none));
        table.beside(&row(what), &spoken(loaded), &reference, "≤ 3 ms", loaded <= most);
        let parse = || {
            let began = Instant::now();
            black_box(self.config(&many));
            began.elapsed()
        };
        table.plain(&row("read the text of 200 rules"), spoken(times_of(11, parse).median), "", None);
    }

    /// Returns the time of a host without plugins.
    fn empty(&self) -> Duration {
        let build = || {
            let began = Instant::now();
            drop(self.host(Config::empty()));
            began.elapsed()
        };
        times_of(11, build).median
    }
}
